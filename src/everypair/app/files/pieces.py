"""A piece of a file as the model reads it, with the columns that are kept beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from everypair.app.files.kinds import READ, Misread, as_kind
from everypair.app.files.problems import DataError

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_PREFIX = "kept\0"


def kept(piece: pa.Table, name: str) -> pa.ChunkedArray:
    """A column that was to be kept, not as the model reads it."""
    return piece.column(KEPT_PREFIX + name if KEPT_PREFIX + name in piece.column_names else name)


def piece_as(
    piece: pa.Table,
    kinds: Mapping[str, str],
    keep: Mapping[str, str],
    forms: Mapping[str, Sequence[str]],
    comma: bool,
    path: Path,
    rows_before: int,
    tidy: bool = True,
) -> pa.Table:
    """The columns that are wanted, each as its kind; errors name the row of the file.

    A column that is kept and learnt from is there twice: `kept` finds the other.
    """
    import pyarrow as pa

    columns = {}
    wanted = [*keep.items(), *kinds.items()]
    for place, (name, kind) in enumerate(wanted):
        learnt = place >= len(keep)
        when = ", as it was in training" if learnt else ""
        try:
            columns[name if learnt or name not in kinds else KEPT_PREFIX + name] = as_kind(
                piece.column(name), kind, forms.get(name, ("",)), comma, tidy=tidy
            )
        except Misread as trouble:
            row = rows_before + trouble.at + 1
            raise DataError(f"{trouble}{when}.", path, row, name) from None
        except DataError as trouble:
            raise DataError(trouble.problem, path, column=name) from None
    return pa.table(columns).replace_schema_metadata(READ)
