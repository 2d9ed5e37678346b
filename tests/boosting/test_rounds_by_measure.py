"""The measure by which `AUCBoostingClassifier` chooses its rounds."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

from everypair.boosting import AUCBoostingClassifier
from everypair.boosting.libraries import LIBRARIES, Watch
from everypair.boosting.rounds import best_round
from everypair.metrics import auc_score, precision_at_k


@pytest.fixture(params=["lightgbm", "xgboost"])
def library(request):
    return request.param


def table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n)
    return X, (signal > np.quantile(signal, 0.8)).astype(int)


def halves(n):
    rows = np.random.default_rng(1).permutation(n)
    return [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]


def best_f1(y, scores, weight):
    precision, recall, _ = precision_recall_curve(y, scores, sample_weight=weight)
    return np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))


def curve(y, scores, weight):
    return roc_curve(y, scores, sample_weight=weight, drop_intermediate=False)[:2]


def mean_recall_to_tenth(y, scores, weight):
    """Over false positive rates of 0 to 0.1."""
    f, t = curve(y, scores, weight)
    inside = f <= 0.1
    f, t = np.append(f[inside], 0.1), np.append(t[inside], np.interp(0.1, f, t))
    return np.trapezoid(t, f) / 0.1


def rate_at_recall(y, scores, weight):
    """The lowest false positive rate at which 0.8 of the positives are found."""
    f, t = curve(y, scores, weight)
    after = np.flatnonzero(t >= 0.8 - 1e-12)[0]
    run = t[after] - t[after - 1]
    return f[after - 1] + (0.8 - t[after - 1]) / run * (f[after] - f[after - 1])


MEASURES = [
    ("roc_area", lambda y, s, w: auc_score(y, s, sample_weight=w)),
    ("average_precision", lambda y, s, w: average_precision_score(y, s, sample_weight=w)),
    ("f1", best_f1),
    ({"measure": "partial_roc_area", "fpr": 0.1}, mean_recall_to_tenth),
    ({"measure": "fpr_at_tpr", "tpr": 0.8}, rate_at_recall),
]


@pytest.mark.parametrize(("measure", "definition"), MEASURES)
def test_cv_scores_are_the_measure_of_held_out_rows_after_each_round(library, measure, definition):
    X, y = table(300)
    weight = np.random.default_rng(2).integers(1, 4, y.size) * 1.0
    settings = {"max_rounds": 6, "max_leaf_nodes": 6, "threshold": 0.0}
    folds = halves(y.size)
    model = AUCBoostingClassifier(library, measure=measure, cv=folds, **settings)
    model.fit(X, y, sample_weight=weight)
    expected = np.zeros(6)
    for train, test in folds:
        part = AUCBoostingClassifier(library, patience=None, **settings)
        part.fit(X[train], y[train], sample_weight=weight[train])
        for k in range(6):
            scores = LIBRARIES[library].scores(part.booster_, X[test], k + 1)
            expected[k] += definition(y[test], scores, weight[test]) / 2
    np.testing.assert_allclose(model.cv_scores_, expected, rtol=1e-5)
    assert model.best_score_ == model.cv_scores_[model.n_rounds_ - 1]
    if measure == "roc_area":
        assert model.best_score_ == model.cv_scores_.max()


def test_a_fold_goes_on_while_its_measure_or_its_auc_grows():
    measured, areas = iter([0.5, 0.5, 0.4, 0.6, 0.6]), iter([0.7, 0.8, 0.8, 0.7, 0.8])
    watch = Watch(None, [lambda s: next(measured), lambda s: next(areas)], patience=2)
    assert [watch.after_round(np.zeros(3)) for _ in range(5)] == [1, 2, 2, 3, 3]
    assert watch.values[3] == (0.6, 0.7)


def test_rounds_within_one_standard_error_are_told_apart_by_auc():
    rng = np.random.default_rng(0)
    curves = [rng.random((20 - 2 * (k == 1), 2)) for k in range(4)]
    n_rounds, means = best_round(curves)
    whole = [[c[min(k, len(c) - 1)] for k in range(20)] for c in curves]
    of_measure = [np.mean([c[k][0] for c in whole]) for k in range(20)]
    np.testing.assert_allclose(means, of_measure)
    best, allowed = int(np.argmax(of_measure)), []
    for k in range(20):
        behind = [c[best][0] - c[k][0] for c in whole]
        if np.mean(behind) <= np.std(behind, ddof=1) / 2:
            allowed.append(k)
    assert 1 < len(allowed) < 20
    assert n_rounds == 1 + max(allowed, key=lambda k: np.mean([c[k][1] for c in whole]))
    assert n_rounds != 1 + best


def test_of_one_fold_rounds_with_equal_measures_are_told_apart_by_auc():
    fold = np.array([[0.1, 0.9], [0.3, 0.5], [0.3, 0.7], [0.2, 0.8]])
    assert best_round([fold])[0] == 3


def test_the_cut_is_the_one_that_the_measure_asks_for(library):
    X, y = table(800)
    common = {"max_rounds": 10, "cv": 2}
    few = {"measure": "tpr_at_fpr", "fpr": 0.02}
    model = AUCBoostingClassifier(library, measure=few, **common).fit(X, y)
    X_new, y_new = table(1500, seed=1)
    assert np.mean(model.predict(X_new)[y_new == 0]) < 0.05
    balanced = AUCBoostingClassifier(library, **common).fit(X, y)
    assert np.mean(balanced.predict(X_new)[y_new == 0]) > 0.1
    named = AUCBoostingClassifier(library, threshold="balanced", **common).fit(X, y)
    assert named.intercept_ == balanced.intercept_
    forced = AUCBoostingClassifier(library, measure=few, patience=None, **common).fit(X, y)
    assert np.mean(forced.predict(X_new)[y_new == 0]) < 0.05


def test_the_best_rows_of_each_group(library):
    X, y = table(600)
    within = np.arange(600) % 30
    train, test = np.flatnonzero(within < 15), np.flatnonzero(within >= 15)
    model = AUCBoostingClassifier(
        library, measure={"measure": "precision_at_k", "k": 3}, max_rounds=6, cv=[(train, test)]
    ).fit(X, y, within=within)
    part = AUCBoostingClassifier(library, max_rounds=6, patience=None, threshold=0.0)
    part.fit(X[train], y[train], within=within[train])
    scores = part.decision_function(X[test])
    expected = precision_at_k(y[test], scores, 3, within=within[test])
    assert model.cv_scores_[5] == pytest.approx(expected)
    with pytest.raises(ValueError, match="'f1' cannot be taken inside groups"):
        AUCBoostingClassifier(library, measure="f1").fit(X, y, within=within)


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("area", "measure='area' is not known: use one of"),
        ({"fpr": 0.1}, "lacks the name of its measure"),
        ({"measure": "tpr_at_fpr"}, "needs fpr= between 0 and 1"),
        ({"measure": "f1", "alpha": 1}, "measure has the key 'alpha'"),
    ],
)
def test_a_measure_that_is_not_known_is_named(measure, said):
    X, y = table(100)
    with pytest.raises(ValueError, match=said):
        AUCBoostingClassifier(measure=measure).fit(X, y)
