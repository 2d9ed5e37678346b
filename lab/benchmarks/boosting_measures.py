"""Rounds chosen by the measure that counts, beside rounds chosen by AUC.

Part of `boosting`. The rule of the choice was set on `QUOTA_TASKS`, and reported on the others.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from everypair.boosting import AUCBoostingClassifier
from everypair.boosting.rounds import chosen_measure, judges_of
from everypair.rows import Rows

ROUNDS = 300
MEASURES: dict[str, Any] = {
    "AUC": "roc_area",
    "average precision": "average_precision",
    "partial AUC to 5 %": {"measure": "partial_roc_area", "fpr": 0.05},
    "recall at 1 % FPR": {"measure": "tpr_at_fpr", "fpr": 0.01},
    "precision in the top 1 %": {"measure": "precision_at_k", "k": 0.01},
    "F1": "f1",
}
SPLITS = (200,)


def one_split(name: str, split: int, library: str) -> dict[str, Any]:
    """By measure: rounds and value on test rows, chosen by AUC and by the measure."""
    from lab.benchmarks.boosting import drawn

    X, y, X_test, y_test = drawn(name, split, False)
    test = Rows.uncut(y_test == 1)
    out: dict[str, Any] = {}
    by_area = None
    for label, measure in MEASURES.items():
        model = AUCBoostingClassifier(
            library, max_rounds=ROUNDS, measure=measure, threshold=0.0
        ).fit(X, y)  # fmt: skip
        by_area = by_area or model
        judge = judges_of(chosen_measure(measure, test), test)[0]
        out[label] = {
            by: [int(m.n_rounds_), round(judge(m.decision_function(X_test)), 6)]
            for by, m in (("AUC", by_area), ("measure", model))
        }
    return out


def measures() -> None:
    from lab.benchmarks.boosting import TASKS, keep, known

    for split, library in product(SPLITS, ("lightgbm", "xgboost")):
        for name in TASKS:
            key = f"{name}|{library}|{split}"
            if key not in known().get("measures", {}):
                keep("measures", key, one_split(name, split, library))
                print("measures", key, flush=True)
