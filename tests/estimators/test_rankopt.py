"""RankOpt and RankOptCV as a scikit-learn user meets them."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from everypair import RankOpt, RankOptCV

# scikit-learn compares weighted with repeated rows to 1e-7: climbs are driven to the last digits.
CHECKED = [
    RankOpt(tol=1e-11, max_iter=1000),
    RankOptCV(saturation=(0.1, 0.5), tol=1e-11, max_iter=1000),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def random_pairing_checks() -> list:
    """All checks but one kind: a random pairing of weighted rows is not one of repeated rows.

    What holds instead, that the mean over all pairings is the weighted statistic, is tested
    with the statistics.
    """
    checks = estimator_checks_generator(RankOpt(pairs="linear", max_iter=20))
    return [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in checks
        if not check.func.__name__.startswith("check_sample_weight_equivalence")
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), random_pairing_checks())
def test_scikit_learn_contract_with_random_pairs(estimator, check):
    check(estimator)


MODELS = {
    "all": RankOpt(tol=1e-8, max_iter=1000),
    "linear": RankOpt(pairs="linear", random_state=0, max_iter=500, tol=1e-4),
    "cv": RankOptCV(tol=1e-8, max_iter=1000, saturation=(0.1, 0.6), cv=2),
}
FORMATS = {
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_matrix,
    "CSR float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcdef")),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("model", MODELS)
def test_every_format_gives_the_same_ranking(imbalanced, model, name):
    X, y = imbalanced
    X = X.astype(np.float32).astype(np.float64)
    plain = clone(MODELS[model]).fit(X, y).coef_[0]
    other = clone(MODELS[model]).fit(FORMATS[name](X), y).coef_[0]
    tolerance = 1e-3 if model == "linear" else 1e-5
    np.testing.assert_allclose(other, plain, atol=tolerance * np.abs(plain).max())


@pytest.mark.parametrize("model", MODELS)
def test_rescaling_a_feature_leaves_the_ranking_unchanged(imbalanced, model):
    X, y = imbalanced
    factors = 2.0 ** np.array([10, -10, 3, 0, -20, 20])  # exact in floating point
    plain = clone(MODELS[model]).fit(X, y)
    rescaled = clone(MODELS[model]).fit(X * factors, y)
    np.testing.assert_allclose(
        rescaled.decision_function(X * factors), plain.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_same_seed_same_model_and_another_seed_another_pairing(imbalanced):
    X, y = imbalanced
    fits = [RankOpt(pairs="linear", random_state=seed).fit(X, y).coef_ for seed in (3, 3, 4)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.allclose(fits[0], fits[2])


@pytest.mark.parametrize("model", MODELS)
def test_minority_may_be_either_label(imbalanced, model):
    X, y = imbalanced
    plain = clone(MODELS[model]).fit(X, y)
    swapped = clone(MODELS[model]).fit(X, ~y)
    np.testing.assert_allclose(-swapped.coef_, plain.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", ["all", "cv"])
def test_integer_weights_equal_repeated_rows(imbalanced, model):
    X, y = imbalanced
    counts = np.random.default_rng(0).integers(0, 3, y.size)
    repeated_rows = np.repeat(np.arange(y.size), counts)
    estimator = clone(MODELS[model])
    if model == "cv":
        # The copies of a row stay in one fold.
        fold = np.arange(y.size) % 3
        cuts = [fold, fold[repeated_rows]]
        cvs = [[(np.flatnonzero(c != k), np.flatnonzero(c == k)) for k in range(3)] for c in cuts]
    weighted, repeated = clone(estimator), clone(estimator)
    if model == "cv":
        weighted.set_params(cv=cvs[0])
        repeated.set_params(cv=cvs[1])
    weighted.fit(X, y, sample_weight=counts)
    repeated.fit(X[repeated_rows], y[repeated_rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-6)
    assert weighted.train_auc_ == pytest.approx(repeated.train_auc_, abs=1e-9)


def test_path_has_a_row_per_subfold_and_radius(imbalanced):
    X, y = imbalanced
    shares = (0.1, 0.5, 0.9)
    model = RankOpt(pairs="linear", n_subfolds=3, saturation=shares, random_state=0).fit(X, y)
    path = pd.DataFrame(model.path_)
    assert list(path.subfold) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert list(path.saturation) == 3 * list(shares)
    assert model.n_iter_ == path.n_iter.sum() > 0
    assert path[["training", "validation", "auc"]].stack().between(0.5, 1).all()
    assert np.all(np.diff(path.radius[:3]) > 0)
    # The training statistic is closer to AUC the larger the radius.
    assert abs(path.training - path.auc)[2] < abs(path.training - path.auc)[0]


def test_one_radius_is_chosen_by_the_folds(imbalanced):
    X, y = imbalanced
    shares = (0.01, 0.5, 0.95)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    model = RankOptCV(saturation=shares, cv=folds).fit(X, y)
    assert model.scores_.shape == (4, 3)
    assert model.saturation_ == shares[np.argmax(model.scores_.mean(axis=0))]
    assert model.path_[-1].saturation == model.saturation_
    refitted = RankOpt(saturation=[row.saturation for row in model.path_]).fit(X, y)
    np.testing.assert_allclose(refitted.coef_, model.coef_)
    # A held-back fold's AUC is that of a model fitted without it.
    train, test = next(folds.split(X, y))
    alone = RankOpt(saturation=shares, tol=1e-2).fit(X[train], y[train])
    assert roc_auc_score(y[test], alone.decision_function(X[test])) == pytest.approx(
        model.scores_[0, -1], abs=0.01
    )


def test_folds_end_the_series_at_a_steep_radius_without_gain():
    # Sixty columns and forty positives: close to AUC itself the climb follows noise.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 60))
    y = np.arange(400) < 40
    X[y, :3] += [1.5, 0.5, 0.5]
    model = RankOptCV(cv=3).fit(X, y)
    series, means = RankOptCV().saturation, model.scores_.mean(axis=0)
    assert model.saturation_ == series[means.argmax()] < 0.9
    assert means[-1] < means[-2]
    assert series[means.size - 1] == 0.9
    # As far as it goes, a series has the scores that a shorter one has.
    shorter = RankOptCV(cv=3, saturation=series[:4]).fit(X, y)
    np.testing.assert_array_equal(shorter.scores_, model.scores_[:, :4])


def test_climb_finds_the_tail_that_the_logistic_loss_is_misled_by():
    # A few far-off negatives turn the logistic direction; the sigmoid hardly sees them.
    from everypair import AUCClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(2000) > 1.5
    far = np.flatnonzero(~y)[:40]
    X[far] = [12.0, -12.0]
    climbed = RankOpt(saturation=(0.1, 0.5, 0.8, 0.9, 0.95)).fit(X, y)
    logistic = AUCClassifier(alpha=1e-5).fit(X, y)
    assert climbed.train_auc_ > logistic.train_auc_ + 0.001


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"saturation": 1.5}, "saturation=1.5 must be one or more shares"),
        ({"saturation": (0.5, 0.1)}, "must ascend"),
        ({"saturation": ()}, "one or more shares"),
        ({"pairs": "some"}, "'pairs' parameter"),
        ({"n_subfolds": 0}, "'n_subfolds' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"threshold": "best"}, "'threshold' parameter"),
    ],
)
def test_bad_settings_are_named(imbalanced, settings, message):
    with pytest.raises(ValueError, match=message):
        RankOpt(**settings).fit(*imbalanced)


ODD = {
    "constant column": lambda X, y: np.column_stack([X, np.full(len(y), 5.0)]),
    "duplicated columns": lambda X, y: np.column_stack([X, X]),
    "separable": lambda X, y: np.column_stack([X, 10.0 * y]),
    "all zero": lambda X, y: 0 * X,
    "scale 1e150": lambda X, y: 1e150 * X,
    "scale 1e-150": lambda X, y: 1e-150 * X,
    "offset 1e6": lambda X, y: X + 1e6,
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("model", ["all", "linear"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_a_finite_model(imbalanced, name, model, kind):
    X, y = imbalanced
    X = kind(ODD[name](X, y))
    fit = RankOpt(pairs=model, random_state=0).fit(X, y)
    assert np.all(np.isfinite(fit.coef_))
    assert np.all(np.isfinite(fit.decision_function(X)))
    if name == "separable":
        assert fit.train_auc_ == 1.0


def test_features_too_large_for_their_squares_are_refused(imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match="too large for float64"):
        RankOpt().fit(1e200 * X, y)


def test_two_rows_are_enough():
    for model in (RankOpt(), RankOpt(pairs="linear", random_state=0)):
        assert model.fit([[0.0], [1.0]], [0, 1]).train_auc_ == 1.0


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_without_a_pair_are_left_out_and_none_left_is_an_error():
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 8
    assert RankOptCV(cv=5).fit(X, y).scores_.shape[0] == 2
    with pytest.raises(ValueError, match="1 positive and 9 negative rows"):
        RankOptCV(cv=5).fit(X, np.arange(10) == 9)


def test_a_climb_cut_short_warns(imbalanced):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        RankOpt(max_iter=1, tol=1e-9).fit(*imbalanced)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("model", ["all", "linear", "cv"])
def test_fit_holds_no_second_x(kind, model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 150))
    y = X[:, 0] + rng.standard_normal(20_000) > 1
    X = kind(X)
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    estimator = clone(MODELS[model]).set_params(max_iter=3, saturation=0.5)
    estimator.fit(X[:500], y[:500])
    tracemalloc.start()
    estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * size


def test_prediction_needs_no_numba(imbalanced):
    X, y = imbalanced
    model = RankOpt().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_cv_trains_on_the_training_rows_of_a_fold_and_on_no_others(imbalanced):
    X, y = imbalanced
    fold = next(ShuffleSplit(1, train_size=0.5, test_size=0.3, random_state=0).split(X))
    left_out = np.setdiff1d(np.arange(len(y)), np.concatenate(fold))
    spoilt = X.copy()
    spoilt[left_out] *= -5
    plain, same = (
        RankOptCV(saturation=(0.1, 0.5), cv=[fold], tol=1e-6).fit(rows, y).scores_
        for rows in (X, spoilt)
    )
    np.testing.assert_allclose(same, plain, atol=2e-3)


def test_huge_weights_are_weights(imbalanced):
    X, y = imbalanced
    plain = RankOpt(saturation=0.5).fit(X, y)
    huge = RankOpt(saturation=0.5).fit(X, y, sample_weight=np.full(len(y), 1e308))
    np.testing.assert_allclose(huge.coef_, plain.coef_, rtol=1e-9)
