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
from harness import Page, best_time, growth_exponent, markdown_table
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
"""Test rows, at most, as a share of the training rows."""

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


def splits(X, y, n_splits, rows):
    n_train = min(rows, 2 * y.size // 3)
    n_test = min(y.size - n_train, int(TEST_SHARE * n_train))
    cut = StratifiedShuffleSplit(n_splits, train_size=n_train, test_size=n_test, random_state=0)
    for train, test in cut.split(np.zeros(y.size), y):
        parts = [X[part].toarray() if sparse.issparse(X) else X[part] for part in (train, test)]
        scaler = StandardScaler().fit(parts[0])
        yield scaler.transform(parts[0]), y[train], scaler.transform(parts[1]), y[test]


def run(name, X, y, methods, n_splits, rows, cache):
    """``{method: [(auc, seconds), ...]}`` over the splits."""
    key = f"{name}|{rows}|{n_splits}"
    done = cache.setdefault(key, {})
    for k, (X_train, y_train, X_test, y_test) in enumerate(splits(X, y, n_splits, rows)):
        for method, make in methods.items():
            results = done.setdefault(method, [])
            if len(results) > k:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make()
                began = time.process_time()
                model.fit(X_train, y_train)
                seconds = time.process_time() - began
            auc = roc_auc_score(y_test, model.decision_function(X_test))
            results.append([float(auc), seconds])
        yield
    done["sizes"] = [len(y_train), len(y_test)]


def corrected_t(differences, n_train, n_test):
    """Two-sided p of the mean difference over random splits (Nadeau & Bengio 2003)."""
    differences = np.asarray(differences)
    n = differences.size
    variance = differences.var(ddof=1) * (1 / n + n_test / n_train)
    if variance == 0:
        return 1.0
    return float(2 * stats.t.sf(abs(differences.mean()) / np.sqrt(variance), n - 1))


def verdict(ours, theirs, sizes):
    mean = np.mean(np.subtract(ours, theirs))
    p = corrected_t(np.subtract(ours, theirs), *sizes)
    mark = (
        ("**win**" if mean > 0 else "**loss**") if p < 0.05 else "ahead" if mean > 0 else "behind"
    )
    return f"{mean:+.4f}, {mark} ({p:.2f})", mark


def compare(page, args, cache):
    rows, marks = [], []
    for name, X, y in tasks(args.tasks):
        for _ in run(name, X, y, METHODS, args.splits, args.rows, cache):
            save(args, cache)
        done = cache[f"{name}|{args.rows}|{args.splits}"]
        auc = {m: [r[0] for r in done[m]] for m in METHODS}
        seconds = {m: np.mean([r[1] for r in done[m]]) for m in METHODS}
        against = [
            verdict(auc["RankOptCV"], auc[m], done["sizes"]) for m in ("logistic", "pairwise")
        ]
        marks.append((y.mean() < 0.05, *(mark for _, mark in against)))
        rows.append(
            [name, f"{done['sizes'][0]}", f"{100 * y.mean():.1f}"]
            + [f"{np.mean(auc[m]):.4f}" for m in METHODS]
            + [text for text, _ in against]
            + [f"{seconds['RankOptCV'] / seconds['logistic']:.1f}",
               f"{seconds['RankOpt'] / seconds['logistic, C = 1']:.1f}"]
        )  # fmt: skip
        print(rows[-1], flush=True)
    header = ["task", "rows", "% positive", *METHODS, "RankOptCV - logistic",
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
        + "\n\n*Win* and *loss*: p < 0.05 in the corrected resampled t-test.",
    )


def psf(page, args, cache):
    methods = {
        f"linear, PSF {k}": lambda k=k: RankOpt(
            pairs="linear", n_subfolds=k, tol=1e-4, max_iter=300, random_state=0
        )
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


def growth(page, args, cache):
    text = []
    for pairs in ("all", "linear"):
        # Steps are fixed: what grows is the price of one.
        make = lambda pairs=pairs: RankOpt(  # noqa: E731
            pairs=pairs, n_subfolds=1, saturation=(0.5,), max_iter=10, tol=1e-12, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sizes, seconds, table = [10**4, 10**5, 10**6], [], []
            for n in sizes:
                X, y = simulated(n, 20)
                model = make()
                took = best_time(lambda model=model, X=X, y=y: model.fit(X, y), 2)
                seconds.append(took / max(1, model.n_iter_))
                table.append([f"{n:,} x 20", f"{seconds[-1] / seconds[0]:.2f}"])
            in_rows = growth_exponent(sizes, seconds)
            sizes, seconds = [25, 50, 100, 200], []
            for p in sizes:
                X, y = simulated(50_000, p)
                model = make()
                took = best_time(lambda model=model, X=X, y=y: model.fit(X, y), 2)
                seconds.append(took / max(1, model.n_iter_))
                table.append([f"50,000 x {p}", f"{seconds[-1] / seconds[0]:.2f}"])
            in_columns = growth_exponent(sizes, seconds)
        text.append(
            f'`pairs="{pairs}"`\n\n'
            + markdown_table(["size", "time of a step, times the first"], table)
            + f"\n\nTime grows with rows to the power {in_rows:.2f} and with columns to the power "
            f"{in_columns:.2f}."
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
