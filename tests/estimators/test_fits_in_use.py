"""What every estimator promises around a fit: whole or not at all, checked first, any form of X."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from everypair import (
    AUCRLS,
    AUCRLSCV,
    CPAUC,
    ROCSVM,
    AUCClassifier,
    AUCClassifierCV,
    MeasureSVM,
    RankBoost,
    RankOpt,
    RankOptCV,
    TwoNormSVM,
)

ESTIMATORS = [
    AUCClassifier(),
    AUCClassifierCV(n_alphas=3),
    AUCRLS(),
    AUCRLSCV(),
    CPAUC(),
    MeasureSVM(),
    RankBoost(n_estimators=3),
    RankOpt(),
    RankOptCV(cv=2),
    ROCSVM(),
    TwoNormSVM(),
]
NAMES = [type(model).__name__ for model in ESTIMATORS]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(60) > 0).astype(int)


def raising(error):
    def stopped(*args, **options):
        raise error

    return stopped


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("model", ESTIMATORS, ids=NAMES)
def test_a_fit_that_is_interrupted_leaves_the_model_as_it_was(data, model, error, monkeypatch):
    X, y = data
    model = clone(model).fit(X, y)
    before, scores = dict(vars(model)), model.decision_function(X)
    # The last thing that most of them do, and the last pass that the others do.
    monkeypatch.setattr("everypair.pairs.auc", raising(error))
    monkeypatch.setattr(type(model), "_choose_threshold", raising(error))
    monkeypatch.setattr("everypair.estimators.rls.AUCRLS._trusted", raising(error))
    monkeypatch.setattr("everypair.estimators._kernel.KernelRanker._keep_expansion", raising(error))
    monkeypatch.setattr("everypair.estimators._kernel.KernelRanker._keep_linear", raising(error))
    with pytest.raises(error):
        model.fit(np.column_stack([X, X]), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.decision_function(X), scores)


@pytest.mark.parametrize("model", ESTIMATORS, ids=NAMES)
def test_a_threshold_rule_is_refused_before_any_work(data, model, monkeypatch):
    if "threshold" not in model.get_params():
        pytest.skip("cuts by a rule of its own")
    model = clone(model).set_params(threshold={"fpr": 2.0})
    for work in ("_encode_labels", "_validate_fit"):
        monkeypatch.setattr(type(model), work, raising(AssertionError("work was done")))
    with pytest.raises(ValueError, match="fpr"):
        model.fit(*data)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [ROCSVM(), TwoNormSVM()], ids=["ROCSVM", "TwoNormSVM"])
@pytest.mark.parametrize("size", [1e160, 1e-160, 1e300])
def test_a_size_without_a_kernel_width_is_named(data, model, size):
    X, y = data
    with pytest.raises(ValueError, match=r"too (large|small) for float64: gamma='scale'"):
        clone(model).fit(size * X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [AUCRLS(0), AUCRLSCV(), AUCRLSCV(cv=3), AUCRLS(0, form="dual")])
@pytest.mark.parametrize("size", [1e-150, 1e-155, 1e-160, 1e-165, 1e-300])
def test_features_whose_squares_vanish_give_no_nan(data, model, size):
    X, y = data
    refused = ""
    try:
        scores = clone(model).fit(size * X, y).decision_function(size * X)
    except ValueError as error:
        refused = str(error)
    if refused:
        assert "too small for float64: their squares vanish" in refused
    else:
        assert np.all(np.isfinite(scores))


def in_parts(X, form, shuffle):
    """X with every entry held as two halves, in order or not."""
    plain = sparse.csr_matrix(X) if form == "csr" else sparse.csc_matrix(X)
    data, indices = np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2)
    if shuffle:
        for start, stop in zip(2 * plain.indptr[:-1], 2 * plain.indptr[1:], strict=True):
            order = np.random.default_rng(start).permutation(np.arange(start, stop))
            data[start:stop], indices[start:stop] = data[order], indices[order]
    return type(plain)((data, indices, 2 * plain.indptr), shape=X.shape)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    "model",
    [ROCSVM(), TwoNormSVM(), AUCRLS(kernel="rbf"), AUCRLS(), MeasureSVM(kernel="rbf"),
     AUCClassifier(), AUCClassifier("hinge", "l1", alpha=0.01)],
    ids=lambda model: f"{type(model).__name__}-{model.get_params().get('kernel')}",
)  # fmt: skip
def test_entries_held_in_parts_are_added_up_and_X_is_left_alone(data, model, form, shuffle):
    X, y = data
    X = X * (np.random.default_rng(1).random(X.shape) < 0.5)
    parts = in_parts(X, form, shuffle)
    held = parts.data.copy(), parts.indices.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = getattr(sparse, f"{form}_matrix")(X)
        expected = clone(model).fit(plain, y)
        other = clone(model).fit(parts, y)
    np.testing.assert_allclose(
        other.decision_function(parts), expected.decision_function(plain), atol=1e-5
    )
    np.testing.assert_array_equal(parts.data, held[0])
    np.testing.assert_array_equal(parts.indices, held[1])


def test_an_interrupted_chunk_is_not_counted(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = AUCRLS(form="primal").fit(X, y)
    before = model.coef_.copy()

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AUCRLS, "_trusted", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X + 1, y)
    np.testing.assert_array_equal(model.coef_, before)
    once = AUCRLS(form="primal").fit(X, y).partial_fit(X + 1, y)
    np.testing.assert_array_equal(model.partial_fit(X + 1, y).coef_, once.coef_)


def test_a_kernel_without_a_hash_is_taken():
    class Product:
        __hash__ = None

        def __eq__(self, other):
            return self is other

        def __call__(self, X, Z):
            return X @ Z.T

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = AUCRLS(kernel=Product()).fit(X, y)
    expected = AUCRLS(kernel="linear", form="dual").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=1e-8)


def test_the_gap_is_a_number_where_the_dual_point_vanishes():
    rng = np.random.default_rng(0)
    X, y = 1e100 * rng.normal(size=(40, 3)), np.arange(40) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUCClassifier(penalty="l1", alpha=1e-300).fit(X, y)
    assert not np.isnan(model.dual_gap_)
