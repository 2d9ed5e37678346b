"""Bands of curves: equal to a bootstrap, to the linear case, to repeated rows."""

import numpy as np
import pytest
from scipy.special import stdtrit

from everypair import AUCAdditive, AUCClassifier, coef_inference, shape_inference


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 6, n), rng.integers(0, 4, n)]).astype(float)
    y = np.sin(X[:, 0]) * 1.5 - 1 + rng.logistic(size=n) > 0
    return X, y.astype(int)


def test_standard_errors_are_those_of_a_bootstrap():
    X, y = rows()
    settings = {"alpha": 1e-3, "shapes": {"x0": "steps"}}
    model = AUCAdditive(**settings).fit(X, y)
    band = shape_inference(model, X, y)["x0"]
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(100):
        again = rng.integers(0, y.size, y.size)
        curve = AUCAdditive(**settings).fit(X[again], y[again]).curves_[0][:-1]
        drawn.append(curve - model.shapes_[0].counts[:-1] @ curve / y.size)
    np.testing.assert_allclose(band.std_error[:-1], np.std(drawn, axis=0), rtol=0.2)


def test_a_straight_line_has_the_errors_of_its_coefficient():
    X, y = rows()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    table = coef_inference(AUCClassifier(alpha=1e-4, tol=1e-10).fit(Z, y), Z, y)
    model = AUCAdditive(alpha=1e-4, shapes={"x0": "linear", "x1": "linear"}, tol=1e-10).fit(X, y)
    band = shape_inference(model, X, y)["x0"]
    places = (model.shapes_[0].centres - X[:, 0].mean()) / X[:, 0].std()
    np.testing.assert_allclose(band.std_error[:-1], np.abs(places) * table.std_error[0], rtol=1e-4)
    np.testing.assert_allclose(band.curve[:-1], places * table.coef[0], rtol=1e-4)
    # One number decides the whole line: both bands are the same, up to the draws.
    wide = (band.all_high - band.curve)[0] / (band.high - band.curve)[0]
    assert wide == pytest.approx(1, abs=0.03)
    assert band.p_value == pytest.approx(table.p_value[0], abs=2e-3)


def test_the_band_of_the_whole_curve_is_wider_and_a_flat_curve_is_told():
    X, y = rows(1500)
    bands = shape_inference(AUCAdditive(alpha=1e-3).fit(X, y), X, y, level=0.9)
    for band in bands:
        assert np.all(band.all_high - band.curve >= band.high - band.curve)
    assert bands["x0"].p_value < 1e-3
    assert bands["x1"].p_value > 0.01
    reach = (bands["x0"].high - bands["x0"].curve)[:-1] / bands["x0"].std_error[:-1]
    np.testing.assert_allclose(reach, stdtrit(1e3, 0.95), rtol=0.01)
    assert "x0" in str(bands)


def test_rows_that_stand_twice_are_no_new_information_when_they_are_a_group():
    X, y = rows(400)
    twice = np.repeat(np.arange(400), 2)
    settings = {"alpha": 1e-3, "tol": 1e-10}
    once = shape_inference(AUCAdditive(**settings).fit(X, y), X, y)
    model = AUCAdditive(**settings).fit(X[twice], y[twice])
    grouped = shape_inference(model, X[twice], y[twice], groups=twice)
    np.testing.assert_allclose(grouped[0].std_error, once[0].std_error, rtol=0.04)


def test_pairs_and_strengths_are_part_of_the_fit():
    """The covariance needs the coefficients of the fit: the gradient says so if they differ."""
    X, y = rows(800)
    model = AUCAdditive(alpha=1e-2, interactions=1, strengths={"x0": 5.0}).fit(X, y)
    bands = shape_inference(model, X, y)
    assert bands["x0 x x1"].curve.size == model.pair_values_[0].size
    with pytest.raises(ValueError, match="do not minimise the objective on these rows"):
        shape_inference(model, X[::-1], y)
    with pytest.raises(ValueError, match="needs loss='logistic'"):
        shape_inference(AUCAdditive(sparsity=0.1).fit(X, y), X, y)
