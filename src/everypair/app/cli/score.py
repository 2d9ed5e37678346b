"""`everypair score`: a piece of the file at a time, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.formulas import without_formulas
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import print_json
from everypair.app.wording import counted

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
        Path | None,
        typer.Option(
            "--output", "-o", callback=opt.dash, help="CSV to write. Default: standard output."
        ),
    ] = None,
    top: Annotated[
        str | None,
        typer.Option(
            help="Only the rows of the highest scores, best first: a count (500) or a share of the "
            "rows (5%)."
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Column of groups (user, query, day): write the --top rows of each."),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="Column to name the rows by. Default: the row's number.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column of the table to copy. May be given several times."),
    ] = None,
    threshold: opt.Threshold = None,
    guarantee: opt.Guarantee = None,
    escape_formulas: opt.EscapeFormulas = False,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Score the rows of a table: the higher, the more likely positive."""
    from everypair.app.cli.written import rows_out, rows_to, write_rows
    from everypair.app.comparison.rule import rule_of, top_of
    from everypair.app.files.output import check_writable
    from everypair.app.model_file.store import load_model

    count = None if top is None else top_of(top)
    rule = rule_of(threshold, guarantee)
    if within is not None and not isinstance(count, int):
        raise ValueError(
            "--within takes the top rows of each group: say how many with --top, such as --top 5."
        )
    if output is not None:
        check_writable(output, model, data)
    output = rows_to(output, show.json, "scores")
    saved = load_model(model)
    with naming(model):
        cut = None if rule is None else rule.on_held_out(saved)
    source = reading.of(data)
    tally: dict[str, Any] = {"rows": 0, "positive": 0, "written": 0, "unseen": {}, "empty": {}}
    with naming(data), rows_out(output) as file:
        pieces = _scored(
            saved, source, id, _copied(within, keep), 0.0 if cut is None else cut.threshold, tally
        )
        if count is not None:
            pieces = iter([_highest(pieces, count, score_header(saved), within)])
        pieces = _counted(pieces, tally)
        write_rows(map(without_formulas, pieces) if escape_formulas else pieces, file, output)
    empty = [column for column, gaps in tally["empty"].items() if gaps == tally["rows"]]
    if cut is not None:
        show.note(cut.sentence())
    for column in empty:
        show.note(f"column {column!r} has no value in any row: the model treats it as missing.")
    for column, strange in tally["unseen"].items():
        show.note(
            f"column {column!r} has a value in {counted(strange, 'row')} that did not occur in "
            "training: it counts as none of the known values."
        )
    summary = {
        "model": str(model),
        "output": None if output is None else str(output),
        "rows": tally["rows"],
        "written": tally["written"],
        "predicted_positive": tally["positive"],
        "positive": saved.positive,
        "threshold": None if cut is None else cut.as_json(),
        "unseen": tally["unseen"],
        "empty": empty,
    }
    if show.json:
        print_json(summary)
    elif output is not None:
        what = "" if top is None else f"the {counted(tally['written'], 'row')} of the top {top} "
        show.say(
            f"{counted(tally['rows'], 'row')} scored, {tally['positive']} of them predicted "
            f"{saved.positive}; {what}written to {output}"
        )


def score_header(saved: SavedModel) -> str:
    """What a high score speaks for: ``score: churn=yes``."""
    return f"score: {saved.target}={saved.positive}"


def kept_columns(
    saved: SavedModel, path: Path, id: str | None, keep: Sequence[str], ours: Sequence[str]
) -> dict[str, str]:
    """Columns of the table that are copied, as text; none may have a name of ``ours``."""
    from everypair.app.files.problems import DataError

    wanted = list(dict.fromkeys([*([] if id is None else [id]), *keep]))
    if wanted and saved.kinds is None:
        raise DataError("svmlight has no named columns: leave out --id and --keep.", path)
    for name in wanted:
        if name in ours:
            raise DataError(
                "the scores have a column of this name already: rename it in the file.",
                path,
                column=name,
            )
    return dict.fromkeys(wanted, "text")


def _scored(
    saved: SavedModel,
    source: Source,
    id: str | None,
    keep: Sequence[str],
    cut: float,
    tally: dict[str, Any],
) -> Iterator[pa.Table]:
    """Pieces of (row or id, columns kept, score, probability, predicted)."""
    import numpy as np
    import pyarrow as pa

    from everypair.app.files.pieces import kept
    from everypair.app.files.problems import DataError
    from everypair.app.files.readers import SparseTable, read_chunks

    labels = pa.array([saved.negative, saved.positive])
    header = score_header(saved)
    ours = [header, "probability", "predicted", *(["row"] if id is None else [])]
    copied = kept_columns(saved, source.path, id, keep, ours)
    for piece in read_chunks(source, saved.kinds, copied, saved.forms):
        X = piece.X if isinstance(piece, SparseTable) else piece
        scores = saved.score(X)
        above = scores > cut
        first = tally["rows"] + 1
        tally["rows"] += scores.size
        tally["positive"] += int(np.count_nonzero(above))
        if saved.kinds is not None:
            _count_strange(saved, piece, tally)
        columns: dict[str, Any] = (
            {"row": np.arange(first, first + scores.size)} if id is None else {}
        )
        columns |= {name: kept(piece, name) for name in copied}
        columns[header] = scores
        if saved.has_probabilities:
            columns["probability"] = saved.probability(X, scores)
        columns["predicted"] = labels.take(pa.array(above.astype(np.int8)))
        yield pa.table(columns)
    if tally["rows"] == 0:
        raise DataError("there is a header but no row of data.", source.path)


def _count_strange(saved: SavedModel, piece: Any, tally: Mapping[str, Any]) -> None:
    for column in saved.kinds or ():
        gaps = tally["empty"].get(column, 0) + piece.column(column).null_count
        tally["empty"][column] = gaps
    for column, count in saved.encoder.unseen(piece).items():
        tally["unseen"][column] = tally["unseen"].get(column, 0) + count


def _counted(pieces: Iterator[pa.Table], tally: dict[str, Any]) -> Iterator[pa.Table]:
    for piece in pieces:
        tally["written"] += piece.num_rows
        yield piece


def _copied(within: str | None, keep: Sequence[str] | None) -> list[str]:
    return [*([] if within is None else [within]), *(keep or [])]


def _highest(
    pieces: Iterator[pa.Table], top: int | float, header: str, within: str | None = None
) -> pa.Table:
    """The rows of the highest scores, best first; of equal ones the earlier first.

    A share of the rows is known at the end: until then all are kept. ``within`` groups: of each
    group, the groups in the order of their labels.
    """
    import numpy as np
    import pyarrow as pa

    from everypair.metrics.at_k import rows_at_k

    best: pa.Table | None = None
    waiting: list[pa.Table] = []
    for piece in pieces:
        waiting.append(piece)
        if isinstance(top, int):
            best = _first(pa.concat_tables(waiting), top, header, within, np)
            waiting = [best]
    whole = pa.concat_tables(waiting)
    n_rows = top if isinstance(top, int) else rows_at_k(top, whole.num_rows, 0)
    return _first(whole, n_rows, header, within, np)


def _first(table: pa.Table, n_rows: int, header: str, within: str | None, np: Any) -> pa.Table:
    order = np.argsort(-table.column(header).to_numpy(), kind="stable")
    if within is None:
        return table.take(order[:n_rows])
    labels = [(label is None, str(label)) for label in table.column(within).to_pylist()]
    places = {label: k for k, label in enumerate(sorted(set(labels)))}
    codes = np.array([places[label] for label in labels])[order]
    by_group = np.argsort(codes, kind="stable")
    codes = codes[by_group]
    rank = np.arange(codes.size) - np.searchsorted(codes, codes)
    return table.take(order[by_group][rank < n_rows])
