"""TwoNormSVM against scikit-learn, a general optimiser and Proposition 3.6.1."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from contract import scikit_learn_contract
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

from everypair import TwoNormSVM
from everypair.estimators import two_norm_svm as module
from everypair.solvers.two_norm import best_intercept
from lab.data.simulate import weston_toy


@scikit_learn_contract(TwoNormSVM(tol=1e-15), TwoNormSVM(max_rank=500, tol=1e-20))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def toy():
    X, y = weston_toy(250, positive_share=0.3, random_state=0)
    return X / X.std(axis=0), y


@pytest.mark.parametrize("max_rank", [None, 250])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0, 1e3])
def test_training_rows_have_auc_one_in_the_space_of_their_own(toy, C, max_rank):
    X, y = toy
    model = TwoNormSVM(C=C, max_rank=max_rank).fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert roc_auc_score(y, model.decision_function_train_) == 1.0
    signs = np.where(y == 1, 1, -1)
    assert np.all(signs * model.decision_function_train_ >= 1 - 1e-2)  # separated with a margin
    assert model.train_score_ == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    if C < 1:
        assert model.train_score_ < 1  # in H they are not


@pytest.mark.parametrize("max_rank", [None, 1, 20])
def test_low_rank_keeps_the_proposition(toy, max_rank):
    X, y = toy
    model = TwoNormSVM(C=0.1, max_rank=max_rank).fit(X, y)
    assert roc_auc_score(y, model.decision_function_train_) == 1.0


def test_equals_a_hard_margin_svm_on_the_kernel_with_a_ridge(toy):
    X, y = toy
    C = 0.7
    K = rbf_kernel(X, gamma=0.2)
    hard = SVC(C=1e12, kernel="precomputed", tol=1e-9).fit(K + np.eye(250) / (2 * C), y)
    ours = TwoNormSVM(C=C, gamma=0.2, tol=1e-12).fit(X, y)
    theirs = hard.decision_function(K + np.eye(250) / (2 * C))
    np.testing.assert_allclose(ours.decision_function_train_, theirs, atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), hard.decision_function(K), atol=1e-5)


@pytest.mark.parametrize("max_rank", [None, 60])
def test_minimises_equation_14(max_rank):
    X, y = weston_toy(60, n_features=3, random_state=0)
    signs, C, K = np.where(y == 1, 1.0, -1.0), 0.5, rbf_kernel(X, gamma=0.3)
    lengths, vectors = np.linalg.eigh(K)
    G = vectors * np.sqrt(np.maximum(lengths, 0))

    def objective(v):
        slacks = np.maximum(0, 1 - signs * (G @ v[:-1] + v[-1]))
        gradient = np.append(v[:-1] - 2 * C * G.T @ (signs * slacks), -2 * C * signs @ slacks)
        return v[:-1] @ v[:-1] / 2 + C * slacks @ slacks, gradient

    best = minimize(objective, np.zeros(61), jac=True, options={"gtol": 1e-10, "maxiter": 5000})
    model = TwoNormSVM(C=C, gamma=0.3, max_rank=max_rank, tol=1e-12).fit(X, y)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(X), G @ best.x[:-1] + best.x[-1], atol=1e-4)


def test_linear_kernel_is_linear_svc_with_squared_hinge(imbalanced):
    X, y = imbalanced
    ours = TwoNormSVM(C=0.01, kernel="linear", tol=1e-12).fit(X, y)
    # LinearSVC penalises its intercept; a large scaling makes that vanish.
    theirs = LinearSVC(
        C=0.01, loss="squared_hinge", dual=False, intercept_scaling=1e3, tol=1e-12, max_iter=10**5
    ).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("max_rank", [None, 400])
def test_integer_weights_equal_repeated_rows(imbalanced, max_rank):
    X, y = imbalanced
    counts = np.random.default_rng(0).integers(0, 3, y.size)
    weighted = TwoNormSVM(max_rank=max_rank, tol=1e-12).fit(X, y, sample_weight=counts)
    repeated = TwoNormSVM(max_rank=max_rank, tol=1e-12).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )
    inside = counts > 0
    assert roc_auc_score(y[inside], weighted.decision_function_train_[inside]) == 1.0
    np.testing.assert_allclose(
        weighted.decision_function_train_[~inside], weighted.decision_function(X[~inside])
    )


def test_every_kernel_input_gives_the_same_model(imbalanced):
    X, y = imbalanced
    named = TwoNormSVM(gamma=0.2, tol=1e-11).fit(X, y)
    K = rbf_kernel(X, gamma=0.2)
    function = TwoNormSVM(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.2), tol=1e-11).fit(X, y)
    matrix = TwoNormSVM(kernel="precomputed", tol=1e-11).fit(sparse.csr_matrix(K), y)
    as_sparse = TwoNormSVM(gamma=0.2, tol=1e-11).fit(sparse.csc_matrix(X), y)
    for other, data in ((function, X), (matrix, K), (as_sparse, sparse.csr_matrix(X))):
        np.testing.assert_allclose(
            other.decision_function(data), named.decision_function(X), atol=1e-5
        )


def test_a_matrix_that_does_not_fit_in_memory_is_replaced_and_says_so(toy, monkeypatch):
    X, y = toy
    monkeypatch.setattr(module, "room_in_memory", lambda: 5e4)
    monkeypatch.setattr(module, "FALLBACK_RANK", 40)
    with pytest.warns(UserWarning, match="kernel matrix of 250 rows does not fit in memory"):
        model = TwoNormSVM().fit(X, y)
    assert model.support_.size == 40
    assert model.kernel_left_out_ > 0
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("max_rank", [None, 40])
def test_verbose_prints_a_line_a_step(toy, max_rank, capsys):
    model = TwoNormSVM(C=100.0, max_rank=max_rank, tol=1e-12, verbose=1).fit(*toy)
    assert capsys.readouterr().out.count("relative gap") == model.n_iter_ > 1


def test_best_intercept_equals_a_search():
    rng = np.random.default_rng(0)
    for trial in range(50):
        n = rng.integers(2, 30)
        signs = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
        scores, costs = rng.standard_normal(n) * 10.0 ** rng.integers(-2, 3), rng.random(n)
        if trial % 3 == 0:
            scores = np.round(scores)

        def value(b, signs=signs, scores=scores, costs=costs):
            return costs @ np.maximum(0, 1 - signs * (scores + b)) ** 2

        ours = best_intercept(signs, scores, costs)
        reach = np.abs(scores).max() + 2
        found = minimize_scalar(value, bounds=(-reach, reach), options={"xatol": 1e-12})
        assert value(ours) <= found.fun * (1 + 1e-9) + 1e-12


def test_too_few_iterations_warn(toy):
    X, y = toy
    with pytest.warns(ConvergenceWarning, match="after 1 iterations.*lower C"):
        model = TwoNormSVM(C=100.0, max_rank=100, max_iter=1, tol=1e-12).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_rank", [None, 50])
@pytest.mark.parametrize(
    "settings",
    [{"gamma": 1e-12}, {"gamma": 1e12}, {"C": 1e-9}, {"C": 1e6}, {"kernel": "poly", "coef0": 1.0}],
)
def test_extremes_give_a_finite_model(imbalanced, settings, max_rank):
    X, y = imbalanced
    for data in (X, np.repeat(X[::4], 4, axis=0), np.ones_like(X), 0 * X):
        model = TwoNormSVM(max_rank=max_rank, **settings).fit(data, y)
        assert np.all(np.isfinite(model.decision_function(data)))
        assert np.all(np.isfinite(model.decision_function_train_))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(400)}, "only one class"),
        ({"y": np.arange(400) % 3}, "OneVsRestClassifier"),
        ({"X": np.full((400, 6), np.nan)}, "NaN"),
        ({"C": 0.0}, "'C' parameter"),
        ({"kernel": "precomputed"}, r"square matrix, but X has shape \(400, 6\)"),
    ],
)
def test_bad_input_is_named(imbalanced, change, message):
    X, y = imbalanced
    change = dict(change)
    X, y = change.pop("X", X), change.pop("y", y)
    with pytest.raises(ValueError, match=message):
        TwoNormSVM(**change).fit(X, y)


def not_symmetric(n_rows):
    K = 10 * np.eye(n_rows)
    K[3, 7] = 2.0
    return K


@pytest.mark.parametrize(
    ("kernel", "make", "message"),
    [
        ("sigmoid", lambda X: X, "not positive semi-definite"),
        ("precomputed", lambda X: np.cos(np.add.outer(X[:, 0], X[:, 0])), "not positive semi-defi"),
        ("precomputed", lambda X: not_symmetric(len(X)), r"entry \(3, 7\) is 2 and entry \(7, 3\)"),
        ("precomputed", lambda X: sparse.csr_matrix(not_symmetric(len(X))), r"entry \(3, 7\) is 2"),
    ],
)
def test_kernels_that_are_none_get_no_certificate(imbalanced, kernel, make, message):
    X, y = imbalanced
    with pytest.raises(ValueError, match=message):
        TwoNormSVM(kernel=kernel).fit(make(X), y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-300, 1e-9, 1e8, 1e15, 1e300])
def test_every_c_gives_a_gap_that_is_a_number_or_warns(imbalanced, kernel, C):
    X, y = imbalanced
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = TwoNormSVM(C=C, kernel=kernel).fit(X, y)
    assert not np.isnan(model.dual_gap_)
    assert model.dual_gap_ <= model.tol or caught
    assert np.all(np.isfinite(model.decision_function(X)))
    if C == 1e8 and kernel == "linear":
        assert model.dual_gap_ <= model.tol


def test_linear_kernel_has_coefficients_and_no_kernel_matrix(imbalanced, monkeypatch):
    X, y = imbalanced
    monkeypatch.setattr(module, "room_in_memory", lambda: 4.0 * X.size)
    model = TwoNormSVM(kernel="linear", C=0.01).fit(X, y)
    np.testing.assert_allclose(
        X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-9
    )
    exact = TwoNormSVM(kernel="linear", C=0.01, tol=1e-12).fit(X, y)
    same = TwoNormSVM(kernel="precomputed", C=0.01, tol=1e-12, max_rank=400).fit(X @ X.T, y)
    np.testing.assert_allclose(
        exact.decision_function(X), same.decision_function(X @ X.T), atol=1e-5
    )


def test_three_classes_work_through_one_vs_rest(imbalanced):
    X, _ = imbalanced
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert OneVsRestClassifier(TwoNormSVM()).fit(X, y).score(X, y) > 0.8
