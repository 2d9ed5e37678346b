"""The ranking of scores in blocks from counts in boxes: no sort, and no row leaves its block.

A box holds the rows between its least and its largest score. Pairs of rows in different boxes are
decided, pairs in one box are not, unless all its scores are equal (ties). What is asked decides
which boxes matter; these are split and their rows counted again, until nothing asked is open:

    area        between the pairs won for sure and those with all undecided ones
    best cut    a box may hold a better cut than the best between boxes as long as
                f(all positives of the box above the cut, none of its negatives) says so
    quota       the one box in which a rate crosses the asked one
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_jobs import Job, followed_by
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.dense import read_only
from everypair.linalg.threads import over_rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

MOST_BOXES = 2**14
"""Counted at a time: half a megabyte of counts and ends."""

SAMPLE_ROWS = 2**16
"""Scores whose quantiles are the first edges: half a megabyte."""

MOST_ROUNDS = 10_000


class Boxes(NamedTuple):
    """Boxes in ascending order: weight of both classes, least and largest score. None is empty."""

    positive: Array
    negative: Array
    low: Array
    high: Array

    def of(self, which: Index | Bool) -> Boxes:
        return Boxes(*(values[which] for values in self))


def _joined(first: Boxes, second: Boxes) -> Boxes:
    return Boxes(
        first.positive + second.positive,
        first.negative + second.negative,
        np.minimum(first.low, second.low),
        np.maximum(first.high, second.high),
    )


def _counted(edges: Array, low: float, high: float, shard: Shard, scores: Array) -> Boxes:
    """The rows in each of the boxes ``[edges[k - 1], edges[k])``; the first and last are open."""
    from everypair._compiled import count_in_boxes

    n = edges.size + 1
    weight = np.empty(0) if shard.weight is None else shard.weight.astype(np.float64, copy=False)
    weight = read_only(weight)

    def part(start: int, stop: int) -> Boxes:
        counts, ends = np.zeros((2, n)), (np.full(n, np.inf), np.full(n, -np.inf))
        of_part = (values[start:stop] for values in (scores, shard.positive, weight))
        count_in_boxes(*of_part, edges, low, high, counts, *ends)
        return Boxes(counts[1], counts[0], *ends)

    return reduce(_joined, over_rows(part, scores.size, 10 * scores.size))


@dataclass
class Ranking:
    """The boxes of scores, split where it matters."""

    scores: BlockVector
    boxes: Boxes
    n_rounds: int = 1

    @classmethod
    def of(cls, scores: BlockVector) -> Ranking:
        known: Boxes | None = vars(scores).get("_boxes")  # they serve area and cut
        if known is not None:
            return cls(scores, known)
        return cls(scores, cls._count(scores, cls._first_edges(scores), -np.inf, np.inf))

    def __post_init__(self) -> None:
        self._remember()

    def _remember(self) -> None:
        """With the scores. A ranking there would hold them in turn, and their memory would wait
        for the collector of cycles: as much as a fit takes."""
        vars(self.scores)["_boxes"] = self.boxes

    @staticmethod
    def _first_edges(scores: BlockVector) -> Array:
        """Quantiles of the scores, about: from what a loss knows of them, or from a sample."""
        if "summary" in vars(scores):
            edges = scores.blocks.summary.edges(scores.summary, MOST_BOXES)
            if edges is not None:
                return np.unique(edges)
        step = max(1, scores.size // SAMPLE_ROWS)
        job = Job.of("score-sample", partial(_every, step), [scores], followed_by)
        sample = np.sort(np.concatenate(scores.blocks.run(job)))
        places = np.linspace(0, sample.size - 1, min(MOST_BOXES, sample.size)).astype(np.intp)
        return np.unique(sample[places])

    @staticmethod
    def _count(scores: BlockVector, edges: Array, low: float, high: float) -> Boxes:
        job = Job.of("histogram", partial(_counted, edges, low, high), [scores], _joined)
        boxes: Boxes = scores.blocks.run(job)
        return boxes.of(boxes.positive + boxes.negative > 0)

    @property
    def mixed(self) -> Bool:
        """Boxes with rows of both classes and more than one score."""
        boxes = self.boxes
        return (boxes.positive > 0) & (boxes.negative > 0) & (boxes.low < boxes.high)

    def split(self, which: Index) -> None:
        """Count the rows of these boxes again, in finer ones."""
        which = np.sort(which)
        boxes = self.boxes.of(which)
        parts = max(2, MOST_BOXES // which.size)
        ends = boxes.low, np.nextafter(boxes.high, np.inf)
        edges = np.unique(np.concatenate([_inner_edges(boxes, parts), *ends]))
        # Between two split boxes lie others; what is counted there is dropped.
        found = self._count(self.scores, edges, float(boxes.low[0]), float(boxes.high[-1]))
        owner = np.searchsorted(boxes.low, found.low, side="right") - 1
        found = found.of((owner >= 0) & (found.high <= boxes.high[owner]))
        kept = np.ones(self.boxes.low.size, dtype=bool)
        kept[which] = False
        both = Boxes(*(np.concatenate(p) for p in zip(self.boxes.of(kept), found, strict=True)))
        self.boxes = both.of(np.argsort(both.low, kind="stable"))
        self._remember()
        self.n_rounds += 1

    # --- what is asked ---------------------------------------------------------------------

    def area(self, width: float = 0.0) -> tuple[float, float]:
        """Ends of an interval that holds the area and is no wider than ``width``."""
        for _ in range(MOST_ROUNDS):
            low, high = self._area_ends()
            open_pairs = np.where(self.mixed, self.boxes.positive * self.boxes.negative, 0.0)
            if high - low <= width or not open_pairs.any():
                break
            most = min(MOST_BOXES // 2, int(np.count_nonzero(open_pairs)))
            self.split(np.argpartition(-open_pairs, most - 1)[:most])
        return low, high

    def _area_ends(self) -> tuple[float, float]:
        positive, negative = self.boxes.positive, self.boxes.negative
        if not self.scores.blocks.weighted:  # whole numbers: exact until the division
            positive, negative = positive.astype(np.int64), negative.astype(np.int64)
        below = np.cumsum(negative) - negative
        tied = np.where(self.mixed, 0, positive * negative)
        won = 2 * (positive @ below) + tied.sum()
        undecided = 2 * np.where(self.mixed, positive * negative, 0).sum()
        pairs = positive.sum() * negative.sum()
        if self.scores.blocks.weighted:
            return float(won / (2 * pairs)), float(min(1.0, (won + undecided) / (2 * pairs)))
        return int(won) / (2 * int(pairs)), int(won + undecided) / (2 * int(pairs))

    def above(self) -> tuple[Array, Array]:
        """Weight of both classes in and above each box."""
        boxes = self.boxes
        return np.cumsum(boxes.positive[::-1])[::-1], np.cumsum(boxes.negative[::-1])[::-1]

    def best_cut(self, worth: Callable[[Array, Array], Array]) -> int:
        """The number of boxes below the best cut; of equals the highest cut.

        ``worth(tp, fp)`` grows with tp and falls with fp.
        """
        for _ in range(MOST_ROUNDS):
            tp, fp = self.above()
            found = worth(np.append(tp, 0.0), np.append(fp, 0.0))
            best = found.size - 1 - int(np.argmax(found[::-1]))
            # At most: all positives of the box, and no negative of it.
            most = worth(tp, fp - self.boxes.negative)
            above_best = np.arange(most.size) >= best
            hopeful = (most > found[best]) | ((most >= found[best]) & above_best)
            which = np.flatnonzero(self.mixed & hopeful)
            if which.size == 0:
                return best
            self.split(which[np.argsort(-most[which])[: MOST_BOXES // 2]])
        raise AssertionError("boxes are halved each time")

    def crossing(self, reached: Callable[[Array, Array], Bool]) -> int:
        """The least number of boxes below a cut with ``reached(tp, fp)``, of which higher cuts
        never have less; a box in which it may begin is split."""
        for _ in range(MOST_ROUNDS):
            tp, fp = self.above()
            number = int(np.argmax(np.append(reached(tp, fp), True)))
            if number == 0 or self.boxes.low[number - 1] == self.boxes.high[number - 1]:
                return number
            self.split(np.array([number - 1]))
        raise AssertionError("boxes are halved each time")


def _every(step: int, shard: Shard, scores: Array) -> list[Array]:
    return [scores[(-shard.start) % step :: step]]


def _inner_edges(boxes: Boxes, parts: int) -> Array:
    """Edges that cut each box in ``parts``, above its least score and up to its largest.

    Half of them evenly between the scores, half evenly between their bit patterns: the first is
    good for smooth densities, the second ends after at most 64 halvings wherever the scores lie.
    """
    shares = np.arange(1, parts // 2 + 1) / (parts // 2)
    even = boxes.low[:, None] * (1 - shares) + boxes.high[:, None] * shares
    keys = [_key(ends) for ends in (boxes.low, boxes.high)]
    steps = np.maximum(1, (keys[1] - keys[0]) // np.uint64(parts // 2))
    ordinals = np.arange(1, parts // 2 + 1, dtype=np.uint64)
    between = np.minimum(keys[0][:, None] + steps[:, None] * ordinals, keys[1][:, None])
    edges = np.concatenate([even, _value(between)], axis=1)
    low, high = boxes.low[:, None], boxes.high[:, None]
    inside = (edges > low) & (edges <= high)
    return edges[inside]


_TOP = np.uint64(1 << 63)


def _key(values: Array) -> NDArray[np.uint64]:
    """Whole numbers in the order of the values."""
    bits = (values + 0.0).view(np.uint64)  # no negative zero
    return np.where(bits >= _TOP, ~bits, bits | _TOP)


def _value(keys: NDArray[np.uint64]) -> Array:
    return np.where(keys >= _TOP, keys & ~_TOP, ~keys).view(np.float64)
