"""Labels and weights of rows, from columns of any type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.files.problems import DataError

Array = NDArray[np.float64]


def column_texts(column: Any) -> NDArray[Any]:
    """Labels as text, None where missing: 1 and 1.0 are both "1"."""
    words, codes = column_codes(column)
    return words[codes]


def column_codes(column: Any) -> tuple[NDArray[Any], NDArray[np.integer]]:
    """The different labels as text, None where missing, and which of them each row has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return label_codes(column.cast(pa.float64()).to_numpy())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        coded = pc.dictionary_encode(column.cast(pa.string())).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as trouble:
        raise DataError(
            f"a target of type {column.type} cannot be used: convert it to text, numbers or "
            "true/false."
        ) from trouble
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([]).dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    codes = pc.fill_null(coded.indices, len(words) - 1).to_numpy(zero_copy_only=False)
    return words, codes


def label_texts(numbers: Array) -> NDArray[Any]:
    words, codes = label_codes(numbers)
    return words[codes]


def label_codes(numbers: Array) -> tuple[NDArray[Any], NDArray[np.integer]]:
    distinct, codes = np.unique(numbers, return_inverse=True)
    words = [None if np.isnan(value) else f"{value:.15g}" for value in distinct]
    return np.array(words, dtype=object), codes


def weights_of(column: Any, name: str, path: Path, rows_before: int = 0) -> Array:
    import pyarrow as pa

    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as trouble:
        raise DataError(
            "the weights are not numbers: give a column of numbers >= 0.", path, column=name
        ) from trouble
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"the weight is {values[row]:g}: weights must be numbers >= 0.",
            path,
            rows_before + row + 1,
            name,
        )
    return values
