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

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from everypair._compiled import weight_outside
from everypair.cached import cached_property
from everypair.linalg.threads import over_rows
from everypair.linalg.vectors import centred
from everypair.pairs import pair_point
from everypair.pairs.few import FewPairs
from everypair.pairs.point import extent
from everypair.pairs.ranked_classes import RankedClass, Side
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SATURATED_MARGIN = 5.0
"""A sigmoid whose argument is further from zero than this counts as flat (section 3.2)."""

TIE_SHARE = 1e-9
"""A margin up to this share of the widest is a tie: equal rows may round to unequal scores."""

RADIUS_ACCURACY = 1e-6
SHARE_ROUNDING, LEVEL_ROUNDING = 1e-12, 1e-15
"""In the search for a radius: rounding of a share, and of a margin beside the largest."""


class Point(NamedTuple):
    """``1 - R`` at one vector of scores, and its gradient there, one entry a row.

    The loss and not R itself: near a perfect ranking it keeps its digits where R rounds to 1.
    """

    loss: float
    gradient: Array


class Statistic(Protocol):
    """A smooth stand-in for a measure as a function of the scores."""

    @property
    def free_cut(self) -> bool:
        """Whether a shift of all scores changes it: the cut is then climbed as well."""
        ...

    def loss(self, scores: Array) -> float: ...
    def at(self, scores: Array) -> Point: ...
    def radius(self, scores: Array, share: float) -> float:
        """The factor ``SATURATED_MARGIN / t`` on the scores that saturates this share of the pairs.

        The share is of the pairs' weight: t is the least level that pairs ``|z| > t`` of no
        more than this share exceed. Pairs with equal scores never saturate. If ties make the
        share unreachable, t is half the smallest margin that is not a tie, and every other
        pair saturates. Scores without a difference keep their size: the factor is one.
        """
        ...


@dataclass(frozen=True)
class LinearStatistic:
    """R_{l,a}: pair k joins ``positives[k]`` with ``negatives[k]`` and weighs ``weight[k]``."""

    positives: Index
    negatives: Index
    weight: Array
    n_rows: int
    free_cut: ClassVar[bool] = False

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
        """As `Statistic` has it, by sorting the margins."""
        sizes = np.abs(self.margins(scores))
        descending = np.argsort(sizes)[::-1]
        sizes, weight = sizes[descending], self.weight[descending]
        widest = float(sizes[0])
        beyond = np.concatenate([[0.0], np.cumsum(weight)])
        last = np.searchsorted(beyond, (share + SHARE_ROUNDING) * beyond[-1], side="right") - 1
        level = sizes[last] if last < sizes.size else 0.0
        if level <= TIE_SHARE * widest:
            level = np.min(sizes, initial=widest, where=sizes > TIE_SHARE * widest) / 2
        return _radius_for(float(level))


@dataclass(frozen=True)
class RandomOrder:
    """Both classes in random order, rows without weight left out."""

    smaller: Index
    larger: Index
    pairs: Rows

    @classmethod
    def draw(cls, pairs: Rows, rng: np.random.RandomState) -> RandomOrder:
        classes = pairs.weighted_classes
        # The smaller class is drawn first, so that the pairing does not depend on its label.
        smaller, larger = (rng.permutation(rows) for rows in sorted(classes, key=np.size))
        return cls(smaller, larger, pairs)

    @property
    def n_offsets(self) -> int:
        return self.smaller.size

    def statistic(self, offset: int) -> LinearStatistic:
        """R_{l,a} for ``a = offset``."""
        recycled = self.smaller[(np.arange(self.larger.size) + offset) % self.smaller.size]
        weight = self.pairs.share[recycled] * self.pairs.share[self.larger] * self.smaller.size
        sides = recycled, self.larger
        if not self.pairs.positive[self.smaller[0]]:
            sides = self.larger, recycled
        return LinearStatistic(*sides, weight, self.pairs.n_rows)


@dataclass(frozen=True)
class AllPairsStatistic:
    """R over every pair, through the fast sigmoid sums; few pairs are summed one by one."""

    pairs: Rows
    free_cut: ClassVar[bool] = False

    @cached_property
    def _few(self) -> FewPairs | None:
        in_arrays = isinstance(self.pairs, Rows) and self.pairs.within is None
        return FewPairs(self.pairs) if in_arrays else None

    def _by_pairs(self, scores: Array) -> Point | None:
        """Summed pair by pair, where that pays."""
        few = self._few
        if few is None or not few.pays(*(ends := extent(scores))):
            return None
        return Point(*few.at(scores, *ends))

    def loss(self, scores: Array) -> float:
        by_pairs = self._by_pairs(scores)
        return by_pairs.loss if by_pairs else pair_point("sigmoid", self.pairs, scores).value()

    def at(self, scores: Array) -> Point:
        if by_pairs := self._by_pairs(scores):
            return by_pairs
        point = pair_point("sigmoid", self.pairs, scores)
        return Point(point.value(), point.gradient())

    def radius(self, scores: Array, share: float) -> float:
        """As `Statistic` has it, by bisection: no list of all margins is written down."""
        pairs = self.pairs
        if not isinstance(scores, np.ndarray):  # the order of all scores is needed
            pairs, scores = pairs.gathered(), scores.gather()
        margins = _EveryMargin(pairs, scores)
        if not 0 < margins.widest < np.inf:
            return 1.0
        level = margins.level(share)
        if level <= TIE_SHARE:
            level = margins.next_beyond(TIE_SHARE) / 2
        return _radius_for(margins.widest * level)


class _EveryMargin:
    """The margins of all pairs that weigh anything, in units of the widest."""

    def __init__(self, pairs: Rows, scores: Array):
        scores = centred(pairs, scores)
        side = Side(*(RankedClass.of(pairs, scores, number) for number in (0, 1)))
        x, y = side.targets, side.sources
        highest, lowest = x.scores[x.edges[:-1]], x.scores[x.edges[1:] - 1]
        above, below = y.scores[y.edges[:-1]], y.scores[y.edges[1:] - 1]
        self.widest = float(max(np.max(highest - below), np.max(above - lowest)))
        if 0 < self.widest < np.inf:
            x.scores[:] /= self.widest
            y.scores[:] /= self.widest
        self._side = side
        self._begin, self._end = (
            np.repeat(edges, np.diff(x.edges)) for edges in (y.edges[:-1], y.edges[1:])
        )
        self._mass = np.zeros(side.sources.rows.size + 1)
        np.cumsum(side.sources.inside, out=self._mass[1:])

    @staticmethod
    def _ends(level: float) -> tuple[float, float]:
        """Margins ``z < -level`` and ``z <= level`` as ``1 - z`` from these numbers on."""
        return float(np.nextafter(1 + level, np.inf)), 1 - level

    def share_beyond(self, level: float) -> float:
        """Weight of the pairs whose margin, of either sign, is larger than ``level``."""
        x, y = self._side
        most, least = self._ends(level)
        walk = x.scores, y.scores, x.edges, y.edges, x.weights, self._mass, least, most
        parts = over_rows(
            lambda start, stop: float(weight_outside(*walk, start, stop)),
            x.rows.size, self._side.operations, finely=True,
        )  # fmt: skip
        return sum(parts)

    def next_beyond(self, level: float) -> float:
        """The smallest size of a margin that is larger than ``level``; one where none is."""
        # Negatives descend, so those that a positive loses to come first, then those it ties with.
        lost, not_won = map(self._side.count_short, self._ends(level))
        x, y = self._side.targets.scores, self._side.sources.scores
        losing, winning = lost > self._begin, not_won < self._end
        sizes = [y[lost[losing] - 1] - x[losing], x[winning] - y[not_won[winning]]]
        return float(np.min(np.concatenate(sizes), initial=1.0))

    def level(self, share: float) -> float:
        """The least level that no more than this share of the pairs' weight exceeds.

        The weight falls from one to zero as the level grows; each count of it walks the two
        sorted classes once.
        """

        def excess(level: float) -> float:
            return self.share_beyond(level) - share

        if excess(0.0) <= SHARE_ROUNDING:
            return 0.0
        # Rounding may leave the widest margin a little above one.
        near = brentq(excess, 0.0, 2.0, xtol=RADIUS_ACCURACY)
        low, high = near - 2 * RADIUS_ACCURACY, near + 2 * RADIUS_ACCURACY
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
        return high


def _radius_for(level: float) -> float:
    """The factor that takes a margin of ``level`` to the edge of saturation."""
    radius = SATURATED_MARGIN / level if level > 0 else np.inf
    return float(radius) if np.isfinite(radius) else 1.0
