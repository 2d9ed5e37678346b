"""Measures of the contingency table, at the cut that is best for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.measures.contingency import ContingencyMeasure
from everypair.measures.operating_point import OperatingMeasure, Smooth, Worth
from everypair.metrics.curve import Curve
from everypair.rows import Rows

Array = NDArray[np.float64]

DIFFERENCE_OF_RATES = 1e-6
"""Half the width of a difference quotient, in units of a rate."""


@dataclass(frozen=True)
class OfTable(OperatingMeasure):
    """A measure of the contingency table at the cut that is best for it."""

    table: ContingencyMeasure
    free_cut = True

    def value(self, rows: Rows, scores: Array, cut: float = 0.0) -> float:
        t, f = rates_above(rows, scores > cut)
        return float(self.of_rates(t, f, *rows.totals))

    def of_rates(self, t: Any, f: Any, positive: float, negative: float) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.table.of_table(
                positive * t, negative * f, positive * (1 - t), negative * (1 - f)
            )
        # Nothing predicted positive and nothing found: 0 / 0 is no success.
        return np.where(np.isfinite(value), value, 0.0)

    def bounds(self, positive: float, negative: float) -> tuple[float, float]:
        worst, best = (float(self.of_rates(t, 1 - t, positive, negative)) for t in (0.0, 1.0))
        return worst, best

    def best_cut(self, rows: Rows, scores: Array) -> float:
        curve = Curve.of(rows, scores)
        return curve.cut(int(np.argmax(self.of_rates(curve.tpr, curve.fpr, *rows.totals))))

    def smooth(self, positive: float, negative: float) -> Smooth:
        def value(t: float, f: float) -> float:
            return float(self.of_rates(t, f, positive, negative))

        return Smooth(_by_differences(value), value(1.0, 0.0))


def _by_differences(value: Callable[[float, float], float]) -> Worth:
    """Central where the rates leave room, else from within."""

    def worth(t: float, f: float) -> tuple[float, float, float]:
        slopes = []
        for at, x in ((0, t), (1, f)):
            low, high = max(x - DIFFERENCE_OF_RATES, 0.0), min(x + DIFFERENCE_OF_RATES, 1.0)
            rise = [value(end, f) if at == 0 else value(t, end) for end in (low, high)]
            slopes.append((rise[1] - rise[0]) / (high - low))
        return value(t, f), slopes[0], slopes[1]

    return worth


def rates_above(rows: Rows, above: NDArray[np.bool_]) -> tuple[float, float]:
    """True and false positive rate of a prediction, by weight."""
    weight = np.ones(above.size) if rows.weight is None else rows.weight
    positive, negative = rows.positive, ~rows.positive
    t, f = (
        float(weight[above & members].sum() / weight[members].sum())
        for members in (positive, negative)
    )
    return t, f
