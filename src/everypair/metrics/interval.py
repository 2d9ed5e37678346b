"""A number with its confidence interval, from the influence of each row on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from everypair.checks import finite_scores
from everypair.metrics.placements import bessel
from everypair.rows import Array, Index, Rows


@dataclass(frozen=True)
class Interval:
    """A value with its standard error and confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    se : float
        Standard error.
    level : float
        Confidence level.

    See Also
    --------
    average_precision : Returns it.
    """

    value: float
    low: float
    high: float
    se: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def shares_of(rows: Rows) -> Array:
    """The weight of each row among all rows; they sum to one."""
    if rows.weight is None:
        return np.full(rows.n_rows, 1 / rows.n_rows)
    total = sum(rows.totals)
    return rows.weight * np.where(rows.positive, 1.0, rows.skew) / total


def grouped(rows: Rows, groups: ArrayLike | None) -> Index | None:
    return None if groups is None else rows.groups(groups)


def spread(influences: Array, groups: Index | None) -> tuple[Array, float]:
    """Standard errors of sums of influences, one column each, and their degrees of freedom.

    Rows of one group are added up before they are squared.
    """
    columns = influences.reshape(influences.shape[0], -1)
    if groups is not None:
        n_groups = int(groups.max()) + 1
        columns = np.column_stack([np.bincount(groups, c, n_groups) for c in columns.T])
    n = columns.shape[0]
    what = "row" if groups is None else "group"
    centred = columns - columns.mean(axis=0)
    return np.sqrt(bessel(n, what) * np.sum(centred**2, axis=0)), n - 1.0


def reach(level: float, df: float) -> float:
    return float(stdtrit(df, (1 + level) / 2))


def on_logit(value: float, se: float, level: float, df: float) -> tuple[float, float]:
    """``logit(value) +- t se / (value (1 - value))``, mapped back; the value itself at 0 and 1."""
    if not 0 < value < 1:
        return value, value
    half = reach(level, df) * se / (value * (1 - value))
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


def probabilities(rows: Rows, y_prob: ArrayLike) -> Array:
    """Checked: numbers between 0 and 1."""
    values = rows.scores(y_prob, "y_prob")
    if values.min() < 0 or values.max() > 1:
        worst = values.min() if values.min() < 0 else values.max()
        raise ValueError(
            f"y_prob has the value {worst:g}: give probabilities between 0 and 1, as of "
            "predict_proba, not scores."
        )
    return values


def levels_between(values: Any, name: str, low: float, high: float) -> Array:
    """Numbers strictly between two ends, as an array."""
    array = finite_scores(np.atleast_1d(values), np.size(values), name)
    if array.min() <= low or array.max() >= high:
        wrong = array.min() if array.min() <= low else array.max()
        raise ValueError(
            f"{name} has the value {wrong:g}: use numbers between {low:g} and {high:g}."
        )
    return array
