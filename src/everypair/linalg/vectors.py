"""Vectors of one number per row, on all threads: none of these is worth a thread by itself, but
together they take as long as a product with X, and would stay serial."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_vector import BlockVector
from everypair.linalg.few_rows import FEW_ROWS, exact_sum_of_few
from everypair.linalg.threads import over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def shifted(values: Array, by: float) -> Array:
    """``values + by``."""
    out = np.empty(values.size)
    over_rows(
        lambda start, stop: np.add(values[start:stop], by, out=out[start:stop]), out.size, out.size
    )
    return out


def scaled(values: Any, by: float) -> Any:
    """``by * values``."""
    return times(values, np.float64(by))


def moved(values: Any, by: float, step: Any) -> Any:
    """``values + by * step`` in one array."""
    if not isinstance(values, np.ndarray):
        return (values + by * step).kept()
    out = np.empty_like(values)

    def part(start: int, stop: int) -> None:
        np.multiply(step[start:stop], by, out=out[start:stop])
        out[start:stop] += values[start:stop]

    over_rows(part, out.size, out.size)
    return out


def times(values: Array | Index, others: Array | np.float64) -> Array:
    """``values * others``."""
    if not isinstance(values, np.ndarray):
        return values * others
    out, other = np.empty(values.size), np.broadcast_to(others, values.shape)

    def part(start: int, stop: int) -> None:
        np.multiply(values[start:stop], other[start:stop], out=out[start:stop])

    over_rows(part, out.size, out.size)
    return out


def sizes(values: Any) -> Any:
    """``abs(values)``."""
    if not isinstance(values, np.ndarray):
        return abs(values)
    out = np.empty(values.size)
    over_rows(
        lambda start, stop: np.abs(values[start:stop], out=out[start:stop]), out.size, out.size
    )
    return out


def times_less(values: Any, others: Any, less: Any) -> Any:
    """``values * others - less``; ``less`` is used up."""
    if not isinstance(values, np.ndarray):
        return values * others - less

    def part(start: int, stop: int) -> None:
        own = values[start:stop] * others[start:stop]
        np.subtract(own, less[start:stop], out=less[start:stop])

    over_rows(part, less.size, 2 * less.size)
    return less


def centred(pairs: Any, values: Any) -> Any:
    """``pairs.centred(values)``."""
    if pairs.within is not None or not isinstance(values, np.ndarray):
        return pairs.centred(values)
    parts = over_rows(lambda start, stop: values[start:stop].sum(), values.size, values.size)
    return shifted(values, -float(sum(parts)) / values.size)


def length(values: Any) -> float:
    """The Euclidean norm, without BLAS: its threads may hang where another thread forks."""
    if isinstance(values, BlockVector):
        return values.length()

    def part(start: int, stop: int) -> Any:
        return np.einsum("i,i", values[start:stop], values[start:stop])

    return float(np.sqrt(sum(over_rows(part, values.size, values.size))))


def all_finite(X: NDArray[Any]) -> bool:
    """Whether no entry of a matrix is infinite or NaN; False also where their sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = over_rows(lambda start, stop: X[start:stop].sum(), X.shape[0], X.size, finely=True)
    return bool(np.all(np.isfinite(parts)))


def exact_sum(values: Array) -> float:
    """The sum as if in twice the precision."""
    from everypair._compiled import compensated_sum

    if values.size <= FEW_ROWS:
        return exact_sum_of_few(values)

    def part(start: int, stop: int) -> float:
        return float(compensated_sum(values[start:stop]))

    parts = over_rows(part, values.size, 2 * values.size)
    return math.fsum(parts) if np.isfinite(parts).all() else float(np.sum(parts))
