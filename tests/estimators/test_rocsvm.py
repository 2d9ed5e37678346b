"""ROCSVM against an explicit quadratic program, hard-margin SVMs and odd data."""

from __future__ import annotations

import warnings

import clarabel
import numpy as np
import pandas as pd
import pytest
from contract import scikit_learn_contract
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from everypair import ROCSVM, AUCClassifier
from everypair.linalg import low_rank
from everypair.linalg.kernels import Kernel
from everypair.linalg.low_rank import GrowingFactor
from everypair.linalg.matrix import as_matrix
from everypair.linalg.threads import used_threads
from everypair.metrics import pair_multipliers
from everypair.pairs.neighbors import neighbor_pairs
from everypair.rows import Rows
from everypair.solvers.choose import minimise
from lab.data.simulate import weston_toy

# scikit-learn compares weighted with repeated rows to 1e-7; the hinge pins its minimiser only to
# the root of the gap.
CHECKED = [
    ROCSVM(C=0.01, tol=1e-14),
    ROCSVM(C=1e-3, kernel="linear", tol=1e-14),
    ROCSVM(C=1e-3, pairs="neighbors", tol=1e-14),
    ROCSVM(C=1e-3, kernel="linear", pairs="neighbors", tol=1e-14),
]


@scikit_learn_contract(*CHECKED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def small():
    """36 rows, 30 % positives: 275 pairs, which a general solver can hold."""
    X, y = weston_toy(36, n_features=4, positive_share=0.3, random_state=1)
    return X / X.std(axis=0), y


def incidence(first, second, n_rows):
    """One row a pair: +1 at its positive, -1 at its negative."""
    D = np.zeros((first.size, n_rows))
    D[np.arange(first.size), first], D[np.arange(first.size), second] = 1.0, -1.0
    return D


def explicit_dual(K, D, C, rho):
    """Eq. 5 and 12 as they stand: ``max rho sum a - 1/2 a'DKD'a``, ``0 <= a <= C``."""
    n_pairs = D.shape[0]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    # Scaled to a box of [0, 1], which the solver's tolerances are meant for.
    P = sparse.triu(sparse.csc_matrix(C * D @ K @ D.T), format="csc")
    identity = sparse.identity(n_pairs, format="csc")
    solution = clarabel.DefaultSolver(
        P,
        np.full(n_pairs, -rho),
        sparse.vstack([identity, -identity], format="csc"),
        np.concatenate([np.ones(n_pairs), np.zeros(n_pairs)]),
        [clarabel.NonnegativeConeT(2 * n_pairs)],
        settings,
    ).solve()
    multipliers = C * np.clip(np.array(solution.x), 0, 1)
    value = rho * multipliers.sum() - 0.5 * multipliers @ D @ K @ D.T @ multipliers
    return multipliers, value


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("pairs", ["all", "neighbors"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("C", "rho"), [(0.02, 1.0), (3.0, 1.0), (10.0, 0.1)])
def test_equals_a_general_solver_on_the_explicit_pair_dual(small, kernel, pairs, C, rho):
    X, y = small
    model = ROCSVM(
        C=C, margin=rho, kernel=kernel, gamma=0.3, pairs=pairs, n_neighbors=3, tol=1e-9
    ).fit(X, y)
    K = pairwise_kernels(X, metric=kernel, **({"gamma": 0.3} if kernel == "rbf" else {}))
    if pairs == "all":
        first, second = (m.ravel() for m in np.meshgrid(np.flatnonzero(y), np.flatnonzero(y == 0)))
    else:
        listed = neighbor_pairs(X, y == 1, 3)
        first, second = listed.first, listed.second
    assert model.n_pairs_ == first.size
    D = incidence(first, second, y.size)
    multipliers, value = explicit_dual(K, D, C, rho)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    scores = model.decision_function(X) - model.intercept_
    np.testing.assert_allclose(scores, K @ D.T @ multipliers, atol=1e-4 * rho)
    # On separable data the rounding of the scores ends the continuation near 1e-7.
    assert model.dual_gap_ <= 1e-6
    if C < 10:
        assert model.kernel_gap(X, y) <= 1e-7


def explicit_primal(K, D, C):
    """Eq. 3 with a slack a pair; its dual's box is too wide for the solver where C is large."""
    lengths, vectors = np.linalg.eigh(K)
    kept = lengths > 1e-12 * lengths.max()
    differences = sparse.csc_matrix(D @ (vectors[:, kept] * np.sqrt(lengths[kept])))
    n_pairs, rank = differences.shape
    slacks = sparse.eye(n_pairs)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    return clarabel.DefaultSolver(
        sparse.diags([1.0] * rank + [0.0] * n_pairs).tocsc(),
        np.r_[np.zeros(rank), np.full(n_pairs, C)],
        sparse.bmat([[-differences, -slacks], [None, -slacks]]).tocsc(),
        np.r_[-np.ones(n_pairs), np.zeros(n_pairs)],
        [clarabel.NonnegativeConeT(2 * n_pairs)],
        settings,
    ).solve().obj_val  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("C", [1.0, 1e2, 1e4, 1e6, 1e8])
def test_gap_is_no_less_than_the_distance_to_a_general_solver(C, seed):
    X, y = weston_toy(40, n_features=4, positive_share=0.3, random_state=seed)
    X /= X.std(axis=0)
    model = ROCSVM(C=C, gamma=0.25).fit(X, y)
    first, second = (m.ravel() for m in np.meshgrid(np.flatnonzero(y), np.flatnonzero(y == 0)))
    D = incidence(first, second, y.size)
    least = explicit_primal(rbf_kernel(X, gamma=0.25), D, C)
    assert -1e-9 <= model.objective_ / least - 1 <= model.dual_gap_ + 1e-9
    assert 0 <= model.dual_gap_ <= 2e-6


def test_tolerances_beyond_rounding_give_no_negative_gap(small):
    X, y = small
    with pytest.warns(ConvergenceWarning, match="above tol=1e-15"):
        model = ROCSVM(C=10.0, gamma=0.3, tol=1e-15).fit(X, y)
    assert model.dual_gap_ > 1e-15


def test_defaults_converge_on_the_papers_problem():
    X, y = weston_toy(1000, positive_share=0.1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ROCSVM().fit(X / X.std(axis=0), y)
    assert model.max_rank == "auto"
    assert model.dual_gap_ <= model.tol


def test_max_iter_bounds_all_steps_together(small):
    X, y = small
    for limit in (1, 7, 20):
        with pytest.warns(ConvergenceWarning, match=f"after {limit} iterations"):
            model = ROCSVM(C=1.0, gamma=0.3, tol=1e-15, max_iter=limit).fit(X, y)
        assert model.n_iter_ == limit


def test_pair_statuses_satisfy_proposition_3_2_1(small):
    X, y = small
    C = 0.5
    model = ROCSVM(C=C, gamma=0.3, tol=1e-10).fit(X, y)
    first, second = (m.ravel() for m in np.meshgrid(np.flatnonzero(y), np.flatnonzero(y == 0)))
    K = rbf_kernel(X, gamma=0.3)
    multipliers, _ = explicit_dual(K, incidence(first, second, y.size), C, 1.0)
    status = model.pair_status(X[first], X[second])
    scores = model.decision_function(X)
    z = scores[first] - scores[second]
    free = (multipliers > 1e-5 * C) & (multipliers < (1 - 1e-5) * C)
    assert np.all(np.abs(z[free] - 1) < 1e-4)
    assert np.all(z[multipliers <= 1e-5 * C] > 1 - 1e-4)
    assert np.all(z[multipliers >= (1 - 1e-5) * C] < 1 + 1e-4)
    # Where the program is not degenerate the two agree pair by pair.
    assert np.all(multipliers[(status == "satisfied") & (z > 1 + 1e-3)] <= 1e-5 * C)
    assert np.all(multipliers[(status == "violated") & (z < 1 - 1e-3)] >= (1 - 1e-5) * C)
    assert {"satisfied", "on_margin", "violated"} == set(status)
    counts = [np.sum(status == name) for name in ("satisfied", "on_margin", "violated")]
    assert list(model.pair_counts_) == counts


def test_the_multipliers_read_off_the_scores_give_the_solution(small):
    X, y = small
    model = ROCSVM(C=0.5, gamma=0.3, tol=1e-8).fit(X, y)
    first, second = (m.ravel() for m in np.meshgrid(np.flatnonzero(y), np.flatnonzero(y == 0)))
    scores = model.decision_function(X)
    low, high = model.margin_range_
    multipliers = pair_multipliers(scores[first], scores[second], high, high - low, 0.5)
    again = rbf_kernel(X, gamma=0.3) @ incidence(first, second, y.size).T @ multipliers
    # A solve ends with a gradient that is the root of its gap: so much the two may differ.
    np.testing.assert_allclose(scores - model.intercept_, again, atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_separable_data_are_parallel_to_the_hard_margin_svm(kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = X @ [1.0, -1.0, 0.5] > 0.5
    X[y] += [0.5, -0.5, 0.25]
    model = ROCSVM(C=1e4, kernel=kernel, gamma=0.5, tol=1e-8, max_iter=2000).fit(X, y)
    svm = SVC(C=1e8, kernel=kernel, gamma=0.5, tol=1e-8).fit(X, y)
    ours, theirs = model.decision_function(X), svm.decision_function(X)
    assert np.corrcoef(ours, theirs)[0, 1] > 1 - 1e-7
    # Proposition 3.4.1 with beta = rho / 2.
    np.testing.assert_allclose(
        ours - ours.mean(), (theirs - theirs.mean()) / 2, atol=1e-3 * np.ptp(ours)
    )
    assert model.train_score_ == 1.0


def test_linear_kernel_equals_auc_classifier_with_the_matching_alpha(imbalanced):
    X, y = imbalanced
    n_pairs = int(y.sum()) * int((~y).sum())
    C, rho = 0.01, 0.25
    svm = ROCSVM(C=C, kernel="linear", margin=rho, tol=1e-12).fit(X, y)
    plain = AUCClassifier(loss="hinge", alpha=rho / (C * n_pairs), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(svm.coef_, rho * plain.coef_, atol=1e-6)
    assert not hasattr(svm, "dual_coef_")


def test_linear_kernel_is_the_same_through_a_factor(imbalanced):
    X, y = imbalanced
    primal = ROCSVM(C=1e-3, kernel="linear", tol=1e-10).fit(X, y)
    other = ROCSVM(C=1e-3, kernel="poly", degree=1, gamma=1.0, tol=1e-10).fit(X, y)
    assert other.support_.size <= X.shape[1]
    assert other.objective_ == pytest.approx(primal.objective_, rel=1e-8)
    np.testing.assert_allclose(other.decision_function(X), primal.decision_function(X), atol=1e-4)


def test_precomputed_and_callable_kernels_equal_the_named_one(imbalanced):
    X, y = imbalanced
    settings = {"C": 1e-3, "tol": 1e-10}
    named = ROCSVM(gamma=0.2, **settings).fit(X, y)
    K = rbf_kernel(X, gamma=0.2)
    function = ROCSVM(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.2), **settings).fit(X, y)
    matrix = ROCSVM(kernel="precomputed", **settings).fit(K, y)
    for other, data in ((function, X), (matrix, K), (matrix, sparse.csr_matrix(K))):
        np.testing.assert_allclose(
            other.decision_function(data), named.decision_function(X), atol=2e-5
        )
    for pairs in ("all", "neighbors"):
        by_rows = ROCSVM(gamma=0.2, pairs=pairs, **settings).fit(X, y)
        by_matrix = ROCSVM(kernel="precomputed", pairs=pairs, **settings).fit(
            sparse.csc_matrix(K), y
        )
        assert by_matrix.n_pairs_ == by_rows.n_pairs_
        assert by_matrix.objective_ == pytest.approx(by_rows.objective_, rel=1e-8)
    search = GridSearchCV(ROCSVM(kernel="precomputed"), {"C": [1e-4, 1e-3]}, cv=3).fit(K, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@pytest.mark.parametrize(
    ("kernel", "pairs"), [("linear", "all"), ("rbf", "all"), ("linear", "neighbors")]
)
@pytest.mark.parametrize(
    "change",
    [np.asfortranarray, lambda X: X.astype(np.float32), sparse.csr_matrix, sparse.csc_matrix,
     lambda X: pd.DataFrame(X, columns=list("abcdef"))],
    ids=["F", "float32", "CSR", "CSC", "pandas"],
)  # fmt: skip
def test_every_format_gives_the_same_model(imbalanced, kernel, pairs, change):
    X, y = imbalanced
    X = X.astype(np.float32).astype(np.float64)
    settings = {"C": 1e-3, "kernel": kernel, "pairs": pairs, "tol": 1e-11}
    plain = ROCSVM(**settings).fit(X, y)
    other = ROCSVM(**settings).fit(change(X), y)
    np.testing.assert_allclose(
        other.decision_function(change(X)), plain.decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("pairs", ["all", "neighbors"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_integer_weights_equal_repeated_rows(imbalanced, kernel, pairs):
    X, y = imbalanced
    counts = np.random.default_rng(0).integers(0, 3, y.size)
    settings = {"C": 1e-3, "kernel": kernel, "gamma": 0.2, "pairs": pairs, "tol": 1e-12}
    settings["threshold"] = 0.0  # folds are of rows, which are not the same
    weighted = ROCSVM(**settings).fit(X, y, sample_weight=counts)
    repeated = ROCSVM(**settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )
    gap = weighted.kernel_gap(X, y, sample_weight=counts)
    assert gap == pytest.approx(weighted.dual_gap_, abs=1e-10)


def test_only_the_ratio_of_c_and_margin_ranks(imbalanced):
    X, y = imbalanced
    one = ROCSVM(C=1e-3, tol=1e-10).fit(X, y)
    tenth = ROCSVM(C=1e-4, margin=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(tenth.decision_function(X), one.decision_function(X) / 10, atol=1e-5)


def test_low_rank_bounds_what_it_leaves_open():
    X, y = weston_toy(900, positive_share=0.2, random_state=0)
    X /= X.std(axis=0)
    settings = {"C": 900 / (180 * 720)}
    exact = ROCSVM(max_rank=None, **settings).fit(X, y)
    assert exact.kernel_left_out_ < 1e-9
    before = np.inf
    for rank in (50, 150, 400):
        rough = ROCSVM(max_rank=rank, **settings).fit(X, y)
        assert rough.support_.size <= rank
        assert rough.dual_gap_ <= rough.tol
        # Its objective is that of a function of the space: above the least, by at most the gap.
        gap = rough.kernel_gap(X, y)
        excess = rough.objective_ / exact.objective_ - 1
        assert -1e-6 <= excess < before
        assert excess <= gap * rough.objective_ / exact.objective_
        before = excess


@pytest.mark.parametrize("power", [0, 1, 2])
def test_multipliers_choose_better_pivots_than_weights(power):
    X, y = weston_toy(900, positive_share=0.2, random_state=0)
    X /= X.std(axis=0)
    pairs, rank = Rows.uncut(y == 1), 200
    chosen = ROCSVM(C=900 / pairs.n_pairs, max_rank=rank).fit(X, y)
    factor = GrowingFactor(Kernel("rbf").on(X))
    factor.grow(pairs.share**power, rank, 0.0)
    by_weight = minimise(as_matrix(factor.features), pairs, "hinge", 1 / 900)
    assert chosen.objective_ / 900 < 0.97 * by_weight.objective


def test_a_factor_that_does_not_fit_in_memory_is_cut_and_says_so(monkeypatch):
    X, y = weston_toy(300, random_state=0)
    numbers = 2 * 300 * 40 + (6 + used_threads()) * 40**2
    monkeypatch.setattr(low_rank, "available_memory", lambda: 2 * 8 * numbers)
    with pytest.warns(UserWarning, match="300 rows and 300 columns does not fit in memory, so"):
        model = ROCSVM(C=0.01, max_rank=None).fit(X, y)
    assert model.support_.size == 40
    assert model.dual_gap_ <= model.tol
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ROCSVM(C=0.01, max_rank=30).fit(X, y)


@pytest.mark.parametrize("pairs", ["all", "neighbors"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_too_few_iterations_warn_and_say_how_far(imbalanced, kernel, pairs):
    X, y = imbalanced
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations, above tol=1e-12.*lower C"):
        model = ROCSVM(kernel=kernel, pairs=pairs, max_iter=1, tol=1e-12).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.parametrize("max_gap", [0.3, 0.01])
def test_the_rank_grows_until_the_gap_over_the_kernel_holds(max_gap):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = np.abs(X).sum(axis=1) + rng.logistic(scale=0.3, size=400) > 4.5
    settings = {"C": 3e-3, "gamma": 0.5, "max_rank": 20, "threshold": 0.0}
    fixed = ROCSVM(**settings).fit(X, y)
    grown = ROCSVM(max_gap=max_gap, **settings).fit(X, y)
    assert fixed.kernel_gap(X, y) > max_gap >= grown.kernel_gap(X, y)
    assert grown.dual_gap_ <= 1e-6
    assert fixed.support_.size == 20 < grown.support_.size
    assert grown.objective_ <= fixed.objective_
