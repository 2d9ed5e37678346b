"""Both classes in descending order of score, and the walks along two such lists.

Targets of one class stand against sources of the other, with shortfall ``u = 1 - (x - y)``
(`pairs.sorted`). Walks never subtract prefix sums, and begin anywhere, so that threads share them.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import count_short, growing_sum, grown_by, grown_on, window_sum
from everypair.cached import cached_property
from everypair.linalg.order import descending, descending_in_groups
from everypair.linalg.threads import over_rows
from everypair.linalg.vectors import times
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

OPERATIONS_OF_A_WALK = 4
"""Of a row, roughly."""


class RankedClass(NamedTuple):
    """The rows of one class that weigh something, scores descending; in groups: group by group."""

    rows: Index
    scores: Array
    weights: Array
    """What the pairs of each row weigh."""
    inside: Array
    """What each row weighs beside the others of its group, or of its class."""
    edges: Index
    """Where each group begins, and the end; without groups ``[0, n]``."""
    even: bool = False
    """Whether all weigh the same."""

    @classmethod
    def of(cls, pairs: Rows, scores: Array, number: int) -> RankedClass:
        """The positives (0) or the negatives (1)."""
        if pairs.within is not None:
            paired = pairs.paired
            edges = paired.edges[number]
            rows, ranked = descending_in_groups(scores, paired.classes[number], edges)
            return cls(rows, ranked, pairs.share[rows], pairs.inside[rows], edges)
        rows, ranked = descending(scores, pairs.weighted_classes[number])
        even = pairs.even_or_nothing
        # Equal weights are the same in any order.
        weights = pairs.class_shares[number] if even else pairs.share[rows]
        return cls(rows, ranked, weights, weights, np.array([0, rows.size]), even)

    def reflected(self) -> RankedClass:
        """With the scores negated, so in the opposite order."""
        weights = self.weights if self.even else np.ascontiguousarray(self.weights[::-1])
        inside = weights
        if self.inside is not self.weights:
            inside = np.ascontiguousarray(self.inside[::-1])
        scores, rows = np.empty_like(self.scores), np.empty_like(self.rows)

        def part(start: int, stop: int) -> None:
            np.negative(self.scores[::-1][start:stop], out=scores[start:stop])
            rows[start:stop] = self.rows[::-1][start:stop]

        over_rows(part, rows.size, 2 * rows.size)
        edges = np.ascontiguousarray(rows.size - self.edges[::-1])
        return RankedClass(rows, scores, weights, inside, edges, self.even)

    def stretched(self, by: float) -> RankedClass:
        return self._replace(scores=by * self.scores)


class Side(NamedTuple):
    """The rows of one class as targets, those of the other as sources."""

    targets: RankedClass
    sources: RankedClass

    def begin(self) -> Index:
        """For each target, where the sources of its group begin."""
        if self.sources.edges.size == 2:  # one group: no page of zeros is touched
            return np.zeros(self.targets.rows.size, dtype=np.intp)
        return np.repeat(self.sources.edges[:-1], np.diff(self.targets.edges))

    @property
    def operations(self) -> int:
        """Of a walk, roughly."""
        return OPERATIONS_OF_A_WALK * (self.targets.rows.size + self.sources.rows.size)

    def count_short(self, least: float) -> Index:
        """For each target, where the sources with ``u >= least`` end: they come first."""
        targets, sources = self
        counts = np.empty(targets.rows.size, dtype=np.intp)

        def part(start: int, stop: int) -> None:
            count_short(
                targets.scores, sources.scores, targets.edges, sources.edges, least, start, stop,
                counts,
            )  # fmt: skip

        over_rows(part, counts.size, self.operations, finely=True)
        return counts

    def growing_sum(self, high: Index, moment: int) -> Array:
        targets, sources = self
        if moment == 0 and sources.even:  # a sum of equal terms would round the same way each time
            return times(high, sources.inside[0])
        sums = np.empty(targets.rows.size)
        walk = targets.scores, sources.scores, sources.inside, targets.edges, sources.edges, high

        def gain(start: int, stop: int) -> tuple[int, int, Array, bool]:
            state = np.zeros(5)
            last = stop == sums.size  # nobody asks what it leaves behind
            return start, stop, state, last or grown_by(*walk, start, stop, state)

        blocks = over_rows(gain, sums.size, self.operations, finely=True)
        before = [np.zeros(5)]
        for start, stop, state, whole in blocks[:-1]:
            if not whole:
                grown_on(before[-1], targets.scores[start - 1] - targets.scores[stop - 1], state)
            before.append(state)

        def part(first: int, last: int) -> None:
            for k in range(first, last):
                growing_sum(*walk, moment, *blocks[k][:2], before[k], sums)

        over_rows(part, len(blocks), self.operations, finely=True)
        return sums

    def window_sum(self, low: Index, high: Index, moment: int) -> Array:
        targets, sources = self
        sums = np.empty(targets.rows.size)
        window_sum(targets.scores, sources.scores, sources.inside, low, high, moment, sums)
        return sums


class SortedScores:
    """Both classes in descending order of score, seen from either side."""

    def __init__(self, pairs: Rows, scores: Array):
        self.pairs, self.scores = pairs, scores
        self.positives, self.negatives = (RankedClass.of(pairs, scores, k) for k in (0, 1))

    def stretched(self, by: float) -> SortedScores:
        """At ``by`` times the scores, which have the same order."""
        if by == 1:
            return self
        other = copy(self)
        other.scores = by * self.scores
        other.positives, other.negatives = (
            ranked.stretched(by) for ranked in (self.positives, self.negatives)
        )
        other.__dict__.pop("from_negatives", None)
        return other

    def lowered(self, by: float) -> SortedScores:
        """With all positives ``by`` lower: every shortfall is larger by that."""
        other = copy(self)
        other.positives = self.positives._replace(scores=self.positives.scores - by)
        other.__dict__.pop("from_negatives", None)
        return other

    @property
    def extent(self) -> tuple[float, float]:
        """The least and the largest score."""
        x, y = self.positives.scores, self.negatives.scores
        return float(min(x[-1], y[-1])), float(max(x[0], y[0]))

    @property
    def from_positives(self) -> Side:
        return Side(self.positives, self.negatives)

    @cached_property
    def from_negatives(self) -> Side:
        return Side(self.negatives.reflected(), self.positives.reflected())

    def side(self, number: int) -> tuple[Side, float]:
        """Either side, of the positives first, with the sign of its own score in the margin."""
        return (self.from_negatives, -1.0) if number else (self.from_positives, 1.0)
