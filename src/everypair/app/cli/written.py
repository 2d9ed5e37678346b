"""Rows as CSV, a piece at a time, to a file or to standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everypair.app.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa


def rows_to(output: Path | None, json: bool, what: str) -> Path | None:
    """The file to write ``what`` to, None for standard output; refused where it cannot go there."""
    from everypair.app.files.output import is_standard_output

    if output is not None and is_standard_output(output):
        output = None
    if json and output is None:
        raise ValueError(
            f"--json prints a summary to standard output: say where to write the {what} with -o "
            "FILE."
        )
    closed = getattr(sys.stdout, "name", "") == os.devnull  # `everypair.__main__` put it there
    if output is None and closed:
        raise ValueError(f"standard output is closed: say where to write the {what} with -o FILE.")
    return output


@contextmanager
def rows_out(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from everypair.app.files.output import written_whole

    with written_whole(path) as file:
        yield file


def write_rows(pieces: Iterable[pa.Table], file: Any, path: Path | None) -> None:
    """The pieces below one header; what would command a terminal is written out there."""
    import csv
    import io

    to_terminal = path is None and sys.stdout.isatty()
    for k, piece in enumerate(pieces):
        lines = memoryview(_lines(piece))
        if k == 0:
            header = io.StringIO()
            csv.writer(header, lineterminator="\n").writerow(piece.column_names)
            lines = memoryview(header.getvalue().encode() + lines)
        if to_terminal:
            lines = memoryview(printable(bytes(lines).decode(), keep="\n\t").encode())
        file.write(lines)


def _lines(piece: pa.Table) -> Any:
    """The rows as CSV; quotes only where some value of the piece needs them."""
    import pyarrow as pa
    from pyarrow import csv

    for quotes in ("none", "needed"):
        out = pa.BufferOutputStream()
        style = csv.WriteOptions(include_header=False, quoting_style=quotes)
        try:
            csv.write_csv(piece, out, style)
        except pa.ArrowInvalid:
            if quotes == "needed":
                raise
            continue
        return out.getvalue()
    raise AssertionError
