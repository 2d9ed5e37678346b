"""`everypair fit`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import interval, print_json, print_text, progress, text_stream

if TYPE_CHECKING:
    from everypair.app import Check
    from everypair.app.cli.inputs import Labelled
    from everypair.app.comparison.budget import Budget
    from everypair.app.comparison.choose import Choice
    from everypair.app.comparison.measure import Measure
    from everypair.app.comparison.models import Candidate
    from everypair.app.comparison.own_cut import OwnCut
    from everypair.app.comparison.refits import Refits
    from everypair.app.comparison.rule import ChosenCut
    from everypair.app.comparison.search import Fitted
    from everypair.app.model_file.store import SavedModel

CHECKED_ROWS = 100
"""Training rows that the saved model must score as the fitted one does."""


@guarded
def fit(
    context: typer.Context,
    data: opt.Data,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", callback=opt.dash, help="Model file to write (.everypair)."),
    ],
    columns: opt.Columns,
    method: Annotated[
        str,
        typer.Option(
            help="A model of `compare`, such as auc, auc-l1, roc-svm or boosting. auto: the "
            "simplest of them within one standard error of the best over three folds, by AUC or "
            "by --measure."
        ),
    ] = "auto",
    measure: Annotated[
        str,
        typer.Option(
            help=f"What the model is for: auc, or a measure {opt.MEASURES} The model's threshold "
            "is the one that is best for it on held-out rows."
        ),
    ] = "auc",
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Comparison in JSON (`compare --report report.json`): its recommended model, or "
            "the one that --method names, with its options and settings.",
        ),
    ] = None,
    threshold: opt.Threshold = None,
    guarantee: opt.Guarantee = None,
    prior: Annotated[
        float | None,
        typer.Option(
            help="Share of positives among the rows to be scored, if it is not that of this table "
            "(0.003 where positives were oversampled): probabilities are corrected for it."
        ),
    ] = None,
    fast: opt.Fast = False,
    budget: opt.Budget = None,
    held_out: Annotated[
        bool,
        typer.Option(
            "--held-out/--no-held-out",
            help="Fit three folds as well. Probabilities, thresholds and what each column is worth "
            "come from rows that they held out.",
        ),
    ] = True,
    seed: opt.Seed = 0,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Train a model on a table and write it to a file."""
    import pyarrow.compute
    import pyarrow.csv  # noqa: F401

    from everypair.app.cli.handover import read_handover
    from everypair.app.cli.held_out import Wanted
    from everypair.app.cli.inputs import load_labelled
    from everypair.app.comparison.budget import Budget
    from everypair.app.comparison.measure import measure_of
    from everypair.app.comparison.models import catalogue
    from everypair.app.comparison.rule import rule_of
    from everypair.app.comparison.summary import column_names
    from everypair.app.encode import unused
    from everypair.app.files.output import check_writable
    from everypair.app.model_file.store import save_model
    from everypair.rows import Rows

    bounds, by = Budget(budget), measure_of(measure)
    _check_options(method, by, fast, from_, budget)
    wanted = Wanted(rule_of(threshold, guarantee), prior, held_out)
    check_writable(output, data, *([] if from_ is None else [from_]))
    words = text_stream(output, show.json)
    told = None if from_ is None else read_handover(from_, _typed(context), method)
    if told is not None:
        columns, reading, seed, by = told.columns, told.reading, told.seed, told.by
    wanted.check(by, columns.within)
    clock = [time.perf_counter()]
    rows = load_labelled(reading.of(data), columns, show)
    if told is not None:
        told.check_fits(rows.y.size, int(rows.y.sum()), column_names(rows.X))
    clock.append(time.perf_counter())
    with naming(data):
        encoder, X, some = _encoded(rows)
    rows.X = None  # the matrix is all that is needed from here on
    said, n_notes = unused(encoder), len(rows.notes)
    show.notes(said)
    clock.append(time.perf_counter())
    with naming(data):
        by = None if by is None else by.as_share(Rows.of(rows.y, rows.weight))
        plan = (
            _plan(method, by, fast, bounds, X, rows, seed, show)
            if told is None
            else _Plan(catalogue(by)[told.method], told.settings)
        )
        fitted = plan.fit(X, rows, seed)
        clock.append(time.perf_counter())
        refits = wanted.refits(plan.candidate, fitted, X, rows, by, seed)
        cut = None if by is None or refits is None else plan.cut(by, refits, rows, seed)
        rows.notes += [*said, *plan.remarks(fitted)]
        model = _saved(rows, encoder, X, plan, fitted, opt.name_of(data), by, cut)
        model, chosen = wanted.onto(model, refits, X, rows, seed)
    clock.append(time.perf_counter())
    show.notes([note for note in rows.notes[n_notes:] if note not in said])
    save_model(model, output, some)
    spent = [after - before for before, after in pairwise(clock)]
    _say_what_was_done(
        model, plan, refits, cut, chosen, rows.check, output, int(X.shape[1]), spent, show, words
    )


def _encoded(rows: Labelled) -> tuple[Any, Any, Any]:
    """The encoder, the matrix, and some rows of the table to score once the model is saved."""
    import numpy as np

    from everypair.app.encode import encoder_for, take_rows

    used = rows.check.used(rows.X)
    encoder = encoder_for(used).fit(used)
    some = take_rows(used, np.arange(min(len(rows.y), CHECKED_ROWS)))
    return encoder, encoder.transform(used), some


def _typed(context: typer.Context) -> dict[str, Any]:
    """The options that are on the command line, whether or not they say what goes without them."""
    from everypair.app.comparison.measure import canonical

    typed = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    }
    return typed | ({"measure": canonical(typed["measure"])} if "measure" in typed else {})


def _check_options(
    method: str, by: Measure | None, fast: bool, from_: Path | None, budget: float | None
) -> None:
    from everypair.app.comparison.models import MEASURE_OPT, NEEDS_MEASURE, catalogue

    known = catalogue(by)
    if method == MEASURE_OPT and by is None and from_ is None:
        raise ValueError(NEEDS_MEASURE)
    if method not in ("auto", MEASURE_OPT, *known):
        raise ValueError(f"there is no method {method!r}: use auto, {', '.join(known)}.")
    if fast and method != "auto":
        raise ValueError(f"--fast chooses among few methods, and --method {method} names one.")
    if from_ is not None and (fast or budget is not None):
        raise ValueError("--from brings a choice that was made: leave out --fast and --budget.")


@dataclass(frozen=True)
class _Plan:
    """What to fit, and how that was chosen."""

    candidate: Candidate
    settings: dict[str, Any] | None = None  # None: to be searched
    choice: Choice | None = None
    notes: Sequence[str] = ()

    def fit(self, X: Any, rows: Labelled, seed: int) -> Fitted:
        from everypair.app.comparison.search import fit_candidate

        return fit_candidate(
            self.candidate, X, rows.y, rows.weight, rows.check.groups, seed, self.settings,
            rows.within,
        )  # fmt: skip

    def remarks(self, fitted: Fitted) -> list[str]:
        out = [*self.notes, *(f"{self.candidate.name} {remark}." for remark in fitted.remarks)]
        if getattr(fitted.model, "chose_start_", False):
            out.append("measure-opt is a logistic regression here: no climb was surely better.")
        return out

    def cut(self, measure: Measure, refits: Refits, rows: Labelled, seed: int) -> OwnCut:
        from everypair.app.comparison.own_cut import own_cut

        return own_cut(measure, refits, rows.y, rows.weight, rows.check.groups, seed)


def _plan(
    method: str,
    by: Measure | None,
    fast: bool,
    budget: Budget,
    X: Any,
    rows: Labelled,
    seed: int,
    show: opt.Show,
) -> _Plan:
    from everypair.app.comparison.choose import choose
    from everypair.app.comparison.models import catalogue, fast_models
    from everypair.app.comparison.yardstick import AREA, ByMeasure

    known = catalogue(by)
    if method != "auto" and budget.seconds is None:
        return _Plan(known[method])
    names = (method,) if method != "auto" else fast_models(by) if fast else known
    candidates = [known[name] for name in names]
    yardstick = AREA if by is None else ByMeasure(by)
    with progress(None, show.silent) as advance:
        choice = choose(
            candidates, X, rows.y, rows.weight, rows.check.groups, seed, budget, advance,
            rows.within, yardstick,
        )  # fmt: skip
    return _Plan(choice.candidate, choice.settings, choice, choice.sentences(budget))


def _saved(
    rows: Labelled,
    encoder: Any,
    X: Any,
    plan: _Plan,
    fitted: Fitted,
    source: str,
    by: Measure | None,
    cut: OwnCut | None,
) -> SavedModel:
    from everypair.app.comparison.run import versions
    from everypair.app.model_file.store import SavedModel
    from everypair.metrics import auc_score

    return SavedModel(
        encoder=encoder,
        estimator=fitted.model,
        method=plan.candidate.name,
        settings=fitted.settings,
        target=rows.target,
        positive=rows.positive,
        negative=rows.negative,
        n_rows=int(rows.y.size),
        n_positive=int(rows.y.sum()),
        train_auc=float(
            auc_score(rows.y, fitted.scores(X), sample_weight=rows.weight, within=rows.within)
        ),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        notes=rows.sentences(),
        measure="" if by is None else by.typed,
        cut=0.0 if cut is None else cut.cut,
    )


def _say_what_was_done(
    model: SavedModel,
    plan: _Plan,
    refits: Refits | None,
    cut: OwnCut | None,
    chosen: ChosenCut | None,
    check: Check,
    output: Path,
    n_features: int,
    spent: Sequence[float],
    show: opt.Show,
    words: TextIO | None,
) -> None:
    from everypair.app.wording import counted

    auc, low, high = (
        (None,) * 3 if refits is None else (refits.area.auc, *refits.area.interval(0.95))
    )
    if show.json:
        print_json(
            {
                "model": str(output),
                "method": model.method,
                "settings": model.settings,
                "target": model.target,
                "positive": model.positive,
                "n_rows": model.n_rows,
                "n_positive": model.n_positive,
                "n_features": n_features,
                "train_auc": model.train_auc,
                "auc": auc,
                "low": low,
                "high": high,
                "measure": model.measure or "auc",
                "value": None if cut is None else cut.value,
                "value_low": None if cut is None else cut.low,
                "value_high": None if cut is None else cut.high,
                "threshold": None if chosen is None else chosen.as_json(),
                "fold_auc": _fold_values(plan, of_area=True),
                "fold_values": _fold_values(plan, of_area=False),
                "not_run": [] if plan.choice is None else plan.choice.not_run,
                "seconds": dict(zip(("read", "encode", "fit", "held_out"), spent, strict=True)),
                "findings": [asdict(finding) for finding in check.findings],
                "notes": model.notes,
            }
        )
    elif not show.quiet:
        settings = ", ".join(f"{k} = {v:g}" for k, v in model.settings.items())
        print_text(
            f"{model.method}{f' ({settings})' if settings else ''}: "
            f"{counted(model.n_rows, 'row')}, {model.n_positive} positive, "
            f"{counted(n_features, 'feature')}\n{_areas(model, auc, low, high)}"
            f"{_held_out(model, cut)}{'' if chosen is None else f'{chr(10)}{chosen.sentence()}'}\n"
            f"read {spent[0]:.1f} s, encoded {spent[1]:.1f} s, fitted {spent[2]:.1f} s, held-out "
            f"rows {spent[3]:.1f} s; written to {output}",
            file=words,
        )


def _fold_values(plan: _Plan, of_area: bool) -> dict[str, Any] | None:
    """By model, one for each fold of the race, if it went by AUC or by a measure."""
    from everypair.app.comparison.yardstick import AREA

    if plan.choice is None or (plan.choice.by is AREA) != of_area:
        return None
    sign = plan.choice.by.sign
    return {name: sign * values for name, values in plan.choice.fold_values.items()}


def _areas(model: SavedModel, auc: float | None, low: Any, high: Any) -> str:
    trained = f"AUC {model.train_auc:.3f} on the training rows"
    if auc is None:
        return trained
    known = interval(low, high)
    sure = f" (95% interval {known})" if known else ""
    return f"AUC {auc:.3f} on held-out rows{sure}, {model.train_auc:.3f} on the training rows"


def _held_out(model: SavedModel, cut: OwnCut | None) -> str:
    if cut is None:
        return ""
    known = interval(cut.low, cut.high)
    return (
        f"\n{model.measure} {cut.value:.3f} on held-out rows"
        f"{f', 95% interval {known}' if known else ''}"
    )
