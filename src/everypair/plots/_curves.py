"""What displays share: texts, a way to draw; and for the curve of one model how it comes from an
estimator, lies beside others on one axis, and has a band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.described import fill_in_class
from everypair.metrics._texts import TEXTS as OF_METRICS
from everypair.metrics.cross_val import cut_of, scores_of
from everypair.plots._axes import axes, legend, line_options, shade
from everypair.rows import Array

REFERENCE = "everypair: reference"
REFERENCE_LINE: dict[str, Any] = {
    "color": "0.55", "linewidth": 1, "linestyle": (0, (2, 3)), "gid": REFERENCE,
}  # fmt: skip


TEXTS = {
    **OF_METRICS,
    "fitted": """
estimator : fitted classifier
    With `decision_function` or `predict_proba`.
X : array, data frame or sparse matrix of shape (n_rows, n_features)
    Rows to score.
y : array of shape (n_rows,)
    Two distinct labels.
""",
    "ax": """
ax : matplotlib axes, default={ax}
    Where to draw; None makes a new figure.
""",
    "line": """
**line : keyword arguments
    Options of the curve, as for matplotlib's ``plot``.
""",
    "display": """
Returns
-------
display
    The display, drawn.
""",
}


class Display:
    """Numbers that are kept, and drawn by `plot`."""

    figure_: Any
    ax_: Any
    _inches: ClassVar[tuple[float, float]] = (6.0, 4.2)
    _legend_at: ClassVar[str] = "best"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fill_in_class(cls, TEXTS)


class Chart(Display):
    """A display that has its axes to itself."""

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on a new figure.

        Parameters
        ----------
        {ax}

        {display}
        """
        self.figure_, self.ax_ = axes(ax, *self._inches)
        self._draw()
        legend(self.ax_, ax, inside=self._legend_at)
        return self

    def _draw(self) -> None:
        raise NotImplementedError


class CurveDisplay(Display):
    """A curve of one model. Several are drawn on one axis by giving them the same ``ax``."""

    from_predictions: Any
    name: str | None
    line_: Any
    _inches = (5.4, 4.2)
    _kind: ClassVar[str]
    """The mark of this kind of curve on an axis."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_kind" not in vars(cls):
            cls._kind = f"everypair: {cls.__name__}"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, pos_label: Any = None,
        name: str | None = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the curve of a fitted classifier.

        Where the display marks a threshold, it is the one where `predict` cuts.

        Parameters
        ----------
        estimator : fitted classifier
            With `decision_function` or `predict_proba`; displays of probabilities need the latter.
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            Rows to score.
        y : array of shape (n_rows,)
            Two distinct labels.
        {pos_label}
        name : str, default=None
            For the legend; None is the name of the class.
        **options : keyword arguments
            Options of `from_predictions`.

        {display}
        """
        name = type(estimator).__name__ if name is None else name
        values, more = cls._predicted(estimator, X, pos_label)
        return cls.from_predictions(
            y, values, pos_label=pos_label, name=name, **{**more, **options}
        )

    @classmethod
    def _predicted(cls, estimator: Any, X: Any, pos_label: Any) -> tuple[Array, dict[str, Any]]:
        scores = scores_of(estimator, X, pos_label)
        return scores, {"threshold": cut_of(estimator, X, scores, pos_label)}

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw on ``ax`` or on a new figure.

        Parameters
        ----------
        {ax}
        {line}

        {display}
        """
        self.figure_, self.ax_ = axes(ax, *self._inches)
        before = [one.get_gid() for one in self.ax_.lines].count(self._kind)
        self._draw({**line_options(before, line), "gid": self._kind}, before == 0)
        legend(self.ax_, ax, inside=self._legend_at)
        return self

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        """The curve, with what the first of its kind on these axes has beside it."""
        raise NotImplementedError

    def _band(
        self, x: Array, low: Array, high: Array, level: float, look: Mapping[str, Any],
        kind: str = "interval at each point",
    ) -> None:  # fmt: skip
        shade(self.ax_, x, low, high, look["color"], f"{100 * level:g} % {kind}")


class ProbabilityDisplay(CurveDisplay):
    """A curve of the probabilities of one model."""

    @classmethod
    def _predicted(cls, estimator: Any, X: Any, pos_label: Any) -> tuple[Array, dict[str, Any]]:
        if not hasattr(estimator, "predict_proba"):
            ours = "calibration" in getattr(estimator, "get_params", dict)()
            remedy = (
                "set calibration='auto' and fit again"
                if ours
                else "wrap it in sklearn.calibration.CalibratedClassifierCV"
            )
            raise ValueError(f"{type(estimator).__name__} has no predict_proba: {remedy}.")
        scores_of(estimator, X[:1], pos_label)  # the same checks of classes and label
        second = pos_label is None or pos_label == estimator.classes_[1]
        return np.asarray(estimator.predict_proba(X)[:, int(second)], dtype=np.float64), {}
