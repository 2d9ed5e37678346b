"""CPAUC: clustered pairs, an honest certificate, bounded memory."""

import numpy as np
import pytest
from scipy.special import expit

from everypair import CPAUC, AUCClassifier
from everypair.estimators import cpauc
from lab.data.simulate import simulate


@pytest.fixture(scope="module")
def data():
    return simulate("M1", 60, 10, positive_share=0.7, random_state=0)


def test_one_cluster_a_pair_is_the_exact_problem(data):
    X, y = data
    n_pairs = int(np.sum(y == 1) * np.sum(y == -1))
    clustered = CPAUC(n_clusters=n_pairs, alpha=0.1, tol=1e-9, random_state=0).fit(X, y)
    exact = AUCClassifier(penalty="l1", alpha=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(clustered.coef_, exact.coef_, atol=1e-5)
    assert clustered.objective_ == pytest.approx(exact.objective_, rel=1e-8)


@pytest.mark.parametrize("weights", ["equal", "size"])
def test_solution_on_the_centres_meets_the_optimality_conditions(data, weights):
    X, y = data
    model = CPAUC(alpha=0.05, cluster_weights=weights, tol=1e-9, random_state=0).fit(X, y)
    centres, w = model.cluster_centers_, model.coef_[0]
    pull = centres.T @ (model.cluster_weights_ * expit(-centres @ w))
    assert model.dual_gap_ <= 1e-9
    assert np.abs(pull).max() <= 0.05 * (1 + 1e-4)
    np.testing.assert_allclose(pull[w != 0], 0.05 * np.sign(w[w != 0]), rtol=1e-3)
    assert 0 < np.count_nonzero(w) < w.size


def test_cluster_weights_are_shares(data):
    X, y = data
    sizes = CPAUC(n_clusters=7, cluster_weights="size", random_state=0).fit(X, y).cluster_weights_
    equal = CPAUC(n_clusters=7, random_state=0).fit(X, y).cluster_weights_
    assert sizes.sum() == pytest.approx(1)
    assert np.ptp(sizes) > 0
    np.testing.assert_allclose(equal, 1 / 7)


def test_many_pairs_are_sampled_and_said_to_be(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(cpauc, "MOST_PAIRS", 100)
    with pytest.warns(UserWarning, match="clusters 100 of the"):
        model = CPAUC(random_state=0).fit(X, y)
    assert model.n_pairs_ == 100
    monkeypatch.setattr(cpauc, "MOST_BYTES", 50 * 8 * 10)
    with pytest.warns(UserWarning, match="clusters 50 of the"):
        CPAUC(n_clusters=20, random_state=0).fit(X, y)


def test_more_clusters_than_pairs_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="n_clusters=100000 is more than"):
        CPAUC(n_clusters=100_000).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_features_too_large_to_be_squared_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="StandardScaler"):
        CPAUC().fit(X * 1e200, y)
