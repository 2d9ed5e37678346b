"""Gain, lift, average precision, calibration, Brier score and net benefit beside definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_definitions import rankings
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss

from everypair.metrics import (
    average_precision,
    brier_loss,
    calibration_bins,
    expected_calibration_error,
    gain_at_k,
    gain_curve,
    lift_at_k,
    net_benefit,
    precision_recall_band,
    recall_at_k,
)
from everypair.rows import NoSpread
from lab.benchmarks import numbers


def probabilities_of(s):
    return expit(s - np.median(s))


@settings(deadline=None, derandomize=True)
@given(rankings(least_of_class=2))
def test_average_precision_and_brier_are_scikit_learn_s(data):
    y, s, weight = data
    p = probabilities_of(s)
    wanted = average_precision_score(y, s, sample_weight=weight)
    try:
        found = average_precision(y, s, sample_weight=weight)
    except NoSpread:
        assert np.unique(s[weight > 0] if weight is not None else s).size == 1
        return
    assert found.value == pytest.approx(wanted, abs=1e-9)
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12
    loss = brier_loss(y, p, sample_weight=weight)
    assert loss.value == pytest.approx(brier_score_loss(y, p, sample_weight=weight), abs=1e-9)
    parts = loss.miscalibration - loss.discrimination + loss.uncertainty
    assert parts == pytest.approx(loss.value, abs=1e-9)
    other = brier_loss(y, 1 - p, sample_weight=weight, pos_label=False)
    assert other.value == pytest.approx(loss.value, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=5)
@given(rankings(least_of_class=2))
def test_the_variance_of_average_precision_is_that_of_its_derivatives(data):
    """Each row's weight moved a little, by scikit-learn."""
    y, s, weight = data
    kept = slice(None) if weight is None else weight > 0
    y, s = y[kept], s[kept]
    w = np.ones(y.size) if weight is None else weight[kept] / weight.max()
    if np.unique(s).size == 1 or average_precision_score(y, s, sample_weight=w) == 1:
        return
    change = np.empty(y.size)
    for i in range(y.size):
        step = 1e-4 * w[i]
        up, down = w.copy(), w.copy()
        up[i] += step
        down[i] -= step
        change[i] = w[i] * (
            average_precision_score(y, s, sample_weight=up)
            - average_precision_score(y, s, sample_weight=down)
        ) / (2 * step)  # fmt: skip
    wanted = np.sqrt(np.sum((change - change.mean()) ** 2) * y.size / (y.size - 1))
    assert average_precision(y, s, sample_weight=w).se == pytest.approx(wanted, rel=1e-3, abs=1e-7)


@settings(deadline=None, derandomize=True)
@given(rankings(), st.floats(0.01, 1.0))
def test_gain_is_recall_at_k_and_lift_its_multiple_of_chance(data, share):
    y, s, weight = data
    found = gain_at_k(y, s, share)
    assert found.gain == pytest.approx(recall_at_k(y, s, share))
    assert found.lift == pytest.approx(lift_at_k(y, s, share))
    assert 0 <= found.low <= found.gain + 1e-12
    assert found.gain <= found.high + 1e-12 <= 1 + 1e-9
    if weight is None or share >= 1:
        return
    # Whole weights are rows that are there so many times.
    times = np.ceil(np.clip(weight, 0, 5)).astype(int)
    if not (times[y].any() and times[~y].any()):
        return
    repeated = gain_curve(np.repeat(y, times), np.repeat(s, times), [share])
    weighted = gain_curve(y, s, [share], sample_weight=times.astype(float))
    assert weighted.gain == pytest.approx(repeated.gain)


def test_groups_of_one_row_are_rows_and_copies_are_not_news():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    s = rng.normal(size=200) + y
    p = probabilities_of(s)
    for function, values, more in (
        (average_precision, s, ()),
        (brier_loss, p, ()),
        (gain_at_k, s, (0.1,)),
        (net_benefit, p, ([0.3],)),
    ):
        alone = function(y, values, *more)
        same = function(y, values, *more, groups=np.arange(200))
        assert same.low == pytest.approx(alone.low, rel=1e-6)
        twice = function(
            np.tile(y, 2), np.tile(values, 2), *more, groups=np.tile(np.arange(200), 2)
        )
        assert twice.low == pytest.approx(alone.low, rel=0.1)
        narrow = function(np.tile(y, 2), np.tile(values, 2), *more)
        assert np.all(narrow.high - narrow.low < 0.9 * (alone.high - alone.low))


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_bins_are_those_of_scikit_learn(strategy):
    rng = np.random.default_rng(1)
    p = rng.beta(1, 4, 700)
    y = rng.random(700) < p
    bins = calibration_bins(y, p, strategy=strategy, n_bins=8)
    observed, predicted = calibration_curve(y, p, strategy=strategy, n_bins=8)
    np.testing.assert_allclose(bins.observed, observed)
    np.testing.assert_allclose(bins.probability, predicted)
    assert bins.share.sum() == pytest.approx(1)
    assert np.all((bins.low <= observed) & (observed <= bins.high))
    found = expected_calibration_error(y, p, strategy=strategy, n_bins=8)
    assert found.plug_in == pytest.approx(bins.share @ np.abs(observed - predicted))
    assert found.low <= found.value <= min(found.plug_in, found.high)
    weighted = calibration_bins(y, p, strategy=strategy, n_bins=8, sample_weight=np.full(700, 3.0))
    np.testing.assert_allclose(weighted.observed, observed)
    np.testing.assert_allclose(weighted.low, bins.low)


@settings(deadline=None, derandomize=True)
@given(rankings(least_of_class=2), st.floats(0.02, 0.98))
def test_net_benefit_by_its_definition(data, threshold):
    y, s, weight = data
    p = probabilities_of(s)
    w = np.ones(y.size) if weight is None else weight
    above, total = p > threshold, w.sum()
    odds = threshold / (1 - threshold)
    wanted = (w[above & y].sum() - odds * w[above & ~y].sum()) / total
    found = net_benefit(y, p, [threshold], sample_weight=weight)
    assert found.net_benefit[0] == pytest.approx(wanted, abs=1e-9 * (1 + odds))
    every = (w[y].sum() - odds * w[~y].sum()) / total
    assert found.act_on_all[0] == pytest.approx(every, abs=1e-9 * (1 + odds))


def test_the_band_goes_with_the_curve_and_is_wider_for_fewer_rows():
    rng = np.random.default_rng(2)
    y = rng.random(800) < 0.3
    s = rng.normal(size=800) + 1.5 * y
    wide = precision_recall_band(y[:200], s[:200], n_bootstrap=200, random_state=0)
    narrow = precision_recall_band(y, s, n_bootstrap=200, random_state=0)
    middle = slice(60, 160)
    assert np.mean((narrow.high - narrow.low)[middle]) < np.mean((wide.high - wide.low)[middle])
    for recall, precision in zip(narrow.recall[10::40], narrow.precision[10::40], strict=True):
        t = np.sort(s[y])[::-1][int(np.ceil(recall * y.sum() - 1e-9)) - 1]
        called = s >= t
        assert precision == pytest.approx(y[called].mean(), abs=0.02)


@pytest.mark.parametrize(
    ("function", "more", "match"),
    [
        (average_precision, {"level": 1.0}, "confidence level"),
        (brier_loss, {}, "probabilities between 0 and 1"),
        (expected_calibration_error, {}, "probabilities between 0 and 1"),
        (net_benefit, {}, "probabilities between 0 and 1"),
        (gain_curve, {"shares": [0.0, 0.5]}, "shares has the value 0: use numbers between"),
    ],
)
def test_what_is_wrong_is_said(function, more, match):
    with pytest.raises(ValueError, match=match):
        function([0, 1, 0, 1], [-1.0, 2.0, 0.5, 3.0], **more)


def test_other_options_are_checked():
    y, p = [0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(ValueError, match="n_bins=0: use"):
        calibration_bins(y, p, n_bins=0)
    with pytest.raises(ValueError, match="'quantile' or 'uniform'"):
        calibration_bins(y, p, strategy="kmeans")
    with pytest.raises(ValueError, match=r"with sample_weight give a share, such as 0\.1"):
        gain_at_k(y, p, 2, sample_weight=[1, 2, 1, 1])
    with pytest.raises(ValueError, match="thresholds has the value 1: use numbers between 0 and 1"):
        net_benefit(y, p, [0.5, 1.0])


@pytest.mark.parametrize("case", [(200, 0.1, 1.5, 0.1, 0), (500, 0.3, 0.0, 0.1, 0)])
def test_average_precision_and_gain_are_covered(case):
    *_, area, gain = numbers.ranking_coverage(300, *case, seed=5)
    assert area > 91
    assert gain > 91


@pytest.mark.parametrize("factor", [pytest.param(1.0, marks=pytest.mark.slow), 2.0])
def test_probabilities_are_covered(factor):
    error, value, plug_in, *covered = numbers.probability_coverage(150, 400, factor, seed=6)
    assert abs(value - error) < abs(plug_in - error)
    assert min(covered) > 90


def test_the_band_of_a_gain_that_rounding_keeps_below_one_is_that_of_its_neighbours():
    """1 - 2.5e-14 of the positives once had an interval from 0 to 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] + rng.normal(size=600) > 0.8
    for k in range(4):
        curve = gain_curve(y, X[:, 0] + 0.01 * k * X[:, 1])
        high = curve.gain > 0.99
        assert curve.low[high].min() > 0.9
        assert np.all(np.diff(curve.low[high]) > -0.01)
