"""Bounds on the rounding of gradients hold where every row weighs the same and sums are long."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest

from everypair._compiled import compensated_sum
from everypair.linalg.vectors import length
from everypair.pairs import pair_point
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HuberHingePoint
from everypair.rows import Rows


@pytest.mark.parametrize("size", [0, 1, 2, 100_001])
def test_compensated_sum_has_twice_the_precision(size):
    values = np.random.default_rng(size).standard_normal(size) + 1 / 3
    values = np.concatenate([values, -values, [1e-20] * (size % 2)])
    assert compensated_sum(values) == pytest.approx(fsum(values), abs=1e-26 * size**2)


def fast_point(case, pairs, scores):
    if case == "rounded hinge":
        return HuberHingePoint(SortedScores(pairs, scores), 1.0)
    return pair_point(case, pairs, scores)


def multipliers(case, u):
    """``-phi'`` of a shortfall ``u = 1 - z``."""
    if case == "rounded hinge":
        return np.clip(u, 0, 1)
    return {
        "squared_hinge": lambda: 2 * np.maximum(u, 0),
        "hinge": lambda: (u > 0).astype(np.longdouble),
        "logistic": lambda: 1 / (1 + np.exp(1 - u)),
        "square": lambda: 2 * u,
        "exponential": lambda: np.exp(u - 1),
    }[case]()


def exact_gradient(case, pairs, scores):
    """In extended precision; a sum over the rows of the smaller class at a time."""
    scores, weight = scores.astype(np.longdouble), pairs.share.astype(np.longdouble)
    sign, (few, many) = 1, pairs.classes
    if few.size > many.size:
        sign, few, many = -1, many, few
    out = np.zeros(scores.size, dtype=np.longdouble)
    for row in few:
        pull = multipliers(case, 1 - sign * (scores[row] - scores[many])) * weight[many]
        out[row] = -sign * pull.sum() * weight[row]
        out[many] += sign * pull * weight[row]
    return out


@pytest.mark.parametrize("spread", [0.02, 1.0])
@pytest.mark.parametrize("few_are_positive", [True, False])
@pytest.mark.parametrize("n_few", [2, 5])
@pytest.mark.parametrize(
    "case", ["squared_hinge", "hinge", "rounded hinge", "logistic", "square", "exponential"]
)
def test_gradient_error_holds_with_few_rows_of_one_class(case, n_few, few_are_positive, spread):
    n_rows = 300_000
    rng = np.random.default_rng(n_few)
    few = np.zeros(n_rows, dtype=bool)
    few[rng.choice(n_rows, n_few, replace=False)] = True
    pairs = Rows.uncut(few if few_are_positive else ~few)
    scores = 0.1 + spread * rng.standard_normal(n_rows)
    point = fast_point(case, pairs, scores)
    gradient = point.gradient()
    off = np.abs(gradient - exact_gradient(case, pairs, scores)).astype(float)
    assert length(off) <= point.gradient_error(length(gradient))
    assert np.all(off <= point.gradient_row_errors(gradient))
