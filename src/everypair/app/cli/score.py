"""`everypair score`: a piece of the file at a time, in constant memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.formulas import without_formulas
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import print_json
from everypair.app.wording import counted, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from everypair.app.files.readers import Source
    from everypair.app.model_file.store import SavedModel


@guarded
def score(
    model: opt.ModelFile,
    data: opt.Data,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV to write. Default: standard output.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only the rows of the highest scores, best first.")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Column of groups (user, query, day): --top rows of each group."),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="Column to name the rows by. Default: the row's number.")
    ] = None,
    escape_formulas: opt.EscapeFormulas = False,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Score the rows of a table: the higher, the more likely positive."""
    from everypair.app.files.output import check_writable, is_standard_output
    from everypair.app.model_file.store import load_model

    if output is not None:
        check_writable(output, model, data)
        output = None if is_standard_output(output) else output
    if show.json and output is None:
        raise ValueError("--json prints a summary: say where the scores go with -o FILE.")
    closed = getattr(sys.stdout, "name", "") == os.devnull  # `everypair.__main__` put it there
    if output is None and closed:
        raise ValueError("standard output is closed: say where the scores go with -o FILE.")
    if within is not None and top is None:
        raise ValueError("--within names groups for --top: say how many rows of each, --top 5.")
    saved = load_model(model)
    source = reading.of(data)
    tally: dict[str, Any] = {"rows": 0, "positive": 0, "unseen": {}, "empty": {}}
    with naming(data), _output(output) as file:
        pieces = _scored(saved, source, id, within, tally)
        if top is not None:
            best = _highest(pieces, top, within)
            tally["written"], pieces = best.num_rows, iter([best])
        if escape_formulas:
            pieces = map(without_formulas, pieces)
        _write(pieces, file, to_terminal=output is None and sys.stdout.isatty())
    empty = [column for column, count in tally["empty"].items() if count == tally["rows"]]
    for column in empty:
        show.note(f"column {column!r} has no value in any row: the model takes it for missing.")
    for column, count in tally["unseen"].items():
        show.note(
            f"column {column!r} has a value not seen in training in {counted(count, 'row')}, taken "
            "for none of the known ones."
        )
    summary = {
        "model": str(model),
        "output": None if output is None else str(output),
        "rows": tally["rows"],
        "written": tally.get("written", tally["rows"]),
        "predicted_positive": tally["positive"],
        "positive": saved.positive,
        "unseen": tally["unseen"],
        "empty": empty,
    }
    if show.json:
        print_json(summary)
    elif output is not None:
        show.say(
            f"{counted(tally['rows'], 'row')} scored, {tally['positive']} of them predicted "
            f"{saved.positive}; written to {output}"
        )


def score_header(saved: SavedModel) -> str:
    """What a high score speaks for: ``score: churn=yes``."""
    return f"score: {saved.target}={saved.positive}"


def _scored(
    saved: SavedModel, source: Source, id: str | None, within: str | None, tally: dict[str, Any]
) -> Iterator[pa.Table]:
    """Pieces of (group, row or id, score, predicted); the header says of which class it is."""
    import numpy as np
    import pyarrow as pa

    from everypair.app.files.pieces import kept
    from everypair.app.files.problems import DataError
    from everypair.app.files.readers import SparseTable, read_chunks

    if (id is not None or within is not None) and saved.kinds is None:
        raise DataError("svmlight has no named columns: leave out --id and --within.", source.path)
    labels = pa.array([saved.negative, saved.positive])
    header = score_header(saved)
    for name in (id, within):
        if name in (header, "predicted") or (name == "row" and id is None):
            raise DataError(
                "the scores have a column of this name already: rename it in the file.",
                source.path,
                column=name,
            )
    keep = {name: "text" for name in (id, within) if name is not None}
    for piece in read_chunks(source, saved.kinds, keep, saved.forms):
        X = piece.X if isinstance(piece, SparseTable) else piece
        scores = saved.score(X)
        above = scores > 0
        first = tally["rows"] + 1
        names = np.arange(first, first + scores.size) if id is None else kept(piece, id)
        tally["rows"] += scores.size
        tally["positive"] += int(np.count_nonzero(above))
        if saved.kinds is not None:
            for column in saved.kinds:
                gaps = tally["empty"].get(column, 0) + piece.column(column).null_count
                tally["empty"][column] = gaps
            for column, count in saved.encoder.unseen(piece).items():
                tally["unseen"][column] = tally["unseen"].get(column, 0) + count
        predicted = labels.take(pa.array(above.astype(np.int8)))
        columns = {id or "row": names, header: scores, "predicted": predicted}
        if within is not None:
            columns = {within: kept(piece, within), **columns}
        yield pa.table(columns)
    if tally["rows"] == 0:
        raise DataError("there is a header but no row of data.", source.path)


def _highest(pieces: Iterator[pa.Table], top: int, within: str | None) -> pa.Table:
    """The rows of the highest scores, best first; of equal ones the earlier first.

    ``within`` groups: of each group, the groups in the order of their labels.
    """
    import numpy as np
    import pyarrow as pa

    best: pa.Table | None = None
    for piece in pieces:
        both = piece if best is None else pa.concat_tables([best, piece])
        order = np.argsort(-both.column(both.num_columns - 2).to_numpy(), kind="stable")
        if within is None:
            order = order[:top]
        else:
            labels = both.column(0).to_pylist()
            keys = [(label is None, "" if label is None else str(label)) for label in labels]
            places = {key: k for k, key in enumerate(sorted(set(keys)))}
            codes = np.array([places[key] for key in keys])[order]
            by_group = np.argsort(codes, kind="stable")
            codes = codes[by_group]
            begins = np.searchsorted(codes, codes)
            order = order[by_group][np.arange(codes.size) - begins < top]
        best = both.take(order)
    assert best is not None
    return best


@contextmanager
def _output(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from everypair.app.files.output import written_whole

    with written_whole(path) as file:
        yield file


def _write(pieces: Iterator[pa.Table], file: Any, to_terminal: bool) -> None:
    import csv
    import io

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
