"""The ROC curve of one model, with its band and the chosen threshold."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.bands import ROCBand, roc_band
from everypair.metrics.curve import Curve
from everypair.metrics.inference import AUCInterval, auc_confidence_interval
from everypair.plots._axes import (
    RING,
    ROC_CURVE,
    if_any,
    roc_label,
    roc_square,
)
from everypair.plots._curves import CurveDisplay
from everypair.rows import Array, Rows


class ROCDisplay(CurveDisplay):
    """ROC curve with the area and its interval, a confidence band and the point of a threshold.

    Parameters
    ----------
    fpr : array of shape (n_points,)
        False positive rates of the curve.
    tpr : array of shape (n_points,)
        True positive rates of the curve.
    interval : AUCInterval, default=None
        Area and interval for the legend.
    band : ROCBand, default=None
        Confidence band.
    threshold : float, default=None
        The cut.
    point : tuple (fpr, tpr), default=None
        Where the cut lies on the curve.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    ROCComparisonDisplay : Several models.
    everypair.metrics.roc_band : The band itself.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import ROCDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> display = ROCDisplay.from_predictions(y, rng.normal(size=100) + y, threshold=0.5)
    >>> print(display.interval)
    0.741 [0.633, 0.826]
    """

    _inches = (5.0, 4.9)
    _legend_at = "lower right"
    _kind = ROC_CURVE  # counted together with those of a comparison

    def __init__(
        self,
        *,
        fpr: Array,
        tpr: Array,
        interval: AUCInterval | None = None,
        band: ROCBand | None = None,
        threshold: float | None = None,
        point: tuple[float, float] | None = None,
        name: str | None = None,
    ):
        self.fpr, self.tpr, self.interval, self.band = fpr, tpr, interval, band
        self.threshold, self.point, self.name = threshold, point, name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        band: Literal["pointwise", "simultaneous"] | None = "pointwise",
        level: float = 0.95,
        n_bootstrap: int = 500,
        random_state: Any = 0,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Draw the curve of scores; ``threshold`` marks the cut ``score > threshold``.

        Interval and band are left out where the scores have none (all of them equal, or one row of
        a class).

        Parameters
        ----------
        {scores}
        threshold : float, default=None
            The cut to mark.
        {sample_weight}
        {groups}
        band : {"pointwise", "simultaneous"} or None, default="pointwise"
            As ``kind`` in `everypair.metrics.roc_band`; None draws none. For many rows
            ``"simultaneous"``, which draws no samples, is the quick one.
        level : float, default=0.95
            Confidence level of band and interval.
        n_bootstrap : int, default=500
            Replicates of the pointwise band.
        random_state : int, RandomState or None, default=0
            Seed of the pointwise band.
        {pos_label}
        name : str, default=None
            For the legend.
        {ax}
        {line}

        {display}
        """
        shared: dict[str, Any] = {
            "level": level,
            "sample_weight": sample_weight,
            "groups": groups,
            "pos_label": pos_label,
        }
        rows = Rows.of(y_true, sample_weight, pos_label)
        scores = rows.scores(y_score)
        curve = Curve.of(rows, scores)
        point = None
        if threshold is not None:
            above = int(np.searchsorted(-curve.levels, -threshold, side="left"))
            point = float(curve.fpr[above]), float(curve.tpr[above])
        region = None
        if band is not None:
            drawn = {"n_bootstrap": n_bootstrap, "random_state": random_state}
            region = if_any(roc_band, y_true, y_score, kind=band, **drawn, **shared)
        display = cls(
            fpr=curve.fpr,
            tpr=curve.tpr,
            interval=if_any(auc_confidence_interval, y_true, y_score, **shared),
            band=region,
            threshold=threshold,
            point=point,
            name=name,
        )
        return display.plot(ax=ax, **line)

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        roc_square(self.ax_)
        if (band := self.band) is not None:
            self._band(band.fpr, band.low, band.high, band.level, look, f"band, {band.kind}")
        label = roc_label(self.name or "ROC curve", self.fpr, self.tpr, self.interval)
        (self.line_,) = self.ax_.plot(self.fpr, self.tpr, **{"label": label, **look})
        if self.point is not None:
            self.ax_.plot(
                *self.point,
                **RING,
                markeredgecolor=look["color"],
                label=f"threshold {self.threshold:.3g}: "
                f"FPR {self.point[0]:.3f}, TPR {self.point[1]:.3f}",
            )
