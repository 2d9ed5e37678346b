"""Tables from files, whole or a piece at a time.

CSV, TSV, Parquet, Feather and ARFF become an Arrow table; svmlight a CSR matrix that is never
written out. The format is that of the file's ending (``.csv.gz``, ``.csv.xz`` and ``.csv.zip``
are unpacked on the way) unless it is said.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.problems import DataError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".arff": "arff",
}  # fmt: skip
FORMATS = ("csv", "tsv", "parquet", "feather", "svmlight", "arff")
COMPRESSED = (".gz", ".xz", ".zip")

PANDAS_INDEX = re.compile(r"__index_level_\d+__")

CHUNK_ROWS = 100_000
CHUNK_BYTES = 2**20
"""A piece of a text file. Arrow reads some thirty pieces ahead, so that these are many times it."""

LABEL = "label"
"""What the first number of an svmlight line is called."""


@dataclass(frozen=True)
class SparseTable:
    """Rows of an svmlight file: column k of X is the feature that the file calls k."""

    X: Any
    label: NDArray[np.float64]

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: NDArray[np.intp]) -> SparseTable:
        return SparseTable(self.X[rows], self.label[rows])


Table = Any  # pyarrow.Table or SparseTable


@dataclass(frozen=True)
class Source:
    """A file and how to read it. What is not said is found out."""

    path: Path
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise DataError(f"format {self.format!r} is not one of {', '.join(FORMATS)}.")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise DataError(f"delimiter {self.delimiter!r} is not a single character.")
        try:
            "".encode(self.encoding)
        except (LookupError, UnicodeError):  # "undefined" is an encoding that encodes nothing
            raise DataError(f"there is no encoding {self.encoding!r} of text.") from None

    @property
    def kind(self) -> str:
        """Format by name: the one said, or that of the ending."""
        if self.format is not None:
            return self.format
        self.check_exists()
        name = self._inner_name()
        kind = ENDINGS.get(Path(name).suffix.lower())
        if kind is None:
            raise DataError(
                f"the ending of {name!r} says no format: give --format "
                f"({', '.join(FORMATS)}) or rename the file.",
                self.path,
            )
        return kind

    @property
    def compressed(self) -> bool:
        return self.path.suffix.lower() in COMPRESSED

    def _inner_name(self) -> str:
        if self.path.suffix.lower() == ".zip":
            with self._trouble_named(), zipfile.ZipFile(self.path) as archive:
                return _only_member(archive, self.path)
        return self.path.stem if self.compressed else self.path.name

    def check_exists(self) -> None:
        if not self.path.exists():
            raise DataError("there is no such file.", self.path)
        if self.path.is_dir():
            raise DataError("this is a folder, not a file.", self.path)
        if not self.path.is_file():  # it is read more than once
            raise DataError("a pipe cannot be read: save it to a file.", self.path)
        if not os.access(self.path, os.R_OK):
            raise DataError("this file may not be read (permission denied).", self.path)
        if self.path.stat().st_size == 0:
            raise DataError("the file is empty.", self.path)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes of the table, unpacked."""
        self.check_exists()
        ending = self.path.suffix.lower()
        with self._trouble_named():
            if ending == ".gz":
                with gzip.open(self.path) as file:
                    yield file  # type: ignore[misc]
            elif ending == ".xz":
                with lzma.open(self.path) as file:
                    yield file
            elif ending == ".zip":
                with (
                    zipfile.ZipFile(self.path) as archive,
                    archive.open(_only_member(archive, self.path)) as file,
                ):
                    yield file
            else:
                with self.path.open("rb") as file:
                    yield file

    @contextmanager
    def seekable(self) -> Iterator[Any]:
        """For formats whose index is at the end: a path, or all bytes of a compressed file."""
        self.check_exists()
        if not self.compressed:
            yield str(self.path)
            return
        with self.open() as file:
            content = io.BytesIO(file.read())
        yield content

    @contextmanager
    def _trouble_named(self) -> Iterator[None]:
        try:
            yield
        except (
            EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile
        ) as trouble:  # fmt: skip
            raise DataError(
                f"the compressed file is damaged or cut short ({trouble}).", self.path
            ) from trouble


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
    if len(names) != 1:
        raise DataError(
            f"the archive holds {len(names)} files: a table is one file in its archive.", path
        )
    return names[0]


def read(source: Source) -> Table:
    """The whole table: a `pyarrow.Table`, or a `SparseTable` for svmlight."""
    if source.kind == "svmlight":
        return _read_svmlight(source)
    table = _read_columns(source)
    table = _trimmed(source, table)
    check_names(table.column_names, source.path)
    if table.num_rows == 0:
        raise DataError("there is a header but no row of data.", source.path)
    return table


def _trimmed(source: Source, table: pa.Table) -> pa.Table:
    """Words and names without spaces around them, as the readers of text give them."""
    import pyarrow as pa

    if source.kind not in ("parquet", "feather"):
        return table
    from everypair.data.cells import bare, trimmed

    columns = list(table.columns)
    for k, column in enumerate(columns):
        coded = pa.types.is_dictionary(column.type)
        words = column.type.value_type if coded else column.type
        if words not in (pa.string(), pa.large_string(), pa.string_view()):
            continue
        if coded and all(c.dictionary.equals(trimmed(c.dictionary)) for c in column.chunks):
            continue  # codes take less room than words
        columns[k] = trimmed(column.cast(pa.string()))
    return pa.table(columns, names=[bare(name) for name in table.column_names])


def _read_columns(source: Source) -> pa.Table:
    if source.kind in ("csv", "tsv"):
        from everypair.data.delimited import read_delimited

        return read_delimited(source)
    if source.kind == "arff":
        from everypair.data.arff import read_arff

        return read_arff(source)
    import pyarrow as pa

    with source.seekable() as where:
        try:
            if source.kind == "parquet":
                import pyarrow.parquet as pq

                return _without_index(pq.ParquetFile(where).read())
            return _without_index(_valid(_read_feather(where)))
        except (pa.ArrowInvalid, OSError) as trouble:
            raise _not_of_format(source, trouble) from trouble


def _read_feather(where: Any) -> pa.Table:
    """Arrow's file format, the older Feather V1, or a stream of Arrow under the same ending."""
    import pyarrow as pa
    from pyarrow import feather

    try:
        return feather.read_table(where)
    except pa.ArrowInvalid:
        if not isinstance(where, str):
            where.seek(0)
        with pa.ipc.open_stream(where if not isinstance(where, str) else pa.OSFile(where)) as file:
            return file.read_all()


def _valid(table: pa.Table) -> pa.Table:
    """Refuse offsets that lead out of memory: Arrow takes those of its own format as they are."""
    table.validate(full=True)
    return table


def _without_index(table: pa.Table) -> pa.Table:
    """Without the row numbers that pandas writes beside the columns: they are no data."""
    index = [name for name in table.column_names if PANDAS_INDEX.fullmatch(name)]
    return table.drop_columns(index) if index else table


def read_chunks(
    source: Source, kinds: Mapping[str, str] | None, keep: Mapping[str, str] | None = None
) -> Iterator[Table]:
    """The table a piece at a time, in constant memory for all formats but ARFF.

    ``kinds`` says how the columns are to be read (`everypair.columns.ARROW_KINDS`), so that each
    piece is read alike; columns of the file that it does not name are skipped, except those in
    ``keep`` (name and kind). None is for svmlight, which has numbers only.
    """
    keep = keep or {}
    if (kinds is None) != (source.kind == "svmlight"):
        wanted = "an svmlight file" if kinds is None else "a table with named columns"
        raise DataError(f"the model was trained on {wanted}, and this is {source.kind}.")
    if kinds is None:
        yield from _svmlight_chunks(source)
    elif source.kind in ("csv", "tsv"):
        from everypair.data.delimited import delimited_chunks

        yield from delimited_chunks(source, kinds, keep)
    else:
        for given in _column_chunks(source):
            piece = _trimmed(source, given)
            check_names(piece.column_names, source.path)
            check_present([*kinds, *keep], piece.column_names, source.path)
            yield piece


def _column_chunks(source: Source) -> Iterator[pa.Table]:
    import pyarrow as pa

    if source.kind == "arff" or source.compressed:
        yield from _slices(read(source))
        return
    source.check_exists()
    try:
        if source.kind == "parquet":
            import pyarrow.parquet as pq

            for batch in pq.ParquetFile(str(source.path)).iter_batches(CHUNK_ROWS):
                yield pa.Table.from_batches([batch])
            return
        if not _is_arrow_file(source.path):
            yield from _slices(read(source))
            return
        with pa.memory_map(str(source.path)) as file, pa.ipc.open_file(file) as batches:
            for k in range(batches.num_record_batches):
                yield _valid(pa.Table.from_batches([batches.get_batch(k)]))
    except (pa.ArrowInvalid, OSError) as trouble:
        raise _not_of_format(source, trouble) from trouble


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, CHUNK_ROWS):
        yield table.slice(start, CHUNK_ROWS)


def _is_arrow_file(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) == b"ARROW1"


def _not_of_format(source: Source, trouble: Exception) -> DataError:
    return DataError(f"this is not a whole {source.kind} file ({_line(trouble)}).", source.path)


def _line(trouble: Exception) -> str:
    return str(trouble).strip().split("\n")[0][:200]


def check_names(names: list[str], path: Path) -> None:
    """Column names must tell the columns apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen and name:
            raise DataError("the header has this name twice: rename one.", path, column=name)
        seen.add(name)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_present(wanted: list[str], names: list[str], path: Path) -> None:
    """Every wanted column is in the file, or the missing ones are named."""
    has = set(names)
    missing = [name for name in wanted if name not in has]
    if missing:
        more = f" ({len(missing)} columns are missing)" if len(missing) > 1 else ""
        import difflib

        near = [name for name in names if name.lower() == missing[0].lower()]
        near += difflib.get_close_matches(missing[0], names[:1000], 1)
        few = ", ".join(repr(name[:40]) for name in names[:8]) + ", ..." * (len(names) > 8)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {few}."
        if not near and any(is_number(name) for name in names):
            hint = f"{hint[:-1]}; if that is data, put a line of names above it."
        raise DataError(f"the file has no such column{more}: {hint}", path, column=missing[0])


def _read_svmlight(source: Source) -> SparseTable:
    with source.open() as file:
        return _parse_svmlight(source, file.read())


def _parse_svmlight(source: Source, text: bytes, rows_before: int = 0) -> SparseTable:
    from sklearn.datasets import load_svmlight_file

    try:
        # zero_based=True keeps the file's own numbers, whether they begin at 0 or at 1.
        X, label = load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, UnicodeDecodeError, OverflowError) as trouble:
        row = rows_before + _bad_svmlight_row(text)
        raise DataError(
            f"this is not a line of svmlight ({_line(trouble)}).", source.path, row
        ) from trouble
    if X.shape[0] == 0:
        raise DataError("the file has no row of data.", source.path)
    return SparseTable(X, label)


def _bad_svmlight_row(text: bytes) -> int:
    row = 0
    for line in text.splitlines():
        content = line.split(b"#")[0].split()
        if not content:
            continue
        row += 1
        try:
            float(content[0])
            last = -1
            for item in content[1:]:
                name, value = item.split(b":")
                if name != b"qid":
                    float(value)
                    if int(name) <= last:
                        return row
                    last = int(name)
        except ValueError:
            return row
    return max(row, 1)


def _svmlight_chunks(source: Source) -> Iterator[SparseTable]:
    rows = 0
    with source.open() as file:
        while lines := file.readlines(CHUNK_BYTES):
            piece = _parse_svmlight(source, b"".join(lines), rows)
            rows += piece.num_rows
            yield piece
