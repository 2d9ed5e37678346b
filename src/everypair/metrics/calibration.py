"""How far probabilities are from shares: bins, expected calibration error, Brier score."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.interval import grouped, probabilities, reach, shares_of, spread
from everypair.rows import Array, Index, Rows

Strategy = Literal["quantile", "uniform"]

N_DRAWS = 20_000
"""Of the noise in the bins, for the lower end of the calibration error; with a fixed seed."""

SURE_STANDARD_ERRORS = 3.0
"""A bin that is off by more standard errors than this is taken to be off in that direction."""


@dataclass(frozen=True)
class CalibrationBins:
    """Predicted probability beside the observed share of positives, in bins.

    Attributes
    ----------
    probability : array of shape (n_bins,)
        Mean predicted probability of each bin that has rows.
    observed : array of shape (n_bins,)
        Share of positives.
    low : array of shape (n_bins,)
        Lower end of the interval of the share in one bin.
    high : array of shape (n_bins,)
        Upper end of it.
    share : array of shape (n_bins,)
        Share of all rows that are in the bin.
    level : float
        Confidence level.

    See Also
    --------
    calibration_bins : Returns it.
    """

    probability: Array
    observed: Array
    low: Array
    high: Array
    share: Array
    level: float


@described
def calibration_bins(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> CalibrationBins:
    """Mean probability and share of positives in bins, with the intervals of the shares.

    The bins are those of scikit-learn's ``calibration_curve``; empty ones are left out. Intervals
    are those of Clopper & Pearson (1934), with weights by Kish's effective sizes.

    Parameters
    ----------
    {probabilities}
    {bins}
    level : float, default=0.95
        Confidence level in one bin.
    {sample_weight}
    {pos_label}

    Returns
    -------
    CalibrationBins
        ``probability``, ``observed``, ``low``, ``high``, ``share`` by bin; ``level``.

    See Also
    --------
    expected_calibration_error : Their mean distance.
    everypair.plots.CalibrationDisplay : Draws them.

    Examples
    --------
    >>> from everypair.metrics import calibration_bins
    >>> calibration_bins([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], n_bins=2).observed
    array([0.33333333, 0.66666667])
    """
    level = check_level(level)
    rows = Rows.of(y_true, sample_weight, pos_label)
    values = probabilities(rows, y_prob)
    bins = _Bins(rows, values, n_bins, strategy)
    size = bins.share**2 / np.bincount(bins.of, bins.weight**2)
    observed = np.clip(bins.observed, 0.0, 1.0)
    tail = (1 - level) / 2

    def lowest(part: Array) -> Array:
        seen = np.maximum(size * part, 1e-12)
        return np.where(part > 0, betaincinv(seen, size * (1 - part) + 1, tail), 0.0)

    low, high = lowest(observed), 1 - lowest(1 - observed)
    return CalibrationBins(bins.probability, observed, low, high, bins.share, level)


class _Bins:
    """Rows in bins of their probabilities; bins without rows do not count."""

    def __init__(self, rows: Rows, values: Array, n_bins: int, strategy: str):
        if not isinstance(n_bins, Integral) or n_bins < 1:
            raise ValueError(f"n_bins={n_bins!r}: use a whole number of at least 1.")
        if strategy == "quantile":
            edges = np.percentile(values, np.linspace(0, 1, int(n_bins) + 1) * 100)
        elif strategy == "uniform":
            edges = np.linspace(0, 1, int(n_bins) + 1)
        else:
            raise ValueError(f"strategy={strategy!r} is not known: use 'quantile' or 'uniform'.")
        inside = np.searchsorted(edges[1:-1], values)
        self.of: Index = np.unique(inside, return_inverse=True)[1]
        self.weight: Array = shares_of(rows)
        self.share: Array = np.bincount(self.of, self.weight)
        self.probability: Array = np.bincount(self.of, self.weight * values) / self.share
        self.observed: Array = np.bincount(self.of, self.weight * rows.positive) / self.share


@dataclass(frozen=True)
class CalibrationError:
    """Expected calibration error with its interval.

    Attributes
    ----------
    value : float
        The estimate, without the bias that noise in the bins adds.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    plug_in : float
        The usual estimate, ``sum_b share_b |observed_b - probability_b|``. It is too large, even
        for perfect probabilities, because every bin has some noise.
    level : float
        Confidence level.

    See Also
    --------
    expected_calibration_error : Returns it.
    """

    value: float
    low: float
    high: float
    plug_in: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@described
def expected_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> CalibrationError:
    """Expected calibration error ``sum_b P(b) |E(y - p | b)|`` over bins b, with an interval.

    Lower is better. It is the error of the probabilities as far as these bins show it: errors that
    cancel within a bin are not seen.

    Parameters
    ----------
    {probabilities}
    {bins}
    {level}
    {sample_weight}
    {pos_label}

    Returns
    -------
    CalibrationError
        ``value``, ``low``, ``high``, ``plug_in`` and ``level``.

    See Also
    --------
    calibration_bins : The bins themselves.
    brier_loss : A measure without bins.

    Notes
    -----
    In bin b the mean residual d is normal about its expectation delta, with standard error v. The
    plug-in estimate is too large by the mean of ``|d| - |delta|``; as in Kumar, Liang & Ma (2019)
    it is estimated with d for delta, ``value = sum_b share_b (2 |d| - E |N(d, v^2)|)``, and not
    below 0.

    The ends of the interval hold whatever delta is. With the signs of delta,
    ``sum share |d| >= sum share sign(delta) d``, which is normal about the error: the upper end is
    the plug-in plus a normal quantile of that sum. The lower end is the plug-in less a quantile of
    the noise ``sum share |d - delta|``, without the bars in bins that are off by more than three
    standard errors. It is cautious: the interval covers 98 to 100 % at the level of 95 %.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.metrics import expected_calibration_error
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> print(expected_calibration_error(y, p), expected_calibration_error(y, p**2))
    0.024 [0.000, 0.047] 0.171 [0.152, 0.189]
    """
    level = check_level(level)
    rows = Rows.of(y_true, sample_weight, pos_label)
    values = probabilities(rows, y_prob)
    bins = _Bins(rows, values, n_bins, strategy)
    gap = bins.observed - bins.probability
    residual = rows.positive - values - gap[bins.of]
    # A bin without a positive shows no noise: at least that of its own probabilities is there.
    square = np.maximum(
        np.bincount(bins.of, (bins.weight * residual) ** 2),
        np.bincount(bins.of, bins.weight**2 * values * (1 - values)),
    )
    noise = np.sqrt(square)  # of share x gap
    off = np.abs(bins.share * gap)
    plug_in = float(off.sum())
    ratio = np.divide(off, noise, out=np.full(off.size, np.inf), where=noise > 0)
    folded = noise * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + off * (1 - 2 * ndtr(-ratio))
    value = float(np.sum(2 * off - folded))
    high = plug_in + float(ndtri((1 + level) / 2) * np.sqrt(np.sum(noise**2)))
    drawn = np.random.default_rng(0).standard_normal((N_DRAWS, noise.size))
    drawn = np.where(ratio > SURE_STANDARD_ERRORS, drawn, np.abs(drawn)) @ noise
    low = plug_in - float(np.quantile(drawn, (1 + level) / 2))
    low, high = max(0.0, low), min(1.0, high)
    return CalibrationError(float(np.clip(value, low, high)), low, high, plug_in, level)


@dataclass(frozen=True)
class BrierLoss:
    """Brier score with its interval and its parts.

    Attributes
    ----------
    value : float
        ``mean (y - p)^2 = miscalibration - discrimination + uncertainty``.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    se : float
        Standard error.
    miscalibration : float
        What the best monotone recalibration of these rows would gain. At least 0.
    discrimination : float
        What the ranking gains over the share of positives for every row. At least 0.
    uncertainty : float
        The value of the share of positives for every row.
    level : float
        Confidence level.

    See Also
    --------
    brier_loss : Returns it.
    """

    value: float
    low: float
    high: float
    se: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@described
def brier_loss(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> BrierLoss:
    """Brier score ``mean (y - p)^2`` with a confidence interval and its parts.

    Lower is better; it is scikit-learn's ``brier_score_loss``.

    Parameters
    ----------
    {probabilities}
    {level}
    {sample_weight}
    {groups}
    {pos_label}

    Returns
    -------
    BrierLoss
        ``value``, ``low``, ``high``, ``se``; ``miscalibration``, ``discrimination``,
        ``uncertainty``; ``level``.

    See Also
    --------
    expected_calibration_error : The distance of probabilities from shares, by bins.

    Notes
    -----
    The interval is that of a mean of independent terms, with Student's t. The parts are those of
    Dimitriadis, Gneiting & Jordan (2021): with q the isotonic regression of y on p,
    ``miscalibration = mean (y - p)^2 - mean (y - q)^2`` and
    ``discrimination = uncertainty - mean (y - q)^2``. They need no bins and add up exactly.

    Examples
    --------
    >>> from everypair.metrics import brier_loss
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    >>> loss = brier_loss(y, p)
    >>> print(f"{loss.value:.3f} = {loss.miscalibration:.3f} - {loss.discrimination:.3f} + 0.25")
    0.180 = 0.097 - 0.167 + 0.25
    """
    from sklearn.isotonic import IsotonicRegression

    level = check_level(level)
    rows = Rows.of(y_true, sample_weight, pos_label)
    values = probabilities(rows, y_prob)
    weight, truth = shares_of(rows), rows.positive.astype(np.float64)
    errors = (truth - values) ** 2
    value = float(weight @ errors)
    (se,), df = spread(weight * (errors - value), grouped(rows, groups))
    half = reach(level, df) * float(se)
    fitted = IsotonicRegression().fit_transform(values, truth, sample_weight=weight)
    prevalence = float(weight @ truth)
    uncertainty = prevalence * (1 - prevalence)
    best = float(weight @ (truth - fitted) ** 2)
    return BrierLoss(
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        se=float(se),
        miscalibration=max(0.0, value - best),
        discrimination=max(0.0, uncertainty - best),
        uncertainty=uncertainty,
        level=level,
    )
