"""The first sheet of an Excel workbook (.xlsx)."""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from everypair.app.files.header import check_header, numbered
from everypair.app.files.problems import DataError
from everypair.app.files.table_file import Source, first_line

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE_ROWS = 20
"""Rows that are looked at to tell names from data."""


def read_excel(source: Source, where: Any) -> pa.Table:
    """Values as the sheet shows them last; the first row that is not empty has the names."""
    import pyarrow as pa

    rows = _rows(source, where)
    width = max((_width(row) for row in rows), default=0)
    rows = [row[:width] + [None] * (width - len(row)) for row in rows if _width(row)]
    if not rows:
        raise DataError("the first sheet is empty.", source.path)
    if source.header is False:
        names = numbered(width)
    else:
        header, *rows = rows
        names = [_text(value) or "" for value in header]
        if source.header is None:
            sample = [[_text(value) or "" for value in row] for row in rows[:SAMPLE_ROWS]]
            check_header(names, sample, source.path)
    return pa.table([_column([row[k] for row in rows]) for k in range(width)], names=names)


def _rows(source: Source, where: Any) -> list[list[Any]]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(
            "Excel files need openpyxl: pip install 'everypair[excel]', or save the sheet as CSV.",
            source.path,
        ) from None
    try:
        with closing(load_workbook(where, read_only=True, data_only=True)) as book:
            if not book.worksheets:
                raise DataError("the workbook has no sheet of cells.", source.path)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # some programs write the size of the sheet wrongly
            return [list(row) for row in sheet.iter_rows(values_only=True)]
    except (DataError, MemoryError):
        raise
    except Exception as trouble:  # whatever damaged parts make the parsers say
        said = first_line(trouble)
        raise DataError(
            f"this is not a complete xlsx file ({said}): save it again.", source.path
        ) from trouble


def _width(row: list[Any]) -> int:
    """Cells up to the last one that is not empty."""
    return max((k + 1 for k, value in enumerate(row) if value not in (None, "")), default=0)


def _column(values: list[Any]) -> Any:
    """Cells of one type as such; of several, as the text that a CSV would have."""
    import pyarrow as pa

    types = {type(value) for value in values if value is not None}
    if types <= {int, float} or types in ({bool}, {datetime}, {time}, {str}):
        try:
            return pa.array(values, pa.float64() if float in types else None)
        except (pa.ArrowInvalid, OverflowError):  # whole numbers beyond 64 bits
            pass
    return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date | time) else str(value)
