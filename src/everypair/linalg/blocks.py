"""Rows in blocks that live anywhere: vectors with a number per row, and passes over the blocks.

A fit needs sums over rows, and a sum is *a part per block / combine / finish*. The part is a
function of a `Shard`, the rows of one block where they live; parts are combined in the order of the
blocks. An engine (`Blocks`) runs it: in this process over blocks that are read again at each pass
(`LocalBlocks`), or on a cluster (`everypair.dask`).

A vector with a number per row never leaves its blocks. A `BlockVector` is an expression of such
vectors until a pass over the rows meets one that is to be kept: a product with X, or the scores at
the end of a step. Everything else is computed again where it is needed, block by block.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import count
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.dense import DenseMatrix

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

ALL = slice(None)
"""Every column of X."""


class Shares(NamedTuple):
    """What a row's weight is multiplied by to make each class sum to one."""

    of_negatives: float
    of_positives: float


class Shard:
    """The rows of one block: X, which of them are positive, what each weighs."""

    def __init__(
        self,
        name: str,
        start: int,
        positive: Bool,
        weight: NDArray[Any] | None,
        shares: Shares,
        X: NDArray[Any] | None = None,
        read: Any = None,
        kept: dict[str, Array] | None = None,
    ):
        self.name, self.start, self.positive, self.weight = name, start, positive, weight
        self.shares, self.kept = shares, kept or {}
        self.fresh: dict[str, Array] = {}
        self._X, self._read = X, read
        self._values: dict[int, Any] = {}

    @property
    def n_rows(self) -> int:
        return self.positive.size

    @cached_property
    def share(self) -> Array:
        """The weight of each row in its class."""
        of_negatives, of_positives = self.shares
        share = np.where(self.positive, of_positives, of_negatives)
        if self.weight is not None:
            share *= self.weight
        return share

    def matrix(self, columns: Any = ALL) -> DenseMatrix:
        """X, or these columns of it."""
        assert self._X is not None
        plain = columns is self._read or isinstance(columns, slice)
        X = DenseMatrix(self._X if plain else np.asfortranarray(self._X[:, columns]))
        X.in_a_fit = True
        return X

    def value(self, expression: Expression) -> Any:
        """Of an expression on these rows; what occurs in several places is computed once."""
        known = self._values.get(id(expression))
        if known is not None:
            return known
        if isinstance(expression, Kept):
            value = self.kept.get(expression.token)
            if value is None:
                assert expression.inner is not None
                value = self.fresh[expression.token] = self.value(expression.inner)
        else:
            value = expression.function(self, *map(self.value, expression.operands))
        self._values[id(expression)] = value
        return value


@dataclass(eq=False)
class Expression:
    """A number per row: ``function(shard, *values of the operands)``."""

    function: Callable[..., Any]
    operands: tuple[Expression, ...] = ()
    reads: Any = None
    """Columns of X that the function itself looks at: None, `ALL` or their numbers."""


_tokens = (f"kept-{uuid4().hex}-{k}" for k in count())


@dataclass(eq=False)
class Kept(Expression):
    """An expression whose values are kept by the first pass over the rows that meets it."""

    inner: Expression | None = None
    token: str = field(default_factory=lambda: next(_tokens))
    store: Any = None
    """What the engine keeps; of no use elsewhere."""

    def keep(self, store: Any) -> None:
        self.store, self.inner = store, None  # what it was made of may go

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "store": None}


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and what it is made of, down to what is kept already."""
    yield expression
    below = expression.operands
    if isinstance(expression, Kept):
        below = () if expression.inner is None else (expression.inner,)
    for operand in below:
        yield from walk(operand)


class Job(NamedTuple):
    """``combine`` of ``work(shard, *values of the operands)`` over all blocks."""

    name: str
    work: Callable[..., Any]
    operands: tuple[Expression, ...]
    combine: Callable[[Any, Any], Any]
    reads: Any = None

    @classmethod
    def of(
        cls,
        name: str,
        work: Callable[..., Any],
        operands: Sequence[BlockVector] = (),
        combine: Callable[[Any, Any], Any] | None = None,
        reads: Any = None,
    ) -> Job:
        expressions = tuple(vector.expression for vector in operands)
        for expression in expressions:
            for part in walk(expression):
                reads = either(reads, part.reads)
        return cls(name, work, expressions, add if combine is None else combine, reads)

    @property
    def kept(self) -> list[Kept]:
        """Of all vectors in it that are or will be kept, each once."""
        found = [p for e in self.operands for p in walk(e) if isinstance(p, Kept)]
        return list({vector.token: vector for vector in found}.values())


def either(some: Any, others: Any) -> Any:
    """The columns that are read where both are."""
    if some is None or some is others:
        return others
    return some if others is None else ALL


def add(first: Any, second: Any) -> Any:
    """Sums of arrays and numbers, one by one."""
    if type(first) is tuple:  # not a named one, which adds itself
        return tuple(add(a, b) for a, b in zip(first, second, strict=True))
    return first + second


def followed_by(first: list[Any], second: list[Any]) -> list[Any]:
    return first + second


class Summary(Protocol):
    """What a loss asks of scores once, with their least and largest."""

    name: str

    def part(self, shard: Shard, scores: Array) -> Any: ...
    def combine(self, first: Any, second: Any) -> Any: ...


class Extent:
    """The least and the largest score, and nothing else."""

    name = "extent"

    @staticmethod
    def part(shard: Shard, scores: Array) -> tuple[tuple[float, float], None]:
        return (float(scores.min()), float(scores.max())), None

    @staticmethod
    def combine(first: Any, second: Any) -> Any:
        return joined(first[0], second[0]), None


def joined(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    # By NumPy, which keeps NaN where Python's own may lose it.
    return float(np.minimum(first[0], second[0])), float(np.maximum(first[1], second[1]))


class Blocks:
    """An engine: runs jobs over the blocks, and knows what all of them hold together."""

    n_rows: int
    n_columns: int
    n_passes: int
    """Passes over the rows of X so far."""
    itemsize: int
    lengths: Sequence[int]
    """Rows of each block; empty ones are left out."""
    counts: Sequence[tuple[int, int]]
    """Of each block: rows with weight of the negatives and of the positives."""
    shares: Shares
    largest_share: float
    weighted: bool
    summary: Summary
    here: bool
    """Whether vectors lie in this process, so that their rows may be gathered and sorted."""

    def run(self, job: Job) -> Any:
        raise NotImplementedError

    def gather(self, vector: BlockVector) -> NDArray[Any]:
        parts = self.run(Job.of("gather", _as_list, [vector], followed_by))
        return np.concatenate(parts)

    def spread(self, values: NDArray[Any]) -> BlockVector:
        """A vector that lies here, in the blocks."""
        raise NotImplementedError

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
    def zeros(self) -> BlockVector:
        return BlockVector(self, Expression(_zeros))


class LocalBlocks(Blocks):
    """Blocks in this process: X comes again at each pass, the rest stays in memory.

    ``read(columns)`` gives X block by block, in the same blocks each time.
    """

    here = True

    def __init__(
        self,
        read: Callable[[Any], Generator[tuple[str, NDArray[Any]], None, None]],
        positive: Sequence[Bool],
        weight: Sequence[NDArray[Any]] | None,
        n_columns: int,
        itemsize: int,
    ):
        there = [k for k, part in enumerate(positive) if part.size]
        self._read, self._positive = read, [positive[k] for k in there]
        self._weight = None if weight is None else [weight[k] for k in there]
        self.lengths = [part.size for part in self._positive]
        self.n_rows, self.n_columns, self.itemsize = sum(self.lengths), n_columns, itemsize
        self.n_passes, self.weighted, self.summary = 0, weight is not None, Extent()
        parts = [
            class_totals(part, None if self._weight is None else self._weight[k])
            for k, part in enumerate(self._positive)
        ]
        self.counts = [part.counts for part in parts]
        self.shares, self.largest_share = reduce(ClassTotals.__add__, parts).shares

    def run(self, job: Job) -> Any:
        kept, found = job.kept, None
        stored = [vector for vector in kept if vector.store is not None]
        fresh: dict[str, Array] = {}
        if job.reads is not None:
            # In one piece: what is let go of goes back to the system, and leaves no gaps.
            fresh = {v.token: np.empty(self.n_rows) for v in kept if v.store is None}
        shards = self._shards(job.reads)
        for k, shard in enumerate(shards):
            shard.kept = {vector.token: vector.store[k] for vector in stored}
            part = job.work(shard, *map(shard.value, job.operands))
            found = part if k == 0 else job.combine(found, part)
            for token, whole in fresh.items():
                whole[shard.start : shard.start + shard.n_rows] = shard.fresh[token]
        if job.reads is not None:
            self.n_passes += 1
            for vector in kept:
                if vector.store is None:
                    vector.keep(np.split(fresh[vector.token], self.starts[1:-1]))
        return found

    def _shards(self, reads: Any) -> Iterator[Shard]:
        rows = self._read(reads) if reads is not None else None
        for k, positive in enumerate(self._positive):
            weight = None if self._weight is None else self._weight[k]
            if rows is None:
                name, X = f"block {k}", None
            else:
                name, X = next(rows)
                if X.shape[0] != positive.size:
                    raise ValueError(
                        f"{name} now has {X.shape[0]} rows, but had {positive.size} when the fit "
                        "began: do not change the data while they are read."
                    )
            yield Shard(name, int(self.starts[k]), positive, weight, self.shares, X, reads)
        if rows is not None:
            rows.close()

    def spread(self, values: NDArray[Any]) -> BlockVector:
        parts = np.split(values, self.starts[1:-1])
        return BlockVector(self, Kept(_zeros, store=parts))


class ClassTotals(NamedTuple):
    """Of some rows: how many of each class have weight, their total and largest weight."""

    counts: tuple[int, int]
    totals: tuple[float, float]
    largest: tuple[float, float]

    def __add__(self, other: ClassTotals) -> ClassTotals:  # type: ignore[override]
        return ClassTotals(
            add(self.counts, other.counts),
            add(self.totals, other.totals),
            tuple(map(max, self.largest, other.largest)),  # type: ignore[arg-type]
        )

    @property
    def shares(self) -> tuple[Shares, float]:
        """The shares of both classes, and the largest of a row."""
        for n, name in zip(self.counts, ("negative", "positive"), strict=True):
            if n == 0:
                raise ValueError(
                    f"There is no {name} row with weight in any block: "
                    "give at least one row of each class."
                )
        shares = Shares(*(1 / total for total in self.totals))
        return shares, max(map(operator.mul, self.largest, shares))


def class_totals(positive: Bool, weight: NDArray[Any] | None) -> ClassTotals:
    if weight is None:
        n = int(np.count_nonzero(positive))
        counts = positive.size - n, n
        return ClassTotals(counts, (float(counts[0]), float(counts[1])), (1.0, 1.0))
    low, high = weight[~positive], weight[positive]
    return ClassTotals(
        (int(np.count_nonzero(low)), int(np.count_nonzero(high))),
        (float(low.sum(dtype=np.float64)), float(high.sum(dtype=np.float64))),
        (float(low.max(initial=0.0)), float(high.max(initial=0.0))),
    )


class Statistics(NamedTuple):
    """Of a vector: sums, which add up."""

    total: float
    squares: float
    size: float
    """Of the absolute values."""
    of_positives: float

    @staticmethod
    def part(shard: Shard, values: Array) -> Statistics:
        from everypair._compiled import vector_sums

        return Statistics(*vector_sums(values, shard.positive))

    def __add__(self, other: Statistics) -> Statistics:  # type: ignore[override]
        return Statistics(*map(operator.add, self, other))


class BlockVector:
    """A number per row, in blocks: an expression, with the arithmetic of an array."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, blocks: Blocks, expression: Expression, known_mean: float | None = None):
        self.blocks, self.expression, self._known_mean = blocks, expression, known_mean

    @property
    def size(self) -> int:
        return self.blocks.n_rows

    def kept(self) -> BlockVector:
        """The same, kept from the next pass over the rows on."""
        if isinstance(self.expression, Kept):
            return self
        inner = self.expression
        return BlockVector(self.blocks, Kept(_zeros, inner=inner), self._known_mean)

    def each(self, function: Callable[..., Any], *others: BlockVector) -> BlockVector:
        """``function(shard, values, *values of the others)`` on each block."""
        operands = (self.expression, *(other.expression for other in others))
        return BlockVector(self.blocks, Expression(function, operands))

    def _with(self, of: Callable[..., Any], other: Any, swapped: bool = False) -> BlockVector:
        if isinstance(other, BlockVector):
            return self.each(partial(_of_two, of), other)
        return self.each(partial(_of_number, of, float(other), swapped))

    def __add__(self, other: Any) -> BlockVector:
        return self._with(operator.add, other)

    def __radd__(self, other: Any) -> BlockVector:
        return self._with(operator.add, other, swapped=True)

    def __sub__(self, other: Any) -> BlockVector:
        return self._with(operator.sub, other)

    def __rsub__(self, other: Any) -> BlockVector:
        return self._with(operator.sub, other, swapped=True)

    def __mul__(self, other: Any) -> BlockVector:
        return self._with(operator.mul, other)

    def __rmul__(self, other: Any) -> BlockVector:
        return self._with(operator.mul, other, swapped=True)

    def __truediv__(self, other: Any) -> BlockVector:
        return self._with(operator.truediv, other)

    def __neg__(self) -> BlockVector:
        return self.each(partial(_of_one, operator.neg))

    def __abs__(self) -> BlockVector:
        return self.each(partial(_of_one, operator.abs))

    def __matmul__(self, other: BlockVector) -> float:
        return float(self.blocks.run(Job.of("inner-product", _inner, [self, other])))

    @cached_property
    def statistics(self) -> Statistics:
        found = self.blocks.run(Job.of("sums", Statistics.part, [self]))
        return found

    @cached_property
    def summary(self) -> Any:
        """What the loss asks of scores: the extent, and sums of its own."""
        summary = self.blocks.summary
        return self.blocks.run(Job.of(summary.name, summary.part, [self], summary.combine))

    @property
    def extent(self) -> tuple[float, float]:
        ends: tuple[float, float] = self.summary[0]
        return ends

    def sum(self) -> float:
        return self.statistics.total

    def mean(self) -> float:
        known = self._known_mean
        return self.statistics.total / self.size if known is None else known

    def length(self) -> float:
        return float(np.sqrt(self.statistics.squares))

    def gather(self) -> NDArray[Any]:
        return self.blocks.gather(self)


def _as_list(shard: Shard, values: Any) -> list[Any]:
    return [values]


def _positive(shard: Shard) -> Bool:
    return shard.positive


def _share(shard: Shard) -> Array:
    return shard.share


def _zeros(shard: Shard) -> Array:
    return np.zeros(shard.n_rows)


def _of_one(of: Callable[..., Any], shard: Shard, values: Array) -> Any:
    return of(values)


def _of_two(of: Callable[..., Any], shard: Shard, values: Array, others: Array) -> Any:
    return of(values, others)


def _of_number(
    of: Callable[..., Any], number: float, swapped: bool, shard: Shard, values: Array
) -> Any:
    return of(number, values) if swapped else of(values, number)


def _inner(shard: Shard, values: Array, others: Array) -> float:
    return float(np.einsum("i,i", values, others))
