"""AUCClassifier as a scikit-learn user meets it."""

from __future__ import annotations

import pickle
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from contract import scikit_learn_contract
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifier
from everypair.estimators.auc import LOSS_NAMES
from everypair.linalg.matrix import as_matrix
from everypair.linalg.threads import available_threads
from everypair.pairs import LOSSES
from everypair.rows import Rows
from everypair.solvers.choose import minimise
from everypair.solvers.newton import HESSIAN_BYTES

# scikit-learn compares weighted with repeated rows to 1e-7. The hinge pins its minimiser
# only to the root of the gap over alpha, so it is asked with a strong penalty.
CHECKED = [
    AUCClassifier(tol=1e-14),
    *(
        AUCClassifier(loss=loss, tol=1e-14, max_iter=500)
        for loss in LOSS_NAMES
        if loss not in ("logistic", "hinge")
    ),
    AUCClassifier(loss="hinge", alpha=10.0, tol=1e-14, max_iter=500),
    AUCClassifier(solver="newton-cg", tol=1e-14),
]


@scikit_learn_contract(*CHECKED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_loss_of_the_pairs_is_offered():
    assert set(LOSS_NAMES) == set(LOSSES)


FORMATS = {
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_matrix,
    "CSR float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "CSC array": sparse.csc_array,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])}),
    "list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_model(imbalanced, name, loss):
    X, y = imbalanced
    X = X.astype(np.float32).astype(np.float64)  # the same numbers in every format
    # Another format may mean another solver: both must be driven to the last digits.
    settings = {"loss": loss, "alpha": 0.1, "tol": 1e-12 if loss == "hinge" else 1e-15}
    plain = AUCClassifier(**settings).fit(X, y)
    other = AUCClassifier(**settings).fit(FORMATS[name](X), y)
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-5 if loss == "hinge" else 1e-7)
    np.testing.assert_allclose(
        other.decision_function(FORMATS[name](X)), other.decision_function(X), atol=1e-12
    )


def test_feature_names_are_kept_and_checked(imbalanced):
    X, y = imbalanced
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = AUCClassifier().fit(frame, y)
    assert list(model.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("fedcba")])


@pytest.mark.parametrize("name", ["C", "F", "float32", "CSR", "CSC"])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_fit_holds_no_second_x(name, loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25_000, 180)).astype(np.float32).astype(np.float64)
    y = X[:, 0] + rng.standard_normal(25_000) > 1
    X = {"C": np.asarray, **FORMATS}[name](X)
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    size = sum(part.nbytes for part in parts)
    AUCClassifier(loss=loss, alpha=1.0).fit(X[:3000], y[:3000])  # compile first
    tracemalloc.start()
    AUCClassifier(loss=loss, alpha=1.0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (0.8 if name == "float32" else 0.5) * size, peak / size


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_integer_weights_equal_repeated_rows(imbalanced, loss):
    X, y = imbalanced
    counts = np.random.default_rng(0).integers(0, 4, y.size)
    settings = {"loss": loss, "alpha": 0.1, "tol": 1e-13}
    weighted = AUCClassifier(**settings).fit(X, y, sample_weight=counts)
    repeated = AUCClassifier(**settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    assert weighted.train_score_ == pytest.approx(repeated.train_score_, abs=1e-12)
    atol = 1e-8  # Newton's last step on a smooth loss goes beyond its tolerance
    if loss == "hinge":  # what the gaps prove
        atol = sum(np.sqrt(2 * m.dual_gap_ * m.objective_ / 0.1) for m in (weighted, repeated))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=0, atol=atol)


def test_scaled_weights_change_nothing(imbalanced):
    X, y = imbalanced
    weight = np.random.default_rng(0).random(y.size)
    one = AUCClassifier(tol=1e-12).fit(X, y, sample_weight=weight)
    million = AUCClassifier(tol=1e-12).fit(X, y, sample_weight=1e6 * weight)
    np.testing.assert_allclose(one.coef_, million.coef_, atol=1e-10)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_fit_reports_how_close_it_got(imbalanced, loss):
    X, y = imbalanced
    model = AUCClassifier(loss=loss).fit(X, y)
    assert hasattr(model, "dual_gap_") != hasattr(model, "gradient_norm_")
    assert 0 <= getattr(model, "dual_gap_", getattr(model, "gradient_norm_", -1)) <= model.tol
    assert hasattr(model, "gradient_norm_") == (loss == "sigmoid")
    assert model.train_score_ == pytest.approx(
        roc_auc_score(y, model.decision_function(X)), abs=1e-12
    )


def test_refitting_with_another_loss_leaves_no_stale_certificate(imbalanced):
    X, y = imbalanced
    model = AUCClassifier(loss="sigmoid").fit(X, y)
    model.set_params(loss="logistic").fit(X, y)
    assert hasattr(model, "dual_gap_")
    assert not hasattr(model, "gradient_norm_")


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_too_few_iterations_warn_and_say_how_far(imbalanced, loss):
    X, y = imbalanced
    if loss == "square":
        pytest.skip("one Newton step is exact")
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations, above tol=1e-12"):
        model = AUCClassifier(loss=loss, max_iter=1, tol=1e-12).fit(X, y)
    assert np.all(np.isfinite(model.coef_))


def test_warm_start_begins_at_the_last_solution(imbalanced):
    X, y = imbalanced
    for loss in LOSS_NAMES:
        model = AUCClassifier(loss=loss, warm_start=True).fit(X, y)
        assert model.n_iter_ > 0
        assert model.fit(X, y).n_iter_ == 0
    model = AUCClassifier(warm_start=True).fit(X, y)
    cold = AUCClassifier(alpha=0.5, tol=1e-15).fit(X, y)
    model.set_params(alpha=0.5, tol=1e-15).fit(X, y)
    np.testing.assert_allclose(model.coef_, cold.coef_, atol=1e-7)
    narrower = model.fit(X[:, :3], y)  # another width: a start of its own
    assert narrower.coef_.shape == (1, 3)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (-1, 1), (False, True), (2.0, 5.0)])
def test_any_two_labels_serve(imbalanced, labels):
    X, y = imbalanced
    named = np.where(y, labels[1], labels[0])
    model = AUCClassifier().fit(X, named)
    assert list(model.classes_) == list(labels)
    assert set(model.predict(X)) == set(labels)
    np.testing.assert_array_equal(model.predict(X) == labels[1], model.decision_function(X) > 0)


def test_three_classes_point_to_one_vs_rest_which_works(imbalanced):
    X, _ = imbalanced
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.raises(ValueError, match=r"y has 3 classes.*OneVsRestClassifier"):
        AUCClassifier().fit(X, y)
    assert OneVsRestClassifier(AUCClassifier()).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(400)}, "only one class"),
        ({"X": np.full((400, 6), np.nan)}, "NaN"),
        ({"X": np.full((400, 6), np.inf)}, "infinity"),
        ({"y": np.arange(10) % 2}, "inconsistent numbers of samples"),
        ({"w": np.ones(10)}, "sample_weight"),
        ({"w": -np.ones(400)}, "(?i)negative"),
        ({"w": np.full(400, np.nan)}, "NaN"),
        ({"w": "zero positives"}, "every positive row is zero"),
        ({"alpha": -1.0}, "'alpha' parameter.*-1.0"),
        ({"alpha": 0.0}, "'alpha' parameter"),
        ({"loss": "nonsense"}, "'loss' parameter.*nonsense"),
        ({"penalty": "l0"}, "'penalty' parameter.*l0"),
        ({"solver": "sgd"}, "'solver' parameter.*sgd"),
        ({"tol": 0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"threshold": "best"}, "'threshold' parameter.*best"),
        ({"threshold": {"fpr": 2.0}}, r"threshold=\{'fpr': 2.0\} is not a rule"),
        ({"threshold": float("nan")}, "not finite"),
        ({"loss": "sigmoid", "solver": "newton"}, "not convex: use 'newton-cg'"),
    ],
)
def test_bad_input_is_named(imbalanced, change, message):
    X, y = imbalanced
    change = dict(change)
    X, y = change.pop("X", X), change.pop("y", y)
    weight = change.pop("w", None)
    if isinstance(weight, str):
        weight = np.where(y, 0.0, 1.0)
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**change).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("seed", range(3))
def test_hinge_on_x_by_columns_finds_what_it_finds_by_rows(seed):
    """More columns than rows and hardly a penalty: steps of single products would never end."""
    rng = np.random.default_rng(seed)
    X = sparse.random(50, 200, 0.1, format="csr", random_state=rng)
    y = np.asarray(X[:, :5].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(50) > 0.2
    by_rows = AUCClassifier("hinge", alpha=1e-5).fit(X, y)
    by_columns = AUCClassifier("hinge", alpha=1e-5).fit(X.tocsc(), y)
    assert by_columns.dual_gap_ <= 1e-6
    assert by_columns.objective_ == pytest.approx(by_rows.objective_, rel=2e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "square", "exponential"])
def test_newton_on_sparse_x_finds_what_it_finds_on_dense_x(imbalanced, loss):
    X, y = imbalanced
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense, thin = (
        AUCClassifier(loss=loss, solver="newton", tol=1e-8).fit(rows, y)
        for rows in (X, sparse.csr_array(X))
    )
    assert thin.n_iter_ <= dense.n_iter_ + 2
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=2e-3 if loss == "hinge" else 1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "square", "exponential"])
@pytest.mark.parametrize(("offset", "scale"), [(1e7, 1.0), (1.6e9, 1e3), (1.6e9, 1.0)])
def test_sparse_columns_far_from_zero_cost_no_steps(loss, offset, scale):
    """Seconds since 1970 among one-hot columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 20)) * (rng.random((3000, 20)) < 0.1)
    z = rng.standard_normal(3000)
    y = z + X[:, 1] + rng.standard_normal(3000) > 1
    X[:, 0] = offset + scale * z
    fit = minimise(as_matrix(sparse.csr_array(X)), Rows.uncut(y), loss, AUCClassifier().alpha)
    assert fit.distance - fit.rounding <= 1e-6
    assert fit.rounding <= 1e-6  # of sums of 1.6e9
    assert fit.n_iter <= 15


def test_a_wide_range_of_scores_does_not_fill_the_memory():
    rng = np.random.default_rng(0)
    n_rows, n_columns, a_row = 20_000, 300, 5
    columns = rng.integers(0, n_columns, n_rows * a_row)
    values = np.exp(2 * rng.standard_normal(n_rows * a_row))
    X = sparse.csr_matrix(
        (values, (np.repeat(np.arange(n_rows), a_row), columns)), shape=(n_rows, n_columns)
    )
    signal = X.log1p() @ rng.standard_normal(n_columns)
    y = signal + rng.standard_normal(n_rows) > 2
    AUCClassifier().fit(X[:500], y[:500])  # compile first
    tracemalloc.start()
    model = AUCClassifier().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.dual_gap_ <= model.tol
    assert peak < 2 * HESSIAN_BYTES


ODD = {
    "constant column": lambda X, y: np.column_stack([X, np.full(len(y), 5.0)]),
    "duplicated columns": lambda X, y: np.column_stack([X, X]),
    "separable": lambda X, y: np.column_stack([X, 10.0 * y]),
    "all zero": lambda X, y: 0 * X,
    "scale 1e150": lambda X, y: 1e150 * X,
    "scale 1e200": lambda X, y: 1e200 * X,
    "scale 1e-200": lambda X, y: 1e-200 * X,
    "scales mixed": lambda X, y: X * 10.0 ** np.array([150, 0, -150, -300, 8, -8]),
    "offset 1e6": lambda X, y: X + 1e6,
    "one outlier": lambda X, y: np.where(np.arange(X.size).reshape(X.shape) == 1, 1e9, X),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("solver", "alpha"), [("auto", 1e-3), ("auto", 1e-12), ("newton-cg", 1e-12)]
)
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_a_finite_model_or_a_clear_error_in_seconds(
    imbalanced, name, loss, alpha, solver
):
    X, y = imbalanced
    X = ODD[name](X, y)
    began = time.process_time()
    model = AUCClassifier(loss=loss, alpha=alpha, solver=solver)
    if name == "scale 1e200":
        with pytest.raises(ValueError, match="too large for float64"):
            model.fit(X, y)
    else:
        model.fit(X, y)
        for values in (model.coef_, model.intercept_, model.decision_function(X)):
            assert np.all(np.isfinite(values))
        assert np.isfinite(model.objective_)
        assert getattr(model, "dual_gap_", 0) >= -1e-12
    assert time.process_time() - began < 20


def test_separable_data_are_ranked_perfectly(imbalanced):
    X, y = imbalanced
    model = AUCClassifier(alpha=1e-6).fit(np.column_stack([X, y]), y)
    assert model.train_score_ == 1.0
    np.testing.assert_array_equal(model.predict(np.column_stack([X, y])), y)


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
@pytest.mark.parametrize("outlier", [1e5, 1e6, 1e9])
def test_one_outlier_does_not_keep_the_fit_from_its_minimum(imbalanced, outlier, solver):
    X, y = imbalanced
    X = X.copy()
    X[0, 1] = outlier
    model = AUCClassifier(solver=solver).fit(X, y)
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_tiny_features_still_give_a_ranking(imbalanced, loss):
    X, y = imbalanced
    assert AUCClassifier(loss=loss).fit(1e-7 * X, y).train_score_ > 0.7


def test_huge_weights_do_not_move_the_threshold(imbalanced):
    X, y = imbalanced
    plain = AUCClassifier().fit(X, y, sample_weight=np.full(y.size, 1.0))
    huge = AUCClassifier().fit(X, y, sample_weight=np.full(y.size, 1e308))
    np.testing.assert_allclose(huge.intercept_, plain.intercept_, rtol=1e-9)


def test_warm_start_from_far_away_still_certifies(imbalanced):
    X, y = imbalanced
    model = AUCClassifier(warm_start=True, loss="square").fit(X, y)
    expected = model.coef_.copy()
    model.coef_ = np.full_like(model.coef_, 1e13)
    np.testing.assert_allclose(model.fit(X, y).coef_, expected, atol=1e-9)


def test_outermost_thresholds_survive_new_rounding():
    rng = np.random.default_rng(0)
    for _ in range(15):
        X = rng.standard_normal((30, 5))
        y = rng.random(30) < 0.4
        y[:2] = True, False
        everyone = AUCClassifier(threshold={"recall": 1.0}).fit(X, y)
        nobody = AUCClassifier(threshold={"fpr": 0.0}).fit(X, y)
        for rows in (slice(None), slice(0, 7), [3]):
            assert np.all(everyone.predict(X[rows])[y[rows]])
            assert not np.any(nobody.predict(X[rows])[~y[rows]])


def test_a_wrong_threshold_is_refused_before_anything_is_fitted(imbalanced):
    model = AUCClassifier(threshold={"fpr": 2.0})
    with pytest.raises(ValueError, match="is not a rule"):
        model.fit(*imbalanced)
    assert not hasattr(model, "objective_")


def test_fits_in_several_threads_leave_blas_as_it_was(imbalanced):
    X, y = imbalanced
    before = available_threads()
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(AUCClassifier(loss="squared_hinge").fit, X, y) for _ in range(24)]
        coefs = [fit.result().coef_ for fit in fits]
    assert available_threads() == before
    for coef in coefs:
        np.testing.assert_allclose(coef, coefs[0], atol=1e-8)


def test_threshold_sets_the_intercept(imbalanced):
    X, y = imbalanced
    at_5_percent = AUCClassifier(threshold={"fpr": 0.05}).fit(X, y)
    assert np.mean(at_5_percent.predict(X)[~y]) <= 0.05
    assert AUCClassifier(threshold=0.25).fit(X, y).intercept_[0] == -0.25
    everyone = AUCClassifier(threshold={"recall": 1.0}).fit(X, y)
    assert np.all(everyone.predict(X)[y])


def test_lives_with_scikit_learn(imbalanced):
    X, y = imbalanced
    search = GridSearchCV(
        make_pipeline(StandardScaler(), AUCClassifier()),
        {"aucclassifier__alpha": [1e-4, 1e-2, 1.0]},
        scoring="roc_auc",
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.7
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(copy.predict(X), search.predict(X))
    assert clone(AUCClassifier(alpha=2.0)).alpha == 2.0
    calibrated = CalibratedClassifierCV(AUCClassifier(), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (400, 2)


def test_sample_weight_is_routed(imbalanced):
    X, y = imbalanced
    with sklearn.config_context(enable_metadata_routing=True):
        model = AUCClassifier().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        weight = np.where(X[:, 0] > 0, 1.0, 1e-9)  # as if half of the rows were not there
        routed = cross_validate(
            model, X, y, cv=3, params={"sample_weight": weight}, return_estimator=True
        )
    plain = cross_validate(AUCClassifier(), X, y, cv=3, return_estimator=True)
    for one, other in zip(routed["estimator"], plain["estimator"], strict=True):
        assert np.max(np.abs(one.coef_ - other.coef_)) > 0.1


def test_verbose_prints_a_line_a_step(imbalanced, capsys):
    X, y = imbalanced
    model = AUCClassifier(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("[everypair] step 1: objective")
