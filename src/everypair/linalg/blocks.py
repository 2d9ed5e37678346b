"""Rows in blocks that live anywhere: an engine runs jobs over the blocks.

A fit needs sums over rows, and a sum is *a part per block / combine / finish* (`block_jobs`). The
part is a function of a `Shard`, the rows of one block where they live; parts are combined in the
order of the blocks. An engine (`Blocks`) runs it: in this process over blocks that are read again
at each pass (`LocalBlocks`), or on a cluster (`everypair.dask`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import reduce
from typing import Any, Self
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.block_jobs import Extent, Job, Summary, followed_by
from everypair.linalg.block_passes import Passes, Read
from everypair.linalg.block_shard import (
    ClassTotals,
    Expression,
    Kept,
    Shard,
    Shares,
    class_totals,
)
from everypair.linalg.block_vector import BlockVector

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


MOST_KEPT = 3
"""Vectors of scores that a fit keeps: those of a point, of a step, and of the point after it."""


class Blocks:
    """An engine: runs jobs over the blocks, and knows what all of them hold together."""

    n_rows: int
    n_columns: int
    itemsize: int
    lengths: Sequence[int]
    """Rows of each block; empty ones are left out."""
    counts: Sequence[tuple[int, int]]
    """Of each block: rows with weight of the negatives and of the positives."""
    shares: Shares
    totals: tuple[float, float]
    """The weight of the negatives and of the positives."""
    largest_share: float
    weighted: bool
    summary: Summary
    here: bool
    """Whether vectors lie in this process, so that their rows may be gathered and sorted."""
    grouped = False
    """Whether rows are paired inside groups, each of which lies in one block."""
    some: Callable[[Shard], NDArray[Any]] | None = None
    """What the weight of each row of a shard is multiplied by: 0 leaves it out. None: 1."""

    @property
    def n_passes(self) -> int:
        """Passes over the rows of X so far."""
        raise NotImplementedError

    def run(self, job: Job) -> Any:
        raise NotImplementedError

    def gather(self, vector: BlockVector) -> NDArray[Any]:
        parts = self.run(Job.of("gather", _as_list, [vector], followed_by))
        return np.concatenate(parts)

    def spread(self, values: NDArray[Any]) -> BlockVector:
        """A vector that lies here, in the blocks."""
        return self.place(np.split(values, self.starts[1:-1]))

    def place(self, parts: Sequence[Any]) -> BlockVector:
        """What lies here of each block, in the blocks."""
        raise NotImplementedError

    def weigh(self, parts: Sequence[ClassTotals]) -> None:
        """Take over what the rows of each block weigh."""
        self.counts = [part.counts for part in parts]
        whole = reduce(ClassTotals.__add__, parts)
        self.totals = whole.totals
        self.shares, self.largest_share = whole.shares

    def only(self, some: Callable[[Shard], NDArray[Any]]) -> Self:
        """The same blocks, of which only some rows have weight: nothing is copied."""
        view = copy(self)
        view.some, view.weighted, view.summary = some, True, Extent()
        view.weigh(view.run(Job.of("class-totals", _totals, (), followed_by)))
        return view

    @cached_property
    def starts(self) -> Index:
        """The number of each block's first row, and the number of all rows."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.intp)

    @property
    def positive(self) -> BlockVector:
        return BlockVector(self, Expression(_positive))

    @property
    def share(self) -> BlockVector:
        return BlockVector(self, Expression(_share))

    @property
    def weight(self) -> BlockVector:
        return BlockVector(self, Expression(_weight))

    @property
    def zeros(self) -> BlockVector:
        zeros = BlockVector(self, Expression(_zeros), known_mean=0.0)
        # One row per class, with the share of all rows of the class, has the same sums.
        classes = Shard("zeros", 0, np.array([False, True]), None, Shares(1.0, 1.0))
        zeros.summary = self.summary.part(classes, np.zeros(2))
        return zeros


class LocalBlocks(Blocks):
    """Blocks in this process: X comes again at each pass, the rest stays in memory.

    ``read(columns)`` gives X block by block, in the same blocks each time.
    """

    here = True

    def __init__(
        self,
        read: Read,
        positive: Sequence[Bool],
        weight: Sequence[NDArray[Any]] | None,
        n_columns: int,
        itemsize: int,
    ):
        there = [k for k, part in enumerate(positive) if part.size]
        self.passes, self._positive = Passes(read), [positive[k] for k in there]
        self._weight = None if weight is None else [weight[k] for k in there]
        self.lengths = [part.size for part in self._positive]
        self.n_rows, self.n_columns, self.itemsize = sum(self.lengths), n_columns, itemsize
        self.weighted, self.summary = weight is not None, Extent()
        self._kept: list[ref[Kept]] = []
        weights = [None] * len(there) if self._weight is None else self._weight
        self.weigh(list(map(class_totals, self._positive, weights)))

    @property
    def n_passes(self) -> int:
        return self.passes.n

    def only(self, some: Callable[[Shard], NDArray[Any]]) -> Self:
        view = super().only(some)
        view._kept = []  # a fit of its own
        return view

    def make_room(self, fresh: Sequence[Kept], needed: Sequence[Kept]) -> None:
        """Forget old products beyond `MOST_KEPT` vectors: a start that only its caller holds."""
        there = [kept for at in self._kept if (kept := at()) is not None and kept.store is not None]
        spare = len(there) + len(fresh) - MOST_KEPT
        for kept in there[: max(0, spare)]:
            if kept.again is not None and all(kept is not one for one in needed):
                kept.forget()
        there = [kept for kept in there if kept.store is not None]
        self._kept = [ref(kept) for kept in [*there, *fresh]]

    def run(self, job: Job) -> Any:
        running = _Running(self, job)
        if job.reads is not None:
            self.passes.run(running)
        else:
            for _ in self.lengths:
                running.work()
        return running.found

    def shard(self, k: int, name: str, X: NDArray[Any] | None, reads: Any) -> Shard:
        positive = self._positive[k]
        if X is not None and X.shape[0] != positive.size:
            raise ValueError(
                f"{name} now has {X.shape[0]} rows, but had {positive.size} when the fit "
                "began: do not change the data while they are read."
            )
        weight = None if self._weight is None else self._weight[k]
        start = int(self.starts[k])
        return Shard(name, start, positive, weight, self.shares, X, reads, some=self.some)

    def place(self, parts: Sequence[Any]) -> BlockVector:
        return BlockVector(self, Kept(store=parts))


class _Running:
    """A job on its way over the blocks, one after the other."""

    def __init__(self, engine: LocalBlocks, job: Job):
        self.engine, self.job, self.reads = engine, job, job.reads
        self.found: Any = None
        self._block = 0
        kept = job.kept
        self._stored = [vector for vector in kept if vector.store is not None]
        self._fresh: list[tuple[Kept, Array]] = []
        if job.reads is not None:
            # In one piece: what is let go of goes back to the system, and leaves no gaps.
            fresh = [vector for vector in kept if vector.store is None]
            engine.make_room(fresh, self._stored)
            self._fresh = [(vector, np.empty(engine.n_rows)) for vector in fresh]

    @property
    def n_blocks(self) -> int:
        return len(self.engine.lengths)

    def work(self, name: str = "", X: NDArray[Any] | None = None, reads: Any = None) -> None:
        """The next block; X has the columns ``reads``, which are this job's or more."""
        k = self._block
        shard = self.engine.shard(k, name or f"block {k}", X, reads)
        shard.kept = {vector.token: vector.store[k] for vector in self._stored}
        part = self.job.work(shard, *map(shard.value, self.job.operands))
        self.found = part if k == 0 else self.job.combine(self.found, part)
        for vector, whole in self._fresh:
            whole[shard.start : shard.start + shard.n_rows] = shard.fresh[vector.token]
        self._block += 1

    def finish(self) -> None:
        """After a pass: what it met that is to be kept is kept."""
        for vector, whole in self._fresh:
            vector.keep(np.split(whole, self.engine.starts[1:-1]))


def _totals(shard: Shard) -> list[ClassTotals]:
    return [class_totals(shard.positive, shard.weight)]


def _as_list(shard: Shard, values: Any) -> list[Any]:
    return [values]


def _positive(shard: Shard) -> Bool:
    return shard.positive


def _share(shard: Shard) -> Array:
    return shard.share


def _weight(shard: Shard) -> NDArray[Any]:
    return np.ones(shard.n_rows) if shard.weight is None else shard.weight


def _zeros(shard: Shard) -> Array:
    return np.zeros(shard.n_rows)
