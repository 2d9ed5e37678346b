"""The cross-validated area: DeLong within folds, and coverage by simulation."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from ranking_definitions import pair_values
from scipy.special import ndtr
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from everypair.metrics import auc_confidence_interval, auc_score, cross_val_auc
from everypair.metrics.held_out import held_out_area
from everypair.rows import Rows


class MeanDifference(ClassifierMixin, BaseEstimator):
    """The quickest linear classifier there is."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.coef_ = X[y == self.classes_[1]].mean(axis=0) - X[y == self.classes_[0]].mean(axis=0)
        return self

    def decision_function(self, X):
        return X @ self.coef_


def data(rng, n=120, p=4, shift=0.6):
    y = np.arange(n) % 3 == 0
    X = rng.standard_normal((n, p))
    X[:, 0] += shift * y
    X[:, 1] += shift * y
    return X, y


def test_each_row_tested_once_is_the_mean_of_delongs_variances():
    X, y = data(np.random.default_rng(0))
    folds = list(StratifiedKFold(4).split(X, y))
    result = cross_val_auc(LogisticRegression(), X, y, cv=folds)
    scores = np.empty(y.size)
    alone = []
    for train, test in folds:
        model = clone(LogisticRegression()).fit(X[train], y[train])
        scores[test] = model.decision_function(X[test])
        alone.append(auc_confidence_interval(y[test], scores[test]))
    np.testing.assert_allclose(result.fold_auc, [one.auc for one in alone])
    assert result.auc == pytest.approx(np.mean([one.auc for one in alone]))
    within = sum(one.se**2 for one in alone) / 16
    assert result.se**2 == pytest.approx((1 + result.kappa) * within)
    assert 0 <= result.kappa <= 1 + 0.3 / 9
    pooled = auc_confidence_interval(y, scores)
    assert result.pooled.auc == pytest.approx(auc_score(y, scores))
    assert result.pooled.se == pytest.approx(pooled.se)


def test_repeating_the_same_folds_does_not_narrow_the_interval():
    X, y = data(np.random.default_rng(1))
    folds = list(StratifiedKFold(4).split(X, y))
    once = cross_val_auc(LogisticRegression(), X, y, cv=folds)
    thrice = cross_val_auc(LogisticRegression(), X, y, cv=folds * 3)
    within = [result.se / np.sqrt(1 + result.kappa) for result in (once, thrice)]
    assert within[1] == pytest.approx(within[0])
    assert thrice.kappa == pytest.approx(once.kappa * (1 + 0.3 / 9 + 1 / 3) / (1 + 0.3 / 9))
    assert thrice.pooled.se == pytest.approx(once.pooled.se)
    repeated = cross_val_auc(
        LogisticRegression(), X, y, cv=RepeatedStratifiedKFold(n_splits=4, n_repeats=5)
    )
    assert repeated.se > 0.8 * once.se


def test_the_interval_covers_the_area_of_the_fitted_models():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(120):
        X, y = data(rng, 150)
        folds = list(StratifiedKFold(3).split(X, y))
        result = cross_val_auc(MeanDifference(), X, y, cv=folds)
        truth = []
        for train, _ in folds:
            w = MeanDifference().fit(X[train], y[train]).coef_
            truth.append(ndtr(0.6 * (w[0] + w[1]) / (np.sqrt(2) * np.linalg.norm(w))))
        hits += result.low <= np.mean(truth) <= result.high
    assert hits / 120 >= 0.91


@pytest.mark.slow  # the next test has the variance that the interval is made of
@pytest.mark.parametrize(("n_features", "shift"), [(8, 0.0), (8, 0.35)])
def test_the_interval_covers_the_expected_area_of_the_procedure(n_features, shift):
    """The folds' areas vary together through the training rows: on noise DeLong's variance within
    the folds is half of what there is, and 84 % would be covered."""
    rng = np.random.default_rng(12)
    found = []
    for _ in range(150):
        X, y = data(rng, 120, n_features, shift)
        found.append(cross_val_auc(MeanDifference(), X, y, cv=5))
    truth = 0.5 if shift == 0 else np.mean([result.auc for result in found])
    assert np.mean([result.low <= truth <= result.high for result in found]) >= 0.92


def test_models_that_agree_on_a_clear_signal_add_little_to_delongs_variance():
    rng = np.random.default_rng(13)
    X, y = data(rng, 800, shift=1.0)
    clear = cross_val_auc(MeanDifference(), X, y, cv=5)
    noise = cross_val_auc(MeanDifference(), rng.standard_normal(X.shape), y, cv=5)
    assert clear.kappa < 0.15
    assert noise.kappa == pytest.approx((1 - 18 / 800) * (1 + 0.3 / 16))
    pattern = cross_val_auc(Identity(), X, y, cv=5)  # learns nothing: nothing depends on training
    assert pattern.kappa == pytest.approx(0, abs=1e-12)


def area_of_mean_differences(rng, X, y, n_folds):
    """The area over folds dealt out at random, without the cost of `cross_validate`."""
    fold = np.empty(y.size, dtype=int)
    for members in (np.flatnonzero(y), np.flatnonzero(~y)):
        fold[rng.permutation(members)] = np.arange(members.size) % n_folds
    tests = [np.flatnonzero(fold == k) for k in range(n_folds)]
    models = [MeanDifference().fit(X[fold != k], y[fold != k]) for k in range(n_folds)]
    scores = [model.decision_function(X[test]) for model, test in zip(models, tests, strict=True)]
    others = [*models[1:], models[0]]
    seen = [model.decision_function(X[test]) for model, test in zip(others, tests, strict=True)]
    return held_out_area(Rows.of(y), None, tests, scores, seen, float(n_folds))


@pytest.mark.slow
def test_two_folds_cover_a_weak_signal():
    """The rule for many folds (at most 2 V, and that only near 1/2) covers 92 % here."""
    rng = np.random.default_rng(16)
    y = np.arange(400) < 200
    found = []
    for _ in range(600):
        X = rng.exponential(size=(400, 9))
        X[:, :2] += 0.28 * y[:, None]
        found.append(area_of_mean_differences(rng, X, y, 2))
    truth = np.mean([area.auc for area in found])
    ends = [area.interval(0.95) for area in found]
    assert 0.935 <= np.mean([low <= truth <= high for low, high in ends]) <= 0.98


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_kappa_falls_with_the_distance_from_a_half(n_folds):
    """All of it up to 4 (1 + 1/K) standard errors sqrt(V), the measured share from 5/3 of that;
    all times 1 - 18/n."""
    rng = np.random.default_rng(17)
    X, y = data(rng, 400)
    measured = area_of_mean_differences(rng, X, y, n_folds)
    within = np.sqrt(np.sum(measured.sums**2))
    few, chance = (1 - 18 / 400) * (1 + 0.3 / (n_folds - 1) ** 2), 4 * (1 + 1 / n_folds)
    for steps, share in ((0.0, 1.0), (1.0, 1.0), (4 / 3, 0.5), (5 / 3, 0.1), (9.0, 0.1)):
        for side in (-1, 1):
            area = replace(measured, auc=0.5 + side * steps * chance * within, dependence=0.1)
            assert area.kappa == pytest.approx(few * share)
            assert area.se == pytest.approx(np.sqrt(1 + few * share) * within)


def test_a_handful_of_rows_adds_nothing_to_delongs_variance():
    """1 - 18/n is not below zero."""
    rng = np.random.default_rng(18)
    X, y = data(rng, 400)
    measured = area_of_mean_differences(rng, X, y, 5)
    assert replace(measured, sizes=(8.0, 9.0)).kappa == 0
    assert replace(measured, sizes=(8.0, 11.0)).kappa > 0


def test_groups_of_repeated_rows_count_once():
    X, y = data(np.random.default_rng(3))
    groups = np.arange(y.size)
    twice = np.tile(groups, 2)
    folds = list(StratifiedKFold(4).split(X, y))
    doubled = [(np.r_[a, a + y.size], np.r_[b, b + y.size]) for a, b in folds]
    once = cross_val_auc(GaussianNB(), X, y, cv=folds, groups=groups)
    both = cross_val_auc(GaussianNB(), X[twice], y[twice], cv=doubled, groups=twice)
    assert both.se == pytest.approx(once.se, rel=1e-9)
    split = cross_val_auc(GaussianNB(), X, y, cv=GroupKFold(3), groups=groups // 4)
    assert 0 < split.low < split.auc < split.high < 1


def test_frames_string_labels_and_probabilities_work():
    X, y = data(np.random.default_rng(4))
    names = np.where(y, "sick", "fine")
    plain = cross_val_auc(GaussianNB(), X, y, cv=3)
    frame = cross_val_auc(GaussianNB(), pd.DataFrame(X), pd.Series(names), cv=3)
    assert frame.auc == pytest.approx(plain.auc)
    other = cross_val_auc(GaussianNB(), X, names, cv=3, pos_label="fine")
    assert other.auc == pytest.approx(plain.auc)  # both sides turned round
    weights = np.random.default_rng(5).random(y.size)
    weighted = cross_val_auc(GaussianNB(), X, y, cv=3, params={"sample_weight": weights})
    assert weighted.auc != plain.auc


def test_separable_folds_get_the_exact_bound():
    y = np.arange(40) % 2 == 0
    result = cross_val_auc(LogisticRegression(), 10.0 * y[:, None], y, cv=4)
    assert (result.auc, result.high) == (1.0, 1.0)
    assert result.low == pytest.approx(0.025 ** (1 / 20))


def test_folds_too_small_or_without_order_say_so():
    X, y = data(np.random.default_rng(6))
    with pytest.raises(ValueError, match=r"Test fold 0 has fewer than two (positive|negative)"):
        cross_val_auc(GaussianNB(), X, y, cv=LeaveOneOut())
    with pytest.raises(ValueError, match="test fold 0 has the single value"):
        cross_val_auc(DummyClassifier(), X, y, cv=3)


def test_one_fold_with_mixed_groups_is_about_obuchowskis_variance():
    """Groups that hold both classes: their positives' and negatives' influences partly cancel."""
    rng = np.random.default_rng(7)
    X, y = data(rng, 900, shift=0.3)
    groups = np.arange(900) // 6
    X += rng.standard_normal((150, 1))[groups]
    train, test = np.arange(300), np.arange(300, 900)
    result = cross_val_auc(MeanDifference(), X, y, cv=[(train, test)], groups=groups)
    scores = MeanDifference().fit(X[train], y[train]).decision_function(X[test])
    grouped = auc_confidence_interval(y[test], scores, groups=groups[test])
    plain = auc_confidence_interval(y[test], scores)
    assert result.se == pytest.approx(grouped.se, rel=0.01)
    assert abs(grouped.se / plain.se - 1) > 0.05


class Identity(MeanDifference):
    """Scores a row by its first feature, whatever it was fitted on."""

    def decision_function(self, X):
        return X[:, 0]


@pytest.mark.parametrize("shift", [1.0, 50.0])
@pytest.mark.parametrize("as_mask", [False, True])
def test_one_fold_held_out_is_the_interval_of_its_rows(shift, as_mask):
    X, y = data(np.random.default_rng(8), 600, shift=shift)
    test = np.arange(36)
    fold = np.arange(36, 600), (np.arange(600) < 36 if as_mask else test)
    result = cross_val_auc(Identity(), X, y, cv=[fold])
    alone = auc_confidence_interval(y[test], X[test, 0])
    for name in ("auc", "low", "high", "se"):
        assert getattr(result, name) == pytest.approx(getattr(alone, name), abs=1e-12)
    assert result.pooled == alone


def degrees_within_folds(y, tests, scores):
    """Satterthwaite's of the classes' parts of V, each with its tested rows less the folds."""
    parts, counts = np.zeros(2), np.zeros(2)
    for test, s in zip(tests, scores, strict=True):
        psi = pair_values(y[test], s)
        m, n = psi.shape
        parts += psi.mean(axis=1).var(ddof=1) / m, psi.mean(axis=0).var(ddof=1) / n
        counts += m, n
    return parts.sum() ** 2 / np.sum(parts**2 / (counts - len(tests)))


def test_degrees_of_freedom_count_the_tested_rows_alone():
    """Two folds of five are tested: sixteen positives in them, not forty."""
    X, y = data(np.random.default_rng(14), 120)
    folds = list(StratifiedKFold(5).split(X, y))
    for chosen in (folds, folds[:2], folds[:1]):
        tests = [test for _, test in chosen]
        result = cross_val_auc(Identity(), X, y, cv=chosen)
        df = degrees_within_folds(y, tests, [X[test, 0] for test in tests])
        assert result.df == pytest.approx(df)
    repeated = cross_val_auc(Identity(), X, y, cv=folds * 3)
    assert repeated.df == pytest.approx(cross_val_auc(Identity(), X, y, cv=folds).df)
    groups = np.arange(120)
    few = cross_val_auc(Identity(), X, y, cv=folds[:2], groups=groups)
    shares = np.where(y, 1 / 16, 1 / 32)[np.concatenate([test for _, test in folds[:2]])]
    assert few.df == pytest.approx(np.sum(shares**2) ** 2 / np.sum(shares**4) - 2)


class InfiniteOnWhatItSaw(MeanDifference):
    """Scores the rows that it trained on by NaN."""

    def fit(self, X, y):
        self.first_ = X[:, 0].copy()
        return super().fit(X, y)

    def decision_function(self, X):
        return np.where(np.isin(X[:, 0], self.first_), np.nan, super().decision_function(X))


def test_scores_that_are_not_finite_are_named():
    X, y = data(np.random.default_rng(15))
    with pytest.raises(
        ValueError, match="of another fold's model on test fold 0 has the value nan"
    ):
        cross_val_auc(InfiniteOnWhatItSaw(), X, y, cv=3)
    X[3, 0] = np.inf
    with pytest.raises(ValueError, match="decision function on test fold 0 has the value inf"):
        cross_val_auc(Identity(), X, y, cv=3)


def test_folds_of_area_nought_and_one_are_not_sure_of_a_half():
    y, X = np.array([0, 0, 1, 1] * 2), np.array([1.0, 2, 3, 4, 4, 3, 2, 1])[:, None]
    folds = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    result = cross_val_auc(Identity(), X, y, cv=folds)
    assert (result.auc, result.se) == (0.5, 0.0)
    assert result.high - result.low > 0.8


def test_a_precomputed_kernel_is_cut_on_both_sides():
    X, y = data(np.random.default_rng(9), 90)
    kernel = cross_val_auc(SVC(kernel="precomputed"), X @ X.T, y, cv=3)
    linear = cross_val_auc(SVC(kernel="linear"), X, y, cv=3)
    np.testing.assert_allclose(kernel.fold_auc, linear.fold_auc, atol=1e-2)


@pytest.mark.parametrize("routing", [False, True])
def test_a_number_of_folds_keeps_groups_whole(routing):
    X, y = data(np.random.default_rng(10), 240)
    groups = np.arange(240) // 4
    with config_context(enable_metadata_routing=routing), warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = cross_val_auc(MeanDifference(), X, y, cv=3, groups=groups)
        named = cross_val_auc(
            MeanDifference(), X, y, cv=StratifiedGroupKFold(3), groups=list(groups)
        )
        cross_val_auc(MeanDifference(), X, y, groups=groups)
    np.testing.assert_array_equal(ours.fold_auc, named.fold_auc)
    whole = cross_val_auc(MeanDifference(), X, y, cv=GroupKFold(3), groups=groups)
    assert whole.auc == pytest.approx(ours.auc, abs=0.1)
