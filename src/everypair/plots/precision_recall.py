"""The precision–recall curve with a band, average precision and a threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.asked import Asked
from everypair.metrics.curve import Curve
from everypair.metrics.interval import Interval
from everypair.metrics.precision_recall import (
    PrecisionRecallBand,
    average_precision,
    precision_recall_band,
)
from everypair.metrics.thresholds import Cut, chosen_cut
from everypair.plots._axes import RING, if_any, short
from everypair.plots._curves import REFERENCE_LINE, CurveDisplay
from everypair.rows import Array, Rows


class PrecisionRecallDisplay(CurveDisplay):
    """Precision against recall over all cuts, with a band.

    Parameters
    ----------
    recall : array
        Recall of each cut, ascending.
    precision : array
        Precision of each cut.
    prevalence : float
        Share of positives, the precision of chance.
    interval : Interval, default=None
        Average precision, for the legend.
    band : PrecisionRecallBand, default=None
        Confidence band.
    cut : Cut, default=None
        The threshold to mark.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    ROCDisplay : The same cuts by false positive rate.
    everypair.metrics.average_precision : The area with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import PrecisionRecallDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> s = rng.normal(size=500) + 1.5 * y
    >>> display = PrecisionRecallDisplay.from_predictions(y, s, name="model")
    >>> print(display.line_.get_label())
    model: average precision 0.655 [0.553, 0.745]
    """

    def __init__(
        self,
        *,
        recall: Array,
        precision: Array,
        prevalence: float,
        interval: Interval | None = None,
        band: PrecisionRecallBand | None = None,
        cut: Cut | None = None,
        name: str | None = None,
    ):
        self.recall, self.precision, self.prevalence = recall, precision, prevalence
        self.interval, self.band, self.cut, self.name = interval, band, cut, name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        threshold: float | None = None,
        band: bool = True,
        level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        n_bootstrap: int = 500,
        random_state: Any = 0,
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
        band : bool, default=True
            Draw a band, by a bootstrap.
        level : float, default=0.95
            Confidence level of the band at one recall, and of the average precision.
        {sample_weight}
        {groups}
        n_bootstrap : int, default=500
            Replicates of the band.
        random_state : int, RandomState or None, default=0
            Seed of the band.
        {pos_label}
        name : str, default=None
            For the legend.
        {ax}
        {line}

        {display}
        """
        shared: dict[str, Any] = {
            "level": level, "sample_weight": sample_weight, "groups": groups,
            "pos_label": pos_label,
        }  # fmt: skip
        rows = Rows.of(y_true, sample_weight, pos_label)
        scores = rows.scores(y_score)
        curve = Curve.of(rows, scores)
        drawn = {"n_bootstrap": n_bootstrap, "random_state": random_state}
        region = if_any(precision_recall_band, y_true, y_score, **drawn, **shared) if band else None
        hits, alarms = rows.totals
        above = curve.tp[1:] + curve.skew * curve.fp[1:]
        display = cls(
            recall=curve.tpr[1:],
            precision=curve.tp[1:] / above,
            prevalence=hits / (hits + alarms),
            interval=if_any(average_precision, y_true, y_score, **shared),
            band=region,
            cut=None if threshold is None else chosen_cut(Asked.of(threshold), rows, scores),
            name=name,
        )
        return display.plot(ax=ax, **line)

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        if first:
            self.ax_.axhline(self.prevalence, **REFERENCE_LINE, label="chance")
            self.ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
            self.ax_.set(xlabel="Recall", ylabel="Precision")
        if self.band is not None:
            self._band(self.band.recall, self.band.low, self.band.high, self.band.level, look)
        label = short(self.name or "Model")
        if self.interval is not None:
            label += f": average precision {self.interval}"
        # Steps: between two cuts the recall of the lower comes with its own precision.
        recall = np.concatenate([[0.0], self.recall])
        precision = np.concatenate([self.precision[:1], self.precision])
        (self.line_,) = self.ax_.plot(
            recall, precision, drawstyle="steps-pre", **{"label": label, **look}
        )
        if self.cut is not None:
            self.ax_.plot(
                self.cut.recall, self.cut.precision, **RING, markeredgecolor=look["color"],
                label=f"threshold {self.cut.threshold:.3g}: recall {self.cut.recall:.3f}, "
                f"precision {self.cut.precision:.3f}",
            )  # fmt: skip
