"""Predicted probabilities beside the shares of positives that were observed."""

from __future__ import annotations

from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from everypair.metrics.calibration import (
    CalibrationBins,
    CalibrationError,
    calibration_bins,
    expected_calibration_error,
)
from everypair.plots._axes import short
from everypair.plots._curves import REFERENCE_LINE, ProbabilityDisplay


class CalibrationDisplay(ProbabilityDisplay):
    """Observed share of positives against the predicted probability, in bins, with a band.

    Parameters
    ----------
    bins : CalibrationBins
        Arrays of `everypair.metrics.calibration_bins`.
    error : CalibrationError, default=None
        Expected calibration error, for the legend.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    NetBenefitDisplay : What the probabilities are worth.
    everypair.metrics.expected_calibration_error : The mean distance from the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> display = CalibrationDisplay.from_predictions(rng.random(2000) < p, p**2, name="squared")
    >>> print(display.line_.get_label())
    squared: calibration error 0.171 [0.152, 0.189]
    """

    _legend_at = "upper left"
    _inches = (5.0, 4.9)

    def __init__(
        self,
        *,
        bins: CalibrationBins,
        error: CalibrationError | None = None,
        name: str | None = None,
    ):
        self.bins, self.error, self.name = bins, error, name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Draw the curve of probabilities.

        Parameters
        ----------
        {probabilities}
        {bins}
        level : float, default=0.95
            Confidence level in one bin, and of the calibration error.
        {sample_weight}
        {pos_label}
        name : str, default=None
            For the legend.
        {ax}
        {line}

        {display}
        """
        options: dict[str, Any] = {
            "n_bins": n_bins, "strategy": strategy, "level": level,
            "sample_weight": sample_weight, "pos_label": pos_label,
        }  # fmt: skip
        display = cls(
            bins=calibration_bins(y_true, y_prob, **options),
            error=expected_calibration_error(y_true, y_prob, **options),
            name=name,
        )
        return display.plot(ax=ax, **line)

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        if first:
            self.ax_.plot([0, 1], [0, 1], **REFERENCE_LINE, label="perfectly calibrated")
            self.ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), box_aspect=1)
            self.ax_.set(xlabel="Predicted probability", ylabel="Observed share of positives")
        bins = self.bins
        self._band(bins.probability, bins.low, bins.high, bins.level, look)
        label = short(self.name or "Model")
        if self.error is not None:
            label += f": calibration error {self.error}"
        (self.line_,) = self.ax_.plot(
            bins.probability, bins.observed,
            **{"label": label, "marker": "o", "markersize": 4, **look},
        )  # fmt: skip
