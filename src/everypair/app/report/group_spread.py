"""How the AUC differs between the groups of ``--within``, as bars and a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.app.comparison.records import Comparison
from everypair.metrics import auc_by_group

N_BARS = 20
"""Bars between 0 and 1."""

N_GROUPS = 200
"""Groups that are listed one by one, the worst first."""


def group_spread(comparison: Comparison) -> dict[str, Any] | None:
    """Of the recommended model and, if it is another, of the best baseline."""
    fitted = {model.name: model for model in comparison.models if not model.failure}
    names = [comparison.recommended or next(iter(fitted), ""), comparison.best_baseline]
    models = [fitted[name] for name in dict.fromkeys(names) if name in fitted]
    if comparison.within is None or not models:
        return None
    found = [
        auc_by_group(comparison.y, model.scores, comparison.within, comparison.weights)
        for model in models
    ]
    heights = [np.histogram(areas.auc, N_BARS, (0.0, 1.0))[0] for areas in found]
    most = max(int(counts.max()) for counts in heights)
    first = found[0]
    worst = np.argsort(first.auc, kind="stable")[:N_GROUPS]
    return {
        "n_groups": first.auc.size,
        "n_without": int(np.unique(comparison.within).size) - first.auc.size,
        "models": [
            {
                "name": model.name,
                "quartiles": np.quantile(areas.auc, [0.25, 0.5, 0.75]).tolist(),
                "below_half": float(np.mean(areas.auc < 0.5)),
            }
            for model, areas in zip(models, found, strict=True)
        ],
        "most": most,
        "bars": [
            {
                "low": k / N_BARS,
                "high": (k + 1) / N_BARS,
                "parts": [
                    {"count": int(counts[k]), "height": round(100 * int(counts[k]) / most, 1)}
                    for counts in heights
                ],
            }
            for k in range(N_BARS)
        ],
        "listed": [
            {
                "group": str(first.group[k]),
                "n_rows": int(first.n_positive[k] + first.n_negative[k]),
                "n_positive": int(first.n_positive[k]),
                "areas": [float(areas.auc[k]) for areas in found],
            }
            for k in worst
        ],
    }
