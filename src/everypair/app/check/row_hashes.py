"""Rows and columns of a table as 64-bit numbers: equal content, equal number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Hash = NDArray[np.uint64]

SPLITMIX_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and factors of splitmix64 (Steele, Lea & Flood 2014), which changes half of all bits."""

BLOCK_VALUES = 1 << 18
"""Values of a table that are turned into numbers at once, or one column."""

MISSING = np.uint64(0x9E3779B97F4A7C15)


def mixed(values: Hash) -> Hash:
    """A one-to-one map of 64-bit numbers that leaves no pattern."""
    out = values + MISSING
    for shift, factor in SPLITMIX_STEPS:
        out = (out ^ (out >> np.uint64(shift))) * np.uint64(factor)
    return out ^ (out >> np.uint64(31))


def row_hashes(X: Any) -> Hash:
    """A number for each row: n rows that differ share one with probability below n^2 / 2^65."""
    if sparse.issparse(X):
        return _of_sparse(X)
    total = np.zeros(X.num_rows, dtype=np.uint64)
    step = max(1, BLOCK_VALUES // max(1, X.num_rows))
    for start in range(0, X.num_columns, step):
        columns = range(start, min(start + step, X.num_columns))
        total += _mixed_codes(X, columns).sum(axis=0, dtype=np.uint64)
    return total


def part_of_hash(X: Any, k: int) -> Hash:
    """What column k of an Arrow table adds to the numbers of its rows."""
    return _mixed_codes(X, range(k, k + 1))[0]


def _mixed_codes(X: Any, columns: range) -> Hash:
    codes = np.stack([codes_of(X.column(k)) for k in columns])
    return mixed(codes ^ mixed(np.array(columns, dtype=np.uint64))[:, None])


def _of_sparse(X: Any) -> Hash:
    """Entries that are zero count for nothing, stored or not."""
    entries = mixed(_bits(X.data) ^ mixed(X.indices.astype(np.uint64)))
    sums = np.zeros(X.data.size + 1, dtype=np.uint64)
    np.cumsum(entries * (X.data != 0), out=sums[1:])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def codes_of(column: Any) -> Hash:
    """The values of an Arrow column as 64-bit numbers, one for all missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def filled(values: Any, value: Any) -> Any:
        return pc.fill_null(values, value) if values.null_count else values

    t = column.type
    if pa.types.is_null(t):
        return np.full(len(column), MISSING)
    missing = pc.is_null(column, nan_is_null=True).to_numpy() if column.null_count else None
    if pa.types.is_boolean(t):
        codes = filled(column, False).to_numpy().astype(np.uint64)
    elif pa.types.is_integer(t):
        codes = filled(column, 0).to_numpy().astype(np.int64).view(np.uint64)
    elif pa.types.is_floating(t):
        numbers = column if pa.types.is_float64(t) else column.cast(pa.float64())
        codes = _bits(filled(numbers, 0).to_numpy())
    elif pa.types.is_date(t) or pa.types.is_timestamp(t):
        times = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        codes = filled(times, 0).to_numpy().view(np.uint64)
    else:
        codes = _word_codes(column)
    return codes if missing is None else np.where(missing, MISSING, codes)


def _word_codes(column: Any) -> Hash:
    """Places of the values in the order in which they first occur."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        coded = pc.dictionary_encode(column).combine_chunks()
    except pa.ArrowNotImplementedError:  # lists and records
        texts = pa.array([str(value) for value in column.to_pylist()])
        coded = pc.dictionary_encode(texts)
    indices = coded.indices if isinstance(coded, pa.DictionaryArray) else coded.chunk(0).indices
    return pc.fill_null(indices, 0).to_numpy(zero_copy_only=False).astype(np.uint64)


def _bits(values: NDArray[Any]) -> Hash:
    numbers = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    return np.where(np.isnan(numbers), MISSING, numbers.view(np.uint64))
