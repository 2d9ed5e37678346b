"""Measures of an operating point made smooth, with one gradient for all of them.

Scores s, a cut c, class shares a and b that sum to one each; the smooth rates

    t = sum_P a_i sigma(s_i - c) ,    f = sum_N b_j sigma(s_j - c)

stand in for the true and the false positive rate, and a measure is a function M(t, f). Where the
cut is free it is climbed like a coefficient. Where a quota fixes it, ``alpha t + beta f = q``, it
follows the scores: with A and B the sums of sigma' over the classes, the implicit derivative is

    dM/ds_k = lambda w_k sigma'(s_k - c) ,
    lambda = M_t - alpha (A M_t + B M_f) / (alpha A + beta B)     on positive rows,

and the same with M_f and beta on negative ones. A mean over quotas is the sum of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import add_soft_slopes, soft_counts
from everypair.linalg.threads import over_rows
from everypair.measures.operating import OperatingMeasure, Quota, Smooth, precision_worth
from everypair.pairs.point import extent
from everypair.rows import Rows
from everypair.solvers.rank_statistic import AllPairsStatistic, Point

Array = NDArray[np.float64]

QUOTA_ROUNDING = 1e-9
"""A quota is met to this share of itself."""

MOST_TRIALS = 200
"""Of a cut: bisection alone would need no more."""

TRIED_CUTS = 16
"""Where the lowest cut with a precision is looked for."""

OPERATIONS = 20
"""Of one row and one cut."""


class Rates(NamedTuple):
    """Smooth rates above a cut, and what they lose as it rises."""

    t: float
    f: float
    slope_t: float
    slope_f: float

    def held(self, quota: Quota) -> float:
        return quota.of_positives * self.t + quota.of_negatives * self.f

    def slope(self, quota: Quota) -> float:
        return quota.of_positives * self.slope_t + quota.of_negatives * self.slope_f


class Term(NamedTuple):
    """The gradient's part that one cut makes: lambda of either class."""

    cut: float
    of_positives: float
    of_negatives: float


@dataclass(frozen=True)
class SoftMeasure:
    """``best - M`` of the scores, smooth: a statistic as the climbs on the sphere know it."""

    pairs: Rows
    smooth: Smooth
    totals: tuple[float, float]
    _last_cuts: dict[int, float] = field(default_factory=dict)
    """Where the search for a cut begins: it ends at the same cut wherever it does."""

    @classmethod
    def of(cls, measure: OperatingMeasure, pairs: Rows, totals: tuple[float, float]) -> SoftMeasure:
        return cls(pairs, measure.smooth(*totals), totals)

    @property
    def free_cut(self) -> bool:
        return not self.smooth.quotas

    def rates(self, scores: Array, cut: float) -> Rates:
        pairs = self.pairs

        def part(start: int, stop: int) -> tuple[float, ...]:
            return soft_counts(scores, pairs.share, pairs.positive, cut, start, stop)

        parts = over_rows(part, scores.size, OPERATIONS * scores.size)
        return Rates(*np.sum(parts, axis=0).tolist())

    def loss(self, scores: Array) -> float:
        return self.at(scores).loss

    def at(self, scores: Array) -> Point:
        pairs = self.pairs
        value, terms = self._value_and_terms(scores)
        gradient = np.zeros(scores.size)

        def part(start: int, stop: int) -> None:
            for cut, of_positives, of_negatives in terms:
                add_soft_slopes(
                    scores, pairs.share, pairs.positive, cut, -of_positives, -of_negatives,
                    start, stop, gradient,
                )  # fmt: skip

        over_rows(part, scores.size, OPERATIONS * len(terms) * scores.size)
        return Point(self.smooth.best - value, gradient)

    def _value_and_terms(self, scores: Array) -> tuple[float, list[Term]]:
        if self.free_cut:
            rates = self.rates(scores, 0.0)
            value, by_t, by_f = self.smooth.worth(rates.t, rates.f)
            return value, [Term(0.0, by_t, by_f)]
        value, terms = 0.0, []
        for number, quota in enumerate(self.smooth.quotas):
            if quota.of_negatives < 0:
                found = self._at_precision(quota, scores)
            else:
                cut, rates = self.cut_of(quota, scores, number)
                found = _implicit(cut, rates, quota, self.smooth.worth(rates.t, rates.f))
            value += found[0]
            terms.append(found[1])
        return value, terms

    def cut_of(self, quota: Quota, scores: Array, number: int = -1) -> tuple[float, Rates]:
        """Where a quota that falls as the cut rises puts it.

        Newton's method on the logarithm of what is above the cut, or of what is below where that
        is less: both are nearly straight in the tails. A bracket guards it.
        """
        whole = quota.of_positives + quota.of_negatives
        share = quota.amount / whole
        shift = float(np.log(share) - np.log1p(-share))
        low, high = (end - shift for end in extent(scores))
        cut = self._last_cuts.get(number, low)
        if not low < cut < high:
            cut = (low + high) / 2
        for _ in range(MOST_TRIALS):
            rates = self.rates(scores, cut)
            held, slope = rates.held(quota) / whole, rates.slope(quota) / whole
            off = held - share
            if abs(off) <= QUOTA_ROUNDING * min(share, 1 - share) or not low < high:
                break
            low, high = (cut, high) if off > 0 else (low, cut)
            side = held if share < 0.5 else 1 - held
            ahead = np.nan
            if slope > 0 and side > 0:
                ratio = held / share if share < 0.5 else (1 - share) / (1 - held)
                ahead = cut + np.log(ratio) * side / slope
            if not low < ahead < high:
                ahead = (low + high) / 2
                if ahead in (low, high):
                    break
            cut = float(ahead)
        if number >= 0:
            self._last_cuts[number] = cut
        return cut, rates

    def _at_precision(self, quota: Quota, scores: Array) -> tuple[float, Term]:
        """Recall at the lowest cut with a precision, as far as `TRIED_CUTS` even ones show it.

        Where none has it: what is missing of the precision, below zero, at the recall where
        least is missing.
        """
        low, high = extent(scores[self.pairs.positives])
        cuts = np.linspace(low - 1.0, high + 1.0, TRIED_CUTS)
        tried = [self.rates(scores, float(cut)) for cut in cuts]
        above = np.array([rates.held(quota) for rates in tried])
        meets = np.flatnonzero(above >= 0)
        if meets.size:
            first = int(meets[0])
            if first == 0:
                return _implicit(float(cuts[0]), tried[0], quota, (tried[0].t, 1.0, 0.0))
            below, over = float(cuts[first - 1]), float(cuts[first])
            cut, rates = over, tried[first]
            for _ in range(MOST_TRIALS):
                held, slope = rates.held(quota), rates.slope(quota)
                if abs(held) <= QUOTA_ROUNDING * quota.of_positives * rates.t:
                    break
                below, over = (cut, over) if held < 0 else (below, cut)
                ahead = cut + held / slope if slope != 0 else np.nan
                if not below < ahead < over:
                    ahead = (below + over) / 2
                    if ahead in (below, over):
                        break
                cut = float(ahead)
                rates = self.rates(scores, cut)
            return _implicit(cut, rates, quota, (rates.t, 1.0, 0.0))
        worth = precision_worth(*self.totals)
        best = int(np.argmax([worth(rates.t, rates.f)[0] for rates in tried]))
        rates, of_positives = tried[best], quota.of_positives / self.totals[0]
        value, by_t, by_f = worth(rates.t, rates.f)
        at_recall = Quota(1.0, 0.0, rates.t)
        return _implicit(
            float(cuts[best]), rates, at_recall, (value - 1 + of_positives, by_t, by_f)
        )

    def radius(self, scores: Array, share: float) -> float:
        """As of the statistic of every pair: the measure is smoothed as AUC would be."""
        return AllPairsStatistic(self.pairs).radius(scores, share)


def _implicit(
    cut: float, rates: Rates, quota: Quota, worth: tuple[float, float, float]
) -> tuple[float, Term]:
    """A quota's part of the value and of the gradient."""
    value, by_t, by_f = worth
    along, below = by_t * rates.slope_t + by_f * rates.slope_f, rates.slope(quota)
    # A precision that hardly depends on the cut says nothing of where it lies.
    least = 1e-3 * (
        abs(quota.of_positives) * rates.slope_t + abs(quota.of_negatives) * rates.slope_f
    )
    ratio = along / below if abs(below) > least else 0.0
    return quota.weight * value, Term(
        cut,
        quota.weight * (by_t - quota.of_positives * ratio),
        quota.weight * (by_f - quota.of_negatives * ratio),
    )
