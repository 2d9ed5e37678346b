"""Displays: what they store is right, what they draw is inside the picture and apart."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from everypair import AUCRLSCV, AUCClassifier, AUCClassifierCV, RankOpt, RankOptCV, auc_path
from everypair.metrics import auc_confidence_interval, roc_band, threshold_for
from everypair.metrics.cross_val import scores_of
from everypair.plots import (
    CalibrationDisplay,
    ClimbDisplay,
    CoefficientPathDisplay,
    ConvergenceDisplay,
    CostDisplay,
    CVAUCDisplay,
    GainDisplay,
    LiftDisplay,
    NetBenefitDisplay,
    PrecisionRecallDisplay,
    ROCComparisonDisplay,
    ROCDisplay,
    ScoreDisplay,
)
from everypair.plots._axes import CHANCE

mpl.use("Agg")
import matplotlib.pyplot as plt

ALPHAS = np.logspace(-3, 0, 7)
COEFS = np.outer(np.array([3.0, -2.0, 1.0, 0.1, 0.0]), 1 - np.linspace(0, 1, 7))
PATH = {
    "subfold": np.repeat([0, 1], 4),
    "saturation": np.tile([0.1, 0.3, 0.5, 0.9], 2),
    "training": np.linspace(0.7, 0.9, 8),
    "validation": np.array([0.6, 0.8, 0.7, np.nan, 0.6, 0.9, 0.7, np.nan]),
}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0.5, "sick", "fine")
    return SimpleNamespace(
        X=X,
        y=y,
        auc=AUCClassifier().fit(X, y),
        path=auc_path(X, y, n_alphas=20),
        bayes=GaussianNB().fit(X, y),
        cv=AUCClassifierCV(penalty="elasticnet", cv=3, n_alphas=8, l1_ratio=[0.5, 1.0]).fit(X, y),
        rls=AUCRLSCV().fit(X, y),
        climb=RankOpt().fit(X, y),
        subfolds=RankOpt(pairs="linear", n_subfolds=3, random_state=0).fit(X, y),
        climb_cv=RankOptCV(saturation=(0.1, 0.5, 0.9), cv=3).fit(X, y),
    )


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


LONG = [f"a pipeline with many steps and a quite long name, which is number {k}" for k in range(6)]


def draws(fitted):
    """Every kind of picture, of models as they are fitted: functions of the axes to draw on."""
    X, y = fitted.X, fitted.y
    classes = np.where(y == "sick", "patients with a poor outcome at six months", "all the others")
    return [
        lambda ax: ROCDisplay.from_estimator(fitted.auc, X, y, ax=ax),
        lambda ax: ROCDisplay.from_estimator(fitted.bayes, X, y, band="simultaneous", ax=ax),
        lambda ax: ROCComparisonDisplay.from_estimator(
            dict.fromkeys(LONG, fitted.auc), X, y, ax=ax
        ),
        lambda ax: CoefficientPathDisplay.from_estimator(fitted.cv, ax=ax),
        lambda ax: CoefficientPathDisplay.from_path(fitted.path, feature_names=LONG[:3], ax=ax),
        lambda ax: CVAUCDisplay.from_estimator(fitted.cv, ax=ax),
        lambda ax: CVAUCDisplay.from_estimator(fitted.rls, ax=ax),
        lambda ax: CVAUCDisplay.from_estimator(fitted.climb_cv, ax=ax),
        lambda ax: ScoreDisplay.from_estimator(fitted.auc, X, y, ax=ax),
        lambda ax: ScoreDisplay.from_predictions(classes, X[:, 0], threshold=0.1, ax=ax),
        lambda ax: ClimbDisplay.from_climb(PATH, ax=ax),
        lambda ax: ClimbDisplay.from_estimator(fitted.climb, ax=ax),
        lambda ax: ClimbDisplay.from_estimator(fitted.subfolds, ax=ax),
        lambda ax: ClimbDisplay.from_estimator(fitted.climb_cv, ax=ax),
        lambda ax: ConvergenceDisplay.from_estimator({LONG[0]: fitted.auc, "b": fitted.cv}, ax=ax),
        lambda ax: GainDisplay.from_estimator(fitted.auc, X, y, name=LONG[0], ax=ax),
        lambda ax: LiftDisplay.from_estimator(fitted.auc, X, y, name=LONG[0], ax=ax),
        lambda ax: PrecisionRecallDisplay.from_estimator(fitted.auc, X, y, name=LONG[0], ax=ax),
        lambda ax: CalibrationDisplay.from_estimator(fitted.bayes, X, y, name=LONG[0], ax=ax),
        lambda ax: CostDisplay.from_estimator(fitted.auc, X, y, cost=(1, 5), name=LONG[0], ax=ax),
        lambda ax: NetBenefitDisplay.from_estimator(fitted.bayes, X, y, name=LONG[0], ax=ax),
    ]


def inside(page, box):
    return page.x0 <= box.x0 <= box.x1 <= page.x1 and page.y0 <= box.y0 <= box.y1 <= page.y1


def test_nothing_is_cut_off_and_the_legend_covers_no_axes(fitted):
    for draw in draws(fitted):
        display = draw(None)
        figure, ax = display.figure_, display.ax_
        figure.draw_without_rendering()
        renderer = figure.canvas.get_renderer()
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
            assert inside(figure.bbox.padded(1), box), (name, piece)
        plt.close(figure)


@pytest.mark.slow
def test_on_an_ordinary_figure_the_legend_is_whole_and_covers_no_other_axes(fitted):
    for draw in draws(fitted):
        figure, grid = plt.subplots(2, 2, figsize=(9, 7))
        display = draw(grid[0, 0])
        figure.draw_without_rendering()
        ax, name = display.ax_, type(display).__name__
        box = ax.get_legend().get_window_extent()
        assert inside(figure.bbox, box), name
        assert box.overlaps(ax.bbox), name
        others = [other.get_tightbbox() for other in grid.flat if other is not ax]
        assert not any(box.overlaps(other) for other in others), name
        plt.close(figure)


def test_displays_draw_on_the_axes_they_are_given(fitted):
    figure, ax = plt.subplots()
    for draw in draws(fitted):
        display = draw(ax)
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
        display.band.low, roc_band(y, s, kind="pointwise", n_bootstrap=500, random_state=0).low
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


def test_the_path_of_a_fitted_model_is_its_own(fitted):
    cv = fitted.cv
    row = cv.l1_ratios_ == cv.l1_ratio_
    display = CoefficientPathDisplay.from_estimator(cv)
    np.testing.assert_array_equal(display.alphas, cv.alphas_[row])
    assert display.coefs.shape == (3, 8)
    at = np.flatnonzero(display.alphas == cv.alpha_)[0]
    np.testing.assert_array_equal(display.coefs[:, at], cv.coef_[0])
    last = AUCClassifier(
        penalty="elasticnet", l1_ratio=cv.l1_ratio_, alpha=display.alphas[-1], tol=1e-8
    ).fit(fitted.X, fitted.y)
    np.testing.assert_allclose(display.coefs[:, -1], last.coef_[0], atol=1e-3)
    assert display.chosen == cv.alpha_


def test_a_path_has_a_row_for_each_feature(fitted):
    """As many alphas as features: only one way round is right."""
    path = auc_path(fitted.X, fitted.y, n_alphas=3, eps=0.1)
    display = CoefficientPathDisplay.from_path(path)
    np.testing.assert_array_equal(display.coefs, path.coefs)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[0] == f"feature {np.argmax(np.abs(path.coefs[:, -1]))}"
    pair = CoefficientPathDisplay.from_path(path.alphas, path.coefs)
    np.testing.assert_array_equal(pair.coefs, display.coefs)


def test_cross_validated_areas_are_those_of_the_fitted_models(fitted):
    cv, row = fitted.cv, fitted.cv.l1_ratios_ == fitted.cv.l1_ratio_
    display = CVAUCDisplay.from_estimator(cv)
    np.testing.assert_allclose(display.mean, cv.cv_fold_scores_[row].mean(axis=1))
    np.testing.assert_allclose(display.std, cv.cv_fold_scores_[row].std(axis=1))
    assert (display.chosen, display.symbol) == (cv.alpha_, "alpha")
    display = CVAUCDisplay.from_estimator(fitted.rls)
    np.testing.assert_array_equal(display.mean, fitted.rls.cv_scores_)
    assert (display.std, display.ax_.get_xlabel()) == (None, "alpha")
    display = CVAUCDisplay.from_estimator(fitted.climb_cv)
    np.testing.assert_allclose(display.mean, fitted.climb_cv.cv_scores_)
    assert display.ax_.get_xscale() == "linear"
    assert display.chosen == fitted.climb_cv.saturation_


def test_convergence_of_pipelines_and_of_several_models(fitted):
    pipe = make_pipeline(StandardScaler(), AUCClassifier()).fit(fitted.X, fitted.y)
    display = ConvergenceDisplay.from_estimator({"pipe": pipe, "cv": fitted.cv, "bare": fitted.auc})
    assert len(display.lines_) == 3
    assert display.tol == 1e-6
    assert display.lines_[2].get_ydata()[-1] == fitted.auc.history_[-1][2]
    assert display.lines_[1].get_ydata()[-1] <= 1e-6
    latest = max(line.get_xdata()[-1] for line in display.lines_)
    assert display.ax_.get_xlim()[1] > 1.01 * latest  # the last marker is whole


def test_a_missing_attribute_or_fit_is_told_apart(fitted):
    with pytest.raises(ValueError, match="GaussianNB has no history_"):
        ConvergenceDisplay.from_estimator(fitted.bayes)
    with pytest.raises(ValueError, match=r"RankOpt has no history_: .*ClimbDisplay"):
        ConvergenceDisplay.from_estimator(fitted.climb)
    with pytest.raises(ValueError, match=r"has no coefs_: draw from_path\(auc_path"):
        CoefficientPathDisplay.from_estimator(fitted.auc)
    with pytest.raises(ValueError, match="has no cross-validated scores"):
        CVAUCDisplay.from_estimator(fitted.auc)
    for draw in (
        lambda: ConvergenceDisplay.from_estimator(AUCClassifier()),
        lambda: CoefficientPathDisplay.from_estimator(AUCClassifierCV()),
        lambda: ROCDisplay.from_estimator(AUCClassifier(), fitted.X, fitted.y),
        lambda: ScoreDisplay.from_estimator(LogisticRegression(), fitted.X, fitted.y),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            draw()
    with pytest.raises(ValueError, match=r"Model 'new': .*not fitted yet"):
        ROCComparisonDisplay.from_estimator({"new": AUCClassifier()}, fitted.X, fitted.y)


def test_features_of_a_pipeline_are_those_its_last_step_sees(fitted):
    frame = pd.DataFrame(fitted.X, columns=["a", "b", "c"])
    turn = ColumnTransformer([("cb", "passthrough", ["c", "b"]), ("a", "passthrough", ["a"])])
    model = AUCClassifierCV(penalty="l1", cv=3, n_alphas=5)
    for first, strongest in (
        (turn, "a__a"),
        (clone(turn).set_output(transform="pandas"), "a__a"),
        (FunctionTransformer(np.asarray), "feature 0"),
    ):
        pipe = make_pipeline(first, clone(model)).fit(frame, fitted.y)
        legend = CoefficientPathDisplay.from_estimator(pipe).ax_.get_legend()
        assert legend.get_texts()[0].get_text() == strongest


def test_two_curves_on_one_axis_differ_and_share_the_line_of_chance(fitted):
    ax = plt.subplots()[1]
    one = ROCDisplay.from_predictions(fitted.y, fitted.X[:, 0], ax=ax)
    two = ROCDisplay.from_predictions(fitted.y, fitted.X[:, 1], ax=ax)
    three = ROCComparisonDisplay.from_predictions(fitted.y, {"c": fitted.X[:, 2]}, ax=ax)
    lines = [one.line_, two.line_, *three.lines_]
    assert len({line.get_color() for line in lines}) == 3
    assert len({str(line._dash_pattern) for line in lines}) == 3
    assert sum(line.get_gid() == CHANCE for line in ax.lines) == 1


def test_short_names_of_matplotlibs_options_work(fitted):
    display = ROCDisplay.from_predictions(
        fitted.y, fitted.X[:, 0], band=None, c="red", ls=":", lw=3, label="mine"
    )
    line = display.line_
    assert (line.get_color(), line.get_linestyle(), line.get_linewidth()) == ("red", ":", 3)
    assert line.get_label() == "mine"


class Striped(ClassifierMixin, BaseEstimator):
    """Predicts what no cut of its scores predicts."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(np.abs(X[:, 0]) < 1).astype(int)]


def test_the_mark_is_where_predict_cuts_or_is_left_out(fitted):
    X, y = fitted.X, fitted.y
    logistic = LogisticRegression().fit(X, y)
    for share in (0.2, 0.8, 0.0, 1.0):
        model = FixedThresholdClassifier(logistic, threshold=share, response_method="predict_proba")
        model.fit(X, y)
        called = model.predict(X) == "sick"
        display = ROCDisplay.from_estimator(model, X, y, band=None)
        assert display.point == (
            pytest.approx(called[y == "fine"].mean()),
            pytest.approx(called[y == "sick"].mean()),
        )
        cut = ScoreDisplay.from_estimator(model, X, y).threshold
        assert np.array_equal(scores_of(model, X) > cut, called)
    striped = Striped().fit(X, y)
    assert ROCDisplay.from_estimator(striped, X, y, band=None).point is None
    assert ScoreDisplay.from_estimator(striped, X, y).threshold is None


def test_a_curve_without_an_interval_is_still_drawn(fitted):
    X, y = fitted.X, fitted.y
    dummy = DummyClassifier().fit(X, y)
    assert ROCDisplay.from_estimator(dummy, X, y).line_.get_label() == "DummyClassifier: AUC 0.500"
    one = ROCDisplay.from_predictions([0, 0, 0, 1], [1, 2, 3, 2.5])
    assert (one.interval, one.band) == (None, None)
    above = ROCDisplay.from_predictions([0, 0, 0, 1], [1, 2, 3, 4])
    assert (above.interval.auc, above.band) == (1.0, None)  # separated: known by one pair
    both = ROCComparisonDisplay.from_estimator({"model": fitted.auc, "chance": dummy}, X, y)
    assert both.intervals["chance"] is None
    assert both.lines_[1].get_label() == "chance: AUC 0.500"


def test_models_come_as_a_data_frame_too(fitted):
    frame = pd.DataFrame(fitted.X, columns=["a", "b", "c"])
    display = ROCComparisonDisplay.from_predictions(fitted.y, frame)
    assert list(display.intervals) == ["a", "b", "c"]


def test_the_band_is_the_same_each_time_and_its_samples_can_be_fewer(fitted):
    one, two = (ROCDisplay.from_predictions(fitted.y, fitted.X[:, 0]) for _ in range(2))
    np.testing.assert_array_equal(one.band.low, two.band.low)
    few = ROCDisplay.from_predictions(fitted.y, fitted.X[:, 0], n_bootstrap=20)
    assert not np.array_equal(few.band.low, one.band.low)


def test_classes_of_no_weight_lend_no_name():
    display = ScoreDisplay.from_predictions(
        [0, 0, 1, 1, 2, 2], [1, 2, 3, 4, 5, 6], sample_weight=[0, 0, 1, 1, 1, 1]
    )
    assert display.labels == ("1", "2")


def test_only_the_strongest_coefficients_are_named():
    display = CoefficientPathDisplay.from_path(
        ALPHAS, COEFS, chosen=ALPHAS[2], n_named=2, feature_names=list("abcde")
    )
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["a", "b", "chosen alpha = 0.01"]
    assert len(display.lines_) == 4  # the fifth is zero all along


@pytest.mark.parametrize("kind", ["dict", "frame", "structured"])
def test_a_climb_comes_in_any_table(kind):
    path = PATH
    if kind == "frame":
        path = pd.DataFrame(PATH)
    if kind == "structured":
        path = np.zeros(8, dtype=[(name, float) for name in PATH])
        for name, column in PATH.items():
            path[name] = column
    assert ClimbDisplay.from_climb(path).best_saturation == 0.3


def test_a_climb_is_averaged_over_subfolds_of_different_radii(fitted):
    path = pd.DataFrame(fitted.subfolds.path_)
    assert path.groupby("saturation").radius.nunique().max() == 3
    display = ClimbDisplay.from_estimator(fitted.subfolds)
    shares, means = display.mean("validation")
    np.testing.assert_allclose(means, path.groupby("saturation").validation.mean())
    assert display.best_saturation == shares[np.argmax(means)]
    assert len(shares) == 10
    again = ClimbDisplay.from_climb(path)
    np.testing.assert_array_equal(again.mean("training")[1], display.mean("training")[1])


def test_a_climb_of_one_step_is_seen(fitted):
    model = RankOpt(saturation=0.5).fit(fitted.X, fitted.y)
    display = ClimbDisplay.from_estimator(model)
    assert [line.get_marker() for line in display.ax_.lines] == ["o"]
    chosen = ClimbDisplay.from_estimator(fitted.climb_cv)
    assert chosen.best_saturation == fitted.climb_cv.saturation_


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: CoefficientPathDisplay.from_path([1, 2], [[1], [2]]), "one row for each "),
        (
            lambda: CoefficientPathDisplay.from_path([1], [[1], [2]], feature_names=["a"]),
            "1 feature",
        ),
        (lambda: CVAUCDisplay.from_path([1, 2], [0.5]), "mean has 1 values for 2 alphas"),
        (lambda: ClimbDisplay.from_climb({"radius": [1]}), "no column 'subfold'"),
        (lambda: ClimbDisplay.from_climb([]), "path is empty"),
        (lambda: CoefficientPathDisplay.from_path([1, 2]), "auc_path"),
        (lambda: ConvergenceDisplay.from_history([(1, 2)]), r"rows \(seconds"),
        (lambda: ROCComparisonDisplay.from_predictions([0, 1], [[0, 1]]), "mapping"),
        (lambda: ROCDisplay.from_predictions([1, 1], [0, 1]), "only one class"),
        (lambda: ScoreDisplay.from_predictions([0, 1], [0, np.nan]), "nan in row 1"),
    ],
)
def test_wrong_input_gets_a_clear_error(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()


def test_the_areas_of_groups_are_drawn_by_their_weight():
    from everypair.metrics import auc_by_group, auc_score
    from everypair.plots import GroupAUCDisplay

    rng = np.random.default_rng(0)
    within, y = np.repeat(np.arange(30), 5), rng.random(150) < 0.4
    scores = rng.standard_normal(150) + y
    display = GroupAUCDisplay.from_predictions(y, scores, within, within_weight="rows")
    expected = auc_score(y, scores, within=within, within_weight="rows")
    assert display.mean == pytest.approx(expected)
    heights = [patch.get_height() for patch in display.ax_.patches]
    assert sum(heights) == pytest.approx(1)
    without = 30 - auc_by_group(y, scores, within).auc.size
    labels = display.ax_.get_legend_handles_labels()[1]
    assert any(f"{without} more without a pair" in label for label in labels)
