"""CSV and TSV by Arrow's parser, with errors that name the row and the column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from everypair.data.problems import DataError
from everypair.data.readers import CHUNK_BYTES, Source, check_names, check_present

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

MISSING = [
    "", "#N/A", "#NA", "-NaN", "-nan", "?", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan",
    "null",
]  # fmt: skip
"""Fields that mean "not known"."""

DELIMITERS = ",;\t|"

WIDE = 2000
"""Columns from which Arrow's threads cost more than they bring: they take turns a column."""

WHOLE_BYTES = 2**23
"""A block where the whole file is read anyway: fewer blocks, less to put together."""

HEAD_BYTES = 2**16
HEAD_LINES = 20


@dataclass(frozen=True)
class Layout:
    """What the first lines say about a file."""

    names: list[str]
    delimiter: str
    decimal: str
    longest: int

    @property
    def chunk_bytes(self) -> int:
        return max(CHUNK_BYTES, 40 * self.longest)

    @property
    def wide(self) -> bool:
        return len(self.names) > WIDE


def layout_of(source: Source) -> Layout:
    """Header, delimiter (the one that the first lines agree on) and decimal mark."""
    with source.open() as file:
        raw = file.read(HEAD_BYTES)
        if b"\n" not in raw and b"\r" not in raw:  # a header of very many columns
            raw += file.readline()
        raw += file.readline()
    text = _decode(raw, source)
    lines = [line for line in text.splitlines()[:HEAD_LINES] if line.strip()]
    if not lines:
        raise DataError("the file is empty.", source.path)
    limit = csv.field_size_limit(len(text) + 1)  # the wrong delimiter makes a field of a line
    try:
        delimiter = source.delimiter or ("\t" if source.kind == "tsv" else _sniff(lines))
        fields = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    finally:
        csv.field_size_limit(limit)
    names = fields[0]
    decimal = "."
    if delimiter == ";" and any(re.fullmatch(r"-?\d+,\d+", f) for row in fields[1:] for f in row):
        decimal = ","
    longest = max(len(line) for line in lines)
    return Layout(names, delimiter, decimal, longest)


def _decode(raw: bytes, source: Source) -> str:
    if b"\0" in raw[:1000] and not source.encoding.lower().replace("-", "").startswith("utf16"):
        raise DataError(
            "this is not a text file (it has zero bytes): if it is UTF-16, say --encoding utf-16.",
            source.path,
        )
    try:
        codec = "utf-8-sig" if source.encoding.lower() in ("utf-8", "utf8") else source.encoding
        return raw.decode(codec)
    except LookupError as trouble:
        raise DataError(f"there is no encoding {source.encoding!r}.", source.path) from trouble
    except UnicodeDecodeError as trouble:
        if trouble.start > len(raw) - 4:  # the piece ends inside a character
            return raw[: trouble.start].decode(codec)
        if b"\n" not in raw[: trouble.start]:
            raise _not_decoded(source, raw[trouble.start], None, "the header") from trouble
        return raw.decode(codec, errors="replace")  # the parser will say in which row


def _not_decoded(source: Source, byte: int, row: int | None, what: str = "") -> DataError:
    return DataError(
        f"{what + ' ' if what else ''}is not {source.encoding} (byte 0x{byte:02x}): save the file "
        "as UTF-8 or say --encoding latin-1.",
        source.path,
        row,
    )


def _sniff(lines: list[str]) -> str:
    """The delimiter that splits the lines into equally many fields, most fields first."""
    best, most = ",", 0.0
    for delimiter in DELIMITERS:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
        width = len(rows[0])
        agree = sum(len(row) == width for row in rows) / len(rows)
        score = agree * (width - 1)
        if score > most:
            best, most = delimiter, score
    return best


def _options(
    source: Source,
    layout: Layout,
    types: Mapping[str, Any] | None = None,
    columns: list[str] | None = None,
) -> dict[str, Any]:
    from pyarrow import csv as arrow_csv

    return {
        "read_options": arrow_csv.ReadOptions(
            use_threads=not layout.wide,
            block_size=layout.chunk_bytes if types else max(WHOLE_BYTES, layout.chunk_bytes),
            encoding=source.encoding,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            decimal_point=layout.decimal,
            column_types=dict(types or {}),
            include_columns=columns or [],
        ),
    }


def read_delimited(source: Source) -> pa.Table:
    """The whole file; types are inferred from every row."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    layout = layout_of(source)
    check_names(layout.names, source.path)
    options = _options(source, layout)
    # Looking for newlines inside quotes costs a third of the reading, and not looking where
    # there are quotes would misread rows without a word.
    options["parse_options"].newlines_in_values = source.compressed or _has_quotes(source)
    try:
        with source.open() as file:
            where = file if source.compressed else str(source.path)
            table = arrow_csv.read_csv(where, **options)
    except pa.ArrowInvalid as trouble:
        raise _located(source, layout, str(trouble)) from trouble
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_binary(column.type):
            raise _located(source, layout, "invalid UTF8 data", name)
    return table


def _has_quotes(source: Source) -> bool:
    with source.open() as file:
        return any(b'"' in block for block in iter(lambda: file.read(WHOLE_BYTES), b""))


def delimited_chunks(
    source: Source, kinds: Mapping[str, str], keep: tuple[str, ...]
) -> Iterator[pa.Table]:
    """Pieces of the file with the columns asked for, each read as it is said."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    from everypair.tables import ARROW_KINDS

    layout = layout_of(source)
    check_names(layout.names, source.path)
    wanted = [*kinds, *(name for name in keep if name not in kinds)]
    check_present(wanted, layout.names, source.path)
    types = {name: pa.type_for_alias(ARROW_KINDS[kinds.get(name, "category")]) for name in wanted}
    options = _options(source, layout, types, wanted)
    try:
        with source.open() as file:
            where = file if source.compressed else str(source.path)
            reader: arrow_csv.CSVStreamingReader = arrow_csv.open_csv(where, **options)
            for batch in reader:
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as trouble:
        raise _located(source, layout, str(trouble)) from trouble


def _located(source: Source, layout: Layout, trouble: str, column: str | None = None) -> DataError:
    """The row and the column of what Arrow stumbled over, found by reading once more."""
    width = len(layout.names)
    invalid = re.search(r"invalid value '(.*)'", trouble, re.DOTALL)
    at = re.search(r"In CSV column #(\d+)", trouble)
    place = int(at.group(1)) if at else None
    if column is None and place is not None and place < width:
        column = layout.names[place]
    if "UTF8" in trouble:
        return _bad_bytes(source, column)
    if "straddl" in trouble:
        return DataError("a quotation mark is opened and never closed.", source.path)
    if "Empty CSV" in trouble:
        return DataError("the file is empty.", source.path)
    with source.open() as file, io.TextIOWrapper(file, source.encoding, "replace") as text:
        rows = csv.reader(text, delimiter=layout.delimiter)
        next(rows, None)
        for number, row in enumerate(rows, start=1):
            if invalid and place is not None and len(row) > place:
                if row[place] == invalid.group(1):
                    return DataError(
                        f"{row[place]!r} is not {_reading(trouble)}.", source.path, number, column
                    )
            elif not invalid and row and len(row) != width:
                return DataError(
                    f"there are {len(row)} fields where the header has {width}: a missing or "
                    f"unquoted {layout.delimiter!r}, or another delimiter (--delimiter)?",
                    source.path,
                    number,
                )
    return DataError(trouble.strip().split("\n")[0], source.path, column=column)


def _reading(trouble: str) -> str:
    return (
        "a date"
        if "timestamp" in trouble
        else "true or false"
        if "bool" in trouble
        else "a number, as it was in training"
    )


def _bad_bytes(source: Source, column: str | None) -> DataError:
    with source.open() as file:
        for number, line in enumerate(file):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as trouble:
                error = _not_decoded(source, line[trouble.start], number)
                return DataError(str(error).split(": ", 1)[1], source.path, number, column)
    return DataError("this is not UTF-8: say --encoding latin-1.", source.path, column=column)
