"""The measure of held-out rows after each round, by which the number of rounds is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.measures.curve_means import WholeArea
from everypair.measures.operating import measure_with_numbers
from everypair.measures.operating_point import OperatingMeasure
from everypair.pairs import auc
from everypair.rows import Rows

Array = NDArray[np.float64]
Judge = Callable[[Array], float]
"""A value of the scores of fixed rows; higher is better."""

ROUNDING = 1e-12
"""Means that differ by less are equal."""


def chosen_measure(measure: Any, rows: Rows) -> OperatingMeasure:
    """What ``measure=`` of the classifier names; of rows in groups the AUC is that inside them."""
    name = measure.get("measure") if isinstance(measure, Mapping) else measure
    if isinstance(name, str) and name == "roc_area":
        return WholeArea()
    return measure_with_numbers(measure, rows, "measure")


def refuse_one_row(positive: NDArray[np.bool_]) -> None:
    for members, name in ((positive, "positive"), (~positive, "negative")):
        if np.count_nonzero(members) == 1:
            raise ValueError(
                f"y has one {name} row, and rounds are chosen on held-out rows: set patience=None, "
                "or give two rows of each class."
            )


def judges_of(measure: OperatingMeasure, rows: Rows) -> list[Judge]:
    """The measure of these rows and, unless that is the measure, their AUC.

    A quota is met by the rows themselves, and a free cut is the best one of theirs: rounds are
    compared, each at its best.
    """

    def area(scores: Array) -> float:
        return auc(rows, scores)

    def value(scores: Array) -> float:
        cut = measure.best_cut(rows, scores) if measure.free_cut else 0.0
        return measure.value(rows, scores, cut)

    return [area] if measure.of_pairs else [value, area]


def best_round(curves: list[Array]) -> tuple[int, Array]:
    """The number of rounds to take, and the mean measure of all rounds over the folds.

    Rounds whose measure is within one standard error of the largest mean cannot be told from it:
    of these it is the one with the largest AUC. The error is that of the difference over the folds.
    A fold that has stopped counts with its last value.
    """
    longest = max(map(len, curves))
    values = np.stack([c[np.minimum(np.arange(longest), len(c) - 1)] for c in curves])
    means = values.mean(axis=0)
    behind = values[:, np.argmax(means[:, 0]), :1] - values[:, :, 0]
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else 0.0
    level = behind.mean(axis=0) <= error + ROUNDING
    return 1 + int(np.argmax(np.where(level, means[:, -1], -np.inf))), means[:, 0]
