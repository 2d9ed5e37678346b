"""One word for one thing: parameters and attributes that several estimators have."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.metrics.pairwise import rbf_kernel

import everypair
from everypair import (
    AUCRLS,
    AUCRLSCV,
    CPAUC,
    ROCSVM,
    AUCAdditive,
    AUCClassifier,
    AUCClassifierCV,
    MeasureSVM,
    RankBoost,
    RankOpt,
    RankOptCV,
    TwoNormSVM,
)
from everypair.metrics import auc_score, threshold_for

ESTIMATORS = [getattr(everypair, name) for name in everypair.__all__ if name[0].isupper()]
OPTIONS = {
    AUCClassifierCV: {"n_alphas": 5, "cv": 3},
    CPAUC: {"n_clusters": 30, "random_state": 0},
    MeasureSVM: {"C": 0.01},  # of F1, whose score has a constant of its own
    RankBoost: {"n_estimators": 20},
    RankOptCV: {"saturation": (0.5, 0.9), "cv": 3},
    ROCSVM: {"tol": 1e-4},
}
FITTED = [cls for cls in ESTIMATORS if not cls.__name__.startswith("MeasureOpt")]
CROSS_VALIDATED = [AUCClassifierCV(**OPTIONS[AUCClassifierCV]), RankOptCV(cv=3), AUCRLSCV(cv=3)]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    return X, (X[:, 0] + 0.7 * rng.standard_normal(90) > 0.5).astype(int)


def defaults(cls, name):
    return inspect.signature(cls).parameters[name].default


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", "scale"), ("degree", 3), ("coef0", 0.0), ("verbose", 0), ("n_jobs", None),
     ("random_state", None), ("kernel_tol", 1e-10)],
)  # fmt: skip
def test_a_parameter_has_one_default(name, value):
    having = [cls for cls in ESTIMATORS if name in inspect.signature(cls).parameters]
    assert having
    assert {cls: defaults(cls, name) for cls in having} == dict.fromkeys(having, value)


def test_what_an_estimator_lacks_its_docstring_says():
    for cls in ESTIMATORS:
        parameters, fit = inspect.signature(cls).parameters, inspect.signature(cls.fit).parameters
        assert "train_score_" in cls.__doc__, cls
        assert "sample_weight" in fit or "no ``sample_weight``" in cls.__doc__, cls
        assert "verbose" in parameters or "max_iter" not in parameters, cls
        if cls.__name__.endswith("CV"):
            assert {"cv", "n_jobs"} <= parameters.keys(), cls
            assert "cv_scores_" in cls.__doc__, cls
            assert "best_score_" in cls.__doc__, cls


def test_every_estimator_has_a_threshold_and_says_why_its_default_is_another():
    for cls in ESTIMATORS:
        default = defaults(cls, "threshold")
        said = "Here the default is" in cls.__doc__ or issubclass(cls, AUCRLS)
        assert default == "balanced" or said, cls


ON_TRAINING_ROWS = [cls for cls in FITTED if not cls.__name__.endswith("CV")]
"""Searches cut by the scores of their folds, as others do by default: `test_probabilities.py`."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ON_TRAINING_ROWS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    "rule", ["midpoint", "f1", {"fpr": 0.1}, {"recall": 0.9}, {"cost": (1, 5)}, 0.25], ids=str
)
def test_every_rule_cuts_every_estimator_where_the_metric_says(data, cls, rule, monkeypatch):
    monkeypatch.setattr(cls, "_cross_fits", lambda *given: False)  # by training scores
    X, y = data
    model = cls(**OPTIONS.get(cls, {}), threshold=rule).fit(X, y)
    scores = model.decision_function(X) - model.intercept_[0]
    if isinstance(rule, dict):
        expected = threshold_for(y, scores, **rule)
    else:
        expected = rule if isinstance(rule, float) else threshold_for(y, scores, rule)
    assert -model.intercept_[0] == pytest.approx(expected, abs=1e-9)
    called = np.where(scores > expected, 1, 0)
    counts = confusion_matrix(y, called) - confusion_matrix(y, model.predict(X))
    assert np.abs(counts).max() <= 1  # rounding may move the score at the cut


def test_the_midpoint_is_halfway_between_the_weighted_class_means():
    y, s, w = [0, 0, 1, 1, 1], [0.0, 2.0, 3.0, 5.0, 100.0], [1, 3, 1, 1, 0]
    assert threshold_for(y, s, "midpoint", sample_weight=w) == (1.5 + 4.0) / 2


@pytest.mark.parametrize("model", CROSS_VALIDATED, ids=lambda model: type(model).__name__)
def test_the_scores_of_a_search_have_one_shape_and_one_meaning(data, model):
    X, y = data
    model = model.fit(X, y)
    tried, chosen = (
        (model.saturations_, model.saturation_)
        if hasattr(model, "saturation_")
        else (model.alphas_, model.alpha_)
    )
    assert model.cv_scores_.shape == tried.shape
    assert model.cv_fold_scores_.shape == (tried.size, 3)
    assert model.best_score_ == model.cv_scores_[tried == chosen][0] == model.cv_scores_.max()
    assert model.train_score_ == pytest.approx(auc_score(y, model.decision_function(X)), abs=1e-12)
    if not hasattr(model, "average"):
        np.testing.assert_allclose(model.cv_scores_, model.cv_fold_scores_.mean(axis=1))


@pytest.mark.parametrize(
    "params", [{}, {"form": "dual"}, {"kernel": "rbf"}, {"kernel": "precomputed"}], ids=str
)
@pytest.mark.parametrize("cv", [3, "leave-pair-out"])
def test_the_training_score_of_auc_rls_is_that_of_its_scores(data, params, cv):
    X, y = data
    X = rbf_kernel(X) if params.get("kernel") == "precomputed" else X
    weight = np.random.default_rng(1).integers(0, 3, y.size).astype(float)
    model = AUCRLSCV([1e-3, 1e-1], cv=cv, **params).fit(X, y, weight)
    expected = auc_score(y, model.decision_function(X), weight)
    assert model.train_score_ == pytest.approx(expected, abs=1e-12)
    assert hasattr(model, "cv_fold_scores_") == (cv == 3)


@pytest.mark.parametrize(
    "model",
    [AUCClassifierCV(n_alphas=5), RankOptCV(), AUCRLSCV(cv=5), AUCRLSCV(cv=5, form="dual")],
    ids=str,
)
def test_threads_over_the_folds_do_not_change_the_result(data, model):
    X, y = data
    one = model.set_params(n_jobs=1).fit(X, y)
    scores, coef = one.cv_fold_scores_, one.coef_
    two = model.set_params(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(two.cv_fold_scores_, scores, atol=1e-12)
    np.testing.assert_allclose(two.coef_, coef, atol=1e-10)


@pytest.mark.parametrize("cls", [cls for cls in FITTED if hasattr(cls(), "verbose")])
@pytest.mark.filterwarnings("ignore")
def test_verbose_says_something_and_its_default_nothing(data, cls, capsys):
    X, y = data
    for verbose in (0, 1):
        cls(**OPTIONS.get(cls, {}), verbose=verbose).fit(X, y)
        said = capsys.readouterr()
        assert bool(said.out + said.err) == bool(verbose)
        assert "[everypair]" in said.out + said.err or not verbose


def test_linear_pairs_tell_each_subfold(data, capsys):
    RankOpt(pairs="linear", random_state=0, verbose=1).fit(*data)
    assert "sub-fold 1, saturation 0.99" in capsys.readouterr().out


def test_two_norm_svm_keeps_its_own_cut_unless_told_otherwise(data):
    X, y = data
    own, told = TwoNormSVM().fit(X, y), TwoNormSVM(threshold="midpoint").fit(X, y)
    np.testing.assert_array_equal(own.dual_coef_, told.dual_coef_)
    scores = own.decision_function(X) - own.intercept_
    assert told.intercept_[0] == pytest.approx(-threshold_for(y, scores, "midpoint"), abs=1e-9)
    shift = told.intercept_ - own.intercept_
    np.testing.assert_allclose(
        told.decision_function_train_, own.decision_function_train_ + shift, atol=1e-12
    )


def test_the_defaults_of_the_two_penalties_per_pair_agree():
    assert AUCRLS().alpha == AUCClassifier().alpha == 1e-3


def test_the_climb_of_an_additive_model_prints_its_steps(data, capsys):
    AUCAdditive(loss="f1", verbose=1).fit(*data)
    assert "relative gradient" in capsys.readouterr().out
