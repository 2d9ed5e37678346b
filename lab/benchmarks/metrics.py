"""AUC of 10^7 scores and DeLong's interval at 10^6, beside the peers; coverage by simulation.

    python -m lab bench metrics [--coverage]

Prints Markdown tables of ratios to scikit-learn's `roc_auc_score` on the same rows, best of
three runs each, compilation and imports left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from everypair.metrics import auc_confidence_interval, auc_score, compare_auc


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return float(best)


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(np.int64)
    return y, rng.standard_normal(n) + y, rng.standard_normal(n) + y


def peers() -> dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], object]]:
    found: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], object]] = {}
    try:
        from MLstatkit import Delong_test

        found["MLstatkit Delong_test (paired)"] = Delong_test
    except ImportError:
        pass
    try:
        from confidenceinterval.delong import delong_roc_variance

        found["confidenceinterval, DeLong variance"] = lambda y, a, b: delong_roc_variance(y, a)
    except ImportError:
        pass
    return found


def speed() -> None:
    y, s, other = rows(10_000_000)
    for small in (rows(1000), rows(1000, 1)):
        auc_score(small[0], small[1]), auc_confidence_interval(small[0], small[1])
        auc_score(small[0], small[1], np.ones(1000))
    weight = np.random.default_rng(1).random(y.size)
    base = seconds(lambda: roc_auc_score(y, s))
    weighted = seconds(lambda: roc_auc_score(y, s, sample_weight=weight))
    partial = seconds(lambda: roc_auc_score(y, s, max_fpr=0.1))
    print("| 10^7 scores | time / roc_auc_score |\n|---|---|")
    print("| `sklearn.metrics.roc_auc_score` | 1.00 |")
    print(f"| `auc_score` | {seconds(lambda: auc_score(y, s)) / base:.2f} |")
    ours = seconds(lambda: auc_score(y, s, weight))
    print(f"| `auc_score`, weights (both) | {ours / weighted:.2f} |")
    ours = seconds(lambda: auc_score(y, s, max_fpr=0.1))
    print(f"| `auc_score`, max_fpr=0.1 (both) | {ours / partial:.2f} |")

    y, s, other = y[:1_000_000], s[:1_000_000], other[:1_000_000]
    base = seconds(lambda: roc_auc_score(y, s))
    print("\n| 10^6 scores | time / roc_auc_score |\n|---|---|")
    print("| `sklearn.metrics.roc_auc_score` | 1.00 |")
    ours = seconds(lambda: auc_confidence_interval(y, s))
    print(f"| `auc_confidence_interval` | {ours / base:.2f} |")
    ours = seconds(lambda: compare_auc(y, s, other))
    print(f"| `compare_auc`, paired | {ours / base:.2f} |")
    for name, work in peers().items():
        print(f"| {name} | {seconds(lambda work=work: work(y, s, other)) / base:.2f} |")


def coverage(repeats: int = 4000) -> None:
    print("\n| n+ / n- | scores | AUC | logit (default) | logit=False | Hanley–McNeil |")
    print("|---|---|---|---|---|---|")
    options = ({}, {"logit": False}, {"method": "hanley-mcneil"})
    for n_positive, n_negative in ((30, 300), (200, 200)):
        y = np.repeat([1, 0], [n_positive, n_negative])
        for kind in ("normal", "exponential"):
            for auc in (0.6, 0.8, 0.95, 0.99):
                rng = np.random.default_rng(0)
                hits = np.zeros(3)
                for _ in range(repeats):
                    if kind == "normal":
                        s = rng.standard_normal(y.size)
                        s[:n_positive] += np.sqrt(2) * ndtri(auc)
                    else:
                        s = rng.exponential(size=y.size)
                        s[:n_positive] *= auc / (1 - auc)
                    for k, option in enumerate(options):
                        ours = auc_confidence_interval(y, s, **option)
                        hits[k] += ours.low <= auc <= ours.high
                cells = " | ".join(f"{100 * h / repeats:.1f} %" for h in hits)
                print(f"| {n_positive} / {n_negative} | {kind} | {auc} | {cells} |", flush=True)


if __name__ == "__main__":
    speed()
    if "--coverage" in sys.argv:
        coverage()
