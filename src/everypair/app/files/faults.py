"""What is wrong in a delimited file, and in which row: found by reading once more, by Python."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from everypair.app.files.problems import DataError
from everypair.app.files.table_file import Source

if TYPE_CHECKING:
    from everypair.app.files.delimited import Layout

LONGEST_ROW = 2**29
"""Bytes of a row beyond which it is given up."""


def located(source: Source, layout: Layout, trouble: str, column: str | None = None) -> DataError:
    """The row of what Arrow stumbled over, found by reading once more."""
    width = len(layout.header)
    at = re.search(r"In CSV column #(\d+)", trouble)
    place = int(at.group(1)) if at else None
    if column is None and place is not None and place < width:
        column = layout.names[place]
    if "UTF8" in trouble:
        return _bad_bytes(source, column, layout.named)
    if "straddl" in trouble:
        return DataError(
            "a quotation mark is opened and never closed, or a row has over "
            f"{LONGEST_ROW >> 20} MB.",
            source.path,
        )
    if "Empty CSV" in trouble:
        return DataError("the file is empty.", source.path)
    for number, row in enumerate(python_rows(source, layout), start=0 if layout.named else 1):
        if len(row) != width:
            return DataError(
                f"there are {len(row)} fields where the header has {width}: a missing or "
                f"unquoted {layout.delimiter!r}, or another delimiter (--delimiter)?",
                source.path,
                number,
            )
    return DataError(trouble.strip().split("\n")[0][:200], source.path, column=column)


def _bad_bytes(source: Source, column: str | None, named: bool) -> DataError:
    with source.open() as file:
        for number, line in enumerate(file, start=0 if named else 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as trouble:
                error = not_decoded(source, line[trouble.start], number)
                return DataError(error.problem, source.path, number, column)
    return DataError("this is not UTF-8: say --encoding latin-1.", source.path, column=column)


def not_decoded(source: Source, byte: int, row: int | None, what: str = "") -> DataError:
    return DataError(
        f"{what + ' ' if what else ''}is not {source.encoding} (byte 0x{byte:02x}): save the file "
        "as UTF-8 or say --encoding latin-1.",
        source.path,
        row,
    )


def check_closed(source: Source, layout: Layout) -> None:
    """Arrow takes the end of the file for the end of a quoted value."""
    number = 0 if layout.named else 1
    try:
        for _ in python_rows(source, layout, strict=True):
            number += 1
    except csv.Error as trouble:
        if "end of data" not in str(trouble):
            return  # something else that Python minds and Arrow does not
        raise DataError(
            "a quotation mark is opened here and never closed.", source.path, max(number, 1)
        ) from trouble


def python_rows(source: Source, layout: Layout, strict: bool = False) -> Iterator[list[str]]:
    with (
        long_fields(),
        source.open() as file,
        io.TextIOWrapper(file, source.encoding, "replace", newline="") as text,
    ):
        rows = csv.reader(text, delimiter=layout.delimiter, strict=strict)
        yield from (row for row in rows if row)


@contextmanager
def long_fields() -> Iterator[None]:
    """Python's reader of CSV refuses fields over 131 072 characters unless it is told."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
