"""MeasureSVM against independent solutions, and as a scikit-learn user meets it."""

from __future__ import annotations

import pickle
import warnings
from itertools import product

import clarabel
import numpy as np
import pytest
from contract import scikit_learn_contract
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from everypair import ROCSVM, AUCClassifier, MeasureSVM, MeasureSVMCV
from everypair.linalg import low_rank
from everypair.linalg.matrix import as_matrix
from everypair.measures import ContingencyMeasure, FBeta, RecallAtMostK, measure_of
from everypair.solvers.cutting_plane import SlackPath, cutting_plane

CHECKED = [
    MeasureSVM(),
    MeasureSVM("error", fit_intercept=False),
    MeasureSVM("recall_at_k", k="1p"),
    MeasureSVM("partial_roc_area"),
    MeasureSVM(kernel="rbf"),
    MeasureSVMCV(Cs=(0.1, 1.0), cv=2),
]
"""Not "precomputed": scikit-learn's checks hand over matrices that are no kernels."""


@scikit_learn_contract(*CHECKED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def small(n_rows=60, n_columns=4, seed=0, separation=1.0):
    X, y = make_classification(
        n_rows, n_columns, n_informative=3, n_redundant=0, weights=[0.65],
        class_sep=separation, flip_y=0.05, random_state=seed,
    )  # fmt: skip
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), 1 - y


def slack_qp(slopes, losses, C):
    """``min 1/2 |w|^2 + C xi`` under every constraint at once, by an interior point solver."""
    n_cuts, n_columns = slopes.shape
    quadratic = sparse.diags([1.0] * n_columns + [0.0]).tocsc()
    rows = np.vstack([np.column_stack([slopes, -np.ones(n_cuts)]), [0.0] * n_columns + [-1.0]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        quadratic,
        np.append(np.zeros(n_columns), C),
        sparse.csc_matrix(rows),
        np.append(-losses, 0.0),
        [clarabel.NonnegativeConeT(n_cuts + 1)],
        settings,
    ).solve()
    return np.array(solution.x[:n_columns]), solution.obj_val


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_error_with_c_equals_the_hinge_svm_with_twice_c(C):
    """Theorem 3."""
    X, y = small(200, separation=0.7)
    ours = MeasureSVM("error", C=C, fit_intercept=False, tol=1e-8, max_iter=5000).fit(X, y)
    theirs = LinearSVC(loss="hinge", C=2 * C, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(
        X, y
    )
    margins = np.where(y == 1, 1, -1) * (X @ theirs.coef_[0])
    objective = theirs.coef_[0] @ theirs.coef_[0] / 2 + 2 * C * np.maximum(0, 1 - margins).sum()
    assert ours.objective_ == pytest.approx(objective, rel=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3 * np.abs(theirs.coef_).max())


@pytest.mark.parametrize("C", [1e-6, 1e-4, 1e-2])
def test_roc_area_with_c_equals_the_mean_pair_hinge_rescaled(C):
    """With v = 2w and alpha = 1 / (4 C n+ n-): P_multi(w) = C n+ n- P_hinge(v)."""
    X, y = small(200, separation=0.7)
    n_pairs = y.sum() * (1 - y).sum()
    ours = MeasureSVM("roc_area", C=C, tol=1e-7, max_iter=5000).fit(X, y)
    theirs = AUCClassifier(loss="hinge", alpha=1 / (4 * C * n_pairs), tol=1e-8).fit(X, y)
    assert ours.objective_ == pytest.approx(C * n_pairs * theirs.objective_, rel=1e-6)
    # The gap pins w to sqrt(2 gap P) at worst.
    off = np.linalg.norm(ours.coef_ - theirs.coef_ / 2)
    assert off <= np.sqrt(4 * 1e-7 * ours.objective_) + 1e-9
    assert ours.train_score_ == pytest.approx(theirs.train_score_, abs=1e-3)


@pytest.mark.parametrize("C", [1e-3, 1e-2])
def test_roc_area_with_c_equals_the_roc_svm_with_twice_c_and_half_the_margin(C):
    X, y = small(80, separation=0.7)
    cuts = MeasureSVM("roc_area", C=C, tol=1e-9).fit(X, y)
    pairs = ROCSVM(C=2 * C, kernel="linear", margin=0.5, tol=1e-9).fit(X, y)
    assert cuts.objective_ == pytest.approx(pairs.objective_, rel=1e-8)
    np.testing.assert_allclose(cuts.coef_, pairs.coef_, atol=1e-4)


def test_roc_area_equals_the_qp_over_pairs():
    X, y = small(40)
    difference = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
    C = 0.01
    n_pairs, n_columns = difference.shape
    quadratic = sparse.diags([1.0] * n_columns + [0.0] * n_pairs).tocsc()
    rows = sparse.bmat(
        [[-sparse.csc_matrix(difference), -sparse.eye(n_pairs)], [None, -sparse.eye(n_pairs)]]
    ).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        quadratic,
        np.r_[np.zeros(n_columns), np.full(n_pairs, 2 * C)],
        rows,
        np.r_[np.full(n_pairs, -0.5), np.zeros(n_pairs)],
        [clarabel.NonnegativeConeT(2 * n_pairs)],
        settings,
    ).solve()
    ours = MeasureSVM("roc_area", C=C, tol=1e-8, max_iter=5000).fit(X, y)
    assert ours.objective_ == pytest.approx(solution.obj_val, rel=1e-6)
    np.testing.assert_allclose(ours.coef_[0], solution.x[:n_columns], atol=1e-4)


@pytest.mark.parametrize("measure", ["error", "f1", "fbeta", "prbep", "jaccard"])
@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_fit_equals_the_qp_under_every_labelling(measure, C):
    X, y = small(10, seed=3)
    constant = measure != "prbep"
    features = np.column_stack([X, np.ones(len(y))]) if constant else X
    asked = jaccard if measure == "jaccard" else measure
    table = measure_of(asked, beta=0.5)
    slopes, losses = [], []
    for labels in product([0, 1], repeat=len(y)):
        label = np.array(labels)
        if measure == "prbep" and label.sum() != y.sum():
            continue
        a, b = label @ y, label @ (1 - y)
        losses.append(float(table.loss_of_table(a, b, y.sum() - a, (1 - y).sum() - b)))
        slopes.append(2.0 * (label - y) @ features)
    w, objective = slack_qp(np.array(slopes), np.array(losses), C)
    model = MeasureSVM(asked, C=C, beta=0.5, tol=1e-9, max_iter=5000).fit(X, y)
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    ours = np.append(model.coef_, model.intercept_) if constant else model.coef_[0]
    np.testing.assert_allclose(ours, w, atol=1e-3 * np.abs(w).max())


def jaccard(a, b, c, d):
    return a / (a + b + c)


ASKED = [
    ("error", {}),
    ("f1", {}),
    ("fbeta", {"beta": 2.0}),
    ("precision_at_k", {"k": 0.1}),
    ("recall_at_k", {"k": "2p"}),
    ("prbep", {}),
    ("roc_area", {}),
    ("partial_roc_area", {"fpr": (0.05, 0.3)}),
    (jaccard, {}),
]


@pytest.mark.parametrize(("measure", "options"), ASKED)
@pytest.mark.parametrize("C", [1e-4, 1.0])
def test_every_measure_reaches_its_gap_and_the_slack_bounds_its_loss(cancer, measure, options, C):
    X, y = cancer
    model = MeasureSVM(measure, C=C, **options).fit(X, y)
    assert 0 <= model.dual_gap_ <= 1e-3
    scores = X @ model.coef_[0] + model.intercept_[0]
    if options.get("k") is None:
        # Theorem 1; its proof needs the true labelling among those allowed, k = n+.
        assert model.slack_ >= model.measure_.loss(y == 1, scores) - 1e-9
    assert model.train_score_ == pytest.approx(model.measure_.value(y == 1, scores), abs=1e-12)
    assert model.train_score_ > 0.9


def test_gap_is_true_to_a_tighter_solution(cancer):
    X, y = cancer
    rough = MeasureSVM("f1", C=0.1, tol=1e-2).fit(X, y)
    exact = MeasureSVM("f1", C=0.1, tol=1e-6, max_iter=5000).fit(X, y)
    assert exact.objective_ <= rough.objective_
    assert rough.objective_ * (1 - rough.dual_gap_) <= exact.objective_


def test_too_few_cuts_warn(cancer):
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .* lower C"):
        MeasureSVM(max_iter=3).fit(*cancer)


def test_hopeless_overlap_warns_that_w_is_zero():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 3)), rng.random(500) < 0.1
    for C in (1e-9, 1.0):  # whatever C is
        with pytest.warns(ConvergenceWarning, match="is of no use on these rows.*MeasureOpt"):
            model = MeasureSVM("f1", C=C).fit(X, y)
        assert model.slack_ == pytest.approx(100)


def test_a_path_over_c_is_that_of_single_fits(cancer):
    X, y = cancer
    positive = np.asarray(y == 1)
    Cs = [1e-4, 1e-3, 1e-2]
    follow = SlackPath(as_matrix(X), positive, FBeta(1.0), constant=True)
    path = [follow.fit(C, tol=1e-4) for C in Cs]
    alone = [
        cutting_plane(as_matrix(X), positive, FBeta(1.0), C, constant=True, tol=1e-4) for C in Cs
    ]
    for one, other in zip(path, alone, strict=True):
        assert one.distance <= 1e-4
        assert one.objective == pytest.approx(other.objective, rel=2e-4)
    assert sum(fit.n_iter for fit in path) < sum(fit.n_iter for fit in alone)


def test_c_is_chosen_by_the_measure_on_held_out_rows(cancer):
    X, y = cancer
    settings = {"Cs": (1e-5, 1e-3, 1e-1), "cv": 3}
    model = MeasureSVMCV("f1", **settings).fit(X, y)
    assert model.cv_fold_scores_.shape == (3, 3)
    assert model.best_score_ == pytest.approx(model.cv_fold_scores_.mean(axis=1).max())
    assert model.C_ in settings["Cs"]
    same = MeasureSVM("f1", C=model.C_).fit(X, y)
    np.testing.assert_allclose(same.coef_, model.coef_)
    in_threads = MeasureSVMCV("f1", n_jobs=2, **settings).fit(X, y)
    np.testing.assert_allclose(in_threads.cv_scores_, model.cv_scores_)
    with pytest.raises(ValueError, match="Cs="):
        MeasureSVMCV(Cs=[-1.0]).fit(X, y)
    assert (
        MeasureSVMCV("roc_area", Cs=[1e-3], kernel="rbf", max_rank=50).fit(X, y).best_score_ > 0.9
    )


def test_recall_at_most_k_finds_the_worst_of_all_labellings_with_at_most_k():
    rng = np.random.default_rng(2)
    measure = RecallAtMostK(4)
    for _ in range(20):
        y, scores = np.array([1, 0, 0, 1, 0, 0, 1, 0], bool), rng.standard_normal(8).round(1)
        signs = np.where(y, 1.0, -1.0)
        worst = -np.inf
        for labels in product([False, True], repeat=8):
            above = np.array(labels)
            if above.sum() > 4:
                continue
            a = (above & y).sum()
            loss = 100 * (1 - a / y.sum())
            worst = max(worst, loss + (np.where(above, 1.0, -1.0) - signs) @ scores)
        found = measure.most_violated(y, scores)
        assert found.slack(scores) == pytest.approx(worst)


FORMATS = {
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "CSR float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_format_gives_the_same_fit(cancer, form, kernel):
    X, y = cancer[0][:200].astype(np.float32).astype(float), cancer[1][:200]
    shaped = FORMATS[form](X)
    model = MeasureSVM("f1", C=0.01, kernel=kernel, gamma=0.02, kernel_tol=1e-4)
    dense, other = clone(model).fit(X, y), clone(model).fit(shaped, y)
    assert other.objective_ == pytest.approx(dense.objective_, rel=2e-3)
    np.testing.assert_allclose(
        dense.decision_function(X), dense.decision_function(shaped), rtol=1e-9, atol=1e-9
    )
    assert np.mean(dense.predict(X) == other.predict(shaped)) > 0.99


@pytest.mark.parametrize("measure", ["f1", "roc_area"])
def test_linear_kernel_by_the_kernel_route_is_the_linear_fit(measure):
    X, y = small(100)
    C = 0.01 if measure == "f1" else 1e-4
    options = {"C": C, "tol": 1e-7, "max_iter": 5000}
    linear = MeasureSVM(measure, **options).fit(X, y)
    kernel = MeasureSVM(measure, kernel=lambda X, Z: X @ Z.T, **options).fit(X, y)
    matrix = MeasureSVM(measure, kernel="precomputed", **options).fit(X @ X.T, y)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-6)
    atol = 1e-2 * np.abs(linear.decision_function(X)).max()
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=atol)
    np.testing.assert_allclose(
        matrix.decision_function(X @ X.T), kernel.decision_function(X), atol=atol
    )


def test_rbf_scores_of_the_training_rows_come_back_from_the_pivots():
    X, y = small(150)
    model = MeasureSVM("f1", kernel="rbf", C=0.1).fit(X, y)
    assert model.kernel_left_out_ <= 1e-10
    scores = model.decision_function(X)
    assert model.measure_.value(y == 1, scores) == model.train_score_
    assert model.objective_ >= 0.1 * model.measure_.most_violated(y == 1, scores).slack(scores)
    same = rbf_kernel(X, X[model.support_], gamma=1 / 4) @ model.dual_coef_[0]
    np.testing.assert_allclose(scores, same + model.intercept_, atol=1e-10)


def test_a_low_rank_says_what_it_leaves_out_and_memory_bounds_it(monkeypatch):
    X, y = small()
    model = MeasureSVM(kernel="rbf", max_rank=5).fit(X, y)
    assert model.support_.size <= 5
    assert model.kernel_left_out_ > 1e-3
    monkeypatch.setattr(low_rank, "available_memory", lambda: 2 * 8 * (2 * 60 * 4 + 3 * 4**2 + 1))
    with pytest.warns(UserWarning, match="60 rows and 60 columns does not fit in memory"):
        assert MeasureSVM(kernel="rbf").fit(X, y).support_.size <= 4


def test_an_offset_does_not_change_the_rbf_kernel():
    X, y = small()
    X = np.round(X * 2**10) / 2**10  # digits that an offset of 2^26 keeps
    plain, moved = (MeasureSVM(kernel="rbf", gamma=0.3, C=0.1).fit(x, y) for x in (X, X + 2**26))
    assert moved.objective_ == pytest.approx(plain.objective_, rel=2e-3)


def test_a_kernel_that_vanishes_predicts_alike_for_all():
    X, y = small()
    with pytest.warns(ConvergenceWarning, match="w = 0"):
        model = MeasureSVM(kernel="poly").fit(0 * X, y)
    assert np.ptp(model.decision_function(X)) == 0


def test_another_kernel_set_after_the_fit_changes_no_prediction(cancer):
    X, y = cancer
    for kernel, other in (("linear", "rbf"), ("rbf", "linear")):
        model = MeasureSVM("f1", C=0.01, kernel=kernel).fit(X, y)
        before = model.decision_function(X)
        np.testing.assert_array_equal(model.set_params(kernel=other).decision_function(X), before)


def test_a_measure_that_changes_between_fits_is_fitted_as_it_is(cancer):
    X, y = cancer

    class OwnFBeta(ContingencyMeasure):
        beta = 3.0

        def of_table(self, a, b, c, d):
            more = 1 + self.beta**2
            return more * a / (more * a + b + self.beta**2 * c)

    measure = OwnFBeta()
    MeasureSVM(measure, C=1e-3).fit(X, y)
    measure.beta = 0.05
    ours = MeasureSVM(measure, C=1e-3).fit(X, y)
    theirs = MeasureSVM("fbeta", beta=0.05, C=1e-3).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=2e-3)
    assert vars(measure) == {"beta": 0.05}


@pytest.mark.parametrize("k", [7, 0.2, "1.5p"])
def test_predictions_at_k_are_exactly_k(cancer, k):
    X, y = cancer
    model = MeasureSVM("precision_at_k", k=k, C=1e-3).fit(X, y)
    expected = {7: 7, 0.2: round(0.2 * len(y)), "1.5p": round(1.5 * y.sum())}[k]
    chosen = model.predict_top_k(X)
    assert chosen.sum() == expected
    np.testing.assert_array_equal(chosen, model.predict(X))
    scores = model.decision_function(X)
    assert scores[chosen == 1].min() >= scores[chosen == 0].max()
    assert model.predict_top_k(X[:50], k=5).sum() == 5
    if k == "1.5p":
        assert model.predict_top_k(X[:100]).sum() == round(150 * y.mean())


def test_rules_of_the_other_measures(cancer):
    X, y = cancer
    # The cut comes from rows that were held out: on the training rows it holds nearly.
    prbep = MeasureSVM("prbep", C=1e-3).fit(X, y)
    assert prbep.predict(X).sum() == pytest.approx(y.sum(), abs=15)
    partial = MeasureSVM("partial_roc_area", C=1e-5, fpr=(0, 0.02)).fit(X, y)
    assert partial.predict(X)[y == 0].mean() <= 0.04
    for measure in ("f1", "roc_area"):
        model = MeasureSVM(measure, C=1e-3, fit_intercept=False).fit(X, y)
        assert model.intercept_ == 0
    with pytest.raises(ValueError, match="measure='f1' has no k"):
        MeasureSVM("f1", C=1e-3).fit(X, y).predict_top_k(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "precision_at_k"}, "k=None is not a number of rows"),
        ({"measure": "precision_at_k", "k": 61}, "k=61 means 61 of 60 rows"),
        ({"measure": "recall_at_k", "k": "9p"}, "of 60 rows"),
        ({"measure": "partial_roc_area", "fpr": (0.2, 0.1)}, "0 <= low < high <= 1"),
        ({"measure": lambda a, b, c, d: a / (a + b)}, "nan for the table a=0, b=0"),
        ({"measure": lambda a, b, c, d: b}, "return one that is highest there"),
        ({"measure": "accuracy"}, "'measure' parameter"),
        ({"kernel": "sigmoid", "gamma": 5.0, "coef0": -3.0}, "not positive semi-definite"),
        ({"kernel": lambda X, Z: X}, "The kernel returned shape"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": "poly", "degree": 2.5}, "use a whole number as degree"),
        ({"C": 1e300}, r"C=1e\+300 is too large"),
        ({"measure": "fbeta", "beta": 1e-200}, "beta=1e-200 must be"),
        ({"measure": "fbeta", "beta": 1e160}, r"beta=1e\+160 must be"),
    ],
)
def test_errors_say_what_to_do(options, message):
    with pytest.raises(ValueError, match=message):
        MeasureSVM(**options).fit(*small())


def test_a_bound_that_says_nothing_is_found_without_another_fit(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 3)), rng.random(500) < 0.1
    fits, once = [], SlackPath.fit

    def counted(path, *settings):
        fits.append(once(path, *settings))
        return fits[-1]

    monkeypatch.setattr(SlackPath, "fit", counted)
    with pytest.warns(ConvergenceWarning, match="is of no use on these rows"):
        MeasureSVM("f1", C=1.0).fit(X, y)
    assert len(fits) == 1
    with pytest.warns(ConvergenceWarning, match="is of no use on these rows"):
        MeasureSVM("f1", C=1e-9).fit(X, y)
    assert len(fits) == 3


@pytest.mark.parametrize(("measure", "C"), [("roc_area", 1.0), ("f1", 1.0), ("f1", 1e-300)])
def test_features_or_c_too_small_to_matter_are_named(measure, C):
    X, y = small()
    with pytest.warns(ConvergenceWarning, match="too small for features of this size"):
        MeasureSVM(measure, C=C).fit(X * 1e-160, y)


def test_one_class_is_refused():
    X, y = small()
    with pytest.raises(ValueError, match="only one class"):
        MeasureSVM().fit(X, np.ones_like(y))


def test_features_that_overflow_are_named():
    X, y = small()
    with pytest.raises(ValueError, match="too large for float64"):
        MeasureSVM("f1").fit(X * 1e300, y)


class Informedness(ContingencyMeasure):
    def of_table(self, a, b, c, d):
        return a / (a + c) - b / (b + d)


def test_a_measure_of_ones_own_trains(cancer):
    X, y = cancer
    model = MeasureSVM(Informedness(), C=0.01).fit(X, y)
    assert model.dual_gap_ <= 1e-3
    assert model.train_score_ > 0.95
    assert clone(model).get_params()["C"] == 0.01


def test_grid_search_pickle_and_labels(cancer):
    X, y = cancer
    labels = np.where(y == 1, "yes", "no")
    search = GridSearchCV(MeasureSVM(), {"C": [1e-4, 1e-2]}, scoring="accuracy", cv=3)
    best = search.fit(X, labels).best_estimator_
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict(X), best.predict(X))
    assert f1_score(labels, best.predict(X), pos_label="yes") == pytest.approx(best.train_score_)


def test_refitting_with_another_kernel_leaves_nothing_behind(cancer):
    X, y = cancer
    model = MeasureSVM("f1", C=0.01, kernel="rbf").fit(X, y)
    model.set_params(kernel="linear").fit(X, y)
    assert hasattr(model, "coef_")
    for name in ("dual_coef_", "support_", "kernel_left_out_"):
        assert not hasattr(model, name)


def test_verbose_prints_a_line_a_cut(capsys, cancer):
    model = MeasureSVM(C=1e-3, verbose=1).fit(*cancer)
    assert capsys.readouterr().out.count("\n") == model.n_iter_ == len(model.history_)


def test_fits_without_a_warning(cancer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MeasureSVM(C=1e-3).fit(*cancer)
