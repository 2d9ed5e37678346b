"""CSV and TSV by Arrow's parser, with errors that name the row and the column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from everypair.data.cells import MISSING, Misread, as_kind, bare, inferred
from everypair.data.problems import DataError
from everypair.data.readers import CHUNK_BYTES, Source, check_names, check_present, is_number

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

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

    header: list[str]  # as it stands in the file
    delimiter: str
    decimal: str
    longest: int

    @property
    def names(self) -> list[str]:
        return [bare(name) for name in self.header]

    @property
    def comma(self) -> bool:
        """May numbers have a decimal comma, be it further down than the first lines?"""
        return self.delimiter == ";"

    @property
    def chunk_bytes(self) -> int:
        return max(CHUNK_BYTES, 40 * self.longest)

    @property
    def wide(self) -> bool:
        return len(self.header) > WIDE


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
    with _long_fields():  # the wrong delimiter makes a field of a line
        delimiter = source.delimiter or ("\t" if source.kind == "tsv" else _sniff(lines))
        fields = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    decimal = "."
    values = (field.strip() for row in fields[1:] for field in row)
    if delimiter == ";" and any(re.fullmatch(r"-?\d+,\d+", value) for value in values):
        decimal = ","
    longest = max(len(line) for line in lines)
    return Layout(fields[0], delimiter, decimal, longest)


@contextmanager
def _long_fields() -> Iterator[None]:
    """Python's reader of CSV refuses fields over 131 072 characters unless it is told."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _check_header(names: list[str], source: Source) -> None:
    """Column names that tell the columns apart, not a first row of numbers."""
    if all(map(is_number, names)):
        values = [float(name) for name in names]
        # Names may be numbers as well: 0, 1, 2 (pandas') or years.
        if any(after - before != 1 for before, after in pairwise(values)):
            raise DataError(
                "the first line is all numbers, so it seems to be data: put a line with the "
                "names of the columns above it.",
                source.path,
            )
    check_names(names, source.path)


OTHER_FILES = {
    b"\x1f\x8b": ("gzip", "rename it to end in .gz"),
    b"\xfd7zXZ": ("xz", "rename it to end in .xz"),
    b"PK\x03\x04": ("zip (or Excel)", "rename it to end in .zip, or save the sheet as CSV"),
    b"PAR1": ("Parquet", "say --format parquet"),
    b"ARROW1": ("Feather", "say --format feather"),
}
"""How files begin that are no text, whatever they are called."""


def _decode(raw: bytes, source: Source) -> str:
    for start, (kind, remedy) in OTHER_FILES.items():
        if raw.startswith(start):
            raise DataError(f"this is a {kind} file, not {source.kind}: {remedy}.", source.path)
    if b"\0" in raw[:1000] and not source.encoding.lower().replace("-", "").startswith("utf16"):
        raise DataError(
            "this is not a text file (it has zero bytes): if it is UTF-16, say --encoding utf-16.",
            source.path,
        )
    try:
        codec = "utf-8-sig" if source.encoding.lower() in ("utf-8", "utf8") else source.encoding
        return raw.decode(codec)
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
    """The whole file; types are inferred from every row.

    Where spaces, or decimal commas that begin late, made text of a column, it is looked at again.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    layout = layout_of(source)
    _check_header(layout.names, source)
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
    columns = list(table.columns)
    for k, column in enumerate(columns):
        if pa.types.is_binary(column.type):
            raise _located(source, layout, "invalid UTF8 data", layout.names[k])
        if pa.types.is_string(column.type):
            columns[k] = inferred(column, layout.comma)
    return pa.table(columns, names=layout.names)


def _has_quotes(source: Source) -> bool:
    with source.open() as file:
        return any(b'"' in block for block in iter(lambda: file.read(WHOLE_BYTES), b""))


def delimited_chunks(
    source: Source, kinds: Mapping[str, str], keep: Mapping[str, str]
) -> Iterator[pa.Table]:
    """Pieces of the file with the columns asked for, each read as it is said.

    Arrow reads the numbers; from a piece on in which it stumbles, all columns are read as
    text, which heeds spaces and decimal commas and finds the row of what is wrong.
    """
    layout = layout_of(source)
    _check_header(layout.names, source)
    wanted = {**keep, **kinds}
    check_present(list(wanted), layout.names, source.path)
    done = 0
    try:
        for piece in _pieces(source, layout, wanted, TYPED):
            yield _read_as(piece, wanted, kinds, layout, source, done)
            done += piece.num_rows
    except _Stumble:
        rows = 0
        for piece in _pieces(source, layout, wanted, ()):
            new = piece.slice(max(done - rows, 0))
            if new.num_rows:
                first = rows + piece.num_rows - new.num_rows
                yield _read_as(new, wanted, kinds, layout, source, first)
            rows += piece.num_rows


class _Stumble(Exception):
    """Arrow found a value that is not of the type of its column."""


TYPED = ("number", "boolean")
"""Kinds that Arrow is asked to read itself; dates may have zones, which it wants to know before."""


def _pieces(
    source: Source, layout: Layout, wanted: Mapping[str, str], typed: tuple[str, ...]
) -> Iterator[pa.Table]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    from everypair.columns import ARROW_KINDS

    written = dict(zip(layout.names, layout.header, strict=True))
    types = {
        written[name]: pa.type_for_alias(ARROW_KINDS[kind if kind in typed else "category"])
        for name, kind in wanted.items()
    }
    options = _options(source, layout, types, list(types))
    try:
        with source.open() as file:
            where = file if source.compressed else str(source.path)
            reader: arrow_csv.CSVStreamingReader = arrow_csv.open_csv(where, **options)
            for batch in reader:
                if batch.num_rows:
                    yield pa.table(batch.columns, names=list(wanted))
    except pa.ArrowInvalid as trouble:
        if typed and "conversion error" in str(trouble) and "UTF8" not in str(trouble):
            raise _Stumble from trouble
        raise _located(source, layout, str(trouble)) from trouble


def _read_as(
    piece: pa.Table,
    wanted: Mapping[str, str],
    kinds: Mapping[str, str],
    layout: Layout,
    source: Source,
    rows_before: int,
) -> pa.Table:
    import pyarrow as pa

    columns = []
    for (name, kind), column in zip(wanted.items(), piece.columns, strict=True):
        try:
            text = pa.types.is_string(column.type)
            columns.append(as_kind(column, kind, layout.comma) if text else column)
        except Misread as trouble:
            row = rows_before + trouble.at + 1
            when = ", as it was in training" if name in kinds else ""
            raise DataError(f"{trouble}{when}.", source.path, row, name) from None
    return pa.table(columns, names=list(wanted))


def _located(source: Source, layout: Layout, trouble: str, column: str | None = None) -> DataError:
    """The row of what Arrow stumbled over, found by reading once more."""
    width = len(layout.header)
    at = re.search(r"In CSV column #(\d+)", trouble)
    place = int(at.group(1)) if at else None
    if column is None and place is not None and place < width:
        column = layout.names[place]
    if "UTF8" in trouble:
        return _bad_bytes(source, column)
    if "straddl" in trouble:
        return DataError(
            "a quotation mark is opened and never closed, or a row has over "
            f"{layout.chunk_bytes / 1e6:.0f} MB.",
            source.path,
        )
    if "Empty CSV" in trouble:
        return DataError("the file is empty.", source.path)
    with (
        _long_fields(),
        source.open() as file,
        io.TextIOWrapper(file, source.encoding, "replace") as text,
    ):
        rows = csv.reader(text, delimiter=layout.delimiter)
        next(rows, None)
        for number, row in enumerate(rows, start=1):
            if row and len(row) != width:
                return DataError(
                    f"there are {len(row)} fields where the header has {width}: a missing or "
                    f"unquoted {layout.delimiter!r}, or another delimiter (--delimiter)?",
                    source.path,
                    number,
                )
    return DataError(trouble.strip().split("\n")[0], source.path, column=column)


def _bad_bytes(source: Source, column: str | None) -> DataError:
    with source.open() as file:
        for number, line in enumerate(file):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as trouble:
                error = _not_decoded(source, line[trouble.start], number)
                return DataError(error.problem, source.path, number, column)
    return DataError("this is not UTF-8: say --encoding latin-1.", source.path, column=column)
