"""`MeasureOptCV` beside models tuned for the same measure, on held-out rows of many tasks.

    python -m lab bench measure_opt [--splits 10] [--tasks "letter S" ...] [--part targets]
    python -m lab bench measure_opt --again [--part targets]
    python -m lab bench measure_opt --show [--write]
    python -m lab bench measure_opt --growth | --large

Every competitor is tuned on the same five folds for the same measure, and its cut comes from its
own out-of-fold scores. Times are processor seconds of one thread. How the search goes was chosen
on other splits of `CHOSEN_ON`; those tasks are shown apart. A run goes on where the last one
ended: `measure_opt.json` keeps every finished split.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from everypair import AUCClassifier, MeasureOptCV, MeasureSVM, RankOpt
from everypair.estimators._held_out import HeldOut
from everypair.measures.operating import operating_measure
from everypair.rows import Rows
from lab.benchmarks.rankopt_splits import cuts, prepared
from lab.data.tasks import names, task
from lab.harness import growth_exponent, markdown_table

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
    "optdigits 8", "ionosphere", "credit", "adult", "a9a", "kddcup99 r2l", "reuters21578 crude",
)  # fmt: skip
PENALTIES = 10.0 ** np.arange(3, -3, -1)
"""1 / C of the logistic regressions; alpha n of `AUCClassifier`."""

TARGETS = ["F1", "recall at 1 % FPR"]
"""The measures of the ten splits."""

OF_SVM: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("f1", {}, ("F1",)),
    ("partial_roc_area", {"fpr": (0.0, 0.01)}, ("recall at 1 % FPR",)),
    ("partial_roc_area", {"fpr": (0.0, 0.05)}, ("recall at 5 % FPR", "partial AUC to 5 %")),
    ("prbep", {}, ("precision at n+", "recall at precision 0.5", "recall at precision 0.9",
                   "average precision")),
)  # fmt: skip
"""What `MeasureSVM` is trained on for which measures: the measure, or the nearest that it has."""

RADII = (0.5, 0.7, 0.9)
SVM_C = (1e-4, 1e-3, 1e-2, 1e-1)
MOST_ROWS = 4000
LEAST_POSITIVES = 10
OURS = "MeasureOptCV"
CORE = ("logistic", OURS)
SHARED = ("balanced logistic", "AUCClassifier", "RankOpt", "LightGBM")
"""Competitors whose out-of-fold scores serve every measure."""

COMPETITORS = ("balanced logistic", "AUCClassifier", "RankOpt", "MeasureSVM", "LightGBM")
PARTS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "targets": (TARGETS, CORE),
    "others": ([label for label in MEASURES if label not in TARGETS], CORE),
    "competitors": (list(MEASURES), SHARED),
    "svm": (list(MEASURES), ("MeasureSVM",)),
}
"""What is run together: measures and models."""

SEARCH = "never below the start"
"""The last change of the search. Splits of an earlier one count until ``--again`` replaces them: it
changes a model only where a climb was chosen that ended below its start on the training rows."""

GROWTH, LARGE = "growth", "large"
"""Among the finished splits of a cache: tables of times on more and more rows, and on many."""


def logistic_settings() -> list[Any]:
    return [LogisticRegression(C=1 / c, max_iter=300) for c in PENALTIES]


def competitors(labels: list[str], models: tuple[str, ...]) -> dict[str, dict[str, list[Any]]]:
    """These models by measure, a list over their settings; the same list where it is the same."""
    lists: dict[str, list[Any]] = {
        "logistic": logistic_settings(),
        "balanced logistic": [
            LogisticRegression(C=1 / c, max_iter=300, class_weight="balanced") for c in PENALTIES
        ],
        "AUCClassifier": [AUCClassifier(alpha=c / MOST_ROWS) for c in PENALTIES],
        "RankOpt": [RankOpt(saturation=RADII[: k + 1]) for k in range(len(RADII))],
    }
    if "LightGBM" in models:
        lists["LightGBM"] = [_lightgbm()]
    out = {name: dict.fromkeys(labels, lists[name]) for name in lists if name in models}
    if "MeasureSVM" not in models:
        return out
    out["MeasureSVM"] = {}
    for name, options, of in OF_SVM:
        settings = [MeasureSVM(name, C=C, tol=1e-2, max_iter=200, **options) for C in SVM_C]
        out["MeasureSVM"] |= dict.fromkeys([label for label in of if label in labels], settings)
    return out


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


class Tuned:
    """One list of settings on one split: its out-of-fold scores, and its fits on all rows."""

    def __init__(self, settings: list[Any], A: Any, y: Any, B: Any, folds: Any):
        self.settings, self.A, self.y, self.B, self.folds = settings, A, y, B, folds
        began = time.process_time()
        self.scores = [out_of_fold(model, A, y, folds) for model in settings]
        self.seconds = time.process_time() - began
        self.fits: dict[int, tuple[Any, float]] = {}

    def judge(self, measure: Any, rows: Rows) -> tuple[float, float]:
        """Of the test rows, and the processor seconds of a whole search for this measure."""
        began = time.process_time()
        weight = np.ones(self.y.size)
        held = [HeldOut(measure, self.y, weight, self.folds, scores) for scores in self.scores]
        best = int(np.argmax([h.value() for h in held]))
        cut = measure.best_cut(Rows.of(self.y), self.scores[best])
        spent = self.seconds + time.process_time() - began
        if best not in self.fits:
            began = time.process_time()
            model = self.settings[best].fit(self.A, self.y)
            spent_on_fit = time.process_time() - began
            self.fits[best] = scores_of(model, self.B), spent_on_fit
        scores, spent_on_fit = self.fits[best]
        return measure.value(rows, scores, cut), spent + spent_on_fit


def one_split(
    X: Any, y: Any, train: Any, test: Any, labels: list[str], models: tuple[str, ...]
) -> dict[str, Any]:
    """By measure and model: the value on the test rows, and processor seconds."""
    A, B = prepared(X, train, test)
    if not sparse.issparse(A):
        A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
    y_train, rows = y[train], Rows.of(y[test])
    # The folds of MeasureOptCV, which are scikit-learn's for cv=5.
    folds = list(StratifiedKFold(5).split(np.zeros(y_train.size), y_train))
    out: dict[str, Any] = {
        "value": {m: {} for m in labels}, "seconds": {m: {} for m in labels}, "start": {},
        "search": SEARCH,
    }  # fmt: skip
    measures = {m: operating_measure(MEASURES[m][0], Rows.of(y_train), **MEASURES[m][1])
                for m in labels}  # fmt: skip
    for name, by_label in competitors(labels, models).items():
        tuned: dict[int, Tuned] = {}
        for label, settings in by_label.items():
            if id(settings) not in tuned:
                tuned[id(settings)] = Tuned(settings, A, y_train, B, folds)
            value, seconds = tuned[id(settings)].judge(measures[label], rows)
            out["value"][label][name] = round(value, 5)
            out["seconds"][label][name] = round(seconds, 3)
    for label in labels if OURS in models else ():
        model, seconds = searched(A, y_train, label)
        out["seconds"][label][OURS] = round(seconds, 3)
        value = model.measure_.value(rows, model.decision_function(B), 0.0)
        out["value"][label][OURS] = round(value, 5)
        out["start"][label] = bool(model.chose_start_)
    return out


def jobs(wanted: list[str], n_splits: int, known: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """First a split of each task that has none; then the tasks that take least time get all theirs.

    A run may be stopped at any time."""
    begun = {key.split("|")[0] for key in known}
    yield from ((name, 0) for name in wanted if name not in begun)
    spent: dict[str, list[float]] = {}
    for key, cell in known.items():
        if "|" in key and cell is not None:
            of_models = (sum(each.values()) for each in cell["seconds"].values())
            spent.setdefault(key.split("|")[0], []).append(sum(of_models))
    for name in sorted(wanted, key=lambda name: np.mean(spent.get(name, np.inf))):
        yield from ((name, k) for k in range(n_splits))


def run(wanted: list[str], n_splits: int, part: str, again: bool, cache: Path) -> None:
    """Splits that the cache does not have, or ``again`` the climbs of an earlier search."""
    known = json.loads(cache.read_text()) if cache.exists() else {}
    for name, k in jobs(wanted, n_splits, known):
        key = f"{name}|{k}|{part}"
        if again != (key in known) or (again and not of_earlier_search(known[key])):
            continue
        labels, models = PARTS[part]
        if again:
            labels, models = [m for m, kept in known[key]["start"].items() if not kept], (OURS,)
            known[key] = renewed(known[key], {"value": {}})
            if not labels:  # written with the next one
                continue
        found = task(name)
        splits, overlap = cuts(found.positive, 10, MOST_ROWS)
        train, test = splits[k]
        if min(found.positive[train].sum(), found.positive[test].sum()) < LEAST_POSITIVES:
            known[key] = None
        else:
            cell = one_split(found.X, found.positive, train, test, labels, models)
            known[key] = renewed(known[key], cell) if again else cell
            known[key]["overlap"] = round(overlap, 4)
        fresh = cache.with_suffix(".part")
        fresh.write_text(json.dumps(known, separators=(",", ":")))
        fresh.replace(cache)
        print(key, flush=True)


def of_earlier_search(cell: dict[str, Any] | None) -> bool:
    return cell is not None and bool(cell["start"]) and cell.get("search") != SEARCH


def renewed(cell: dict[str, Any], fresh: dict[str, Any]) -> dict[str, Any]:
    """With the fresh values of `MeasureOptCV`; ``changed`` is what they are higher by.

    Its seconds stay: they are compared with those that another model took in the same run.
    """
    out = cell | {"search": SEARCH, "changed": cell.get("changed", {})}
    for label, values in fresh["value"].items():
        out["changed"][label] = round(values[OURS] - cell["value"][label][OURS], 5)
        out["value"][label] |= values
        out["start"][label] = fresh["start"][label]
    return out


def simulated(n: int, n_features: int) -> tuple[Any, Any]:
    """Rows whose rare positives lie where one feature is high, and far from any line elsewhere.

    Without the half of the parabola that is cut off, a logistic regression is a saddle point of the
    measure: climbs of many rows would end where they begin, and their time would say little.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features))
    return X, X[:, 0] + 1.5 * np.maximum(X[:, 1], 0) ** 2 + rng.logistic(size=n) > 4


def searched(X: Any, y: Any, label: str) -> tuple[MeasureOptCV, float]:
    """The whole search for a measure, and its processor seconds."""
    name, options = MEASURES[label]
    began = time.process_time()
    model = MeasureOptCV(name, **options).fit(X, y)
    return model, time.process_time() - began


def climb_of(model: MeasureOptCV) -> str:
    return " > ".join(f"{radius:g}" for radius in model.saturation_) or "start"


def growth(sizes: tuple[int, ...] = (10_000, 31_600, 100_000, 316_000, 1_000_000)) -> str:
    """Processor seconds of whole searches on simulated rows of 20 features."""
    rows, lines = [], []
    for n in sizes:
        X, y = simulated(n, 20)
        found = [searched(X, y, label) for label in TARGETS]
        rows.append([seconds for _, seconds in found])
        lines.append([f"{n:,}", *(f"{seconds:.1f}, {climb_of(model)}" for model, seconds in found)])
        print(*lines[-1], flush=True)
    exponents = [growth_exponent(list(sizes), [r[k] for r in rows]) for k in range(len(TARGETS))]
    lines.append(["exponent", *(f"{e:.2f}" for e in exponents)])
    return markdown_table(
        ["rows (20 features)", *(f"{label}: seconds, climb chosen" for label in TARGETS)], lines
    )


def large(n: int = 1_000_000, n_features: int = 50) -> str:
    """Whole searches on a large table beside those of the logistic regression, one thread."""
    X, y = simulated(n + n // 4, n_features)
    A, B, of_fit, rows = X[:n], X[n:], y[:n], Rows.of(y[n:])
    folds = list(StratifiedKFold(5).split(np.zeros(n), of_fit))
    base = Tuned(logistic_settings(), A, of_fit, B, folds)
    lines = []
    for label in TARGETS:
        measure = operating_measure(MEASURES[label][0], Rows.of(of_fit), **MEASURES[label][1])
        value, seconds = base.judge(measure, rows)
        model, ours = searched(A, of_fit, label)
        lines.append([
            label, f"{value:.4f}", f"{measure.value(rows, model.decision_function(B), 0.0):.4f}",
            climb_of(model), f"{seconds:.0f}", f"{ours:.0f}", f"{ours / seconds:.2f}",
        ])  # fmt: skip
        print(*lines[-1], flush=True)
    return f"{n:,} rows of {n_features} features.\n\n" + markdown_table(
        [
            "measure",
            "logistic",
            OURS,
            "climb chosen",
            "logistic, seconds",
            f"{OURS}, seconds",
            "ratio",
        ],
        lines,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--part", choices=PARTS, default="targets")
    parser.add_argument("--tasks", nargs="*", default=names(also=True))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--again", action="store_true", help="renew splits of an earlier search")
    parser.add_argument("--show", action="store_true", help="the tables of the finished splits")
    parser.add_argument("--growth", action="store_true", help="times on more and more rows")
    parser.add_argument("--large", action="store_true", help="times on 1,000,000 rows of 50")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        timed = {GROWTH: options.growth and growth(), LARGE: options.large and large()}
        if options.growth or options.large:
            known = json.loads(options.cache.read_text())
            known |= {name: table for name, table in timed.items() if table}
            options.cache.write_text(json.dumps(known, separators=(",", ":")))
        elif options.show:
            from lab.benchmarks.measure_opt_page import show

            show(json.loads(options.cache.read_text()), options.write)
        else:
            run(options.tasks, options.splits, options.part, options.again, options.cache)


if __name__ == "__main__":
    main()
