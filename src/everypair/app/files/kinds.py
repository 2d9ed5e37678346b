"""Columns as what they mean, whatever they came from: a file of text, Parquet or a frame.

`canonical` finds out what each column of a table is: numbers, true and false, dates, or words.
`as_kind` reads a column as the kind that training found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from everypair.app.files.cells import SPACES, Words, bare, is_text, plain
from everypair.app.files.dates import (
    COMPACT,
    QUICK_VALUES,
    Formats,
    all_parsed,
    are_compact,
    digits_of,
    inferred_form,
    parsed,
    some_have,
)
from everypair.app.files.problems import DataError, shown

if TYPE_CHECKING:
    import pyarrow as pa

PANDAS_INDEX = re.compile(r"__index_level_\d+__")

ARROW_KINDS = {
    "number": "float64",
    "category": "string",
    "boolean": "bool",
    "date": "timestamp[us]",
    "text": "string",
}
"""The type of each kind of column; text is words of any length, such as the names of rows."""

NAMES = {"number": "a number", "date": "a date", "boolean": "true or false"}

READ = {b"everypair": b"read"}
"""Says of a table that it went through `canonical` or `as_kind`."""

FORM = b"everypair.form"
"""Where a column of dates has its form (`everypair.app.files.dates`)."""

MARKS = b"everypair.marks"
"""Where a column has the spellings of its missing values, if they are not empty fields."""

MOST_MARKS = 3

NAMELESS = b"everypair.nameless"
"""Where a table has the number of columns that were left out because they have no name."""


class Misread(DataError):
    """A value that is not of its column's kind; ``at`` is its place, from 0."""

    def __init__(self, problem: str, at: int):
        super().__init__(problem)
        self.at = at


def is_number(t: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t)


def is_date(t: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_date(t) or pa.types.is_timestamp(t) or pa.types.is_time(t)


def canonical(
    table: pa.Table,
    comma: bool = False,
    formats: Formats | None = None,
    marks: Mapping[str, Sequence[str]] | None = None,
) -> pa.Table:
    """The table with bare names and each column as what it means.

    ``comma``: numbers may have decimal commas. ``formats``: of dates, as a user gave them.
    ``marks``: spellings of missing values that the reader of the file has emptied, by column.
    """
    import pyarrow as pa

    formats, marks = formats or Formats(), marks or {}
    columns, fields, forms = [], [], set()
    table = named(table)
    for given, column in zip(table.column_names, table.columns, strict=True):
        if PANDAS_INDEX.fullmatch(given):  # row numbers that pandas writes beside the columns
            continue
        name = bare(given)
        try:
            meant, form = _meaning(column, comma, formats.for_column(name), name in formats.named)
        except Misread as trouble:
            raise DataError(f"{trouble}.", row=trouble.at + 1, column=name) from None
        columns.append(meant)
        forms.add(form)
        said = {FORM: form} if pa.types.is_timestamp(meant.type) else {}
        if spelled := [*marks.get(name, ()), *_marks(column, meant)][:MOST_MARKS]:
            said[MARKS] = "\x1f".join(spelled)
        fields.append(pa.field(name, meant.type, metadata=said or None))
    for name in formats.named:
        if name not in {field.name for field in fields}:
            raise DataError(
                "--date-format names this column, which the table does not have.", column=name
            )
    for form in formats.general:
        if form not in forms:
            raise DataError(f"no column is read by --date-format {form}: correct or omit it.")
    schema = pa.schema(fields, metadata=table.schema.metadata)
    return pa.Table.from_arrays(columns, schema=schema)


def named(table: pa.Table) -> pa.Table:
    """The columns that have a name, marked as read: spreadsheets write nameless ones at the end,
    and pandas one of row numbers at the beginning."""
    has = [k for k, name in enumerate(table.column_names) if bare(name)]
    nameless = table.num_columns - len(has)
    if nameless and not has:
        raise DataError(
            "no column has a name: write the names in the first line, or use --no-header."
        )
    said = {NAMELESS: str(nameless)} if nameless else {}
    return table.select(has).replace_schema_metadata({**READ, **said})


def nameless_of(table: pa.Table) -> int:
    """How many columns were left out because they have no name."""
    return int((table.schema.metadata or {}).get(NAMELESS, 0))


def was_read(table: pa.Table) -> bool:
    return READ.items() <= (table.schema.metadata or {}).items()


def forms_of(table: pa.Table) -> dict[str, str]:
    """The forms of a canonical table's dates, by name."""
    found = {field.name: (field.metadata or {}).get(FORM) for field in table.schema}
    return {name: form.decode() for name, form in found.items() if form is not None}


def marks_of(table: pa.Table) -> dict[str, list[str]]:
    """How missing values are spelled, by the names of the columns that have such."""
    found = {field.name: (field.metadata or {}).get(MARKS) for field in table.schema}
    return {name: said.decode().split("\x1f") for name, said in found.items() if said is not None}


def _marks(given: pa.ChunkedArray, meant: pa.ChunkedArray) -> list[str]:
    """Words that were read as missing."""
    import pyarrow.compute as pc

    if not is_text(given.type) or meant.null_count == given.null_count:
        return []
    words = plain(given)
    emptied = words.filter(pc.and_(pc.is_valid(words), pc.is_null(meant)))
    return [str(word) for word in pc.unique(emptied).to_pylist() if word]


Meaning = tuple[Any, str]
"""A column, and the form of its dates."""


def _meaning(column: pa.ChunkedArray, comma: bool, forms: Sequence[str], must: bool) -> Meaning:
    import pyarrow as pa

    t = column.type
    if is_text(t):
        try:
            words = Words.of(column)
        except pa.ArrowInvalid:
            return column, ""  # bytes that are not text
        return _dates(words, forms, must) or _of_words(words, comma)
    if pa.types.is_dictionary(t):
        parts = [chunk.dictionary_decode() for chunk in column.chunks]
        return _meaning(pa.chunked_array(parts, t.value_type), comma, forms, must)
    if is_date(t):
        return _stamps(column), "time" if pa.types.is_time(t) else ""
    return _of_numbers(column, forms, must) if is_number(t) else (column, "")


def _of_numbers(column: pa.ChunkedArray, forms: Sequence[str] = (), must: bool = False) -> Meaning:
    """Numbers; dates where all may be written as 20240131, or as the user said."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(column.type):
        column = _floats(column)
    elif pa.types.is_float16(column.type):  # Arrow can do little with them
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type) and pc.is_finite(column.slice(0, 1)).to_pylist() != [True]:
        known = pc.and_(pc.is_valid(column), pc.invert(pc.is_nan(column)))
        if not pc.any(known).as_py():
            return _nothing(len(column)), ""
    if not must and are_compact(column):
        forms = [*forms, COMPACT]
    digits = digits_of(column) if forms else None
    found = None if digits is None else _dates(Words.of(digits), forms, must)
    return found or (column, "")


def _nothing(count: int) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([pa.nulls(count)])


def _of_words(words: Words, comma: bool) -> Meaning:
    """Numbers, true and false, or dates if all words are that; else words."""
    import pyarrow as pa

    values = words.without_dashes()
    if words.values.null_count == len(words.values):
        return _nothing(len(words.column)), ""
    if values.null_count == len(values):
        return words.text(), ""
    for reading in (_whole, _truths, lambda v: _numbers(v, comma)):
        try:
            reading(values.slice(0, QUICK_VALUES))  # Arrow looks at all values before it gives up
            column = words.spread(reading(values))
        except pa.ArrowInvalid:
            continue
        return (column, "") if pa.types.is_boolean(column.type) else _of_numbers(column)
    form = inferred_form(values)
    return (words.text(), "") if form is None else (words.spread(parsed(values, form)), form)


def _dates(words: Words, forms: Sequence[str], must: bool) -> Meaning | None:
    """The words as dates of the first form that all of them have."""
    values = words.without_dashes()
    for form in forms:
        dates = all_parsed(values, form)
        if (
            dates is not None
            and dates.null_count < len(dates)
            and (must or some_have(values, form))
        ):
            return words.spread(dates), form
        if must:
            _read_by(words, values, partial(_all_dates, forms=[form]), "date")
    return None


def _whole(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return values.cast(pa.int64())


def _truths(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return values.cast(pa.bool_())


def _numbers(values: pa.Array, comma: bool) -> pa.Array:
    """Decimal points, or decimal commas where the file may have them; not both in a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for t in (pa.float64(), pa.int64()):  # 0x1F is a whole number to Arrow
        try:
            return values.cast(t)
        except pa.ArrowInvalid:
            continue
    if comma and not pc.any(pc.match_substring(values, ".")).as_py():
        values = pc.replace_substring(values, ",", ".")
    return values.cast(pa.float64())


def _all_dates(values: pa.Array, forms: Sequence[str]) -> pa.Array:
    """Each value by the first form that it has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.coalesce(*(parsed(values, form) for form in forms))
    if found.null_count > values.null_count:
        raise pa.ArrowInvalid("some values are not dates")
    return found


def _read_by(
    words: Words, values: pa.Array, reading: Callable[[pa.Array], pa.Array], kind: str
) -> pa.ChunkedArray:
    """The words as ``reading`` reads them; `Misread` names the first that it refuses."""
    import pyarrow as pa

    try:
        return words.spread(reading(values))
    except pa.ArrowInvalid:
        good, bad = 0, len(values)  # the first `good` values are read, the first `bad` are not
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                reading(values.slice(0, middle))
                good = middle
            except pa.ArrowInvalid:
                bad = middle
        problem = f"{shown(values[good].as_py())} is not {NAMES[kind]}"
        raise Misread(problem, words.first(good)) from None


def as_kind(
    column: pa.ChunkedArray,
    kind: str,
    forms: Sequence[str] = ("",),
    comma: bool = False,
    tidy: bool = True,
) -> pa.ChunkedArray:
    """The column as a kind of `ARROW_KINDS`; dates by the first of the forms that each value has.

    `Misread` says what is of another kind. Without ``tidy`` words are taken as they are.
    """
    import pyarrow as pa

    t, wanted = column.type, pa.type_for_alias(ARROW_KINDS[kind])
    if t == wanted and not (tidy and pa.types.is_string(t)):
        return column
    try:
        if is_text(t):
            return _text_as(column, kind, forms, comma, tidy)
        if pa.types.is_dictionary(t):
            return as_kind(column.cast(t.value_type), kind, forms, comma, tidy)
        return _typed_as(column, kind, forms)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as trouble:
        line = str(trouble).split("\n")[0][:200]
        raise DataError(
            f"this column was a {kind} in training and cannot be read as one here ({line})."
        ) from trouble


def _typed_as(column: pa.ChunkedArray, kind: str, forms: Sequence[str]) -> pa.ChunkedArray:
    import pyarrow as pa

    t = column.type
    if kind in ("category", "text") or pa.types.is_null(t):
        return column.cast(ARROW_KINDS[kind])
    if kind == "number" and (is_number(t) or pa.types.is_boolean(t)):
        return _floats(column)
    if kind == "boolean" and is_number(t):
        return _zero_or_one(_floats(column))
    if kind == "date" and is_date(t):
        return _stamps(column)
    digits = digits_of(column) if kind == "date" and is_number(t) else None
    if digits is None or not any("%" in form for form in forms):
        raise pa.ArrowInvalid(f"it has the type {t}")
    return _text_as(digits, kind, forms, False, False)


def _text_as(
    column: pa.ChunkedArray, kind: str, forms: Sequence[str], comma: bool, tidy: bool
) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "number" and pa.types.is_string(column.type):
        try:  # most often there is nothing to tidy but spaces
            return pc.utf8_trim(column, SPACES).cast(pa.float64())
        except pa.ArrowInvalid:
            pass
    words = Words.of(column, tidy, whole=kind == "text")
    if kind in ("category", "text"):
        return words.text()
    values = words.without_dashes()
    if kind == "date":
        return _read_by(words, values, lambda v: _all_dates(v, forms), kind)
    if kind == "boolean":
        return _read_by(words, values, _truths_or_numbers, kind)
    return _floats(_read_by(words, values, lambda v: _numbers(v, comma), kind))


def _truths_or_numbers(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    try:
        return _truths(values)
    except pa.ArrowInvalid:
        return _zero_or_one(values.cast(pa.float64()))


def _zero_or_one(numbers: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.all(pc.is_in(numbers, value_set=pa.array([0.0, 1.0, None]))).as_py():
        raise pa.ArrowInvalid("some values are neither 0 nor 1")
    return numbers.cast(pa.bool_())


def _floats(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own way is not rounded to nearest
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    # Whole numbers beyond 2^53 round: they are ids, or large enough not to mind.
    return column.cast(pa.float64(), safe=False)


def _stamps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Microseconds without a zone, in UTC where there was one; a time is one of 1970-01-01."""
    import pyarrow as pa
    import pyarrow.compute as pc

    stamp = pa.timestamp("us")
    if pa.types.is_time(column.type):
        if column.type.unit == "s":
            column = column.cast(pa.time32("ms"))
        return column.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(stamp)
    try:
        return column.cast(stamp)
    except pa.ArrowInvalid:
        return pc.floor_temporal(column, unit="microsecond").cast(stamp)
