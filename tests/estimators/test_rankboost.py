"""RankBoost does what its definition over pairs says."""

from __future__ import annotations

import numpy as np
import pytest
from contract import scikit_learn_contract
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics import roc_auc_score

from everypair import RankBoost
from everypair.solvers.boosted_stumps import SMOOTHING


@scikit_learn_contract(RankBoost(n_estimators=20))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def boost_by_pairs(X, y, weight, n_rounds):
    """The definition: a weight for each pair, every stump tried on every pair."""
    P, N = np.flatnonzero(y), np.flatnonzero(~y)
    D = np.outer(weight[P] / weight[P].sum(), weight[N] / weight[N].sum())
    scores, factors = np.zeros(y.size), []
    for _ in range(n_rounds):
        best = None
        for k in range(X.shape[1]):
            values = np.unique(X[:, k])
            for cut in (values[1:] + values[:-1]) / 2:
                h = (X[:, k] > cut).astype(float)
                won = h[P][:, None] - h[N][None]
                right, wrong = D[won == 1].sum(), D[won == -1].sum()
                Z = D[won == 0].sum() + 2 * np.sqrt(right * wrong)
                if best is None or best[0] - 1e-12 > Z:
                    best = Z, h, 0.5 * np.log((right + SMOOTHING) / (wrong + SMOOTHING))
        if best is None or best[0] > 1 - 1e-12:
            break
        _, h, vote = best
        scores += vote * h
        D = D * np.exp(-vote * (h[P][:, None] - h[N][None]))
        factors.append(D.sum())
        D /= D.sum()
    return scores, np.array(factors)


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(4, 25),
    levels=st.sampled_from([2, 4, 1000]),
    weighted=st.booleans(),
)
def test_every_round_equals_the_definition_over_pairs(seed, n_rows, levels, weighted):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) < rng.integers(1, n_rows))
    X = np.round(levels * (rng.normal(size=(n_rows, 3)) + 0.7 * y[:, None])) / levels
    weight = rng.uniform(0.1, 2, n_rows) if weighted else np.ones(n_rows)
    model = RankBoost(n_estimators=6, threshold=0.0).fit(X, y, weight)
    scores, factors = boost_by_pairs(X, y, weight, model.n_estimators_)
    np.testing.assert_allclose(model.factors_, factors, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-8)


def test_the_product_of_the_factors_is_the_exponential_loss_over_all_pairs():
    X, y = make_classification(300, 8, flip_y=0.2, weights=[0.8], random_state=0)
    model = RankBoost(n_estimators=50, threshold=0.0).fit(X, y)
    s = model.decision_function(X)
    losses = np.exp(s[y == 0] - s[y == 1][:, None])
    assert np.prod(model.factors_) == pytest.approx(losses.mean(), rel=1e-9)
    assert model.train_score_ == pytest.approx(roc_auc_score(y, s), abs=1e-12)
    assert 1 - model.train_score_ <= np.prod(model.factors_)


def test_each_round_lowers_the_loss_and_more_rounds_begin_with_fewer():
    X, y = load_breast_cancer(return_X_y=True)
    long, short = (RankBoost(n_estimators=k).fit(X, y) for k in (60, 15))
    assert np.all(long.factors_ < 1)
    np.testing.assert_array_equal(long.votes_[:15], short.votes_)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    X, y = make_classification(120, 5, flip_y=0.2, random_state=1)
    times = rng.integers(0, 4, y.size)
    weighted = RankBoost(n_estimators=25).fit(X, y, times)
    repeated = RankBoost(n_estimators=25).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_array_equal(weighted.features_, repeated.features_)
    np.testing.assert_array_equal(weighted.cuts_, repeated.cuts_)
    np.testing.assert_allclose(weighted.votes_, repeated.votes_, rtol=1e-9)


def test_a_growing_map_of_a_feature_changes_no_training_score():
    X, y = make_classification(200, 4, flip_y=0.1, random_state=3)
    plain = RankBoost(n_estimators=30).fit(X, y)
    mapped = RankBoost(n_estimators=30).fit(np.exp(X), y)
    np.testing.assert_array_equal(plain.decision_function(X), mapped.decision_function(np.exp(X)))


def test_one_stump_that_ranks_all_ends_the_rounds_with_a_finite_vote():
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 6
    model = RankBoost(n_estimators=100).fit(X, y)
    assert model.n_estimators_ == 1
    assert model.cuts_.tolist() == [5.5]
    assert np.isfinite(model.votes_).all()
    assert model.train_score_ == 1
    np.testing.assert_array_equal(model.predict(X), y)


def test_without_a_useful_stump_the_score_is_constant():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 1, 0])
    model = RankBoost().fit(X, y)
    assert model.n_estimators_ == 0
    assert model.train_score_ == 0.5
    assert np.ptp(model.decision_function(np.array([[0.0, 5.0], [1.0, 1.0]]))) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_equal_to_its_neighbour_but_for_the_last_digit_is_cut_right(dtype):
    low = dtype(1)
    X = np.array([low, np.nextafter(low, dtype(2))] * 5, dtype=dtype)[:, None]
    y = np.arange(10) % 2
    model = RankBoost().fit(X, y)
    assert roc_auc_score(y, model.decision_function(X)) == 1


def test_wild_weights_and_values_never_give_nan():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-300, 300, (200, 1))
    y = rng.integers(0, 2, 200)
    model = RankBoost(n_estimators=500).fit(X, y, 10.0 ** rng.uniform(-200, 100, 200))
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.factors_).all()


def test_sparse_rows_are_refused_in_plain_words():
    from scipy import sparse

    with pytest.raises(TypeError, match="dense data is required"):
        RankBoost().fit(sparse.eye(4, format="csr"), [0, 1, 0, 1])
