"""The curves of an additive model as a picture: what is drawn is what the model says."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from everypair import AUCAdditive, shape_inference
from everypair.plots import ShapeDisplay

mpl.use("Agg")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (500, 3)).astype(float)
    X[::9, 1] = np.nan
    y = np.sin(X[:, 0]) + (X[:, 0] - 3.5) * (X[:, 2] - 3.5) / 3 + rng.logistic(size=500) > 0
    return AUCAdditive(alpha=1e-3, interactions=1).fit(X, y), X, y


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_the_bands_are_drawn_where_they_are_and_nothing_is_cut_off(fitted):
    model, X, y = fitted
    bands = shape_inference(model, X, y)
    display = ShapeDisplay.from_estimator(model, columns=["x0", "x1"], bands=bands)
    for panel, band in zip(display.axes_, bands, strict=False):
        low, high = panel.get_ylim()
        assert low < band.all_low.min()
        assert high > band.all_high.max()
        paler, darker = panel.collections[:2]
        ends = paler.get_paths()[0].vertices[:, 1]
        assert ends.min() == pytest.approx(band.all_low[:-1].min())
        assert ends.max() == pytest.approx(band.all_high[:-1].max())
        assert darker.get_paths()[0].vertices[:, 1].max() == pytest.approx(band.high[:-1].max())


def test_panels_go_by_the_auc_lost_where_it_is_given(fitted):
    model, X, y = fitted
    lost = model.auc_lost(X, y)
    display = ShapeDisplay.from_estimator(model, n_panels=2, auc_lost=lost)
    best = int(np.argmax(lost))
    assert display.axes_[0].get_title().endswith(f"(AUC lost {lost[best]:.3f})")
    assert display.axes_[0].get_title().startswith(display._name(best))


def test_a_pair_is_a_map_of_its_cells(fitted):
    model = fitted[0]
    name = ShapeDisplay.from_estimator(model)._name(3)
    panel = ShapeDisplay.from_estimator(model, columns=[name]).axes_[0]
    drawn = np.asarray(panel.images[0].get_array())
    np.testing.assert_allclose(drawn.T.ravel(), model.pair_values_[0])
