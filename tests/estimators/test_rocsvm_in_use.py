"""ROCSVM on odd data, with bad input, refitted, stored and loaded."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from everypair import ROCSVM
from lab.data.simulate import weston_toy

ODD = {
    "all zero": (np.zeros_like, {}),
    "duplicated rows": (lambda X: np.repeat(X[::4], 4, axis=0), {}),
    "all equal": (np.ones_like, {}),
    "one column": (lambda X: X[:, :1], {}),
    "tiny gamma": (lambda X: X, {"gamma": 1e-12}),
    "huge gamma": (lambda X: X, {"gamma": 1e12}),
    "poly of degree 5": (lambda X: X, {"kernel": "poly", "degree": 5, "coef0": 1.0}),
    "singular": (lambda X: X, {"kernel": "poly", "degree": 2, "gamma": 1.0}),
    "tiny C": (lambda X: X, {"C": 1e-12}),
    "huge C": (lambda X: X, {"C": 1e9, "max_iter": 20}),
    "offset 1e6": (lambda X: X + 1e6, {}),
    "scale 1e-150": (lambda X: 1e-150 * X, {}),
    "linear, scale 1e100": (lambda X: 1e100 * X, {"kernel": "linear"}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("pairs", ["all", "neighbors"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_a_finite_model_in_seconds(imbalanced, name, pairs):
    X, y = imbalanced
    change, settings = ODD[name]
    X = change(X)
    began = time.process_time()
    model = ROCSVM(**{"C": 1e-3, "pairs": pairs, "max_iter": 100, **settings}).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.isfinite(model.objective_)
    assert model.dual_gap_ >= -1e-9
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(400)}, "only one class"),
        ({"y": np.arange(400) % 3}, "OneVsRestClassifier"),
        ({"X": np.full((400, 6), np.nan)}, "NaN"),
        ({"w": "zero positives"}, "every positive row is zero"),
        ({"C": 0.0}, "'C' parameter"),
        ({"margin": 0.0}, "'margin' parameter"),
        ({"kernel": "nonsense"}, "'kernel' parameter.*nonsense"),
        ({"kernel": "precomputed"}, r"square matrix, but X has shape \(400, 6\)"),
        ({"kernel": "sigmoid", "coef0": -5.0, "gamma": 1.0}, "not positive semi-definite"),
        ({"kernel": "poly", "gamma": 1e200, "degree": 3}, "NaN or infinite values"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"pairs": "some"}, "'pairs' parameter.*some"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"max_rank": 0}, "'max_rank' parameter"),
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
        ROCSVM(**change).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("pairs", ["all", "neighbors"])
def test_weights_beyond_float64_are_named(imbalanced, size, pairs):
    X, y = imbalanced
    with pytest.raises(ValueError, match="leaves the range of float64: rescale sample_weight"):
        ROCSVM(pairs=pairs).fit(X, y, sample_weight=np.full(y.size, size))


def test_a_kernel_matrix_that_is_not_symmetric_gets_no_certificate(imbalanced):
    X, y = imbalanced
    K = X @ X.T + 10 * np.eye(y.size)
    K[5, 2] += 1.0
    with pytest.raises(ValueError, match=r"not symmetric: entry \(2, 5\)"):
        ROCSVM(kernel="precomputed").fit(K, y)


def test_kernel_gap_is_of_the_fit_whatever_is_set_after_it(imbalanced):
    X, y = imbalanced
    model = ROCSVM(C=1e-3).fit(X, y)
    gap, scores = model.kernel_gap(X, y), model.decision_function(X)
    model.set_params(C=5.0, margin=3.0, kernel="linear", pairs="neighbors")
    assert model.kernel_gap(X, y) == gap
    np.testing.assert_array_equal(model.decision_function(X), scores)
    for labels in (y[:30], np.where(y, "a", "b"), y.reshape(-1, 1)):
        with pytest.raises(ValueError, match="give the data of the fit"):
            model.kernel_gap(X, labels)


def test_three_classes_work_through_one_vs_rest(imbalanced):
    X, _ = imbalanced
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert OneVsRestClassifier(ROCSVM(C=1e-3)).fit(X, y).score(X, y) > 0.8


def test_refitting_with_another_kernel_leaves_nothing_stale(imbalanced):
    X, y = imbalanced
    model = ROCSVM(C=1e-3).fit(X, y)
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "support_")
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")


def test_every_pair_beats_neighbours_on_the_papers_problem():
    train, labels = weston_toy(200, random_state=0)
    test, truth = weston_toy(2000, random_state=1)
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    scores = {}
    for pairs in ("all", "neighbors"):
        model = ROCSVM(C=1000 / 1e4, gamma=1 / 18, pairs=pairs)
        model.fit((train - mean) / deviation, labels)
        scores[pairs] = roc_auc_score(truth, model.decision_function((test - mean) / deviation))
    assert scores["all"] > 0.9
    assert scores["all"] > scores["neighbors"] - 0.005
