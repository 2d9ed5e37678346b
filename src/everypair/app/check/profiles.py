"""What the values of each column tell: how well they rank the rows, and which rows they part.

Columns of numbers are sorted many at a time: a call for each of 20,000 columns would cost more than
its 200 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everypair.app.check.row_hashes import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Codes = NDArray[np.intp]

FEWEST_ROWS = 10
"""Rows of each class that must have a value: fewer can be parted by chance."""

FEW_LEVELS = 50
"""A column of numbers with at most this many values is also checked as categories."""

BLOCK_VALUES = 1 << 18
"""Values that are sorted at once, or one column."""

LARGEST_EXACT = 2.0**53
"""Whole numbers below this are floating-point numbers."""


@dataclass(frozen=True)
class Profile:
    """One column; areas are 1/2 where they say nothing."""

    missing_area: float
    """AUC of being missing."""
    area: float
    """AUC of the values as numbers, of the rows that have one."""
    rate_area: float
    """AUC of the share of positives among rows of the same value, learnt on other rows."""
    n_levels: int
    """Distinct values, a missing one included."""
    partition: bytes
    """Equal for columns that part the rows alike, whatever they call the parts."""
    content: bytes
    """Equal for columns of equal values."""


def profiles_of(X: pa.Table, kinds: Mapping[str, str], y: Bool) -> dict[str, Profile]:
    """The profile of each column of a table, by name."""
    half = _half(y)
    found: dict[str, Profile] = {}
    for names, values in _blocks(X, kinds):
        for name, profile in zip(names, _of_numbers(values, y, half), strict=True):
            found[name] = profile
    for name, column in zip(X.column_names, X.columns, strict=True):
        if name not in found:
            found[name] = _of_column(column, kinds[name], y, half)
    return found


def numbers_of(column: pa.ChunkedArray) -> Array:
    """Numbers, true and false, or dates as numbers; NaN where missing."""
    import pyarrow as pa

    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy())


def areas_of(values: Array, y: Bool) -> Array:
    """AUC of each row of a matrix on those of its values that are not NaN."""
    return _Sorted.of(values).areas(y)


def _blocks(X: pa.Table, kinds: Mapping[str, str]) -> Iterator[tuple[list[str], Array]]:
    """Columns of numbers that floating point holds exactly, infinities apart, as rows of blocks."""
    names: list[str] = []
    rows: list[Array] = []
    for name, column in zip(X.column_names, X.columns, strict=True):
        if kinds[name] != "number":
            continue
        values = numbers_of(column)
        if not np.nanmax(np.abs(values), initial=0.0) < LARGEST_EXACT:
            continue
        names.append(name)
        rows.append(values)
        if len(rows) * values.size >= BLOCK_VALUES:
            yield names, np.stack(rows)
            names, rows = [], []
    if rows:
        yield names, np.stack(rows)


@dataclass(frozen=True)
class _Sorted:
    """Rows of a matrix in their order, NaN last and all NaN equal."""

    order: Codes
    missing: Bool
    first: Codes
    """Where the run of equal values begins, for each place of the order."""
    last: Codes
    """And where it ends."""

    @classmethod
    def of(cls, values: Array) -> _Sorted:
        order = np.argsort(values, axis=1, kind="stable")
        ranked = np.take_along_axis(values, order, axis=1)
        missing = np.isnan(ranked)
        begins = np.ones(ranked.shape, dtype=bool)
        begins[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
        begins[:, 1:] &= ~(missing[:, 1:] & missing[:, :-1])
        ends = np.ones(ranked.shape, dtype=bool)
        ends[:, :-1] = begins[:, 1:]
        places = np.arange(ranked.shape[1])
        first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
        last = np.where(ends, places, places.size)
        last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        return cls(order, missing, first, last)

    def areas(self, y: Bool) -> Array:
        """By the ranks of the positives, equal values sharing theirs (Mann & Whitney 1947)."""
        positive = y[self.order] & ~self.missing
        n_positive = positive.sum(axis=1)
        n_negative = self.order.shape[1] - self.missing.sum(axis=1) - n_positive
        doubled = np.sum((self.first + self.last + 2) * positive, axis=1)  # whole numbers
        wins = doubled - n_positive * (n_positive + 1)
        enough = np.minimum(n_positive, n_negative) >= FEWEST_ROWS
        return np.where(enough, wins / np.maximum(2 * n_positive * n_negative, 1), 0.5)

    def in_rows(self, of_place: Codes) -> Codes:
        """What belongs to places of the order, in the order of the rows."""
        out = np.empty_like(of_place)
        np.put_along_axis(out, self.order, of_place, axis=1)
        return out

    def first_rows(self) -> Codes:
        """For each row the first one that has its value."""
        return self.in_rows(np.take_along_axis(self.order, self.first, axis=1))


def _of_numbers(values: Array, y: Bool, half: Bool) -> Iterator[Profile]:
    ranks = _Sorted.of(values)
    areas = ranks.areas(y)
    by_missing = np.full(len(values), 0.5)
    some = np.flatnonzero(ranks.missing[:, -1])
    if some.size:
        by_missing[some] = areas_of(np.isnan(values[some]).astype(float), y)
    levels = np.cumsum(ranks.first == np.arange(y.size), axis=1) - 1
    n_levels = levels[:, -1] + 1
    by_rate = np.full(len(values), 0.5)
    few = (n_levels - ranks.missing[:, -1] <= FEW_LEVELS) & (n_levels < y.size)
    if few.any():
        by_rate[few] = _rate_areas(ranks.in_rows(levels)[few], y, half)
    first_rows = ranks.first_rows().astype(np.int32)
    for j in range(len(values)):
        yield Profile(
            float(by_missing[j]),
            float(areas[j]),
            float(by_rate[j]),
            int(n_levels[j]),
            _digest(first_rows[j]),
            _digest(values[j] + 0.0),  # -0.0 becomes 0.0
        )


def _of_column(column: pa.ChunkedArray, kind: str, y: Bool, half: Bool) -> Profile:
    """A column of words, of dates, of true and false, or of numbers that are not exact."""
    missing = column.is_null(nan_is_null=True).to_numpy()
    by_missing = areas_of(missing[None].astype(float), y)[0] if missing.any() else 0.5
    area = 0.5
    few = True
    if kind in ("number", "date", "boolean"):
        values = numbers_of(column)
        values = np.where(np.isfinite(values), values, np.nan)
        area = areas_of(values[None], y)[0]
        few = np.unique(values[~missing]).size <= FEW_LEVELS
    _, places, levels = np.unique(codes_of(column), return_index=True, return_inverse=True)
    by_rate = _rate_areas(levels[None], y, half)[0] if few and places.size < y.size else 0.5
    first_rows = places[levels].astype(np.int32)
    words = kind in ("category", "text")
    content = repr(column.take(np.sort(places)).to_pylist()).encode() if words else b""
    return Profile(
        float(by_missing),
        float(area),
        float(by_rate),
        places.size,
        _digest(first_rows),
        _digest(first_rows, content) if words else _digest(codes_of(column)),
    )


def _digest(values: NDArray[np.generic], more: bytes = b"") -> bytes:
    return blake2b(np.ascontiguousarray(values).tobytes() + more, digest_size=16).digest()


def _half(y: Bool) -> Bool:
    """Half of the rows of each class."""
    half = np.zeros(y.size, dtype=bool)
    for members in (np.flatnonzero(y), np.flatnonzero(~y)):
        half[np.random.default_rng(0).permutation(members)[::2]] = True
    return half


def _rate_areas(levels: Codes, y: Bool, half: Bool) -> Array:
    """AUC of the share of positives among rows of the same value in the half the row is not in.

    A value that is not in the other half has the share of all: many values say nothing.
    """
    width = int(levels.max()) + 1
    cells = levels + width * np.arange(len(levels))[:, None]  # a range of its own for each column
    rates = np.empty(levels.shape)
    for here in (half, ~half):
        there = cells[:, ~here]
        n_rows = np.bincount(there.ravel(), minlength=cells.max() + 1)
        n_positive = np.bincount(there[:, y[~here]].ravel(), minlength=cells.max() + 1)
        of_level = np.where(n_rows > 0, n_positive / np.maximum(n_rows, 1), y.mean())
        rates[:, here] = of_level[cells[:, here]]
    return areas_of(rates, y)
