"""XGBoost and LightGBM behind one interface: train with early stopping, score, importances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from everypair.boosting.objective import PairObjective
    from everypair.boosting.rounds import Judge

Array = NDArray[np.float64]

PROGRESS = "progress"
"""What the libraries watch."""


class Settings(NamedTuple):
    """What both libraries are told; ``params`` are further settings in the library's own words."""

    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int
    n_threads: int
    seed: int
    params: dict[str, Any]


@dataclass
class Watch:
    """Held-out rows (X, y, weights, groups) and what judges their scores after each round.

    The libraries are told how often a judge has seen a better value than ever before. They stop
    when that number has not grown for ``patience`` rounds, so when no judge sees any progress.
    """

    rows: Any
    judges: Sequence[Judge]
    patience: int
    values: list[tuple[float, ...]] = field(default_factory=list)
    """Of the rounds so far, by each judge."""
    progress: int = 0
    best: Array | float = -np.inf

    def after_round(self, scores: Any) -> float:
        scores = np.asarray(scores, dtype=np.float64)
        found = np.array([judge(scores) for judge in self.judges])
        self.progress += bool(np.any(found > self.best))
        self.best = np.maximum(found, self.best)
        self.values.append(tuple(found))
        return float(self.progress)


class Grown(NamedTuple):
    """A booster, and the values of the held-out rows after each of its rounds."""

    booster: Any
    curves: Array
    """Of shape (rounds, judges)."""


class LightGBM:
    """`lightgbm.train` with leaves grown best-first and L2 regularisation 1."""

    def __init__(self, objective: PairObjective, settings: Settings):
        self.objective, self.settings = objective, settings

    def grow(self, rows: Any, n_rounds: int, watch: Watch | None = None) -> Grown:
        """Of rows (X, y, weights, groups); without held-out rows every round is made."""
        import lightgbm

        s = self.settings
        params = {
            "learning_rate": s.learning_rate, "num_leaves": s.max_leaf_nodes,
            "min_data_in_leaf": s.min_samples_leaf, "lambda_l2": 1.0, "num_threads": s.n_threads,
            "seed": s.seed, "deterministic": True, "force_row_wise": True, "verbosity": -1,
            "feature_pre_filter": False,  # else it fails where no leaf can have its least rows
            **s.params, "metric": "None",
        }  # fmt: skip
        data = lightgbm.Dataset(*rows[:2], weight=rows[2], params=params).construct()
        if not any(data.feature_num_bin(k) for k in range(data.num_feature())):
            raise ValueError(
                f"LightGBM finds no column of X that varies among the {rows[1].size} rows that it "
                "trains on: give a column that varies, or use fewer folds in cv."
            )
        watched: dict[str, Any] = {}
        if watch is not None:
            held = lightgbm.Dataset(*watch.rows[:2], weight=watch.rows[2], reference=data)
            stop = lightgbm.early_stopping(watch.patience, verbose=False)
            watched = {
                "valid_sets": [held], "callbacks": [stop],
                "feval": lambda scores, _: (PROGRESS, watch.after_round(scores), True),
            }  # fmt: skip
        objective = self.objective.inside(rows[3]).for_train
        booster = lightgbm.train({**params, "objective": objective}, data, n_rounds, **watched)
        return Grown(booster, np.array([] if watch is None else watch.values))

    @staticmethod
    def scores(booster: Any, X: Any, n_rounds: int) -> Array:
        return np.asarray(booster.predict(X, num_iteration=n_rounds, raw_score=True), dtype=float)

    @staticmethod
    def importances(booster: Any, n_features: int) -> Array:
        return np.asarray(booster.feature_importance("gain"), dtype=float)


class XGBoost:
    """`xgboost.train` with leaves grown best-first and L2 regularisation 1."""

    def __init__(self, objective: PairObjective, settings: Settings):
        self.objective, self.settings = objective, settings

    def grow(self, rows: Any, n_rounds: int, watch: Watch | None = None) -> Grown:
        """Of rows (X, y, weights, groups); without held-out rows every round is made."""
        import xgboost

        s = self.settings
        params = {
            "learning_rate": s.learning_rate, "max_leaves": s.max_leaf_nodes, "max_depth": 0,
            "grow_policy": "lossguide", "tree_method": "hist", "min_child_weight": 1.0,
            "lambda": 1.0, "base_score": 0.0, "nthread": s.n_threads, "seed": s.seed,
            "verbosity": 0, **s.params, "disable_default_eval_metric": True,
        }  # fmt: skip
        watched: dict[str, Any] = {}
        if watch is not None:
            stop = xgboost.callback.EarlyStopping(
                rounds=watch.patience, metric_name=PROGRESS, maximize=True
            )
            watched = {
                "evals": [(_matrix(watch.rows), "held_out")], "callbacks": [stop],
                "custom_metric": lambda scores, _: (PROGRESS, watch.after_round(scores)),
            }  # fmt: skip
        booster = xgboost.train(
            params, _matrix(rows), n_rounds, obj=self.objective.inside(rows[3]).for_train,
            verbose_eval=False, **watched,
        )  # fmt: skip
        return Grown(booster, np.array([] if watch is None else watch.values))

    @staticmethod
    def scores(booster: Any, X: Any, n_rounds: int) -> Array:
        data = _matrix((X, None, None, None))
        margins = booster.predict(data, output_margin=True, iteration_range=(0, n_rounds))
        return np.asarray(margins, dtype=float)

    @staticmethod
    def importances(booster: Any, n_features: int) -> Array:
        names = booster.feature_names or [f"f{k}" for k in range(n_features)]
        gain = booster.get_score(importance_type="total_gain")
        return np.array([gain.get(name, 0.0) for name in names], dtype=float)


def _matrix(rows: Any) -> Any:
    import xgboost

    X, y, weight, _ = rows
    return xgboost.DMatrix(X, y, weight=weight, enable_categorical=True)


LIBRARIES: dict[str, Any] = {"lightgbm": LightGBM, "xgboost": XGBoost}

OWN_PARAMETERS = {
    **dict.fromkeys(
        [
            "n_estimators",
            "num_iterations",
            "num_iteration",
            "n_iter",
            "num_tree",
            "num_trees",
            "num_round",
            "num_rounds",
            "nrounds",
            "num_boost_round",
            "max_iter",
        ],
        "max_rounds",
    ),
    **dict.fromkeys(
        ["early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"],
        "patience",
    ),
    **dict.fromkeys(["objective", "objective_type", "app", "application", "loss", "obj"], "push"),
}
"""Names by which the libraries know what the estimator sets, and its own parameter for each."""


def refuse_missing(library: str) -> None:
    if find_spec(library) is None:
        raise ImportError(f"library={library!r} is not installed: pip install 'everypair[boost]'.")


def refuse_own_parameters(params: Mapping[str, Any]) -> None:
    for name in params:
        if name in OWN_PARAMETERS:
            raise ValueError(
                f"params has {name!r}, which the estimator sets itself: use the parameter "
                f"{OWN_PARAMETERS[name]} instead."
            )
