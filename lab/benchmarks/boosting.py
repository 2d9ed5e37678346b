"""The loss over every pair inside LightGBM and XGBoost beside their own objectives.

    python -m lab bench boosting tasks [--splits 5] [--tasks "letter S" ...]
    python -m lab bench boosting rare [--splits 5]
    python -m lab bench boosting quotas measures
    python -m lab bench boosting rounds groups metric
    python -m lab bench boosting --show [--write]

`tasks`, `rare`, `quotas` and `measures` judge models on held-out rows; `rounds`, `groups` and
`metric` measure time. `boosting.json` keeps every finished split and time: a run goes on where the
last one ended. Needs the extra `boost`. Every model runs on one thread.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from everypair.boosting import pair_objective
from everypair.linalg.threads import thread_limit
from everypair.metrics import auc_score, precision_at_k
from lab.data.tasks import task

CACHE = Path(__file__).with_suffix(".json")
TASKS = (
    "adult", "w8a", "covtype 1", "covtype 3", "covtype 4", "covtype 5", "covtype 7",
    "kddcup99 probe", "kddcup99 r2l", "mnist 5", "mnist 8", "satimage 2", "satimage 4",
    "satimage 5", "optdigits 8", "letter B", "letter E", "letter H", "letter K", "letter S",
)  # fmt: skip
"""Every data set of `lab.data.tasks` with 5,000 rows or more but for words, one or more classes
of each: fewer rows have no top 1 % to speak of."""

POOL_ROWS, MOST_ROWS, TEST_ROWS = 30_000, 3000, 6000
RARE_POSITIVES = 15
ROUNDS, RATE = 200, 0.05
PUSH = 3
TOP = 0.01
FALSE_POSITIVES = 0.05
COLLAPSE = 0.1
"""A fit has collapsed where its AUC is this far below that of the best fit of the same split."""

OWN = {
    "LightGBM": {
        "logloss": {"objective": "binary"},
        "balanced": {"objective": "binary", "is_unbalance": True},
        "own pairs": {"objective": "lambdarank"},
        "own pairs, all": {
            "objective": "lambdarank", "lambdarank_truncation_level": MOST_ROWS,
            "lambdarank_norm": False,
        },
    },
    "XGBoost": {
        "logloss": {"objective": "binary:logistic"},
        "balanced": {"objective": "binary:logistic", "scale_pos_weight": None},
        "own pairs": {"objective": "rank:pairwise"},
        "own pairs, drawn": {
            "objective": "rank:pairwise", "lambdarank_pair_method": "mean",
            "lambdarank_num_pair_per_sample": 10,
        },
    },
}  # fmt: skip
OURS = {"every pair": 1, f"push {PUSH}": PUSH}


def booster(library: str, model: str, X: Any, y: Any, n_rounds: int) -> Callable[[Any], Any]:
    """Train; what gives scores. Settings are the library's defaults but for rate and rounds."""
    settings = dict(OWN[library].get(model, {}))
    objective = pair_objective(push=OURS[model]).for_train if model in OURS else None
    ranks = model.startswith("own pairs")
    if library == "LightGBM":
        import lightgbm

        common = {"learning_rate": RATE, "num_threads": 1, "verbosity": -1, "seed": 0}
        common |= {"deterministic": True, "force_row_wise": True}
        data = lightgbm.Dataset(X, y, group=[y.size] if ranks else None)
        own = {"objective": objective} if objective is not None else settings
        made = lightgbm.train({**common, **own}, data, n_rounds)
        return lambda new: made.predict(new, raw_score=True)
    import xgboost

    common = {"learning_rate": RATE, "nthread": 1, "verbosity": 0, "seed": 0}
    data = xgboost.DMatrix(X, y)
    if ranks:
        data.set_group([y.size])
    if "scale_pos_weight" in settings:
        settings["scale_pos_weight"] = float((y.size - y.sum()) / y.sum())
    grown = xgboost.train({**common, **settings}, data, n_rounds, obj=objective)
    return lambda new: grown.predict(xgboost.DMatrix(new), output_margin=True)


def models(rare: bool) -> list[tuple[str, str]]:
    """All pairs of LightGBM's own objective take most of the time: on rare positives they rest."""
    every = [(library, model) for library, own in OWN.items() for model in (*own, *OURS)]
    return [(library, model) for library, model in every if not (rare and model.endswith("all"))]


@cache
def pool(name: str) -> tuple[Any, Any]:
    """At most `POOL_ROWS` rows of a task, drawn once, of which every split takes some."""
    found = task(name)
    rows = np.random.default_rng(0).permutation(found.positive.size)[:POOL_ROWS]
    return found.X[np.sort(rows)], found.positive[np.sort(rows)]


def drawn(name: str, split: int, rare: bool) -> tuple[Any, ...]:
    """Training and test rows; with ``rare`` no more than `RARE_POSITIVES` training positives."""
    X, y = pool(name)
    n_train = min(MOST_ROWS, y.size // 2)
    n_test = min(TEST_ROWS, y.size - n_train)
    cut = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=split)
    train, test = next(cut.split(y[:, None], y))
    if rare:
        rng = np.random.default_rng(split)
        positives = rng.permutation(train[y[train]])[:RARE_POSITIVES]
        train = np.sort(np.concatenate([train[~y[train]], positives]))
    return X[train], y[train].astype(int), X[test], y[test].astype(int)


def judged(y: Any, scores: Any) -> list[float]:
    """AUC, mean recall up to a false positive rate of 5 %, and precision in the top 1 %."""
    negatives = np.sort(scores[y == 0])[::-1]
    n_first = max(1, int(np.ceil(FALSE_POSITIVES * negatives.size)))
    # The AUC among the positives and the first negatives; ties count one half.
    first = negatives[:n_first]
    positives = scores[y == 1]
    labels = np.repeat([1, 0], [positives.size, first.size])
    partial = auc_score(labels, np.concatenate([positives, first]))
    return [float(auc_score(y, scores)), float(partial), float(precision_at_k(y, scores, TOP))]


def one_split(name: str, split: int, rare: bool) -> dict[str, list[float]]:
    X, y, X_test, y_test = drawn(name, split, rare)
    out = {}
    for library, model in models(rare):
        scores = np.asarray(booster(library, model, X, y, ROUNDS)(X_test), dtype=float)
        out[f"{library}|{model}"] = [round(v, 6) for v in judged(y_test, scores)]
    return out


def known() -> dict[str, Any]:
    return json.loads(CACHE.read_text()) if CACHE.exists() else {}


def keep(part: str, key: str, value: Any) -> None:
    """Add one result; the file is read anew, so that two parts may run side by side."""
    done = known()
    done.setdefault(part, {})[key] = value
    beside = CACHE.with_suffix(f".{part}.part")
    beside.write_text(json.dumps(done, indent=0, sort_keys=True))
    beside.rename(CACHE)


def run_splits(part: str, wanted: list[str], splits: int) -> None:
    for split in range(splits):
        for name in wanted:
            key = f"{name}|{split}"
            if key in known().get(part, {}):
                continue
            found = one_split(name, split, part == "rare")
            keep(part, key, found)
            print(part, key, {k: v[0] for k, v in found.items()}, flush=True)


def main() -> None:
    from lab.benchmarks.boosting_measures import measures
    from lab.benchmarks.boosting_page import show
    from lab.benchmarks.boosting_quotas import quotas
    from lab.benchmarks.boosting_times import TIMES

    others = {**TIMES, "quotas": quotas, "measures": measures}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["tasks", "rare", *others, []])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1), thread_limit(1):
        for part in given.parts:
            if part in others:
                others[part]()
            else:
                run_splits(part, given.tasks, given.splits)
    if given.show or given.write:
        show(known(), given.write)


if __name__ == "__main__":
    main()
