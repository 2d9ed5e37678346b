"""`MeasureOptCV` beside models tuned for the same measure, on held-out rows of many tasks.

    python -m lab bench measure_opt --cache results.json [--splits 10] [--tasks "letter S" ...]
    python -m lab bench measure_opt --cache results.json --show [--write]
    python -m lab bench measure_opt --growth

Every competitor is tuned on the same five folds for the same measure, and its cut comes from its
own out-of-fold scores. Times are processor seconds of one thread. The guard and the radii were
chosen on the first four splits of `CHOSEN_ON`; those tasks are shown apart.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from everypair import AUCClassifier, MeasureOptCV
from everypair.estimators._held_out import HeldOut
from everypair.measures.operating import operating_measure
from everypair.rows import Rows
from lab.benchmarks.rankopt_splits import corrected_resampled_t, cuts, prepared
from lab.data.tasks import names, task
from lab.harness import Page, growth_exponent, markdown_table

MEASURES: dict[str, tuple[str, dict[str, Any]]] = {
    "F1": ("f1", {}),
    "recall at 1 % FPR": ("tpr_at_fpr", {"fpr": 0.01}),
    "recall at 5 % FPR": ("tpr_at_fpr", {"fpr": 0.05}),
    "precision at n+": ("precision_at_k", {"k": "p"}),
    "recall at precision 0.5": ("recall_at_precision", {"precision": 0.5}),
    "recall at precision 0.9": ("recall_at_precision", {"precision": 0.9}),
    "partial AUC to 5 %": ("partial_roc_area", {"fpr": (0.0, 0.05)}),
    "average precision": ("average_precision", {}),
}
CHOSEN_ON = (
    "pima", "wdbc", "letter H", "letter B", "satimage 4", "satimage 2", "covtype 5", "covtype 1",
    "optdigits 8", "ionosphere", "credit", "adult", "a9a",
)  # fmt: skip
PENALTIES = 10.0 ** np.arange(3, -3, -1)
"""1 / C of the logistic regressions; alpha n of `AUCClassifier`."""

MOST_ROWS = 4000
LEAST_POSITIVES = 20


GROWTH = "growth"
"""Among the finished splits of a cache: the table of times on more and more rows."""

MODELS = ("logistic", "balanced logistic", "AUCClassifier", "LightGBM", "MeasureOptCV")


def competitors() -> dict[str, list[Any]]:
    """The models, a list over their settings."""
    return {
        "logistic": [LogisticRegression(C=1 / c, max_iter=300) for c in PENALTIES],
        "balanced logistic": [
            LogisticRegression(C=1 / c, max_iter=300, class_weight="balanced") for c in PENALTIES
        ],
        "AUCClassifier": [AUCClassifier(alpha=c / MOST_ROWS) for c in PENALTIES],
        "LightGBM": [_lightgbm()],
    }


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=200, learning_rate=0.05, n_jobs=1, verbose=-1)


def scores_of(model: Any, X: Any) -> Any:
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def out_of_fold(model: Any, X: Any, y: Any, folds: Any) -> Any:
    out = np.zeros(y.size)
    for train, test in folds:
        out[test] = scores_of(model.fit(X[train], y[train]), X[test])
    return out


def one_split(X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """By measure and model: the value on the test rows; by model: processor seconds."""
    A, B = prepared(X, train, test)
    if not sparse.issparse(A):
        A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
    y_train, rows = y[train], Rows.of(y[test])
    # The folds of MeasureOptCV, which are scikit-learn's for cv=5.
    folds = list(StratifiedKFold(5).split(np.zeros(y_train.size), y_train))
    out: dict[str, Any] = {"value": {m: {} for m in MEASURES}, "seconds": {}}
    weight = np.ones(y_train.size)
    for name, settings in competitors().items():
        began = time.process_time()
        tuned = [out_of_fold(model, A, y_train, folds) for model in settings]
        fits = {}
        for label, (measure_name, options) in MEASURES.items():
            measure = operating_measure(measure_name, Rows.of(y_train), **options)
            held = [HeldOut(measure, y_train, weight, folds, scores) for scores in tuned]
            best = int(np.argmax([h.value() for h in held]))
            if best not in fits:
                fits[best] = scores_of(settings[best].fit(A, y_train), B)
            cut = measure.best_cut(Rows.of(y_train), tuned[best])
            out["value"][label][name] = measure.value(rows, fits[best], cut)
        # A search for one measure fits every setting on the folds, and one on all rows.
        out["seconds"][name] = time.process_time() - began
    for label, (measure_name, options) in MEASURES.items():
        began = time.process_time()
        model = MeasureOptCV(measure_name, **options).fit(A, y_train)
        out["seconds"][label] = time.process_time() - began
        scores = model.decision_function(B)
        measure = model.measure_
        value = measure.value(rows, scores, 0.0)
        out["value"][label]["MeasureOptCV"] = value
        out.setdefault("start", {})[label] = bool(model.chose_start_)
    return out


def run(wanted: list[str], n_splits: int, cache: Path) -> None:
    known = json.loads(cache.read_text()) if cache.exists() else {}
    for k in range(n_splits):  # split by split: a run may be stopped at any time
        for name in wanted:
            if f"{name}|{k}" in known:
                continue
            found = task(name)
            splits, overlap = cuts(found.positive, 10, MOST_ROWS)
            train, test = splits[k]
            if min(found.positive[train].sum(), found.positive[test].sum()) < LEAST_POSITIVES:
                known[f"{name}|{k}"] = None
            else:
                cell = one_split(found.X, found.positive, train, test)
                known[f"{name}|{k}"] = cell | {"overlap": overlap}
            cache.write_text(json.dumps(known))
            print(name, k, flush=True)


def table(cells: dict[str, list[dict[str, Any]]], which: list[str]) -> str:
    """Means over the tasks, and how many are significantly won and lost against `logistic`."""
    rows = []
    for label in MEASURES:
        by_task: dict[str, list[float]] = {}
        wins, losses, worst = 0, 0, 0.0
        ratios, starts = [], []
        for name in which:
            found = cells[name]
            values = {
                m: np.array([c["value"][label][m] for c in found]) for m in found[0]["value"][label]
            }
            for model, got in values.items():
                by_task.setdefault(model, []).append(float(got.mean()))
            gain = values["MeasureOptCV"] - values["logistic"]
            if gain.size > 1:
                overlap = found[0]["overlap"]
                p = corrected_resampled_t(gain, overlap / (1 + overlap))
                wins += p < 0.05 and gain.mean() > 0
                if p < 0.05 and gain.mean() < 0:
                    losses, worst = losses + 1, min(worst, float(gain.mean()))
            ratios += [c["seconds"][label] / c["seconds"]["logistic"] for c in found]
            starts += [c["start"][label] for c in found]
        means = {model: np.mean(got) for model, got in by_task.items()}
        gain = means["MeasureOptCV"] - means["logistic"]
        tested = max(len(cells[name]) for name in which) > 1
        verdicts = f"{wins} / {losses}" + (f" (worst {worst:+.3f})" if losses else "")
        rows.append(
            [label, *(f"{means[m]:.3f}" for m in MODELS),
             f"{gain:+.3f}", verdicts if tested else "one split: no test",
             f"{np.median(ratios):.1f}", f"{100 * np.mean(starts):.0f} %"]
        )  # fmt: skip
    header = ["measure", *MODELS, "gain on logistic", "wins / losses",
              "time / logistic", "kept the start"]  # fmt: skip
    return markdown_table(header, rows)


def by_data_set(cells: dict[str, list[dict[str, Any]]], which: list[str]) -> str:
    """Gains on logistic regression, and the standard error of their mean over tasks."""
    sets: dict[str, list[str]] = {}
    for name in which:
        sets.setdefault(name.split(" ")[0], []).append(name)
    groups = {data: tasks for data, tasks in sets.items() if len(tasks) > 2}
    groups["all but letter"] = [name for name in which if not name.startswith("letter")]
    rows = []
    for data, tasks in groups.items():
        line = [data, str(len(tasks))]
        for label in MEASURES:
            found = [[c["value"][label] for c in cells[name]] for name in tasks]
            gains = [np.mean([v["MeasureOptCV"] - v["logistic"] for v in f]) for f in found]
            line.append(f"{np.mean(gains):+.3f} ± {np.std(gains, ddof=1) / len(gains) ** 0.5:.3f}")
        rows.append(line)
    return markdown_table(["data set", "tasks", *MEASURES], rows)


INTRO = """\
Made by `python -m lab bench measure_opt`. Training rows: {rows} at most, drawn at random; the
values are those of other rows, means over {splits}. Every competitor is tuned on the
same five folds for the same measure (six penalties; LightGBM: 200 trees, as a reference), and its
cut comes from its own out-of-fold scores. Wins and losses are tasks on which `MeasureOptCV` differs
from the tuned logistic regression at 5 % by the corrected resampled t test (the plain t test where
the splits share no row). `time / logistic` is the median of the processor seconds of a whole
search, one thread. `kept the start`: no climb was surely better, and the model is the logistic
regression.

The radii and the guard (half a standard error) were chosen on the first four splits of {chosen}
tasks, which are not in the first table. Two of these are letters: the other letters have other
labels but the same rows and columns, so they are not new data. An earlier setting (eight radii, one
standard error) had been run on half of the tasks before this one was chosen."""


def show(cache: Path, write: bool) -> None:
    cells: dict[str, list[dict[str, Any]]] = {}
    known = json.loads(cache.read_text())
    if GROWTH not in known:
        known[GROWTH] = growth()
        cache.write_text(json.dumps(known))
    for key, cell in known.items():
        if cell is not None and key != GROWTH:
            cells.setdefault(key.split("|")[0], []).append(cell)
    counts = [len(found) for found in cells.values()]
    some = "one split" if max(counts) == 1 else f"{min(counts)} to {max(counts)} splits a task"
    page = Page(
        "measure_opt", "Climbing the measure itself",
        INTRO.format(rows=f"{MOST_ROWS:,}", splits=some, chosen=len(set(CHOSEN_ON) & set(cells))),
    )  # fmt: skip
    new = [name for name in cells if name not in CHOSEN_ON]
    page.add(f"{len(new)} tasks whose labels nothing was chosen on", table(cells, new))
    page.add("The same by data set", by_data_set(cells, new))
    page.add(f"All {len(cells)} tasks", table(cells, list(cells)))
    labels, models = ("F1", "recall at 1 % FPR"), ("logistic", "MeasureOptCV", "LightGBM")
    columns = [(label, model) for label in labels for model in models]
    rows = [
        [name, *(f"{np.mean([c['value'][m][of] for c in found]):.3f}" for m, of in columns)]
        for name, found in cells.items()
    ]
    header = ["task", *(f"{label}: {model}" for label, model in columns)]
    page.add("Task by task", markdown_table(header, rows))
    page.add("Growth with the rows", known[GROWTH])
    if write:
        page.write()


def growth(sizes: tuple[int, ...] = (10_000, 31_600, 100_000, 316_000, 1_000_000)) -> str:
    """Processor seconds of whole searches on simulated rows of 20 features."""
    rows, lines = [], []
    for n in sizes:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 20))
        y = X[:, 0] + X[:, 1] ** 2 / 2 + rng.logistic(size=n) > 4
        spent = []
        for measure, options in (("f1", {}), ("tpr_at_fpr", {"fpr": 0.01})):
            began = time.process_time()
            MeasureOptCV(measure, **options).fit(X, y)
            spent.append(time.process_time() - began)
        rows.append(spent)
        lines.append([f"{n:,}", *(f"{s:.1f}" for s in spent)])
    exponents = [growth_exponent(list(sizes), [r[k] for r in rows]) for k in range(2)]
    lines.append(["exponent", *(f"{e:.2f}" for e in exponents)])
    return markdown_table(["rows (20 features)", "F1, seconds", "recall at 1 % FPR"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path("measure_opt.json"))
    parser.add_argument("--tasks", nargs="*", default=names(also=True))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--show", action="store_true", help="the tables of the finished splits")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.growth:
            print(growth())
        elif options.show:
            show(options.cache, options.write)
        else:
            run(options.tasks, options.splits, options.cache)


if __name__ == "__main__":
    main()
