"""`everypair fit`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.guard import guarded
from everypair.app.cli.show import interval, print_json, print_text, text_stream

if TYPE_CHECKING:
    from everypair.app.cli.fit_plan import Done, FitPlan
    from everypair.app.comparison.own_cut import OwnCut
    from everypair.app.comparison.typed_measure import TypedMeasure
    from everypair.app.model_file.store import SavedModel


@guarded
def fit(
    context: typer.Context,
    data: opt.Data,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", callback=opt.dash, help="Model file to write (.everypair)."),
    ],
    columns: opt.DirectedColumns,
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

    from everypair.app.cli.fit_large import fit_large
    from everypair.app.cli.fit_plan import FitRequest, fit_in_memory
    from everypair.app.cli.handover import read_handover
    from everypair.app.cli.held_out_rows import DecisionOptions
    from everypair.app.comparison.budget import Budget
    from everypair.app.comparison.rule import rule_of
    from everypair.app.comparison.typed_measure import parse_measure
    from everypair.app.files.output import check_writable
    from everypair.app.large_table import is_large
    from everypair.app.model_file.store import save_model

    bounds, by = Budget(budget), parse_measure(measure)
    _check_options(method, by, fast, from_, budget)
    wanted = DecisionOptions(rule_of(threshold, guarantee), prior, held_out)
    check_writable(output, data, *([] if from_ is None else [from_]))
    words = text_stream(output, show.json)
    told = None if from_ is None else read_handover(from_, _typed(context), method)
    if told is not None:
        columns, reading, seed, by = told.columns, told.reading, told.seed, told.by
    wanted.check(by, columns.within)
    if told is None:
        _check_additive(columns, method, fast)
    source = reading.of(data)
    asked = FitRequest(data, source, columns, method, by, fast, bounds, wanted, told, seed, show)
    done = fit_large(asked) if is_large(source) else fit_in_memory(asked)
    save_model(done.model, output, done.some)
    _say_what_was_done(done, output, columns.within, show, words)


def _typed(context: typer.Context) -> dict[str, Any]:
    """The options that are on the command line, whether or not they say what goes without them."""
    from everypair.app.comparison.typed_measure import canonical_spelling

    typed = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    }
    return typed | ({"measure": canonical_spelling(typed["measure"])} if "measure" in typed else {})


def _check_options(
    method: str, by: TypedMeasure | None, fast: bool, from_: Path | None, budget: float | None
) -> None:
    from everypair.app.comparison.models import (
        BOOSTED_PAIRS,
        MEASURE_OPT,
        NEEDS_LIBRARY,
        NEEDS_MEASURE,
        catalogue,
    )

    known = catalogue(by)
    if method == BOOSTED_PAIRS and method not in known:
        raise ValueError(NEEDS_LIBRARY)
    if method == MEASURE_OPT and by is None and from_ is None:
        raise ValueError(NEEDS_MEASURE)
    if method not in ("auto", MEASURE_OPT, *known):
        raise ValueError(f"there is no method {method!r}: use auto, {', '.join(known)}.")
    if fast and method != "auto":
        raise ValueError(
            f"--fast chooses among a few methods, but --method {method} names one: leave out one "
            "of the two."
        )
    if from_ is not None and (fast or budget is not None):
        raise ValueError(
            "--from takes method and settings from a comparison: leave out --fast and --budget."
        )


def _check_additive(columns: opt.DirectedColumns, method: str, fast: bool) -> None:
    """Refuse options of the model additive where it is not among the models."""
    from everypair.app.comparison.additive_options import ADDITIVE
    from everypair.app.comparison.models import FAST

    models = FAST if fast else (ADDITIVE,) if method == "auto" else (method,)
    columns.additive.check_beside(models, bool(columns.directions))


def _say_what_was_done(
    done: Done, output: Path, within: str | None, show: opt.Show, words: TextIO | None
) -> None:
    from everypair.app.wording import counted, plain

    model, plan, refits, cut, chosen = done.model, done.plan, done.refits, done.cut, done.chosen
    n_features, spent = done.n_features, done.spent
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
                "findings": [asdict(finding) for finding in done.check.findings],
                "notes": model.notes,
            }
        )
    elif not show.quiet:
        settings = ", ".join(f"{k} = {plain(v)}" for k, v in model.settings.items())
        print_text(
            f"{model.method}{f' ({settings})' if settings else ''}: "
            f"{counted(model.n_rows, 'row')}, {model.n_positive} positive, "
            f"{counted(n_features, 'feature')}\n{_areas(model, auc, low, high, within)}"
            f"{_held_out(model, cut)}{'' if chosen is None else f'{chr(10)}{chosen.sentence()}'}\n"
            f"read {spent[0]:.1f} s, encoded {spent[1]:.1f} s, fitted {spent[2]:.1f} s, held-out "
            f"rows {spent[3]:.1f} s; written to {output}",
            file=words,
        )


def _fold_values(plan: FitPlan, of_area: bool) -> dict[str, Any] | None:
    """By model, one for each fold of the race, if it went by AUC or by a measure."""
    from everypair.app.comparison.yardstick import AREA

    if plan.choice is None or (plan.choice.by is AREA) != of_area:
        return None
    sign = plan.choice.by.sign
    return {name: sign * values for name, values in plan.choice.fold_values.items()}


def _areas(model: SavedModel, auc: float | None, low: Any, high: Any, within: str | None) -> str:
    name = "AUC" if within is None else f"AUC inside {within}"
    trained = f"{model.train_auc:.3f} on the training rows"
    if auc is None:
        return f"{name} {trained}"
    known = interval(low, high)
    sure = f" (95% interval {known})" if known else ""
    return f"{name} {auc:.3f} on held-out rows{sure}, {trained}"


def _held_out(model: SavedModel, cut: OwnCut | None) -> str:
    if cut is None:
        return ""
    known = interval(cut.low, cut.high)
    return (
        f"\n{model.measure} {cut.value:.3f} on held-out rows"
        f"{f', 95% interval {known}' if known else ''}"
    )
