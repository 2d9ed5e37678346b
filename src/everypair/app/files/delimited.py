"""CSV and TSV by Arrow's parser, with errors that name the row and the column."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from everypair.app.files.cells import MISSING, bare
from everypair.app.files.dates import Formats, parsed
from everypair.app.files.faults import (
    LONGEST_ROW,
    check_closed,
    located,
    long_fields,
    not_decoded,
    python_rows,
)
from everypair.app.files.header import check_header, numbered
from everypair.app.files.kinds import ARROW_KINDS, canonical
from everypair.app.files.pieces import piece_as
from everypair.app.files.problems import DataError
from everypair.app.files.segments import joined, read_segments, segments_of
from everypair.app.files.table_file import CHUNK_BYTES, Source, check_names, check_present

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

DELIMITERS = ",;\t|"
UTF8 = ("utf-8", "utf8")

MARKS = frozenset(MISSING) - {""}
MARK_ROWS = 2000
"""Rows that are looked at for the spelling of missing values."""

COLUMNS_FOR_ONE_THREAD = 2000
"""Columns from which Arrow's threads cost more than they bring: they take turns a column."""

WHOLE_BYTES = 2**20
"""A block where the whole file is read anyway. It stays in a core's cache between parsing and
converting: on 200,000 x 30 numbers eight times as much took 1.8 times as long. On 500 columns it
was a fifth quicker."""

BLOCK_GROWTH = 8
"""A row longer than a block is read with a block this many times as large, up to `LONGEST_ROW`."""

BLOCK_ROWS = 40
"""Rows as long as the first ones that a block has room for at least."""

SCAN_BYTES = 2**20
"""Read at a time to count the quotation marks."""

HEAD_BYTES = 2**16
HEAD_LINES = 20


@dataclass(frozen=True)
class Layout:
    """What the first lines say about a file."""

    header: list[str]  # as it stands in the file, or `numbered`
    rows: list[list[str]]  # the first ones below it
    delimiter: str
    decimal: str
    longest: int
    named: bool = True

    @property
    def names(self) -> list[str]:
        return [bare(name) for name in self.header]

    @property
    def comma(self) -> bool:
        """May numbers have a decimal comma, be it further down than the first lines?"""
        return self.delimiter == ";"

    @property
    def chunk_bytes(self) -> int:
        return max(CHUNK_BYTES, BLOCK_ROWS * self.longest)

    @property
    def wide(self) -> bool:
        return len(self.header) > COLUMNS_FOR_ONE_THREAD


def layout_of(source: Source) -> Layout:
    """Header, delimiter (the one that the first lines agree on) and decimal mark."""
    with source.open() as file:
        raw = file.read(HEAD_BYTES)
        if b"\n" not in raw and b"\r" not in raw:  # a header of very many columns
            raw += file.readline()
        raw += file.readline()
    text = _decode(raw, source)
    with long_fields():  # the wrong delimiter makes a field of a line
        delimiter = source.delimiter or ("\t" if source.kind == "tsv" else _sniff(text))
        header, *rows = _first_rows(text, delimiter) or [[]]
    if not header:
        raise DataError("the file is empty.", source.path)
    if source.header is False:
        header, rows = numbered(len(header)), [header, *rows]
    elif source.header is None:
        check_header([bare(name) for name in header], rows, source.path)
    check_names([bare(name) for name in header], source.path)
    decimal = "."
    values = (field.strip() for row in rows for field in row)
    if delimiter == ";" and any(re.fullmatch(r"-?\d+,\d+", value) for value in values):
        decimal = ","
    longest = max(sum(map(len, row)) + len(row) for row in (header, *rows))
    return Layout(header, rows, delimiter, decimal, longest, source.header is not False)


def _first_rows(text: str, delimiter: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    filled = (row for row in rows if any(field.strip() for field in row) or len(row) > 1)
    return list(islice(filled, HEAD_LINES))


OTHER_FILES = {
    b"\x1f\x8b": ("gzip", "rename it to end in .gz"),
    b"\xfd7zXZ": ("xz", "rename it to end in .xz"),
    b"PK\x03\x04": ("zip (or Excel)", "rename it to end in .zip or .xlsx"),
    b"PAR1": ("Parquet", "say --format parquet"),
    b"ARROW1": ("Feather", "say --format feather"),
}
"""How files begin that are not text, whatever their ending."""


def _decode(raw: bytes, source: Source) -> str:
    for start, (kind, remedy) in OTHER_FILES.items():
        if raw.startswith(start):
            raise DataError(f"this is a {kind} file, not {source.kind}: {remedy}.", source.path)
    if b"\0" in raw[:1000] and not source.encoding.lower().replace("-", "").startswith("utf16"):
        raise DataError(
            "this is not a text file (it has zero bytes): if it is UTF-16, use --encoding utf-16.",
            source.path,
        )
    try:
        codec = "utf-8-sig" if source.encoding.lower() in UTF8 else source.encoding
        return raw.decode(codec)
    except UnicodeDecodeError as trouble:
        if trouble.start > len(raw) - 4:  # the piece ends inside a character
            return raw[: trouble.start].decode(codec)
        if b"\n" not in raw[: trouble.start]:
            raise not_decoded(source, raw[trouble.start], None, "the header") from trouble
        return raw.decode(codec, errors="replace")  # the parser will say in which row


def _sniff(text: str) -> str:
    """The delimiter that splits the lines into equally many fields, most fields first."""
    best, most = ",", 0.0
    for delimiter in DELIMITERS:
        rows = _first_rows(text, delimiter)
        width = len(rows[0]) if rows else 0
        agree = sum(len(row) == width for row in rows) / max(len(rows), 1)
        score = agree * (width - 1)
        if score > most:
            best, most = delimiter, score
    return best


def _options(
    source: Source,
    layout: Layout,
    block: int,
    quoted: bool,
    types: Mapping[str, Any],
    columns: list[str] | None = None,
) -> dict[str, Any]:
    from pyarrow import csv as arrow_csv

    return {
        "read_options": arrow_csv.ReadOptions(
            use_threads=not layout.wide,
            block_size=block,
            encoding=source.encoding,
            column_names=None if layout.named else layout.header,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=quoted
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            decimal_point=layout.decimal,
            column_types=dict(types),
            include_columns=columns or [],
        ),
    }


def read_delimited(source: Source) -> pa.Table:
    """The whole file; types are inferred from every row.

    Where spaces, or decimal commas that begin late, made text of a column, it is looked at again.
    """
    import pyarrow as pa

    layout = layout_of(source)
    columns = _by_segments(source, layout)
    if columns is None:
        columns = _at_once(source, layout, _has_quotes(source, layout)).columns
    for k, column in enumerate(columns):
        if pa.types.is_binary(column.type):
            raise located(source, layout, "invalid UTF8 data", layout.names[k])
    table = pa.table(columns, names=layout.names)
    marks = _marks(source, layout, [k for k, c in enumerate(table.columns) if c.null_count])
    return canonical(table, layout.comma, source.formats, marks)


def _at_once(
    source: Source, layout: Layout, quoted: bool, wanted: list[str] | None = None
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    block = max(WHOLE_BYTES, layout.chunk_bytes)
    types = _said_to_be_dates(source.formats, layout)
    while True:
        options = _options(source, layout, block, quoted, types, wanted)
        try:
            with source.open() as file:
                where = file if source.compressed else str(source.path)
                return arrow_csv.read_csv(where, **options)
        except pa.ArrowInvalid as trouble:
            block = _longer(source, layout, trouble, block)
        except UnicodeDecodeError as trouble:  # of another encoding than UTF-8
            raise not_decoded(source, trouble.object[trouble.start], None, "the file") from trouble


def _by_segments(source: Source, layout: Layout) -> list[pa.ChunkedArray] | None:
    """The columns of a file without quotes; None where `_at_once` has to read it.

    Line feeds end rows, and are single bytes in UTF-8.
    """
    from pyarrow import csv as arrow_csv

    plain = source.encoding.lower() in UTF8 and not source.compressed
    segments = segments_of(source.path) if plain else []
    if len(segments) < 2:
        return None
    block = max(WHOLE_BYTES, layout.chunk_bytes)
    types = _said_to_be_dates(source.formats, layout)

    def parse(where: pa.BufferReader, first: bool) -> pa.Table:
        options = _options(source, layout, block, False, types)
        options["read_options"].use_threads = False
        if not first:
            options["read_options"].column_names = layout.header
        return arrow_csv.read_csv(where, **options)

    tables = read_segments(source.path, segments, parse)
    written = layout.header
    if tables is None or tables[0].column_names != written:
        return None
    return joined(tables, lambda at: _at_once(source, layout, False, [written[k] for k in at]))


def _marks(source: Source, layout: Layout, places: list[int]) -> dict[str, list[str]]:
    """How missing values of these columns are spelled in the first rows, but for empty fields."""
    marks: dict[str, list[str]] = {}
    for row in itertools.islice(python_rows(source, layout) if places else (), MARK_ROWS):
        for k in places:
            if k < len(row) and row[k] in MARKS:
                marks.setdefault(layout.names[k], []).append(row[k])
    return {name: list(dict.fromkeys(found)) for name, found in marks.items()}


def _said_to_be_dates(formats: Formats, layout: Layout) -> dict[str, Any]:
    """Columns that Arrow leaves as text because the user said how its dates are written."""
    import pyarrow as pa

    types = {}
    for k, name in enumerate(layout.names if formats else ()):
        first = pa.array([row[k].strip() for row in layout.rows if k < len(row)], pa.string())
        forms = formats.for_column(name)
        if any(parsed(first, form).null_count < len(first) for form in forms):
            types[layout.header[k]] = pa.string()
    return types


def _longer(source: Source, layout: Layout, trouble: Exception, block: int) -> int:
    """The next size to try of a block in which a row did not fit; all else is an error."""
    if "straddl" not in str(trouble) or block >= LONGEST_ROW:
        raise located(source, layout, str(trouble)) from trouble
    check_closed(source, layout)
    return min(BLOCK_GROWTH * block, LONGEST_ROW)


def _has_quotes(source: Source, layout: Layout) -> bool:
    """May values be quoted? Looking for newlines inside quotes costs a third of the reading.

    Not looking where there are quotes would misread rows without a word.
    """
    if source.compressed:
        return True
    with source.open() as file:
        blocks = iter(lambda: file.read(SCAN_BYTES), b"")
        # To find none takes a fifth of the time that counting takes.
        quotes = sum(block.count(b'"') for block in blocks if b'"' in block)
    if quotes % 2:
        check_closed(source, layout)
    return quotes > 0


def delimited_chunks(
    source: Source,
    kinds: Mapping[str, str],
    keep: Mapping[str, str],
    forms: Mapping[str, Sequence[str]],
) -> Iterator[pa.Table]:
    """Pieces of the file with the columns asked for, each read as it is said.

    Arrow reads the numbers; from a piece on in which it stumbles, all columns are read as
    text, which heeds spaces and decimal commas and finds the row of what is wrong.
    """
    import pyarrow as pa

    layout = layout_of(source)
    wanted = {**kinds, **keep}  # what is kept as text is read as text, be it learnt from too
    check_present(list(wanted), layout.names, source.path)
    quoted = _has_quotes(source, layout)
    typed, block, done = TYPED, layout.chunk_bytes, 0
    while True:
        rows = 0
        try:
            for piece in _pieces(source, layout, wanted, typed, block, quoted):
                new = piece.slice(max(done - rows, 0))
                rows += piece.num_rows
                if new.num_rows:
                    yield piece_as(new, kinds, keep, forms, layout.comma, source.path, done)
                    done += new.num_rows
            return
        except pa.ArrowInvalid as trouble:
            said = str(trouble)
            if typed and "conversion error" in said and "UTF8" not in said:
                typed = ()
            else:
                block = _longer(source, layout, trouble, block)
        except UnicodeDecodeError as trouble:
            raise not_decoded(source, trouble.object[trouble.start], None, "the file") from trouble


TYPED: tuple[str, ...] = ("number", "boolean")
"""Kinds that Arrow is asked to read itself; dates have many spellings."""


def _pieces(
    source: Source,
    layout: Layout,
    wanted: Mapping[str, str],
    typed: tuple[str, ...],
    block: int,
    quoted: bool,
) -> Iterator[pa.Table]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    written = dict(zip(layout.names, layout.header, strict=True))
    types = {
        written[name]: pa.type_for_alias(ARROW_KINDS[kind if kind in typed else "category"])
        for name, kind in wanted.items()
    }
    options = _options(source, layout, block, quoted, types, list(types))
    with source.open() as file:
        where = file if source.compressed else str(source.path)
        reader: arrow_csv.CSVStreamingReader = arrow_csv.open_csv(where, **options)
        for batch in reader:
            if batch.num_rows:
                yield pa.table(batch.columns, names=list(wanted))
