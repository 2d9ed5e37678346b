"""One column of a table: what kind it is, and its values as numbers or as words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everypair.app.files.problems import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]

TEXT_SHARE, TEXT_LEAST = 0.5, 50
"""Text: more distinct values than this, and than this share of the rows."""

TOO_LARGE = "some values are too large to compute with: divide this column, or --drop it."

DATE_PARTS = ("day", "month", "weekday", "hour")
"""What a date is taken apart into."""

DAY = 86_400_000_000  # in the microseconds of Arrow's timestamps


def kind_of(column: pa.ChunkedArray) -> str:
    """``number``, ``boolean``, ``date``, ``category``, ``text``, ``constant`` or ``other``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    t = column.type
    if pa.types.is_dictionary(t):
        column = column.cast(t.value_type)
        t = column.type
    if pa.types.is_null(t):
        return "constant"
    if pa.types.is_boolean(t):
        return "boolean"
    if pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t):
        return "number"
    if pa.types.is_date(t) or pa.types.is_timestamp(t):
        return "date"
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t):
        distinct = pc.count_distinct(column).as_py()
        known = len(column) - column.null_count
        return "text" if is_text(known, distinct) else "category"
    return "other"


def is_text(known: int, distinct: int) -> bool:
    """Whether so many different values in so many rows are text."""
    return distinct > max(TEXT_LEAST, TEXT_SHARE * known)


@contextmanager
def not_too_large(name: str) -> Iterator[None]:
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        raise DataError(TOO_LARGE, column=name) from None


def number_parts(
    name: str, column: pa.ChunkedArray, kind: str, taken: set[str]
) -> Iterable[tuple[str, Array]]:
    """A column of the kind as numbers, NaN where missing or infinite; several for a date.

    The parts of a date are given names that no column has, nor a part of another (``taken``).
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind != "date":
        return [(name, _floats(column.cast(pa.int8()) if kind == "boolean" else column))]
    parts = [_floats(column.cast(pa.int64())) / DAY]
    parts += [_floats(of(column)) for of in (pc.month, pc.day_of_week, pc.hour)]
    return zip(date_names(name, taken), parts, strict=True)


def date_names(name: str, taken: set[str]) -> list[str]:
    """Of the parts of a date: names that neither a column nor a part of another has."""
    while any(f"{name}: {label}" in taken for label in DATE_PARTS):
        name = f"({name})"
    return [f"{name}: {label}" for label in DATE_PARTS]


def _floats(column: pa.ChunkedArray) -> Array:
    import pyarrow as pa

    # Whole numbers beyond 2^53 round: they are ids, or large enough not to mind.
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    values = column.to_numpy()
    infinite = np.isinf(values)
    return np.where(infinite, np.nan, values) if infinite.any() else values


def varies(values: Array) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size and (known.size < values.size or np.any(known != known[0])))


def centre(values: Array, name: str) -> tuple[float, float, float, bool]:
    """Median, then mean and standard deviation with the median filled in; is any missing?"""
    missing = np.isnan(values)
    some = bool(missing.any())
    with not_too_large(name):
        fill = float(np.median(values[~missing]))
        filled = np.where(missing, fill, values) if some else values
        mean, scale = float(filled.mean()), float(filled.std())
    return fill, mean, scale if scale > 0 else 1.0, some
