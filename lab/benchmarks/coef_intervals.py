"""Do the 95 % intervals of `coef_inference` cover in 95 % of all data sets?

    python -m lab bench coef_intervals [--repetitions 2000] [--write]

The target of a line is the minimiser of the same objective, with the same alpha, on 300,000 rows.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from everypair import AUCClassifier, coef_inference
from lab.harness import Page, markdown_table

INTRO = """Made by `python -m lab bench coef_intervals --write`. A line is a population; each of
its data sets is fitted, and the 95 % interval of every coefficient is compared with the minimiser
of the same objective, with the same alpha, on 300,000 rows of the population. `coverage` is the
least and the largest over the coefficients; its standard error is 0.5 points at 95 % over 2,000
data sets. `size / truth` is the mean standard error over the standard deviation of the estimates,
the least and the largest over the coefficients. Populations:

- linear: five normal columns, log-odds linear in them;
- bent: the same columns, log-odds with squares and a product, so no linear ranking is right;
- binary: eight sparse columns of 0 and 1, some of them rare;
- heavy: five columns with t distributions of three degrees of freedom;
- groups: ten rows per group that share part of their columns and of the noise; the intervals are
  given the groups;
- weights: the rows of one class are drawn with unequal chances and weighted by their inverse."""

ALPHA = 1e-4
POPULATION = 300_000


def linear(rng, n):
    X = rng.standard_normal((n, 5))
    return X, X @ [1.0, -0.7, 0.5, 0.0, 0.2], None, None


def bent(rng, n):
    X = rng.standard_normal((n, 5))
    return X, X[:, 0] + X[:, 1] ** 2 - X[:, 2] * X[:, 3] + 0.3 * X[:, 4], None, None


def binary(rng, n):
    X = (rng.random((n, 8)) < [0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.3, 0.5]).astype(float)
    return X, X @ [1.0, -1.0, 0.5, 1.0, 1.0, -0.5, 0.0, 0.0], None, None


def heavy(rng, n):
    X = rng.standard_t(3, (n, 5))
    return X, X @ [0.6, -0.4, 0.3, 0.0, 0.1], None, None


def groups(rng, n):
    of = np.arange(n) // 10
    shared = rng.standard_normal((n // 10 + 1, 6))[of]
    X = 0.7 * rng.standard_normal((n, 5)) + 0.7 * shared[:, :5]
    return X, X @ [1.0, -0.7, 0.5, 0.0, 0.2] + shared[:, 5], of, None


def weights(rng, n):
    # Kept with a chance of 1 / weight: what is left, weighted, is the population again.
    X = rng.standard_normal((3 * n, 5))
    weight = 1 + 4 * (X[:, 0] > 0.5)
    kept = np.flatnonzero(rng.random(3 * n) < 1 / weight)[:n]
    return X[kept], X[kept] @ [1.0, -0.7, 0.5, 0.0, 0.2], None, weight[kept].astype(float)


POPULATIONS = {f.__name__: f for f in (linear, bent, binary, heavy, groups, weights)}

LINES = [
    ("linear", 200, 0.0), ("linear", 1000, 0.0), ("linear", 1000, -2.5), ("linear", 5000, -3.5),
    ("bent", 200, -1.0), ("bent", 1000, -1.0), ("binary", 400, 0.0), ("binary", 2000, -2.0),
    ("heavy", 1000, 0.0), ("groups", 1000, 0.0), ("groups", 4000, -2.0), ("weights", 1000, 0.0),
]  # fmt: skip
"""Population, rows, and the constant of the log-odds: the more below zero, the rarer positives."""


def draw(name, n, constant, rng):
    X, signal, of, weight = POPULATIONS[name](rng, n)
    return X, signal + constant + rng.logistic(size=len(X)) > 0, of, weight


def line(name, n, constant, repetitions):
    rng = np.random.default_rng(7)
    X, y, _, weight = draw(name, POPULATION, constant, rng)
    target = AUCClassifier(alpha=ALPHA).fit(X, y, sample_weight=weight).coef_[0]
    inside, errors, estimates, positives = [], [], [], []
    while len(estimates) < repetitions:
        X, y, of, weight = draw(name, n, constant, rng)
        model = AUCClassifier(alpha=ALPHA).fit(X, y, sample_weight=weight)
        table = coef_inference(model, X, y, weight, groups=of)
        inside.append((table.low <= target) & (target <= table.high))
        errors.append(table.std_error)
        estimates.append(table.coef)
        positives.append(y.sum())
    coverage = 100 * np.mean(inside, axis=0)
    size = np.mean(errors, axis=0) / np.std(estimates, axis=0)
    return [
        name, f"{n:,}", f"{np.mean(positives):.0f}", f"{coverage.min():.1f}–{coverage.max():.1f} %",
        f"{size.min():.2f}–{size.max():.2f}",
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    page = Page("coef_intervals", "Intervals of coefficients", INTRO)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = []
        for name, n, constant in LINES:
            rows.append(line(name, n, constant, given.repetitions))
            print(*rows[-1], flush=True)
    page.add(
        f"Coverage over {given.repetitions:,} data sets per line",
        markdown_table(["population", "rows", "positives", "coverage", "size / truth"], rows),
    )
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
