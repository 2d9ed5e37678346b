"""`everypair evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import interval as show_interval
from everypair.app.cli.show import print_json, print_table, print_text

if TYPE_CHECKING:
    from everypair.app.comparison.measure import Measure
    from everypair.app.files.readers import Source
    from everypair.app.model_file.store import SavedModel


LEVEL = 0.95


@guarded
def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    *,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Default: the name it had in training.")
    ] = None,
    weight: opt.Weight = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help=f"Measure beside the AUC, {opt.MEASURES} Default: the one that the model was "
            "fitted for."
        ),
    ] = None,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Measure a model on rows whose target is known."""
    import numpy as np

    from everypair.app.comparison.measure import measure_of
    from everypair.app.files.problems import DataError
    from everypair.app.model_file.store import load_model
    from everypair.app.wording import counted
    from everypair.metrics import auc_confidence_interval, auc_score, prbep
    from everypair.rows import NoSpread

    by = None if measure is None else measure_of(measure)
    saved = load_model(model)
    if measure is None and saved.measure:
        by = measure_of(saved.measure)
    source = reading.of(data)
    with naming(data):
        y, scores, weights, n_missing = _labels_and_scores(saved, source, target, weight)
        if y.all() or not y.any():
            only = saved.positive if y.all() else saved.negative
            raise DataError(f"every row has the label {only!r}: two classes are needed.", data)
        notes, interval = [], (np.nan, np.nan)
        auc = auc_score(y, scores, sample_weight=weights)
        try:
            found = auc_confidence_interval(y, scores, level=LEVEL, sample_weight=weights)
            interval = found.low, found.high
        except NoSpread as why:
            notes.append(
                f"the AUC has no interval: {str(why)[0].lower()}{str(why)[1:]}"
                if scores.min() < scores.max()
                else f"every row has the score {scores[0]:g}: the model ranks nothing, and its AUC "
                "of 1/2 has no interval."
            )
        measured = None if by is None else _Measured.of(by, y, scores, weights)
    if n_missing:
        notes.append(f"left out: {counted(n_missing, 'row')} without a label.")
    for note in notes:
        show.note(note)
    above = scores > 0
    table = {
        "true_positives": int((above & y).sum()),
        "false_positives": int((above & ~y).sum()),
        "false_negatives": int((~above & y).sum()),
        "true_negatives": int((~above & ~y).sum()),
    }
    tp, fp, fn, tn = table.values()
    rates = {
        "accuracy": (tp + tn) / y.size,
        "precision": tp / (tp + fp) if tp + fp else 0.0,
        "recall": tp / (tp + fn),
        "false_positive_rate": fp / (fp + tn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "precision_recall_break_even": prbep(y, scores),
    }
    if show.json:
        content: dict[str, Any] = {
            "model": str(model), "source": opt.name_of(data), "rows": int(y.size),
            "n_positive": int(y.sum()), "auc": auc, "low": interval[0], "high": interval[1],
            "level": LEVEL, "at_threshold": table | rates, "notes": notes,
            "measure": None if measured is None else measured.as_json(),
        }  # fmt: skip
        print_json(content)
        return
    print_text(
        f"{opt.name_of(data)}: {counted(y.size, 'row')}, {int(y.sum())} with {target or saved.target} = "
        f"{saved.positive}\nAUC {auc:.3f}"
        + (
            ", no interval"
            if np.isnan(interval[0])
            else ", 95% interval {:.3f} - {:.3f}".format(*interval)
        )
        + ("" if measured is None else f"\n{measured.sentence()}")
    )
    print_table(
        ["at the model's threshold", f"predicted {saved.positive}", f"predicted {saved.negative}"],
        [[f"is {saved.positive}", str(tp), str(fn)], [f"is {saved.negative}", str(fp), str(tn)]],
    )
    for name, value in rates.items():
        print_text(f"{name.replace('_', ' '):28} {value:.3f}")


@dataclass(frozen=True)
class _Measured:
    """The measure of a file's rows, with a bootstrap interval."""

    measure: Measure
    value: float
    low: float
    high: float
    best: float | None  # at the best cut of these very rows, where the cut is free

    @classmethod
    def of(cls, measure: Measure, y: Any, scores: Any, weight: Any) -> _Measured:
        """A free cut is the model's own, zero; a quota is met on these rows."""
        import numpy as np

        from everypair.app.comparison.by_measure import judge
        from everypair.rows import Rows

        rows = Rows.of(y, weight, pos_label=True)
        exact, kept = measure.of(rows), rows.scores(scores)
        whole = [(np.arange(0), np.arange(y.size))]
        found = judge(exact, y, [whole], {"": [scores]}, weight, cut=0.0)[""]
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


def _labels_and_scores(
    saved: SavedModel, source: Source, target: str | None, weight: str | None
) -> tuple[Any, Any, Any, int]:
    import numpy as np

    from everypair.app.cli.inputs import column_texts, label_texts, weights_of
    from everypair.app.files.pieces import kept
    from everypair.app.files.problems import DataError
    from everypair.app.files.readers import SparseTable, read_chunks

    name = target or saved.target
    keep = {name: "category"} | ({} if weight is None else {weight: "number"})
    if saved.kinds is None and weight is not None:
        raise DataError("svmlight has no named columns: leave out --weight.", source.path)
    labels, scores, weights, row = [], [], [], 0
    keep = {} if saved.kinds is None else keep
    for piece in read_chunks(source, saved.kinds, keep, saved.forms):
        if isinstance(piece, SparseTable):
            texts, X = label_texts(piece.label), piece.X
        else:
            texts, X = column_texts(kept(piece, name)), piece
            if weight is not None:
                weights.append(weights_of(kept(piece, weight), weight, source.path, row))
        scores.append(saved.score(X))
        labels.append(_is_positive(texts, saved, name, row))
        row += texts.size
    if row == 0:
        raise DataError("there is a header but no row of data.", source.path)
    y = np.concatenate(labels)
    known = ~np.isnan(y)
    if not known.any():
        raise DataError("the target has no value at all.", source.path, column=name)
    weighed = np.concatenate(weights)[known] if weights else None
    return y[known] == 1, np.concatenate(scores)[known], weighed, int((~known).sum())


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
