"""Gain, lift, precision–recall, calibration, cost and net benefit: what is drawn is what is so."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve

from everypair import AUCClassifier
from everypair.metrics import (
    average_precision,
    calibration_bins,
    gain_at_k,
    net_benefit,
    threshold_for,
)
from everypair.plots import (
    CalibrationDisplay,
    CostDisplay,
    GainDisplay,
    LiftDisplay,
    NetBenefitDisplay,
    PrecisionRecallDisplay,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

OF_SCORES = [GainDisplay, LiftDisplay, PrecisionRecallDisplay, CostDisplay]
ALL = [*OF_SCORES, CalibrationDisplay, NetBenefitDisplay]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1, "churn", "stay")
    return X, y, LogisticRegression().fit(X, y), rng.integers(1, 4, 300).astype(float)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_lines_go_through_the_numbers_of_the_metrics(data):
    X, y, model, weight = data
    p = model.predict_proba(X)[:, 0]  # of "churn", the first label
    asked = {"sample_weight": weight, "pos_label": "churn"}
    gain = GainDisplay.from_predictions(y, p, **asked)
    lift = LiftDisplay.from_predictions(y, p, **asked)
    for share in (0.05, 0.1, 0.5):
        wanted = gain_at_k(y, p, share, **asked)
        assert np.interp(share, *gain.line_.get_data()) == pytest.approx(wanted.gain)
        assert np.interp(share, *lift.line_.get_data()) == pytest.approx(wanted.lift)
    curve = PrecisionRecallDisplay.from_predictions(y, p, band=False, **asked)
    precision, recall, _ = precision_recall_curve(y, p, **asked)
    np.testing.assert_allclose(curve.recall[::-1], recall[:-1])
    np.testing.assert_allclose(curve.precision[::-1], precision[:-1])
    wanted = average_precision(y, p, **asked)
    assert [*vars(curve.interval).values()] == pytest.approx([*vars(wanted).values()], rel=1e-12)
    bins = calibration_bins(y, p, **asked)
    drawn = CalibrationDisplay.from_predictions(y, p, **asked).line_.get_data()
    np.testing.assert_allclose(drawn, [bins.probability, bins.observed], rtol=1e-12)
    worth = NetBenefitDisplay.from_predictions(y, p, **asked)
    drawn = worth.line_.get_ydata()
    np.testing.assert_allclose(drawn, net_benefit(y, p, **asked).net_benefit, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [300, 3000])
def test_the_least_cost_is_that_of_threshold_for(n_rows):
    rng = np.random.default_rng(1)
    y = rng.random(n_rows) < 0.3
    s, weight = rng.normal(size=n_rows) + y, rng.integers(1, 4, n_rows).astype(float)
    for costs in ((1, 1), (1, 8), (5, 1)):
        display = CostDisplay.from_predictions(y, s, cost=costs, sample_weight=weight)
        t = threshold_for(y, s, cost=costs, sample_weight=weight)
        spent = weight @ np.where(y, costs[1] * (s <= t), costs[0] * (s > t)) / weight.sum()
        assert display.expected.min() == pytest.approx(spent)
        assert display.threshold[np.argmin(display.expected)] == t
        assert np.all(display.low <= display.expected)
        assert np.all(display.expected <= display.high)


def test_the_marked_threshold_is_where_predict_cuts(data):
    X, y, _, _ = data
    model = AUCClassifier(threshold={"recall": 0.8}).fit(X, y)
    called, stays = model.predict(X) == "stay", y == "stay"
    for display in (GainDisplay, LiftDisplay):
        point = display.from_estimator(model, X, y).point
        assert point == (pytest.approx(called.mean()), pytest.approx(called[stays].mean()))
    cut = PrecisionRecallDisplay.from_estimator(model, X, y, band=False).cut
    assert cut.recall == pytest.approx(called[stays].mean())
    assert cut.precision == pytest.approx(stays[called].mean())
    assert cut.threshold == 0


@pytest.mark.parametrize("display", ALL)
def test_models_on_one_axis_differ_by_dash_and_share_the_reference(display, data):
    X, y, model, _ = data
    _, ax = plt.subplots()
    first = display.from_estimator(model, X, y, name="a", ax=ax)
    n_lines = len(ax.lines)
    second = display.from_estimator(LogisticRegression(C=1e-3).fit(X, y), X, y, name="b", ax=ax)
    assert first.ax_ is second.ax_ is ax
    assert str(first.line_._dash_pattern) != str(second.line_._dash_pattern)
    assert first.line_.get_color() != second.line_.get_color()
    assert len(ax.lines) - n_lines < n_lines  # references are drawn once
    again = second.plot(color="red")
    assert again is second
    assert second.line_.get_color() == "red"
    assert second.ax_ is not ax


@pytest.mark.parametrize("display", [CalibrationDisplay, NetBenefitDisplay])
def test_displays_of_probabilities_ask_for_them(display, data):
    X, y, model, _ = data
    with pytest.raises(ValueError, match="between 0 and 1, as of predict_proba"):
        display.from_predictions(y, model.decision_function(X))
    bare = type("Bare", (), {"classes_": np.array(["churn", "stay"])})()
    with pytest.raises(ValueError, match="Bare has no predict_proba: wrap it"):
        display.from_estimator(bare, X, y)
    bare = AUCClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="AUCClassifier has no predict_proba: set calibration="):
        CalibrationDisplay.from_estimator(bare, [[0.0], [1.0], [2.0]], [0, 1, 1])


def test_scores_without_an_order_are_still_drawn(data):
    _, y, _, _ = data
    for display in OF_SCORES:
        assert display.from_predictions(y, np.zeros(y.size)).line_ is not None
    with pytest.raises(ValueError, match="use 'share' or 'threshold'"):
        CostDisplay.from_predictions(y, np.arange(y.size), against="cut")
