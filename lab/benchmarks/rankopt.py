"""RankOpt beside logistic regression and the pairwise logistic loss, on public data.

python -m lab bench rankopt                     print the tables
python -m lab bench rankopt --write             ... and keep them in docs/benchmarks/rankopt.md
python -m lab bench rankopt --only tasks psf growth choices
python -m lab bench rankopt --only times --rows 4000         what the search costs
python -m lab bench rankopt --rows 4000 --splits 10 --cache results.json
python -m lab bench rankopt --cache results.json --cached   tables of the tasks finished so far

Reads the data sets from ``$EVERYPAIR_DATA``. ``--cache`` keeps finished splits in a JSON file,
so that a run may be interrupted.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from everypair import AUCClassifier, RankOpt, RankOptCV
from lab.benchmarks.rankopt_choices import choices
from lab.benchmarks.rankopt_splits import PSF_TASKS, climbed, cuts, prepared, timed_fit, verdict
from lab.data.tasks import names, tasks
from lab.harness import Page, growth_exponent, markdown_table

CS = 10.0 ** np.arange(-5, 2)
ALPHAS = 10.0 ** np.arange(-5, 2)
HONESTY = (
    "\n\nSplits, and tasks with at least one such split. The lowest C, the highest alpha and the "
    "lowest saturation are the smoothest models of their kinds; a search counts as not converged "
    "when any of its fits warns, in a fold or on all rows (`RankOptCV`: on all rows)."
)


TURNS = 3


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


def run(name, X, y, methods, n_splits, rows, cache):
    """``{method: [(auc, seconds, what the fit says of itself), ...]}`` over the splits."""
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
            model, spent, unconverged = timed_fit(make(), X_train, y[train])
            scores = model.decision_function(X_test).reshape(len(test), -1)
            auc = max(roc_auc_score(y[test], column) for column in scores.T)
            notes = {"unconverged": unconverged, "edge": edge(model)}
            results.append([float(auc), spent, notes])
        yield


def edge(model):
    """Which end of its grid a search chose: "low", "high" or neither."""
    if isinstance(model, GridSearchCV):
        ((name, grid),) = model.param_grid.items()
        chosen = model.best_params_[name]
    elif isinstance(model, RankOptCV):
        grid, chosen = model.saturation, model.saturation_
    else:
        return None
    return {min(grid): "low", max(grid): "high"}.get(chosen)


class BestRadius:
    """`RankOpt` at every radius: what a choice made on the test rows themselves would be worth."""

    def fit(self, X, y):
        self.coefs_ = climbed(X, y, RankOptCV().saturation)
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
    return [result[0] for result in done[method]]


def seconds(done, method):
    return np.mean([result[1] for result in done[method]])


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


def honesty(results):
    """How often a search ended at an edge of its grid and a fit did not converge."""
    rows = []
    for method in METHODS:
        kept = [[r[2] for r in done[method] if len(r) > 2] for done in results]
        kept = [notes for notes in kept if notes]
        said = [note for notes in kept for note in notes]
        if not said:
            continue
        counts = [
            (sum(test(note) for note in said), sum(any(map(test, notes)) for notes in kept))
            for test in (
                lambda note: note["edge"] == "low",
                lambda note: note["edge"] == "high",
                lambda note: note["unconverged"] > 0,
            )
        ]
        cells = [f"{splits} / {n_tasks}" for splits, n_tasks in counts]
        rows.append([method, f"{len(said)} / {len(kept)}", *cells])
    header = ["method", "splits / tasks", "lowest of the grid", "highest", "a fit not converged"]
    return markdown_table(header, rows) if rows else "Not recorded in this cache."


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
    page.add("At an edge of the grid, or not converged", honesty(results) + HONESTY)


def times(page, args, cache):
    """What the whole search costs beside that of logistic regression, in turns that alternate."""
    rows = []
    for name in args.tasks or names(also=True):
        key = f"times|{name}|{args.rows}"
        if key not in cache:
            ((_, X, y),) = tasks([name])
            ((train, test), *_), _ = cuts(y, 10, args.rows)
            X_train, _ = prepared(X, train, test)
            few = np.argsort(~y[train], kind="stable")[:500]
            few = np.append(few, np.flatnonzero(~y[train])[:500])
            METHODS["RankOptCV"]().fit(X_train[few], y[train][few])  # compiles
            spent = [
                [timed_fit(METHODS[m](), X_train, y[train])[1] for m in ("logistic", "RankOptCV")]
                for _ in range(TURNS)
            ]
            cache[key] = np.min(spent, axis=0).tolist()
            save(args, cache)
        search, ours = cache[key]
        rows.append([name, f"{search:.2f}", f"{ours / search:.2f}"])
        print(" | ".join(rows[-1]), flush=True)
    ratios = np.array([float(row[-1]) for row in rows])
    page.add(
        f"Time of the search beside that of logistic regression, at most {args.rows:,} rows",
        f"One split of each task, one thread, the least of {TURNS} turns that alternate. Median "
        f"{np.median(ratios):.2f}, largest {ratios.max():.2f}; {np.count_nonzero(ratios > 2)} of "
        f"{ratios.size} tasks above 2, {np.count_nonzero(ratios > 1)} above 1.\n\n"
        + markdown_table(["task", "seconds of logistic", "RankOptCV / logistic"], rows),
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
        base = seconds(done, "linear, PSF 1")
        rows.append(
            [name]
            + [f"{np.mean(aucs(done, m)):.4f}" for m in methods]
            + [f"{seconds(done, m) / base:.2f}" for m in methods]
        )
    header = ["task", *methods, *(f"time {m}" for m in methods)]
    page.add(
        f"Sub-folds and every pair: test AUC, {args.splits} splits, at most {args.rows:,} "
        "training rows; time as multiples of PSF 1",
        markdown_table(header, rows),
    )


def simulated(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    signal = X @ rng.standard_normal(n_columns).astype(np.float32) / np.sqrt(n_columns)
    signal += rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 0.9)


def step_price(pairs, X, y):
    """Processor seconds of one step of a climb, the least of three fits.

    The number of steps is fixed: what grows is the price of one.
    """
    prices = []
    for _ in range(3):
        model = RankOpt(
            pairs=pairs, n_subfolds=1, saturation=0.5, max_iter=10, tol=1e-12, random_state=0
        )
        model, spent, _ = timed_fit(model, X, y)
        prices.append(spent / max(1, model.n_iter_))
    return min(prices)


def whole_fit(pairs, X, y):
    """Processor seconds of a fit as it comes (of one sub-fold), and its steps."""
    model, spent, _ = timed_fit(RankOpt(pairs=pairs, n_subfolds=1, random_state=0), X, y)
    return spent, model.n_iter_


def growth(page, args, cache):
    """Each size beside the one above it: what it costs, and the power between the two."""
    text = []
    row_counts, column_counts = [10**4, 10**5, 10**6], [50, 100, 200, 400]
    for pairs in ("all", "linear"):
        RankOpt(pairs=pairs).fit(*simulated(1000, 5))  # compile
        table, said = [], []
        for what, counts, shapes in (
            ("rows", row_counts, [(n, 20) for n in row_counts]),
            ("columns", column_counts, [(20_000, p) for p in column_counts]),
        ):
            steps, fits, n_iters = [], [], []
            for shape in shapes:
                X, y = simulated(*shape)
                steps.append(step_price(pairs, X, y))
                spent, n_iter = whole_fit(pairs, X, y)
                fits.append(spent)
                n_iters.append(n_iter)
            for k, shape in enumerate(shapes):
                row = ["{:,} x {}".format(*shape)]
                for prices in (steps, fits):
                    local = (
                        growth_exponent(counts[k - 1 : k + 1], prices[k - 1 : k + 1]) if k else None
                    )
                    row += [f"{prices[k] / prices[0]:.2f}", "" if local is None else f"{local:.2f}"]
                table.append([*row, str(n_iters[k])])
            said.append(
                f"with {what} to the power {growth_exponent(counts, steps):.2f} (a step) and "
                f"{growth_exponent(counts, fits):.2f} (the whole fit)"
            )
        header = ["size", "a step, times the first", "power", "whole fit, times the first", "power",
                  "steps"]  # fmt: skip
        text.append(
            f'`pairs="{pairs}"`\n\n{markdown_table(header, table)}\n\n'
            f"Over the whole range it grows {' and '.join(said)}."
        )
    page.add(
        "Growth",
        "Processor time. *Power*: of the growth from the size above. The whole fit has the default "
        "settings, with one sub-fold.\n\n" + "\n\n".join(text),
    )


def save(args, cache):
    if args.cache:
        args.cache.write_text(json.dumps(cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = {
        "tasks": compare, "times": times, "limit": limit, "psf": psf, "growth": growth,
        "choices": choices,
    }  # fmt: skip
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
        "Made by `lab/benchmarks/rankopt.py`. Features are standardised on the training rows. "
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
