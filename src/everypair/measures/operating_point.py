"""What a climb, a search and a user ask of a measure of an operating point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.metrics.curve import Curve
from everypair.rows import Rows

Array = NDArray[np.float64]

Worth = Callable[[float, float], tuple[float, float, float]]
"""A measure at the true and false positive rates (t, f): its value and both derivatives."""


class Quota(NamedTuple):
    """``of_positives t + of_negatives f = amount`` fixes the cut; its ``weight`` in a mean.

    With a negative coefficient the quota is a precision: its cut is the lowest that meets it.
    """

    of_positives: float
    of_negatives: float
    amount: float
    weight: float = 1.0


class Smooth(NamedTuple):
    """What a climb needs: the measure of two rates, its largest value, the quotas of its cuts."""

    worth: Worth
    best: float
    quotas: tuple[Quota, ...] = ()


class OperatingMeasure:
    """What a climb, a search and a user ask of a measure. Higher values are better."""

    free_cut = False
    """Whether the cut is chosen with the coefficients; otherwise a quota fixes it."""
    of_pairs = False
    """Whether it is a mean over pairs of rows, of which no cut and no quota knows."""
    sign = 1.0
    """Times the value: what people call the measure (a rate of false alarms is to be low)."""

    def of_rates(self, t: Any, f: Any, positive: float, negative: float) -> Any:
        """The value at two rates, for classes of these weights.

        With a free cut: at each pair of rates. With a quota: of the whole curve, whose points
        ``t`` and ``f`` are, from (0, 0) on.
        """
        raise NotImplementedError

    def value(self, rows: Rows, scores: Array, cut: float = 0.0) -> float:
        """The exact value at these scores; a measure with a quota does not look at ``cut``."""
        curve = Curve.of(rows, scores)
        return float(self.of_rates(curve.tpr, curve.fpr, *rows.totals))

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """The best cut of these scores; positive is ``score > cut``."""
        raise NotImplementedError

    def deciding_rows(self, n_positive: int, n_negative: int) -> float:
        """Rows on the rarer side of its cut, about: what the measure rests on."""
        return float(n_positive)

    def bounds(self, positive: float, negative: float) -> tuple[float, float]:
        """The lowest and the highest value, for classes of these weights."""
        return (0.0, 1.0) if self.sign > 0 else (-1.0, 0.0)

    def nearby(self) -> OperatingMeasure:
        """What models are told apart by: the same about its quota, which fewer rows decide alone.

        Recall at 1 % false positives of 500 negatives rests on five rows. The mean of recalls at
        0.5 % to 2 % varies less, and the model that has it highest is nearly always the same.
        """
        return self

    def smooth(self, positive: float, negative: float) -> Smooth:
        """The measure as a function of the rates, for classes of these weights."""
        raise NotImplementedError


def precision_worth(positive: float, negative: float) -> Worth:
    """``P t / (P t + N f)``."""

    def worth(t: float, f: float) -> tuple[float, float, float]:
        hits, alarms = positive * t, negative * f
        whole = hits + alarms
        if whole <= 0:
            return 1.0, 0.0, 0.0
        return hits / whole, positive * alarms / whole**2, -negative * hits / whole**2

    return worth
