"""Displays: what they store is right, what they draw is inside the picture and apart."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifier
from everypair.metrics import auc_confidence_interval, roc_band, threshold_for
from everypair.plots import (
    ClimbDisplay,
    CoefficientPathDisplay,
    ConvergenceDisplay,
    CVAUCDisplay,
    ROCComparisonDisplay,
    ROCDisplay,
    ScoreDisplay,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

ALPHAS = np.logspace(-3, 0, 7)
COEFS = np.outer(1 - np.linspace(0, 1, 7), np.array([3.0, -2.0, 1.0, 0.1, 0.0]))
PATH = {
    "subfold": np.repeat([0, 1], 4),
    "radius": np.tile([1.0, 2.0, 4.0, 8.0], 2),
    "train": np.linspace(0.7, 0.9, 8),
    "valid": np.array([0.6, 0.8, 0.7, np.nan, 0.6, 0.9, 0.7, np.nan]),
}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0.5, "sick", "fine")
    return SimpleNamespace(X=X, y=y, auc=AUCClassifier().fit(X, y), bayes=GaussianNB().fit(X, y))


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def displays(fitted, ax=None):
    X, y = fitted.X, fitted.y
    cv = SimpleNamespace(
        alphas_=ALPHAS, coefs_=COEFS, alpha_=0.1, cv_auc_=np.column_stack([ALPHAS, ALPHAS / 9])
    )
    longest = {f"a model with quite a long name, number {k}": fitted.auc for k in range(6)}
    yield ROCDisplay.from_estimator(fitted.auc, X, y, random_state=0, ax=ax)
    yield ROCDisplay.from_estimator(fitted.bayes, X, y, band="simultaneous", ax=ax)
    yield ROCComparisonDisplay.from_estimator(longest, X, y, ax=ax)
    yield CoefficientPathDisplay.from_estimator(cv, ax=ax)
    yield CVAUCDisplay.from_estimator(cv, ax=ax)
    yield ScoreDisplay.from_estimator(fitted.auc, X, y, ax=ax)
    yield ClimbDisplay.from_climb(PATH, ax=ax)
    yield ConvergenceDisplay.from_estimator(fitted.auc, ax=ax)


def test_nothing_is_cut_off_and_the_legend_covers_no_axes(fitted):
    for display in displays(fitted):
        figure, ax = display.figure_, display.ax_
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        page = figure.bbox.padded(1)
        name = type(display).__name__
        pieces = [ax.xaxis.label, ax.yaxis.label, *ax.texts]
        if ax.get_legend() is not None:
            box = ax.get_legend().get_window_extent(renderer)
            assert not ax.bbox.overlaps(box), name
            label = ax.xaxis.label.get_window_extent(renderer)
            assert not label.overlaps(box), name
            pieces += ax.get_legend().get_texts()
        for piece in pieces:
            box = piece.get_window_extent(renderer)
            assert page.x0 <= box.x0 <= box.x1 <= page.x1, (name, piece)
            assert page.y0 <= box.y0 <= box.y1 <= page.y1, (name, piece)


def test_displays_draw_on_the_axes_they_are_given(fitted):
    figure, ax = plt.subplots()
    for display in displays(fitted, ax):
        assert display.ax_ is ax
        assert display.figure_ is figure
    again = ROCDisplay.from_predictions(fitted.y, fitted.X[:, 0], band=None)
    assert again.plot() is again
    assert again.ax_ is not ax


def test_lines_of_several_models_differ_without_colour(fitted):
    scores = {str(k): fitted.X[:, 0] + k * fitted.X[:, 1] for k in range(5)}
    display = ROCComparisonDisplay.from_predictions(fitted.y, scores)
    dashes = [str(line._dash_pattern) for line in display.lines_]
    assert len(set(dashes)) == 5


def test_the_roc_display_marks_where_predict_cuts(fitted):
    X, y = fitted.X, fitted.y
    for model in (fitted.auc, fitted.bayes):
        display = ROCDisplay.from_estimator(model, X, y, band=None)
        called = model.predict(X) == "sick"
        assert display.point == (
            pytest.approx(called[y == "fine"].mean()),
            pytest.approx(called[y == "sick"].mean()),
        )
    s = X[:, 0]
    cut = threshold_for(y, s, fpr=0.1)
    display = ROCDisplay.from_predictions(y, s, threshold=cut, random_state=0)
    assert display.point[0] == pytest.approx(np.mean(s[y == "fine"] > cut))
    assert display.interval == auc_confidence_interval(y, s)
    np.testing.assert_array_equal(
        display.band.low, roc_band(y, s, kind="pointwise", random_state=0).low
    )


def test_a_threshold_on_a_score_counts_that_score_below():
    display = ROCDisplay.from_predictions([0, 0, 1, 1], [1, 3, 2, 4], threshold=2.0, band=None)
    assert display.point == (0.5, 0.5)


def test_the_positive_label_can_be_the_other(fitted):
    display = ROCDisplay.from_estimator(
        fitted.bayes, fitted.X, fitted.y, pos_label="fine", band=None
    )
    straight = ROCDisplay.from_estimator(fitted.bayes, fitted.X, fitted.y, band=None)
    assert display.interval.auc == pytest.approx(straight.interval.auc)
    assert ScoreDisplay.from_estimator(
        fitted.bayes, fitted.X, fitted.y, pos_label="fine"
    ).labels == ("sick", "fine")


def test_path_displays_read_what_the_estimators_document(fitted):
    rls = SimpleNamespace(lams_=ALPHAS, cv_auc_=1 - ALPHAS, lam_=ALPHAS[0])
    display = CVAUCDisplay.from_estimator(rls)
    assert display.std is None
    assert display.ax_.get_xlabel() == "lambda"
    pipe = make_pipeline(StandardScaler(), AUCClassifier()).fit(fitted.X, fitted.y)
    display = ConvergenceDisplay.from_estimator({"pipe": pipe, "bare": fitted.auc})
    assert len(display.lines_) == 2
    assert display.tol == 1e-6
    assert display.lines_[1].get_ydata()[-1] == fitted.auc.history_[-1][2]
    with pytest.raises(ValueError, match="GaussianNB has no history_"):
        ConvergenceDisplay.from_estimator(fitted.bayes)
    with pytest.raises(ValueError, match="has no alphas_"):
        CoefficientPathDisplay.from_estimator(LogisticRegression())


def test_only_the_strongest_coefficients_are_named():
    display = CoefficientPathDisplay.from_path(
        ALPHAS, COEFS, chosen=ALPHAS[2], n_named=2, feature_names=list("abcde")
    )
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["a", "b"]
    assert len(display.lines_) == 5


@pytest.mark.parametrize("kind", ["dict", "frame", "structured"])
def test_a_climb_comes_in_any_table(kind):
    path = PATH
    if kind == "frame":
        path = pd.DataFrame(PATH)
    if kind == "structured":
        path = np.zeros(8, dtype=[(name, float) for name in PATH])
        for name, column in PATH.items():
            path[name] = column
    display = ClimbDisplay.from_climb(path)
    assert display.best_radius == 2.0
    estimator = SimpleNamespace(path_=path)
    assert ClimbDisplay.from_estimator(estimator).best_radius == 2.0


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: CoefficientPathDisplay.from_path([1, 2], [[1, 2]]), "one row for each alpha"),
        (lambda: CoefficientPathDisplay.from_path([1], [[1, 2]], feature_names=["a"]), "1 feature"),
        (lambda: CVAUCDisplay.from_path([1, 2], [0.5]), "mean has 1 values for 2 alphas"),
        (lambda: ClimbDisplay.from_climb({"radius": [1]}), "no column 'subfold'"),
        (lambda: ConvergenceDisplay.from_history([(1, 2)]), r"rows \(seconds"),
        (lambda: ROCComparisonDisplay.from_predictions([0, 1], [[0, 1]]), "mapping"),
        (lambda: ROCDisplay.from_predictions([1, 1], [0, 1]), "only one class"),
        (lambda: ScoreDisplay.from_predictions([0, 1], [0, np.nan]), "nan in row 1"),
    ],
)
def test_wrong_input_gets_a_clear_error(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
