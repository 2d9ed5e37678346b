"""AUCRLS and AUCRLSCV where rounding, weights or the features' origin could decide."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from everypair import AUCRLS, AUCRLSCV
from everypair.rls.primal import relative_gap


def data(n=40, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, (X[:, 0] + rng.standard_normal(n) > 0).astype(int)


def leave_pair_out_by_hand(X, y, alpha):
    """Class moments without each pair, in units of the columns' deviations."""
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    Z, P, N = X / spread, np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    out = np.empty((P.size, N.size))
    for a, i in enumerate(P):
        for b, j in enumerate(N):
            high, low = Z[np.delete(P, a)], Z[np.delete(N, b)]
            S = np.cov(high.T, bias=True) + np.cov(low.T, bias=True)
            S += alpha / 2 * np.diag(spread**-2.0)
            d = high.mean(axis=0) - low.mean(axis=0)
            v = np.linalg.solve(S, d)
            out[a, b] = (Z[i] - Z[j]) @ v / (1 + d @ v)
    return out


# --- leave-pair-out -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_leave_pair_out_far_from_the_origin_equals_refitting(form):
    X = np.random.default_rng(0).standard_normal((20, 25)) + 1000
    y, alphas = np.arange(20) % 2, [0.02, 2.0]
    expected = [np.mean(leave_pair_out_by_hand(X, y, alpha) > 0) for alpha in alphas]
    np.testing.assert_allclose(
        AUCRLSCV(alphas, form=form).fit(X, y).cv_scores_, expected, atol=1e-12
    )


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_constant_column_does_not_change_leave_pair_out(form):
    y, alphas = np.isin(np.arange(8), [0, 1, 5]), [1e-4, 0.1, 10.0]
    for seed in (15, 36, 58):  # the mean of the constant is rounded
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((8, 3))
        expected = AUCRLSCV(alphas, form=form).fit(X, y).cv_scores_
        X = np.column_stack([X, np.full(8, rng.uniform(10, 100))])
        got = AUCRLSCV(alphas, form=form).fit(X, y).cv_scores_
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_leave_pair_out_of_unscaled_features_counts_no_difference_as_a_tie():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 8)) * 10.0 ** rng.uniform(-4, 4, 8)
    y = (rng.standard_normal(60) + X[:, 0] / X[:, 0].std() > 1).astype(int)
    alphas = [2e-13, 2e-6, 2e-3, 2.0]
    expected = [np.mean(leave_pair_out_by_hand(X, y, alpha) > 0) for alpha in alphas]
    np.testing.assert_allclose(AUCRLSCV(alphas).fit(X, y).cv_scores_, expected, atol=1e-12)


def test_twins_of_unscaled_features_are_tied_whatever_alpha():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 8)) * 10.0 ** rng.uniform(-4, 4, 8)
    X, y = np.repeat(X, 2, axis=0), np.tile([0, 1], 50)
    alone = np.column_stack([X, np.repeat(np.arange(50) % 2, 2)])
    for rows in (X, alone):
        model = AUCRLSCV(np.logspace(-11, 7, 19), store_predictions=True).fit(rows, y)
        won = np.where(np.eye(50, dtype=bool), 0.5, model.leave_pair_out_predictions_ > 0)
        assert model.best_score_ == pytest.approx(won.mean(), abs=1e-12)


@pytest.mark.parametrize("cv", ["leave-pair-out", 3])
@pytest.mark.parametrize(
    "params",
    [{"form": "primal"}, {"form": "dual"}, {"kernel": "rbf"}, {"kernel": "precomputed"}],
    ids=str,
)
def test_features_that_tell_nothing_apart_leave_every_pair_tied(params, cv):
    X = np.full((20, 20), 0.1)
    model = AUCRLSCV([1e-3, 1.0], cv=cv, **params).fit(X, np.arange(20) % 2)
    np.testing.assert_array_equal(model.cv_scores_, 0.5)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_features_whose_squares_vanish_leave_every_pair_tied(form):
    X, y = data()
    np.testing.assert_array_equal(AUCRLSCV([1.0], form=form).fit(X * 1e-200, y).cv_scores_, 0.5)


def test_the_default_grid_of_constant_rows_is_not_rounding():
    X, y = np.full((20, 3), 0.1), np.arange(20) % 2
    for params in ({"form": "primal"}, {"form": "dual"}, {"kernel": "rbf"}):
        assert AUCRLSCV(**params).fit(X, y).alphas_[0] == pytest.approx(2e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_cross_validation_names_what_is_not_finite(form, bad):
    X, y = data()
    X[3] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity|too large for float64"):
        AUCRLSCV([1.0], form=form).fit(X, y)


# --- certificates -------------------------------------------------------------------------


def test_a_gap_that_is_no_number_is_infinite_and_a_negative_one_is_not_zero():
    assert relative_gap(np.nan, 1.0) == relative_gap(1.0, np.nan) == np.inf
    assert relative_gap(1.0, np.inf) == np.inf
    assert relative_gap(-0.5, 1.0) == 0.5


@pytest.mark.parametrize("alpha", [1e-10, 1e-14, 1e-32])
def test_the_dual_gap_bounds_the_distance_to_the_primal_objective(alpha):
    X, y = data()
    primal, dual = AUCRLS(alpha).fit(X, y), AUCRLS(alpha, form="dual").fit(X, y)
    assert 0 <= dual.dual_gap_ < 1e-12
    np.testing.assert_allclose(dual.objective_, primal.objective_, rtol=1e-12)


@pytest.mark.parametrize("decades", [2, 4, 8])
def test_units_of_the_features_raise_no_false_alarm(decades):
    X, y = data()
    X = X * 10.0 ** -np.arange(0, 5 * decades, decades)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        primal, dual = AUCRLS(1e-10).fit(X, y), AUCRLS(1e-10, form="dual").fit(X, y)
    np.testing.assert_allclose(dual.objective_, primal.objective_, rtol=1e-6)


def test_chunks_and_merged_models_warn_as_fit_does(monkeypatch):
    X, y = data()
    parts = AUCRLS().fit(X[:20], y[:20]), AUCRLS().fit(X[20:], y[20:])
    monkeypatch.setattr("everypair.estimators.rls.TRUSTED_GAP", -1.0)
    with pytest.warns(ConvergenceWarning, match="raise alpha"):
        AUCRLS().partial_fit(X, y)
    with pytest.warns(ConvergenceWarning, match="raise alpha"):
        parts[0].merge(parts[1])


# --- weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_the_unit_of_the_weights_does_not_matter(form, size):
    X, y = data()
    expected = AUCRLS(alpha=0.01, form=form).fit(X, y)
    model = AUCRLS(alpha=0.01, form=form).fit(X, y, np.full(40, size))
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-9)
    assert model.dual_gap_ < 1e-12


@pytest.mark.parametrize("model", [AUCRLS(), AUCRLS(form="dual"), AUCRLSCV([1.0])], ids=str)
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_weights_whose_products_leave_float64_are_refused(model, size):
    X, y = data()
    with pytest.raises(ValueError, match="adds up to"):
        model.fit(X, y, np.full(40, size))


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("tiny", [1e-320, 1e-30])
def test_a_row_of_next_to_no_weight_is_as_if_left_out(form, tiny):
    X, y = data()
    weight = np.ones(40)
    weight[3] = tiny
    expected = AUCRLS(form=form).fit(np.delete(X, 3, axis=0), np.delete(y, 3))
    model = AUCRLS(form=form).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert model.dual_gap_ < 1e-12
    for cv in ("leave-pair-out", 3):
        assert np.isfinite(AUCRLSCV(form=form, cv=cv).fit(X, y, weight).best_score_)


@pytest.mark.parametrize("far", [1e6, 1e10, 1e160])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_far_rows_without_weight_change_nothing(form, make, far):
    X, y = data()
    rows, labels = make(np.r_[X, np.full((2, 5), far)]), np.r_[y, 0, 1]
    weight = np.r_[np.ones(40), 0, 0]
    expected = AUCRLS(form=form).fit(X, y)
    model = AUCRLS(form=form).fit(rows, labels, weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9, atol=1e-12)
    chosen = AUCRLSCV([1.0, 10.0], form=form).fit(rows, labels, weight)
    np.testing.assert_array_equal(
        chosen.cv_scores_, AUCRLSCV([1.0, 10.0], form=form).fit(X, y).cv_scores_
    )


def test_far_rows_without_weight_do_not_enter_a_kernel():
    X, y = data()
    rows, labels = np.r_[X, np.full((2, 5), 1e160)], np.r_[y, 0, 1]
    expected = AUCRLS(kernel="poly").fit(X, y)
    model = AUCRLS(kernel="poly").fit(rows, labels, np.r_[np.ones(40), 0, 0])
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.support_, np.arange(40))


# --- X ------------------------------------------------------------------------------------


def test_float32_rows_have_the_kernel_of_their_values_in_float64():
    X, y = data()
    X = X.astype(np.float32)
    model = AUCRLS(5e-7, kernel="rbf", gamma=1e-4)
    narrow = model.fit(X, y).decision_function(X)
    wide = model.fit(X.astype(np.float64), y).decision_function(X.astype(np.float64))
    np.testing.assert_allclose(narrow, wide, atol=1e-12)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_full_columns_of_sparse_rows_may_lie_far_from_zero(form, make):
    X, y = data()
    X[abs(X) < 0.5] = 0
    X[:, :3] += 1e6  # full columns, beside two that have zeros
    expected = AUCRLS().fit(X, y)
    model = AUCRLS(form=form).fit(make(X), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("form", ["named", "precomputed"])
def test_an_asymmetric_kernel_is_refused(form):
    X, y = data()
    bent = X.copy()
    bent[:, 0] *= 1.01
    model = AUCRLS(kernel=lambda A, B: A @ (B * [1.01, 1, 1, 1, 1]).T + np.outer(A[:, 0], B[:, 1]))
    if form == "precomputed":
        model, X = AUCRLS(kernel="precomputed"), rbf_kernel(X, bent)
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(X, y)
