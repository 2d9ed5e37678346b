"""Columns that nothing can be learnt from: constants, and what names rows or people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|nr|no|num|number|key|uuid|guid|index|idx|ref|ssn|row)($|[_\W])"
)
"""Words that a column of identifiers has in its name, once CustomerId is written customer_id."""

PERSON_NAME = re.compile(
    r"^name$|(sur|last|first|full|fore|user)_?name|(^|[_\W])(e_?mail|phone|telephone|mobile|address|"
    r"street|url|ip|iban|ticket|login)($|[_\W])"
)
"""Words in the names of columns whose values belong to one person, household or device."""

ID_SHARE = 0.95
"""Share of distinct values from which whole numbers in a column named like one are identifiers."""

UNIQUE_ROWS = 1000
"""With this many rows or more, whole numbers that all differ are identifiers under any name."""

COUNTING_ROWS = 50
"""With this many rows or more, numbers without a gap from first to last are identifiers too."""

NAME_VALUES, ROWS_PER_NAME = 100, 10
"""Text with more values than this, and fewer rows for each on average, names people or things."""

PERSONAL_VALUES, ROWS_PER_PERSON = 50, 100
"""The same where the column's name says that the values are personal."""

COUNTS = "it counts the rows"

HEAD_ROWS = 1000
"""Rows that tell most columns of numbers apart from identifiers at once."""


ONE_VALUE = "it has one value only"
UNUSABLE = {
    "constant": "it is empty",
    "other": "its type is neither a number, a date nor text",
}
ALWAYS_LEFT_OUT = (ONE_VALUE, *UNUSABLE.values())
"""Reasons that no ``keep`` helps against."""

CONSTANT_HEAD_ROWS = 100
"""Rows that show most columns to have more than one value."""


def _one_value(column: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    parts = (column.slice(0, CONSTANT_HEAD_ROWS), column)
    return all(pc.count_distinct(part, mode="all").as_py() == 1 for part in parts)


def why_left_out(
    name: str, column: pa.ChunkedArray, kind: str, keep: Sequence[str] | Literal["all"] = ()
) -> str:
    """Why nothing is to be learnt from the column, or ""."""
    if kind in UNUSABLE:
        return UNUSABLE[kind]
    if _one_value(column):
        return ONE_VALUE
    if keep == "all" or name in keep:
        return ""
    if kind == "text":
        return "it is text: nearly every row has a value of its own"
    return identifier_in(name, column, kind)


def identifier_in(name: str, column: pa.ChunkedArray, kind: str) -> str:
    """Why the column is taken for an identifier or a list of names, or ""."""
    if kind == "number":
        return _numbers(name, column)
    if kind == "category":
        return _names(name, column)
    return ""


def plain_name(name: str) -> str:
    """CustomerId, customerID and customer id as customer_id."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\s+", "_", name).lower()


def _numbers(name: str, column: pa.ChunkedArray) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(column.type):
        return ""
    named = ID_NAME.search(plain_name(name)) is not None
    least = ID_SHARE if named else 1.0
    for part in (column.slice(0, HEAD_ROWS), column):
        known = (pc.drop_null(part) if part.null_count else part).to_numpy()
        if known.size == 0 or not _whole(known):
            return ""
        values = np.unique(known)
        if values.size < least * known.size:
            return ""
    own = values.size == known.size
    if own and known.size == float(values[-1]) - float(values[0]) + 1 >= COUNTING_ROWS:
        return f"{COUNTS}, {values[0]:.0f} to {values[-1]:.0f}"
    if known.size >= (COUNTING_ROWS if named else UNIQUE_ROWS):
        which = "each has its own" if own else f"{values.size} different ones"
        return f"it looks like an identifier: whole numbers in {known.size} rows, {which}"
    return ""


def _whole(values: NDArray[Any]) -> bool:
    with np.errstate(invalid="ignore"):
        return values.dtype.kind in "iu" or bool(np.all(values == np.floor(values)))


def _names(name: str, column: pa.ChunkedArray) -> str:
    import pyarrow.compute as pc

    known = len(column) - column.null_count
    if known <= min(PERSONAL_VALUES, NAME_VALUES):
        return ""
    return names_in(name, known, pc.count_distinct(column, mode="only_valid").as_py())


def names_in(name: str, known: int, distinct: int) -> str:
    """Why so many different words in so many rows are taken for names, or ""."""
    personal = PERSON_NAME.search(plain_name(name)) is not None
    least, rows_each = (
        (PERSONAL_VALUES, ROWS_PER_PERSON) if personal else (NAME_VALUES, ROWS_PER_NAME)
    )
    if distinct <= least or distinct * rows_each <= known:
        return ""
    return f"it looks like names, {distinct} values in {known} rows"
