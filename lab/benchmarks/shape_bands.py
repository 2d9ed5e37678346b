"""Do the 95 % bands of `shape_inference` cover the curves in 95 % of all data sets?

python -m lab bench shape_bands [--repetitions 500] [--lines 0 1] [--cache bands.json] [--write]
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from everypair import AUCAdditive, shape_inference
from lab.harness import Page, markdown_table

POPULATION = 200_000

INTRO = f"""Made by `python -m lab bench shape_bands --write`. A line is a population; each of its
data sets is fitted, and the 95 % bands of every curve are compared with the curve of the same fit,
with the same alpha, on {POPULATION:,} rows of the population. `each bin`: the share of bins inside
the pointwise band, for the column with the least and the one with the most. `whole curve`: the
share of curves that lie inside the simultaneous band at every bin. `log-odds`: as `each bin`, but
of the curves of the log-odds themselves, where the population has them. The standard error is 1.5
points at 95 % over 200 data sets for whole curves, less for bins. Populations:

- smooth: a wave, a straight line and a column that does nothing, all with 128 bins;
- counts: the same with eight distinct values each;
- bent: log-odds with a product and a step, so no additive score is right;
- groups: ten rows per group that share part of their columns and of the noise; the bands are given
  the groups;
- weights: rows are drawn with unequal chances and weighted by their inverse;
- gaps: a fifth of the first column's values is missing."""


def smooth(rng, n):
    X = np.column_stack([rng.random(n), rng.standard_normal(n), rng.random(n)])
    return X, wave(X), None, None


def wave(X):
    return 1.5 * np.sin(2 * np.pi * X[:, 0]) + 0.8 * X[:, 1]


def counts(rng, n):
    X = rng.integers(0, 8, (n, 3)).astype(float)
    return X, np.sin(X[:, 0]) + 0.2 * X[:, 1], None, None


def bent(rng, n):
    X = rng.random((n, 3))
    return X, 3 * X[:, 0] * X[:, 1] + 2 * (X[:, 2] > X[:, 0]), None, None


def groups(rng, n):
    of = np.arange(n) // 10
    shared = rng.standard_normal((n // 10 + 1, 4))[of]
    X = 0.7 * rng.standard_normal((n, 3)) + 0.7 * shared[:, :3]
    return X, np.sin(2 * X[:, 0]) + 0.8 * X[:, 1] + shared[:, 3], of, None


def weights(rng, n):
    X = np.column_stack([rng.random(3 * n), rng.standard_normal(3 * n), rng.random(3 * n)])
    weight = 1 + 4 * (X[:, 1] > 0.5)
    kept = np.flatnonzero(rng.random(3 * n) < 1 / weight)[:n]
    return X[kept], wave(X[kept]), None, weight[kept].astype(float)


def gaps(rng, n):
    X, signal, _, _ = smooth(rng, n)
    X[rng.random(n) < 0.2, 0] = np.nan
    return X, signal, None, None


KINDS = {f.__name__: f for f in (smooth, counts, bent, groups, weights, gaps)}
LINES = [
    ("smooth", 500, 0.0, 1e-3), ("smooth", 2000, 0.0, 1e-3), ("smooth", 2000, 0.0, 1e-5),
    ("smooth", 4000, -3.0, 1e-3), ("counts", 500, 0.0, 1e-3), ("counts", 2000, -2.0, 1e-4),
    ("bent", 1000, -1.5, 1e-3), ("groups", 2000, 0.0, 1e-3), ("weights", 1000, 0.0, 1e-3),
    ("weights", 1000, 0.0, 1e-5), ("weights", 4000, 0.0, 1e-3),
    ("gaps", 1000, 0.0, 1e-3),
]  # fmt: skip
"""Population, rows, the constant of the log-odds, alpha."""
TRUTH = {
    "smooth": [lambda x: 1.5 * np.sin(2 * np.pi * x), lambda x: 0.8 * x, lambda x: 0 * x],
    "counts": [np.sin, lambda x: 0.2 * x, lambda x: 0 * x],
}


def draw(name, n, constant, rng):
    X, signal, of, weight = KINDS[name](rng, n)
    return X, signal + constant + rng.logistic(size=len(X)) > 0, of, weight


def centred(values, shape):
    """As the model's curves: the mean over the rows that have a value is zero."""
    held = shape.counts[:-1]
    return values - held @ values / held.sum()


def line(name, n, constant, alpha, repetitions):
    rng = np.random.default_rng(7)
    X, y, _, weight = draw(name, POPULATION, constant, rng)
    target = AUCAdditive(alpha=alpha).fit(X, y, sample_weight=weight)
    each, whole, true, positives = [], [], [], []
    for _ in range(repetitions):
        X, y, of, weight = draw(name, n, constant, rng)
        model = AUCAdditive(alpha=alpha).fit(X, y, sample_weight=weight)
        bands = shape_inference(model, X, y, weight, groups=of)
        positives.append(y.sum())
        inside, at_once, of_truth = [], [], []
        for j, (band, shape) in enumerate(zip(bands, model.shapes_, strict=True)):
            of_all = target.shapes_[j]
            aim = np.interp(shape.centres, of_all.centres, target.curves_[j][:-1])
            aim = centred(aim, shape)
            low, high = band.low[:-1], band.high[:-1]
            inside.append(np.mean((low <= aim) & (aim <= high)))
            at_once.append(np.all((band.all_low[:-1] <= aim) & (aim <= band.all_high[:-1])))
            if name in TRUTH:
                aim = centred(TRUTH[name][j](shape.centres), shape)
                of_truth.append(np.mean((low <= aim) & (aim <= high)))
        each.append(inside)
        whole.append(at_once)
        true.append(of_truth)

    def spread(found):
        shares = 100 * np.mean(found, axis=0)
        return f"{shares.min():.1f}–{shares.max():.1f} %" if shares.size else ""

    return [
        name, f"{n:,}", f"{np.mean(positives):.0f}", f"{alpha:g}", spread(each), spread(whole),
        spread(true),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--lines", type=int, nargs="*", default=list(range(len(LINES))))
    parser.add_argument("--cache", type=Path, default=Path("shape_bands.json"))
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    done = json.loads(given.cache.read_text()) if given.cache.exists() else {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in given.lines:
            key = f"{LINES[number]}|{given.repetitions}"
            if key not in done:
                done[key] = line(*LINES[number], given.repetitions)
                given.cache.write_text(json.dumps(done))
            print(*done[key], flush=True)
    page = Page("shape_bands", "Bands of curves", INTRO)
    header = ["population", "rows", "positives", "alpha", "each bin", "whole curve", "log-odds"]
    rows = [done[key] for line in LINES if (key := f"{line}|{given.repetitions}") in done]
    page.add(
        f"Coverage over {given.repetitions:,} data sets per line", markdown_table(header, rows)
    )
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
