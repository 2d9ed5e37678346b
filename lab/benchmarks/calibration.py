"""Probabilities by four maps, and cuts by training or out-of-fold scores, on rows not trained on.

    python -m lab bench calibration --cache results.json [--tasks pima wdbc ...]
    python -m lab bench calibration --cache results.json --show [--write]

Every fit has its own intervals over the rows that test it, and the tables have intervals over
tasks. A run goes on from its cache: quick models first, every size of one model before the next.

One fit on the training rows, and one on each of five folds of them, give training scores,
out-of-fold scores and test scores; every map and every cut is made from these. What
``calibration="auto"`` does was chosen on the tasks of `CHOSEN_ON`, and the pages show the others:
no data set has tasks on both sides.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from everypair import ROCSVM, AUCClassifier, RankOpt
from everypair.estimators._calibration import METHODS, calibrated
from everypair.estimators._cross_fit import cross_fit, default_folds, mean_score
from everypair.metrics import expected_calibration_error
from everypair.metrics.thresholds import cut_by
from everypair.rows import Rows
from lab.benchmarks.rankopt_splits import prepared
from lab.data.tasks import names, task

CHOSEN_ON_DATA = ("a9a", "adult", "credit", "spectf", "wpbc", "covtype", "mnist", "optdigits")
SIZES = (300, 1000, 4000)
MOST_TEST_ROWS, TEST_SHARE = 4000, 1 / 3
LEAST_POSITIVES = 10
N_SPLITS = 3

MODELS: dict[str, Callable[[Any], Any]] = {
    "AUCClassifier": lambda y: AUCClassifier(),
    "RankOpt": lambda y: RankOpt(),
    # C as SVC weighs the loss; a gap of 1e-3 moves no score that matters here.
    "ROCSVM": lambda y: ROCSVM(C=y.size / (y.sum() * (~y).sum()), tol=1e-3),
}
LARGEST = {"ROCSVM": 1000}
"""Rows at most, to keep the whole affordable."""

RULES: dict[str, Any] = {
    "f1": "f1", "balanced": "balanced", "fpr=0.05": {"fpr": 0.05}, "tpr=0.9": {"recall": 0.9},
}  # fmt: skip
SKLEARN = ("sigmoid", "isotonic", "temperature")
REFERENCES = ("LogisticRegression", *(f"CalibratedClassifierCV {method}" for method in SKLEARN))
BASE = "sigmoid, out of fold"


def chosen_on(name: str) -> bool:
    return name.split(" ", maxsplit=1)[0] in CHOSEN_ON_DATA


class Judged(NamedTuple):
    """One map on the test rows of one fit."""

    loss: Any
    """Log loss, a number per row."""
    square: Any
    """(y - p)^2, a number per row."""
    error: Any
    """Expected calibration error over ten bins of equal size, with its interval."""

    @classmethod
    def of(cls, p: Any, y: Any) -> Judged:
        p = np.clip(np.asarray(p, dtype=np.float64), 1e-15, 1 - 1e-15)
        loss = -np.where(y, np.log(p), np.log1p(-p))
        return cls(loss, (p - y) ** 2, expected_calibration_error(y, p))

    def beside(self, base: Judged) -> dict[str, list[float]]:
        """The numbers of this map, and half its 95 % intervals of log loss and Brier score.

        They are intervals of the differences from ``base`` over the test rows; of the values
        themselves where this is the base.
        """
        parts = [
            mine if self is base else mine - theirs
            for mine, theirs in zip(self[:2], base[:2], strict=True)
        ]
        half = [1.96 * float(part.std(ddof=1)) / part.size**0.5 for part in parts]
        error = self.error
        return {
            "mean": [float(self.loss.mean()), float(self.square.mean()), error.plug_in],
            "half": half,
            "error": [error.value, error.low, error.high],
        }


def achieved(rule: str, scores: Any, cut: float, y: Any) -> float:
    """What the rule asks for, on these rows: F1, TPR - FPR, FPR or TPR."""
    above = scores > cut
    tp, fp = float((above & y).sum()), float((above & ~y).sum())
    tpr, fpr = tp / y.sum(), fp / (~y).sum()
    return {"f1": 2 * tp / (tp + fp + y.sum()), "balanced": tpr - fpr, "fpr=0.05": fpr,
            "tpr=0.9": tpr}[rule]  # fmt: skip


def one_cell(model: Any, A: Any, y: Any, B: Any, y_test: Any) -> dict[str, Any]:
    folds = default_folds(None, y, None, None)
    fitted = model.set_params(threshold=0.0).fit(A, y)
    of_train, of_test = fitted.decision_function(A), fitted.decision_function(B)
    out = cross_fit(model, A, y, None, folds)
    held_out, on_test = out.scores, of_test - mean_score(of_train, None)
    cell: dict[str, Any] = {"cuts": {}, "n": y.size, "p": A.shape[1]}
    maps: dict[str, Judged] = {}
    for method in METHODS:
        for where, scores, new in (
            ("training", of_train, of_test), ("out of fold", held_out, on_test)
        ):  # fmt: skip
            found = calibrated(method, scores, y, None, None)
            maps[f"{method}, {where}"] = Judged.of(found.probabilities(new)[:, 1], y_test)
    if isinstance(model, AUCClassifier):
        maps |= references(A, y, B, y_test)
    cell["maps"] = {name: found.beside(maps[BASE]) for name, found in maps.items()}
    rows = Rows.of(y)
    for name, rule in RULES.items():
        by_training = achieved(name, of_test, cut_by(rule, rows, of_train), y_test)
        by_folds = achieved(name, on_test, cut_by(rule, rows, held_out), y_test)
        cut = cut_by(rule, rows, of_train)
        seen = achieved(name, of_train, cut, y)
        best = achieved(name, of_test, cut_by(rule, Rows.of(y_test), of_test), y_test)
        cell["cuts"][name] = [by_training, by_folds, best, seen]
    return cell


def references(A: Any, y: Any, B: Any, y_test: Any) -> dict[str, Judged]:
    models = [
        LogisticRegression(max_iter=1000),
        *(CalibratedClassifierCV(AUCClassifier(), method=method) for method in SKLEARN),
    ]
    return {
        name: Judged.of(model.fit(A, y).predict_proba(B)[:, 1], y_test)
        for name, model in zip(REFERENCES, models, strict=True)
    }


def split(y: Any, seed: int, size: int) -> tuple[Any, Any]:
    """The same test rows for every size; training rows of a size are among those of the next."""
    order = np.random.default_rng(seed).permutation(y.size)
    n_test = min(MOST_TEST_ROWS, int(TEST_SHARE * y.size))
    return order[n_test : n_test + size], order[:n_test]


def run(wanted: list[str], sizes: list[int], models: list[str], cache: Path) -> None:
    known = json.loads(cache.read_text()) if cache.exists() else {}
    order = sorted(wanted, key=lambda name: not chosen_on(name))
    for label, size, name in product(models, sizes, order):
        if size > LARGEST.get(label, size):
            continue
        found, n_known = task(name), len(known)
        y = found.positive
        for k in range(N_SPLITS):
            train, test = split(y, k, size)
            n_before = [s for s in SIZES if s < size]
            few = min(y[train].sum(), y[test].sum(), (~y[train]).sum()) < LEAST_POSITIVES
            key = f"{name}|{k}|{size}|{label}"
            # A task with fewer rows than a size has been used whole at the size before.
            if key in known or few or (n_before and train.size <= n_before[-1]):
                continue
            A, B = prepared(found.X, train, test)
            known[key] = one_cell(MODELS[label](y[train]), A, y[train], B, y[test])
        if len(known) > n_known:
            part = cache.with_suffix(".part")
            part.write_text(json.dumps(known))
            part.replace(cache)
            print(label, size, name, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab bench calibration")
    parser.add_argument("--cache", type=Path, default=Path("calibration.json"))
    parser.add_argument("--tasks", nargs="*", default=names())
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, help="training rows")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--show", action="store_true", help="tables of what is in the cache")
    parser.add_argument("--write", action="store_true", help="and into docs/benchmarks")
    given = parser.parse_args()
    if given.show or given.write:
        from lab.benchmarks.calibration_page import show

        show(given.cache, given.write)
        return
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(given.tasks, given.sizes, given.models, given.cache)


if __name__ == "__main__":
    main()
