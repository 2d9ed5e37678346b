"""Cuts of a ranking against trying every cut."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ranked_data
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score

from everypair.metrics.thresholds import threshold_for


def every_cut(scores):
    levels = np.unique(scores)
    return [np.nextafter(levels[0], -np.inf), *levels]


def share(positive, scores, cut, weight):
    """(false positive rate, true positive rate, accuracy) of ``score > cut``."""
    predicted = scores > cut
    rates = [np.average(predicted[c], weights=weight[c]) for c in (~positive, positive)]
    return *rates, np.average(predicted == positive, weights=weight)


MEASURES = {
    "accuracy": lambda y, p, w: np.average(y == p, weights=w),
    "balanced": lambda y, p, w: balanced_accuracy_score(y, p, sample_weight=w),
    "f1": lambda y, p, w: f1_score(y, p, sample_weight=w, zero_division=0),
}


@pytest.mark.parametrize("rule", MEASURES)
@given(data=st.data())
def test_no_cut_is_better(rule, data):
    pairs, scores, rng = data.draw(ranked_data(max_rows=30))
    weight = rng.integers(1, 4, scores.size).astype(float)
    measure, y = MEASURES[rule], pairs.positive
    chosen = threshold_for(y, scores, rule, weight)
    best = max(measure(y, scores > cut, weight) for cut in every_cut(scores))
    assert measure(y, scores > chosen, weight) == pytest.approx(best, abs=1e-12)


@given(data=st.data(), wanted=st.sampled_from([0.0, 0.05, 0.1, 0.5, 0.95, 1.0]))
def test_rates_are_kept_and_none_of_the_room_is_wasted(data, wanted):
    pairs, scores, _ = data.draw(ranked_data(max_rows=30))
    y, weight = pairs.positive, np.ones(scores.size)
    cuts = [share(y, scores, cut, weight) for cut in every_cut(scores)]
    fpr, tpr, _ = share(y, scores, threshold_for(y, scores, {"fpr": wanted}), weight)
    assert fpr <= wanted + 1e-12
    assert tpr == pytest.approx(max(t for f, t, _ in cuts if f <= wanted + 1e-12))
    fpr, tpr, _ = share(y, scores, threshold_for(y, scores, {"tpr": wanted}), weight)
    assert tpr >= wanted - 1e-12
    assert fpr == pytest.approx(min(f for f, t, _ in cuts if t >= wanted - 1e-12))


def test_cut_lies_halfway_and_ignores_rows_without_weight():
    y = np.array([False, True, False, True])
    scores = np.array([0.0, 4.0, 3.9, 5.0])
    assert threshold_for(y, scores, "balanced", np.array([1.0, 1, 0, 1])) == 2.0


def test_neighbouring_floats_are_still_told_apart():
    low = np.nextafter(1.0, 2.0)
    high = np.nextafter(low, 2.0)
    assert low / 2 + high / 2 == high  # halfway rounds up
    cut = threshold_for(np.array([False, True]), np.array([low, high]), "balanced")
    assert not low > cut
    assert high > cut


@pytest.mark.parametrize("rule", ["best", {"fpr": -0.1}, {"recall": 0.5}, {}, None, True])
def test_unknown_rules_are_refused(rule):
    with pytest.raises(ValueError, match="is not a rule"):
        threshold_for(np.array([True, False]), np.array([0.0, 1.0]), rule)
