"""Sums over blocks: a part per block, what combines the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_shard import ALL, Expression, Kept, Shard, walk

if TYPE_CHECKING:
    from everypair.linalg.block_vector import BlockVector

Array = NDArray[np.float64]


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
    def edges(self, found: Any, n: int) -> Array | None:
        """``n`` scores with about as many rows between them; None where this summary has none."""
        ...


class Extent:
    """The least and the largest score, and nothing else."""

    name = "extent"

    @staticmethod
    def part(shard: Shard, scores: Array) -> tuple[tuple[float, float], None]:
        return (float(scores.min()), float(scores.max())), None

    @staticmethod
    def combine(first: Any, second: Any) -> Any:
        return joined(first[0], second[0]), None

    @staticmethod
    def edges(found: Any, n: int) -> Array | None:
        return None


def joined(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    # By NumPy, which keeps NaN where Python's own may lose it.
    return float(np.minimum(first[0], second[0])), float(np.maximum(first[1], second[1]))
