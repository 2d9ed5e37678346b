"""Average precision with its interval, and the precision–recall curve with its band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.bootstrap import Resampled
from everypair.metrics.curve import Curve, tpr_at
from everypair.metrics.interval import Interval, grouped, on_logit, spread
from everypair.rows import Array, NoSpread, Rows

N_GRID = 201


@described
def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> Interval:
    """Average precision ``sum_k (R_k - R_(k-1)) P_k`` with a confidence interval.

    P_k and R_k are precision and recall of the k-th highest distinct score, as in scikit-learn's
    ``average_precision_score``.

    Parameters
    ----------
    {scores}
    {level}
    {sample_weight}
    {groups}
    {pos_label}

    Returns
    -------
    Interval
        ``value``, ``low``, ``high``, ``se`` and ``level``.

    See Also
    --------
    precision_recall_band : The curve with its band.
    auc_confidence_interval : The area under the ROC curve.

    Notes
    -----
    The variance is the infinitesimal jackknife: the sum of squares of the derivatives by the
    weights of the rows,

        d AP / d w_i  =  ( [i positive] (P(s_i) - AP) + sum_(j positive, s_j <= s_i) w_j D_ij ) / W+
        D_ij  =  ( [i positive] - P(s_j) ) / M(s_j)

    where M(s) weighs the rows with a score of at least s, and W+ all positives. The interval is
    built on the logit scale (Boyd, Eng & Page 2013) with Student's t. Average precision depends on
    the share of positives; the interval is for rows drawn as these were, classes included. Coverage
    by simulation: docs/benchmarks/numbers.md.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.metrics import average_precision
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> print(average_precision(y, rng.normal(size=500) + 1.5 * y))
    0.655 [0.553, 0.745]
    """
    level = check_level(level)
    rows = Rows.of(y_true, sample_weight, pos_label)
    scores = rows.scores(y_score)
    value, influences, effective = _influences(rows, scores)
    (se,), df = spread(influences, grouped(rows, groups))
    if value == 1:
        return Interval(value, _perfect(effective, level), 1.0, 0.0, level)
    if scores.min() == scores.max():
        raise NoSpread(
            f"y_score has the single value {scores[0]:g}: average precision has no interval."
        )
    df = min(df, max(1.0, effective - 1))
    return Interval(value, *on_logit(value, float(se), level, df), float(se), level)


def _influences(rows: Rows, scores: Array) -> tuple[float, Array, float]:
    """AP, each row's influence on it, and Kish's effective number of positives."""
    levels, at = np.unique(-scores, return_inverse=True)
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    weight = weight * np.where(rows.positive, 1.0, rows.skew)
    gained = np.bincount(at, weight * rows.positive, levels.size)
    above = np.cumsum(np.bincount(at, weight, levels.size))
    precision = np.cumsum(gained) / above
    total = gained.sum()
    value = float(gained @ precision / total)
    # Sums over the levels at or below a row's own.
    of_hits = np.cumsum((gained * (1 - precision) / above)[::-1])[::-1]
    of_misses = np.cumsum((gained * precision / above)[::-1])[::-1]
    slope = np.where(rows.positive, precision[at] - value + of_hits[at], -of_misses[at]) / total
    effective = float(total**2 / np.sum(weight[rows.positive] ** 2))
    return value, weight * slope, effective


def _perfect(n_positive: float, level: float) -> float:
    """The lower end of the interval of a share that was 1 on all n rows."""
    return float(((1 - level) / 2) ** (1 / n_positive))


@dataclass(frozen=True)
class PrecisionRecallBand:
    """Precision and its limits at recalls from 0 to 1.

    Attributes
    ----------
    recall : array of shape (201,)
        Recalls; the first is just above 0.
    precision : array of shape (201,)
        Precision of the curve at each.
    low : array of shape (201,)
        Lower end of the band.
    high : array of shape (201,)
        Upper end of the band.
    level : float
        Confidence level.

    See Also
    --------
    precision_recall_band : Returns it.
    """

    recall: Array
    precision: Array
    low: Array
    high: Array
    level: float


@described
def precision_recall_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    pos_label: Any = None,
) -> PrecisionRecallBand:
    """Pointwise confidence band of the precision at given recalls.

        precision(r)  =  r / (r + c fpr(r)) ,    c = n- / n+

    with the false positive rate where the recall is r: percentiles of a bootstrap of the rows
    within their classes, so for a fixed share of positives.

    Parameters
    ----------
    {scores}
    level : float, default=0.95
        Confidence level at one recall; the band says nothing of the curve as a whole.
    {sample_weight}
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other: whole groups are drawn.
    n_bootstrap : int, default=2000
        Replicates.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap.
    {pos_label}

    Returns
    -------
    PrecisionRecallBand
        ``recall``, ``precision``, ``low`` and ``high`` at 201 recalls; ``level``.

    See Also
    --------
    average_precision : The area under the curve.
    everypair.plots.PrecisionRecallDisplay : Draws the curve with its band.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.metrics import precision_recall_band
    >>> y_true = np.repeat([0, 1], 50)
    >>> band = precision_recall_band(y_true, np.arange(100) % 70, n_bootstrap=100, random_state=0)
    >>> bool(np.all((band.low <= band.precision) & (band.precision <= band.high)))
    True
    """
    level = check_level(level)
    rows = Rows.of(y_true, sample_weight, pos_label)
    scores = rows.scores(y_score)
    if scores.min() == scores.max():
        raise NoSpread(f"y_score has the single value {scores[0]:g}: there is no band.")
    skew = rows.totals[1] / rows.totals[0]
    grid = np.linspace(0, 1, N_GRID)
    grid[0] = min(0.5 / rows.n_positive, 0.5 / N_GRID)
    curve = Curve.of(rows, scores)
    resampled = Resampled(rows, [scores], grouped(rows, groups))
    drawn = np.array(
        [
            precision_at(*resampled.curve(0, draw), skew, grid)
            for draw in resampled.draws(n_bootstrap, random_state)
        ]
    )
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    precision = precision_at(curve.fpr, curve.tpr, skew, grid)
    return PrecisionRecallBand(
        grid, precision, np.minimum(low, precision), np.maximum(high, precision), level
    )


def precision_at(fpr: Array, tpr: Array, skew: float, recall: Array) -> Array:
    """Precision of the highest cut that has the recall, straight between cuts on the ROC curve."""
    # As a curve of fpr over tpr, mirrored so that of a vertical step the least fpr counts.
    alarms = 1 - tpr_at((1 - tpr)[::-1], (1 - fpr)[::-1], 1 - recall)
    return np.asarray(recall / (recall + skew * alarms))
