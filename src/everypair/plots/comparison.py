"""ROC curves of several models on one axis, with intervals in the legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from everypair.metrics._rows import Array, Rows
from everypair.metrics.cross_val import scores_of
from everypair.metrics.curve import Curve
from everypair.metrics.inference import AUCInterval, auc_confidence_interval
from everypair.plots._axes import axes, legend_below, named, square, style


class ROCComparisonDisplay:
    """ROC curves of several models.

    Parameters
    ----------
    curves : mapping of a name to (fpr, tpr)
    intervals : mapping of a name to its AUCInterval

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
        self, *, curves: Mapping[str, tuple[Array, Array]], intervals: Mapping[str, AUCInterval]
    ):
        self.curves, self.intervals = dict(curves), dict(intervals)

    @classmethod
    def from_estimator(
        cls, estimators: Mapping[str, Any], X: Any, y: ArrayLike, *, pos_label: Any = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the curves of fitted classifiers, given by name."""
        models = named(estimators, "estimators")
        scores = {name: scores_of(model, X, pos_label) for name, model in models.items()}
        return cls.from_predictions(y, scores, pos_label=pos_label, **options)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        scores: Mapping[str, ArrayLike],
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        level: float = 0.95,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of scores, given by name."""
        rows = Rows.of(y, sample_weight, pos_label)
        curves, intervals = {}, {}
        for name, s in named(scores, "scores").items():
            curve = Curve.of(rows, rows.scores(s, f"scores[{name!r}]"))
            curves[name] = curve.fpr, curve.tpr
            intervals[name] = auc_confidence_interval(
                y, s, level=level, sample_weight=sample_weight, groups=groups, pos_label=pos_label
            )
        return cls(curves=curves, intervals=intervals).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on a new figure."""
        self.figure_, self.ax_ = axes(ax, 5.0, 5.0 + 0.22 * len(self.curves))
        self.lines_ = []
        for number, (name, (fpr, tpr)) in enumerate(self.curves.items()):
            label = f"{name}: AUC {self.intervals[name]}"
            self.lines_ += self.ax_.plot(fpr, tpr, label=label, **style(number))
        square(self.ax_)
        legend_below(self.ax_)
        return self
