"""Beside Pahikkala et al. (2008), Table 1: the weights of words, and lambda.

`write_weights`: the paper does not say how words are weighed. Which way, of seven, has the printed
values topic by topic?

`positives`: RLS on the topics where it is beyond the error bars even so, with as many positives
to train on as the paper prints, one fewer than our draws have.

`counts`: why is RLS with a constant ahead of AUC-RLS on counts of words? Both are least squares
with a free constant and weighted rows, and rank by

    (pi C+ + (1 - pi) C- + lambda I)^-1 (m+ - m-) ,

C and m being the classes' covariances and means and pi the weight of the positives: 1/2 in
AUC-RLS, their share of the rows in RLS. What is left to differ is the choice of lambda and, at
the same lambda, pi. So: lambda by the folds as in the table; by the folds, but with held-out
scores that have their fold's constant, and lambda down to 1e-9; and the best of these lambda on
the test stories, which no choice can beat. The same on counts whose rows have unit length, and
on 1 + log counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from lab.data.reuters import stories
from lab.papers import auc_rls as main
from lab.papers.kept import Found, Params, grouped
from lab.papers.paper_page import PaperPage, mean_sd, table

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

WORDS = ("counts", "counts, unit length", "1 + log counts")
WEIGHTS = dict.fromkeys(
    ("counts", "counts, unit length", "1 + log counts", "1 + log counts, unit length", "0 or 1",
     "0 or 1, unit length"),
    10,
)  # fmt: skip
"""How words may be weighed, and in how many draws that is tried."""

FEWER = ("cpi", "reserves")
N_PARTITIONS = 5
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


def counts(params: Params) -> Found:
    """Test AUC of both rules by the choice of lambda, for each topic."""
    from everypair.metrics import auc_score

    X, train, test = main.words_of(params["draw"], params["words"])
    K, K_test = (X[train] @ X[train].T).toarray(), (X[test] @ X[train].T).toarray()
    lams = LAMS * float(np.trace(K)) / len(K)
    out: Found = {}
    for topic in params["topics"]:
        about = stories().about(topic)
        y, y_test = about[train], about[test]
        folds = list(StratifiedKFold(main.N_FOLDS, shuffle=True, random_state=0).split(K, y))
        by_folds = main.scores_of(K, K_test, y)
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


PRINTED_AT = {"AUC-RLS": 0, "RLS": 3}
"""Where a row of `main.PRINTED` has a method's value and interval."""


def _aucs(found: list[Found], topic: str, method: str) -> Array:
    return np.array([cell[topic][method][0] for cell in found])


def _beyond(found: list[Found], topic: str, method: str) -> bool:
    k = PRINTED_AT[method]
    return main.differs(main.PRINTED[topic][k : k + 3], _aucs(found, topic, method))


def positives(params: Params) -> Found:
    """Test AUC of plain RLS by the partition into folds, positives as many as printed."""
    from everypair.metrics import auc_score

    X, train, test = main.words_of(params["draw"], params["words"])
    out: Found = {}
    for topic in params["topics"]:
        about = stories().about(topic)
        shuffled = np.random.default_rng(params["draw"]).permutation(train[about[train]])
        kept = np.setdiff1d(train, shuffled[main.PRINTED[topic][6] :])
        K, K_test = (X[kept] @ X[kept].T).toarray(), (X[test] @ X[kept].T).toarray()
        out[topic] = []
        for seed in range(N_PARTITIONS):
            splitter = StratifiedKFold(main.N_FOLDS, shuffle=True, random_state=seed)
            folds = list(splitter.split(K, about[kept]))
            scores = main.rls(K, K_test, about[kept], folds, constant=False)
            out[topic].append(round(auc_score(about[test], scores), 5))
    return out


def write_weights(page: PaperPage, by_words: dict[str, list[Found]], order: list[str]) -> None:
    """Levels and error bars by the weights of words; then topic by topic the nearest ones."""
    rows, far = [], {}
    for words, found in by_words.items():
        row = [words, str(len(found))]
        counts = [sum(_beyond(found, t, method) for t in order) for method in PRINTED_AT]
        far[words] = sum(counts)
        for (method, k), count in zip(PRINTED_AT.items(), counts, strict=True):
            gap = np.array([_aucs(found, t, method).mean() - main.PRINTED[t][k] for t in order])
            row += [f"{gap.mean():+.3f}, {np.abs(gap).mean():.3f}", str(count)]
        kept = [_aucs(found, t, "AUC-RLS") - _aucs(found, t, "RLS") for t in order]
        in_mean = sum(gain.mean() >= 0 for gain in kept)
        row.append(f"{in_mean}; {np.mean([gain >= 0 for gain in kept]):.1%}")
        lead = [
            float(np.mean(_aucs(found, t, "RLS with constant") - _aucs(found, t, "AUC-RLS")))
            for t in order
        ]
        row.append(f"{np.mean(lead):+.3f}, {sum(gain > 0 for gain in lead)}")
        rows.append(row)
    header = ["words", "draws", "AUC-RLS less print, distance", "topics beyond",
              "RLS less print, distance", "topics beyond",
              "topics with AUC-RLS at least as good as RLS; of all draws",
              "RLS with constant less AUC-RLS, topics ahead"]  # fmt: skip
    page.add(
        "Added: how words are weighed",
        table(header, rows),
        f"Means over the {len(order)} topics: of the difference, and of its absolute value. "
        "Beyond: the printed interval and our mean ± 2 standard deviations do not meet.",
    )
    nearest = min(far, key=lambda words: far[words])
    found = by_words[nearest]
    rows = []
    for topic in order:
        row = [topic]
        for method, k in PRINTED_AT.items():
            mark = " (beyond)" if _beyond(found, topic, method) else ""
            row.append("{:.3f} ({:.3f}-{:.3f})".format(*main.PRINTED[topic][k : k + 3]))
            row.append(mean_sd(_aucs(found, topic, method)) + mark)
        rows.append([*row, mean_sd(_aucs(found, topic, "RLS with constant"))])
    header = ["topic", "AUC-RLS, paper", "AUC-RLS", "RLS, paper", "RLS", "RLS with constant"]
    page.add(
        f"Added: Table 1 again, words as {nearest}, {len(found)} draws",
        table(header, rows),
        "The way of weighing that has the fewest topics beyond the error bars.",
    )


def write_positives(
    page: PaperPage, cells: list[tuple[Params, Found]], by_words: dict[str, list[Found]]
) -> None:
    """How often RLS lands in the printed interval with as many positives as the paper."""
    rows = []
    found = [f for _, f in cells]
    words = cells[0][0]["words"]
    for topic in cells[0][0]["topics"]:
        auc, low, high = main.PRINTED[topic][3:6]
        ours = [f[topic] for f in by_words.get(words, [])]
        fewer = np.array([f[topic] for f in found])
        inside = (fewer >= low) & (fewer <= high)
        rows.append([
            topic, f"{auc:.3f} ({low:.3f}-{high:.3f})", str(main.PRINTED[topic][6]),
            f"{np.mean([f['positives'] for f in ours]):.0f}" if ours else "-",
            mean_sd([f["RLS"][0] for f in ours]), mean_sd(fewer.ravel()),
            f"{fewer.min():.3f} to {fewer.max():.3f}",
            f"{inside.mean():.0%}; {inside.any(axis=1).sum()} of {len(found)} draws",
        ])  # fmt: skip
    header = ["topic", "RLS, paper", "positives, paper", "positives, ours", "RLS, ours",
              "RLS, positives as in the paper", "least and largest",
              "within the printed interval"]  # fmt: skip
    page.add(
        f"Added: RLS with as many positives as the paper has, words as {words}",
        table(header, rows),
        f"{len(found)} draws, {N_PARTITIONS} partitions into folds each; surplus positives are "
        "left out at random. Lambda by the folds. Last column: of all partitions; draws with one "
        "of them at least.",
    )


def write(page: PaperPage, cells: list[tuple[Params, Found]]) -> None:
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
