"""The first look at the rows of a block: sizes of its columns, a few rows, what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_jobs import add
from everypair.linalg.block_sample import BlockSample, Wanted
from everypair.linalg.block_shard import ALL, Shard
from everypair.linalg.threads import over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def _here(shard: Shard, rows: Index) -> Index:
    """Which of these rows, by their numbers among all, lie in the shard: by their numbers there."""
    low, high = np.searchsorted(rows, [shard.start, shard.start + shard.n_rows])
    return rows[low:high] - shard.start


def taken_from(X: NDArray[Any], wanted: Index | Wanted, shard: Shard) -> list[Any]:
    """These rows of a shard's X; of a sample their classes and shares as well."""
    if not isinstance(wanted, Wanted):
        return [X[_here(shard, wanted)]]
    here = wanted.here(shard)
    return [(X[here], shard.positive[here], shard.share[here])]


def rows_of(rows: Index | BlockSample, taken: list[Any]) -> NDArray[Any]:
    """All rows that the shards have taken."""
    if isinstance(rows, BlockSample):
        rows.keep([part[1:] for part in taken])
        taken = [part[0] for part in taken]
    return np.concatenate(taken)


def look_at(amid: Index, wanted: Index | Wanted, shard: Shard) -> tuple[Any, ...]:
    from everypair._compiled import columns_look, rows_look

    X = shard.matrix()
    by_rows = X.X.flags.c_contiguous
    bits = X.X.T.view(f"i{X.X.itemsize}")

    def part(start: int, stop: int) -> tuple[Array, Array, float]:
        sums = np.zeros((2, X.shape[1]))
        if by_rows:
            largest = np.zeros(X.shape[1])
            return sums, largest, rows_look(X.X, start, stop, *sums, largest)
        tops = np.zeros(X.shape[1], dtype=bits.dtype)
        longest = columns_look(X.X.T, bits, start, stop, *sums, tops)
        return sums, tops.view(X.X.dtype).astype(np.float64), longest

    with np.errstate(over="ignore", invalid="ignore"):
        parts = over_rows(part, X.shape[0], X.X.size)
        sums, squares = np.sum([found for found, _, _ in parts], axis=0)
        largest = np.max([found for _, found, _ in parts], axis=0)
        longest = max(longest for _, _, longest in parts)
        largest[np.isnan(sums) & np.isfinite(largest)] = np.nan
    refuse_missing(shard, largest)
    near = X.X[_here(shard, amid)]
    return largest, sums, squares, float(np.sqrt(longest)), [near], taken_from(X.X, wanted, shard)


def refuse_missing(shard: Shard, largest: NDArray[Any]) -> None:
    """An error with the place where a column's largest value is not finite."""
    if not np.all(np.isfinite(largest)):
        column = int(np.argmin(np.isfinite(largest)))
        value = "NaN" if np.isnan(largest[column]) else "an infinite value"
        raise ValueError(
            f"Column {column} of {shard.name} has {value}: "
            "fill in missing values or leave out these rows."
        )


def seen_both(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    return (
        np.maximum(first[0], second[0]),
        *add(first[1:3], second[1:3]),
        max(first[3], second[3]),
        *add(first[4:], second[4:]),
    )


def scaled_squares(columns: Index, largest: Array, shard: Shard) -> Array:
    return np.asarray(np.sum((shard.matrix(ALL).X[:, columns] / largest) ** 2, axis=0))
