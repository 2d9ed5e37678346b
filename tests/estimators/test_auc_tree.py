"""`AUCTree` beside its definition: every split is the one that an enumeration finds."""

import numpy as np
import pytest
from contract import scikit_learn_contract
from sklearn.metrics import roc_auc_score

from everypair import AUCTree


@scikit_learn_contract(AUCTree())
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def best_distance(X, y, least):
    """|p - q| of the best cut of any column, missing values on either side, by enumeration."""
    best = 0.0
    for x in X.T:
        for cut in np.unique(x[~np.isnan(x)]):
            for missing_left in (False, True):
                left = np.where(np.isnan(x), missing_left, x <= cut)
                if min(left.sum(), (~left).sum()) >= least:
                    best = max(best, abs(left[y == 1].mean() - left[y == 0].mean()))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_every_split_is_the_best_one_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((80, 3)), 1)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.standard_normal(80) > 0.5).astype(int)
    model = AUCTree(min_samples_leaf=4, max_depth=3).fit(X, y)
    tree = model.tree_
    rows_of = {0: np.arange(80)}
    for node in range(tree.feature.size):
        rows = rows_of[node]
        n_positive, n_negative = (y[rows] == 1).sum(), (y[rows] == 0).sum()
        assert tree.positives[node] == n_positive
        if tree.feature[node] < 0:
            continue
        x = X[rows, tree.feature[node]]
        left = np.where(np.isnan(x), tree.missing_left[node], x <= tree.cut[node])
        rows_of[tree.left[node]], rows_of[tree.right[node]] = rows[left], rows[~left]
        pairs = n_positive * n_negative / ((y == 1).sum() * (y == 0).sum())
        expected = pairs * best_distance(X[rows], y[rows], 4) / 2
        assert tree.gain[node] == pytest.approx(expected, abs=1e-12)


def test_two_leaves_have_the_auc_of_their_gain():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, 1] + rng.standard_normal(200) > 1
    model = AUCTree(max_depth=1).fit(X, y)
    assert model.n_leaves_ == 2
    assert model.train_score_ == pytest.approx(0.5 + model.tree_.gain.sum(), abs=1e-12)
    assert model.train_score_ == pytest.approx(roc_auc_score(y, model.decision_function(X)))


def test_a_set_of_categories_is_the_best_of_all_sets():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 5, 300).astype(float)
    codes[:20] = np.nan
    y = (
        rng.random(300)
        < np.array([0.1, 0.6, 0.2, 0.7, 0.3, 0.5])[np.nan_to_num(codes, nan=5).astype(int)]
    )
    model = AUCTree(max_depth=1, categorical_features=[0], min_samples_leaf=1).fit(
        codes[:, None], y
    )
    level = np.nan_to_num(codes, nan=5).astype(int)
    best = 0.0
    for chosen in range(1, 63):
        left = (chosen >> level) & 1 == 1
        if 0 < left.sum() < 300:
            best = max(best, abs(left[y].mean() - left[~y].mean()))
    assert model.tree_.gain[0] == pytest.approx(best / 2, abs=1e-12)
    assert np.isfinite(model.decision_function([[17.0], [np.nan], [2.0]])).all()


def test_pruning_cuts_the_weakest_branch_first_and_ends_at_the_root():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(300) > 0.5
    alphas, gains = AUCTree().cost_complexity_pruning_path(X, y)
    assert np.all(np.diff(alphas) > 0)
    assert np.all(np.diff(gains) < 0)
    leaves = [AUCTree(ccp_alpha=alpha).fit(X, y).n_leaves_ for alpha in alphas]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1
    # No subtree with fewer leaves loses less per leaf than alpha: the definition of the path.
    for alpha, n_leaves, gain in zip(alphas, leaves, gains, strict=True):
        values = gains - alpha * np.array(leaves)
        assert gain - alpha * n_leaves == pytest.approx(values.max(), abs=1e-12)


def test_weights_equal_repeated_rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] + rng.standard_normal(120) > 0
    weight = rng.integers(0, 4, 120)
    again = np.repeat(np.arange(120), weight)
    weighted = AUCTree(threshold=0.0).fit(X, y, sample_weight=weight)
    repeated = AUCTree(threshold=0.0).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))


@pytest.mark.parametrize(
    ("options", "X", "words"),
    [
        (
            {"categorical_features": [0]},
            [[0.5], [1.0]],
            "Column 0 is categorical but has the value 0.5",
        ),
        ({"categorical_features": [3]}, [[0.0], [1.0]], "column number outside 0 to 0"),
        ({"categorical_features": ["a"]}, [[0.0], [1.0]], "names 'a', which is not a column"),
        ({}, [[np.inf], [1.0]], "contains infinity"),
    ],
)
def test_input_that_makes_no_sense_is_refused(options, X, words):
    with pytest.raises(ValueError, match=words):
        AUCTree(**options).fit(X, [0, 1])
