"""Means over quotas: partial and whole area under the ROC curve, average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.measures.at_quota import NEGATIVES, POSITIVES, PRECISION, RECALL, AtQuota
from everypair.measures.contingency import FBeta, Informedness
from everypair.measures.free_cut import OfTable
from everypair.measures.operating_point import OperatingMeasure, Smooth, precision_worth
from everypair.metrics.curve import area_between
from everypair.rows import Rows

Array = NDArray[np.float64]

QUADRATURE_NODES = 5
"""Gauss-Legendre nodes of a mean over quotas."""


@dataclass(frozen=True)
class PartialArea(OperatingMeasure):
    """The mean recall over a range of false positive rates."""

    low: float
    high: float

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        return area_between(f, t, self.low, self.high) / (self.high - self.low)

    def deciding_rows(self, n_positive: int, n_negative: int) -> float:
        return min(float(n_positive), self.high * n_negative)

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """At the largest false positive rate of the range."""
        return AtQuota(NEGATIVES, self.high, RECALL).best_cut(rows, scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        quotas = tuple(
            AtQuota(NEGATIVES, rate, RECALL).quota(positive, negative, weight)
            for rate, weight in nodes(self.low, self.high)
        )
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0, quotas)


@dataclass(frozen=True)
class WholeArea(OperatingMeasure):
    """The area under the whole ROC curve: pairs have no cut, and a climb sums over them."""

    of_pairs = True

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        return float(np.trapezoid(t, f))

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """The area asks for no cut: the one of the largest informedness, as in `MeasureSVM`."""
        return OfTable(Informedness()).best_cut(rows, scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0)


@dataclass(frozen=True)
class AveragePrecision(OperatingMeasure):
    """The mean precision over all recalls, ``sum (R_n - R_(n-1)) P_n``."""

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        hits, alarms = positive * t[1:], negative * f[1:]
        return float(np.diff(t) @ (hits / np.maximum(hits + alarms, np.finfo(np.float64).tiny)))

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """Average precision asks for no cut: the one of the largest F1."""
        return OfTable(FBeta(1.0)).best_cut(rows, scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        quotas = tuple(
            AtQuota(POSITIVES, recall, PRECISION).quota(positive, negative, weight)
            for recall, weight in nodes(0.0, 1.0)
        )
        return Smooth(precision_worth(positive, negative), 1.0, quotas)


def nodes(low: float, high: float) -> list[tuple[float, float]]:
    """Gauss-Legendre nodes of a mean over the range, and their weights."""
    at, weight = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    return [(low + (high - low) * (x + 1) / 2, w / 2) for x, w in zip(at, weight, strict=True)]
