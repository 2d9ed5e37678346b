"""`everypair evaluate`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import interval as show_interval
from everypair.app.cli.show import print_json, print_table, print_text

if TYPE_CHECKING:
    from everypair.app.comparison.figures import Figures
    from everypair.app.comparison.headline import Headline
    from everypair.app.comparison.rule import ChosenCut
    from everypair.app.comparison.typed_measure import TypedMeasure
    from everypair.app.files.readers import Source
    from everypair.app.model_file.store import SavedModel


LEVEL = 0.95


@guarded
def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    *,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The known target. Default: its name in training."),
    ] = None,
    weight: opt.Weight = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of rows that belong together (a patient, a customer): the interval of the "
            "AUC and --guarantee then hold for new groups."
        ),
    ] = None,
    within: opt.Within = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help=f"Measure to print with the AUC, {opt.MEASURES} Default: the one that the model "
            "was fitted for."
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            help=f"Where to cut, chosen on these rows: {opt.THRESHOLDS} Default: the model's own."
        ),
    ] = None,
    guarantee: opt.Guarantee = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with charts here (HTML).")
    ] = None,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Measure a model on rows whose target is known."""
    from everypair.app.cli.compare import check_report
    from everypair.app.comparison.evaluated import evaluated
    from everypair.app.comparison.headline import headline_of
    from everypair.app.comparison.rule import rule_of
    from everypair.app.comparison.typed_measure import parse_measure
    from everypair.app.files.problems import DataError
    from everypair.app.model_file.store import load_model
    from everypair.app.wording import counted

    by = None if measure is None else parse_measure(measure)
    rule = rule_of(threshold, guarantee)
    check_report(report, model, data)
    if report is not None and report.suffix.lower() == ".json":
        raise ValueError("--report writes a page (.html): --json prints the same numbers as JSON.")
    saved = load_model(model)
    if measure is None and saved.measure:
        by = parse_measure(saved.measure)
    source = reading.of(data)
    with naming(data):
        found_rows = _labels_and_scores(saved, source, target, weight, within, group)
        y, scores, weights, groups, clusters, n_missing = found_rows
        if y.all() or not y.any():
            only = saved.positive if y.all() else saved.negative
            raise DataError(f"every row has the label {only!r}: two classes are needed.", data)
        notes: list[str] = []
        area = _area(y, scores, weights, groups, clusters, notes)
        headline = headline_of(y, scores, weights)
        measured = (
            None if by is None else _Measured.of(by, y, scores, weights, groups, measure is None)
        )
        if _seen(saved, y, area[0]):
            notes.append(SEEN)
            if rule is not None and rule.number is None:
                raise DataError(
                    f"{SEEN} A threshold chosen on them is too good; `everypair score --threshold "
                    f"{rule.typed}` takes the one of rows that were held out.",
                    data,
                )
        whole = groups if clusters is None else clusters
        cut = None if rule is None else rule.on(y, scores, weights, whole, "these rows", saved)
    if n_missing:
        notes.append(f"left out: {counted(n_missing, 'row')} without a label.")
    show.notes(notes)
    spread = None if groups is None else _Spread.of(y, scores, groups, weights, str(within))
    found = _Found(saved, y, scores, weights, area, headline, measured, cut, spread)
    name, event = opt.name_of(data), f"{target or saved.target} = {saved.positive}"
    if show.json:
        print_json({"model": str(model), "source": name, **found.as_json(), "notes": notes})
    else:
        found.print(name, event)
    if report is not None:
        from everypair.app.report import write_report

        labels = {"source": name, "command": shlex.join(["everypair", *sys.argv[1:]])}
        at = 0.0 if cut is None else cut.threshold
        write_report(
            evaluated(saved, y, scores, weights, area, headline, labels, at, notes, groups), report
        )
        show.say(f"Report: {report.resolve()}")


def _area(
    y: Any, scores: Any, weights: Any, groups: Any, clusters: Any, notes: list[str]
) -> tuple[float, float, float]:
    """AUC with its interval, NaN where there is none; a note says why."""
    import numpy as np

    from everypair.metrics import auc_confidence_interval, auc_score
    from everypair.rows import NoSpread

    try:
        found = auc_confidence_interval(
            y, scores, level=LEVEL, sample_weight=weights, within=groups, groups=clusters
        )
        return found.auc, found.low, found.high
    except NoSpread as why:
        notes.append(
            f"the AUC has no interval: {str(why)[0].lower()}{str(why)[1:]}"
            if scores.min() < scores.max()
            else f"every row has the score {scores[0]:g}: the model ranks nothing, and its AUC "
            "of 1/2 has no interval."
        )
        return auc_score(y, scores, sample_weight=weights, within=groups), np.nan, np.nan


@dataclass(frozen=True)
class _Found:
    """What the rows say of the model."""

    saved: SavedModel
    y: Any
    scores: Any
    weights: Any
    area: tuple[float, float, float]
    headline: Headline | None
    measured: _Measured | None
    cut: ChosenCut | None
    spread: _Spread | None = None

    @property
    def figures(self) -> Figures:
        from everypair.app.comparison.figures import Figures

        known = self.saved.calibrator is not None
        chances = self.saved.calibrated(self.scores) if known else None
        return Figures.of(self.y, self.scores, chances, self.weights)

    def counts(self) -> dict[str, float]:
        """Rows, or sums of their weights."""
        above, y = self.scores > (0.0 if self.cut is None else self.cut.threshold), self.y
        cells = {
            "true_positives": above & y,
            "false_positives": above & ~y,
            "false_negatives": ~above & y,
            "true_negatives": ~above & ~y,
        }
        if self.weights is None:
            return {name: int(rows.sum()) for name, rows in cells.items()}
        return {name: float(self.weights[rows].sum()) for name, rows in cells.items()}

    def rates(self) -> dict[str, float]:
        from everypair.metrics import prbep

        tp, fp, fn, tn = self.counts().values()
        return {
            "accuracy": (tp + tn) / (tp + fp + fn + tn),
            "precision": tp / (tp + fp) if tp + fp else 0.0,
            "recall": tp / (tp + fn),
            "false_positive_rate": fp / (fp + tn),
            "f1": 2 * tp / (2 * tp + fp + fn),
        } | (
            {"precision_recall_break_even": prbep(self.y, self.scores)}
            if self.weights is None  # it counts rows
            else {}
        )

    def as_json(self) -> dict[str, Any]:
        auc, low, high = self.area
        return {
            "rows": int(self.y.size), "n_positive": int(self.y.sum()), "auc": auc, "low": low,
            "high": high, "level": LEVEL,
            "headline": None if self.headline is None else self.headline.as_json(),
            **asdict(self.figures),
            "at_threshold": self.counts() | self.rates(),
            "threshold": None if self.cut is None else self.cut.as_json(),
            "measure": None if self.measured is None else self.measured.as_json(),
            "within": None if self.spread is None else asdict(self.spread),
        }  # fmt: skip

    def print(self, name: str, event: str) -> None:
        from everypair.app.wording import counted

        known = show_interval(*self.area[1:])
        inside = "" if self.spread is None else f" inside {self.spread.column}"
        sure = f"95% interval {known}" if known else "no interval"
        said = [
            f"{name}: {counted(self.y.size, 'row')}, {int(self.y.sum())} with {event}",
            None if self.headline is None else self.headline.sentence(event),
            f"AUC {self.area[0]:.3f}{inside}, {sure}",
            *(f"{name} {figure}" for name, figure in self.figures.known()),
            None if self.spread is None else self.spread.sentence(),
            None if self.measured is None else self.measured.sentence(),
            None if self.cut is None else self.cut.sentence(),
        ]
        print_text("\n".join(line for line in said if line is not None))
        tp, fp, fn, tn = self.counts().values()
        yes, no = self.saved.positive, self.saved.negative
        whose = "the model's threshold" if self.cut is None else self.cut.rule.typed
        unit = "" if self.weights is None else ", sums of weights"
        print_table(
            [f"at {whose}{unit}", f"predicted {yes}", f"predicted {no}"],
            [[f"is {yes}", f"{tp:.10g}", f"{fn:.10g}"], [f"is {no}", f"{fp:.10g}", f"{tn:.10g}"]],
        )
        for rate, value in self.rates().items():
            print_text(f"{rate.replace('_', ' '):28} {value:.3f}")
        if self.cut is not None and self.cut.found is not None:
            print_text(f"To cut new rows there: everypair score --threshold={self.cut.threshold!r}")


@dataclass(frozen=True)
class _Spread:
    """How the AUC differs between groups."""

    column: str
    n_groups: int
    n_groups_without_pairs: int
    quartiles: tuple[float, float, float]
    share_below_half: float
    ndcg_at_5: float
    mean_reciprocal_rank: float

    @classmethod
    def of(cls, y: Any, scores: Any, groups: Any, weight: Any, column: str) -> _Spread:
        import numpy as np

        from everypair.metrics import auc_by_group, mean_reciprocal_rank, ndcg_at_k

        areas = auc_by_group(y, scores, groups, weight).auc
        low, middle, high = (float(q) for q in np.quantile(areas, [0.25, 0.5, 0.75]))
        return cls(
            column,
            areas.size,
            int(np.unique(groups).size) - areas.size,
            (low, middle, high),
            float(np.mean(areas < 0.5)),
            ndcg_at_k(y, scores, groups, 5),
            mean_reciprocal_rank(y, scores, groups),
        )

    def sentence(self) -> str:
        low, middle, high = self.quartiles
        return (
            f"{self.n_groups} groups with a pair, {self.n_groups_without_pairs} without; AUC of "
            f"half of them from {low:.3f} to {high:.3f}, median {middle:.3f}, below 1/2 in "
            f"{100 * self.share_below_half:.0f} %\n"
            f"NDCG@5 {self.ndcg_at_5:.3f}, mean reciprocal rank {self.mean_reciprocal_rank:.3f}"
        )


@dataclass(frozen=True)
class _Measured:
    """The measure of a file's rows, with a bootstrap interval."""

    measure: TypedMeasure
    value: float
    low: float
    high: float
    best: float | None  # at the best cut of these very rows, where the cut is free

    @classmethod
    def of(
        cls, measure: TypedMeasure, y: Any, scores: Any, weight: Any, groups: Any, saved: bool
    ) -> _Measured:
        """A free cut is the model's own, zero; a quota is met on these rows, or in each group.

        A ``saved`` measure that knows no groups, the one that the model is for, is that of all
        rows.
        """
        import numpy as np

        from everypair.app.comparison.by_measure import judge
        from everypair.rows import Rows

        if groups is not None and saved and "k" not in measure.options:
            groups = None
        measure = measure if groups is None else measure.inside_groups()
        rows = Rows.of(y, weight, pos_label=True, within=groups)
        exact, kept = measure.of(rows), rows.scores(scores)
        whole = [(np.arange(0), np.arange(y.size))]
        found = judge(exact, y, [whole], {"": [scores]}, weight, cut=0.0, within=groups)[""]
        low, high = sorted(measure.sign * end for end in found.interval(LEVEL))
        best = None
        if exact.free_cut:
            best = measure.sign * exact.value(rows, kept, exact.best_cut(rows, kept))
        return cls(measure, measure.sign * found.value, low, high, best)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.measure.typed, "label": self.measure.label, "value": self.value,
            "low": self.low, "high": self.high, "at_best_cut": self.best,
            "lower_is_better": self.measure.lower_is_better,
        }  # fmt: skip

    def sentence(self) -> str:
        typed, label = self.measure.typed, self.measure.label
        shown = label if label.lower() == typed else f"{typed} ({label})"
        where = "" if self.best is None else " at the model's threshold"
        at_best = (
            ""
            if self.best is None
            else f"; at best, with the threshold chosen on these rows, {self.best:.3f}"
        )
        known = show_interval(self.low, self.high)
        sure = f"95% interval {known}" if known else "no interval"
        return f"{shown} {self.value:.3f}{where}, {sure}{at_best}"


SEEN = (
    "these seem to be the rows that the model was trained on (the same number of rows, the same "
    "number of positives, the same AUC): evaluate it on rows that it has not seen."
)

SAME_AUC = 1e-9
"""Two areas of the same rows by the same model differ by the rounding of scores at most."""


def _seen(saved: SavedModel, y: Any, auc: float) -> bool:
    """Are these the training rows, as far as the model file can tell?"""
    same_rows = (y.size, y.sum()) == (saved.n_rows, saved.n_positive)
    # A model that ranks nothing has the AUC 1/2 on all rows.
    return bool(same_rows and auc != 0.5 and abs(auc - saved.train_auc) <= SAME_AUC)


def _labels_and_scores(
    saved: SavedModel,
    source: Source,
    target: str | None,
    weight: str | None,
    within: str | None,
    group: str | None,
) -> tuple[Any, Any, Any, Any, Any, int]:
    """Whether each row is positive, its score, weight, group of ``within`` and of ``group``; how
    many rows have no label."""
    import numpy as np

    from everypair.app.cli.inputs import group_texts
    from everypair.app.files.labels import column_texts, label_texts, weights_of
    from everypair.app.files.pieces import kept
    from everypair.app.files.problems import DataError
    from everypair.app.files.readers import SparseTable, read_chunks

    name = target or saved.target
    keep = {name: "category"} | ({} if weight is None else {weight: "number"})
    texts_of: dict[str, list[Any]] = {each: [] for each in (within, group) if each is not None}
    keep |= dict.fromkeys(texts_of, "text")
    if saved.kinds is None and (weight is not None or texts_of):
        raise DataError(
            "svmlight has no named columns: leave out --weight, --group and --within.", source.path
        )
    labels, scores, weights, row = [], [], [], 0
    keep = {} if saved.kinds is None else keep
    for piece in read_chunks(source, saved.kinds, keep, saved.forms):
        if isinstance(piece, SparseTable):
            texts, X = label_texts(piece.label), piece.X
        else:
            texts, X = column_texts(kept(piece, name)), piece
            if weight is not None:
                weights.append(weights_of(kept(piece, weight), weight, source.path, row))
            for each, found in texts_of.items():
                found.append(group_texts(kept(piece, each), each, source.path, row))
        scores.append(saved.score(X))
        labels.append(_is_positive(texts, saved, name, row))
        row += texts.size
    if row == 0:
        raise DataError("there is a header but no row of data.", source.path)
    y = np.concatenate(labels)
    known = ~np.isnan(y)
    if not known.any():
        raise DataError("the target has no value at all.", source.path, column=name)
    given = (weights, texts_of.get(within or ""), texts_of.get(group or ""))
    weighed, inside, together = (np.concatenate(parts)[known] if parts else None for parts in given)
    n_missing = int((~known).sum())
    return y[known] == 1, np.concatenate(scores)[known], weighed, inside, together, n_missing


def _is_positive(texts: Any, saved: SavedModel, name: str, rows_before: int) -> Any:
    """1, 0, or NaN where the label is missing."""
    import numpy as np

    from everypair.app.cli.inputs import OTHERS, match
    from everypair.app.files.problems import DataError

    out = np.full(texts.size, np.nan)
    for value in set(texts.tolist()) - {None}:
        if saved.negative == OTHERS:
            out[texts == value] = float(match(value, [saved.positive]) == 0)
            continue
        which = match(value, [saved.positive, saved.negative])
        if which is None:
            row = rows_before + int(np.argmax(texts == value)) + 1
            raise DataError(
                f"{value!r} is neither {saved.positive!r} nor {saved.negative!r}, the labels that "
                "the model knows.",
                row=row,
                column=name,
            )
        out[texts == value] = float(which == 0)
    return out
