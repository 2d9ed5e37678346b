"""The sigmoid rank statistic R and its linear relatives R_{l,a} (Herschtal & Raskutti 2004).

    R(s)       = sum_ij a_i b_j sigma(s_i - s_j)                          (eq. 1)
    R_{l,a}(s) = P sum_k a_i b_j sigma(s_i - s_j),  i = (k + a) mod P, j = k  (eq. 2, section 3.6)

P rows of the smaller class and Q of the larger stand in random order, the smaller class is
recycled until each row of the larger has a partner, and the offset a shifts one class against
the other (positives are the smaller class here; they may be the larger). Without weights
``P a_i b_j = 1 / Q``: a mean. Every pair occurs at exactly one of the
P offsets, so the mean of R_{l,a} over them is R, weights included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from everypair._kernels import count_short
from everypair.pairs import Pairs, pair_point
from everypair.pairs.sorted import Side, SortedScores

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SATURATED = 5.0
"""A sigmoid whose argument is further from zero than this counts as flat (section 3.2)."""


NEAR = 1e-6
SHARE_ROUNDING, LEVEL_ROUNDING = 1e-12, 1e-15
"""In the search for a radius: rounding of a share, and of a margin beside the largest."""


class Point(NamedTuple):
    """``1 - R`` at one vector of scores, and its gradient there, one entry a row.

    The loss and not R itself: near a perfect ranking it keeps its digits where R rounds to 1.
    """

    loss: float
    gradient: Array


class Statistic(Protocol):
    """A smooth stand-in for AUC as a function of the scores."""

    def loss(self, scores: Array) -> float: ...
    def at(self, scores: Array) -> Point: ...
    def radius(self, scores: Array, share: float) -> float:
        """The factor on the scores that saturates this share of the pairs."""
        ...


@dataclass(frozen=True)
class LinearStatistic:
    """R_{l,a}: pair k joins ``positives[k]`` with ``negatives[k]`` and weighs ``weight[k]``."""

    positives: Index
    negatives: Index
    weight: Array
    n_rows: int

    def margins(self, scores: Array) -> Array:
        return scores[self.positives] - scores[self.negatives]

    def loss(self, scores: Array) -> float:
        return float(self.weight @ expit(-self.margins(scores)))

    def at(self, scores: Array) -> Point:
        """Loss and gradient (eq. 4), the latter before it is pulled back through X."""
        margins = self.margins(scores)
        lost = expit(-margins)
        slope = self.weight * lost * expit(margins)
        of_negatives = np.bincount(self.negatives, slope, self.n_rows)
        of_positives = np.bincount(self.positives, slope, self.n_rows)
        return Point(float(self.weight @ lost), np.asarray(of_negatives - of_positives, np.float64))

    def radius(self, scores: Array, share: float) -> float:
        """``SATURATED / t`` with t between two margins, so that the share is met to 1 / Q."""
        sizes = np.sort(np.abs(self.margins(scores)))[::-1]
        above = int(np.clip(np.rint(share * sizes.size), 1, sizes.size))
        lower = sizes[above] if above < sizes.size else 0.0
        return _radius_for(sizes[above - 1] / 2 + lower / 2)


@dataclass(frozen=True)
class RandomOrder:
    """Both classes in random order, rows without weight left out."""

    smaller: Index
    larger: Index
    pairs: Pairs

    @classmethod
    def draw(cls, pairs: Pairs, rng: np.random.RandomState) -> RandomOrder:
        classes = [rows[pairs.weight[rows] > 0] for rows in (pairs.positives, pairs.negatives)]
        # The smaller class is drawn first, so that the pairing does not depend on its label.
        smaller, larger = (rng.permutation(rows) for rows in sorted(classes, key=np.size))
        return cls(smaller, larger, pairs)

    @property
    def n_offsets(self) -> int:
        return self.smaller.size

    def statistic(self, offset: int) -> LinearStatistic:
        """R_{l,a} for ``a = offset``."""
        recycled = self.smaller[(np.arange(self.larger.size) + offset) % self.smaller.size]
        weight = self.pairs.weight[recycled] * self.pairs.weight[self.larger] * self.smaller.size
        sides = recycled, self.larger
        if not self.pairs.positive[self.smaller[0]]:
            sides = self.larger, recycled
        return LinearStatistic(*sides, weight, self.pairs.n_rows)

    def statistics(self) -> Iterator[LinearStatistic]:
        """Every offset: P statistics that share no pair."""
        return (self.statistic(offset) for offset in range(self.n_offsets))


@dataclass(frozen=True)
class AllPairsStatistic:
    """R over every pair, through the fast sigmoid sums."""

    pairs: Pairs

    def loss(self, scores: Array) -> float:
        return pair_point("sigmoid", self.pairs, scores).value()

    def at(self, scores: Array) -> Point:
        point = pair_point("sigmoid", self.pairs, scores)
        return Point(point.value(), point.gradient())

    def radius(self, scores: Array, share: float) -> float:
        """``SATURATED / t`` where the weight of the pairs with ``|z| > t`` is the share.

        The weight falls from one to zero as t grows; each count of it walks the two sorted
        classes once.
        """
        side = SortedScores(self.pairs, scores - scores.mean()).from_positives
        spread = max(
            side.target_scores[0] - side.source_scores[-1],
            side.source_scores[0] - side.target_scores[-1],
        )
        if spread <= 0 or not np.isfinite(spread):
            return 1.0
        side.target_scores /= spread
        side.source_scores /= spread
        below = np.concatenate([[0.0], np.cumsum(side.source_weights)])

        def excess(level: float) -> float:
            return _share_beyond(side, below, level) - share

        if excess(0.0) <= SHARE_ROUNDING:
            # Tied pairs never saturate; the smallest margin that is not a tie has to do.
            return _radius_for(spread * 1e-9)
        # Rounding may leave the widest margin a little above one.
        near = brentq(excess, 0.0, 2.0, xtol=NEAR)
        low, high = near - 2 * NEAR, near + 2 * NEAR
        if low < 0 or excess(low) <= SHARE_ROUNDING or excess(high) > SHARE_ROUNDING:
            low, high = 0.0, 2.0
        # The share falls in steps, and may equal the asked one all along a step: its lower
        # end is one number, whatever the labels are called or the rows are ordered.
        while (middle := (low + high) / 2) not in (low, high):
            if excess(middle) > SHARE_ROUNDING:
                low = middle
            else:
                high = middle
            if high - low <= LEVEL_ROUNDING:
                break
        return _radius_for(spread * high)


def _share_beyond(side: Side, below: Array, level: float) -> float:
    """Weight of the pairs whose margin, of either sign, is larger than ``level``."""
    counts = np.empty(side.target_rows.size, dtype=np.intp)
    # count_short counts the negatives y with 1 - (x - y) >= least, that is z <= 1 - least.
    count_short(side.target_scores, side.source_scores, np.nextafter(1 + level, np.inf), counts)
    lost = side.target_weights @ below[counts]
    count_short(side.target_scores, side.source_scores, 1 - level, counts)
    not_won = side.target_weights @ below[counts]
    return float(lost + 1 - not_won)


def _radius_for(level: float) -> float:
    """The factor that takes a margin of ``level`` to the edge of saturation."""
    radius = SATURATED / level if level > 0 else np.inf
    return float(radius) if np.isfinite(radius) else 1.0
