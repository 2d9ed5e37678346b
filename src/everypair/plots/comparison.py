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
    legend,
    named,
    roc_axes,
    roc_label,
    style,
)
from everypair.rows import Array, Rows


class ROCComparisonDisplay:
    """ROC curves of several models.

    Parameters
    ----------
    curves : mapping of a name to (fpr, tpr)
    intervals : mapping of a name to its AUCInterval, or to None

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import ROCComparisonDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> scores = {"good": rng.normal(size=100) + 2 * y, "fair": rng.normal(size=100) + y}
    >>> display = ROCComparisonDisplay.from_predictions(y, scores)
    >>> [line.get_label() for line in display.lines_]
    ['good: AUC 0.916 [0.848, 0.956]', 'fair: AUC 0.732 [0.623, 0.818]']
    """

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
        """Draw the curves of fitted classifiers, given by name."""
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
        y: ArrayLike,
        scores: Any,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        level: float = 0.95,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of scores, given by name or as columns of a data frame.

        A model whose scores are all equal has a curve but no interval.
        """
        rows = Rows.of(y, sample_weight, pos_label)
        curves, intervals = {}, {}
        for name, s in named(scores, "scores").items():
            curve = Curve.of(rows, rows.scores(s, f"scores[{name!r}]"))
            curves[name] = curve.fpr, curve.tpr
            intervals[name] = if_any(
                auc_confidence_interval,
                y,
                s,
                level=level,
                sample_weight=sample_weight,
                groups=groups,
                pos_label=pos_label,
            )
        return cls(curves=curves, intervals=intervals).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on a new figure."""
        self.figure_, self.ax_, before = roc_axes(ax, 5.0, 4.9)
        self.lines_ = []
        for number, (name, curve) in enumerate(self.curves.items(), start=before):
            label = roc_label(name, *curve, self.intervals[name])
            self.lines_ += self.ax_.plot(*curve, label=label, gid=ROC_CURVE, **style(number))
        legend(self.ax_, ax, inside="lower right")
        return self
