"""What a cut by training scores costs in truth, and a cut by out-of-fold scores in time.

    python -m lab bench cuts [--fits 200] [--only optimism] [--write]

``--only`` is one of optimism, time. ``--write`` makes docs/benchmarks/cuts.md.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from everypair import AUCRLS, AUCClassifier, RankOpt
from everypair.estimators._cross_fit import ROWS_PER_COLUMN
from everypair.metrics import threshold_for
from lab.harness import Page, markdown_table

INTRO = f"""Made by `python -m lab bench cuts --write`. An estimator that chooses its cut from the
data uses out-of-fold scores. Only a linear model with {ROWS_PER_COLUMN} or more rows of the rarer
class per column, and the default rule "balanced", use training scores.

**Optimism.** Normal features, the class means apart in three of them. What is achieved on new rows
is known from the coefficients. A recall of 0.9 and a false positive rate of 0.05 were asked for.
"Training" is the cut of the training scores, "folds" that of five folds (`cv=5`). The bound was
chosen on tables of 5 and 20 columns and on other seeds. The last column is the standard deviation
over fits of the recall by folds.

**Time.** Processor time of a fit on one thread, as a multiple of
`LogisticRegression(class_weight="balanced")` on the same table in the same run; the best of five,
on a busy machine. The default cuts by training scores; "f1" by folds, except on the first table,
which has 80 rows of the rarer class per column."""


def drawn(rng, n_rare, share, p, auc):
    """X, which rows are positive, and the mean of the positives less that of the negatives."""
    mean = np.zeros(p)
    mean[: min(3, p)] = np.sqrt(2) * ndtri(auc) / np.sqrt(min(3, p))
    y = np.arange(round(n_rare / share)) < n_rare
    X = rng.standard_normal((y.size, p))
    X[y] += mean
    return X[(order := rng.permutation(y.size))], y[order], mean


def achieved(w, cut, mean):
    """Recall and false positive rate of ``Xw > cut`` on new rows."""
    length = np.linalg.norm(w)
    return ndtr((w @ mean - cut) / length), ndtr(-cut / length)


def optimism(n_fits, model, per_column, share, p, auc, seed=41):
    """Mean recall and FPR by training scores and by folds; deviation of the recall by folds."""
    rng = np.random.default_rng([seed, per_column, p, round(100 * share)])
    found = np.empty((n_fits, 4))
    for k in range(n_fits):
        X, y, mean = drawn(rng, per_column * p, share, p, auc)
        plain = model(threshold=0.0).fit(X, y)
        w = plain.coef_[0]
        scores = X @ w
        cuts = [threshold_for(y, scores, recall=0.9), threshold_for(y, scores, fpr=0.05)]
        for asked in ({"recall": 0.9}, {"fpr": 0.05}):
            cuts.append(-float(model(threshold=asked, cv=5).fit(X, y).intercept_[0]))
        found[k] = [achieved(w, cut, mean)[i % 2] for i, cut in enumerate(cuts)]
    return found.mean(axis=0), found[:, 2].std()


def optimism_table(n_fits):
    rows = []
    for name, model in (("AUCClassifier", AUCClassifier), ("RankOpt", RankOpt), ("AUCRLS", AUCRLS)):
        for p, share, auc in ((10, 0.5, 0.75), (10, 0.1, 0.85), (3, 0.3, 0.75)):
            for per_column in (3, 10, 25, 50, 100):
                times = max(10, n_fits // (1 + per_column // 5))
                if name != "AUCClassifier":
                    times = max(10, times // 3)
                means, deviation = optimism(times, model, per_column, share, p, auc)
                rows.append(
                    [name, str(p), f"{share:.0%}", f"{auc:g}", str(per_column), str(times),
                     f"{means[0]:.3f}, {means[2]:.3f}", f"{means[1]:.3f}, {means[3]:.3f}",
                     f"{deviation:.3f}"]
                )  # fmt: skip
    header = ["model", "columns", "positive", "AUC", "rarer rows per column", "fits",
              "recall: training, folds", "FPR: training, folds", "deviation"]  # fmt: skip
    return markdown_table(header, rows)


def seconds(work, times):
    work()  # compiles
    best = np.inf
    for _ in range(times):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best


def by_training(model, X, y, rule="balanced"):
    fitted = model(threshold=0.0).fit(X, y)
    return threshold_for(y, fitted.decision_function(X), rule)


def tables():
    rng = np.random.default_rng(7)
    yield "20,000 x 50, 20 % positive", *drawn(rng, 4000, 0.2, 50, 0.8)[:2]
    yield "20,000 x 50, 2 % positive", *drawn(rng, 400, 0.02, 50, 0.8)[:2]
    yield "2,000 x 100, 20 % positive", *drawn(rng, 400, 0.2, 100, 0.8)[:2]
    yield "300 x 20, 30 % positive", *drawn(rng, 90, 0.3, 20, 0.8)[:2]
    from sklearn.feature_extraction.text import TfidfVectorizer

    from lab.data.reuters import stories

    news = stories()
    texts = [text for text, train in zip(news.texts, news.in_training, strict=True) if train]
    X = TfidfVectorizer(min_df=2).fit_transform(texts)
    y = news.about("acq")[news.in_training]
    name = f"Reuters, {X.shape[0]:,} x {X.shape[1]:,} sparse, {y.mean():.0%} positive"
    yield name, X, y


def time_table(times):
    rows = []
    for name, X, y in tables():
        beside = seconds(
            lambda: LogisticRegression(class_weight="balanced", max_iter=1000).fit(X, y),  # noqa: B023
            times,
        )
        before = seconds(lambda: by_training(AUCClassifier, X, y), times)  # noqa: B023
        now = seconds(lambda: AUCClassifier(threshold="f1").fit(X, y), times)  # noqa: B023
        plain = seconds(lambda: AUCClassifier(threshold=0.0).fit(X, y), times)  # noqa: B023
        rows.append([name, *(f"{t / beside:.2f}" for t in (plain, before, now))])
        print(*rows[-1], flush=True)
    header = [
        "table",
        "`AUCClassifier(threshold=0.0)`",
        "`AUCClassifier()`",
        "`AUCClassifier(threshold='f1')`",
    ]
    return markdown_table(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--only", choices=["optimism", "time"])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    page = Page("cuts", "Cuts by training scores and by out-of-fold scores", INTRO)
    if given.only in (None, "optimism"):
        page.add("Optimism of training scores", optimism_table(given.fits))
    if given.only in (None, "time"):
        page.add("Time of a fit / time of LogisticRegression", time_table(5))
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
