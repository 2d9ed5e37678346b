"""Blocks on the workers of a Dask cluster (`linalg.blocks.Blocks`).

A job is one task per block and a tree of tasks that combine the parts. What a task keeps, a vector
with a number per row, hangs on the block on its worker and is not sent. It may be lost with the
worker. A task that does not find it says so (`LOST`), and the job is sent once more with all that
its vectors were made of: each is a function of a block and of numbers alone.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import lru_cache, reduce
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakSet

import numpy as np
from dask import delayed
from distributed import Client, Future, KilledWorker, get_client
from distributed.protocol import pickle as task_pickle
from numpy.typing import NDArray

from everypair.dask.held_rows import (
    HeldBlock,
    Seen,
    held,
    joined,
    parts_of,
    pieces,
    placed,
    seen_of,
    whole_groups,
)
from everypair.dask.worker_memory import keep_small_pieces
from everypair.linalg.block_jobs import Extent, Job
from everypair.linalg.block_shard import (
    ALL,
    ClassTotals,
    Kept,
    Past,
    Shard,
    Shares,
    in_order,
)
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.blocks import Blocks
from everypair.linalg.threads import one_blas_thread, thread_limit

LOOK_SECONDS = 2.0
"""So often it is looked whether there are workers at all."""

NO_WORKER_SECONDS = 30.0
"""A cluster without any worker for so long has lost them."""

MOST_DEATHS = 3
"""Dask gives up a task whose workers died so often; it is begun anew so often."""

PARTS_PER_TASK = 16
"""Parts that one task combines."""

DIRECT_BLOCKS = 16
"""Blocks up to which rows of a group go to their block directly."""

INLINE_BYTES = 2**16
"""A job larger than this is sent to a worker once, and from there to the others."""

ON_BLOCKS = "on the blocks"
"""Where a vector is that a job has kept; one from the client is in tasks, one per block."""

LOST = "everypair: a vector that was kept is not here"
"""What a task says in place of its part."""


class Order(NamedTuple):
    """What a worker needs to know of a job, the same for all blocks."""

    job: Job
    placed: tuple[str, ...]
    """Tokens of the vectors that came from the client."""
    alive: frozenset[str]
    """Tokens of the vectors that are still asked for: the blocks forget all others."""
    lost: tuple[Past, ...]
    """What the vectors were made of, where some are to be made again."""
    positive_label: Any
    shares: Shares
    some: Callable[[Shard], NDArray[Any]] | None
    starts: NDArray[np.intp]
    places: tuple[int, ...]


class DaskBlocks(Blocks):
    """Blocks whose X, labels and weights are chunks of Dask collections."""

    here = False

    def __init__(
        self,
        client: Client | None,
        X: Any,
        y: Any,
        sample_weight: Any,
        name: str,
        within: Any = None,
    ):
        self.client, self.grouped = _client_of(client), within is not None
        given = {"X": X, "y": y, "sample_weight": sample_weight, "within": within}
        parts = parts_of({name: each for name, each in given.items() if each is not None})
        if within is None:
            given_blocks: Any = [(held, (k, *part)) for k, part in enumerate(parts)]
        else:
            given_blocks = [
                (whole_groups, (k, *some)) for k, some in enumerate(_brought_together(parts))
            ]
        blocks = [
            delayed(hold, pure=False)(*arguments, dask_key_name=key)
            for key, (hold, arguments) in zip(
                _keys("block", len(given_blocks)), given_blocks, strict=True
            )
        ]
        labels = [
            delayed(seen_of, pure=False)(block, dask_key_name=key)
            for key, block in zip(_keys("labels", len(blocks)), blocks, strict=True)
        ]
        futures: list[Future] = self.client.compute([*blocks, *labels])
        self._blocks = futures[: len(blocks)]
        seen: list[Seen] = self._results(futures[len(blocks) :])
        self.classes = self._check(seen, name)
        # Empty blocks have nothing to say.
        self._places = tuple(k for k, of in enumerate(seen) if of.n_rows)
        self._blocks = [self._blocks[k] for k in self._places]
        there = [seen[k] for k in self._places]
        self.lengths = [of.n_rows for of in there]
        self.n_rows, self.n_columns = sum(self.lengths), there[0].n_columns
        self.itemsize = there[0].itemsize
        self._passes: list[str] = []
        self._kept: WeakSet[Kept] = WeakSet()
        self.summary = Extent()
        self.weighted = sample_weight is not None
        nothing = ClassTotals((0, 0), (0.0, 0.0), (0.0, 0.0))
        low, high = ([of.of_labels.get(c, nothing) for of in there] for c in self.classes.tolist())
        # `class_totals` was asked with every row of the label as a positive.
        totals = [
            ClassTotals(
                (of_low.counts[1], of_high.counts[1]),
                (of_low.totals[1], of_high.totals[1]),
                (of_low.largest[1], of_high.largest[1]),
            )
            for of_low, of_high in zip(low, high, strict=True)
        ]
        self.weigh(totals)

    @property
    def n_passes(self) -> int:
        return len(self._passes)

    def _check(self, seen: list[Seen], name: str) -> NDArray[Any]:
        """The two labels of all blocks."""
        for k, of in enumerate(seen):
            if of.trouble:
                raise ValueError(f"Block {k}: {of.trouble}")
        there = [k for k, of in enumerate(seen) if of.n_rows]
        if not there:
            raise ValueError(f"{name} needs rows, but all {len(seen)} blocks are empty.")
        first = there[0]
        for k in there:
            if seen[k].n_columns != seen[first].n_columns:
                raise ValueError(
                    f"Block {k} has {seen[k].n_columns} columns, but block {first} has "
                    f"{seen[first].n_columns}: all blocks need the same columns."
                )
        labels = np.unique(np.concatenate([seen[k].labels for k in there]))
        if labels.size != 2:
            raise ValueError(
                f"{name} needs two classes, but y has {labels.size}: "
                f"{', '.join(map(str, labels[:5].tolist()))}{' ...' if labels.size > 5 else ''}."
            )
        return labels

    # --- tasks -----------------------------------------------------------------------------

    def _submit(self, what: str, function: Callable[..., Any], *args: Any) -> Future:
        return self.client.submit(function, *args, key=_keys(what, 1)[0], pure=False)

    def _each(self, what: str, function: Callable[..., Any], *args: Sequence[Any]) -> list[Future]:
        """A task per block, in one graph; each of ``args`` has a value per block."""
        keys = _keys(what, len(args[0]))
        found: list[Future] = self.client.map(function, *args, key=keys, pure=False)
        return found

    def _results(self, futures: Sequence[Future]) -> list[Any]:
        """Their results; an error where the cluster has no worker left to compute them."""
        alone_since: float | None = None

        async def gathered() -> Any:
            return await self.client.gather(list(futures), asynchronous=True)

        def begun() -> Any:
            return asyncio.run_coroutine_threadsafe(gathered(), self.client.loop.asyncio_loop)

        for attempt in range(MOST_DEATHS + 1):
            # One for all looks: a transfer may take longer than the time between them.
            task = begun()
            try:
                while True:
                    try:
                        found: list[Any] = task.result(timeout=LOOK_SECONDS)
                        return found
                    except TimeoutError:
                        if task.done() and task.exception() is not None:
                            task = begun()  # it was the transfer's own
                        alone_since = self._alone_since(alone_since)
            except KilledWorker as error:
                failed = [future for future in futures if future.status == "error"]
                if attempt == MOST_DEATHS:
                    raise RuntimeError(
                        f"The workers that computed {failed[0].key!r} died repeatedly: give "
                        "them more memory, or smaller blocks."
                    ) from error
                self.client.retry(failed)
            except CancelledError as error:
                raise RuntimeError(
                    "The Dask cluster has lost this fit's tasks, or was closed: start it again and "
                    "fit again. Data that were scattered by hand are lost with their worker."
                ) from error
            finally:
                task.cancel()
        raise AssertionError

    def _alone_since(self, since: float | None) -> float | None:
        """When the last worker was seen to be gone; an error where that is too long ago."""
        try:
            workers = self.client.nthreads()
        except Exception:  # the scheduler is gone as well
            workers = {}
        if workers:
            return None
        if since is not None and time.monotonic() - since > NO_WORKER_SECONDS:
            raise RuntimeError(
                f"The Dask cluster has had no worker for {NO_WORKER_SECONDS:g} seconds: "
                "start workers and fit again."
            )
        return time.monotonic() if since is None else since

    def run(self, job: Job) -> Any:
        fresh = [v for v in job.kept if v.store is None] if job.reads is not None else []
        self._kept.update(fresh)
        parts = self._parts(job)
        if any(map(_is_lost, parts)):
            known = [vector.past for vector in job.kept if vector.past is not None]
            parts = self._parts(job, tuple(in_order(known)))
        for vector in fresh:
            Past.of(vector)
        for vector in fresh:
            vector.keep(ON_BLOCKS)
        if job.reads is not None:
            self._passes.append(job.name)
        return reduce(job.combine, parts)

    def _parts(self, job: Job, lost: tuple[Past, ...] = ()) -> list[Any]:
        """Of the blocks, or of some together."""
        placed = [vector for vector in job.kept if vector.store not in (None, ON_BLOCKS)]
        order = Order(
            job,
            tuple(vector.token for vector in placed),
            frozenset(vector.token for vector in self._kept),
            lost,
            self.classes[1],
            self.shares,
            self.some,
            self.starts,
            self._places,
        )
        message: Any = task_pickle.dumps(order)
        n_blocks = len(self._blocks)
        if len(message) > INLINE_BYTES and n_blocks > 2:
            message = self._submit("job", _itself, message)
        given = (vector.store for vector in placed)
        parts = self._each(job.name, _work, [message] * n_blocks, range(n_blocks), self._blocks,
                           *given)  # fmt: skip
        if len(parts) > 2:
            combine = task_pickle.dumps(job.combine)
            while len(parts) > 1:
                groups = [
                    parts[k : k + PARTS_PER_TASK] for k in range(0, len(parts), PARTS_PER_TASK)
                ]
                parts = self._each(f"{job.name}-sum", _combined, [combine] * len(groups), groups)
        return self._results(parts)

    def place(self, parts: Sequence[Any]) -> BlockVector:
        return BlockVector(self, Kept(store=self._each("scores", _itself, parts)))


def _keys(what: str, n: int) -> list[tuple[str, int]]:
    """Names of n tasks, which Dask takes for one group: that of what stands before the number.

    Tasks of a group far larger than the cluster that depend on few others run on whichever worker
    is idle, wherever their data lie. Under one name for all fits the tasks of some fits together
    were such a group, and X went from worker to worker.
    """
    stem = f"everypair-{what}-{uuid4().hex}"
    return [(stem, k) for k in range(n)]


def _brought_together(parts: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Of each block the rows of its groups, wherever they lie, in the order of the blocks.

    Every block hands a piece to every block: n^2 small tasks. From more than `DIRECT_BLOCKS` on it
    goes in two steps, first to a batch of about sqrt(n) blocks and then inside it: 2 n^1.5 tasks.
    """
    n = len(parts)
    batch = 1 if n <= DIRECT_BLOCKS else math.ceil(math.sqrt(n))
    n_batches = math.ceil(n / batch)
    rows = [delayed(placed, pure=False)(k, n, *part) for k, part in enumerate(parts)]
    cut = delayed(pieces, nout=n_batches, pure=False)
    cuts = [cut(each, batch, n_batches) for each in rows]
    if batch == 1:
        return [[of[k] for of in cuts] for k in range(n)]
    # For a batch of receivers: what each batch of senders has for it.
    join, split = delayed(joined, pure=False), delayed(pieces, nout=batch, pure=False)
    found = []
    for to in range(n_batches):
        sent = [join(*(of[to] for of in cuts[k : k + batch])) for k in range(0, n, batch)]
        inner = [split(each, 1, batch) for each in sent]
        found += [[of[k] for of in inner] for k in range(batch)]
    return found[:n]


def _client_of(client: Client | None) -> Client:
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "There is no Dask client: start one, for example by `from distributed import Client; "
            "client = Client(n_workers=2)`, or give it as client=."
        ) from error


# --- what runs on the workers ------------------------------------------------------------------


def _itself(value: Any) -> Any:
    return value


def _combined(combine: bytes, parts: list[Any]) -> Any:
    return LOST if any(map(_is_lost, parts)) else reduce(pickle.loads(combine), parts)


def _is_lost(part: Any) -> bool:
    return isinstance(part, str) and part == LOST


@lru_cache(maxsize=4)
def _read(message: bytes) -> Order:
    order: Order = pickle.loads(message)
    return order


def _work(message: bytes, number: int, block: HeldBlock, *placed: Any) -> Any:
    """The part of a job that one block makes."""
    keep_small_pieces()
    order = _read(message)
    job, vectors = order.job, block.vectors
    reads = ALL if order.lost or job.reads is None else job.reads
    for token in vectors.keys() - order.alive:
        vectors.pop(token, None)
    there = dict(zip(order.placed, placed, strict=True)) | vectors
    asked = {vector.token for vector in job.kept if vector.inner is None}
    if not order.lost and asked - there.keys():
        return LOST
    shard = Shard(
        f"block {block.number}",
        int(order.starts[number]),
        block.y == order.positive_label,
        block.weight,
        order.shares,
        block.X if isinstance(reads, slice) else block.X[:, reads],
        reads,
        there,
        order.some,
        block.groups,
    )
    # One thread: the worker has others for other blocks.
    with thread_limit(1), one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        shard.make_again(order.lost, asked)
        part = job.work(shard, *map(shard.value, job.operands))
    made = shard.kept | shard.fresh
    vectors.update((token, made[token]) for token in order.alive & made.keys())
    return part
