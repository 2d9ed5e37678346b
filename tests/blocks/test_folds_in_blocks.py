"""Cross-validation over rows in blocks: the folds, and the answers, are those of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from everypair import AUCRLS, AUCClassifier, AUCClassifierCV, RankOpt, RankOptCV
from everypair.blocks import ArrayRows
from everypair.linalg.block_folds import HashedFolds, StratifiedFolds


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 6))
    y = X @ [1, 0.5, 0, 0, -0.5, 0.2] + rng.logistic(size=1500) > 1.5
    return X, y.astype(int), rng.integers(0, 3, 1500).astype(float)


def numbers(folds, engine):
    vector = engine.zeros.each(lambda shard, zeros: folds.of(shard))
    return vector.gather()


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_stratified_folds_are_those_of_scikit_learn(n_folds, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(rng.integers(20, 90)) < rng.uniform(0.2, 0.8)
    y[:n_folds], y[-n_folds:] = seed % 2 == 0, seed % 2 == 1
    X = np.zeros((y.size, 1))
    engine, _ = ArrayRows(X, y, block_rows=int(rng.integers(3, 30))).engine("it")
    found = numbers(StratifiedFolds.over(engine, n_folds), engine)
    for k, (_, test) in enumerate(StratifiedKFold(n_folds).split(X, y)):
        np.testing.assert_array_equal(np.flatnonzero(found == k), test)


def test_hashed_folds_depend_on_the_row_and_not_on_the_blocks():
    y = np.arange(3000) % 2
    found = []
    for block_rows in (3000, 170):
        engine, _ = ArrayRows(np.zeros((3000, 1)), y, block_rows=block_rows).engine("it")
        found.append(numbers(HashedFolds(4, seed=1), engine))
    np.testing.assert_array_equal(*found)
    shares = np.bincount(found[0]) / 3000
    assert np.all(np.abs(shares - 1 / 4) < 4 * np.sqrt(3 / 16 / 3000))


@pytest.mark.parametrize(
    ("settings", "weighted"),
    [
        pytest.param({"n_alphas": 6}, False, marks=pytest.mark.slow),
        ({"n_alphas": 6}, True),
        ({"penalty": "l1", "n_alphas": 5, "eps": 0.05}, True),
        ({"loss": "squared_hinge", "n_alphas": 3, "eps": 1e-3}, False),
        pytest.param(
            {"loss": "squared_hinge", "penalty": "l1", "n_alphas": 3, "eps": 0.1},
            True,
            marks=pytest.mark.slow,
        ),
        ({"loss": "exponential", "n_alphas": 3, "eps": 1e-3, "calibration": "sigmoid"}, False),
    ],
)
def test_search_over_blocks_is_that_over_arrays(data, settings, weighted):
    X, y, weight = data
    weight = weight if weighted else None
    wanted = AUCClassifierCV(cv=3, tol=1e-9, **settings).fit(X, y, weight)
    rows = ArrayRows(X, y, weight, block_rows=400)
    found = AUCClassifierCV(cv=3, tol=1e-9, **settings).fit(rows)
    np.testing.assert_allclose(found.cv_fold_scores_, wanted.cv_fold_scores_, atol=1e-12)
    assert found.alpha_ == pytest.approx(wanted.alpha_, rel=1e-9)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-6, atol=1e-8)
    assert found.intercept_[0] == pytest.approx(wanted.intercept_[0], abs=1e-6)
    assert found.n_passes_ > 0
    if "calibration" in settings:
        np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=1e-6)


def test_folds_share_each_pass_over_the_rows(data):
    X, y, _ = data
    passes, coefs = [], []
    for n_jobs in (1, None):
        model = AUCClassifierCV(cv=4, n_alphas=4, n_jobs=n_jobs)
        model.fit(ArrayRows(X, y, block_rows=500))
        passes.append(model.n_passes_)
        coefs.append(model.coef_)
    np.testing.assert_array_equal(*coefs)
    assert passes[1] < 0.5 * passes[0]


def test_given_folds_are_used(data):
    X, y, _ = data
    split = PredefinedSplit(np.random.default_rng(0).integers(-1, 3, y.size))
    wanted = AUCClassifierCV(cv=split, n_alphas=3).fit(X, y)
    found = AUCClassifierCV(cv=split, n_alphas=3).fit(ArrayRows(X, y, block_rows=700))
    np.testing.assert_allclose(found.cv_fold_scores_, wanted.cv_fold_scores_, atol=1e-12)
    with pytest.raises(ValueError, match="has a fold for 1500 rows, but there are 1400"):
        AUCClassifierCV(cv=split).fit(ArrayRows(X[:1400], y[:1400]))
    with pytest.raises(ValueError, match="needs arrays: for rows in blocks give a number of folds"):
        AUCClassifierCV(cv=StratifiedKFold(3, shuffle=True)).fit(ArrayRows(X, y))


def test_radius_chosen_over_blocks_is_that_over_arrays(data):
    X, y, weight = data
    saturation = (0.1, 0.5, 0.9)
    wanted = RankOptCV(saturation, cv=3).fit(X, y, weight)
    found = RankOptCV(saturation, cv=3).fit(ArrayRows(X, y, weight, block_rows=400))
    np.testing.assert_allclose(found.cv_fold_scores_, wanted.cv_fold_scores_, atol=1e-5)
    assert found.saturation_ == wanted.saturation_
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-3, atol=1e-5)
    assert found.intercept_[0] == pytest.approx(wanted.intercept_[0], abs=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        AUCClassifier(calibration="beta", cv=3, tol=1e-10),
        AUCClassifier(threshold={"recall": 0.8}, cv=4, tol=1e-10),
        AUCClassifier(threshold={"top": 0.1}, cv=5, tol=1e-10),
        AUCClassifier("squared_hinge", calibration="sigmoid", tol=1e-10),
        AUCRLS(calibration="isotonic", cv=3),
        AUCRLS(cv=3),
    ],
)
def test_cut_and_probabilities_from_folds_of_blocks_are_those_of_arrays(data, model, weighted):
    from sklearn.base import clone

    X, y, weight = data
    weight = weight if weighted else None
    wanted = clone(model).fit(X, y, weight)
    found = clone(model).fit(ArrayRows(X, y, weight, block_rows=333))
    # Folds of arrays start from the solution on all rows: the same minimum to tol.
    assert found.intercept_[0] == pytest.approx(wanted.intercept_[0], abs=3e-6)
    if model.calibration is not None:
        np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=3e-6)


def test_guarantee_over_blocks_is_that_over_arrays(data):
    X, y, _ = data
    rule = {"recall": 0.7, "guarantee": 0.9}
    wanted = AUCClassifier(threshold=rule, tol=1e-10).fit(X, y)
    found = AUCClassifier(threshold=rule, tol=1e-10).fit(ArrayRows(X, y, block_rows=400))
    assert found.intercept_[0] == pytest.approx(wanted.intercept_[0], abs=3e-6)


def test_error_in_one_fold_ends_all_and_is_told(data):
    X, y, _ = data
    rows = ArrayRows(X, y, block_rows=400)
    reads = []

    def broken(columns=slice(None)):
        reads.append(1)
        for k, item in enumerate(ArrayRows.rows(rows, columns)):
            if len(reads) > 3 and k == 2:
                raise ValueError("the file is gone")
            yield item

    rows.rows = broken
    with pytest.raises(ValueError, match="the file is gone"):
        AUCClassifierCV(cv=3, n_alphas=4).fit(rows)


def test_few_rows_of_a_class_are_refused(data):
    X, y, _ = data
    few = np.flatnonzero(y == 1)[:2].tolist() + np.flatnonzero(y == 0).tolist()
    with pytest.raises(ValueError, match="The rarer class has 2 rows, and cv=5 folds need one"):
        AUCClassifierCV().fit(ArrayRows(X[few], y[few]))


def test_rankopt_over_blocks_takes_a_calibration(data):
    X, y, _ = data
    wanted = RankOpt(saturation=0.5, calibration="sigmoid").fit(X, y)
    found = RankOpt(saturation=0.5, calibration="sigmoid").fit(ArrayRows(X, y, block_rows=400))
    np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=1e-3)
