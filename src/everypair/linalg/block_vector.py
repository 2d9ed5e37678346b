"""A number per row, in blocks, with the arithmetic of an array."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.block_jobs import Job
from everypair.linalg.block_shard import Expression, Kept, Shard

if TYPE_CHECKING:
    from everypair.linalg.blocks import Blocks

Array = NDArray[np.float64]


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

    def on(self, blocks: Blocks) -> BlockVector:
        """The same numbers, of rows that weigh as those engine's do."""
        return BlockVector(blocks, self.expression, self._known_mean)

    def kept(self) -> BlockVector:
        """The same, kept from the next pass over the rows on."""
        if isinstance(self.expression, Kept):
            return self
        inner = self.expression
        return BlockVector(self.blocks, Kept(inner=inner), self._known_mean)

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
