"""Why is RLS with a constant ahead of AUC-RLS on counts of words?

Both are least squares with a free constant and weighted rows, and rank by

    (pi C+ + (1 - pi) C- + lambda I)^-1 (m+ - m-) ,

C and m being the classes' covariances and means and pi the weight of the positives: 1/2 in
AUC-RLS, their share of the rows in RLS. What is left to differ is the choice of lambda and, at
the same lambda, pi. So: lambda by the folds as in the table; by the folds, but with held-out
scores that have their fold's constant, and lambda down to 1e-9; and the best of these lambda on
the test stories, which no choice can beat. The same on counts whose rows have unit length, and
on 1 + log counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from everypair.data.reuters import stories
from everypair.papers import auc_rls as main
from everypair.papers.cells import Found, Params, grouped
from everypair.papers.page import Page, table

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

WORDS = ("counts", "counts, unit length", "1 + log counts")
LAMS = np.logspace(-9, 3, 37)
"""Of the mean diagonal of K; the table's begin at 1e-6."""

RULES = {"AUC-RLS": "half", "RLS with constant": "share"}
CHOICES = {
    "folds": "lambda by the folds",
    "constant": "by the folds, scores with constant, wider grid",
    "best": "best on the test stories, wider grid",
}


def weighted_scores(K: Array, K_new: Array, y: Bools, positive_weight: float, lams: Array) -> Array:
    """Scores of new rows for each lambda: least squares, free constant, rows of weight u.

    ``min sum_i u_i (f(x_i) + b - y_i)^2 + lambda |f|^2``, u summing to ``positive_weight`` over the
    positives and to the rest over the negatives.
    """
    u = np.where(y, positive_weight / y.sum(), (1 - positive_weight) / (~y).sum())
    signs = np.where(y, 1.0, -1.0)
    offset = float(u @ signs)
    means = K @ u
    middle = float(u @ means)
    K_new = K_new - (K_new @ u)[:, None] - means + middle
    root = np.sqrt(u)
    inside = root[:, None] * (K - means - means[:, None] + middle) * root
    values, vectors = np.linalg.eigh(inside)
    inner = (vectors.T @ (root * (signs - offset)))[:, None] / (
        np.maximum(values, 0)[:, None] + lams
    )
    return np.asarray(K_new @ (root[:, None] * (vectors @ inner))) + offset


def _kernels(draw: int, words: str) -> tuple[Array, Array, Any, Any]:
    X, train, test = main._words(draw, "counts")
    if words == "1 + log counts":
        X = X.copy()
        X.data = 1 + np.log(X.data)
    K, K_test = (X[train] @ X[train].T).toarray(), (X[test] @ X[train].T).toarray()
    if words == "counts, unit length":
        lengths = np.sqrt(np.diag(K))
        of_test = np.sqrt(np.asarray(X[test].multiply(X[test]).sum(axis=1))).ravel()
        K = K / lengths / lengths[:, None]
        K_test = K_test / lengths / np.maximum(of_test, 1.0)[:, None]
    return K, K_test, train, test


def counts(params: Params) -> Found:
    """Test AUC of both rules by the choice of lambda, for each topic."""
    from everypair.metrics import auc_score

    K, K_test, train, test = _kernels(params["draw"], params["words"])
    lams = LAMS * float(np.trace(K)) / len(K)
    out: Found = {}
    for topic in params["topics"]:
        about = stories().about(topic)
        y, y_test = about[train], about[test]
        folds = list(StratifiedKFold(main.N_FOLDS, shuffle=True, random_state=0).split(K, y))
        by_folds = main._scores(K, K_test, y)
        out[topic] = {}
        for rule, kind in RULES.items():
            share = 0.5 if kind == "half" else float(y.mean())
            held = np.zeros((y.size, lams.size))
            for inside, outside in folds:
                blocks = K[np.ix_(inside, inside)], K[np.ix_(outside, inside)]
                held[outside] = weighted_scores(*blocks, y[inside], share, lams)
            pooled = [auc_score(y, column) for column in held.T]
            scores = weighted_scores(K, K_test, y, share, lams)
            aucs = np.array([auc_score(y_test, column) for column in scores.T])
            chosen = int(np.flatnonzero(pooled == np.max(pooled))[-1])
            values = auc_score(y_test, by_folds[rule]), aucs[chosen], aucs.max()
            out[topic][rule] = {
                **{name: round(float(v), 5) for name, v in zip(CHOICES, values, strict=True)},
                "best at": int(np.argmax(aucs)), "chosen": chosen,
            }  # fmt: skip
    return out


def write(page: Page, cells: list[tuple[Params, Found]]) -> None:
    rows, ends = [], []
    below = int(np.searchsorted(LAMS, 0.99 * main.RELATIVE_LAMS[0]))
    for words, found in grouped(cells, "words").items():
        topics = [topic for topic in main.PRINTED if topic in found[0]]
        for choice, name in CHOICES.items():
            first, second = (
                np.array([np.mean([cell[t][rule][choice] for cell in found]) for t in topics])
                for rule in RULES
            )
            rows.append([
                words, str(len(found)), name, f"{first.mean():.4f}", f"{second.mean():.4f}",
                f"{(first - second).mean():+.4f}", f"{(second > first).sum()} of {len(topics)}",
            ])  # fmt: skip
        at_end = [
            np.mean([cell[t][rule]["chosen"] < below for cell in found for t in topics])
            for rule in RULES
        ]
        ends.append(f"{words}: {at_end[0]:.0%}, {at_end[1]:.0%}")
    page.add(
        "Added: why RLS with a constant is ahead on counts",
        table(["words", "draws", "lambda", *RULES, "difference", "topics with RLS ahead"], rows),
        "Mean AUC over the topics. Both rules rank by (pi C+ + (1 - pi) C- + lambda I)^-1 "
        "(m+ - m-), pi = 1/2 or the share of the positives. Second choice: lambda below the "
        "table's grid (AUC-RLS, RLS with constant): " + "; ".join(ends) + ".",
    )
