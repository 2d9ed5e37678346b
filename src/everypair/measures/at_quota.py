"""Measures whose cut a quota fixes: rows, false alarms, a recall or a precision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everypair.measures.operating_point import (
    OperatingMeasure,
    Quota,
    Smooth,
    Worth,
    precision_worth,
)
from everypair.metrics.curve import Curve
from everypair.rows import Rows

Array = NDArray[np.float64]

QUOTA_TOLERANCE = 1e-12
"""A quota is met up to this share of it: 0.05 of 20 rows is one row, however 0.05 is rounded."""

RECALL, FALSE_ALARMS, PRECISION = "recall", "false alarms", "precision"
ROWS, NEGATIVES, POSITIVES = "rows", "negatives", "positives"


@dataclass(frozen=True)
class AtQuota(OperatingMeasure):
    """Recall, precision or false alarms (``what``) where a share of the rows, of the negatives or
    of the positives (``of``) lies above the cut."""

    of: str
    amount: float
    what: str

    @property
    def sign(self) -> float:  # type: ignore[override]
        return -1.0 if self.what == FALSE_ALARMS else 1.0

    def quota(self, positive: float, negative: float, weight: float = 1.0) -> Quota:
        if self.of == ROWS:
            share = positive / (positive + negative)
            return Quota(share, 1 - share, self.amount, weight)
        return Quota(float(self.of == POSITIVES), float(self.of == NEGATIVES), self.amount, weight)

    def nearby(self) -> OperatingMeasure:
        return MeanOf(tuple(replace(self, amount=share) for share in shares_about(self.amount)))

    def deciding_rows(self, n_positive: int, n_negative: int) -> float:
        counted = {ROWS: n_positive + n_negative, NEGATIVES: n_negative, POSITIVES: n_positive}
        return min(self.amount, 1 - self.amount) * counted[self.of]

    def worth(self, positive: float, negative: float) -> Worth:
        if self.what == RECALL:
            return lambda t, f: (t, 1.0, 0.0)
        if self.what == FALSE_ALARMS:
            return lambda t, f: (-f, 0.0, -1.0)
        return precision_worth(positive, negative)

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        at = self._point(t, f, self.quota(positive, negative))
        return self.worth(positive, negative)(*at)[0]

    def _point(self, t: Array, f: Array, quota: Quota) -> tuple[float, float]:
        """On the straight lines between the points of the curve, at its best where it is steep:
        the most positives within a quota, the fewest negatives for a recall."""
        held = quota.of_positives * t + quota.of_negatives * f
        if self.of == POSITIVES:
            after = int(np.searchsorted(held, quota.amount * (1 - QUOTA_TOLERANCE)))
            before = max(after - 1, 0)
        else:
            before = (
                int(np.searchsorted(held, quota.amount * (1 + QUOTA_TOLERANCE), side="right")) - 1
            )
            after = min(before + 1, held.size - 1)
        run = held[after] - held[before]
        part = np.clip((quota.amount - held[before]) / run, 0.0, 1.0) if run > 0 else 0.0
        return (
            float(t[before] + part * (t[after] - t[before])),
            float(f[before] + part * (f[after] - f[before])),
        )

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """The lowest cut within the quota; of a recall, the highest that reaches it."""
        curve, quota = Curve.of(rows, scores), self.quota(*rows.totals)
        held = quota.of_positives * curve.tpr + quota.of_negatives * curve.fpr
        if self.of == POSITIVES:
            return curve.cut(int(np.flatnonzero(held >= quota.amount * (1 - QUOTA_TOLERANCE))[0]))
        return curve.cut(int(np.flatnonzero(held <= quota.amount * (1 + QUOTA_TOLERANCE))[-1]))

    def smooth(self, positive: float, negative: float) -> Smooth:
        best = 0.0 if self.what == FALSE_ALARMS else 1.0
        if self.of == ROWS:  # more rows than positives, or fewer
            positives_a_row = positive / (positive + negative) / self.amount
            best = min(1.0, positives_a_row if self.what == PRECISION else 1 / positives_a_row)
        return Smooth(self.worth(positive, negative), best, (self.quota(positive, negative),))


@dataclass(frozen=True)
class RecallAtPrecision(OperatingMeasure):
    """The largest recall of a cut with at least this precision; 0 where no cut has it."""

    precision: float

    def _meets(self, t: Array, f: Array, positive: float, negative: float) -> NDArray[np.intp]:
        hits, alarms = positive * t, negative * f
        above = (1 - self.precision) * hits - self.precision * alarms
        return np.flatnonzero((above >= -QUOTA_TOLERANCE * hits) & (hits > 0))

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        meets = self._meets(t, f, positive, negative)
        return float(t[meets[-1]]) if meets.size else 0.0

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """The best cut; above all scores if no cut has the precision."""
        curve = Curve.of(rows, scores)
        meets = self._meets(curve.tpr, curve.fpr, *rows.totals)
        return curve.cut(int(meets[-1]) if meets.size else 0)

    def nearby(self) -> OperatingMeasure:
        return MeanOf(tuple(RecallAtPrecision(share) for share in shares_about(self.precision)))

    def smooth(self, positive: float, negative: float) -> Smooth:
        quota = Quota((1 - self.precision) * positive, -self.precision * negative, 0.0)
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0, (quota,))


@dataclass(frozen=True)
class MeanOf(OperatingMeasure):
    """The mean of measures with a quota, to tell models apart by."""

    parts: tuple[OperatingMeasure, ...]

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        return float(np.mean([part.of_rates(t, f, positive, negative) for part in self.parts]))


def shares_about(share: float) -> list[float]:
    """Shares whose odds are half to twice these, evenly spaced on their logarithm."""
    odds = share / (1 - share) * 2.0 ** np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    return [float(each / (1 + each)) for each in odds]
