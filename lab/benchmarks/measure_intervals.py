"""Coverage of the 95 % interval of a measure over folds, with and without the training rows' part.

    python -m lab bench measure_intervals [--repetitions 200]

Each line: so many data sets of one kind, a logistic regression or trees on five folds, the
interval of `compare --measure`. It should hold the mean of the values over all data sets of the
kind, which the value of one data set is an unbiased estimate of.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from everypair.app.comparison import by_measure
from everypair.app.comparison.judge import area_over_folds
from everypair.app.comparison.typed_measure import parse_measure
from everypair.rows import Rows
from lab.harness import Page, markdown_table

KINDS = {
    "noise, 150 rows": (150, 6, 0.0),
    "weak signal, 150 rows": (150, 6, 0.5),
    "clear signal, 150 rows": (150, 6, 1.5),
    "clear signal, 500 rows": (500, 6, 1.5),
}
MODELS = {
    "logistic": LogisticRegression,
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
}
MEASURES = ("f1", "recall@fpr=0.1", "average-precision")
INTRO = """\
Made by `python -m lab bench measure_intervals`: the share of data sets whose 95 % interval of
`compare --measure` holds the mean of the values over all data sets of the kind ({repetitions} a
line; five folds, once; 30 % positives, 6 features). `rows alone`: a bootstrap of the test rows, the
models held fixed. `with training rows`: widened by what the models of two folds disagree."""


def one(n_rows: int, n_features: int, signal: float, model: Any, seed: int) -> dict[str, Any]:
    """Of each measure: the value and both intervals."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = signal * X[:, 0] + rng.logistic(size=n_rows) > np.log(7 / 3) * (1 + signal / 4)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    scores, seen = np.empty(n_rows), np.empty(n_rows)
    for k, (train, test) in enumerate(folds):
        fitted = model().fit(X[train], y[train])
        before = folds[k - 1][1]
        scores[test] = fitted.predict_proba(X[test])[:, 1]
        seen[before] = fitted.predict_proba(X[before])[:, 1]
    area = area_over_folds(y, [folds], [scores], [seen], None, None)
    out = {}
    for typed in MEASURES:
        found = by_measure.judge(
            parse_measure(typed).of(Rows.of(y)), y, [folds], {"m": [scores]},
            seen={"m": [seen]}, kappas={"m": area.kappa},
        )["m"]  # fmt: skip
        plain = replace(found, kappa=0.0)
        out[typed] = found.value, plain.interval(), found.interval()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--draws", type=int, default=150, help="bootstrap samples of each")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    by_measure.DRAWS = options.draws
    lines = []
    with threadpool_limits(1):
        for kind, (n_rows, n_features, signal) in KINDS.items():
            for name, model in MODELS.items():
                found = [
                    one(n_rows, n_features, signal, model, seed)
                    for seed in range(options.repetitions)
                ]
                for typed in MEASURES:
                    truth = np.mean([each[typed][0] for each in found])
                    cover = [
                        np.mean([e[typed][k][0] <= truth <= e[typed][k][1] for e in found])
                        for k in (1, 2)
                    ]
                    lines.append([kind, name, typed, *(f"{100 * c:.1f} %" for c in cover)])
                    print(*lines[-1], flush=True)
    page = Page(
        "measure_intervals", "Intervals of a measure over folds",
        INTRO.format(repetitions=options.repetitions),
    )  # fmt: skip
    header = ["data", "model", "measure", "rows alone", "with training rows"]
    page.add("Coverage", markdown_table(header, lines))
    if options.write:
        page.write()


if __name__ == "__main__":
    main()
