"""Time of boosting over every pair: per round by rows and by groups, and of the AUC metric.

Part of `boosting`; times are processor seconds of one thread, in turns of one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from everypair.boosting import auc_metric, pair_objective

ROWS = (10_000, 100_000, 1_000_000)
COLUMNS = 20
GROUP_ROWS = 200_000
GROUPS = (20, 200, 2000, 20_000)
TURNS = 3
METRIC_TURNS = 5


def table(n_rows: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] + rng.logistic(size=n_rows)
    return X, (signal > np.quantile(signal, 0.95)).astype(int)


def spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def in_turns(works: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The shortest of several runs of each, one after the other in turns."""
    found = {name: [spent(work)] for name, work in works.items()}
    for _ in range(turns):
        for name, work in works.items():
            found[name].append(spent(work))
    return {name: min(seconds[1:]) for name, seconds in found.items()}


def rounds_of(library: str, X: Any, y: Any, sizes: Any, settings: dict[str, Any], objective: Any):
    """A function that adds so many rounds to a booster that has one: no set-up is timed."""
    if library == "LightGBM":
        import lightgbm

        common = {"learning_rate": 0.05, "num_threads": 1, "verbosity": -1, "num_leaves": 31}
        common |= {"force_row_wise": True}
        data = lightgbm.Dataset(X, y, group=sizes, params={"verbosity": -1}).construct()
        own = {"objective": "none"} if objective is not None else settings
        made = lightgbm.Booster({**common, **own}, data)
        return lambda n: [made.update(fobj=objective) for _ in range(n)]
    import xgboost

    data = xgboost.QuantileDMatrix(X, y)
    if sizes is not None:
        data.set_group(sizes)
    common = {"learning_rate": 0.05, "nthread": 1, "verbosity": 0, "max_leaves": 31}
    common |= {"max_depth": 0, "grow_policy": "lossguide"}
    grown = xgboost.Booster({**common, **settings}, [data])
    count = iter(range(10**6))
    return lambda n: [grown.update(data, next(count), fobj=objective) for _ in range(n)]


NATIVE = {
    "LightGBM": {"logloss": {"objective": "binary"}, "own pairs": {"objective": "lambdarank"}},
    "XGBoost": {
        "logloss": {"objective": "binary:logistic"}, "own pairs": {"objective": "rank:pairwise"},
        "own pairs, drawn": {
            "objective": "rank:pairwise", "lambdarank_pair_method": "mean",
            "lambdarank_num_pair_per_sample": 10,
        },
    },
}  # fmt: skip


def seconds_of_rounds(X: Any, y: Any, within: Any, n_rounds: int) -> dict[str, float | str]:
    """Processor seconds of a round of each objective, in turns; a sentence where it is refused."""
    sizes = [y.size] if within is None else np.bincount(within)
    found: dict[str, list[float] | str] = {}
    boosters = {}
    for library, own in NATIVE.items():
        wanted: dict[str, Any] = dict(own)
        wanted["every pair"] = pair_objective(within=within)
        if within is None:
            wanted["push 3"] = pair_objective(push=3)
        for model, what in wanted.items():
            ours = not isinstance(what, dict)
            group = sizes if model.startswith("own pairs") else None
            name = f"{library}|{model}"
            try:
                go = rounds_of(
                    library, X, y, group, {} if ours else what, what.for_train if ours else None
                )
                go(1)
                boosters[name], found[name] = go, []
            except Exception as refused:
                found[name] = f"refused: {str(refused).splitlines()[-1][:80]}"
    for _ in range(TURNS):
        for name, go in boosters.items():
            found[name].append(spent(lambda g=go: g(n_rounds)) / n_rounds)  # type: ignore[union-attr]
    return {name: min(s) if isinstance(s, list) else s for name, s in found.items()}


def rounds() -> None:
    from lab.benchmarks.boosting import keep, known

    for n_rows in ROWS:
        if str(n_rows) in known().get("rounds", {}):
            continue
        X, y = table(n_rows)
        found = seconds_of_rounds(X, y, None, max(2, min(20, 10**6 // n_rows)))
        keep("rounds", str(n_rows), found)
        print(n_rows, found, flush=True)


def groups() -> None:
    from lab.benchmarks.boosting import keep, known

    for n_groups in GROUPS:
        if str(n_groups) in known().get("groups", {}):
            continue
        X, y = table(GROUP_ROWS)
        within = np.arange(GROUP_ROWS) * n_groups // GROUP_ROWS
        found = seconds_of_rounds(X, y, within, 5)
        keep("groups", str(n_groups), found)
        print(n_groups, found, flush=True)


def metric() -> None:
    """Our AUC, LightGBM's and XGBoost's own on the same scores, and scikit-learn's."""
    import lightgbm
    import xgboost
    from sklearn.metrics import roc_auc_score

    from lab.benchmarks.boosting import keep, known

    ours = auc_metric("xgboost")
    for n_rows in ROWS:
        if str(n_rows) in known().get("metric", {}):
            continue
        rng = np.random.default_rng(0)
        y = (rng.random(n_rows) < 0.05).astype(np.float32)
        scores = (rng.standard_normal(n_rows) + y).astype(np.float32)
        # One column and one stump: what a booster evaluates beyond that is its metric.
        X = scores[:, None]
        data = lightgbm.Dataset(X, y, params={"verbosity": -1}).construct()
        light = lightgbm.Booster(
            {"objective": "binary", "metric": "auc", "num_threads": 1, "verbosity": -1}, data
        )
        for _ in range(10):
            light.update()
        matrix = xgboost.DMatrix(X, y, base_margin=scores)
        made = xgboost.train(
            {"objective": "binary:logistic", "nthread": 1, "eval_metric": "auc"}, matrix, 1
        )
        nothing = xgboost.train(
            {"objective": "binary:logistic", "nthread": 1, "eval_metric": "error"}, matrix, 1
        )
        margins = made.predict(matrix, output_margin=True)
        light_scores = light.predict(X, raw_score=True)
        found = in_turns(
            {
                "ours": lambda m=margins, y=y: ours(y, m),
                "ours, scores of LightGBM": lambda s=light_scores, y=y: ours(y, s),
                "LightGBM": lambda b=light: b.eval_train(),
                "XGBoost": lambda b=made, d=matrix: b.eval(d),
                "XGBoost, error rate": lambda b=nothing, d=matrix: b.eval(d),
                "scikit-learn": lambda m=margins, y=y: roc_auc_score(y, m),
            },
            METRIC_TURNS,
        )
        keep("metric", str(n_rows), found)
        print(n_rows, found, flush=True)


def tree() -> None:
    """`AUCTree` and a tree of scikit-learn, grown until leaves have five rows, and pruned."""
    from sklearn.tree import DecisionTreeClassifier

    from everypair import AUCTree
    from lab.benchmarks.boosting import keep, known

    for n_rows in (10_000, 100_000):
        if str(n_rows) in known().get("tree", {}):
            continue
        X, y = table(n_rows)
        AUCTree().fit(X[:500], y[:500])  # code is loaded
        grown, pruned = (AUCTree(threshold=0.0, ccp_alpha=alpha) for alpha in (0.0, 1e-5))
        peer = DecisionTreeClassifier(min_samples_leaf=5)
        found = {
            "AUCTree": spent(lambda m=grown, X=X, y=y: m.fit(X, y)),
            "pruned": spent(lambda m=pruned, X=X, y=y: m.fit(X, y)),
            "scikit-learn": spent(lambda m=peer, X=X, y=y: m.fit(X, y)),
            "leaves": grown.n_leaves_,
            "leaves of scikit-learn": int(peer.get_n_leaves()),
        }
        keep("tree", str(n_rows), found)
        print(n_rows, found, flush=True)


TIMES: dict[str, Callable[[], None]] = {
    "rounds": rounds,
    "groups": groups,
    "metric": metric,
    "tree": tree,
}
