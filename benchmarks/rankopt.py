"""RankOpt beside logistic regression and the pairwise logistic loss, on public data.

python benchmarks/rankopt.py                     print the tables
python benchmarks/rankopt.py --write             ... and keep them in docs/benchmarks/rankopt.md
python benchmarks/rankopt.py --only tasks psf growth
python benchmarks/rankopt.py --rows 4000 --splits 10 --cache results.json

Reads the data sets from ``$EVERYPAIR_DATA``. ``--cache`` keeps finished splits in a JSON file,
so that a run may be interrupted.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from harness import Page, growth_exponent, markdown_table
from scipy import sparse, stats
from shared_tasks import tasks
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifier, RankOpt, RankOptCV

CS = 10.0 ** np.arange(-5, 2)
ALPHAS = 10.0 ** np.arange(-5, 2)
TEST_SHARE = 0.5
"""Test rows, at most, as a share of the training rows, where splits overlap."""

DISJOINT_ROWS, MOST_TEST_ROWS = 3000, 20_000
"""Splits share no row where each has so many training rows and half as many to test."""

PSF_TASKS = ("w8a", "covtype 5", "letter B", "satimage 4")


def folds():
    return StratifiedKFold(3, shuffle=True, random_state=0)


def search(model, grid):
    return GridSearchCV(model, grid, scoring="roc_auc", cv=folds())


METHODS = {
    "logistic": lambda: search(
        LogisticRegression(class_weight="balanced", max_iter=500), {"C": CS}
    ),
    "pairwise": lambda: search(AUCClassifier(tol=1e-4), {"alpha": ALPHAS}),
    "RankOptCV": lambda: RankOptCV(cv=folds()),
    "RankOpt": RankOpt,
    "logistic, C = 1": lambda: LogisticRegression(class_weight="balanced", max_iter=500),
}


def cuts(y, n_splits, rows):
    """Train and test rows of each split, and how much the splits overlap (0 or n_test / n_train).

    Where there are rows enough, every split has rows of its own, as in the paper: the splits
    are independent. Else rows are drawn anew for each.
    """
    n_train = min(rows, 2 * y.size // 3)
    if y.size >= 1.5 * n_splits * DISJOINT_ROWS:
        shuffled = np.random.default_rng(0).permutation(y.size)
        blocks = np.array_split(shuffled, n_splits)
        n_train = min(rows, 2 * blocks[-1].size // 3)
        most = slice(n_train, n_train + MOST_TEST_ROWS)
        return [(block[:n_train], block[most]) for block in blocks], 0.0
    n_test = min(y.size - n_train, int(TEST_SHARE * n_train))
    cut = StratifiedShuffleSplit(n_splits, train_size=n_train, test_size=n_test, random_state=0)
    return list(cut.split(np.zeros(y.size), y)), n_test / n_train


def prepared(X, train, test):
    parts = [X[part].toarray() if sparse.issparse(X) else X[part] for part in (train, test)]
    scaler = StandardScaler().fit(parts[0])
    return [scaler.transform(part) for part in parts]


def run(name, X, y, methods, n_splits, rows, cache):
    """``{method: [(auc, seconds), ...]}`` over the splits."""
    key = f"{name}|{rows}|{n_splits}"
    done = cache.setdefault(key, {})
    all_cuts, overlap = cuts(y, n_splits, rows)
    done["sizes"] = [*map(len, all_cuts[-1]), overlap]
    for k, (train, test) in enumerate(all_cuts):
        X_train, X_test = prepared(X, train, test)
        for method, make in methods.items():
            results = done.setdefault(method, [])
            if len(results) > k:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make()
                began = time.process_time()
                model.fit(X_train, y[train])
                seconds = time.process_time() - began
            auc = roc_auc_score(y[test], model.decision_function(X_test))
            results.append([float(auc), seconds])
        yield


def corrected_t(differences, overlap):
    """Two-sided p of the mean difference over splits that overlap (Nadeau & Bengio 2003)."""
    differences = np.asarray(differences)
    n = differences.size
    variance = differences.var(ddof=1) * (1 / n + overlap)
    if variance == 0:
        return 1.0
    return float(2 * stats.t.sf(abs(differences.mean()) / np.sqrt(variance), n - 1))


def verdict(ours, theirs, overlap):
    mean = np.mean(np.subtract(ours, theirs))
    p = corrected_t(np.subtract(ours, theirs), overlap)
    names = ("**win**", "**loss**") if p < 0.05 else ("ahead", "behind")
    mark = names[0] if mean > 0 else names[1]
    return f"{mean:+.4f}, {mark} ({p:.2f})", mark


def compare(page, args, cache):
    rows, marks = [], []
    for name, X, y in tasks(args.tasks):
        for _ in run(name, X, y, METHODS, args.splits, args.rows, cache):
            save(args, cache)
        done = cache[f"{name}|{args.rows}|{args.splits}"]
        auc = {m: [r[0] for r in done[m]] for m in METHODS}
        seconds = {m: np.mean([r[1] for r in done[m]]) for m in METHODS}
        n_train, n_test, overlap = done["sizes"]
        against = [verdict(auc["RankOptCV"], auc[m], overlap) for m in ("logistic", "pairwise")]
        marks.append((y.mean() < 0.05, *(mark for _, mark in against)))
        rows.append(
            [name, f"{n_train} / {n_test}{'' if overlap else ' *'}", f"{100 * y.mean():.1f}"]
            + [f"{np.mean(auc[m]):.4f}" for m in METHODS]
            + [text for text, _ in against]
            + [f"{seconds['RankOptCV'] / seconds['logistic']:.1f}",
               f"{seconds['RankOpt'] / seconds['logistic, C = 1']:.1f}"]
        )  # fmt: skip
        print(rows[-1], flush=True)
    header = ["task", "train / test rows", "% positive", *METHODS, "RankOptCV - logistic",
              "RankOptCV - pairwise", "time CV / search", "time RankOpt / logistic"]  # fmt: skip
    page.add(
        f"Test AUC, {args.splits} splits, at most {args.rows:,} training rows",
        markdown_table(header, rows),
    )
    summary = []
    for group, wanted in (("all tasks", (True, False)), ("fewer than 5 % positives", (True,))):
        chosen = [m for m in marks if m[0] in wanted]
        for k, other in ((1, "logistic"), (2, "pairwise")):
            counts = [
                sum(m[k] == kind for m in chosen)
                for kind in ("**win**", "ahead", "behind", "**loss**")
            ]
            summary.append([group, other, *(str(c) for c in counts)])
    page.add(
        "Wins and losses",
        markdown_table(["tasks", "against", "win", "ahead", "behind", "loss"], summary)
        + "\n\n*Win* and *loss*: p < 0.05 in the corrected resampled t-test (Nadeau & Bengio "
        "2003), in the ordinary paired one where splits share no row (marked *).",
    )


def psf(page, args, cache):
    methods = {
        f"linear, PSF {k}": lambda k=k: RankOpt(pairs="linear", n_subfolds=k, random_state=0)
        for k in (1, 2, 3)
    }
    methods["all"] = RankOpt
    rows = []
    for name, X, y in tasks(list(PSF_TASKS)):
        for _ in run(f"psf {name}", X, y, methods, args.splits, args.rows, cache):
            save(args, cache)
        done = cache[f"psf {name}|{args.rows}|{args.splits}"]
        base = np.mean([r[1] for r in done["linear, PSF 1"]])
        rows.append(
            [name]
            + [f"{np.mean([r[0] for r in done[m]]):.4f}" for m in methods]
            + [f"{np.mean([r[1] for r in done[m]]) / base:.2f}" for m in methods]
        )
    header = ["task", *methods, *(f"time {m}" for m in methods)]
    page.add(
        f"Sub-folds and every pair: test AUC, {args.splits} splits; time as multiples of PSF 1",
        markdown_table(header, rows),
    )


def simulated(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    signal = X @ rng.standard_normal(n_columns).astype(np.float32) / np.sqrt(n_columns)
    signal += rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 0.9)


def step_price(pairs, n_rows, n_columns):
    """Processor seconds of one step of a climb, the least of three fits.

    The number of steps is fixed: what grows is the price of one.
    """
    X, y = simulated(n_rows, n_columns)
    prices = []
    for _ in range(3):
        model = RankOpt(
            pairs=pairs, n_subfolds=1, saturation=0.5, max_iter=10, tol=1e-12, random_state=0
        )
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        prices.append((time.process_time() - began) / max(1, model.n_iter_))
    return min(prices)


def growth(page, args, cache):
    text = []
    for pairs in ("all", "linear"):
        step_price(pairs, 1000, 5)  # compile
        rows, columns = [10**4, 10**5, 10**6], [50, 100, 200, 400]
        by_rows = [step_price(pairs, n, 20) for n in rows]
        by_columns = [step_price(pairs, 20_000, p) for p in columns]
        table = [
            [f"{n:,} x 20", f"{price / by_rows[0]:.2f}"]
            for n, price in zip(rows, by_rows, strict=True)
        ] + [
            [f"20,000 x {p}", f"{price / by_columns[0]:.2f}"]
            for p, price in zip(columns, by_columns, strict=True)
        ]
        text.append(
            f'`pairs="{pairs}"`\n\n'
            + markdown_table(["size", "price of a step, times the first"], table)
            + f"\n\nIt grows with rows to the power {growth_exponent(rows, by_rows):.2f} and with "
            f"columns to the power {growth_exponent(columns, by_columns):.2f}."
        )
    page.add("Growth", "\n\n".join(text))


def save(args, cache):
    if args.cache:
        args.cache.write_text(json.dumps(cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = {"tasks": compare, "psf": psf, "growth": growth}
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--tasks", nargs="+", help="names of tasks; all when left out")
    parser.add_argument("--rows", type=int, default=12_000, help="training rows at most")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--cache", type=Path, help="JSON file of finished splits")
    parser.add_argument("--write", action="store_true", help="keep the tables in the docs")
    args = parser.parse_args()
    cache = json.loads(args.cache.read_text()) if args.cache and args.cache.exists() else {}
    page = Page(
        "rankopt",
        "RankOpt beside logistic regression and the pairwise logistic loss",
        "Made by `benchmarks/rankopt.py`. Features are standardised on the training rows. "
        "`logistic` (class weights balanced, C from 1e-5 to 10) and `pairwise` (`AUCClassifier`, "
        "alpha from 1e-5 to 10) are tuned by the AUC of the same three folds that `RankOptCV` "
        "uses; `RankOpt` and `logistic, C = 1` are not tuned. Times are of the processor, "
        "on this machine, one run.",
    )
    for section in args.only:
        sections[section](page, args, cache)
    if args.write:
        page.write()


if __name__ == "__main__":
    main()
