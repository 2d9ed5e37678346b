"""Boosting of a measure with a quota: does it help beside the push and the log loss?

    python -m lab bench boosting quotas

An objective that climbs the smooth measure of `everypair.MeasureOpt` (partial AUC, recall at a
false positive rate, precision in the top 1 %) takes over after half of the rounds over every pair.
The measures are not convex: the curvature given to the trees is the size of the gradient, so that
a leaf moves by at most the learning rate. Tasks and splits are not those of `boosting tasks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.boosting import pair_objective
from everypair.measures.operating import operating_measure
from everypair.rows import Rows
from everypair.solvers.soft_measure import SoftMeasure

QUOTA_TASKS = (
    "letter A", "letter G", "letter O", "satimage 1", "satimage 3", "covtype 2", "covtype 6",
    "mnist 0", "optdigits 1", "optdigits 9",
)  # fmt: skip
MEASURES: dict[str, tuple[str, dict[str, Any]]] = {
    "partial AUC to 5 %": ("partial_roc_area", {"fpr": (0.0, 0.05)}),
    "recall at 1 % FPR": ("tpr_at_fpr", {"fpr": 0.01}),
    "precision in the top 1 %": ("precision_at_k", {"k": 0.01}),
}
SHARPNESS = (0.3, 1.0)
"""Scores are multiplied by this before they meet the soft cut."""

PLAIN = ("logloss", "every pair", "push 2", "push 3", "push 4")


class QuotaObjective:
    """Gradient and curvature of the smooth measure, times n / 2, for `lightgbm.Booster.update`."""

    def __init__(self, measure: str, sharpness: float, y: Any):
        name, options = MEASURES[measure]
        rows = Rows.uncut(y == 1)
        self.sharpness, self.scale = sharpness, y.size / 2
        self.soft = SoftMeasure.of(operating_measure(name, rows, **options), rows, rows.totals)

    def __call__(self, preds: Any, data: Any) -> tuple[Any, Any]:
        scores = self.sharpness * np.asarray(preds, dtype=np.float64)
        gradient = self.scale * self.soft.at(scores).gradient
        return gradient, np.maximum(abs(gradient), 1e-6)


def scores_of(objectives: list[tuple[Any, int]], X: Any, y: Any, new: Any, rate: float) -> Any:
    """LightGBM's scores after so many rounds of each objective, one after the other."""
    import lightgbm

    common = {"learning_rate": rate, "num_threads": 1, "verbosity": -1, "seed": 0}
    common |= {"deterministic": True, "force_row_wise": True}
    data = lightgbm.Dataset(X, y, params={"verbosity": -1})
    first = objectives[0][0]
    own = {"objective": first if isinstance(first, str) else "none"}
    booster = lightgbm.Booster({**common, **own}, data)
    for objective, n_rounds in objectives:
        for _ in range(n_rounds):
            booster.update(fobj=None if isinstance(objective, str) else objective)
    return np.asarray(booster.predict(new, raw_score=True))


def one_split(name: str, split: int) -> dict[str, dict[str, float]]:
    """By model: the measures of the test rows."""
    from lab.benchmarks.boosting import RATE, ROUNDS, drawn

    X, y, X_test, y_test = drawn(name, split, False)
    half = ROUNDS // 2
    wanted: dict[str, list[tuple[Any, int]]] = {
        "logloss": [("binary", ROUNDS)],
        "every pair": [(pair_objective().for_train, ROUNDS)],
        **{f"push {p}": [(pair_objective(push=p).for_train, ROUNDS)] for p in (2, 3, 4)},
    }
    for measure in MEASURES:
        for sharpness in SHARPNESS:
            quota = QuotaObjective(measure, sharpness, y)
            start = (pair_objective().for_train, half)
            wanted[f"{measure}, sharpness {sharpness:g}"] = [start, (quota, half)]
    rows = Rows.of(y_test)
    judges = {m: operating_measure(n, rows, **o) for m, (n, o) in MEASURES.items()}
    out = {}
    for label, objectives in wanted.items():
        scores = scores_of(objectives, X, y, X_test, RATE)
        out[label] = {m: round(float(of.value(rows, scores)), 6) for m, of in judges.items()}
    return out


def quotas(splits: int = 3) -> None:
    from lab.benchmarks.boosting import keep, known

    for split in range(100, 100 + splits):
        for name in QUOTA_TASKS:
            key = f"{name}|{split}"
            if key in known().get("quotas", {}):
                continue
            keep("quotas", key, one_split(name, split))
            print("quotas", key, flush=True)
