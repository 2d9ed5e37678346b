"""XGBoost and LightGBM behind one interface: train with early stopping, score, importances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from everypair.boosting.objective import PairObjective

Array = NDArray[np.float64]


class Settings(NamedTuple):
    """What both libraries are told; ``params`` are further settings in the library's own words."""

    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int
    n_threads: int
    seed: int
    params: dict[str, Any]


class Grown(NamedTuple):
    """A booster, and the AUC of the held-out rows after each of its rounds."""

    booster: Any
    curve: Array


class LightGBM:
    """`lightgbm.train` with leaves grown best-first and L2 regularisation 1."""

    def __init__(self, objective: PairObjective, settings: Settings):
        self.objective, self.settings = objective, settings

    def grow(self, rows: Any, held_out: Any, n_rounds: int, patience: int) -> Grown:
        """Of rows (X, y, weights, groups); without held-out rows every round is made."""
        import lightgbm

        from everypair.boosting.metric import METRIC_NAME, AUCMetric

        s = self.settings
        params = {
            "learning_rate": s.learning_rate, "num_leaves": s.max_leaf_nodes,
            "min_data_in_leaf": s.min_samples_leaf, "lambda_l2": 1.0, "num_threads": s.n_threads,
            "seed": s.seed, "deterministic": True, "force_row_wise": True, "verbosity": -1,
            "feature_pre_filter": False,  # else it fails where no leaf can have its least rows
            **s.params, "objective": self.objective.inside(rows[3]).for_train, "metric": "None",
        }  # fmt: skip
        data = lightgbm.Dataset(*rows[:2], weight=rows[2], free_raw_data=True)
        seen: dict[str, Any] = {}
        watched: dict[str, Any] = {}
        if held_out is not None:
            held = lightgbm.Dataset(*held_out[:2], weight=held_out[2], reference=data)
            stop = lightgbm.early_stopping(patience, verbose=False)
            watched = {
                "valid_sets": [held], "valid_names": ["held_out"],
                "feval": AUCMetric("lightgbm", held_out[3]).for_train,
                "callbacks": [stop, lightgbm.record_evaluation(seen)],
            }  # fmt: skip
        try:
            booster = lightgbm.train(params, data, n_rounds, **watched)
        except lightgbm.basic.LightGBMError as trouble:
            if "num_features()" not in str(trouble):
                raise
            raise ValueError(
                f"LightGBM finds no column of X that varies among the {rows[1].size} rows that it "
                "trains on: give a column that varies, or use fewer folds in cv."
            ) from trouble
        return Grown(booster, np.array(seen["held_out"][METRIC_NAME] if seen else []))

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

    def grow(self, rows: Any, held_out: Any, n_rounds: int, patience: int) -> Grown:
        """Of rows (X, y, weights, groups); without held-out rows every round is made."""
        import xgboost

        from everypair.boosting.metric import METRIC_NAME, AUCMetric

        s = self.settings
        params = {
            "learning_rate": s.learning_rate, "max_leaves": s.max_leaf_nodes, "max_depth": 0,
            "grow_policy": "lossguide", "tree_method": "hist", "min_child_weight": 1.0,
            "lambda": 1.0, "base_score": 0.0, "nthread": s.n_threads, "seed": s.seed,
            "verbosity": 0, **s.params, "disable_default_eval_metric": True,
        }  # fmt: skip
        seen: dict[str, Any] = {}
        watched = {}
        if held_out is not None:
            stop = xgboost.callback.EarlyStopping(
                rounds=patience, metric_name=METRIC_NAME, maximize=True
            )
            watched = {
                "evals": [(_matrix(held_out), "held_out")], "evals_result": seen,
                "custom_metric": AUCMetric("xgboost", held_out[3]).for_train, "callbacks": [stop],
            }  # fmt: skip
        booster = xgboost.train(
            params, _matrix(rows), n_rounds, obj=self.objective.inside(rows[3]).for_train,
            verbose_eval=False, **watched,
        )  # fmt: skip
        return Grown(booster, np.array(seen["held_out"][METRIC_NAME] if seen else []))

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
