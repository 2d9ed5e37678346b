"""RankOpt beside logistic regression and the pairwise logistic loss, on public data.

python benchmarks/rankopt.py                     print the tables
python benchmarks/rankopt.py --write             ... and keep them in docs/benchmarks/rankopt.md
python benchmarks/rankopt.py --only tasks psf growth
python benchmarks/rankopt.py --rows 4000 --splits 10 --cache results.json
python benchmarks/rankopt.py --cache results.json --cached   tables of the tasks finished so far

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
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifier, RankOpt, RankOptCV
from everypair.data.tasks import names, tasks
from everypair.matrix import as_matrix
from everypair.pairs import Pairs
from everypair.solvers.rank_statistic import AllPairsStatistic
from everypair.solvers.sphere import Sphere, class_covariance, climb_by_lbfgs, climb_path

CS = 10.0 ** np.arange(-5, 2)
ALPHAS = 10.0 ** np.arange(-5, 2)
TEST_SHARE = 0.5
"""Test rows, at most, as a share of the training rows, where splits overlap."""

DISJOINT_SHARE, MOST_TEST_ROWS = 0.8, 20_000
"""Splits share no row where each can have this share of the training rows that are asked for,
and half as many to test."""

WIDE = 400
"""Sparse data of more columns stay sparse; they are scaled but not centred."""

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
    "pairwise, default": AUCClassifier,
}


def cuts(y, n_splits, rows):
    """Train and test rows of each split, and how much the splits overlap (0 or n_test / n_train).

    Where there are rows enough, every split has rows of its own, as in the paper: the splits
    are independent. Else rows are drawn anew for each.
    """
    n_train = min(rows, 2 * y.size // 3)
    if y.size >= 1.5 * n_splits * DISJOINT_SHARE * rows:
        shuffled = np.random.default_rng(0).permutation(y.size)
        blocks = np.array_split(shuffled, n_splits)
        n_train = min(rows, 2 * blocks[-1].size // 3)
        most = slice(n_train, n_train + MOST_TEST_ROWS)
        return [(block[:n_train], block[most]) for block in blocks], 0.0
    n_test = min(y.size - n_train, int(TEST_SHARE * n_train))
    cut = StratifiedShuffleSplit(n_splits, train_size=n_train, test_size=n_test, random_state=0)
    return list(cut.split(np.zeros(y.size), y)), n_test / n_train


def prepared(X, train, test):
    wide = sparse.issparse(X) and X.shape[1] > WIDE
    parts = [X[part] for part in (train, test)]
    if sparse.issparse(X) and not wide:
        parts = [part.toarray() for part in parts]
    scaler = StandardScaler(with_mean=not wide).fit(parts[0])
    return [scaler.transform(part) for part in parts]


def run(name, X, y, methods, n_splits, rows, cache):
    """``{method: [(auc, seconds), ...]}`` over the splits."""
    key = f"{name}|{rows}|{n_splits}"
    done = cache.setdefault(key, {})
    all_cuts, overlap = cuts(y, n_splits, rows)
    done["sizes"] = [*map(len, all_cuts[-1]), overlap]
    done["positive_share"] = float(y.mean())
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
                spent = time.process_time() - began
            scores = model.decision_function(X_test).reshape(len(test), -1)
            auc = max(roc_auc_score(y[test], column) for column in scores.T)
            results.append([float(auc), spent])
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


class BestRadius:
    """`RankOpt` at every radius: what a choice made on the test rows themselves would be worth."""

    def fit(self, X, y):
        matrix, pairs = as_matrix(X), Pairs.of(y)
        sphere, start = Sphere.around(matrix, pairs, y.mean(), class_covariance(matrix, pairs))
        climbs = climb_path(
            sphere, AllPairsStatistic(pairs), start, RankOptCV().saturation, climb_by_lbfgs,
            RankOpt().max_iter, RankOpt().tol,
        )  # fmt: skip
        self.coefs_ = np.column_stack([sphere.scale * step.climb.direction for step in climbs])
        return self

    def decision_function(self, X):
        return X @ self.coefs_


def finished(args, cache, methods):
    """``(name, share of positives, results)`` of each task, run first unless from the cache."""
    wanted = args.tasks or names(also=True)
    for name in wanted:
        key = f"{name}|{args.rows}|{args.splits}"
        if args.cached:
            if all(len(cache.get(key, {}).get(m, [])) == args.splits for m in methods):
                yield name, cache[key]
            continue
        for _, X, y in tasks([name]):
            for _ in run(name, X, y, methods, args.splits, args.rows, cache):
                save(args, cache)
            yield name, cache[key]


def aucs(done, method):
    return [auc for auc, _ in done[method]]


def seconds(done, method):
    return np.mean([spent for _, spent in done[method]])


def opening(name, done):
    n_train, n_test, overlap = done["sizes"]
    share = f"{100 * done['positive_share']:.1f}"
    return [name, f"{n_train} / {n_test}{'' if overlap else ' *'}", share]


def summary(results, comparisons):
    """Wins and losses of each comparison, and one test over the tasks."""
    rows = []
    for group, rare in (("all", False), ("fewer than 5 % positives", True)):
        chosen = [done for done in results if done["positive_share"] < 0.05 or not rare]
        for ours, theirs in comparisons:
            pairs = [(aucs(d, ours), aucs(d, theirs), d["sizes"][2]) for d in chosen]
            marks = [verdict(*pair)[1] for pair in pairs]
            means = [np.mean(np.subtract(a, b)) for a, b, _ in pairs]
            p = stats.wilcoxon(means).pvalue if len(means) > 1 else 1.0
            counts = [marks.count(kind) for kind in ("**win**", "ahead", "behind", "**loss**")]
            rows.append([group, str(len(chosen)), ours, theirs, *map(str, counts), f"{p:.1g}"])
    header = [
        "tasks",
        "number",
        "ours",
        "against",
        "win",
        "ahead",
        "behind",
        "loss",
        "over tasks, p",
    ]
    return markdown_table(header, rows)


def compare(page, args, cache):
    """Tuned against tuned, then against what the competitors are without tuning."""
    results, tuned, untuned = [], [], []
    for name, done in finished(args, cache, METHODS):
        results.append(done)
        overlap, ours = done["sizes"][2], aucs(done, "RankOptCV")
        tuned.append(
            opening(name, done)
            + [f"{np.mean(aucs(done, m)):.4f}" for m in ("logistic", "pairwise", "RankOptCV")]
            + [verdict(ours, aucs(done, m), overlap)[0] for m in ("logistic", "pairwise")]
            + [f"{seconds(done, 'RankOptCV') / seconds(done, 'logistic'):.1f}"]
        )
        defaults = ("logistic, C = 1", "pairwise, default")
        untuned.append(
            [name]
            + [f"{np.mean(aucs(done, m)):.4f}" for m in (*defaults, "RankOpt")]
            + [verdict(aucs(done, "RankOpt"), aucs(done, m), overlap)[0] for m in defaults]
            + [verdict(ours, aucs(done, m), overlap)[0] for m in defaults]
            + [f"{seconds(done, 'RankOpt') / seconds(done, defaults[0]):.1f}"]
        )
    page.add(
        f"Tuned against tuned: test AUC, {args.splits} splits, at most {args.rows:,} training rows",
        markdown_table(
            ["task", "train / test rows", "% positive", "logistic", "pairwise", "RankOptCV",
             "- logistic", "- pairwise", "time CV / search"],
            tuned,
        ),
    )  # fmt: skip
    page.add(
        "Against default settings",
        markdown_table(
            ["task", "logistic, C = 1", "pairwise, default", "RankOpt", "RankOpt - logistic",
             "RankOpt - pairwise", "RankOptCV - logistic", "RankOptCV - pairwise",
             "time RankOpt / logistic"],
            untuned,
        ),
    )  # fmt: skip
    comparisons = [
        ("RankOptCV", "logistic"), ("RankOptCV", "pairwise"),
        ("RankOpt", "logistic, C = 1"), ("RankOpt", "pairwise, default"),
        ("RankOptCV", "logistic, C = 1"), ("RankOptCV", "pairwise, default"),
    ]  # fmt: skip
    page.add(
        "Wins and losses",
        summary(results, comparisons)
        + "\n\n*Win* and *loss*: p < 0.05 in the corrected resampled t-test (Nadeau & Bengio "
        "2003), in the ordinary paired one where splits share no row (marked *). *Over tasks*: "
        "Wilcoxon's signed-rank test of the mean differences, a task each (Demsar 2006).",
    )


def limit(page, args, cache):
    """The radius chosen on the test rows: no choice among radii could do better."""
    methods = {m: METHODS[m] for m in ("logistic", "pairwise", "RankOptCV")}
    methods["best radius"] = BestRadius
    results, rows = [], []
    for name, done in finished(args, cache, methods):
        results.append(done)
        rows.append(
            opening(name, done)
            + [f"{np.mean(aucs(done, m)):.4f}" for m in ("RankOptCV", "best radius")]
            + [verdict(aucs(done, "best radius"), aucs(done, m), done["sizes"][2])[0]
               for m in ("logistic", "pairwise")]
        )  # fmt: skip
    comparisons = [("best radius", "logistic"), ("best radius", "pairwise")]
    page.add(
        "The limit: the radius with the best test AUC of each split",
        markdown_table(
            ["task", "train / test rows", "% positive", "RankOptCV", "best radius",
             "best - logistic", "best - pairwise"],
            rows,
        )
        + "\n\n"
        + summary(results, comparisons),
    )  # fmt: skip


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
    sections = {"tasks": compare, "limit": limit, "psf": psf, "growth": growth}
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--tasks", nargs="+", help="names of tasks; all when left out")
    parser.add_argument("--rows", type=int, default=12_000, help="training rows at most")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--cache", type=Path, help="JSON file of finished splits")
    parser.add_argument("--cached", action="store_true", help="run nothing: what the cache holds")
    parser.add_argument("--write", action="store_true", help="keep the tables in the docs")
    args = parser.parse_args()
    cache = json.loads(args.cache.read_text()) if args.cache and args.cache.exists() else {}
    page = Page(
        "rankopt",
        "RankOpt beside logistic regression and the pairwise logistic loss",
        "Made by `benchmarks/rankopt.py`. Features are standardised on the training rows. "
        "`logistic` (class weights balanced, C from 1e-5 to 10) and `pairwise` (`AUCClassifier`, "
        "alpha from 1e-5 to 10) are tuned by the AUC of the same three folds that `RankOptCV` "
        "uses; `RankOpt`, `logistic, C = 1` and `pairwise, default` (alpha = 1e-3) are not tuned. "
        "Times are of the processor, on this machine, one run: tuned against tuned (grid search "
        "and refit on both sides), untuned against untuned.",
    )
    for section in args.only:
        sections[section](page, args, cache)
    if args.write:
        page.write()


if __name__ == "__main__":
    main()
