"""Confidence bands of the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.bootstrap import Resampled
from everypair.metrics.curve import Curve, tpr_at
from everypair.metrics.inference import check_not_tied
from everypair.rows import Array, Rows

N_GRID = 201


@dataclass(frozen=True)
class ROCBand:
    """True positive rate and its limits at false positive rates from 0 to 1.

    Attributes
    ----------
    fpr : array of shape (201,)
        False positive rates.
    tpr : array of shape (201,)
        True positive rate of the curve at each.
    low : array of shape (201,)
        Lower end of the band.
    high : array of shape (201,)
        Upper end of the band.
    level : float
        Confidence level.
    kind : str
        ``"simultaneous"`` or ``"pointwise"``.

    See Also
    --------
    roc_band : Returns it.
    """

    fpr: Array
    tpr: Array
    low: Array
    high: Array
    level: float
    kind: str


@described
def roc_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    kind: Literal["simultaneous", "pointwise"] = "simultaneous",
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    pos_label: Any = None,
) -> ROCBand:
    """Confidence band of the ROC curve.

    ``simultaneous`` holds the whole curve with probability ``level`` at least, for any
    distribution of the scores (Campbell 1994): both empirical distribution functions stay
    within the exact Kolmogorov–Smirnov distance d+, d- of the true ones, each with probability
    sqrt(level), so

        TPR(x - d-) - d+  <=  true curve at x  <=  TPR(x + d-) + d+ .

    ``pointwise`` holds the curve at one given false positive rate: percentiles of the curves
    of a bootstrap. It is narrower, and says nothing of the curve as a whole. Where the curve
    touches 0 or 1 no replicate leaves it, and the band is too narrow.

    Parameters
    ----------
    {scores}
    kind : {"simultaneous", "pointwise"}, default="simultaneous"
        Which of the two bands above.
    {level}
    sample_weight : array of shape (n_rows,), default=None
        Weights >= 0. Pointwise only: the Kolmogorov–Smirnov distance is for equal, independent
        rows.
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other. Pointwise only.
    n_bootstrap : int, default=2000
        Replicates of the pointwise band.
    random_state : int, RandomState or None, default=None
        Seed of the pointwise band.
    {pos_label}

    Returns
    -------
    ROCBand
        ``fpr``, ``tpr``, ``low`` and ``high`` at 201 false positive rates; ``level``, ``kind``.

    See Also
    --------
    auc_confidence_interval : The interval of the area.
    everypair.plots.ROCDisplay : Draws the curve with its band.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.metrics import roc_band
    >>> y_true = np.repeat([0, 1], 50)
    >>> band = roc_band(y_true, np.arange(100) % 70)
    >>> bool(np.all((band.low <= band.tpr) & (band.tpr <= band.high)))
    True
    """
    level = check_level(level)
    if kind not in ("simultaneous", "pointwise"):
        raise ValueError(f"kind={kind!r} is not known: use 'simultaneous' or 'pointwise'.")
    if kind == "simultaneous" and not (sample_weight is None and groups is None):
        raise ValueError(
            "kind='simultaneous' needs independent rows of equal weight: "
            "use kind='pointwise' with sample_weight or groups."
        )
    rows = Rows.of(y_true, sample_weight, pos_label)
    scores = rows.scores(y_score)
    check_not_tied(scores)
    curve = Curve.of(rows, scores)
    grid = np.linspace(0, 1, N_GRID)
    tpr = tpr_at(curve.fpr, curve.tpr, grid)
    if kind == "simultaneous":
        low, high = _kolmogorov_smirnov(rows, curve, grid, level)
    else:
        codes = None if groups is None else rows.groups(groups)
        resampled = Resampled(rows, [scores], codes)
        heights = np.array(
            [
                tpr_at(*resampled.curve(0, draw), grid)
                for draw in resampled.draws(n_bootstrap, random_state)
            ]
        )
        low, high = np.quantile(heights, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ROCBand(grid, tpr, low, high, level, kind)


def _kolmogorov_smirnov(rows: Rows, curve: Curve, grid: Array, level: float) -> tuple[Array, Array]:
    up, across = _distance(rows.n_positive, level), _distance(rows.n_negative, level)
    fpr, tpr = curve.fpr, curve.tpr
    # The cut with true rate x has an empirical rate between x - across and x + across: the
    # lowest and the highest point of the curve there. Nothing is interpolated, so the bounds
    # hold for tied scores as well.
    first = np.searchsorted(fpr, grid - across, side="left")
    last = np.searchsorted(fpr, grid + across, side="right") - 1
    low = np.where(grid <= across, 0.0, tpr[first] - up)
    return np.maximum(low, 0.0), np.minimum(tpr[last] + up, 1.0)


@cache
def _distance(n_rows: int, level: float) -> float:
    """What the empirical distribution of n rows stays within, with probability sqrt(level)."""
    from scipy.stats import kstwo

    return float(kstwo.isf(1 - np.sqrt(level), n_rows))
