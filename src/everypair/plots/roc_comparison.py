"""ROC curves of several models on one axis, with intervals in the legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from everypair.metrics.cross_val import scores_of
from everypair.metrics.curve import Curve
from everypair.metrics.inference import AUCInterval, auc_confidence_interval
from everypair.plots._axes import (
    ROC_CURVE,
    if_any,
    named,
    roc_label,
    roc_square,
    style,
)
from everypair.plots._curves import Chart
from everypair.rows import Array, Rows


class ROCComparisonDisplay(Chart):
    """ROC curves of several models.

    Parameters
    ----------
    curves : mapping
        Arrays (fpr, tpr) by the name of the model.
    intervals : mapping
        An AUCInterval or None by the name of the model.

    See Also
    --------
    ROCDisplay : One model, with band and threshold.
    everypair.metrics.compare_models : Tests between the areas.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import ROCComparisonDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> scores = {"good": rng.normal(size=100) + 2 * y, "fair": rng.normal(size=100) + y}
    >>> display = ROCComparisonDisplay.from_predictions(y, scores)
    >>> [line.get_label() for line in display.lines_]
    ['good: AUC 0.916 [0.847, 0.956]', 'fair: AUC 0.732 [0.622, 0.819]']
    """

    _inches = (5.0, 4.9)
    _legend_at = "lower right"

    def __init__(
        self,
        *,
        curves: Mapping[str, tuple[Array, Array]],
        intervals: Mapping[str, AUCInterval | None],
    ):
        self.curves, self.intervals = dict(curves), dict(intervals)

    @classmethod
    def from_estimator(
        cls, estimators: Mapping[str, Any], X: Any, y: ArrayLike, *, pos_label: Any = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the curves of fitted classifiers, given by name.

        Parameters
        ----------
        estimators : mapping
            Fitted classifiers by name.
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            Rows to score.
        y : array of shape (n_rows,)
            Two distinct labels.
        {pos_label}
        **options : keyword arguments
            Options of `from_predictions`.

        {display}
        """
        scores = {}
        for name, model in named(estimators, "estimators").items():
            try:
                scores[name] = scores_of(model, X, pos_label)
            except (ValueError, TypeError) as error:
                raise ValueError(f"Model {name!r}: {error}") from error
        return cls.from_predictions(y, scores, pos_label=pos_label, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_scores: Any,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        level: float = 0.95,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of scores, given by name or as columns of a data frame.

        A model whose scores are all equal has a curve but no interval.

        Parameters
        ----------
        {y_true}
        y_scores : mapping or data frame
            The scores of each model by its name, or a column for each.
        {sample_weight}
        {groups}
        level : float, default=0.95
            Confidence level of the intervals.
        {pos_label}
        {ax}

        {display}
        """
        rows = Rows.of(y_true, sample_weight, pos_label)
        curves, intervals = {}, {}
        for name, y_score in named(y_scores, "y_scores").items():
            curve = Curve.of(rows, rows.scores(y_score, f"y_scores[{name!r}]"))
            curves[name] = curve.fpr, curve.tpr
            intervals[name] = if_any(
                auc_confidence_interval,
                y_true,
                y_score,
                level=level,
                sample_weight=sample_weight,
                groups=groups,
                pos_label=pos_label,
            )
        return cls(curves=curves, intervals=intervals).plot(ax=ax)

    def _draw(self) -> None:
        before = roc_square(self.ax_)
        self.lines_ = []
        for number, (name, curve) in enumerate(self.curves.items(), start=before):
            label = roc_label(name, *curve, self.intervals[name])
            self.lines_ += self.ax_.plot(*curve, label=label, gid=ROC_CURVE, **style(number))
