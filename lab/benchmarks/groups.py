"""Pairs inside groups: the price of the sums and of a fit, and a search by example beside boosters.

python -m lab bench groups            print the tables
python -m lab bench groups --write    ... and keep them in docs/benchmarks/groups.md
python -m lab bench groups --fast     a tenth of the rows
python -m lab bench groups --only sums growth fits digits pass coverage left_out

Times are processor seconds of one thread: they do not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from everypair import AUCRLS, AUCRLSCV, AUCClassifier, AUCClassifierCV
from everypair.boosting import pair_objective
from everypair.linalg.threads import thread_limit
from everypair.metrics import auc_confidence_interval, auc_score, compare_auc, ndcg_at_k
from everypair.pairs import pair_point
from everypair.rows import Rows
from lab.data.fetchers import fetch
from lab.harness import Page, growth_exponent, markdown_table

SIZES = (3, 10, 30, 50, 100, 200, 300, 400, 500, 700, 1000, 10_000)


def cpu_time(work, repeats=3):
    """Shortest of several runs after one untimed run."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def scored(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_rows) < 0.3
    return positive, 1.5 * rng.standard_normal(n_rows) + positive


def value_and_gradient(loss, pairs, scores):
    point = pair_point(loss, pairs, scores)
    return point.value(), point.gradient()


def sums(page, scale):
    n_rows, table = int(10**7 * scale), []
    positive, scores = scored(n_rows)
    sizes = [10, 10_000, n_rows]
    bases = {}
    for size in (None, *sizes):
        within = None if size is None else np.arange(n_rows) // size
        pairs = Rows.uncut(positive, None, within)
        if size is not None:
            _ = pairs.share, pairs.inside  # rows are ordered by group once a fit
        for loss in ("logistic", "sigmoid", "exponential", "squared_hinge"):
            seconds = cpu_time(lambda loss=loss, p=pairs: value_and_gradient(loss, p, scores), 1)
            bases.setdefault(loss, []).append(seconds)
    for loss, (base, *grouped) in bases.items():
        ratios = [f"{1e9 * s / n_rows:.0f} ({s / base:.2f})" for s in grouped]
        table.append([loss, f"{1e9 * base / n_rows:.0f}", *ratios])
    heads = [f"{n_rows // size:,} groups of {size:,}" for size in sizes]
    page.add(
        "Value and gradient beside the sum without groups",
        f"{n_rows:,} rows, 30 % positive. Nanoseconds per row; in parentheses the time over that "
        "without groups.\n\n" + markdown_table(["loss", "no groups", *heads], table),
    )


def growth(page, scale):
    table = []
    numbers = [int(n * scale) for n in (10**5, 3 * 10**5, 10**6)]
    data = [scored(n) for n in numbers]
    weights = [np.random.default_rng(1).random(n) + 0.5 for n in numbers]
    losses = ("logistic", "logistic", "sigmoid", "exponential", "squared_hinge", "square")
    for k, loss in enumerate(losses):
        weighted = k == 1
        rows_weight = weights if weighted else [None] * len(numbers)
        (positive, scores), weight = data[-1], rows_weight[-1]
        plain = Rows.uncut(positive, weight)
        base = cpu_time(lambda l=loss, p=plain, s=scores: value_and_gradient(l, p, s), 5)
        for size in SIZES:
            seconds = []
            for n_rows, (positive, scores), weight in zip(numbers, data, rows_weight, strict=True):
                pairs = Rows.uncut(positive, weight, np.arange(n_rows) // size)
                _ = pairs.share, pairs.inside
                seconds.append(
                    cpu_time(lambda p=pairs, s=scores, l=loss: value_and_gradient(l, p, s), 3)
                )
            nanoseconds = [f"{1e9 * s / n:.0f}" for s, n in zip(seconds, numbers, strict=True)]
            exponent = growth_exponent(numbers, seconds)
            name = f"{loss}, weighted rows" if weighted else loss
            ratio = seconds[-1] / base
            table.append([name, f"{size:,}", *nanoseconds, f"{exponent:.2f}", f"{ratio:.2f}"])
    head = [f"{n:,} rows" for n in numbers]
    page.add(
        "Growth",
        "Nanoseconds per row of value and gradient, the exponent of growth with the rows at a "
        "given size of group, and the time beside the sum without groups at "
        f"{numbers[-1]:,} rows. The sizes at which one way to sum a group gives way to another "
        "were chosen on 300,000 rows with the same scores.\n\n"
        + markdown_table(["loss", "rows per group", *head, "exponent", "beside no groups"], table),
    )


def fits(page, scale):
    n_rows, table = int(3 * 10**5 * scale), []
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, 20))
    signal = X @ rng.standard_normal(20) / 4 + rng.logistic(size=n_rows)
    for loss, penalty, alpha in (
        ("logistic", "l2", 1e-4), ("squared_hinge", "l2", 1e-4), ("logistic", "l1", 1e-2),
    ):  # fmt: skip
        cells, base = [], 1.0
        for size in (None, 10, 100, 10_000):
            within = None if size is None else np.arange(n_rows) // size
            level = 0 if size is None else rng.standard_normal(n_rows // size + 1)[within]
            y = signal + level > 1
            model = AUCClassifier(loss, penalty, alpha=alpha)
            seconds = cpu_time(lambda m=model, y=y, w=within: m.fit(X, y, within=w), 2)
            base = seconds if size is None else base
            cells.append(f"{seconds / base:.2f} ({model.n_iter_} steps, {model.dual_gap_:.0e})")
        table.append([loss, penalty, *cells])
    page.add(
        "Fits",
        f"{n_rows:,} rows x 20 columns: time beside the fit without groups, Newton steps on all "
        "rows and relative duality gap. Groups have levels of their own, so the labels differ "
        "from column to column.\n\n"
        + markdown_table(
            ["loss", "penalty", "no groups", "groups of 10", "groups of 100", "groups of 10,000"],
            table,
        ),
    )


def searches(images, labels, n_queries, n_candidates, rng):
    """The images nearest to a query, to be ranked anew: squared differences of the pixels."""
    X, y, query = [], [], []
    for k, q in enumerate(rng.choice(labels.size, n_queries, replace=False)):
        distance = np.sum((images - images[q]) ** 2, axis=1)
        distance[q] = np.inf
        others = np.argsort(distance)[:n_candidates]
        X.append((images[others] - images[q]) ** 2)
        y.append(labels[others] == labels[q])
        query.append(np.full(n_candidates, k))
    return np.concatenate(X), np.concatenate(y), np.concatenate(query)


def digit_searches(n_queries=300, n_candidates=100):
    """Training queries and candidates from one half of the images, test ones from the other.

    The training part of Optdigits: other writers than those of scikit-learn's digits, on which
    the number of candidates was chosen.
    """
    digits = fetch("optdigits")
    images, labels = np.asarray(digits.X)[:3823], np.asarray(digits.y)[:3823]
    rng = np.random.default_rng(0)
    order = rng.permutation(labels.size)
    halves = np.array_split(order, 2)
    train, test = (
        searches(images[half], labels[half], n_queries, n_candidates, rng) for half in halves
    )
    scaler = StandardScaler().fit(train[0])
    return (scaler.transform(train[0]), *train[1:]), (scaler.transform(test[0]), *test[1:])


def digit_rankers(train):
    """Name and scores of new rows of each competitor."""
    import lightgbm
    import xgboost

    X, y, query = train
    sizes = np.bincount(query)
    yield "AUCClassifierCV, every pair", AUCClassifierCV().fit(X, y).decision_function
    inside = AUCClassifierCV().fit(X, y, within=query)
    yield "AUCClassifierCV, within=query", inside.decision_function
    logistic = LogisticRegression(C=1.0, max_iter=2000).fit(X, y)
    yield "LogisticRegression", logistic.decision_function
    data = xgboost.DMatrix(X, label=y.astype(int))
    data.set_group(sizes)
    linear = {"booster": "gblinear", "objective": "rank:pairwise", "lambda": 0.0, "nthread": 1,
              "lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 10}  # fmt: skip
    model = xgboost.train(linear, data, 100)
    yield "XGBoost gblinear, rank:pairwise", lambda X: model.predict(xgboost.DMatrix(X))
    trees = {"objective": "rank:pairwise", "eta": 0.1, "nthread": 1}
    boosted = xgboost.train(trees, data, 200)
    yield "XGBoost trees, rank:pairwise", lambda X: boosted.predict(xgboost.DMatrix(X))
    parameters = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1}
    ranker = lightgbm.train(
        parameters, lightgbm.Dataset(X, y.astype(int), group=sizes), num_boost_round=200
    )
    yield "LightGBM trees, lambdarank", ranker.predict
    plain = xgboost.DMatrix(X, label=y.astype(int))
    objective = pair_objective(within=query).for_train
    ours = xgboost.train({"eta": 0.1, "nthread": 1, "base_score": 0.0}, plain, 200, obj=objective)
    yield "XGBoost trees, pair_objective(within=query)", lambda X: ours.predict(xgboost.DMatrix(X))
    grown = lightgbm.train(
        {"objective": objective, "verbosity": -1, "num_threads": 1},
        lightgbm.Dataset(X, y.astype(int)), num_boost_round=200,
    )  # fmt: skip
    yield "LightGBM trees, pair_objective(within=query)", grown.predict


def digits(page, scale):
    train, test = digit_searches(max(30, int(300 * scale)))
    X, y, query = test
    table, first = [], None
    began = time.process_time()
    for name, score in digit_rankers(train):
        seconds, scores = time.process_time() - began, score(X)
        inside = auc_confidence_interval(y, scores, within=query)
        row = [name, str(inside), f"{auc_confidence_interval(y, scores, groups=query).auc:.3f}",
               f"{ndcg_at_k(y, scores, query, 5):.3f}", f"{seconds:.1f}"]  # fmt: skip
        if first is None:
            first, row = scores, [*row, ""]
        else:
            test_of = compare_auc(y, scores, first, within=query)
            row.append(f"{test_of.difference:+.3f} [{test_of.low:+.3f}, {test_of.high:+.3f}]")
        table.append(row)
        began = time.process_time()
    page.add(
        "Search by example: handwritten digits",
        f"A query is an image of a digit, its group the {query.size // (query.max() + 1)} images "
        "nearest to it, positive where they show the same digit; 64 columns, the squared "
        f"differences of the pixels. {train[2].max() + 1} training queries from one half of the "
        f"images, {query.max() + 1} test queries from the other. Test AUC inside the queries with "
        "its interval by queries, AUC over all pairs of test rows, NDCG of the best five, "
        "processor seconds of the fit (searches included), and the difference of the AUC inside "
        "queries to the first row. Boosters at their defaults but for 200 rounds (100 of the "
        "linear one) and ten pairs drawn per row. The images are the 3,823 of the training part "
        "of Optdigits. The number of candidates, 100, was chosen among four on scikit-learn's "
        "digits, which are of other writers; nothing was chosen on these images.\n\n"
        + markdown_table(
            ["model", "AUC inside queries", "AUC of all pairs", "NDCG@5", "seconds", "difference"],
            table,
        ),
    )


def passes(page, scale):
    import lightgbm
    import xgboost

    table = []
    for size in (10, 100, 1000, 10_000):
        n_rows = int(10**6 * scale)
        n_rows -= n_rows % size
        positive, scores = scored(n_rows)
        X, sizes = scores[:, None].astype(np.float32), np.full(n_rows // size, size)
        pairs = Rows.uncut(positive, None, np.arange(n_rows) // size)
        _ = pairs.share, pairs.inside
        ours = cpu_time(lambda p=pairs, s=scores: value_and_gradient("logistic", p, s), 2)

        def of_xgboost(objective, sizes=sizes, X=X, positive=positive, **more):
            data = xgboost.QuantileDMatrix(X, label=positive.astype(int), max_bin=16)
            if objective != "binary:logistic":
                data.set_group(sizes)
            given = {"objective": objective, "max_depth": 1, "nthread": 1, "max_bin": 16, **more}
            return cpu_time(lambda: xgboost.train(given, data, 5), 1) / 5

        def of_lightgbm(objective, sizes=sizes, X=X, positive=positive):
            data = lightgbm.Dataset(X, positive.astype(int), group=sizes).construct()
            given = {"objective": objective, "num_leaves": 2, "num_threads": 1, "verbosity": -1}
            return cpu_time(lambda: lightgbm.train(given, data, 5), 1) / 5

        cells = []
        base = of_xgboost("binary:logistic")
        all_pairs = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": size}
        for more in ({}, all_pairs):
            if more and size > 1000:
                cells.append("not run")
                continue
            cells.append(f"{max(0.0, of_xgboost('rank:pairwise', **more) - base) / ours:.1f}")
        try:
            extra = of_lightgbm("lambdarank") - of_lightgbm("binary")
            cells.append(f"{max(0.0, extra) / ours:.1f}")
        except Exception as refused:  # it says that a query has too many rows
            cells.append("refused" if "10000" in str(refused) else type(refused).__name__)
        pairs_a_row = pairs.n_pairs / n_rows
        table.append([f"{size:,}", f"{pairs_a_row:.1f}", f"{1e9 * ours / n_rows:.0f}", *cells])
    page.add(
        "One pass over the pairs",
        "Logistic loss over every pair of every group, and what the objectives of the boosters "
        "take: a round of stumps on one column less the same round with the objective of single "
        "rows, over the time of ours. XGBoost draws pairs unless it is told to take all of them "
        "(topk = size of the group), LightGBM takes the pairs of the best 30 ranks.\n\n"
        + markdown_table(
            ["rows per group", "pairs per row", "ours, ns per row", "XGBoost, default",
             "XGBoost, all pairs", "LightGBM lambdarank"], table,
        ),
    )  # fmt: skip


def population(n_groups, rng, hard):
    """Rows in groups, scored by two models: levels, shares of positives, sizes and skill differ."""
    sizes = rng.integers(3, 30, n_groups) * (1 if not hard else rng.integers(1, 6, n_groups))
    group = np.repeat(np.arange(n_groups), sizes)
    share = rng.beta(1.5, 4.0, n_groups)
    skill = 1.0 + (0.8 if hard else 0.3) * rng.standard_normal((2, n_groups))
    y = rng.random(group.size) < share[group]
    level, shared = 2 * rng.standard_normal(n_groups), rng.standard_normal(group.size)
    noise = 0.8 * shared + 0.6 * rng.standard_normal((2, group.size))
    scores = level[group] + np.array([[1.0], [0.8]]) * skill[:, group] * y + noise
    return y, *scores, group


def coverage(page, scale):
    """How often 95 % intervals hold the mean over ever more groups."""
    repetitions, table = int(1000 * scale), []
    for hard in (False, True):
        *every, group = population(200_000, np.random.default_rng(0), hard)
        for weight in ("pairs", "rows", "equal"):
            inside = {"within": group, "within_weight": weight}
            truth, other = (auc_score(every[0], each, **inside) for each in every[1:])
            for n_groups in (20, 50, 200):
                rng = np.random.default_rng(n_groups)
                held = []
                for repetition in range(repetitions):
                    y, first, second, drawn = population(n_groups, rng, hard)
                    more = {"within": drawn, "within_weight": weight}
                    draws = {"method": "bootstrap", "n_bootstrap": 500, "random_state": repetition}
                    ends = [
                        (auc_confidence_interval(y, first, **more), truth),
                        (auc_confidence_interval(y, first, **more, **draws), truth),
                        (compare_auc(y, first, second, **more), truth - other),
                    ]
                    held.append([end.low <= value <= end.high for end, value in ends])
                table.append([
                    "sizes 3 to 145, skills far apart" if hard else "sizes 3 to 29",
                    weight, str(n_groups), f"{truth:.3f}",
                    *(f"{100 * share:.1f}" for share in np.mean(held, axis=0)),
                ])  # fmt: skip
                print(table[-1], flush=True)
    page.add(
        "Intervals: how often they contain the true value",
        f"Per cent of 95 % intervals that contain the true value, of {repetitions:,} data sets "
        "each (a share of 95 % has a standard error of "
        f"{100 * np.sqrt(0.95 * 0.05 / repetitions):.1f} points): the AUC inside groups by the "
        "delta method, by a bootstrap over groups (500 draws), and the difference of two models by "
        "`compare_auc`. The true value is that on 200,000 groups. Nothing was chosen by this "
        "table.\n\n"
        + markdown_table(
            ["population", "weight", "groups", "AUC", "delta method", "bootstrap", "difference"],
            table,
        ),
    )


def left_out(page, scale):
    """What the exact search of AUCRLSCV costs beside one fit."""
    table = []
    for whole, size, n_columns, kernel in (
        (20_000, 10, 20, "linear"), (100_000, 10, 20, "linear"), (100_000, 100, 20, "linear"),
        (100_000, 1000, 20, "linear"), (20_000, 10, 200, "linear"), (1500, 10, 20, "rbf"),
    ):  # fmt: skip
        n_rows = max(500, int(whole * scale))
        rng = np.random.default_rng(0)
        X, group = rng.standard_normal((n_rows, n_columns)), np.arange(n_rows) // size
        level = rng.standard_normal(n_rows // size + 1)[group]
        y = X[:, 0] + level + rng.logistic(size=n_rows) > 0
        seconds = [
            cpu_time(lambda m=model, X=X, y=y, g=group: m.fit(X, y, within=g), 1)
            for model in (
                AUCRLS(kernel=kernel), AUCRLSCV(cv=5, kernel=kernel), AUCRLSCV(kernel=kernel),
            )
        ]  # fmt: skip
        n_groups = n_rows // size
        table.append([
            f"{n_rows:,} x {n_columns}, {kernel}", f"{n_groups:,} of {size}", f"{seconds[0]:.2f}",
            f"{seconds[1] / seconds[0]:.0f}", f"{seconds[2] / seconds[0]:.0f}",
            f"{41 * n_groups:,}",
        ])  # fmt: skip
    page.add(
        "Every group left out",
        "`AUCRLSCV` with 41 values of alpha: processor time of five folds, and of leaving out "
        "every group in turn, exactly, over that of one fit of `AUCRLS`. The last column is the "
        "number of fits that leaving out would take by refitting.\n\n"
        + markdown_table(
            ["rows x columns", "groups", "one fit, s", "five folds", "every group", "refits"],
            table,
        ),
    )


SECTIONS = {
    "left_out": left_out,
    "coverage": coverage,
    "sums": sums,
    "growth": growth,
    "fits": fits,
    "digits": digits,
    "pass": passes,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    given = parser.parse_args()
    page = Page(
        "groups",
        "Pairs inside groups",
        "`python -m lab bench groups --write` prints this page, section by section with `--only`: "
        "sections are of different runs, and those of intervals, fits, search by example and "
        "groups left out ran beside other work. Processor time of one thread.",
    )
    with thread_limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in given.only:
            SECTIONS[name](page, 0.1 if given.fast else 1.0)
    if given.write:
        page.write(keep=len(given.only) < len(SECTIONS))


if __name__ == "__main__":
    main()
