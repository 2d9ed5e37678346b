"""Rows in blocks that live anywhere: an engine runs jobs over the blocks.

A fit needs sums over rows, and a sum is *a part per block / combine / finish* (`block_jobs`). The
part is a function of a `Shard`, the rows of one block where they live; parts are combined in the
order of the blocks. An engine (`Blocks`) runs it: in this process over blocks that are read again
at each pass (`LocalBlocks`), or on a cluster (`everypair.dask`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import reduce
from typing import Any, Self
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.block_jobs import Extent, Job, Summary, either, followed_by
from everypair.linalg.block_passes import Passes, Read
from everypair.linalg.block_shard import (
    ClassTotals,
    Expression,
    Kept,
    Past,
    Shard,
    Shares,
    class_totals,
    in_order,
    to_make,
    walk,
)
from everypair.linalg.block_vector import BlockVector

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


KEPT_ALONE, MOST_KEPT = 3, 1
"""Vectors that a fit keeps by itself, and beside other fits: the scores of its last point. Others
are made again by the pass that needs them, which reads X in any case; only a second trial of a step
takes a pass of its own."""


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

    def holds(self, vector: BlockVector) -> bool:
        """Whether the vector lies here, so that no pass over X has to make it."""
        return False

    def one_at_a_time(self, vector: BlockVector) -> AbstractContextManager[Any]:
        """For work with much memory on a vector: fits side by side do it one after the other."""
        return nullcontext()

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
    most_kept = KEPT_ALONE

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

    def for_a_fit(self) -> Self:
        """The same rows for a fit beside others: with a loss and vectors of its own."""
        view = copy(self)
        view._kept, view.most_kept = [], MOST_KEPT
        return view

    def stored(self) -> list[Kept]:
        """The vectors that are kept, the oldest first."""
        there = (at() for at in self._kept)
        return [kept for kept in there if kept is not None and kept.store is not None]

    def make_room(self, made: Sequence[Kept], needed: Sequence[Kept]) -> list[Kept]:
        """Of the vectors that a pass makes those to keep; `most_kept` are left, others forgotten.

        First go old products with X, such as a start that only its caller holds, then other old
        vectors. Those that this pass makes or needs go last: of them, too, products first.
        """
        there = self.stored()
        new, used = ({kept.token for kept in some} for some in (made, needed))

        def worth(kept: Kept) -> tuple[bool, bool, bool]:
            return kept.token in new | used, not kept.is_product, kept.token in new

        can_go = [kept for kept in [*there, *made] if kept.can_be_made_again]
        spare = max(0, len(there) + len(made) - self.most_kept)
        gone = {kept.token for kept in sorted(can_go, key=worth)[:spare]}
        for kept in there:
            if kept.token in gone:
                kept.forget()
        stay = [kept for kept in [*there, *made] if kept.token not in gone]
        self._kept = [ref(kept) for kept in stay]
        return [kept for kept in made if kept.token not in gone]

    def holds(self, vector: BlockVector) -> bool:
        kept = Job.of("", _as_list, [vector]).kept
        return bool(kept) and all(part.store is not None for part in kept)

    def one_at_a_time(self, vector: BlockVector) -> AbstractContextManager[Any]:
        """Not where a pass has to make the vector: it waits for the other fits."""
        return self.passes.one_at_a_time if self.holds(vector) else nullcontext()

    def run(self, job: Job) -> Any:
        running = _Running(self, job)
        if running.reads is not None:
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
        stored = [vector for vector in kept if vector.store is not None]
        lost = [vector for vector in kept if vector.is_lost]
        self._parts = {vector.token: vector.store for vector in stored}
        self._lost = {vector.token for vector in lost}
        self._pasts: list[Past] = []
        if lost:
            known = in_order([Past.of(vector) for vector in lost])
            before = {past.token for past in known}
            self._parts |= {v.token: v.store for v in engine.stored() if v.token in before}
            self._pasts = to_make(known, self._lost, self._parts)
            of_pasts = (part.reads for past in self._pasts for part in walk(past.inner))
            self.reads = reduce(either, of_pasts, self.reads)
        self._fresh: list[Kept] = []
        self._kept: list[tuple[Kept, Array]] = []
        if self.reads is not None:
            self._fresh = [v for v in kept if v.store is None and not v.is_lost]
            for vector in self._fresh:
                Past.of(vector)
            staying = engine.make_room([*lost, *self._fresh], stored)
            # What is forgotten and needed in this pass is written over, block after block.
            over = [self._parts[v.token][0].base for v in stored if v.store is None]
            # In one piece: what is let go of goes back to the system, and leaves no gaps.
            self._kept = [(v, over.pop() if over else np.empty(engine.n_rows)) for v in staying]

    @property
    def n_blocks(self) -> int:
        return len(self.engine.lengths)

    def work(self, name: str = "", X: NDArray[Any] | None = None, reads: Any = None) -> None:
        """The next block; X has the columns ``reads``, which are this job's or more."""
        k = self._block
        shard = self.engine.shard(k, name or f"block {k}", X, reads)
        shard.kept = {token: parts[k] for token, parts in self._parts.items()}
        shard.make_again(self._pasts, self._lost)
        part = self.job.work(shard, *map(shard.value, self.job.operands))
        self.found = part if k == 0 else self.job.combine(self.found, part)
        made = shard.kept | shard.fresh
        for vector, whole in self._kept:
            whole[shard.start : shard.start + shard.n_rows] = made[vector.token]
        self._block += 1

    def finish(self) -> None:
        """After a pass: what is to be kept of it is kept, and what that was made of may go."""
        for vector in self._fresh:
            vector.forget()
        for vector, values in self._kept:
            vector.keep(np.split(values, self.engine.starts[1:-1]))


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
