"""L1 and elastic-net estimators: scikit-learn's contract, paths, cross-validation."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from contract import scikit_learn_contract
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from everypair import CPAUC, AUCClassifier, AUCClassifierCV, auc_path
from lab.data.simulate import simulate


@scikit_learn_contract(
    AUCClassifier(penalty="l1"),
    AUCClassifier(penalty="elasticnet", loss="squared_hinge"),
    AUCClassifier(penalty="l1", loss="hinge"),
    AUCClassifierCV(penalty="l1", n_alphas=3, eps=0.1, cv=2),
    AUCClassifierCV(n_alphas=3, cv=2),
    CPAUC(),
    checked_elsewhere=[AUCClassifier],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = simulate("M1", 300, 25, positive_share=0.7, random_state=0)
    return X, y


def test_l1_is_elasticnet_with_ratio_one(data):
    X, y = data
    one = AUCClassifier(penalty="l1", alpha=0.05, tol=1e-8).fit(X, y)
    other = AUCClassifier(penalty="elasticnet", l1_ratio=1.0, alpha=0.05, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.dual_gap_ <= 1e-8
    assert one.kkt_residual_ <= 1e-8


def test_small_l1_ratio_approaches_l2(data):
    X, y = data
    ridge = AUCClassifier(penalty="l2", alpha=0.1, tol=1e-10).fit(X, y)
    net = AUCClassifier(penalty="elasticnet", l1_ratio=1e-7, alpha=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(net.coef_, ridge.coef_, atol=1e-5)


def test_weights_equal_repeated_rows(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    options = {"penalty": "l1", "alpha": 0.03, "tol": 1e-9}
    weighted = AUCClassifier(**options).fit(X, y, sample_weight=weight)
    repeated = AUCClassifier(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_path_equals_classifiers(data):
    X, y = data
    path = auc_path(X, y, penalty="elasticnet", n_alphas=6, eps=0.02, l1_ratio=0.8, tol=1e-9)
    assert path.n_nonzero[0] == 0
    assert path.n_nonzero[1] > 0
    assert path.dual_gaps.max() <= 1e-9
    for k, alpha in enumerate(path.alphas):
        model = AUCClassifier(penalty="elasticnet", l1_ratio=0.8, alpha=alpha, tol=1e-9)
        np.testing.assert_allclose(path.coefs[:, k], model.fit(X, y).coef_[0], atol=1e-7)
        assert path.n_nonzero[k] == np.count_nonzero(path.coefs[:, k])


def test_warm_start_ends_where_a_cold_one_does(data):
    X, y = data
    model = AUCClassifier(penalty="l1", alpha=0.1, tol=1e-9, warm_start=True).fit(X, y)
    warm = model.set_params(alpha=0.08).fit(X, y)
    cold = AUCClassifier(penalty="l1", alpha=0.08, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-7)


def test_scaling_is_never_silent(data):
    """A feature in other units gets another penalty: nothing is standardised inside."""
    X, y = data
    scaled = X * np.where(np.arange(X.shape[1]) == 0, 10.0, 1.0)
    plain = AUCClassifier(penalty="l1", alpha=0.1, tol=1e-9).fit(X, y).coef_[0]
    other = AUCClassifier(penalty="l1", alpha=0.1, tol=1e-9).fit(scaled, y).coef_[0]
    assert abs(other[0] * 10) > abs(plain[0]) * 1.05
    undone = np.ones(X.shape[1])
    undone[0] = 10.0
    same = AUCClassifier(penalty="l1", alpha=0.1, tol=1e-9, penalty_weights=undone)
    np.testing.assert_allclose(same.fit(scaled, y).coef_[0] * undone, plain, atol=1e-7)


@pytest.mark.parametrize(
    ("penalty", "loss", "tol"),
    [("l1", "logistic", 1e-9), ("l2", "logistic", 1e-12), ("l2", "hinge", 1e-12)],
)
def test_cross_validation_equals_fitting_each_fold(data, penalty, loss, tol):
    """Held-out rows that weigh nothing are held out."""
    X, y = data
    weight = np.random.default_rng(1).uniform(0.5, 2, y.size)
    cv = StratifiedKFold(3)
    options = {"loss": loss, "penalty": penalty, "tol": tol}
    model = AUCClassifierCV(n_alphas=4, eps=0.1, cv=cv, **options).fit(X, y, weight)
    for k, (train, test) in enumerate(cv.split(X, y)):
        for j, alpha in enumerate(model.alphas_):
            fold = AUCClassifier(alpha=alpha, **options)
            fold.fit(X[train], y[train], weight[train])
            if not fold.coef_.any():
                continue
            scores = fold.decision_function(X[test])
            expected = roc_auc_score(y[test], scores, sample_weight=weight[test])
            assert model.cv_fold_scores_[j, k] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(model.cv_scores_, model.cv_fold_scores_.mean(axis=1))
    assert model.alpha_ == model.alphas_[model.cv_scores_.argmax()]
    assert model.best_score_ == model.cv_scores_.max()
    refit = AUCClassifier(alpha=model.alpha_, **options).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, refit.coef_, atol=1e-6 if loss == "hinge" else 1e-8)
    assert model.train_score_ == pytest.approx(refit.train_score_, abs=1e-9)


def test_every_penalty_has_the_same_attributes(data):
    """But for the KKT residual, which is of the L1 norm."""
    X, y = data
    l2, l1, net = (
        AUCClassifierCV(penalty=penalty, n_alphas=3, cv=3).fit(X, y)
        for penalty in ("l2", "l1", "elasticnet")
    )
    assert vars(l1).keys() == vars(net).keys() == vars(l2).keys() | {"kkt_residual_"}
    assert (l2.l1_ratio_, l1.l1_ratio_, net.l1_ratio_) == (0.0, 1.0, 0.5)


def test_the_default_grid_of_l2_follows_the_units_of_the_features(data):
    X, y = data
    model, scaled = AUCClassifierCV(cv=3).fit(X, y), AUCClassifierCV(cv=3).fit(10 * X + 1e3, y)
    np.testing.assert_allclose(scaled.alphas_, 100 * model.alphas_, rtol=1e-9)
    np.testing.assert_allclose(scaled.cv_scores_, model.cv_scores_, atol=1e-4)
    positive = y == np.unique(y)[1]
    differences = X[positive][:, None] - X[~positive]
    top = np.mean(np.sum(differences**2, axis=2))
    np.testing.assert_allclose(model.alphas_[[0, -1]], [top, 1e-8 * top])
    assert model.alphas_[-1] < model.alpha_ < model.alphas_[0]  # the grid is wide enough


def test_penalty_weights_are_refused_beside_l2(data):
    X, y = data
    with pytest.raises(ValueError, match="penalty_weights is not used"):
        AUCClassifierCV(penalty_weights=np.ones(X.shape[1])).fit(X, y)
    with pytest.raises(ValueError, match="penalty_weights is not used"):
        auc_path(X, y, penalty="l2", penalty_weights=np.ones(X.shape[1]))


def test_one_standard_error_is_sparser_and_within_it(data):
    X, y = data
    best = AUCClassifierCV(penalty="l1", n_alphas=20).fit(X, y)
    sparser = AUCClassifierCV(penalty="l1", n_alphas=20, selection="one_standard_error").fit(X, y)
    folds = best.cv_fold_scores_
    at = folds.mean(axis=1).argmax()
    least = folds[at].mean() - folds[at].std(ddof=1) / np.sqrt(5)
    admitted = best.alphas_[folds.mean(axis=1) >= least]
    assert sparser.alpha_ == admitted.max() > best.alpha_
    assert np.count_nonzero(sparser.coef_) < np.count_nonzero(best.coef_)


def test_the_model_keeps_the_path_that_it_was_chosen_from(data):
    X, y = data
    options = {"penalty": "elasticnet", "tol": 1e-8}
    model = AUCClassifierCV(l1_ratio=[0.3, 1.0], n_alphas=6, eps=0.05, cv=3, **options).fit(X, y)
    alphas = model.alphas_[model.l1_ratios_ == model.l1_ratio_]
    path = auc_path(X, y, l1_ratio=model.l1_ratio_, alphas=alphas, **options)
    assert sparse.issparse(model.coefs_)
    np.testing.assert_allclose(model.coefs_.toarray(), path.coefs, atol=1e-5)
    at = np.flatnonzero(alphas == model.alpha_)[0]
    np.testing.assert_array_equal(model.coefs_[:, [at]].toarray()[:, 0], model.coef_[0])
    assert model.history_[-1][2] <= 1e-8


def test_l1_ratio_is_chosen_with_alpha(data):
    X, y = data
    model = AUCClassifierCV(
        penalty="elasticnet", l1_ratio=[0.2, 1.0], n_alphas=5, eps=0.1, cv=3
    ).fit(X, y)
    best = model.cv_scores_.argmax()
    assert (model.l1_ratio_, model.alpha_) == (model.l1_ratios_[best], model.alphas_[best])
    assert set(model.l1_ratios_) == {0.2, 1.0}


def test_threads_do_not_change_the_result_nor_the_blas_limit(data):
    from threadpoolctl import threadpool_info

    X, y = data
    before = [library["num_threads"] for library in threadpool_info()]
    one, two = (AUCClassifierCV(penalty="l1", n_alphas=5, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_allclose(one.cv_fold_scores_, two.cv_fold_scores_, atol=1e-12)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-12)
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_progress_bar_is_drawn_when_asked(data, capsys):
    X, y = data
    AUCClassifierCV(penalty="l1", n_alphas=3, eps=0.1, cv=2).fit(X, y)
    assert capsys.readouterr().err == ""
    AUCClassifierCV(penalty="l1", n_alphas=3, eps=0.1, cv=2, verbose=1).fit(X, y)
    assert "2/2" in capsys.readouterr().err


def test_sparse_and_dense_X_agree(data):
    X, y = data
    X = np.where(np.abs(X) > 1.5, X, 0)
    options = {"n_alphas": 5, "eps": 0.05, "cv": 3, "tol": 1e-10}
    dense = AUCClassifierCV(**options).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_matrix):
        other = AUCClassifierCV(**options).fit(form(X), y)
        np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-6)


def test_early_stop_warns(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        AUCClassifier(penalty="l1", alpha=1e-3, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="on the path"):
        auc_path(X, y, n_alphas=3, max_iter=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty_weights": [1.0, 2.0]}, r"shape \(2,\), but X has 25 features"),
        ({"penalty_weights": -np.ones(25)}, "negative"),
        ({"penalty_weights": np.zeros(25)}, "all zero"),
        ({"penalty_weights": np.full(25, np.inf)}, "all zero or infinite"),
        ({"penalty_weights": np.full(25, np.nan)}, "NaN"),
        ({"loss": "sigmoid"}, "needs a convex loss"),
        ({"solver": "newton"}, "solver='auto'"),
        ({"penalty": "l2", "penalty_weights": np.ones(25)}, "not used with penalty='l2'"),
        ({"penalty": "elasticnet", "l1_ratio": 0.0}, "l1_ratio"),
    ],
)
def test_bad_parameters_are_named(data, options, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**{"penalty": "l1", **options}).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "sigmoid"}, "'loss' parameter of auc_path"),
        ({"l1_ratio": 0}, "'l1_ratio' parameter"),
        ({"l1_ratio": "all"}, "'l1_ratio' parameter"),
        ({"n_alphas": 0}, "'n_alphas' parameter"),
        ({"eps": 1.0}, "'eps' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"alphas": [0.1, -1.0]}, "above 0"),
        ({"alphas": [[0.1, 1.0]]}, "give a list"),
    ],
)
def test_bad_paths_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        auc_path(*data, **options)


def test_folds_of_one_class_are_named(data):
    X, y = data
    order = np.argsort(y)
    with pytest.raises(ValueError, match="Fold 0 of cv tests on one class only"):
        AUCClassifierCV(penalty="l1", cv=KFold(4)).fit(X[order], y[order])


LOSSES = ["logistic", "squared_hinge", "hinge", "square", "exponential"]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "square"])
def test_an_unpenalised_feature_that_separates_reaches_zero_and_is_certified(loss):
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] = y
    weights = [0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = AUCClassifier(loss, "l1", penalty_weights=weights).fit(X, y)
        path = auc_path(X, y, loss=loss, n_alphas=3, penalty_weights=weights)
    np.testing.assert_allclose(model.coef_, [[1, 0, 0]], atol=1e-9)
    assert model.objective_ < 1e-20
    assert max(model.dual_gap_, *path.dual_gaps) <= 1e-6


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1.0, 1e6 + 0.1])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_unpenalised_constant_has_the_coefficient_zero(data, loss, constant, make):
    X, y = data
    expected = AUCClassifier(loss, "l1", alpha=0.1, tol=1e-9).fit(X, y)
    X = make(np.column_stack([np.full(len(y), constant), X]))
    weights = np.r_[0, np.ones(X.shape[1] - 1)]
    model = AUCClassifier(loss, "l1", alpha=0.1, tol=1e-9, penalty_weights=weights).fit(X, y)
    assert model.coef_[0, 0] == 0
    np.testing.assert_allclose(model.coef_[:, 1:], expected.coef_, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_features_of_any_size_are_fitted_or_the_size_is_named(data):
    X, y = data
    expected = AUCClassifier(penalty="l1", alpha=0.05, tol=1e-8).fit(X, y).coef_
    for size in (1e-100, 1e100):
        model = AUCClassifier(penalty="l1", alpha=0.05 * size, tol=1e-8).fit(X * size, y)
        np.testing.assert_allclose(model.coef_ * size, expected, atol=1e-5)
    with pytest.raises(ValueError, match="their squares overflow"):
        AUCClassifier(penalty="l1").fit(X * 1e200, y)
    with pytest.warns(ConvergenceWarning, match="0 iterations, above tol=1e-06: scale the feat"):
        AUCClassifier(penalty="l1", alpha=0.05e-200).fit(X * 1e-200, y)


def test_features_that_are_all_constant_make_a_quiet_path():
    y = np.arange(60) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = auc_path(np.full((60, 2), 0.1), y, n_alphas=2)
    assert not path.coefs.any()
    assert path.dual_gaps.max() <= 1e-6


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_infinite_weight_leaves_a_feature_out(data, loss, penalty):
    X, y = data
    out = np.arange(25) % 3 == 0
    weights = np.where(out, np.inf, 1.0)
    weights[1] = 0.0
    model = AUCClassifier(loss, penalty, 0.02, penalty_weights=weights, tol=1e-9).fit(X, y)
    alone = AUCClassifier(loss, penalty, 0.02, penalty_weights=weights[~out], tol=1e-9)
    np.testing.assert_array_equal(model.coef_[0, out], 0)
    np.testing.assert_allclose(model.coef_[0, ~out], alone.fit(X[:, ~out], y).coef_[0], atol=1e-6)
    assert model.dual_gap_ <= 1e-9


def test_a_warm_start_forgets_what_is_left_out_now(data):
    X, y = data
    model = AUCClassifier(penalty="l1", alpha=0.02, warm_start=True).fit(X, y)
    weights = np.r_[np.inf, np.ones(24)]
    cold = AUCClassifier(penalty="l1", alpha=0.02, penalty_weights=weights).fit(X, y)
    assert model.coef_[0, 0] != 0
    model.set_params(penalty_weights=weights).fit(X, y)
    assert model.coef_[0, 0] == 0
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-5)


def test_the_hinge_has_no_kkt_residual_and_the_others_have(data):
    X, y = data
    model = AUCClassifierCV(penalty="l1", n_alphas=3, cv=3).fit(X, y)
    assert model.kkt_residual_ <= 1e-6
    assert not hasattr(model.set_params(loss="hinge").fit(X, y), "kkt_residual_")


def test_a_kkt_residual_above_tol_warns_in_both_classes(data, monkeypatch):
    from everypair.solvers import elastic_net as path

    real = path.SparseProblem.fit
    monkeypatch.setattr(
        path.SparseProblem, "fit", lambda *a, **k: replace(real(*a, **k), kkt_residual=0.5)
    )
    X, y = data
    for model in (AUCClassifier(penalty="l1"), AUCClassifierCV(penalty="l1", alphas=[0.1])):
        with pytest.warns(ConvergenceWarning, match="KKT residual is 5.0e-01") as caught:
            model.fit(X, y)
        assert caught[0].filename == __file__
        assert "max_iter" not in str(caught[0].message)


def test_groups_go_to_the_splitter(data):
    X, y = data
    groups = np.arange(len(y)) // 3
    folds = list(GroupKFold(3).split(X, y, groups))
    model = AUCClassifierCV(penalty="l1", n_alphas=3, cv=folds)
    expected = model.fit(X, y).cv_fold_scores_
    got = model.set_params(cv=GroupKFold(3)).fit(X, y, groups=groups).cv_fold_scores_
    np.testing.assert_array_equal(got, expected)
