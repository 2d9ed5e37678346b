"""What MeasureSVM costs: a million rows, growth with the rows, and text.

    python -m lab bench measure_svm [rows] [growth] [text] [constant]

Prints Markdown tables of ratios measured in one run. With $EVERYPAIR_DATA set the text is
Reuters-21578 (ModApte split, as in Joachims 2005, Table 1); else documents drawn from Zipf's law.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from everypair import MeasureSVM
from everypair.linalg.matrix import as_matrix
from everypair.measures import measure_of
from everypair.solvers.cutting_plane import cutting_plane
from lab.data.reuters import stories, word_matrix

COLUMNS = 50
CLASS_WEIGHTS = [2.0**power for power in range(8)]
"""The cost factors j of the paper's baseline."""

MEASURES: dict[str, tuple[dict[str, Any], float]] = {
    # The area's loss counts pairs, not percent, so its C is smaller.
    "f1": ({}, 1.0),
    "prbep": ({}, 1.0),
    "recall_at_k": ({"k": "2p"}, 1.0),
    "precision_at_k": ({"k": "0.5p"}, 1.0),
    "error": ({}, 1.0),
    "roc_area": ({}, 1e-3),
    "partial_roc_area": ({"fpr": (0.0, 0.05)}, 1e-3),
}


def gaussians(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One row in ten positive; a linear rule with little noise.

    With noise of scale 1 instead of 0.15 the F1 slack has its minimum at w = 0 and there is
    nothing to train (lab/notes/measures.md).
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS), dtype=np.float32)
    rule = rng.standard_normal(COLUMNS) * 2 / np.sqrt(COLUMNS)
    score = X @ rule + 0.15 * rng.logistic(size=n_rows)
    return X, score > np.quantile(score, 0.9)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = perf_counter()
    result = work()
    return perf_counter() - began, result


def fit_f1(n_rows: int) -> tuple[float, MeasureSVM, np.ndarray, np.ndarray]:
    # C is worth the same at every size when it goes with the square of the rows.
    X, y = gaussians(n_rows)
    model = MeasureSVM("f1", C=1e-2 * (n_rows / 1e4) ** 2)
    took, model = seconds(lambda: model.fit(X, y))
    return took, model, X, y


def rows() -> None:
    took, model, X, y = fit_f1(10**6)
    dot = min(seconds(lambda: X @ model.coef_[0].astype(np.float32))[0] for _ in range(5))
    svc, baseline = seconds(lambda: LinearSVC(loss="squared_hinge", dual=False).fit(X, y))
    value = measure_of("f1").value(y, baseline.decision_function(X))
    print(f"\n### F1 on 10^6 x {COLUMNS} (float32)\n")
    print("| cuts | gap | one cut / X @ w | fit / LinearSVC fit | F1 | F1 of LinearSVC |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {model.n_iter_} | {model.dual_gap_:.1e} | {took / model.n_iter_ / dot:.0f} "
        f"| {took / svc:.1f} | {model.train_score_:.4f} | {value:.4f} |"
    )
    print(f"\n({took:.0f} s in all, {took / model.n_iter_:.2f} s a cut.)")


def growth() -> None:
    sizes = [10**4, 10**5, 10**6]
    fit_f1(1000)
    per_cut = []
    print("\n### Time of one cut, F1\n")
    print("| rows | cuts | time of one cut / at 10^4 rows | exponent since the last |")
    print("|---|---|---|---|")
    for n_rows in sizes:
        took, model, _, _ = fit_f1(n_rows)
        per_cut.append(took / model.n_iter_)
        exponent = np.log10(per_cut[-1] / per_cut[-2]) if len(per_cut) > 1 else np.nan
        print(f"| {n_rows} | {model.n_iter_} | {per_cut[-1] / per_cut[0]:.1f} | {exponent:.2f} |")
    slope = np.polyfit(np.log(sizes), np.log(per_cut), 1)[0]
    print(f"\nExponent over all: {slope:.2f}.")


def reuters(topic: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    found = stories()
    X, y, here = word_matrix(found.texts, found.in_training), found.about(topic), found.in_training
    return X[here].astype(np.float32), y[here], X[~here].astype(np.float32), y[~here]


def zipf(seed: int = 0) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Documents of 60 words from 30 000; the positives prefer 100 of them."""
    rng = np.random.default_rng(seed)
    n_rows, n_words, length = 13_000, 30_000, 60
    common = 1 / np.arange(1, n_words + 1)
    y = rng.random(n_rows) < 0.04
    topical = rng.choice(np.arange(200, 5000), 100, replace=False)
    words = rng.choice(n_words, size=(n_rows, length), p=common / common.sum())
    swap = rng.random((n_rows, length)) < np.where(y, 0.12, 0.01)[:, None]
    words[swap] = rng.choice(topical, swap.sum())
    rows = np.repeat(np.arange(n_rows), length)
    X = sparse.csr_matrix((np.ones(rows.size), (rows, words.ravel())), shape=(n_rows, n_words))
    X.data = 1 + np.log(X.data)
    X = sparse.csr_matrix(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))))
    return X[:10_000], y[:10_000], X[10_000:], y[10_000:]


def text() -> None:
    if "EVERYPAIR_DATA" in os.environ:
        name, (X, y, X_test, y_test) = "Reuters-21578, topic grain", reuters("grain")
    else:
        name, (X, y, X_test, y_test) = "Zipf documents", zipf()
    grid = [
        (weight, *seconds(lambda w=weight: linear_svc(w).fit(X, y))) for weight in CLASS_WEIGHTS
    ]
    whole_grid = sum(took for _, took, _ in grid)
    MeasureSVM("f1", max_iter=2).fit(X, y)
    print(f"\n### {name}: {X.shape[0]} x {X.shape[1]}, {y.sum()} positives, CSR\n")
    print(
        "| measure | cuts | gap | fit / one LinearSVC | fit / grid of 8 class weights "
        "| test value | LinearSVC: plain, best of the grid on the test rows |"
    )
    print("|---|---|---|---|---|---|---|")
    for measure, (options, C) in MEASURES.items():
        took, model = seconds(lambda m=measure, o=options, c=C: MeasureSVM(m, C=c, **o).fit(X, y))
        judge = model.measure_
        values = [judge.value(y_test, svc.decision_function(X_test)) for _, _, svc in grid]
        ours = judge.value(y_test, model.decision_function(X_test))
        print(
            f"| {measure} | {model.n_iter_} | {model.dual_gap_:.1e} | {took / grid[0][1]:.1f} "
            f"| {took / whole_grid:.2f} | {ours:.4f} | {values[0]:.4f}, {max(values):.4f} |"
        )
    print(f"\n(The grid took {whole_grid:.1f} s.)")


def constant() -> None:
    """Recall at 2p with and without the constant feature, which MeasureSVM leaves out."""
    X, y, X_test, y_test = reuters("grain") if "EVERYPAIR_DATA" in os.environ else zipf()
    print("\n### The constant feature at k = 2p\n")
    print("| measure | constant feature | gap | norm of w | test value |")
    print("|---|---|---|---|---|")
    for name, k in (("recall_at_k", "2p"), ("precision_at_k", "0.5p")):
        measure = measure_of(name, k=k)
        for fitted in (False, True):
            fit = cutting_plane(as_matrix(X), y, measure, 1.0, constant=fitted)
            value = measure.value(y_test, np.asarray(X_test @ fit.coef))
            norm = np.linalg.norm(fit.coef)
            print(
                f"| {name}, {k} | {'yes' if fitted else 'no'} | {fit.distance:.1e} | {norm:.3f} "
                f"| {value:.4f} |"
            )


def linear_svc(weight: float) -> LinearSVC:
    return LinearSVC(loss="hinge", C=1.0, class_weight={True: weight, False: 1.0}, max_iter=10**5)


PARTS = {"rows": rows, "growth": growth, "text": text, "constant": constant}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
