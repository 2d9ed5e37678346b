"""The objective in XGBoost and LightGBM: exact gradients, weights, both conventions."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from everypair.boosting import auc_metric, pair_objective
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOSSES
from everypair.rows import Rows


def table(n=600, seed=0, rare=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(n)
    return X, (signal > np.quantile(signal, 1 - rare)).astype(int), rng.integers(1, 4, n) * 1.0


@pytest.mark.parametrize("loss", ["logistic", "exponential", "square", "squared_hinge"])
def test_gradient_is_the_definition_times_half_the_rows(loss):
    rng = np.random.default_rng(1)
    y, scores, weight = rng.integers(0, 2, 40), rng.standard_normal(40), rng.integers(0, 3, 40)
    weight[:2], y[:2] = 1, (0, 1)
    gradient, curvature = pair_objective(loss)(y, scores, weight)
    point = BrutePoint(LOSSES[loss], Rows.uncut(y, weight), scores)
    np.testing.assert_allclose(gradient, 20 * point.gradient(), atol=1e-12)
    diagonal = [point.product(unit)[k] for k, unit in enumerate(np.eye(40))]
    np.testing.assert_allclose(curvature, np.maximum(20 * np.array(diagonal), 1e-6), atol=1e-11)


def test_labels_may_be_any_two_numbers_and_the_larger_is_positive():
    scores = np.array([0.3, -0.2, 0.9])
    for low, high in ((0, 1), (-1, 1), (1, 2)):
        y = np.array([low, high, low])
        np.testing.assert_array_equal(
            pair_objective()(y, scores), pair_objective()([0, 1, 0], scores)
        )


def test_the_unit_of_the_weights_does_not_matter():
    X, y, weight = table()
    plain, scaled = (pair_objective()(y, X[:, 0], unit * weight) for unit in (1, 1e6))
    np.testing.assert_allclose(plain, scaled, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "sigmoid"}, "loss='sigmoid' is not available here"),
        ({"push": 0.5}, "push=0.5 is not a power"),
        ({"push": 2, "loss": "square"}, "push=2 needs the logistic loss"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        pair_objective(**options)


def test_one_class_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="y has 1 distinct values"):
        pair_objective()(np.zeros(5), np.zeros(5))


def test_the_form_of_the_wrappers_in_train_is_refused_with_the_remedy():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = table()
    data = lightgbm.Dataset(X, y)
    for given in ({"objective": pair_objective()}, {"objective": "binary"}):
        metric = auc_metric("lightgbm") if given["objective"] == "binary" else None
        with pytest.raises(TypeError, match=r"called with a Dataset, .* pass .*\.for_train there"):
            lightgbm.train({"verbosity": -1, **given}, data, 2, valid_sets=[data], feval=metric)


def test_the_objective_survives_pickle_and_equals_its_copy():
    objective = pair_objective(push=3)
    assert pickle.loads(pickle.dumps(objective)) == objective
    assert repr(objective) == "pair_objective(loss='logistic', push=3)"


def test_the_metric_is_the_weighted_auc():
    X, y, weight = table()
    expected = roc_auc_score(y, X[:, 2], sample_weight=weight)
    assert auc_metric("xgboost")(y, X[:, 2], weight) == pytest.approx(expected, abs=1e-12)
    name, value, higher = auc_metric("lightgbm")(y, X[:, 2], weight)
    assert (name, higher) == ("auc_exact", True)
    assert value == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="library='catboost'"):
        auc_metric("catboost")


def test_in_xgboost_the_wrapper_and_train_grow_the_same_trees_and_see_the_weights():
    xgboost = pytest.importorskip("xgboost")
    X, y, weight = table()
    settings = {"max_depth": 3, "learning_rate": 0.3, "base_score": 0.0, "nthread": 1, "seed": 0}
    model = xgboost.XGBClassifier(
        objective=pair_objective(), n_estimators=10, n_jobs=1, random_state=0,
        **{k: settings[k] for k in ("max_depth", "learning_rate")},
    )  # fmt: skip
    weighted = clone(model).fit(X, y, sample_weight=weight).predict(X, output_margin=True)
    data = xgboost.DMatrix(X, y, weight=weight)
    booster = xgboost.train(settings, data, 10, obj=pair_objective().for_train)
    margins = booster.predict(data, output_margin=True)
    np.testing.assert_allclose(weighted - weighted[0], margins - margins[0], atol=1e-4)
    repeated = np.repeat(np.arange(y.size), weight.astype(int))
    again = clone(model).set_params(min_child_weight=0).fit(X[repeated], y[repeated])
    without = clone(model).set_params(min_child_weight=0).fit(X, y)
    by_rows, unweighted = (m.predict(X, output_margin=True) for m in (again, without))
    assert np.corrcoef(weighted, by_rows)[0, 1] > np.corrcoef(weighted, unweighted)[0, 1]
    assert roc_auc_score(y, weighted) > 0.9


def test_in_lightgbm_the_wrapper_and_train_grow_the_same_trees():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, weight = table()
    settings = {"num_leaves": 7, "learning_rate": 0.3, "verbose": -1, "num_threads": 1, "seed": 0}
    model = lightgbm.LGBMClassifier(
        objective=pair_objective(), n_estimators=10, num_leaves=7, learning_rate=0.3, verbose=-1,
        n_jobs=1, random_state=0,
    )  # fmt: skip
    scores = clone(model).fit(X, y, sample_weight=weight).predict(X, raw_score=True)
    data = lightgbm.Dataset(X, y, weight=weight)
    booster = lightgbm.train({**settings, "objective": pair_objective().for_train}, data, 10)
    np.testing.assert_allclose(scores, booster.predict(X, raw_score=True), atol=1e-9)
    assert roc_auc_score(y, scores) > 0.9


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_early_stopping_stops_at_the_largest_auc(library):
    module = pytest.importorskip(library)
    X, y, _ = table(900)
    X, y, X_new, y_new = X[:600], y[:600], X[600:], y[600:]
    if library == "xgboost":
        model = module.XGBClassifier(
            objective=pair_objective(), eval_metric=auc_metric("xgboost"), n_estimators=80,
            early_stopping_rounds=10, n_jobs=1,
        ).fit(X, y, eval_set=[(X_new, y_new)], verbose=False)  # fmt: skip
        seen = model.evals_result()["validation_0"]["auc_exact"]
        best = model.best_iteration
    else:
        model = module.LGBMClassifier(
            objective=pair_objective(), n_estimators=80, verbose=-1, metric="None", n_jobs=1
        ).fit(
            X, y, eval_set=[(X_new, y_new)], eval_metric=auc_metric("lightgbm"),
            callbacks=[module.early_stopping(10, verbose=False)],
        )  # fmt: skip
        seen = model.evals_result_["valid_0"]["auc_exact"]
        best = model.best_iteration_ - 1
    assert best == int(np.argmax(seen))


def test_a_push_weighs_the_negatives_at_the_top():
    y = np.array([1, 0, 0, 1])
    scores = np.array([0.0, 3.0, -3.0, 0.5])
    plain, _ = pair_objective()(y, scores)
    pushed, _ = pair_objective(push=4)(y, scores)
    assert pushed[1] / pushed[2] > 10 * plain[1] / plain[2]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("high", [100.0, 800.0, 1e5])  # beyond float32, beyond float64
def test_an_exponential_that_overflows_is_refused_with_the_remedy(high):
    y, scores = np.array([1, 0, 0]), np.array([0.0, high, 1.0])
    with pytest.raises(ValueError, match=r"'exponential' overflows .* use loss='logistic'"):
        pair_objective("exponential")(y, scores)
    assert np.isfinite(pair_objective()(y, scores)).all()
