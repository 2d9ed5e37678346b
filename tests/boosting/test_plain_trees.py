"""Trees as plain arrays score as their library does, and broken ones are refused."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

from everypair.boosting import AUCBoostingClassifier
from everypair.boosting.plain_trees import NotPlain, PlainTrees


def table(n=1500, missing=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 4] = rng.integers(0, 3, n)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.logistic(size=n) > 2
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y.astype(int)


@pytest.fixture(params=["lightgbm", "xgboost"])
def library(request):
    return request.param


def grown(library, X, y, **settings):
    known = {"max_rounds": 30, "patience": None, "random_state": 0, "threshold": 0.0}
    return AUCBoostingClassifier(library, **{**known, **settings}).fit(X, y)


@pytest.mark.parametrize("missing", [False, True])
def test_scores_are_those_of_the_library_to_the_last_bit(library, missing):
    X, y = table(missing=missing)
    model = grown(library, X, y)
    plain = model.without_library()
    assert isinstance(plain.booster_, PlainTrees)
    assert plain.booster_.holds
    new = 2 * table(3000, missing=True, seed=1)[0]
    np.testing.assert_array_equal(plain.decision_function(new), model.decision_function(new))
    # Rows on either side of every cut, and on it.
    trees = plain.booster_
    inner = np.flatnonzero(trees.feature >= 0)
    for step in (-np.inf, 0, np.inf):
        rows = np.tile(np.nan_to_num(X[:1]), (inner.size, 1)).astype(np.float64)
        cut = trees.cut[inner]
        if library == "xgboost":
            cut = cut.astype(np.float32)
        rows[np.arange(inner.size), trees.feature[inner]] = (
            cut if step == 0 else np.nextafter(cut, cut.dtype.type(step))
        )
        np.testing.assert_array_equal(plain.decision_function(rows), model.decision_function(rows))


def test_gaps_of_a_sparse_matrix_mean_what_they_mean_to_the_library(library):
    X, y = table()
    X = sparse.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    model = grown(library, X, y)
    plain = model.without_library()
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


def test_what_is_more_than_cuts_of_numbers_is_refused(library):
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["e"] = pd.Categorical(np.array(["u", "v", "w"])[X[:, 4].astype(int)])
    y = y | (frame["e"] == "v").to_numpy()
    model = grown(library, frame, y)
    with pytest.raises(NotPlain, match="splits by categories"):
        model.without_library()
    other = {"linear_tree": True} if library == "lightgbm" else {"booster": "dart"}
    with pytest.raises(NotPlain, match=r"leaves are linear|dart, not gbtree"):
        grown(library, X, y, params=other).without_library()


BREAKS = {
    "a child before its parent": ("left", 0),
    "a child beyond its tree": ("right", 10**6),
    "a feature that there is not": ("feature", 5),
    "a leaf of no number": ("value", np.nan),
    "a cut of no number": ("cut", np.nan),
    "a tree of no nodes": ("sizes", 0),
}


@pytest.mark.parametrize("what", BREAKS)
def test_broken_trees_do_not_hold(what):
    X, y = table()
    trees = grown("lightgbm", X, y, max_rounds=3).without_library().booster_
    name, value = BREAKS[what]
    changed = getattr(trees, name).copy()
    changed[0] = value
    assert trees.holds
    assert not replace(trees, **{name: changed}).holds
    assert not replace(trees, cut=trees.cut.astype(np.float32)).holds
    assert not replace(trees, left=trees.left[:-1]).holds
    assert not replace(trees, base=np.inf).holds


@pytest.mark.slow  # `test_prediction_is_light` has a model of LightGBM among the others
def test_prediction_loads_neither_the_library_nor_compiled_code(library, tmp_path):
    X, y = table()
    model = grown(library, X, y).without_library()
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps((model, X[:50], model.decision_function(X[:50]))))
    code = (
        "import pickle, sys, numpy as np\n"
        f"model, X, wanted = pickle.loads(open({str(path)!r}, 'rb').read())\n"
        "assert np.array_equal(model.decision_function(X), wanted)\n"
        "print({'numba', 'lightgbm', 'xgboost', 'matplotlib'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "set()", done.stderr


def test_without_patience_all_rounds_are_grown_and_folds_serve_the_cut_alone(library):
    X, y = table()
    model = grown(library, X, y, max_rounds=12, threshold="balanced")
    assert model.n_rounds_ == 12
    assert not hasattr(model, "cv_scores_")
    searched = AUCBoostingClassifier(library, max_rounds=20, cv=2, random_state=0).fit(X, y)
    again = grown(library, X, y, max_rounds=searched.n_rounds_)
    np.testing.assert_allclose(
        again.decision_function(X) - again.decision_function(X)[0],
        searched.decision_function(X) - searched.decision_function(X)[0], atol=1e-6,
    )  # fmt: skip
    calibrated = grown(library, X, y, calibration="sigmoid", threshold="balanced")
    assert abs(calibrated.predict_proba(X)[:, 1].mean() - y.mean()) < 0.05


@pytest.mark.parametrize("n_rounds", [1, 7])
def test_plain_trees_are_those_of_the_rounds_of_the_model(library, n_rounds):
    X, y = table()
    model = grown(library, X, y)
    model.n_rounds_ = n_rounds
    plain = model.without_library()
    assert plain.booster_.sizes.size == n_rounds
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))


def test_a_column_of_categories_that_no_tree_splits_by_is_refused(library):
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    assert grown(library, frame, y).without_library().booster_.holds
    frame["e"] = pd.Categorical(["u"] * len(y))
    with pytest.raises(NotPlain, match="trained on columns of categories"):
        grown(library, frame, y).without_library()
