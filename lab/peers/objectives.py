"""The judge: what a solution is worth, computed here and never by the solver.

Over pairs       P(w)    = mean_ij phi(x_i.w - x_j.w) + alpha / 2 |w|^2
over points      P(w, b) = mean_i phi(y_i (x_i.w + b)) + alpha / 2 |w|^2

Each point w gives a lower bound of the minimum as well. Both objectives are alpha-strongly convex
in w, so ``P - |grad P|^2 / (2 alpha)`` is one; for the hinge over pairs the multipliers of a
rounded hinge give it, for the hinge over points nothing does. The bound that counts for a problem
is the highest that any solver's points gave, and the relative gap of a solution is
``(P - bound) / P``: see `results`.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from .peer import Answer
from .peer_data import PeerTask


class Worth(NamedTuple):
    objective: float
    bound: float | None


def judge(problem: str, task: PeerTask, answer: Answer) -> Worth:
    """``problem``: a loss over pairs or points, such as ``"pairs hinge"``."""
    over, loss = problem.split()[:2]
    if over == "pairs":
        return _over_pairs(loss, task, answer)
    return _over_points(loss, task, answer)


WIDTHS = 2.0 ** np.arange(1, -30, -2)
SHRUNK = (0.0, 0.25, 0.5, 0.75, 1.0)

AT_THE_MARGIN, MOST_AT_THE_MARGIN = 1e-7, 4000
"""A pair counts as at the margin within the first number of it. No bound is tried with more rows in
such pairs than the second."""


def _over_pairs(loss: str, task: PeerTask, answer: Answer) -> Worth:
    from everypair.linalg.matrix import as_matrix
    from everypair.pairs import pair_point
    from everypair.rows import Rows

    X, pairs, alpha, w = as_matrix(task.X), Rows.uncut(task.y), task.alpha, answer.coef
    scores = X.dot(w)
    point = pair_point(loss, pairs, scores)
    value = point.value() + alpha / 2 * w @ w
    if loss == "hinge":
        return Worth(float(value), _bound_of_hinge(X, pairs, alpha, answer, scores))
    gradient = X.pull_back(point.gradient()) + alpha * w
    return Worth(float(value), float(value - gradient @ gradient / (2 * alpha)))


def _bound_of_hinge(X, pairs, alpha: float, answer: Answer, scores: np.ndarray) -> float:
    """The best bound of rounded hinges, at w shrunk by a share of the width, or where the solver
    says. Any of them is a bound."""
    from everypair.pairs.ranked_classes import SortedScores
    from everypair.pairs.sorted import HuberHingePoint
    from everypair.penalties import L2
    from everypair.solvers.hinge import rounded_hinge
    from everypair.solvers.hinge_certificate import dual_of_hinge
    from everypair.solvers.problem import Problem

    coef, shares = answer.coef, SHRUNK
    if answer.bounded_at is not None:
        coef, shares = answer.bounded_at, (0.0,)
        scores = X.dot(coef)
    order = SortedScores(pairs, scores)
    bounds = []
    for width in WIDTHS:
        for by in {1 - share * min(width, 0.5) for share in shares}:
            rounded = HuberHingePoint(order.stretched(by), width)
            problem = Problem(X, partial(rounded_hinge, pairs, width), L2(alpha))
            at = problem.at(by * coef, rounded.order.scores, rounded)
            bounds.append(dual_of_hinge(at))
    return float(max(*bounds, _bound_at_corner(X, pairs, alpha, answer.coef)))


def _bound_at_corner(X, pairs, alpha: float, w: np.ndarray) -> float:
    """Where a solution has many pairs at the margin itself, no rounding tells their multipliers.

    Those of the rows at the margin are solved for, ``X'c = -alpha w``, by least squares. The
    nearest multipliers that pairs can give (`project`) are a bound, whatever w is.
    """
    from everypair.pairs.projected import project
    from everypair.pairs.ranked_classes import SortedScores
    from everypair.pairs.sorted import HuberHingePoint
    from everypair.solvers.corner import out_of_reach
    from everypair.solvers.rounding import pulled

    shrunk = 1 - AT_THE_MARGIN / 2
    near = HuberHingePoint(SortedScores(pairs, shrunk * X.dot(w)), AT_THE_MARGIN)
    c, rows = near.gradient(), near.in_window.rows
    if not 0 < rows.size <= MOST_AT_THE_MARGIN:
        return -np.inf
    gram = X.row_products(rows, rows)
    gram[np.diag_indices_from(gram)] *= 1 + 1e-12
    try:
        factor = cho_factor(gram)
    except LinAlgError:  # more rows at the margin than columns, or copies of rows
        return -np.inf
    for _ in range(2):  # the second time takes off what the first one rounded
        left = pulled(X, c) + alpha * w
        c[rows] -= cho_solve(factor, X.dot(left)[rows] - X.sizes.means @ left)
    c = project(pairs, c / pairs.share, np.ones(2)).gradient
    pull, short = pulled(X, c), out_of_reach(pairs, c)  # what rounding leaves infeasible
    change = 2 * short * X.longest
    lost = short + change * (2 * np.linalg.norm(pull) + change) / (2 * alpha)
    return float(-c[pairs.positives].sum() - pull @ pull / (2 * alpha) - lost)


def _loss_and_slope(loss: str, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if loss == "logistic":
        return np.logaddexp(0, -margins), -expit(-margins)
    short = np.maximum(0, 1 - margins)
    if loss == "squared_hinge":
        return short**2, -2 * short
    return short, -(short > 0).astype(float)


def _over_points(loss: str, task: PeerTask, answer: Answer) -> Worth:
    X, signs, alpha, w = task.X, task.signs, task.alpha, answer.coef
    scores = X @ w
    on_intercept = alpha if answer.intercept_is == "penalised" else 0.0

    def value_at(b: float) -> tuple[float, np.ndarray]:
        each, slope = _loss_and_slope(loss, signs * (scores + b))
        total = each.mean() + alpha / 2 * w @ w + on_intercept / 2 * b * b
        return float(total), signs * slope / signs.size

    value, residual = value_at(answer.intercept)
    if loss == "hinge":
        return Worth(value, None)
    at, b = value, answer.intercept
    if answer.intercept_is == "free":
        # min over b is strongly convex in w alone, so the bound needs the best b for this w.
        at, residual = _best_intercept(value_at, scores, signs, b)
    gradient = X.T @ residual + alpha * w
    squares = gradient @ gradient
    if answer.intercept_is == "penalised":
        squares += (residual.sum() + alpha * b) ** 2
    return Worth(value, float(at - squares / (2 * alpha)))


def _best_intercept(value_at, scores, signs, b) -> tuple[float, np.ndarray]:
    for _ in range(50):
        value, residual = value_at(b)
        share = expit(scores + b)
        curvature = (share * (1 - share)).mean()
        step = residual.sum() / max(curvature, 1e-12)
        if abs(step) < 1e-12 * (1 + abs(b)):
            break
        b -= np.clip(step, -1, 1)
    return value, residual
