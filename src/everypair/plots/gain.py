"""How many of the positives the top of a ranking holds: gain and lift curves with bands."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.gain import Gain, gain_curve
from everypair.plots._axes import RING, short
from everypair.plots._curves import REFERENCE_LINE, CurveDisplay
from everypair.rows import Rows

TOP_OF_LEGEND = 0.1
"""The top of the rows that the legend speaks of."""


class GainDisplay(CurveDisplay):
    """Share of all positives among the rows of highest score, against the share of the rows.

    Parameters
    ----------
    curve : Gain
        Arrays of `everypair.metrics.gain_curve`.
    prevalence : float
        Share of positives, where the best curve reaches 1.
    point : tuple (share, gain), default=None
        Where a threshold lies on the curve.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    LiftDisplay : The same as a multiple of the average.
    everypair.metrics.gain_at_k : One point with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import GainDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> display = GainDisplay.from_predictions(y, rng.normal(size=500) + 1.5 * y, name="model")
    >>> print(display.line_.get_label().replace("\\u00a0", " "))
    model: the top 10 % of the rows have 38 % of the positives
    """

    _legend_at = "lower right"

    def __init__(
        self,
        *,
        curve: Gain,
        prevalence: float,
        point: tuple[float, float] | None = None,
        name: str | None = None,
    ):
        self.curve, self.prevalence, self.point, self.name = curve, prevalence, point, name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        threshold: float | None = None,
        level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        {scores}
        threshold : float, default=None
            The cut ``score > threshold`` to mark.
        level : float, default=0.95
            Confidence level of the band at one share of the rows.
        {sample_weight}
        {groups}
        {pos_label}
        name : str, default=None
            For the legend.
        {ax}
        {line}

        {display}
        """
        rows = Rows.of(y_true, sample_weight, pos_label)
        scores = rows.scores(y_score)
        curve = gain_curve(
            y_true, y_score, level=level, sample_weight=sample_weight, groups=groups,
            pos_label=pos_label,
        )  # fmt: skip
        hits, alarms = rows.totals
        point = None
        if threshold is not None:
            above = scores > threshold
            recall, fpr = (float(rows.share[m] @ above[m]) for m in (rows.positive, ~rows.positive))
            point = (hits * recall + alarms * fpr) / (hits + alarms), recall
        display = cls(curve=curve, prevalence=hits / (hits + alarms), point=point, name=name)
        return display.plot(ax=ax, **line)

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        if first:
            self.ax_.plot([0, 1], [0, 1], **REFERENCE_LINE)
            best = [0, self.prevalence, 1], [0, 1, 1]
            self.ax_.plot(*best, **REFERENCE_LINE | {"linestyle": "-"}, label="best possible")
            self.ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
            self.ax_.set(
                xlabel="Share of rows, highest scores first", ylabel="Share of all positives"
            )
        curve = self.curve
        share, gain = (np.concatenate([[0.0], of, [1.0]]) for of in (curve.share, curve.gain))
        low, high = (np.concatenate([[0.0], of, [1.0]]) for of in (curve.low, curve.high))
        self._band(share, low, high, curve.level, look)
        top = np.interp(TOP_OF_LEGEND, share, gain)
        label = f"the top {TOP_OF_LEGEND:.0%} of the rows have {top:.0%} of the positives".replace(
            "%", "\u00a0%"
        )
        label = f"{short(self.name or 'Model')}: {label}"
        (self.line_,) = self.ax_.plot(share, gain, **{"label": label, **look})
        if self.point is not None:
            told = f"{self.point[0]:.0%} of the rows, {self.point[1]:.0%} of the positives"
            self.ax_.plot(
                *self.point, **RING, markeredgecolor=look["color"],
                label=f"threshold: {told}".replace("%", "\u00a0%"),
            )  # fmt: skip


class LiftDisplay(GainDisplay):
    """How many times the average share of positives the top of the rows has.

    Parameters
    ----------
    curve : Gain
        Arrays of `everypair.metrics.gain_curve`.
    prevalence : float
        Share of positives; no lift is above ``1 / prevalence``.
    point : tuple (share, gain), default=None
        Where a threshold lies on the gain curve.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    GainDisplay : The same as a share of all positives.
    everypair.metrics.lift_at_k : The lift of one top.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import LiftDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> display = LiftDisplay.from_predictions(y, rng.normal(size=500) + 1.5 * y, name="model")
    >>> print(display.line_.get_label())
    model: lift 3.8 in the top 10 %
    """

    _legend_at = "upper right"

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        curve = self.curve
        if first:
            self.ax_.axhline(1.0, **REFERENCE_LINE)
            self.ax_.plot(
                curve.share, 1 / np.maximum(curve.share, self.prevalence),
                **REFERENCE_LINE | {"linestyle": "-"}, label="best possible",
            )  # fmt: skip
            self.ax_.set(xlim=(-0.01, 1.01))
            self.ax_.set(xlabel="Share of rows, highest scores first", ylabel="Lift")
        highest = max(1.05 / self.prevalence, 1.2)
        self.ax_.set_ylim(0, highest if first else max(highest, self.ax_.get_ylim()[1]))
        self._band(curve.share, curve.lift_low, curve.lift_high, curve.level, look)
        top = np.interp(TOP_OF_LEGEND, curve.share, curve.lift)
        label = (
            f"{short(self.name or 'Model')}: lift {top:.1f} in the top {100 * TOP_OF_LEGEND:.0f} %"
        )
        (self.line_,) = self.ax_.plot(curve.share, curve.lift, **{"label": label, **look})
        if self.point is not None and self.point[0] > 0:
            lift = self.point[1] / self.point[0]
            self.ax_.plot(
                self.point[0], lift, **RING, markeredgecolor=look["color"],
                label=f"threshold: lift {lift:.1f} in the top {100 * self.point[0]:.0f} %",
            )  # fmt: skip
