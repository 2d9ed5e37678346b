"""Tables from files, whole or a piece at a time.

CSV, TSV, Parquet, Feather, Excel and ARFF files become an Arrow table; svmlight a CSR matrix that
is never written out. The format is that of the file's ending (``.csv.gz``, ``.csv.xz`` and
``.csv.zip`` are unpacked on the way) unless it is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everypair.app.files.cells import bare
from everypair.app.files.kinds import canonical, named
from everypair.app.files.pieces import piece_as
from everypair.app.files.problems import DataError
from everypair.app.files.svmlight import LABEL, SparseTable
from everypair.app.files.table_file import Source, check_names, check_present, first_line
from everypair.blocks.parquet import parquet_files

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "LABEL", "Source", "SparseTable", "check_names", "check_present", "read", "read_chunks",
]  # fmt: skip

CHUNK_ROWS = 100_000

Table = Any  # pyarrow.Table or SparseTable


def read(source: Source) -> Table:
    """The whole table: a `pyarrow.Table` (`canonical`), or a `SparseTable` for svmlight."""
    if source.kind == "svmlight":
        from everypair.app.files.svmlight import read_svmlight

        return read_svmlight(source)
    try:
        table = _read_columns(source)
    except DataError as trouble:
        if trouble.file is not None:
            raise
        raise DataError(trouble.problem, source.path, trouble.row, trouble.column) from None
    check_names(table.column_names, source.path)
    if table.num_rows == 0:
        raise DataError("there is a header but no row of data.", source.path)
    return table


def _read_columns(source: Source) -> pa.Table:
    if source.kind in ("csv", "tsv"):
        from everypair.app.files.delimited import read_delimited

        return read_delimited(source)
    table = _as_it_stands(source)
    if source.kind == "arff":  # its header says what its columns are
        return named(table)
    return canonical(table, formats=source.formats)


def _as_it_stands(source: Source) -> pa.Table:
    import pyarrow as pa

    if source.kind == "arff":
        from everypair.app.files.arff import read_arff

        return read_arff(source)
    if source.path.is_dir():
        return _joined([_as_it_stands(part) for part in parts_of(source)], source)
    with source.seekable() as where:
        try:
            if source.kind == "xlsx":
                from everypair.app.files.excel import read_excel

                return read_excel(source, where)
            if source.kind == "parquet":
                import pyarrow.parquet as pq

                return pq.ParquetFile(where).read()
            return _valid(_read_feather(where))
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


def read_chunks(
    source: Source,
    kinds: Mapping[str, str] | None,
    keep: Mapping[str, str] | None = None,
    forms: Mapping[str, str] | None = None,
) -> Iterator[Table]:
    """The table a piece at a time, in constant memory for all formats but ARFF and Excel's.

    ``kinds`` says how the columns are to be read (`everypair.app.files.kinds.ARROW_KINDS`), and
    ``forms`` how their dates are written, so that each piece is read alike; columns of the file
    that ``kinds`` does not name are skipped, except those in ``keep`` (name and kind). None is for
    svmlight, which has numbers only.
    """
    keep = keep or {}
    if (kinds is None) != (source.kind == "svmlight"):
        wanted = "an svmlight file" if kinds is None else "a table with named columns"
        raise DataError(
            f"the model was trained on {wanted}, but this is {source.kind}: give {wanted}."
        )
    if kinds is None:
        from everypair.app.files.svmlight import svmlight_chunks

        yield from svmlight_chunks(source)
        return
    spelt = {
        name: [*source.formats.for_column(name), (forms or {}).get(name, "")]
        for name, kind in kinds.items()
        if kind == "date"
    }
    if source.kind in ("csv", "tsv"):
        from everypair.app.files.delimited import delimited_chunks

        yield from delimited_chunks(source, kinds, keep, spelt)
        return
    done = 0
    for given in _column_chunks(source, {**keep, **kinds}):
        piece = given.rename_columns([bare(name) for name in given.column_names])
        check_names(piece.column_names, source.path)
        check_present([*kinds, *keep], piece.column_names, source.path)
        tidy = source.kind != "arff"
        yield piece_as(piece, kinds, keep, spelt, False, source.path, done, tidy)
        done += piece.num_rows


def parts_of(source: Source) -> list[Source]:
    """The Parquet files of a folder, in the order of their names."""
    if source.kind != "parquet":
        raise DataError(f"a folder of {source.kind} files is not read: give Parquet.", source.path)
    try:
        files = parquet_files(str(source.path))
    except ValueError as trouble:
        raise DataError(f"{trouble}") from None
    return [replace(source, path=Path(file), format="parquet") for file in files]


def _joined(tables: list[pa.Table], source: Source) -> pa.Table:
    import pyarrow as pa

    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid as trouble:
        raise DataError(
            f"the files have different columns or types ({first_line(trouble)}): write "
            "all files with the same columns and types.",
            source.path,
        ) from trouble


def _column_chunks(source: Source, wanted: Mapping[str, str]) -> Iterator[pa.Table]:
    import pyarrow as pa

    if source.path.is_dir():
        for part in parts_of(source):
            yield from _column_chunks(part, wanted)
        return
    if source.kind in ("arff", "xlsx") or source.compressed:
        yield from _slices(_as_it_stands(source))
        return
    source.check_exists()
    try:
        if source.kind == "parquet":
            import pyarrow.parquet as pq

            file = pq.ParquetFile(str(source.path))
            names = file.schema_arrow.names
            check_names([bare(name) for name in names], source.path)
            check_present(list(wanted), [bare(name) for name in names], source.path)
            used = [name for name in names if bare(name) in wanted]
            for batch in file.iter_batches(CHUNK_ROWS, columns=used):
                yield pa.Table.from_batches([batch])
            return
        if not _is_arrow_file(source.path):
            yield from _slices(_as_it_stands(source))
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
    return DataError(
        f"this is not a complete {source.kind} file ({first_line(trouble)}).", source.path
    )
