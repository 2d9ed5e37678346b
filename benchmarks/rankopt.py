"""RankOpt beside logistic regression and the pairwise logistic loss, on public data.

python benchmarks/rankopt.py                     print the tables
python benchmarks/rankopt.py --write             ... and keep them in docs/benchmarks/rankopt.md
python benchmarks/rankopt.py --only tasks psf growth choices
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
from unittest.mock import patch

import numpy as np
from harness import Page, growth_exponent, markdown_table
from scipy import sparse, stats
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifier, RankOpt, RankOptCV
from everypair.comparison.judge import corrected_resampled_t
from everypair.data.tasks import names, tasks
from everypair.matrix import as_matrix
from everypair.pairs import Pairs
from everypair.solvers import sphere as climbs
from everypair.solvers.rank_statistic import AllPairsStatistic
from everypair.solvers.sphere import (
    Climb,
    Coordinates,
    Sphere,
    class_covariance,
    class_moments,
    climb_by_lbfgs,
    climb_path,
)

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

CHOICE_TASKS, CHOICE_ROWS, CHOICE_SPLITS = (*PSF_TASKS, "spectf"), 3000, 5
CHOICE_SATURATIONS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)


HONESTY = (
    "\n\nSplits, and tasks with at least one such split. The lowest C, the highest alpha and the "
    "lowest saturation are the smoothest models of their kinds; a search counts as not converged "
    "when any of its fits warns, in a fold or on all rows (`RankOptCV`: on all rows)."
)


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


def timed_fit(model, X, y):
    """The model, processor seconds, and how many of its fits warned that they had not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        model.fit(X, y)
        spent = time.process_time() - began
    return model, spent, sum(issubclass(w.category, ConvergenceWarning) for w in caught)


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


def verdict(ours, theirs, overlap):
    """``overlap`` is n_test / n_train, zero where splits share no row: the plain t test."""
    mean = np.mean(np.subtract(ours, theirs))
    p = corrected_resampled_t(np.subtract(ours, theirs), overlap / (1 + overlap))
    names = ("**win**", "**loss**") if p < 0.05 else ("ahead", "behind")
    mark = names[0] if mean > 0 else names[1]
    return f"{mean:+.4f}, {mark} ({p:.2f})", mark


def climbed(X, y, saturations, metric=None, climber=climb_by_lbfgs):
    """Coefficients of climbs over every pair, a column a saturation; `metric` as in `choices`."""
    matrix, pairs = as_matrix(X), Pairs.of(y)
    covariance = class_covariance(matrix, pairs)
    sphere, start = Sphere.around(matrix, pairs, y.mean(), covariance)
    back = None
    if metric is not None:
        sphere, start, back = metric(sphere, start, pairs, covariance)
    steps = climb_path(
        sphere, AllPairsStatistic(pairs), start, saturations, climber,
        RankOpt().max_iter, RankOpt().tol,
    )  # fmt: skip
    coefs = np.column_stack([sphere.scale * step.climb.direction for step in steps])
    return coefs if back is None else back(coefs)


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


def unit_of(of_moments):
    """Features in another unit; the start is separation over variance in each."""

    def metric(sphere, start, pairs, covariance):
        moments = class_moments(sphere.X, pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(sphere.scale > 0, of_moments(moments), 0.0)
        new_start = np.zeros_like(scale)
        np.divide(sphere.scale * start, scale, out=new_start, where=scale > 0)
        other = Sphere(sphere.X, scale, Coordinates(covariance, scale))
        return other, new_start / np.linalg.norm(new_start), None

    return metric


def ellipsoid(weight):
    """``weight |u|^2 + (1 - weight) u' C u = 1`` in place of the sphere, C the class covariance."""

    def metric(sphere, start, pairs, covariance):
        C = sphere.scale * covariance * sphere.scale[:, None]
        factor = cholesky(weight * np.eye(start.size) + (1 - weight) * C, lower=True)
        rows = solve_triangular(factor, (sphere.X.X * sphere.scale).T, lower=True).T
        ones, start = np.ones(start.size), factor.T @ start
        other = Sphere(as_matrix(np.ascontiguousarray(rows)), ones, Coordinates(None, ones))

        def back(coefs):
            return sphere.scale[:, None] * solve_triangular(factor, coefs, lower=True, trans="T")

        return other, start / np.linalg.norm(start), back

    return metric


def with_l1_pull(strength):
    """Climbs ``R - strength |u|_1 / sqrt(p)``, the corners of ``|.|_1`` rounded."""

    def climber(sphere, statistic, start, radius, max_iter, tol):
        strength_each = strength / np.sqrt(start.size)

        def loss_and_gradient(v):
            length = np.linalg.norm(v)
            u = v / length
            point = statistic.at(radius * sphere.scores(u))
            sizes = np.sqrt(u**2 + 1e-6)
            gradient = radius * sphere.pull_back(point.gradient) + strength_each * u / sizes
            return (
                point.loss + strength_each * sizes.sum(),
                (gradient - (gradient @ u) * u) / length,
            )

        found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B",
                         options={"maxiter": max_iter, "gtol": tol / 100})  # fmt: skip
        u = found.x / np.linalg.norm(found.x)
        return Climb(u, sphere.scores(u), float(found.fun), True, [float(found.fun)])

    return climber


METRICS = {
    "standard deviation (ours)": {},
    "class deviation": {"metric": unit_of(lambda m: m.variance**-0.5)},
    "separation over variance (section 3.4)": {
        "metric": unit_of(lambda m: np.abs(m.separation) / m.variance)
    },
    "its square root": {"metric": unit_of(lambda m: np.sqrt(np.abs(m.separation) / m.variance))},
    "ellipsoid, 0.1": {"metric": ellipsoid(0.1)},
    "L1 pull, 0.01": {"climber": with_l1_pull(0.01)},
    "L1 pull, 0.1": {"climber": with_l1_pull(0.1)},
}
STEPS = ((1.2, 0.5), (1.05, 0.5), (2.0, 0.5), (1.2, 0.25), (1.2, 0.8))


def of_metric(settings):
    return lambda X, y: (climbed(X, y, CHOICE_SATURATIONS, **settings), 0)


def of_steps(longer, shorter):
    def fit(X, y):
        model = RankOpt(pairs="linear", n_subfolds=1, random_state=0)
        with patch.multiple(climbs, LONGER=longer, SHORTER=shorter):
            model, _, unconverged = timed_fit(model, X, y)
        return model.coef_.T, unconverged

    return fit


def tried(ways):
    """A row a way: test AUC less that of the first, each at its best radius; time, cut short."""
    scores, spent, cut_short = {}, dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0)
    overlaps = {}
    for name, X, y in tasks(list(CHOICE_TASKS)):
        all_cuts, overlaps[name] = cuts(y, CHOICE_SPLITS, CHOICE_ROWS)
        for train, test in all_cuts:
            X_train, X_test = prepared(X, train, test)
            for way, fit in ways.items():
                began = time.process_time()
                coefs, unconverged = fit(X_train, y[train])
                spent[way] += time.process_time() - began
                cut_short[way] += unconverged > 0
                found = [roc_auc_score(y[test], column) for column in (X_test @ coefs).T]
                scores.setdefault((way, name), []).append(found)
    first, rows = next(iter(ways)), []
    for way in ways:
        row = [way]
        for name, overlap in overlaps.items():
            ours, theirs = (np.array(scores[each, name]).T for each in (way, first))
            best, its_best = (np.argmax(aucs.mean(axis=1)) for aucs in (ours, theirs))
            cell = f"{ours[best].mean():.4f}"
            if way != first:
                cell = verdict(ours[best], theirs[its_best], overlap)[0]
            where = f" at {CHOICE_SATURATIONS[best]:g}" if len(ours) > 1 else ""
            row.append(cell + where)
        rows.append([*row, f"{spent[way] / spent[first]:.2f}", str(cut_short[way])])
    return ["", *overlaps, "time"], rows


def choices(page, args, cache):
    """What the paper leaves open, and what could be added to the sphere."""
    header, rows = tried({f"{a:g}, {b:g}": of_steps(a, b) for a, b in STEPS})
    text = (
        f"{CHOICE_SPLITS} splits, at most {CHOICE_ROWS:,} training rows. The first row of a table "
        "is what the library does, with its test AUC; below it the differences from that, with "
        "the p value of the corrected resampled t test. *Time*: of the processor, all tasks "
        "together, times the first row's.\n\n"
        'Factors of the step (section 3.1), `pairs="linear"`, one sub-fold; *cut short*: fits of '
        "whose climbs one ran out of steps.\n\n" + markdown_table([*header, "cut short"], rows)
    )
    header, rows = tried({way: of_metric(settings) for way, settings in METRICS.items()})
    text += (
        "\n\nUnit of a feature (sections 3.4 and 3.5), and a pull besides the sphere, "
        '`pairs="all"`, each at the saturation of its best mean test AUC, as the radius smooths, '
        "too. On the sphere an L2 penalty in these units is a constant; an ellipsoid is one in "
        "other units.\n\n" + markdown_table(header, [row[:-1] for row in rows])
    )
    page.add("Choices", text)


def save(args, cache):
    if args.cache:
        args.cache.write_text(json.dumps(cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = {
        "tasks": compare, "limit": limit, "psf": psf, "growth": growth, "choices": choices
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
