"""Estimators that pair rows inside groups: against independent solvers and their own definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair import (
    AUCRLS,
    ROCSVM,
    AUCClassifier,
    AUCClassifierCV,
    RankOpt,
    RankOptCV,
    auc_path,
)
from everypair.estimators._search import folds_of
from everypair.pairs import brute
from everypair.pairs.brute import BrutePoint, pair_weights
from everypair.pairs.losses import LOSSES
from everypair.rows import Rows
from everypair.solvers import choose

LINEAR = ("logistic", "squared_hinge", "hinge", "square", "exponential")


@pytest.fixture(scope="module")
def data():
    """Forty groups; a column of the groups alone, and one that misleads between them."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 15, 40)
    within = np.repeat([f"user {k}" for k in range(40)], sizes)
    offset = np.repeat(rng.standard_normal(40), sizes)
    X = rng.standard_normal((within.size, 4))
    y = X[:, 0] - X[:, 1] + 2 * offset + rng.logistic(size=within.size) > 0
    X[:, 2] = offset
    X[:, 3] -= 3 * offset
    shuffled = rng.permutation(within.size)
    return X[shuffled], y[shuffled].astype(int), rng.random(within.size), within[shuffled]


@pytest.fixture(scope="module")
def paradox():
    """Inside groups the first column points up, between them down (Simpson's paradox)."""
    rng = np.random.default_rng(5)
    within = np.repeat(np.arange(60), 12)
    level, own = 2 * rng.standard_normal(60)[within], rng.standard_normal(within.size)
    X = np.column_stack([own - level, rng.standard_normal(within.size)])
    return X, 1.5 * own + level + rng.logistic(size=within.size) > 0, within


def objective(w, loss, X, pairs, alpha, l1=0.0):
    point = BrutePoint(LOSSES[loss], pairs, X @ w)
    penalty = (1 - l1) * alpha / 2 * w @ w + l1 * alpha * np.abs(w).sum()
    return point.value() + penalty


@pytest.mark.parametrize("weighting", ["pairs", "rows", "equal"])
@pytest.mark.parametrize("loss", LINEAR)
def test_a_fit_reaches_the_minimum_of_the_definition(data, loss, weighting):
    X, y, weight, within = data
    model = AUCClassifier(loss, alpha=0.01, within_weight=weighting).fit(
        X, y, weight, within=within
    )
    pairs = Rows.uncut(y == 1, weight, within, weighting)
    w = model.coef_[0]
    assert model.objective_ == pytest.approx(objective(w, loss, X, pairs, 0.01), rel=1e-9)
    assert model.dual_gap_ <= 1e-6
    found = minimize(objective, w + 0.1, (loss, X, pairs, 0.01), method="Powell",
                     options={"xtol": 1e-10, "ftol": 1e-13, "maxiter": 20_000})  # fmt: skip
    assert model.objective_ <= found.fun * (1 + 1e-6)
    assert model.objective_ >= found.fun * (1 - 1e-3)
    assert model.train_score_ == pytest.approx(brute.auc(pairs, X @ w), abs=1e-12)
    assert model.n_groups_without_pairs_ == 40 - pairs.paired.n_groups > 0
    assert abs(w[2]) < 1e-9  # no pair sees a column of the groups alone


@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_sparse_fits_reach_the_minimum_of_the_definition(data, loss, penalty):
    X, y, weight, within = data
    model = AUCClassifier(loss, penalty, alpha=0.05).fit(X, y, weight, within=within)
    pairs, ratio = Rows.uncut(y == 1, weight, within), 1.0 if penalty == "l1" else 0.5
    found = minimize(objective, model.coef_[0], (loss, X, pairs, 0.05, ratio), method="Powell",
                     options={"xtol": 1e-10, "ftol": 1e-13, "maxiter": 20_000})  # fmt: skip
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ <= found.fun * (1 + 1e-6)
    assert model.coef_[0, 2] == 0


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
def test_both_solvers_agree_and_the_sigmoid_descends(data, solver):
    X, y, _, within = data
    model = AUCClassifier(alpha=0.01, solver=solver, tol=1e-10).fit(X, y, within=within)
    other = AUCClassifier(alpha=0.01, tol=1e-10).fit(X, y, within=within)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
    sigmoid = AUCClassifier("sigmoid", alpha=1e-3).fit(X, y, within=within)
    assert sigmoid.gradient_norm_ <= 1e-6


def test_the_model_inside_groups_is_another_one_and_better_there(paradox):
    X, y, within = paradox
    inside = AUCClassifier(alpha=0.01).fit(X, y, within=within)
    everywhere = AUCClassifier(alpha=0.01).fit(X, y)
    pairs = Rows.uncut(y, None, within)
    areas = [brute.auc(pairs, X @ model.coef_[0]) for model in (inside, everywhere)]
    assert areas[0] > 0.7
    assert areas[1] < 0.4


def test_free_columns_that_are_constant_inside_groups_stay_out(data):
    X, y, _, within = data
    model = AUCClassifier(penalty="l1", alpha=0.02, penalty_weights=[1, 1, 0, 1])
    model.fit(X, y, within=within)
    assert model.coef_[0, 2] == 0
    assert model.dual_gap_ <= 1e-6


def test_a_sample_of_whole_groups_starts_the_same_solution(monkeypatch):
    rng = np.random.default_rng(1)
    within = np.repeat(np.arange(900), 20)
    X = rng.standard_normal((within.size, 3))
    y = X @ [1, 2, 0] + rng.logistic(size=within.size) > 1
    pairs = Rows.uncut(y, None, within)
    rows = pairs.sample(3600)
    sampled, counts = np.unique(within[rows], return_counts=True)
    assert np.all(counts == 20)
    assert 3600 <= rows.size <= 3700
    assert pairs.take(rows).paired.n_groups <= sampled.size
    fit = AUCClassifier(alpha=1e-3, tol=1e-9).fit(X, y, within=within)
    monkeypatch.setattr(choose, "SAMPLE_SHARE", 0.0)
    plain = AUCClassifier(alpha=1e-3, tol=1e-9).fit(X, y, within=within)
    np.testing.assert_allclose(fit.coef_, plain.coef_, rtol=1e-4)
    one = Rows.uncut(y, None, np.zeros(within.size))
    assert 3500 <= one.sample(3600).size <= 3600


@pytest.mark.parametrize("weighting", ["pairs", "rows", "equal"])
def test_the_closed_form_is_the_square_loss(data, weighting):
    X, y, weight, within = data
    iterated = AUCClassifier("square", alpha=0.02, within_weight=weighting, tol=1e-12)
    expected = iterated.fit(X, y, weight, within=within)
    options = {"alpha": 0.02, "within_weight": weighting}
    models = [
        AUCRLS(**options, form="primal").fit(X, y, weight, within=within),
        AUCRLS(**options, form="dual").fit(X, y, weight, within=within),
        AUCRLS(**options, kernel="precomputed").fit(X @ X.T, y, weight, within=within),
    ]
    for model in models:
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)
        assert model.dual_gap_ <= 1e-6
        assert model.n_groups_without_pairs_ == expected.n_groups_without_pairs_
    for model in models[:2]:
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    scores = models[2].decision_function(X @ X.T) - models[0].decision_function(X)
    np.testing.assert_allclose(scores, 0, atol=1e-8)


def test_the_closed_form_in_a_kernel_minimises_the_definition(data):
    X, y, weight, within = data
    K = rbf_kernel(X, gamma=0.5)
    model = AUCRLS(alpha=0.05, kernel="rbf", gamma=0.5, threshold=0.0).fit(
        X, y, weight, within=within
    )
    pairs = Rows.uncut(y == 1, weight, within)
    coef = np.zeros(y.size)
    coef[model.support_] = model.dual_coef_[0]

    def value(c):
        f = K @ c
        return BrutePoint(LOSSES["square"], pairs, f).value() + 0.025 * c @ f

    assert model.objective_ == pytest.approx(value(coef), rel=1e-10)
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert value(coef + 1e-3 * rng.standard_normal(y.size)) > model.objective_


def test_moments_inside_groups_are_not_streamed(data):
    X, y, _, within = data
    model = AUCRLS().fit(X, y, within=within)
    for refused in (lambda: model.partial_fit(X, y), lambda: model.merge(AUCRLS().fit(X, y))):
        with pytest.raises(ValueError, match="do not add up over"):
            refused()
    model.fit(X, y).partial_fit(X, y)
    with pytest.raises(ValueError, match="alpha > 0"):
        AUCRLS(alpha=0, form="dual").fit(X, y, within=within)


def test_roc_svm_sums_over_the_pairs_inside_groups(data):
    X, y, weight, within = data
    model = ROCSVM(C=0.2, kernel="linear").fit(X, y, weight, within=within)
    pairs = Rows.uncut(y == 1, weight, within)
    w = model.coef_[0]
    margins = (X @ w)[pairs.positives][:, None] - (X @ w)[pairs.negatives]
    products = weight[pairs.positives][:, None] * weight[pairs.negatives]
    same = pair_weights(pairs) > 0
    hinge = np.sum((products * np.maximum(0, 1 - margins))[same])
    assert model.objective_ == pytest.approx(w @ w / 2 + 0.2 * hinge, rel=1e-9)
    assert model.n_pairs_ == same.sum() == sum(model.pair_counts_)
    assert model.pair_counts_.satisfied == np.sum(margins[same] >= model.margin_range_[1])
    curved = ROCSVM(C=0.2, gamma=0.3).fit(X, y, weight, within=within)
    assert curved.kernel_gap(X, y, weight, within) <= 1e-4
    assert curved.train_score_ > model.train_score_
    with pytest.raises(ValueError, match="use pairs='all'"):
        ROCSVM(pairs="neighbors").fit(X, y, within=within)


def test_rank_opt_climbs_inside_groups(paradox):
    X, y, within = paradox
    pairs = Rows.uncut(y, None, within)
    model = RankOpt(saturation=(0.3, 0.6)).fit(X, y, within=within)
    assert model.train_score_ == pytest.approx(brute.auc(pairs, X @ model.coef_[0]), abs=1e-12)
    assert model.train_score_ > 0.7
    everywhere = RankOpt(saturation=(0.3, 0.6)).fit(X, y)
    assert brute.auc(pairs, X @ everywhere.coef_[0]) < 0.4
    with pytest.raises(ValueError, match="use pairs='all'"):
        RankOpt(pairs="linear").fit(X, y, within=within)


def test_a_radius_saturates_its_share_of_the_pairs_inside_groups(data):
    from everypair.solvers.rank_statistic import AllPairsStatistic

    X, y, weight, within = data
    pairs = Rows.uncut(y == 1, weight, within)
    scores = X @ [1.0, -1.0, 0.5, 0.2]
    weights = pair_weights(pairs)
    margins = np.abs(scores[pairs.positives][:, None] - scores[pairs.negatives])
    for share in (0.1, 0.5, 0.9):
        radius = AllPairsStatistic(pairs).radius(scores, share)
        assert np.sum(weights[radius * margins > 5 * (1 + 1e-9)]) <= share + 1e-9
        assert np.sum(weights[radius * margins >= 5 * (1 - 1e-9)]) >= share - 1e-9


@pytest.mark.parametrize("model", [AUCClassifierCV(n_alphas=4), RankOptCV(saturation=(0.3, 0.7))])
def test_folds_keep_groups_whole_and_score_inside_them(data, model):
    X, y, weight, within = data
    model = clone(model).fit(X, y, weight, within=within)
    pairs = Rows.uncut(y == 1, weight, within)
    folds = folds_of(None, X, y == 1, weight, None, each_has_auc=True, within=pairs.within)
    assert len(folds) == 5
    tested = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.sort(tested), np.arange(y.size))
    for train, test in folds:
        assert not set(within[train]) & set(within[test])
    assert model.cv_fold_scores_.shape[1] == 5
    assert model.n_groups_without_pairs_ == pairs.n_groups_without_pairs
    if isinstance(model, AUCClassifierCV):
        train, test = folds[2]
        alpha = model.alphas_[1]
        alone = AUCClassifier(alpha=alpha).fit(
            X[train], y[train], weight[train], within=within[train]
        )
        held_out = Rows.uncut(y[test] == 1, weight[test], within[test])
        expected = brute.auc(held_out, X[test] @ alone.coef_[0])
        assert model.cv_fold_scores_[1, 2] == pytest.approx(expected, abs=0.01)


def test_few_large_groups_are_dealt_over_the_folds():
    rng = np.random.default_rng(3)
    within, y = np.repeat(["a", "b"], 100), rng.random(200) < 0.3
    X = rng.standard_normal((200, 2))
    groups = Rows.uncut(y, None, within).within
    for train, test in folds_of(None, X, y, None, None, each_has_auc=True, within=groups):
        for label in "ab":
            assert np.unique(y[test][within[test] == label]).size == 2
            assert np.unique(y[train][within[train] == label]).size == 2


def test_folds_without_a_pair_are_refused(data):
    X, y, _, within = data
    order = np.argsort(within, kind="stable")
    apart = np.array_split(order[np.argsort(y[order], kind="stable")], 2)
    mixed = [(np.delete(np.arange(y.size), rows), rows) for rows in apart]
    with pytest.raises(ValueError, match=r"one class only|on no pair"):
        AUCClassifierCV(cv=mixed).fit(X, y, within=within)
    names = np.arange(y.size).astype(str)
    with pytest.raises(ValueError, match="groups has a pair"):
        AUCClassifier().fit(X, y, within=names)


def test_routing_carries_within_and_groups_at_once(data):
    X, y, _, within = data
    sites = np.arange(y.size) % 6
    with config_context(enable_metadata_routing=True):
        model = AUCClassifierCV(n_alphas=3, cv=GroupKFold(3))
        model.set_fit_request(within=True, groups=True)
        pipeline = make_pipeline(StandardScaler(), model)
        fitted = clone(pipeline).fit(X, y, within=within, groups=sites)
        assert fitted[-1].cv_fold_scores_.shape == (3, 3)
        simple = make_pipeline(StandardScaler(), AUCClassifier().set_fit_request(within=True))
        scores = cross_validate(simple, X, y, cv=3, params={"within": within})
        assert np.all(scores["test_score"] > 0)
    direct = AUCClassifierCV(n_alphas=3, cv=GroupKFold(3))
    direct.fit(StandardScaler().fit_transform(X), y, within=within, groups=sites)
    np.testing.assert_allclose(direct.coef_, fitted[-1].coef_)


def test_a_path_goes_inside_groups(data):
    X, y, weight, within = data
    path = auc_path(X, y, sample_weight=weight, within=within, n_alphas=4, eps=0.1)
    assert path.n_nonzero[0] == 0
    last = AUCClassifier(penalty="l1", alpha=path.alphas[-1], tol=1e-9).fit(
        X, y, weight, within=within
    )
    np.testing.assert_allclose(path.coefs[:, -1], last.coef_[0], atol=1e-3)
    assert np.all(path.coefs[2] == 0)
