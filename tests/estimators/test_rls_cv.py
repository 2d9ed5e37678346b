"""AUCRLSCV against cross-validation by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)

from everypair import AUCRLS, AUCRLSCV
from everypair.estimators import rls_cv
from everypair.linalg import threads

ALPHAS = [2e-4, 2e-2, 2.0]


def data(n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, 0] - X[:, 1] + 2 * rng.standard_normal(n) > 1
    return X, np.where(y, "yes", "no"), rng.integers(0, 3, n).astype(float)


FORMS = [{"form": "primal"}, {"form": "dual"}, {"kernel": "rbf", "gamma": 0.2}]


def leave_pair_out_by_hand(model, X, y, weight):
    rows = np.arange(len(y))
    high, low = (np.flatnonzero((y == label) & (weight > 0)) for label in ("yes", "no"))
    out = np.empty((high.size, low.size))
    for a, i in enumerate(high):
        for b, j in enumerate(low):
            rest = np.setdiff1d(rows, [i, j])
            scores = model.fit(X[rest], y[rest], weight[rest]).decision_function(X[[i, j]])
            out[a, b] = scores[0] - scores[1]
    return out, np.outer(weight[high], weight[low])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", FORMS, ids=str)
def test_leave_pair_out_equals_refitting(params, weighted):
    X, y, weight = data(n=14)
    weight = weight if weighted else np.ones(len(y))
    model = AUCRLSCV(ALPHAS, store_predictions=True, **params).fit(X, y, weight)
    by_alpha = [leave_pair_out_by_hand(AUCRLS(alpha, **params), X, y, weight) for alpha in ALPHAS]
    expected = [np.sum(pairs * (out > 0)) / pairs.sum() for out, pairs in by_alpha]
    np.testing.assert_allclose(model.cv_scores_, expected, atol=1e-12)
    best = ALPHAS.index(model.alpha_)
    assert model.cv_scores_[best] == model.best_score_ == max(model.cv_scores_)
    np.testing.assert_allclose(model.leave_pair_out_predictions_, by_alpha[best][0], atol=1e-7)
    refit = AUCRLS(model.alpha_, **params).fit(X, y, weight)
    np.testing.assert_allclose(model.decision_function(X), refit.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("cv", [3, KFold(4), StratifiedKFold(5, shuffle=True, random_state=0)])
@pytest.mark.parametrize("params", FORMS, ids=str)
def test_pooled_folds_equal_refitting(params, cv):
    X, y, _ = data()
    model = AUCRLSCV(ALPHAS, cv=cv, **params).fit(X, y)
    for alpha, auc in zip(ALPHAS, model.cv_scores_, strict=True):
        scores = cross_val_predict(AUCRLS(alpha, **params), X, y, cv=cv, method="decision_function")
        np.testing.assert_allclose(auc, roc_auc_score(y, scores), atol=1e-12)


@pytest.mark.parametrize(
    "cv", [3, ShuffleSplit(4, train_size=0.5, test_size=0.3, random_state=2)], ids=str
)
@pytest.mark.parametrize("params", FORMS, ids=str)
def test_mean_over_folds_equals_refitting(params, cv):
    X, y, _ = data()
    model = AUCRLSCV(ALPHAS, cv=cv, average="folds", **params).fit(X, y)
    for alpha, auc in zip(ALPHAS, model.cv_scores_, strict=True):
        scores = cross_val_score(AUCRLS(alpha, **params), X, y, cv=cv, scoring="roc_auc")
        np.testing.assert_allclose(auc, scores.mean(), atol=1e-12)


@pytest.mark.parametrize("params", FORMS, ids=str)
def test_weighted_folds_equal_refitting(params):
    X, y, weight = data()
    folds = list(StratifiedKFold(4).split(X, y))
    model = AUCRLSCV(ALPHAS, cv=folds, **params).fit(X, y, weight)
    for alpha, auc in zip(ALPHAS, model.cv_scores_, strict=True):
        scores = np.empty(len(y))
        for train, test in folds:
            refit = AUCRLS(alpha, **params).fit(X[train], y[train], weight[train])
            scores[test] = refit.decision_function(X[test])
        expected = roc_auc_score(y, scores, sample_weight=weight)
        np.testing.assert_allclose(auc, expected, atol=1e-12)


@pytest.mark.parametrize("params", FORMS, ids=str)
def test_rows_may_be_counted_from_the_end(params):
    X, y, _ = data()
    folds = list(StratifiedKFold(3).split(X, y))
    from_the_end = [(train - 60, test - 60) for train, test in folds]
    expected = AUCRLSCV(ALPHAS, cv=folds, **params).fit(X, y).cv_scores_
    got = AUCRLSCV(ALPHAS, cv=from_the_end, **params).fit(X, y).cv_scores_
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="Fold 0 of cv has rows from 50 to 60"):
        AUCRLSCV(ALPHAS, cv=[(np.arange(50), np.arange(50, 61))], **params).fit(X, y)


def test_groups_are_kept_together():
    X, y, _ = data()
    groups = np.arange(60) // 3
    folds = list(GroupKFold(4).split(X, y, groups))
    expected = AUCRLSCV(ALPHAS, cv=folds).fit(X, y).cv_scores_
    got = AUCRLSCV(ALPHAS, cv=GroupKFold(4)).fit(X, y, groups=groups).cv_scores_
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="GroupKFold"):
        AUCRLSCV(ALPHAS).fit(X, y, groups=groups)


def test_a_precomputed_kernel_gives_the_same_choice():
    X, y, _ = data()
    for cv in ("leave-pair-out", 3):
        named = AUCRLSCV(ALPHAS, cv=cv, kernel="rbf", gamma=0.2).fit(X, y)
        given = AUCRLSCV(ALPHAS, cv=cv, kernel="precomputed").fit(rbf_kernel(X, gamma=0.2), y)
        np.testing.assert_allclose(given.cv_scores_, named.cv_scores_, atol=1e-12)
        np.testing.assert_allclose(given.dual_coef_, named.dual_coef_, rtol=1e-9)


def test_the_largest_of_equally_good_values_is_taken():
    X = np.arange(12.0)[:, None]
    y = X[:, 0] > 5
    assert AUCRLSCV([1.0, 100.0, 10.0]).fit(X, y).alpha_ == 100.0


def test_the_default_grid_follows_the_scale_of_the_rows():
    X, y, _ = data()
    for params in FORMS[:2]:
        model = AUCRLSCV(**params).fit(X, y)
        scaled = AUCRLSCV(**params).fit(1000 * X, y)
        np.testing.assert_allclose(scaled.alphas_, 1e6 * model.alphas_, rtol=1e-9)
        np.testing.assert_allclose(scaled.cv_scores_, model.cv_scores_, atol=1e-12)
    np.testing.assert_allclose(
        AUCRLSCV(form="dual").fit(X, y).alphas_,
        AUCRLSCV(form="primal").fit(X, y).alphas_,
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AUCRLSCV([1.0, 0.0]), "positive numbers"),
        (AUCRLSCV([]), "positive numbers"),
        (AUCRLSCV(cv=3, store_predictions=True), "cross_val_predict"),
        (AUCRLSCV(cv=[(np.arange(40), np.arange(30, 60))]), "distinct"),
        (AUCRLSCV(cv=[(np.r_[0:40, 0], np.arange(50, 60))]), "distinct"),
        (AUCRLSCV(cv="leave-one-out"), "cv"),
    ],
)
def test_what_is_wrong_is_said(model, message):
    X, y, _ = data()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_folds_of_one_class_are_named():
    X, y, _ = data()
    X, y = X[np.argsort(y)], np.sort(y)
    n_negative = (y == "no").sum()
    rows = np.arange(60)
    folds = [(rows[::2], rows[1::2]), (rows[:n_negative], rows[n_negative:])]
    with pytest.raises(ValueError, match="Fold 1 of cv trains on one class"):
        AUCRLSCV(cv=folds).fit(X, y)
    with pytest.raises(ValueError, match="tests on one class only"):
        AUCRLSCV(cv=KFold(10), average="folds").fit(X, y)


def test_a_cross_validated_model_does_not_stream():
    assert not hasattr(AUCRLSCV(), "partial_fit")
    assert not hasattr(AUCRLSCV(), "merge")


@pytest.mark.parametrize(
    ("shape", "form", "one_thread"),
    [
        ((60, 5), "dual", True),
        ((60, 20_000), "dual", False),  # few rows, much work
        ((2000, 5), "primal", True),  # many rows, little work
        ((400, 5), "dual", False),
    ],
)
def test_blas_has_one_thread_where_the_work_is_little(monkeypatch, shape, form, one_thread):
    monkeypatch.setattr(rls_cv, "ONE_THREAD_OPERATIONS", 1e7)
    entered = []
    own_threads = threads.own_threads
    monkeypatch.setattr(threads, "own_threads", lambda: entered.append(True) or own_threads())
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    AUCRLSCV(cv=3, form=form, alphas=[1.0]).fit(X, X[:, 0] > 0)
    assert entered == [True] * one_thread
