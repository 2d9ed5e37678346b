"""A delimited file in segments of whole rows, side by side in threads.

Given a whole file, Arrow keeps every block that it has parsed until the last one, because a later
value may change the type of a column: more memory than the table itself, most of it touched for
the first time. A segment lets go of its blocks when it is read.

Arrow gives a column the first type, in a fixed order, that all its values have. Where the segments
agree on a type, it is therefore that of the whole column. Where they differ, the column is read
again as a whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SEGMENT_BYTES = 2**24
"""A file that is no longer than this is one segment."""


def segments_of(path: Path) -> list[tuple[int, int]]:
    """Beginnings and ends of the segments, each after a line feed; none where lines are longer."""
    size = path.stat().st_size
    count = -(-size // SEGMENT_BYTES)
    cuts = [0, size]
    with path.open("rb") as file:
        for k in range(1, count):
            file.seek(size * k // count)
            if not file.readline(SEGMENT_BYTES).endswith(b"\n"):
                return []
            cuts.append(file.tell())
    return list(pairwise(sorted({*cuts})))


def read_segments(
    path: Path, segments: list[tuple[int, int]], parse: Callable[[pa.BufferReader, bool], pa.Table]
) -> list[pa.Table] | None:
    """The segments as ``parse`` reads them, told which one is first; None where it refuses one, or
    where one has a quotation mark: a line feed inside quotes ends no row."""
    import pyarrow as pa

    def table(segment: tuple[int, int]) -> pa.Table:
        start, end = segment
        with path.open("rb") as file:
            file.seek(start)
            raw = file.read(end - start)
        if start and raw.startswith(codecs.BOM_UTF8):  # Arrow would skip it
            raise pa.ArrowInvalid("a byte order mark inside the file")
        if b'"' in raw:
            raise pa.ArrowInvalid("a value in quotes")
        return parse(pa.BufferReader(raw), start == 0)

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        try:
            return list(threads.map(table, segments))
        except pa.ArrowInvalid:
            return None


def joined(tables: list[pa.Table], again: Callable[[list[int]], pa.Table]) -> list[pa.ChunkedArray]:
    """The columns of all segments; ``again`` reads some, by their places, from the whole file."""
    import pyarrow as pa

    columns = [[table.column(k) for table in tables] for k in range(tables[0].num_columns)]
    types = [{part.type for part in column} - {pa.null()} or {pa.null()} for column in columns]
    differ = [k for k, found in enumerate(types) if len(found) > 1]
    reread = dict(zip(differ, again(differ).columns, strict=True)) if differ else {}
    return [reread[k] if k in reread else _one(parts, *types[k]) for k, parts in enumerate(columns)]


def _one(parts: list[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    """The parts in one column; those without any value are of every type."""
    import pyarrow as pa

    typed = (part if part.type == kind else part.cast(kind) for part in parts)
    return pa.chunked_array([chunk for part in typed for chunk in part.chunks], kind)
