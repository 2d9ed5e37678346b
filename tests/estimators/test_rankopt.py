"""RankOpt and RankOptCV as a scikit-learn user meets them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from contract import scikit_learn_contract
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold

from everypair import RankOpt, RankOptCV
from everypair.linalg.matrix import as_matrix
from everypair.rows import Rows
from everypair.solvers.rank_statistic import RandomOrder
from everypair.solvers.sphere import Sphere, climb_by_gradients, climb_path

LINEAR = RankOpt(pairs="linear", max_iter=20)
BY_ROWS = "a random pairing of weighted rows is not one of repeated rows"


def not_held(model):
    """What holds instead, that the mean over all pairings is the weighted statistic, is tested with
    the statistics."""
    checks = ("dense", "sparse") if model is LINEAR else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": BY_ROWS for kind in checks}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@scikit_learn_contract(
    RankOpt(max_iter=1000),
    RankOptCV(saturation=(0.1, 0.5), cv=2, max_iter=1000),
    LINEAR,
    expected_failed_checks=not_held,
    last_digits={"tol": 1e-11},
)
def test_scikit_learn_contract(estimator, check):
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


@pytest.mark.parametrize("offset", [1e6, 1e8])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("model", MODELS)
def test_sparse_rows_far_from_zero_give_the_dense_ranking(imbalanced, model, kind, offset):
    X, y = imbalanced
    X = X + offset * np.array([1, 0, -1, 0, 1, 0])
    dense, other = (
        clone(MODELS[model]).set_params(tol=1e-3).fit(rows, y).coef_[0] for rows in (X, kind(X))
    )
    np.testing.assert_allclose(other, dense, atol=1e-2 * np.abs(dense).max())
    assert np.all(other != 0)


@pytest.mark.parametrize("model", MODELS)
def test_same_seed_same_model(imbalanced, model):
    X, y = imbalanced
    fits = [clone(MODELS[model]).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*fits)


def test_every_pair_needs_no_seed(imbalanced):
    fits = [RankOpt(random_state=seed).fit(*imbalanced).coef_ for seed in (3, 4)]
    np.testing.assert_array_equal(*fits)


def test_another_seed_is_another_pairing(imbalanced):
    X, y = imbalanced
    fits = [RankOpt(pairs="linear", random_state=seed).fit(X, y).coef_ for seed in (3, 4)]
    assert not np.allclose(*fits)


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
    assert weighted.train_score_ == pytest.approx(repeated.train_score_, abs=1e-9)


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


def climbs_of_subfold(X, y, subfold, n_subfolds, shares, seed):
    """Table 1 of the paper, by hand: the path of one sub-fold and its held-back statistics."""
    pairs = Rows.uncut(y)
    sphere, start = Sphere.around(as_matrix(X), pairs, y.mean())
    order = RandomOrder.draw(pairs, np.random.RandomState(seed))
    steps = climb_path(
        sphere, order.statistic(subfold), start, shares, climb_by_gradients, 200, 1e-2
    )
    held_back = order.statistic((subfold + n_subfolds) % order.n_offsets)
    scored = [(step, 1 - held_back.loss(step.radius * step.climb.scores)) for step in steps]
    return scored, sphere.scale


# As many offsets as positives. One or three: a sub-fold's held-back offset is its own. Four: it
# is one that another sub-fold trains on. Forty: no sub-fold trains on it.
@pytest.mark.parametrize("n_positive", [1, 3, 4, 40])
def test_each_subfold_is_the_radius_best_on_its_held_back_offset_and_directions_are_averaged(
    n_positive,
):
    rng = np.random.default_rng(5)
    X, y, shares = rng.standard_normal((200, 6)), np.arange(200) < n_positive, (0.1, 0.5, 0.9, 0.99)
    X[y, 0] += 1
    model = RankOpt(pairs="linear", n_subfolds=3, saturation=shares, random_state=7).fit(X, y)
    path, n_subfolds = pd.DataFrame(model.path_), min(3, n_positive)
    assert path.subfold.nunique() == n_subfolds
    chosen = []
    for subfold in range(n_subfolds):
        scored, scale = climbs_of_subfold(X, y, subfold, n_subfolds, shares, seed=7)
        values = [value for _, value in scored]
        np.testing.assert_allclose(path.validation[path.subfold == subfold], values, rtol=1e-12)
        chosen.append(scored[int(np.argmax(values))][0])
    radius = np.mean([step.radius for step in chosen])
    direction = np.mean([step.climb.direction for step in chosen], axis=0)
    np.testing.assert_allclose(model.coef_[0], radius * scale * direction, rtol=1e-12)
    if n_positive == 40:
        # The choice is none of training: noise lets the last radius train best.
        best = [path.validation[path.subfold == k].argmax() for k in range(3)]
        assert min(best) < 3
        assert all(path.training[path.subfold == k].argmax() == 3 for k in range(3))


@pytest.mark.parametrize("pairs", ["all", "linear"])
def test_one_positive_row_is_enough(pairs):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.arange(60) == 7
    X[y] = [2.5, 0.0, 0.0]
    model = RankOpt(pairs=pairs, random_state=0).fit(X, y)
    assert model.train_score_ > 0.99
    np.testing.assert_allclose(RankOpt(pairs=pairs, random_state=0).fit(X, ~y).coef_, -model.coef_)
    with (
        pytest.raises(ValueError, match="one class only"),
        pytest.warns(UserWarning, match="least populated class"),
    ):
        RankOptCV().fit(X, y)


def test_groups_go_to_the_splitter(imbalanced):
    X, y = imbalanced
    groups = np.arange(len(y)) // 7
    folds = list(GroupKFold(3).split(X, y, groups))
    settings = {"saturation": (0.1, 0.5)}
    by_hand = RankOptCV(cv=folds, **settings).fit(X, y)
    grouped = RankOptCV(cv=GroupKFold(3), **settings).fit(X, y, groups=groups)
    np.testing.assert_array_equal(grouped.cv_fold_scores_, by_hand.cv_fold_scores_)
    np.testing.assert_array_equal(grouped.coef_, by_hand.coef_)


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        (([0, 0, 1, 399], [2, 398]), "trains on a row twice"),
        (([0, 1, 399], [1, 2, 398]), "on a row that it tests"),
        (([0, 1, 399], [2, 400]), "has rows from 2 to 400"),
        (([0, 1, 2], [3, 399]), "trains on one class only"),
        (([0, 1, 399], [3, 4]), "tests on one class only"),
    ],
)
def test_folds_without_a_pair_or_with_a_row_twice_are_refused(imbalanced, fold, message):
    X, y = imbalanced
    in_order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match=message):
        RankOptCV(cv=[fold]).fit(X[in_order], y[in_order])


def test_one_radius_is_chosen_by_the_folds(imbalanced):
    X, y = imbalanced
    shares = (0.01, 0.5, 0.95)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    model = RankOptCV(saturation=shares, cv=folds).fit(X, y)
    assert model.cv_fold_scores_.shape == (3, 4)
    assert model.saturation_ == shares[np.argmax(model.cv_scores_)]
    assert model.path_[-1].saturation == model.saturation_
    refitted = RankOpt(saturation=[row.saturation for row in model.path_]).fit(X, y)
    np.testing.assert_allclose(refitted.coef_, model.coef_)
    # A held-back fold's AUC is that of a model fitted without it.
    train, test = next(folds.split(X, y))
    alone = RankOpt(saturation=shares, tol=1e-2).fit(X[train], y[train])
    assert roc_auc_score(y[test], alone.decision_function(X[test])) == pytest.approx(
        model.cv_fold_scores_[-1, 0], abs=0.01
    )


def test_folds_end_the_series_at_a_steep_radius_without_gain():
    # Sixty columns and forty positives: close to AUC itself the climb follows noise.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 60))
    y = np.arange(400) < 40
    X[y, :3] += [1.5, 0.5, 0.5]
    model = RankOptCV(cv=3).fit(X, y)
    series, means = RankOptCV().saturation, model.cv_scores_
    assert model.saturation_ == series[means.argmax()] < 0.9
    assert means[-1] < means[-2]
    assert series[means.size - 1] == 0.9
    # As far as it goes, a series has the scores that a shorter one has.
    shorter = RankOptCV(cv=3, saturation=series[:4]).fit(X, y)
    np.testing.assert_array_equal(shorter.cv_fold_scores_, model.cv_fold_scores_[:4])


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
    assert climbed.train_score_ > logistic.train_score_ + 0.001


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"saturation": 1.5}, "saturation=1.5 must be one or more shares"),
        ({"saturation": (0.5, 0.1)}, "must be in ascending order"),
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
    # Four rows, each in both classes: a quarter of the pairs are ties in every direction.
    "duplicated rows": lambda X, y: X[np.arange(len(y)) % 4],
    "half of the rows empty": lambda X, y: X * (np.arange(len(y)) % 2)[:, None],
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("model", ["all", "linear", "cv"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_a_finite_model(imbalanced, name, model, kind):
    X, y = imbalanced
    X = kind(ODD[name](X, y))
    fit = clone(MODELS[model]).set_params(tol=1e-2, max_iter=200).fit(X, y)
    assert np.all(np.isfinite(fit.coef_))
    assert np.all(np.isfinite(fit.decision_function(X)))
    assert np.all(np.isfinite([(row.radius, row.training, row.auc) for row in fit.path_]))
    if name == "separable":
        assert fit.train_score_ == 1.0


def test_features_too_large_for_their_squares_are_refused(imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match="too large for float64"):
        RankOpt().fit(1e200 * X, y)


def test_two_rows_are_enough():
    for model in (RankOpt(), RankOpt(pairs="linear", random_state=0)):
        assert model.fit([[0.0], [1.0]], [0, 1]).train_score_ == 1.0


def test_a_climb_cut_short_warns(imbalanced):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        RankOpt(max_iter=1, tol=1e-9).fit(*imbalanced)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("model", ["all", "linear", "cv"])
def test_fit_holds_no_second_x(kind, model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((14_000, 150))
    y = X[:, 0] + rng.standard_normal(14_000) > 1
    X = kind(X)
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    estimator = clone(MODELS[model]).set_params(max_iter=3, saturation=0.5)
    estimator.fit(X[:500], y[:500])
    tracemalloc.start()
    estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * size


def test_cv_trains_on_the_training_rows_of_a_fold_and_on_no_others(imbalanced):
    X, y = imbalanced
    fold = next(ShuffleSplit(1, train_size=0.5, test_size=0.3, random_state=0).split(X))
    left_out = np.setdiff1d(np.arange(len(y)), np.concatenate(fold))
    spoilt = X.copy()
    spoilt[left_out] *= -5
    plain, same = (
        RankOptCV(saturation=(0.1, 0.5), cv=[fold], tol=1e-6).fit(rows, y).cv_fold_scores_
        for rows in (X, spoilt)
    )
    np.testing.assert_allclose(same, plain, atol=2e-3)


def test_huge_weights_are_weights(imbalanced):
    X, y = imbalanced
    plain = RankOpt(saturation=0.5).fit(X, y)
    huge = RankOpt(saturation=0.5).fit(X, y, sample_weight=np.full(len(y), 1e308))
    np.testing.assert_allclose(huge.coef_, plain.coef_, rtol=1e-9)
