"""Decision curves: what acting on a probability is worth (Vickers & Elkin 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.interval import (
    grouped,
    levels_between,
    probabilities,
    reach,
    shares_of,
    spread,
)
from everypair.rows import Array, Rows


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit at threshold probabilities, with pointwise limits.

    Attributes
    ----------
    threshold : array of shape (n_thresholds,)
        Threshold probabilities.
    net_benefit : array of shape (n_thresholds,)
        Of acting where the probability is above the threshold.
    low : array of shape (n_thresholds,)
        Lower end of its interval.
    high : array of shape (n_thresholds,)
        Upper end of its interval.
    act_on_all : array of shape (n_thresholds,)
        Net benefit of acting on every row. That of acting on none is 0.
    level : float
        Confidence level at one threshold.

    See Also
    --------
    net_benefit : Returns it.
    """

    threshold: Array
    net_benefit: Array
    low: Array
    high: Array
    act_on_all: Array
    level: float


@described
def net_benefit(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    thresholds: ArrayLike | None = None,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> NetBenefit:
    """Net benefit ``TP / n - FP / n x p / (1 - p)`` of acting where the probability is above p.

    The unit is one true positive per row. A threshold p says that a false positive costs
    ``p / (1 - p)`` of what a true positive is worth: p = c_fp / (c_fp + c_fn).

    Parameters
    ----------
    {probabilities}
    thresholds : float or array, default=None
        Threshold probabilities between 0 and 1; None means 0.01, 0.02, ..., 0.99.
    level : float, default=0.95
        Confidence level at one threshold.
    {sample_weight}
    {groups}
    {pos_label}

    Returns
    -------
    NetBenefit
        Arrays ``threshold``, ``net_benefit``, ``low``, ``high``, ``act_on_all``; ``level``.

    See Also
    --------
    threshold_for : With ``cost=``, the cut of least cost.
    everypair.plots.NetBenefitDisplay : Draws it.

    Notes
    -----
    It is a mean over rows of ``[above] ([positive] - [negative] p / (1 - p))``; the interval is
    that of a mean, with Student's t.

    Examples
    --------
    >>> from everypair.metrics import net_benefit
    >>> curve = net_benefit([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0.25, 0.5])
    >>> curve.net_benefit.round(3), curve.act_on_all.round(3)
    (array([0.444, 0.167]), array([0.333, 0.   ]))
    """
    level = check_level(level)
    grid = np.arange(1, 100) / 100
    if thresholds is not None:
        grid = levels_between(thresholds, "thresholds", 0, 1)
    rows = Rows.of(y_true, sample_weight, pos_label)
    values, weight = probabilities(rows, y_prob), shares_of(rows)
    codes = grouped(rows, groups)
    worth, reached = np.empty(grid.size), np.empty(grid.size)
    for k, odds in enumerate(grid / (1 - grid)):
        each = (values > grid[k]) * np.where(rows.positive, 1.0, -odds)
        worth[k] = weight @ each
        (se,), df = spread(weight * (each - worth[k]), codes)
        reached[k] = reach(level, df) * se
    prevalence = float(weight @ rows.positive)
    return NetBenefit(
        threshold=grid,
        net_benefit=worth,
        low=worth - reached,
        high=np.minimum(worth + reached, 1.0),
        act_on_all=prevalence - (1 - prevalence) * grid / (1 - grid),
        level=level,
    )
