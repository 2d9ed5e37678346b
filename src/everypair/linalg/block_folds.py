"""Folds of rows in blocks: the fold of each row, computed where the row is.

A fold is a view of the engine in which the rows outside it weigh nothing (`Blocks.only`): no row is
copied, and no number per row is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_jobs import Job, followed_by
from everypair.linalg.block_shard import Shard
from everypair.linalg.blocks import Blocks

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]
Ids = NDArray[np.integer]


HASHED_ROWS = 2**17
"""Hashed at a time."""


class Folds(Protocol):
    """The fold that tests each row; -1: none does."""

    @property
    def n_folds(self) -> int: ...
    def of(self, shard: Shard) -> Ids: ...


@dataclass(frozen=True)
class StratifiedFolds:
    """scikit-learn's `StratifiedKFold`: runs of rows of each class, in the order of the rows."""

    n_folds: int
    starts: Index
    before: Index
    """Rows of the negatives and of the positives in the blocks before each."""
    ends: Index
    """Of each class: which of its rows is the first after each fold but the last."""
    of_weight: bool
    """Whether rows without weight are left out."""

    @classmethod
    def over(cls, blocks: Blocks, n_folds: int, of_weight: bool = False) -> StratifiedFolds:
        found = blocks.run(Job.of("class-counts", partial(_counted, of_weight), (), followed_by))
        counts = np.array([counts for counts, _ in found]).reshape(-1, 2)
        before = np.concatenate([np.zeros((1, 2), dtype=np.intp), np.cumsum(counts, axis=0)])
        of_classes = before[-1]
        # The class of the first row is dealt first.
        first = next(int(positive) for _, positive in found if positive is not None)
        dealt = np.empty((2, n_folds), dtype=np.intp)
        fold = np.arange(n_folds)
        dealt[first] = -(-(of_classes[first] - fold) // n_folds)
        dealt[1 - first] = -(-(of_classes.sum() - fold) // n_folds) - dealt[first]
        ends = np.cumsum(dealt, axis=1)[:, :-1]
        return cls(n_folds, blocks.starts, before, ends, of_weight)

    def of(self, shard: Shard) -> Ids:
        block = int(np.searchsorted(self.starts, shard.start, side="right")) - 1
        out = np.full(shard.n_rows, -1)
        for side, members in enumerate(_classes(shard, self.of_weight)):
            first = self.before[block, side]
            numbers = np.arange(first, first + np.count_nonzero(members))
            out[members] = np.searchsorted(self.ends[side], numbers, side="right")
        return out


@dataclass(frozen=True)
class GivenFolds:
    """A number per row, as in scikit-learn's `PredefinedSplit`."""

    test_fold: NDArray[Any]

    @property
    def n_folds(self) -> int:
        return int(self.test_fold.max()) + 1

    def of(self, shard: Shard) -> Ids:
        return self.test_fold[shard.start : shard.start + shard.n_rows]


@dataclass(frozen=True)
class FoldsOfGroups:
    """Whole groups, dealt in turn: rows of one group are tested together."""

    n_folds: int
    before: dict[int, int]
    """Groups in the blocks before each, by its first row."""

    @classmethod
    def over(cls, blocks: Blocks, n_folds: int) -> FoldsOfGroups:
        found = blocks.run(Job.of("group-counts", _groups_counted, (), followed_by))
        before = np.cumsum([0] + [n_groups for _, n_groups in found]).tolist()
        return cls(n_folds, {start: n for (start, _), n in zip(found, before, strict=False)})

    def of(self, shard: Shard) -> Ids:
        assert shard.groups is not None
        return (self.before[shard.start] + shard.groups).astype(np.int64) % self.n_folds


@dataclass(frozen=True)
class HashedFolds:
    """By a hash of the row's number: rows that lie together come apart, in any order of files."""

    n_folds: int
    seed: int = 0

    def of(self, shard: Shard) -> Ids:
        return self.between(shard.start, shard.start + shard.n_rows)

    def between(self, start: int, stop: int) -> Ids:
        numbers = np.arange(start, stop)
        return (hashed(numbers, self.seed) % np.uint64(self.n_folds)).astype(np.int64)

    def written_out(self, n_rows: int) -> GivenFolds:
        """The same with a byte or two per row: a hash costs more than most sums of a pass."""
        found = np.empty(n_rows, dtype=np.min_scalar_type(self.n_folds))
        for start in range(0, n_rows, HASHED_ROWS):
            stop = min(n_rows, start + HASHED_ROWS)
            found[start:stop] = self.between(start, stop)
        return GivenFolds(found)


def hashed(numbers: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea & Flood 2014): whole numbers as good as random."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def training(folds: Folds, number: int) -> Any:
    """For `Blocks.only`: the rows that this fold trains on."""
    return partial(_outside, folds, number)


def training_alike(folds: Folds, number: int, scales: tuple[float, float]) -> Any:
    """The same, the negatives and the positives weighing so many times as much."""
    return partial(_outside_alike, folds, number, scales)


def tested(folds: Folds, number: int) -> Any:
    """For `Blocks.only`: the rows that this fold tests."""
    return partial(_inside, folds, number)


def ever_tested(folds: Folds) -> Any:
    """For `Blocks.only`: the rows that some fold tests."""
    return partial(_anywhere, folds)


def _outside(folds: Folds, number: int, shard: Shard) -> Bool:
    return folds.of(shard) != number


def _outside_alike(folds: Folds, number: int, scales: tuple[float, float], shard: Shard) -> Array:
    of_classes = np.where(shard.positive, scales[1], scales[0])
    return np.where(folds.of(shard) != number, of_classes, 0.0)


def _inside(folds: Folds, number: int, shard: Shard) -> Bool:
    return folds.of(shard) == number


def _anywhere(folds: Folds, shard: Shard) -> Bool:
    return folds.of(shard) >= 0


def _classes(shard: Shard, of_weight: bool) -> tuple[Bool, Bool]:
    """The negatives and the positives among the rows, or among those with weight.

    The weight is the given one: in a view of some rows too, the fold of a row stays.
    """
    negative, positive = ~shard.positive, shard.positive
    if of_weight and shard.given is not None:
        there = shard.given > 0
        return negative & there, positive & there
    return negative, positive


def _groups_counted(shard: Shard) -> list[tuple[int, int]]:
    assert shard.groups is not None
    return [(shard.start, int(shard.groups.max()) + 1)]


def _counted(of_weight: bool, shard: Shard) -> list[tuple[tuple[int, int], bool | None]]:
    """Rows of both classes, and whether the first of all is positive."""
    negative, positive = _classes(shard, of_weight)
    among = shard.positive[negative | positive]
    counts = int(np.count_nonzero(negative)), int(np.count_nonzero(positive))
    return [(counts, bool(among[0]) if among.size else None)]
