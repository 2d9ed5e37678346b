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
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import add_soft_slopes, soft_counts
from everypair.linalg.block_jobs import Job
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.threads import over_rows
from everypair.measures.grouped import TopOfEachGroup
from everypair.measures.operating_point import OperatingMeasure, Quota, Smooth, precision_worth
from everypair.pairs.blocked_groups import BlockGroups
from everypair.pairs.point import extent
from everypair.rows import Rows
from everypair.solvers.grouped_quota import BlockGroupedQuota, GroupedQuota
from everypair.solvers.rank_statistic import AllPairsStatistic, Point, Statistic

Array = NDArray[np.float64]

QUOTA_ROUNDING = 1e-9
"""A quota is met to this share of itself."""

MOST_TRIALS = 200
"""Of a cut: bisection alone would need no more."""

OPERATIONS_A_ROW_AND_CUT = 20
"""About what a soft count costs, to decide on threads."""


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
        if isinstance(scores, BlockVector):
            job = Job.of("soft-counts", partial(_block_rates, cut), [scores])
            return Rates(*scores.blocks.run(job))

        def part(start: int, stop: int) -> tuple[float, ...]:
            return soft_counts(scores, pairs.share, pairs.positive, cut, start, stop)

        parts = over_rows(part, scores.size, OPERATIONS_A_ROW_AND_CUT * scores.size)
        return Rates(*np.sum(parts, axis=0).tolist())

    def loss(self, scores: Array) -> float:
        return self.at(scores).loss

    def at(self, scores: Array) -> Point:
        pairs = self.pairs
        value, terms = self._value_and_terms(scores)
        if isinstance(scores, BlockVector):
            slopes: Any = scores.each(partial(_block_slopes, terms))
            return Point(self.smooth.best - value, slopes)
        gradient = np.zeros(scores.size)

        def part(start: int, stop: int) -> None:
            for cut, of_positives, of_negatives in terms:
                add_soft_slopes(
                    scores, pairs.share, pairs.positive, cut, -of_positives, -of_negatives,
                    start, stop, gradient,
                )  # fmt: skip

        over_rows(part, scores.size, OPERATIONS_A_ROW_AND_CUT * len(terms) * scores.size)
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
        """Recall at the lowest cut with a precision.

        Where none has it: what is missing of the precision, below zero, at the recall where
        least is missing.
        """
        if quota.of_positives + quota.of_negatives >= 0:  # every row together has it
            return 1.0, Term(0.0, 0.0, 0.0)
        tried = self._up_to_precision(quota, scores)
        cut, rates = tried[-1]
        if rates.held(quota) >= -QUOTA_ROUNDING * quota.of_positives * rates.t:
            return _implicit(cut, rates, quota, (rates.t, 1.0, 0.0))
        worth = precision_worth(*self.totals)
        cut, rates = max(tried, key=lambda one: worth(one[1].t, one[1].f)[0])
        value, by_t, by_f = worth(rates.t, rates.f)
        missing = value - 1 + quota.of_positives / self.totals[0]
        return _implicit(cut, rates, Quota(1.0, 0.0, rates.t), (missing, by_t, by_f))

    def _up_to_precision(self, quota: Quota, scores: Array) -> list[tuple[float, Rates]]:
        """Ascending cuts; the last is the lowest that meets the quota, or lies above the positives.

        With g = of_positives and p = -of_negatives the quota is met where ``h = g t - p f >= 0``.
        None below c meets it where ``g < p f(c)``, and none from c to c + e where either

            g t(c) < p f(c + e) ,   or   h(c) + p f' (z - 1) - g t' (1 - 1 / z) < 0 ,  z = exp e ,

        f' and t' being the sums of sigma' at c: over a distance e no sigma' grows or shrinks by
        more than z. The largest z of the second bound is nearly Newton's step where h is near
        zero; the first allows long strides where it is not.
        """
        gain, price = quota.of_positives, -quota.of_negatives
        high = self._highest_positive(scores) + 1.0
        cut, rates = self.cut_of(Quota(0.0, 1.0, gain / price), scores, number=0)
        tried, stride = [(cut, rates)], 0.0
        for _ in range(MOST_TRIALS):
            held = rates.held(quota)
            if held >= -QUOTA_ROUNDING * gain * rates.t or cut >= high:
                break
            rise, fall = price * rates.slope_f, gain * rates.slope_t
            middle = rise + fall - held
            z = (middle + np.sqrt(middle**2 - 4 * rise * fall)) / (2 * rise) if rise > 0 else np.inf
            sure = min(float(np.log(z)), high - cut)
            ahead = max(sure, min(stride, high - cut))
            trial = self.rates(scores, cut + ahead)
            if ahead > sure and gain * rates.t >= price * trial.f:
                ahead, stride = sure, 0.0
                trial = self.rates(scores, cut + ahead)
            else:
                stride = 2 * ahead
            cut, rates = cut + ahead, trial
            tried.append((cut, rates))
        return tried

    def _highest_positive(self, scores: Array) -> float:
        if isinstance(scores, BlockVector):
            job = Job.of("highest-positive", _highest_positive, [scores], max)
            return float(scores.blocks.run(job))
        return float(scores[self.pairs.positives].max())

    def radius(self, scores: Array, share: float) -> float:
        """As of the statistic of every pair: the measure is smoothed as AUC would be."""
        return AllPairsStatistic(self.pairs).radius(scores, share)


def _block_rates(cut: float, shard: Shard, scores: Array) -> tuple[float, ...]:
    return tuple(soft_counts(scores, shard.share, shard.positive, cut, 0, scores.size))


def _block_slopes(terms: list[Term], shard: Shard, scores: Array) -> Array:
    out = np.zeros(scores.size)
    for cut, of_positives, of_negatives in terms:
        add_soft_slopes(
            scores, shard.share, shard.positive, cut, -of_positives, -of_negatives, 0, scores.size,
            out,
        )  # fmt: skip
    return out


def _highest_positive(shard: Shard, scores: Array) -> float:
    return float(np.max(scores, where=shard.positive, initial=-np.inf))


def smoothed(measure: OperatingMeasure, pairs: Rows, totals: tuple[float, float]) -> Statistic:
    """What a climb of this measure climbs: of the area under the ROC curve, what `RankOpt` does."""
    if measure.of_pairs:
        return AllPairsStatistic(pairs)
    if isinstance(measure, TopOfEachGroup):
        if isinstance(pairs, BlockGroups):
            return BlockGroupedQuota(measure, pairs)
        return GroupedQuota.of(measure, pairs)
    return SoftMeasure.of(measure, pairs, totals)


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
