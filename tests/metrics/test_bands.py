"""Bands hold the true curve as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from everypair.metrics import roc_band

SHIFT = 1.0


def true_curve(fpr):
    return ndtr(SHIFT + ndtri(np.clip(fpr, 1e-300, 1 - 1e-16)))


def sample(rng, n_positive, n_negative):
    y = np.repeat([1, 0], [n_positive, n_negative])
    return y, rng.standard_normal(y.size) + SHIFT * y


@pytest.mark.parametrize("decimals", [None, 0])
def test_the_simultaneous_band_holds_the_whole_curve(decimals):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        y, s = sample(rng, 40, 80)
        band = roc_band(y, s if decimals is None else np.round(s, decimals))
        truth = true_curve(band.fpr)
        if decimals is not None:
            # Rounded scores have a curve of a few corners, on the smooth one.
            cuts = np.arange(-6, 8) + 0.5
            corners = 1 - ndtr(cuts)[::-1]
            low = np.interp(corners, band.fpr, band.low)
            high = np.interp(corners, band.fpr, band.high)
            held += np.all(
                (low <= true_curve(corners) + 0.02) & (true_curve(corners) - 0.02 <= high)
            )
        else:
            held += np.all((band.low <= truth) & (truth <= band.high))
    assert held / 400 >= 0.95


@pytest.mark.slow
def test_the_pointwise_band_holds_the_curve_at_a_point():
    rng = np.random.default_rng(1)
    held = np.zeros(3)
    at = [20, 60, 120]  # false positive rates 0.1, 0.3, 0.6
    for _ in range(200):
        y, s = sample(rng, 100, 150)
        band = roc_band(y, s, kind="pointwise", n_bootstrap=120, random_state=rng.integers(2**31))
        truth = true_curve(band.fpr[at])
        held += (band.low[at] <= truth) & (truth <= band.high[at])
    assert np.all(held / 200 >= 0.90)


def test_bands_lie_around_the_curve_and_the_simultaneous_is_wider():
    rng = np.random.default_rng(2)
    y, s = sample(rng, 60, 60)
    whole = roc_band(y, s)
    point = roc_band(y, s, kind="pointwise", random_state=0)
    for band in (whole, point):
        assert np.all((band.low <= band.tpr + 1e-12) & (band.tpr <= band.high + 1e-12))
        assert np.all(np.diff(band.tpr) >= 0)
    assert np.mean(whole.high - whole.low) > np.mean(point.high - point.low)
    grouped = roc_band(
        np.tile(y, 2), np.tile(s, 2), kind="pointwise", groups=np.tile(np.arange(120), 2),
        random_state=0,
    )  # fmt: skip
    assert np.mean(grouped.high - grouped.low) == pytest.approx(
        np.mean(point.high - point.low), rel=0.1
    )


@pytest.mark.parametrize(
    ("s", "options", "says"),
    [
        ([1, 1, 1, 1], {}, "equal scores rank nothing"),
        ([1, 2, 3, 4], {"kind": "both"}, "kind='both'"),
        ([1, 2, 3, 4], {"sample_weight": [1, 1, 2, 2]}, "kind='pointwise'"),
        ([1, 2, 3, 4], {"groups": [1, 1, 2, 2]}, "kind='pointwise'"),
        ([1, 2, 3, 4], {"level": 1.0}, "level=1.0"),
    ],
)
def test_what_has_no_band_says_so(s, options, says):
    with pytest.raises(ValueError, match=says):
        roc_band([0, 1, 0, 1], s, **options)
