"""`everypair explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.formulas import without_formulas
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import number, print_json, print_table, print_text, text_stream

if TYPE_CHECKING:
    import pyarrow as pa

    from everypair.app.explain.column_features import Block
    from everypair.app.explain.weights import Line
    from everypair.app.files.readers import Source
    from everypair.app.model_file.store import SavedModel

MOST_COLUMNS = 20
"""Columns that are printed unless --top says otherwise."""

MOST_FEATURES = 8
"""Features of one column that are printed."""


@guarded
def explain(
    model: opt.ModelFile,
    *,
    rows: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help="Table to explain row by row: how much each column adds to the score of each row "
            "(exact Shapley values of a linear model), as CSV.",
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="Column to name the rows by. Default: the row's number.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="How many columns to print, not with --rows. Default: 20."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            callback=opt.dash,
            help="CSV file to write: all weights, or with --rows the values of each row. - is "
            "standard output, the default with --rows.",
        ),
    ] = None,
    scorecard: Annotated[
        Path | None,
        typer.Option(
            callback=opt.dash,
            help="Points table of an additive model to write: .csv, .json or .html. The points of "
            "a row's values add up to its score.",
        ),
    ] = None,
    escape_formulas: opt.EscapeFormulas = False,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Show what each column of the table does in a model, the most important first."""
    from everypair.app.cli.written import rows_to
    from everypair.app.files.output import check_writable
    from everypair.app.model_file.store import load_model

    if output is not None:
        check_writable(output, model, *([] if rows is None else [rows]))
    if rows is None and id is not None:
        raise ValueError("--id names the rows that are explained: give them with --rows FILE.")
    if rows is not None and top is not None:
        raise ValueError(
            f"--top {top} is for the columns that are printed without --rows: leave out one."
        )
    output = rows_to(output, show.json, "values") if rows is not None else output
    words = None if rows is not None else text_stream(output, show.json)
    saved = load_model(model)
    if scorecard is not None:
        _write_scorecard(saved, model, scorecard)
    if rows is not None:
        _rows(saved, model, reading.of(rows), id, output, escape_formulas, show)
        return
    found = _Explained(saved, model)
    if output is not None:
        found.write(output, escape_formulas)
    if show.json:
        print_json({"model": str(model), **found.as_json()})
        return
    found.print(MOST_COLUMNS if top is None else top, show, words)


class _Explained:
    """The columns of a model, and what is known of them."""

    def __init__(self, saved: SavedModel, path: Path) -> None:
        import numpy as np

        from everypair.app.explain.column_features import blocks_of
        from everypair.app.explain.curves import curve_lines, has_curves
        from everypair.app.explain.surfaces import surfaces_of
        from everypair.app.explain.weights import lines_of
        from everypair.app.files.problems import DataError

        self.saved, self.names = saved, saved.features()
        coef = getattr(saved.estimator, "coef_", None)
        evidence = saved.evidence
        self.worth = {} if evidence is None else evidence.worth
        if coef is None and not self.worth and not has_curves(saved.estimator):
            raise DataError(
                f"a model of {saved.method} has no feature weights, and the model file holds "
                "nothing else about its columns: fit it without --no-held-out, or fit a linear "
                "model, such as --method auc.",
                path,
            )
        self.coef = None if coef is None else np.ravel(coef)
        self.curves = has_curves(saved.estimator)
        self.surfaces = (
            sorted(
                surfaces_of(saved.estimator, saved.encoder, self.names),
                key=lambda surface: -surface.spread,
            )
            if self.curves
            else []
        )
        same = [] if evidence is None else evidence.alike
        self.blocks = {block.name: block for block in blocks_of(saved.encoder)}
        self.lines: dict[str, list[Line]] = {name: [] for name in self.blocks}
        for name, block in self.blocks.items():
            if self.coef is not None:
                self.lines[name] = lines_of(block, self.names, self.coef, same)
            elif self.curves:
                self.lines[name] = curve_lines(block, self.names, saved.estimator, saved.encoder)

    def order(self) -> list[str]:
        """By the AUC lost; columns for which that is not known by their largest weight."""

        def size(name: str) -> float:
            return max((abs(line.weight or 0.0) for line in self.lines[name]), default=0.0)

        known = sorted(self.worth, key=lambda name: -self.worth[name][1])
        others = sorted((n for n in self.blocks if n not in self.worth), key=lambda n: -size(n))
        return [name for name in known if name in self.blocks] + others

    def write(self, path: Path, escape_formulas: bool) -> None:
        import numpy as np
        import pyarrow as pa
        from pyarrow import csv

        from everypair.app.files.output import written_whole

        blank = [None, None, None, ""]
        if self.curves:
            shown = [
                (name, line.name, line.weight) for name in self.order() for line in self.lines[name]
            ]
            shown += [
                (surface.name, label, float(points))
                for surface in self.surfaces
                for label, points in zip(surface.labels, surface.points, strict=True)
            ]
            of_curves = pa.table(
                dict(zip(("column", "values", "adds"), zip(*shown, strict=True), strict=True))
            )
            with written_whole(path) as file:
                csv.write_csv(without_formulas(of_curves) if escape_formulas else of_curves, file)
            return
        places = [
            (name, k)
            for name in self.order()
            for k in sorted(
                self.blocks[name].features.tolist(),
                key=lambda k: 0 if self.coef is None else -abs(self.coef[k]),
            )
        ]
        columns: dict[str, Any] = {
            "column": [name for name, _ in places],
            "feature": [self.names[k] for _, k in places],
        }
        if self.coef is not None:
            columns["weight"] = self.coef[np.array([k for _, k in places], dtype=np.intp)]
        for place, header in enumerate(("auc_alone", "auc_lost", "auc_lost_spread", "score_goes")):
            columns[header] = [self.worth.get(name, blank)[place] for name, _ in places]
        table = pa.table(columns)
        with written_whole(path) as file:
            csv.write_csv(without_formulas(table) if escape_formulas else table, file)

    def as_json(self) -> dict[str, Any]:
        import numpy as np

        saved, coef = self.saved, self.coef
        order: Any = [] if coef is None else np.argsort(-np.abs(coef), kind="stable")
        columns = []
        for name in self.order():
            alone, lost, spread, goes = self.worth.get(name, [None, None, None, None])
            columns.append(
                {
                    "name": name, "kind": self.blocks[name].kind, "auc_alone": alone,
                    "auc_lost": lost, "auc_lost_spread": spread, "score_goes": goes,
                    "features": {line.name: line.weight for line in self.lines[name]},
                }
            )  # fmt: skip
        return {
            "method": saved.method,
            "settings": saved.settings,
            "target": saved.target,
            "positive": saved.positive,
            "n_rows": saved.n_rows,
            "train_auc": saved.train_auc,
            "created": saved.created,
            "versions": saved.versions,
            "notes": saved.notes,
            "n_features": len(self.names),
            "n_used": None if coef is None else int(np.count_nonzero(coef)),
            "weights": None
            if coef is None
            else {self.names[k]: float(coef[k]) for k in order if coef[k] != 0},
            "columns": columns,
            "pairs": [{"name": s.name, "spread": s.spread} for s in self.surfaces],
        }

    def print(self, top: int, show: opt.Show, words: TextIO | None) -> None:
        import numpy as np

        saved = self.saved
        speaks = f"above zero speaks for {saved.target} = {saved.positive}"
        if self.coef is not None:
            used = int(np.count_nonzero(self.coef))
            what = f"{used} of {len(self.names)} features have a weight; a weight {speaks}"
        elif self.curves:
            what = f"what each range of values adds to the score; a value {speaks}"
        else:
            what = f"a model of {saved.method} has no weights"
        print_text(f"{saved.method} on {saved.source}: {saved.n_rows} rows; {what}", file=words)
        order = self.order()
        header = ["column", "AUC alone", "AUC lost", "score goes"]
        header += ["weight", ""] if self.coef is not None else ["adds", ""] if self.curves else []
        table: list[list[str]] = []
        bold = []
        for name in order[:top]:
            bold.append(len(table))
            table += self._column(name, len(header))
        left = (0, 3, 5)
        print_table(header, table, left=left, bold=bold, file=words)
        if self.surfaces:
            listed = ", ".join(f"{s.name} ({s.spread:.2f})" for s in self.surfaces[:MOST_FEATURES])
            more = len(self.surfaces) - MOST_FEATURES
            print_text(
                f"pairs of columns, with the standard deviation of what they add: {listed}"
                f"{f', and {more} more' if more > 0 else ''}",
                file=words,
            )
        if self.worth:
            show.note(
                "AUC alone: the AUC of the column by itself. AUC lost: what the model loses "
                "when the column is permuted, as the mean of 5 permutations on rows held out of "
                "3 folds, with its standard deviation. Columns that carry the same information "
                "share their worth."
            )
        else:
            show.note("what columns are worth is not known: fit without --no-held-out.")
        if len(order) > top:
            show.note(f"{len(order) - top} more; --top or -o show them.")

    def _column(self, name: str, width: int) -> Iterator[list[str]]:
        """A line for the column, and one for each feature unless it is the column itself."""
        alone, lost, spread, goes = self.worth.get(name, [None, None, None, ""])
        first = [name, number(alone), _with_spread(lost, spread), str(goes)]
        lines = [line for line in self.lines[name] if line.weight != 0 or self.curves]
        longest = max(
            (abs(line.weight or 0) for of in self.lines.values() for line in of), default=1
        )
        single = len(self.lines[name]) == 1 or len(self.blocks[name].features) == 1
        single = single and not (self.curves and len(lines) > 1)
        if width > 4:
            of_column = lines[0] if single and lines else None
            first += _weight(of_column, longest)
        yield first
        most = 2 * MOST_FEATURES if self.curves else MOST_FEATURES
        for line in [] if single else lines[:most]:
            yield [f"   {line.name}", "", "", "", *_weight(line, longest)]
        if len(lines) > most and not single:
            yield [f"   and {len(lines) - most} more", *[""] * (width - 1)]


def _write_scorecard(saved: SavedModel, model: Path, path: Path) -> None:
    from everypair.app.explain.curves import has_curves
    from everypair.app.explain.points import scorecard_of
    from everypair.app.files.output import check_writable
    from everypair.app.files.problems import DataError

    if not has_curves(saved.estimator) or not hasattr(saved.encoder, "numbers_"):
        raise DataError(
            f"--scorecard needs an additive model, but this is one of {saved.method}: fit it with "
            "--method additive.",
            model,
        )
    check_writable(path, model)
    scorecard_of(saved.estimator, saved.encoder, saved.features(), saved.cut).write(path)


def _with_spread(lost: float | None, spread: float | None) -> str:
    return "" if lost is None else f"{number(lost, '+.3f')} ± {number(spread)}"


def _weight(line: Line | None, longest: float) -> list[str]:
    if line is None or line.weight is None:
        return ["", ""]
    return [number(line.weight, "+.4g"), _bar(line.weight / (longest or 1.0))]


def _bar(share: float, width: int = 20) -> str:
    return ("+" if share > 0 else "-") * max(1, round(abs(share) * width))


def _rows(
    saved: SavedModel,
    path: Path,
    source: Source,
    id: str | None,
    output: Path | None,
    escape_formulas: bool,
    show: opt.Show,
) -> None:
    """A table of Shapley values: each row's score, the mean score, and what each column adds."""
    import numpy as np

    from everypair.app.cli.written import rows_out, write_rows
    from everypair.app.explain.column_features import blocks_of
    from everypair.app.files.problems import DataError

    coef = getattr(saved.estimator, "coef_", None)
    if coef is None:
        raise DataError(
            f"--rows needs a linear model, whose Shapley values are exact sums; a model of "
            f"{saved.method} is not linear. Without --rows, explain prints what its columns are "
            "worth.",
            path,
        )
    if saved.evidence is None:
        raise DataError(
            "the file lacks the means of the training rows: fit without --no-held-out.", path
        )
    blocks = blocks_of(saved.encoder)
    coef = np.ravel(coef)
    used = [block for block in blocks if np.any(coef[block.features])]
    n_rows = 0

    def tables() -> Iterator[pa.Table]:
        nonlocal n_rows
        for table in _shapley_pieces(saved, source, id, coef, used):
            n_rows += table.num_rows
            yield without_formulas(table) if escape_formulas else table

    with naming(source.path), rows_out(output) as file:
        write_rows(tables(), file, output)
    if show.json:
        print_json({"model": str(path), "output": str(output), "rows": n_rows,
                    "columns": [block.name for block in used]})  # fmt: skip


def _shapley_pieces(
    saved: SavedModel, source: Source, id: str | None, coef: Any, blocks: Sequence[Block]
) -> Iterator[pa.Table]:
    import numpy as np
    import pyarrow as pa

    from everypair.app.cli.score import score_header
    from everypair.app.explain.shapley import shapley_values
    from everypair.app.files.pieces import kept
    from everypair.app.files.problems import DataError
    from everypair.app.files.readers import SparseTable, read_chunks

    assert saved.evidence is not None
    if id is not None and saved.kinds is None:
        raise DataError("svmlight has no named columns: leave out --id.", source.path)
    first = 1
    for piece in read_chunks(source, saved.kinds, {} if id is None else {id: "text"}, saved.forms):
        X = saved.encoder.transform(piece.X if isinstance(piece, SparseTable) else piece)
        values = shapley_values(coef, saved.evidence.means, X, blocks)
        scores = saved.score(piece.X if isinstance(piece, SparseTable) else piece)
        names: Any = np.arange(first, first + scores.size) if id is None else kept(piece, id)
        first += scores.size
        headers = [id or "row", score_header(saved), "mean score"]
        headers += [f"{b.name} (adds)" if b.name in headers else b.name for b in blocks]
        columns = [names, scores, scores - values.sum(axis=1)]
        yield pa.Table.from_arrays(
            [c if isinstance(c, pa.ChunkedArray) else pa.array(c) for c in (*columns, *values.T)],
            names=headers,
        )
    if first == 1:
        raise DataError("there is a header but no row of data.", source.path)
