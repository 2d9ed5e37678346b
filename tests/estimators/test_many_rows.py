"""Kernels with many rows: pivots of a sample, features kept or streamed, one certificate."""

from __future__ import annotations

import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from everypair import AUCRLS, ROCSVM, MeasureOpt, MeasureSVM
from everypair.estimators import rocsvm
from everypair.linalg import pivot_features
from everypair.linalg.factor import FactorMatrix, Inverse, ProductFactor
from everypair.linalg.pivot_features import StreamedFactor
from everypair.solvers import choose, hinge, kernel_hinge
from everypair.solvers.newton import NewtonMatrix


def data(n_rows=700, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 4))
    y = np.abs(X).sum(axis=1) + rng.logistic(scale=noise, size=n_rows) > 4.2
    return X, y.astype(int)


@pytest.fixture
def many(monkeypatch):
    """300 rows count as many, and pivots come from a sample of 200."""
    monkeypatch.setattr(pivot_features, "MANY_ROWS", 300)
    monkeypatch.setattr(pivot_features, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(pivot_features, "SAMPLE_PER_PIVOT", 2)
    return monkeypatch


def streams(monkeypatch):
    monkeypatch.setattr(pivot_features, "SINGLE_BYTES", 0)


SETTINGS = {"kernel": "rbf", "gamma": 0.3, "max_rank": 50}
MODELS = [
    ROCSVM(C=1e-3, **SETTINGS),
    ROCSVM(C=1.0, **SETTINGS),
    AUCRLS(alpha=1e-3, **SETTINGS),
    MeasureOpt("f1", max_iter=20, **SETTINGS),
    MeasureSVM("f1", C=10.0, tol=1e-3, **SETTINGS),
]


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(of, marks=pytest.mark.slow) if k in (1, 3) else of
        for k, of in enumerate(MODELS)
    ],
    ids=lambda model: f"{type(model).__name__}",
)
def test_streamed_features_give_the_model_of_kept_ones(many, model):
    X, y = data()
    kept = model.fit(X, y).decision_function(X)
    support = model.support_
    streams(many)
    streamed = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(streamed, kept, atol=2e-3 * np.ptp(kept))
    assert abs(roc_auc_score(y, streamed) - roc_auc_score(y, kept)) < 1e-3


@pytest.mark.parametrize(("C", "weighted"), [(1e-4, False), (1e-2, True), (1.0, False)])
@pytest.mark.parametrize("way", ["double", "single", "streamed"])
def test_the_solution_over_the_pivots_of_a_sample_is_certified(many, C, way, weighted):
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, y.size).astype(float) if weighted else None
    if way == "single":
        many.setattr(pivot_features, "DOUBLE_BYTES", 0)
    if way == "streamed":
        streams(many)
    model = ROCSVM(C=C, **SETTINGS).fit(X, y, sample_weight=weight)
    assert model.dual_gap_ <= model.tol
    # The same objective from the definition, at the scores that the model gives.
    scores, positive = model.decision_function(X), y == 1
    weight = np.ones(y.size) if weight is None else weight
    short = np.maximum(0, 1 - scores[positive][:, None] + scores[~positive])
    loss = float(weight[positive] @ short @ weight[~positive])
    basis = X[model.support_]
    K = np.exp(-0.3 * ((basis[:, None] - basis[None]) ** 2).sum(axis=2))
    norm = float(model.dual_coef_[0] @ K @ model.dual_coef_[0])
    objective = norm / 2 + C * loss
    assert model.objective_ == pytest.approx(objective, rel=1e-5 if way == "single" else 1e-8)
    # No other solver finds less over the same pivots.
    from scipy.linalg import cholesky, solve_triangular

    from everypair.linalg.matrix import as_matrix
    from everypair.rows import Rows
    from everypair.solvers.choose import minimise

    cross = np.exp(-0.3 * ((X[:, None] - basis[None]) ** 2).sum(axis=2))
    G = solve_triangular(cholesky(K, lower=True), cross.T, lower=True).T
    total = float(weight[positive].sum() * weight[~positive].sum())
    pairs = Rows.uncut(positive, weight)
    least = minimise(as_matrix(np.ascontiguousarray(G)), pairs, "hinge", 1 / (C * total))
    assert model.objective_ == pytest.approx(C * total * least.objective, rel=2e-5)


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_a_middle_solve_changes_the_way_and_not_the_solution(many, C, rounds):
    """With the features as a product, or where that would round too much, as they are."""
    X, y = data(1500)
    if rounds:
        many.setattr(kernel_hinge, "ROUNDING_SHARE", 0.0)
    model = ROCSVM(C=C, **SETTINGS)
    direct = model.fit(X, y).objective_
    sizes = []
    of = kernel_hinge.hinge_by_continuation

    def counted(start, *args, **kwargs):
        sizes.append((start.problem.X.shape[0], type(start.problem.X)))
        return of(start, *args, **kwargs)

    many.setattr(kernel_hinge, "hinge_by_continuation", counted)
    many.setattr(kernel_hinge, "MIDDLE_ROWS", 600)
    assert model.fit(X, y).objective_ == pytest.approx(direct, rel=2e-6)
    assert model.dual_gap_ <= model.tol
    assert [size for size, _ in sizes[-2:]] == [600, 1500]
    assert sizes[-1][1] is (FactorMatrix if rounds else ProductFactor)


def test_a_hard_fit_is_certified_over_a_product(many):
    """By bounds of |K| |T| |w| its rounding would be more than the tolerance leaves to it."""
    X, y = data(1500)
    many.setattr(kernel_hinge, "MIDDLE_ROWS", 600)
    settings = {"C": 100.0, "gamma": 0.3, "max_rank": 120}
    kinds, most, of = [], [], kernel_hinge.features_of_all_rows

    def noted(kernel, pivots, triangle, most_reach):
        X, basis = of(kernel, pivots, triangle, most_reach)
        kinds.append(type(X))
        most.append(most_reach / Inverse.of(triangle, 1.0).reach)
        return X, basis

    many.setattr(kernel_hinge, "features_of_all_rows", noted)
    model = ROCSVM(**settings).fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert kinds == [ProductFactor]
    assert most[0] < 0.7
    many.setattr(kernel_hinge, "ROUNDING_SHARE", 0.0)
    exact = ROCSVM(**settings).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=2e-6)


def test_rows_without_length_have_no_pivots(many):
    X, y = data(400)
    model = ROCSVM(kernel="poly", degree=2, gamma=1.0, coef0=0.0).fit(0 * X, y)
    assert model.support_.size == 0
    assert np.ptp(model.decision_function(X)) == 0


def test_no_solve_on_the_sample_before_a_last_rank_that_is_near(monkeypatch):
    """The rank at which the gap would be small enough is tried on all rows, or the last one is."""
    found = SimpleNamespace(objective=1.0)

    def after(*gaps, max_rank):
        ranks = kernel_hinge._Ranks(max_rank, 0.0015, to_last=True)
        for rank, gap in zip((256, 512), gaps, strict=True):
            monkeypatch.setattr(kernel_hinge, "_gap_over_kernel", lambda *_, gap=gap: gap)
            following = ranks.after(SimpleNamespace(rank=rank), None, found)
        return following, ranks.foretold

    assert after(0.2, 0.003, max_rank=1000) == (575, True)
    assert after(0.2, 0.02, max_rank=1000) == (1000, True)
    assert after(0.2, 0.02, max_rank=4000) == (1117, False)
    assert after(0.2, 0.001, max_rank=1000) == (512, False)


def test_the_matrix_of_the_sample_serves_all_rows(many):
    """Where the loss is smooth, no Hessian of all rows is made."""
    X, y = data(3000)
    sizes, init = [], NewtonMatrix.__init__

    def counted(self, now, *args):
        sizes.append(now.problem.X.shape[0])
        init(self, now, *args)

    many.setattr(NewtonMatrix, "__init__", counted)
    many.setattr(pivot_features, "SAMPLE_ROWS", 1000)
    model = ROCSVM(C=1e-5, **SETTINGS).fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert set(sizes) == {1000}


def test_a_solution_is_refined_from_the_rounding_that_it_has(monkeypatch):
    """With many satisfied pairs a solution certifies itself at its own rounding alone, and a
    search from the widest one begins anew."""
    X, y = data(1200, noise=0.05)
    of = kernel_hinge.hinge_by_continuation

    def anew(*args, near, **kwargs):
        return of(*args, **kwargs)

    refined = ROCSVM(kernel="rbf", gamma=0.3).fit(X, y)
    monkeypatch.setattr(kernel_hinge, "hinge_by_continuation", anew)
    begun_anew = ROCSVM(kernel="rbf", gamma=0.3).fit(X, y)
    assert refined.objective_ == pytest.approx(begun_anew.objective_, rel=1e-6)
    assert refined.n_iter_ < 0.8 * begun_anew.n_iter_


@pytest.mark.parametrize("C", [100.0, 1e4])
def test_separable_rows_converge_though_a_start_is_given(C):
    """No pair is short by more than the rounding: a stretch ends every shortfall."""
    if C == 100.0:
        X, y = load_breast_cancer(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    else:
        X = np.random.default_rng(0).standard_normal((700, 4))
        y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.8).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ROCSVM(kernel="rbf", C=C, max_rank="auto" if C == 100.0 else 200).fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert model.n_iter_ < 60


@pytest.mark.parametrize("scale", [1e-4, 3e-4, 1.0, 1e5])
def test_the_scale_of_a_kernel_does_not_matter(many, scale):
    """A polynomial of X in other units is the same problem with another C."""
    X, y = data()
    settings = {"kernel": "poly", "gamma": 1.0, "degree": 3, "coef0": 0.0, "max_rank": 30}
    model = ROCSVM(C=1e-3 / scale**6, **settings).fit(scale * X, y)
    of_plain = ROCSVM(C=1e-3, **settings).fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert model.objective_ * scale**6 == pytest.approx(of_plain.objective_, rel=1e-5)
    assert model.n_iter_ <= of_plain.n_iter_ + 8


def test_products_first_solve_what_hessians_do(monkeypatch):
    """On factors of many columns."""
    X, y = data(900)
    settings = {"kernel": "rbf", "gamma": 0.3, "C": 1e-3, "max_rank": 120}
    by_hessians = ROCSVM(**settings).fit(X, y)
    monkeypatch.setattr(choose, "FACTOR_COLUMNS", 10)
    by_products = ROCSVM(**settings).fit(X, y)
    assert by_products.dual_gap_ <= by_products.tol
    assert by_products.objective_ == pytest.approx(by_hessians.objective_, rel=2e-6)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 1000),
        ({"max_gap": 0.1}, 600),
        ({"pairs": "neighbors", "n_neighbors": 2}, 600),
        ({"max_rank": 70}, 70),
    ],
)
def test_most_pivots_where_they_end_when_they_are_enough(monkeypatch, options, wanted):
    """Up to 10,000 rows, and only where the rule that ends them is at work."""

    class Asked(Exception):
        pass

    def ask(*args, max_rank, **kwargs):
        raise Asked(max_rank)

    monkeypatch.setattr(kernel_hinge, "minimise_in_kernel", ask)
    X, y = data(2000)
    with pytest.raises(Asked, match=f"^{wanted}$"):
        ROCSVM(kernel="rbf", **options).fit(X, y)


def test_a_solution_of_other_rows_begins_with_a_rounding_somewhat_wider_than_its_own(many):
    """Its gap tells nothing there, and by gaps alone the series would begin anew."""
    X, y = data(6000, noise=0.1)
    begin, first = hinge._first_rounding, []

    def noted(start, near):
        out = begin(start, near)
        if start.problem.X.shape[0] == 6000:
            first.append((near, out[1], hinge.around_corner(start, near).judged.distance))
        return out

    many.setattr(hinge, "_first_rounding", noted)
    many.setattr(pivot_features, "SAMPLE_ROWS", 600)
    settings = {**SETTINGS, "max_rank": 200}
    model = ROCSVM(C=1.0, **settings).fit(X, y)
    assert model.dual_gap_ <= model.tol
    ((near, width, gap),) = first
    assert hinge.FARTHER < gap < hinge.FARTHER**2
    assert width == 16 * near < hinge.FIRST_WIDTH

    many.setattr(hinge, "FARTHER", 1.01)  # as good as the widest
    anew = ROCSVM(C=1.0, **settings).fit(X, y)
    assert model.objective_ == pytest.approx(anew.objective_, rel=2e-6)


def test_what_is_left_out_is_estimated_where_features_are_not_computed(many):
    X, y = data(1500)
    model = ROCSVM(C=1e-3, **SETTINGS).fit(X, y)
    many.setattr(kernel_hinge, "ROUNDING_SHARE", 0.0)
    exact = ROCSVM(C=1e-3, **SETTINGS).fit(X, y)
    np.testing.assert_array_equal(model.support_, exact.support_)
    assert model.kernel_left_out_ == pytest.approx(exact.kernel_left_out_, rel=1e-8)
    many.setattr(kernel_hinge, "ROUNDING_SHARE", 0.25)
    many.setattr(pivot_features, "LEFT_ROWS", 500)
    some = ROCSVM(C=1e-3, **SETTINGS).fit(X, y)
    assert some.kernel_left_out_ == pytest.approx(exact.kernel_left_out_, rel=0.1)


def test_pivots_of_a_sample_rank_as_those_of_all_rows(many):
    X, y = data(1500)
    test, truth = data(1500, seed=1)
    settings = {"C": 1e-3, "gamma": 0.3, "max_rank": 120}
    sampled = ROCSVM(**settings).fit(X, y)
    many.setattr(pivot_features, "MANY_ROWS", 10**6)
    whole = ROCSVM(**settings).fit(X, y)
    assert not np.array_equal(sampled.support_, whole.support_)
    areas = [roc_auc_score(truth, model.decision_function(test)) for model in (sampled, whole)]
    assert abs(areas[0] - areas[1]) < 0.005


def test_auto_takes_fewer_pivots_where_they_are_enough(many):
    X, y = data(1500)
    weak = ROCSVM(C=1e-6, gamma=0.1).fit(X, y)
    strong = ROCSVM(C=1e-2, gamma=1.0).fit(X, y)
    assert weak.support_.size < strong.support_.size
    assert weak.kernel_gap(X, y) < 0.02


def test_auto_ends_where_the_gap_over_the_kernel_is_small_and_only_there():
    X, y = data(900)
    settings = {"C": 1e-3, "gamma": 0.1}
    few = ROCSVM(**settings).fit(X, y)
    assert few.support_.size < 600
    per_pair = few.objective_ / (settings["C"] * few.n_pairs_)
    assert few.kernel_gap(X, y) * per_pair <= 2 * rocsvm.ENOUGH_GAP
    # A rank or a gap that the user asks for holds.
    assert ROCSVM(max_rank=600, **settings).fit(X, y).support_.size > few.support_.size
    least = ROCSVM(max_gap=1e-5, **settings).fit(X, y)
    assert least.kernel_gap(X, y) <= 1e-5


def test_up_to_600_rows_auto_leaves_nothing_out():
    X, y = data(500)
    model = ROCSVM(C=1e-6, gamma=3.0).fit(X, y)
    assert model.kernel_left_out_ <= 1e-9


@pytest.mark.parametrize("C", [1e-5, 1e-2])
def test_the_estimated_gap_over_the_kernel_is_about_the_true_one(C, monkeypatch):
    X, y = data(900)
    seen = []
    of = kernel_hinge._gap_over_kernel

    def kept(factor, now, found):
        alpha, scores = now.problem.quadratic.alpha, found.scores / found.stretch
        true = kernel_hinge.kernel_gap(
            factor.kernel, now.loss.pairs, alpha, scores, found.objective, found.width
        )
        seen.append((of(factor, now, found), true * found.objective))
        return seen[-1][0]

    monkeypatch.setattr(kernel_hinge, "_gap_over_kernel", kept)
    ROCSVM(C=C, gamma=1.0).fit(X, y)
    estimated, true = np.transpose(seen)
    np.testing.assert_allclose(estimated, true, rtol=0.3, atol=1e-5)


def test_streaming_reads_the_rows_a_bounded_number_of_times(many):
    streams(many)
    passes = []
    of = StreamedFactor._pieces

    def counted(self, start, stop, whole=True):
        passes.append(stop - start)
        return of(self, start, stop, whole)

    many.setattr(StreamedFactor, "_pieces", counted)
    X, y = data()
    model = ROCSVM(C=1e-2, **SETTINGS).fit(X, y)
    assert model.dual_gap_ <= model.tol
    assert sum(passes) / y.size < 40 * model.n_iter_


def test_a_streamed_fit_never_holds_all_features(many):
    streams(many)
    X, y = data(12_000)
    settings = {"C": 1e-6, "gamma": 0.3, "max_rank": 100, "tol": 1e-3, "threshold": 0.0}
    ROCSVM(**settings).fit(X[:700], y[:700])  # what is compiled stays
    tracemalloc.start()
    try:
        ROCSVM(**settings).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 12_000 * 100


def test_sparse_rows_give_the_model_of_dense_ones(many):
    X, y = data()
    X[np.abs(X) < 0.5] = 0.0
    dense = ROCSVM(C=1e-3, **SETTINGS).fit(X, y).decision_function(X)
    few = ROCSVM(C=1e-3, **SETTINGS).fit(sparse.csr_matrix(X), y).decision_function(X)
    np.testing.assert_allclose(few, dense, atol=1e-4 * np.ptp(dense))


@pytest.mark.parametrize("rank", [120, 400])
def test_least_squares_over_pivots_near_those_of_the_whole_kernel(rank):
    X, y = data(400)
    whole = AUCRLS(alpha=1e-3, kernel="rbf", gamma=0.1).fit(X, y)
    few = AUCRLS(alpha=1e-3, kernel="rbf", gamma=0.1, max_rank=rank).fit(X, y)
    assert few.support_.size <= rank
    assert few.objective_ >= whole.objective_ * (1 - 1e-9)
    close = 0.02 if rank == 120 else 1e-6
    assert few.objective_ == pytest.approx(whole.objective_, rel=close)
    difference = few.decision_function(X) - whole.decision_function(X)
    assert np.abs(difference).max() < (0.1 if rank == 120 else 1e-4)


def test_least_squares_over_pivots_in_groups_and_with_weights():
    X, y = data(400)
    rng = np.random.default_rng(0)
    within, weight = rng.integers(0, 8, 400), rng.integers(0, 3, 400).astype(float)
    settings = {"alpha": 1e-3, "kernel": "rbf", "gamma": 0.1}
    for given in ({"within": within}, {"sample_weight": weight}):
        whole = AUCRLS(**settings).fit(X, y, **given)
        few = AUCRLS(max_rank=400, **settings).fit(X, y, **given)
        assert few.objective_ == pytest.approx(whole.objective_, rel=1e-5)
        np.testing.assert_allclose(few.decision_function(X), whole.decision_function(X), atol=1e-3)


def rbf(X, Z):
    return np.exp(-0.3 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def test_a_kernel_function_and_its_matrix_give_one_model(many):
    X, y = data()
    settings = {"C": 1e-3, "max_rank": 50}
    named = ROCSVM(gamma=0.3, **settings).fit(X, y).decision_function(X)
    called = ROCSVM(kernel=rbf, **settings).fit(X, y).decision_function(X)
    K = rbf(X, X)
    given = ROCSVM(kernel="precomputed", **settings).fit(K, y).decision_function(K)
    np.testing.assert_allclose(called, named, atol=1e-4 * np.ptp(named))
    np.testing.assert_allclose(given, named, atol=1e-4 * np.ptp(named))


@pytest.mark.parametrize("way", ["single", pytest.param("streamed", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", ["groups", "one positive", "separable", "float32", "ties"])
def test_odd_rows_are_certified_too(many, way, case):
    X, y = data()
    many.setattr(pivot_features, "DOUBLE_BYTES", 0)
    if way == "streamed":
        streams(many)
    given = {}
    if case == "groups":
        given["within"] = np.random.default_rng(2).integers(0, 6, y.size)
    elif case == "one positive":
        y = (np.arange(y.size) == 5).astype(int)
    elif case == "separable":
        y = (X[:, 0] > 1).astype(int)
    elif case == "float32":
        X = X.astype(np.float32)
    else:
        X = np.round(X)
    model = ROCSVM(C=1.0, **SETTINGS).fit(X, y, **given)
    assert model.dual_gap_ <= model.tol
    assert np.all(np.isfinite(model.decision_function(X)))
