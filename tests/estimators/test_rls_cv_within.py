"""AUCRLSCV over the pairs inside groups, against models fitted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair import AUCRLS, AUCRLSCV
from everypair.metrics import auc_score
from everypair.pairs import brute
from everypair.rows import Rows

ALPHAS = [2e-4, 2e-2, 2.0, 200.0]
FORMS = [
    {"form": "primal"},
    {"form": "dual"},
    {"kernel": "rbf", "gamma": 0.2},
    {"kernel": "precomputed"},
]


def data(n_groups=14, p=4, seed=0):
    """Groups of 1 to 12 rows, some of one class, rows that are twins, rows of no weight."""
    rng = np.random.default_rng(seed)
    within = np.repeat(np.arange(n_groups), rng.integers(1, 13, n_groups))
    X = np.round(rng.standard_normal((within.size, p)), 1)
    X[1::7] = X[::7][: X[1::7].shape[0]]
    y = X[:, 0] - X[:, 1] + rng.standard_normal(n_groups)[within] + rng.standard_normal(within.size)
    order = rng.permutation(within.size)
    weight = rng.integers(0, 3, within.size).astype(float)
    return X[order], (y > 0).astype(int)[order], weight, within[order]


def rows_of(X, rows, columns, params):
    return X[np.ix_(rows, columns)] if params.get("kernel") == "precomputed" else X[rows]


def by_hand(X, y, weight, within, alpha, params, folds, rule="pairs"):
    """Scores of each row by the model of its training fold."""
    scores = np.zeros(y.size)
    for train, test in folds:
        model = AUCRLS(alpha, within_weight=rule, **params)
        model.fit(rows_of(X, train, train, params), y[train], weight[train], within=within[train])
        scores[test] = model.decision_function(rows_of(X, test, train, params))
    return scores


def groups_left_out(within):
    every = np.arange(within.size)
    return [(every[within != g], every[within == g]) for g in np.unique(within)]


def area(y, scores, weight, within, rule="pairs"):
    scores = np.round(scores, 9)  # twins are equal
    return brute.auc(Rows.uncut(y == 1, weight, within, rule), scores)


@pytest.mark.parametrize(
    ("params", "rule"),
    [*((params, "pairs") for params in FORMS), (FORMS[0], "rows"), (FORMS[2], "equal")],
    ids=str,
)
def test_leave_group_out_equals_refitting(params, rule):
    X, y, weight, within = data()
    X = rbf_kernel(X, gamma=0.2) if params.get("kernel") == "precomputed" else X
    model = AUCRLSCV(ALPHAS, within_weight=rule, **params).fit(X, y, weight, within=within)
    for alpha, score in zip(ALPHAS, model.cv_scores_, strict=True):
        scores = by_hand(X, y, weight, within, alpha, params, groups_left_out(within), rule)
        assert score == pytest.approx(area(y, scores, weight, within, rule), abs=1e-12)
    assert model.alpha_ == max(a for a, s in zip(ALPHAS, model.cv_scores_, strict=True)
                               if s == model.best_score_)  # fmt: skip
    assert not hasattr(model, "cv_fold_scores_")
    refit = AUCRLS(model.alpha_, within_weight=rule, **params).fit(X, y, weight, within=within)
    np.testing.assert_allclose(model.decision_function(X), refit.decision_function(X), atol=1e-9)
    expected = auc_score(
        y, model.decision_function(X), sample_weight=weight, within=within, within_weight=rule
    )
    assert model.train_score_ == pytest.approx(expected, abs=1e-12)
    assert model.n_groups_without_pairs_ == refit.n_groups_without_pairs_ > 0


@pytest.mark.parametrize("shape", [(14, 3), (8, 120), (3, 4), (30, 5)], ids=str)
def test_scores_of_left_out_groups_equal_refitting(shape):
    """Groups of more rows than columns and of fewer, and more columns than rows."""
    from everypair.rls.groups_left_out import GroupsLeftOut

    n_groups, p = shape
    rng = np.random.default_rng(3)
    within = np.repeat(np.arange(n_groups), rng.integers(4, 15, n_groups))
    X, y = rng.standard_normal((within.size, p)), np.arange(within.size) % 2
    weight = rng.uniform(0.1, 3, within.size)
    left_out = GroupsLeftOut(X, Rows.uncut(y, weight, within))
    numbers, scores = left_out.scores(np.arange(n_groups), np.array(ALPHAS) / 2)
    for k, alpha in enumerate(ALPHAS):
        folds = groups_left_out(within)
        expected = by_hand(X, y, weight, within, alpha, {"form": "primal"}, folds)
        for g in range(n_groups):
            of_group = scores[within[numbers] == g, k]
            apart = expected[numbers[within[numbers] == g]]
            np.testing.assert_allclose(
                of_group - of_group[0], apart - apart[0], atol=2e-9 * np.abs(expected).max()
            )


@pytest.mark.parametrize("light", [1e-8, 1e-3])
@pytest.mark.parametrize("p", [3, 200])
def test_a_group_that_has_nearly_all_weight_is_scored_by_the_others(p, light):
    from everypair.rls.groups_left_out import GroupsLeftOut

    rng = np.random.default_rng(5)
    within = np.repeat(np.arange(6), 12)
    X, y = rng.standard_normal((within.size, p)), np.arange(within.size) % 2
    weight = np.where(within == 0, 1.0, light)
    left_out = GroupsLeftOut(X, Rows.uncut(y, weight, within))
    alphas = [1e-8, *ALPHAS]
    numbers, scores = left_out.scores(np.arange(1), np.array(alphas) / 2)
    for k, alpha in enumerate(alphas):
        folds = groups_left_out(within)[:1]
        expected = by_hand(X, y, weight, within, alpha, {"form": "primal"}, folds)[numbers]
        apart = scores[:, k] - scores[0, k]
        np.testing.assert_allclose(
            apart, expected - expected[0], atol=2e-9 * np.abs(expected).max()
        )


@pytest.mark.parametrize("params", FORMS[:3], ids=str)
@pytest.mark.parametrize("average", ["pooled", "folds"])
def test_folds_equal_refitting(params, average):
    X, y, weight, within = data(40)
    whole = list(GroupKFold(3).split(X, y, within))
    cut = list(StratifiedKFold(3).split(X, y))  # groups on both sides
    for folds in (whole, cut):
        model = AUCRLSCV(ALPHAS, cv=folds, average=average, **params)
        model.fit(X, y, weight, within=within)
        for k, alpha in enumerate(ALPHAS):
            scores = by_hand(X, y, weight, within, alpha, params, folds)
            by_fold = [area(y[t], scores[t], weight[t], within[t]) for _, t in folds]
            np.testing.assert_allclose(model.cv_fold_scores_[k], by_fold, atol=1e-12)
            pooled = area(y, scores, weight, within)
            expected = pooled if average == "pooled" else np.mean(by_fold)
            assert model.cv_scores_[k] == pytest.approx(expected, abs=1e-12)


def test_few_groups_are_dealt_over_folds_and_one_group_is_told():
    X, y, _, _ = data(30)
    within = np.arange(y.size) % 3
    model = AUCRLSCV().fit(X, y, within=within)
    assert model.cv_fold_scores_.shape == (41, 5)
    assert AUCRLSCV(cv="leave-group-out").fit(X, y, within=within).cv_scores_.shape == (41,)
    with pytest.raises(ValueError, match="there is one"):
        AUCRLSCV(cv="leave-group-out").fit(X, y, within=np.zeros(y.size))


def test_sparse_rows_probabilities_and_rules():
    X, y, weight, within = data(40)
    dense = AUCRLSCV(calibration="auto", threshold="f1").fit(X, y, weight, within=within)
    kept = AUCRLSCV(calibration="auto", threshold="f1").fit(
        sparse.csr_array(X), y, weight, within=within
    )
    np.testing.assert_allclose(dense.cv_scores_, kept.cv_scores_, atol=1e-12)
    np.testing.assert_allclose(dense.predict_proba(X), kept.predict_proba(X), atol=1e-6)
    scaled = AUCRLSCV().fit(1000 * X, y, weight, within=within)
    plain = AUCRLSCV().fit(X, y, weight, within=within)
    np.testing.assert_allclose(scaled.cv_scores_, plain.cv_scores_, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (AUCRLSCV(cv="leave-pair-out"), {"within": 1}, "leave-group-out"),
        (AUCRLSCV(cv="leave-group-out"), {}, "give within"),
        (AUCRLSCV(), {"within": 1, "groups": 1}, "does not keep groups together"),
        (AUCRLSCV(store_predictions=True), {"within": 1}, "cross_val_predict"),
    ],
)
def test_what_does_not_go_together_is_told(model, given, message):
    X, y, _, within = data()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **dict.fromkeys(given, within))


def test_routing_carries_within_and_groups_at_once():
    X, y, _, within = data(40)
    sites = within // 2
    with config_context(enable_metadata_routing=True):
        model = AUCRLSCV(ALPHAS, cv=GroupKFold(3)).set_fit_request(within=True, groups=True)
        routed = make_pipeline(StandardScaler(), model).fit(X, y, within=within, groups=sites)
    direct = AUCRLSCV(ALPHAS, cv=GroupKFold(3))
    direct.fit(StandardScaler().fit_transform(X), y, within=within, groups=sites)
    np.testing.assert_allclose(routed[-1].cv_scores_, direct.cv_scores_)
