"""`everypair compare` and `everypair demo`."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import (
    interval,
    json_text,
    number,
    print_json,
    print_table,
    print_text,
    progress,
)

if TYPE_CHECKING:
    from everypair.app.comparison import Comparison
    from everypair.app.comparison.all_rows import AllRows
    from everypair.app.comparison.typed_measure import TypedMeasure

DEMO_REPORT = Path("everypair-demo.html")
REPORTS = (".html", ".htm", ".json")


@guarded
def compare(
    data: opt.Data,
    *,
    columns: opt.DirectedColumns,
    cv: Annotated[
        str | None,
        typer.Option(help="Folds x repeats, such as 10x1. Default: 5x2, or 3x1 with --fast."),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas; 'everypair' and 'baselines' are groups. Default: all."
        ),
    ] = None,
    measure: opt.Measure = "auc",
    report: Annotated[
        Path | None,
        typer.Option(help="Write a report here: HTML, or JSON for `fit --from` (.json)."),
    ] = None,
    fast: opt.Fast = False,
    budget: opt.Budget = None,
    seed: opt.Seed = 0,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Compare every method of the library with scikit-learn's on the same folds."""
    from everypair.app.cli.large_inputs import load_or_sample
    from everypair.app.comparison.typed_measure import canonical_spelling, parse_measure

    n_folds, n_repeats = folds_of(cv or ("3x1" if fast else "5x2"))
    names = None if models is None else [name.strip() for name in models.split(",")]
    measure = canonical_spelling(measure)
    if columns.within is not None and (by := parse_measure(measure)) is not None:
        by.inside_groups()  # refuses a measure of one cut
    names = check_models(names, measure, fast, columns)
    check_report(report, data)
    rows, all_rows = load_or_sample(reading.of(data), columns, show)
    if all_rows is not None and names is None:
        names = large_models(measure)
    columns.directions.checked(rows.X)
    labels = {
        "source": opt.name_of(data),
        "target": rows.target,
        "positive": rows.positive,
        "command": shlex.join(["everypair", *sys.argv[1:]]),
    }
    # The positive value by name, though it was chosen: rows that are added may change the rarer.
    columns = replace(columns, positive=rows.positive)
    with naming(data):
        _compare(
            rows, names, (n_folds, n_repeats), seed, labels, report, show, budget,
            Next(data, columns, reading, seed, report, measure), measure, all_rows,
        )  # fmt: skip


@dataclass(frozen=True)
class Next:
    """What `fit` is to be told after this comparison."""

    data: Path
    columns: opt.DirectedColumns
    reading: opt.Reading
    seed: int
    report: Path | None
    measure: str = "auc"

    def commands(self, method: str) -> tuple[str, str]:
        from everypair.app.cli.handover import next_commands

        return next_commands(
            self.data, self.columns, self.reading, self.seed, method, self.report, self.measure
        )


DEMO_MODELS = ["additive", "auc", "logistic", "boosting"]
DEMO_TABLES = {
    "loans.csv": "3,000 applicants for a loan, drawn at random: the risk is a sum of one bent "
    "curve per column.",
    "tumours.csv": "397 tumours (Breast Cancer Wisconsin): a straight line separates them well.",
}


@guarded
def demo(
    report: Annotated[Path, typer.Option(help="Where to write the report.")] = DEMO_REPORT,
    *,
    show: opt.Show,
) -> None:
    """Compare models on two small tables, and write the report of the first."""
    check_report(report)
    for k, (name, sentence) in enumerate(DEMO_TABLES.items()):
        rows = demo_rows(name)
        show.say(f"{name}: {sentence}")
        labels = {"source": name, "command": "everypair demo"}
        labels |= {"target": rows.target, "positive": rows.positive}
        _compare(rows, DEMO_MODELS, (5, 1), 0, labels, None if k else report, show)
    show.say("To see which case is yours, run: everypair compare TABLE.csv --target COLUMN")


def demo_rows(name: str) -> Any:
    """A sample with the rarer class as the positive one."""
    from everypair.app.cli.inputs import Labelled
    from everypair.app.cli.sample import SAMPLES

    make, target = SAMPLES[name]
    table = make()
    labels = table[target].to_numpy()
    positive, negative = sorted(set(labels.tolist()), key=lambda label: (labels == label).sum())
    X = table.drop_columns([target])
    return Labelled(X, labels == positive, None, None, target, positive, negative)


def folds_of(cv: str) -> tuple[int, int]:
    """``5x2`` is 5 folds, 2 repeats; ``5`` is 5x1."""
    parts = cv.lower().split("x")
    if len(parts) > 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"--cv {cv!r} is not understood: give folds x repeats, such as 5x2.")
    n_folds, n_repeats = int(parts[0]), int(parts[1]) if len(parts) == 2 else 1
    if n_folds < 2 or n_repeats < 1:
        raise ValueError(f"--cv {cv!r}: at least 2 folds and 1 repeat are needed.")
    return n_folds, n_repeats


def check_models(
    names: list[str] | None, measure: str, fast: bool, columns: opt.DirectedColumns
) -> list[str] | None:
    """The models to run, None for all; names and measure are refused before any work."""
    from everypair.app.comparison.models import candidates_of, fast_models
    from everypair.app.comparison.typed_measure import parse_measure

    by = parse_measure(measure)
    names = fast_models(by) if names is None and fast else names
    chosen = candidates_of(names, by)
    columns.additive.check_beside([c.name for c in chosen], bool(columns.directions))
    return names


def large_models(measure: str) -> list[str]:
    """What is compared on a table larger than memory: methods with few passes, and baselines."""
    from everypair.app.comparison.all_rows import BY_ITSELF
    from everypair.app.comparison.models import MEASURE_OPT

    return [*([] if measure == "auc" else [MEASURE_OPT]), *BY_ITSELF, "baselines"]


def _compare(
    rows: Any,
    names: list[str] | None,
    cv: tuple[int, int],
    seed: int,
    labels: dict[str, str],
    report: Path | None,
    show: opt.Show,
    budget: float | None = None,
    to_fit: Next | None = None,
    measure: str = "auc",
    all_rows: AllRows | None = None,
) -> None:
    from everypair.app.cli.handover import is_json
    from everypair.app.comparison.all_rows import BLOCKWISE
    from everypair.app.comparison.run import compare_methods, n_steps
    from everypair.app.files.output import written_whole

    as_page = report is not None and not is_json(report)
    columns = opt.DirectedColumns() if to_fit is None else to_fit.columns
    directions, asked = columns.directions, columns.additive
    began = time.perf_counter()
    with progress(n_steps(names, *cv, measure), show.silent) as advance:
        found = compare_methods(
            rows.X,
            rows.y,
            models=names,
            n_folds=cv[0],
            n_repeats=cv[1],
            within=rows.within_labels,
            sample_weight=rows.weight,
            seed=seed,
            measure=measure,
            increasing=directions.increasing,
            decreasing=directions.decreasing,
            interactions=asked.interactions,
            sparsity=asked.sparsity,
            budget=budget,
            path=as_page,
            columns=as_page,
            labels=labels,
            notes=rows.notes,
            all_rows=all_rows,
            check=rows.check,
            progress=advance,
        )
    seconds = time.perf_counter() - began
    can_fit = all_rows is None or found.recommended in BLOCKWISE
    if found.recommended and to_fit is not None and can_fit:
        found = replace(found, commands=to_fit.commands(found.recommended))
    if not show.json:  # first, so that a disk that is full does not lose it
        _print_comparison(found)
        _print_recommendation(found)
        for note in found.notes[len(rows.notes) :]:
            show.note(note)
    if all(model.failure is not None for model in found.models):
        first = found.models[0]
        raise ValueError(f"no model could be fitted: {first.name}: {first.failure}")
    content = as_json(found, report, seconds, to_fit)
    if report is not None and as_page:
        from everypair.app.report import write_report

        write_report(found, report)
    elif report is not None:
        with written_whole(report) as file:
            file.write(f"{json_text(content)}\n".encode())
    if show.json:
        print_json(content)
    elif report is not None:
        print_text(f"Report: {report.resolve()}")


def _print_recommendation(found: Comparison) -> None:
    from everypair.app.comparison.recommend import recommendation

    if found.recommended:
        print_text(recommendation(found))
    for command in found.commands:
        print_text(f"  {command}")


def check_report(report: Path | None, *inputs: Path) -> None:
    """What would keep a report from being written, before any work."""
    from everypair.app.cli.handover import is_json

    if report is not None:
        if not is_json(report):
            import jinja2  # noqa: F401 - or say that it is missing
        from everypair.app.files.output import check_writable

        check_writable(report, *inputs)
        if report.suffix and report.suffix.lower() not in REPORTS:
            raise ValueError(
                f"--report {report} ends in {report.suffix}: use .html for a page, .json for JSON."
            )


def _print_comparison(found: Comparison) -> None:
    by = found.measure
    table, bold = [], []
    for k, model in enumerate(found.models):
        if model.failure is not None:
            table.append([model.name, "failed", model.failure, *([""] * (5 + (by is not None)))])
            continue
        mark = " (baseline)" if model.kind == "baseline" else ""
        if model.name == found.best_baseline:
            mark = " (best baseline)"
            bold.append(k)
        table.append(
            [
                model.name + mark,
                number(model.judged),
                interval(model.judged_low, model.judged_high),
                *([] if by is None else [number(model.auc)]),
                number(model.difference, "+.3f"),
                ""
                if model.difference_low is None
                else f"{number(model.difference_low, '+.3f')} to "
                f"{number(model.difference_high, '+.3f')}",
                number(model.p_value, ".2g"),
                number(model.fit_seconds, ".2f"),
                "" if model.n_features is None else str(model.n_features),
            ]
        )
    n_positive = int(found.y.sum())
    print_text(
        f"{found.source}: {found.y.size} rows, {n_positive} with {found.target} = "
        f"{found.positive}; {found.folds}, seed {found.seed}"
    )
    judged = ["AUC", "95% interval"] if by is None else [by.typed, "95% interval", "AUC"]
    header = ["model", *judged, "difference", "its 95% interval", "p", "fit (s)", "features"]
    print_table(header, table, left=(0, 2, len(judged) + 2), bold=bold)
    for finding in found.findings:
        if finding.severity == "warning":
            print_text(f"Warning: {finding.sentence}")
    if by is not None:
        print_text(_judged_by(by, found.within is not None))
    print_text(found.verdict)


def _judged_by(measure: TypedMeasure, in_groups: bool) -> str:
    better = "lower is better" if measure.lower_is_better else "higher is better"
    where = (
        "the threshold of a fold is the best one of the other folds"
        if measure.free_cut
        else "exactly on each fold"
    )
    return (
        f"Judged by {measure.label} ({better}), {where}. Intervals are by a bootstrap of the "
        f"{'groups' if in_groups else 'rows'}, widened because each row tests one model and trains "
        "the others; "
        f"difference and p are of {measure.typed}."
    )


def as_json(
    found: Comparison, report: Path | None, seconds: float, to_fit: Next | None
) -> dict[str, Any]:
    """The comparison without the scores of each row, and what `fit --from` needs of the options."""
    from everypair.app.cli.handover import handed_over

    options = {} if to_fit is None else handed_over(to_fit.columns, to_fit.reading)
    models = [
        {
            "name": model.name,
            "kind": model.kind,
            "auc": model.auc,
            "low": model.low,
            "high": model.high,
            "value": model.value,
            "value_low": model.value_low,
            "value_high": model.value_high,
            "difference": model.difference,
            "difference_low": model.difference_low,
            "difference_high": model.difference_high,
            "p_value": model.p_value,
            "fit_seconds": model.fit_seconds,
            "n_features": model.n_features,
            "settings": model.settings,
            "fold_auc": model.fold_auc,
            "fold_value": model.fold_value,
            "failure": model.failure,
        }
        for model in found.models
    ]
    return {
        "source": found.source,
        "target": found.target,
        "positive": found.positive,
        "n_rows": int(found.y.size),
        "n_positive": int(found.y.sum()),
        "folds": found.folds,
        "seed": found.seed,
        "measure": "auc" if found.measure is None else found.measure.typed,
        "measure_label": "AUC" if found.measure is None else found.measure.label,
        "lower_is_better": found.measure is not None and found.measure.lower_is_better,
        "verdict": found.verdict,
        "best_baseline": found.best_baseline,
        "recommended": found.recommended,
        "commands": list(found.commands),
        "not_run": list(found.not_run),
        "models": models,
        "columns": [column.name for column in found.columns],
        **options,
        "findings": [asdict(finding) for finding in found.findings],
        "notes": list(found.notes),
        "versions": found.versions,
        "seconds": seconds,
        "report": None if report is None else str(report),
    }
