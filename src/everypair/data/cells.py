"""Fields of text as what they mean: trimmed, with gaps, as numbers, dates, true and false."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from everypair.data.problems import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = [
    "", "#N/A", "#NA", "-NaN", "-nan", "?", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan",
    "null",
]  # fmt: skip
"""Fields that mean "not known"."""

SPACES = " \t"
"""What is trimmed; a line break inside quotes was put there by someone."""

ZONE = r"[T ]\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
"""How a time ends that says its zone."""


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without the spaces around it; ``a, "b"`` is a quoted b as well."""
    import pyarrow.compute as pc

    bare = pc.utf8_trim(column, SPACES)
    if bare.equals(column):
        return column
    quoted = pc.match_substring_regex(bare, '(?s)^".*"$')
    unquoted = pc.replace_substring_regex(bare, '(?s)^"(.*)"$', r"\1")
    return pc.if_else(pc.and_(quoted, pc.not_equal(bare, column)), unquoted, bare)


def bare(name: str) -> str:
    """`trimmed`, for one name."""
    short = name.strip(SPACES)
    if short != name and len(short) > 1 and short[0] == short[-1] == '"':
        return short[1:-1]
    return short


def cleaned(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without the spaces around it, null where it means "not known"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = trimmed(column)
    if text is column:
        return column  # the reader has seen to the marks of missing values
    missing = pc.is_in(text, value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def numbers(text: pa.ChunkedArray, comma: bool) -> pa.ChunkedArray:
    """Decimal points, or decimal commas where the file may have them; not both in a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        if not comma or pc.any(pc.match_substring(text, ".")).as_py():
            raise
    return pc.replace_substring(text, ",", ".").cast(pa.float64())


def dates(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times of ISO 8601; those with a zone are turned into UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return text.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        first = pc.drop_null(text.slice(0, 1000))
        if len(first) and "-" not in first[0].as_py():  # quick to see that words are no dates
            raise
    zoned = pc.match_substring_regex(text, ZONE)
    nothing = pa.scalar(None, pa.string())
    local = pc.if_else(zoned, nothing, text).cast(pa.timestamp("ns"))
    world = pc.if_else(zoned, text, nothing).cast(pa.timestamp("ns", "UTC"))
    found = pc.coalesce(local, world.cast(pa.timestamp("ns")))
    return found.cast(pa.timestamp("us"), safe=False)


def inferred(column: pa.ChunkedArray, comma: bool) -> pa.ChunkedArray:
    """What the parser left as text, as numbers, dates or true/false if all of it is that."""
    import pyarrow as pa

    text = cleaned(column)
    if text.null_count == len(text):
        return pa.chunked_array([pa.nulls(len(text))])
    readings: list[Callable[[], Any]] = [
        lambda: text.cast(pa.int64()),
        lambda: text.cast(pa.bool_()),
        lambda: dates(text),
        lambda: numbers(text, comma),
    ]
    for reading in readings:
        try:
            return reading()
        except pa.ArrowInvalid:
            continue
    return text


NAMES = {"number": "a number", "date": "a date", "boolean": "true or false"}


def as_kind(column: pa.ChunkedArray, kind: str, comma: bool) -> pa.ChunkedArray:
    """The text as a kind of `everypair.columns.ARROW_KINDS`; `Misread` says what is none."""
    import pyarrow as pa

    text = cleaned(column)

    def reading(part: pa.ChunkedArray) -> Any:
        if kind == "number":
            return numbers(part, comma)
        return dates(part) if kind == "date" else part.cast(pa.bool_())

    if kind == "category":
        return text
    try:
        return reading(text)
    except pa.ArrowInvalid:
        good, bad = 0, len(text)  # the first `good` values are read, the first `bad` are not
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                reading(text.slice(0, middle))
                good = middle
            except pa.ArrowInvalid:
                bad = middle
        raise Misread(f"{text[good].as_py()!r} is not {NAMES[kind]}", good) from None


class Misread(DataError):
    """A value that is not of its column's kind; ``at`` is its place, from 0."""

    def __init__(self, problem: str, at: int):
        super().__init__(problem)
        self.at = at
