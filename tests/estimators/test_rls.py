"""AUCRLS: one model whatever the form, the format of X, the chunks and the machine."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from everypair import AUCRLS, AUCClassifier


def data(n=200, p=8, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + offset
    y = X[:, 0] - X[:, 1] + rng.standard_normal(n) > 1
    return X, y.astype(int), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_primal_equals_dual(weighted, offset):
    X, y, weight = data(offset=offset)
    weight = weight if weighted else None
    primal = AUCRLS(alpha=0.002, form="primal").fit(X, y, weight)
    dual = AUCRLS(alpha=0.002, form="dual").fit(X, y, weight)
    np.testing.assert_allclose(dual.coef_, primal.coef_, rtol=1e-8)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(dual.objective_, primal.objective_, rtol=1e-8)
    assert max(dual.dual_gap_, primal.dual_gap_) < 1e-10


def test_auto_takes_the_smaller_system():
    X, y, _ = data(n=60, p=8)
    assert not hasattr(AUCRLS().fit(X, y), "dual_coef_")
    assert hasattr(AUCRLS().fit(X[:8], [0, 1] * 4), "dual_coef_")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_alpha_is_that_of_the_classifier_with_the_square_loss(form, weighted):
    X, y, weight = data()
    weight = weight if weighted else None
    other = AUCClassifier(loss="square", alpha=0.01, tol=1e-14).fit(X, y, weight)
    model = AUCRLS(alpha=0.01, form=form).fit(X, y, weight)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-9)


def test_a_weight_of_two_is_a_row_given_twice():
    X, y, weight = data()
    times = weight.astype(int)
    weighted = AUCRLS(kernel="rbf").fit(X, y, weight)
    repeated = AUCRLS(kernel="rbf").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-9
    )


FORMATS = {
    "F": np.asfortranarray,
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
}


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_any_format_of_X_gives_the_same_model(make, form):
    X, y, weight = data()
    X[abs(X) < 0.3] = 0
    expected = AUCRLS(form=form).fit(X, y, weight)
    model = AUCRLS(form=form).fit(make(X), y, weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(make(X)), expected.decision_function(X), atol=1e-9
    )


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_float32_rows_are_summed_in_float64(make, form):
    X, y, _ = data(offset=30.0)
    X = X.astype(np.float32)
    expected = AUCRLS(form=form).fit(X.astype(np.float64), y)
    rtol = 1e-9 if make is np.asarray else 1e-6
    np.testing.assert_allclose(
        AUCRLS(form=form).fit(make(X), y).coef_, expected.coef_, rtol=rtol, atol=1e-9
    )


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (AUCRLS(kernel="rbf", gamma=0.3), lambda X, Y: rbf_kernel(X, Y, gamma=0.3)),
        (
            AUCRLS(kernel="polynomial", degree=2, gamma=1.0, coef0=1),
            lambda X, Y: (X @ Y.T + 1) ** 2,
        ),
        (AUCRLS(kernel="poly", degree=2, gamma=1.0), lambda X, Y: (X @ Y.T) ** 2),
        (
            AUCRLS(kernel="cosine"),
            lambda X, Y: (X @ Y.T) / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1)),
        ),
        (AUCRLS(kernel=lambda X, Y: (X @ Y.T) ** 2), lambda X, Y: (X @ Y.T) ** 2),
    ],
    ids=["rbf", "polynomial", "poly", "cosine", "callable"],
)
def test_a_named_kernel_equals_its_precomputed_matrix(model, kernel):
    X, y, _ = data(n=80)
    expected = AUCRLS(kernel="precomputed").fit(kernel(X, X), y)
    model = clone(model).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, atol=1e-9)
    new = data(n=20, seed=5)[0]
    np.testing.assert_allclose(
        model.decision_function(new), expected.decision_function(kernel(new, X)), atol=1e-8
    )


def test_a_precomputed_kernel_is_not_written_over():
    X, y, _ = data(n=50)
    K = rbf_kernel(X)
    before = K.copy()
    AUCRLS(kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(K, before)


def test_duplicate_rows_make_a_singular_kernel_that_fits():
    X, y, _ = data(n=40)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    model = AUCRLS(kernel="rbf", alpha=1e-12).fit(X, y)
    assert model.dual_gap_ < 1e-6
    assert np.all(np.isfinite(model.decision_function(X)))


def test_alpha_zero_interpolates_with_the_least_norm():
    X, y, _ = data(n=20, p=50)
    model = AUCRLS(alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), y - 0.5, atol=1e-9)
    smallest = AUCRLS(alpha=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, smallest.coef_, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_in_any_order_give_the_model_of_one_fit(weighted):
    X, y, weight = data(offset=20.0)
    weight = weight if weighted else None
    order = np.random.default_rng(1).permutation(len(y))
    streamed = AUCRLS(alpha=3e-4)
    # The first chunk holds one class only.
    first = np.flatnonzero(y == 1)[:5]
    chunks = [first, *np.array_split(np.setdiff1d(order, first, assume_unique=True), 7)]
    for rows in chunks:
        part = None if weight is None else weight[rows]
        streamed.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=part)
    whole = AUCRLS(alpha=3e-4).fit(X, y, weight)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(streamed.intercept_, whole.intercept_, rtol=1e-9)
    np.testing.assert_allclose(streamed.objective_, whole.objective_, rtol=1e-9)


def test_partial_fit_goes_on_from_fit_and_fit_starts_anew():
    X, y, _ = data()
    whole = AUCRLS().fit(X, y)
    model = AUCRLS().fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_array_equal(model.fit(X, y).coef_, whole.coef_)


def test_one_class_so_far_scores_zero():
    X, y, _ = data()
    model = AUCRLS().partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    assert not model.coef_.any()
    assert model.objective_ == 0
    assert not model.decision_function(X).any()


def test_state_does_not_grow_with_the_rows():
    X, y, _ = data(n=2000)
    model = AUCRLS().partial_fit(X[:100], y[:100])
    small = len(pickle.dumps(model))
    for _ in range(3):
        model.partial_fit(X, y)
    assert len(pickle.dumps(model)) < 1.1 * small


@pytest.mark.parametrize("threshold", ["midpoint", 0.5])
def test_merged_models_are_the_model_of_all_rows(threshold):
    X, y, weight = data()
    X = pd.DataFrame(X, columns=list("abcdefgh"))
    parts = [slice(0, 70), slice(70, 200)]
    left, right = (
        AUCRLS(alpha=2e-4, threshold=threshold).fit(X[part], y[part], weight[part])
        for part in parts
    )
    merged = left.merge(right)
    whole = AUCRLS(alpha=2e-4, threshold=threshold).fit(X, y, weight)
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(merged.intercept_, whole.intercept_, rtol=1e-9)
    assert list(merged.feature_names_in_) == list("abcdefgh")
    assert merged is not left


def test_what_cannot_be_merged_says_why():
    X, y, _ = data()
    model = AUCRLS().fit(X, y)
    with pytest.raises(ValueError, match="8 and 3 features"):
        model.merge(AUCRLS().fit(X[:, :3], y))
    with pytest.raises(ValueError, match="different labels"):
        model.merge(AUCRLS().fit(X, np.where(y == 1, "yes", "no")))
    with pytest.raises(ValueError, match="dual form"):
        model.merge(AUCRLS(form="dual").fit(X, y))
    with pytest.raises(NotFittedError):
        model.merge(AUCRLS())
    assert not hasattr(AUCRLS(form="dual"), "merge")


def test_models_of_other_columns_or_kinds_are_not_merged():
    X, y, _ = data()
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("abcdefgh", "abcdefhg")]
    left, right = (AUCRLS().fit(frame, y) for frame in frames)
    with pytest.raises(ValueError, match="different feature names"):
        left.merge(right)
    assert list(AUCRLS().fit(X, y).merge(AUCRLS().fit(X, y)).coef_.shape) == [1, 8]
    with pytest.raises(TypeError, match="AUCClassifier cannot be merged"):
        left.merge(AUCClassifier().fit(frames[0], y))


@pytest.mark.parametrize(("gamma", "same"), [("scale", 1 / 8), ("auto", 1 / 8)])
def test_gamma_has_the_rules_of_the_other_kernels(gamma, same):
    X, y, _ = data(n=60)
    X /= X.std()
    expected = AUCRLS(kernel="rbf", gamma=same).fit(X, y)
    np.testing.assert_allclose(
        AUCRLS(kernel="rbf", gamma=gamma).fit(X, y).decision_function(X),
        expected.decision_function(X),
        atol=1e-9,
    )


@pytest.mark.parametrize("change", [{"gamma": 9.0}, {"kernel": "precomputed"}, {"degree": 5}])
def test_parameters_set_after_fit_do_not_change_predictions(change):
    X, y, _ = data(n=60)
    model = AUCRLS(kernel="poly", gamma=0.1).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(**change).decision_function(X), before)


def test_midpoint_is_halfway_between_the_class_means():
    X, y, weight = data()
    for form in ("primal", "dual"):
        model = AUCRLS(form=form).fit(X, y, weight)
        scores = model.decision_function(X)
        high, low = (np.average(scores[y == c], weights=weight[y == c]) for c in (1, 0))
        np.testing.assert_allclose(high + low, 0, atol=1e-9)


def test_threshold_rules_agree_between_the_forms():
    X, y, weight = data()
    primal = AUCRLS(threshold={"fpr": 0.1}).fit(X, y, weight)
    dual = AUCRLS(threshold={"fpr": 0.1}, form="dual").fit(X, y, weight)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-9)
    negatives = (y == 0) & (weight > 0)
    share = weight[negatives] @ primal.predict(X[negatives]) / weight[negatives].sum()
    assert 0 < share <= 0.2  # 0.1 is of rows that were held out


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (AUCRLS(), lambda X, y: (X, np.ones_like(y)), "only one class"),
        (AUCRLS(), lambda X, y: (np.where(X > 3, np.nan, X), y), "NaN"),
        (AUCRLS(), lambda X, y: (np.where(X > 2, np.inf, X), y), "infinity"),
        (AUCRLS(), lambda X, y: (X * 1e200, y), "too large for float64"),
        (AUCRLS(kernel="rbf"), lambda X, y: (np.where(X > 2, np.nan, X), y), "NaN"),
        (AUCRLS(kernel="rbf", form="primal"), lambda X, y: (X, y), "form='primal'"),
        (AUCRLS(kernel="precomputed"), lambda X, y: (X, y), "square kernel matrix"),
        (AUCRLS(kernel="poly", degree=400, gamma=1), lambda X, y: (100 * X, y), "NaN or infinite"),
        (AUCRLS(alpha=-1.0), lambda X, y: (X, y), "alpha"),
    ],
)
def test_what_is_wrong_is_said(model, change, message):
    X, y, _ = data()
    X[0, 0] = 5.0
    with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
        model.fit(*change(X, y))


def test_weights_of_one_class_only_are_refused():
    X, y, _ = data()
    for form in ("primal", "dual"):
        with pytest.raises(ValueError, match="every positive row is zero"):
            AUCRLS(form=form).fit(X, y, (y == 0).astype(float))


def test_a_stream_checks_its_labels():
    X, y, _ = data()
    with pytest.raises(ValueError, match="Give both labels as classes="):
        AUCRLS().partial_fit(X[y == 0], y[y == 0])
    model = AUCRLS().partial_fit(X, y)
    with pytest.raises(ValueError, match="label 7"):
        model.partial_fit(X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="dual form"):
        AUCRLS().fit(X[:8], [0, 1] * 4).partial_fit(X, y)
    with pytest.raises(AttributeError):
        AUCRLS(threshold="f1").partial_fit(X, y)


@pytest.mark.parametrize(
    ("model", "reason"),
    [(AUCRLS(kernel="rbf"), "kernel='rbf'"), (AUCRLS(form="dual"), "form='dual'")],
)
def test_what_cannot_stream_says_why(model, reason):
    X, y, _ = data()
    with pytest.raises(AttributeError) as error:
        model.partial_fit(X, y)
    assert reason in str(error.value.__cause__)


def test_a_kernel_known_to_nine_digits_and_no_penalty_warn():
    X, y, _ = data(n=30)
    noise = np.random.default_rng(0).standard_normal((30, 30))
    K = rbf_kernel(X, gamma=1e-5) + 1e-9 * (noise + noise.T)  # some eigenvalues are negative
    with pytest.warns(ConvergenceWarning, match="raise alpha"):
        AUCRLS(kernel="precomputed", alpha=1e-302).fit(K, y)


def test_primal_fit_does_not_copy_X():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 20))
    y = X[:, 0] > 1
    AUCRLS().fit(X[:100], y[:100])
    tracemalloc.start()
    AUCRLS().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * X.nbytes


def test_sparse_dual_does_not_densify_X():
    X = sparse.random_array((60, 200_000), density=1e-4, format="csr", random_state=0)
    y = np.arange(60) % 2
    tracemalloc.start()
    model = AUCRLS().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert hasattr(model, "dual_coef_")
    assert peak < 0.2 * 60 * 200_000 * 8


def test_grid_search_and_pickle():
    X, y, _ = data()
    search = GridSearchCV(AUCRLS(kernel="rbf"), {"alpha": [1e-6, 1e-4, 1e-2]}, scoring="roc_auc")
    search.fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))
