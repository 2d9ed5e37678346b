"""What the highest scores hold: gain (share of all positives) and lift (times the average)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.at_k import precision_at_k, rows_at_k
from everypair.metrics.interval import grouped, levels_between, reach, shares_of, spread
from everypair.metrics.placements import bessel
from everypair.rows import Array, Index, Rows

GAIN_ROUNDING = 1e-12
"""A gain this close to 0 or 1 is 0 or 1, off by rounding."""


@dataclass(frozen=True)
class Gain:
    """What the top of a ranking holds of the positives, with confidence limits.

    All are numbers for one top (`gain_at_k`), and arrays for several (`gain_curve`).

    Attributes
    ----------
    share : float or array
        Share of all rows that are in the top.
    gain : float or array
        Share of all positives that are in the top: the recall there.
    low : float or array
        Lower end of the interval of the gain.
    high : float or array
        Upper end of the interval of the gain.
    level : float
        Confidence level.

    See Also
    --------
    gain_at_k : Returns it for one top.
    gain_curve : Returns it for many.
    """

    share: Any
    gain: Any
    low: Any
    high: Any
    level: float

    @property
    def lift(self) -> Any:
        """How many times the average share of positives the top has: ``gain / share``."""
        return self.gain / self.share

    @property
    def lift_low(self) -> Any:
        """Lower end of the interval of the lift."""
        return self.low / self.share

    @property
    def lift_high(self) -> Any:
        """Upper end of the interval of the lift."""
        return self.high / self.share

    def __str__(self) -> str:
        if np.ndim(self.share):
            return f"Gain at {np.size(self.share)} shares of the rows"
        return (
            f"The top {self.share:.1%} of the rows have {self.gain:.1%} of the positives "
            f"[{self.low:.1%}, {self.high:.1%}], {self.lift:.1f} times the average "
            f"[{self.lift_low:.1f}, {self.lift_high:.1f}]"
        )


@described
def lift_at_k(
    y_true: ArrayLike, y_score: ArrayLike, k: int | float | str, *, pos_label: Any = None
) -> float:
    """Precision of the k highest scores over the share of positives, ``(tp(k) / k) / (n+ / n)``.

    Parameters
    ----------
    {scores}
    k : int, float or str
        As in `precision_at_k`.
    {pos_label}

    Returns
    -------
    float
        1 is no better than chance; at most ``n / max(k, n+)``.

    See Also
    --------
    gain_at_k : With an interval, and with weights.
    recall_at_k : The gain: the share of all positives among the k rows.

    Examples
    --------
    >>> from everypair.metrics import lift_at_k
    >>> lift_at_k([0, 1, 0, 0, 1, 0, 0, 0, 0, 0], [1, 9, 2, 3, 8, 4, 5, 6, 7, 0], k=2)
    5.0
    """
    rows = Rows.of(y_true, None, pos_label)
    return precision_at_k(y_true, y_score, k, pos_label=pos_label) * rows.n_rows / rows.n_positive


@described
def gain_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int | float | str,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> Gain:
    """Gain and lift of the k highest scores, each with a confidence interval.

    Parameters
    ----------
    {scores}
    k : int, float or str
        As in `precision_at_k`; with weights only a share, which is then a share of the weight.
    {level}
    {sample_weight}
    {groups}
    {pos_label}

    Returns
    -------
    Gain
        ``gain``, ``low``, ``high``; ``lift``, ``lift_low``, ``lift_high``; ``share``, ``level``.

    See Also
    --------
    gain_curve : At every share.
    lift_at_k : The lift as a number.

    Notes
    -----
    The interval is for the top q = k / n of new rows. The cut moves with the sample, so a row has
    the influence

        ( [positive] ([above] - gain) / share of positives  -  gain'(q) ([above] - q) ) / n

    on the gain (a ratio less the slope of the gain curve times the error of the cut). The slope is
    taken over q +- min(q, 1 - q) n^(-1/5). The variance gives an effective number of positives, and
    that Wilson's interval. Coverage: docs/benchmarks/numbers.md. Of scores tied at the cut, each
    counts in part.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.metrics import gain_at_k
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.1
    >>> print(gain_at_k(y, rng.normal(size=1000) + 2 * y, 0.1))
    The top 10.0% of the rows have 68.5% of the positives [59.5%, 76.4%], 6.9 times the average \
[5.9, 7.6]
    """
    rows = Rows.of(y_true, sample_weight, pos_label)
    share = share_at_k(k, rows.n_rows, rows.n_positive, rows.weight)
    gain, low, high = _gains(rows, rows.scores(y_score), np.array([share]), level, groups)
    return Gain(share, float(gain[0]), float(low[0]), float(high[0]), level)


@described
def gain_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    shares: ArrayLike | None = None,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> Gain:
    """Gain and lift at many shares of the rows, with pointwise confidence limits.

    Parameters
    ----------
    {scores}
    shares : array, default=None
        Shares of the rows, above 0 and below 1; None means 0.005, 0.01, ..., 0.995.
    level : float, default=0.95
        Confidence level at one share; the band says nothing of the curve as a whole.
    {sample_weight}
    {groups}
    {pos_label}

    Returns
    -------
    Gain
        Arrays ``share``, ``gain``, ``low``, ``high``; ``lift``, ``lift_low``, ``lift_high``.

    See Also
    --------
    gain_at_k : At one share, or number of rows.
    everypair.plots.GainDisplay : Draws it.

    Examples
    --------
    >>> from everypair.metrics import gain_curve
    >>> gain_curve([0, 0, 1, 1], [1, 2, 3, 4], [0.25, 0.5]).gain
    array([0.5, 1. ])
    """
    grid = np.arange(1, 200) / 200 if shares is None else levels_between(shares, "shares", 0, 1)
    rows = Rows.of(y_true, sample_weight, pos_label)
    return Gain(grid, *_gains(rows, rows.scores(y_score), grid, level, groups), check_level(level))


def share_at_k(k: int | float | str, n_rows: int, n_positive: int, weight: Any) -> float:
    """The share of the rows, or of their weight, that k of them are."""
    if weight is not None and not isinstance(k, float):
        raise ValueError(
            f"k={k!r} is a count of rows: with sample_weight give a share, such as 0.1."
        )
    found = rows_at_k(k, n_rows, n_positive)
    return found / n_rows if weight is None else float(k)


def _gains(
    rows: Rows, scores: Array, shares: Array, level: float, groups: ArrayLike | None
) -> tuple[Array, Array, Array]:
    return Top.of(rows, scores).limits(shares, check_level(level), grouped(rows, groups))


class Top:
    """Sums along the distinct scores, highest first, each beginning with 0.

    ``positive`` and ``negative`` are the shares of all rows at each score, ``squares`` the sums of
    their rows' squared shares.
    """

    weight: Array
    positive: NDArray[np.bool_]
    level_of: Index
    """One value per row; not set if only counts are known."""

    def __init__(self, positive: Array, negative: Array, squares: Sequence[Array], n_rows: int):
        self.n_levels, self.n_rows = positive.size, n_rows
        self.share, self.hits = _running(positive + negative), _running(positive)
        self.share[-1] = 1.0
        self.squares = [_running(of_class) for of_class in squares]
        self.prevalence = float(self.hits[-1])
        self.effective = self.prevalence**2 / float(self.squares[0][-1])

    @classmethod
    def of(cls, rows: Rows, scores: Array) -> Top:
        weight, positive = shares_of(rows), rows.positive
        levels, level_of = np.unique(-scores, return_inverse=True)
        hits, misses, *squares = (
            np.bincount(level_of, values, levels.size).astype(np.float64, copy=False)
            for values in (
                weight * positive, weight * ~positive, weight**2 * positive, weight**2 * ~positive
            )
        )  # fmt: skip
        found = cls(hits, misses, squares, positive.size)
        found.weight, found.positive, found.level_of = weight, positive, level_of
        return found

    @classmethod
    def of_counts(cls, positive: Array, negative: Array) -> Top:
        """Counts of rows of equal weight, highest scores first."""
        n_rows = int(positive.sum() + negative.sum())
        squares = positive / n_rows**2, negative / n_rows**2
        return cls(positive / n_rows, negative / n_rows, squares, n_rows)

    def limits(
        self, shares: Array, level: float, groups: Index | None = None
    ) -> tuple[Array, Array, Array]:
        """The gain at each share of the rows, and both ends of its interval."""
        gain = self.gain(shares)
        gain = np.where(gain > 1 - GAIN_ROUNDING, 1.0, np.where(gain < GAIN_ROUNDING, 0.0, gain))
        # The slope of the curve, over a window that narrows with the rows and stays inside.
        half = np.minimum(shares, 1 - shares) * self.n_rows**-0.2
        slope = (self.gain(shares + half) - self.gain(shares - half)) / np.maximum(2 * half, 1e-300)
        se, df = self.errors(shares, gain, slope, groups)
        z = reach(level, df)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(se > 0, gain * (1 - gain) / se**2, np.inf)
        # No more than the positives can say where all rows of the top are alike.
        size = np.where((gain > 0) & (gain < 1), size, self.effective)
        middle = (gain + z**2 / (2 * size)) / (1 + z**2 / size)
        reached = z / (1 + z**2 / size) * np.sqrt(gain * (1 - gain) / size + z**2 / (4 * size**2))
        return gain, np.maximum(middle - reached, 0.0), np.minimum(middle + reached, 1.0)

    def gain(self, shares: Array) -> Array:
        return np.asarray(np.interp(shares, self.share, self.hits)) / self.prevalence

    def errors(
        self, shares: Array, gain: Array, slope: Array, groups: Index | None
    ) -> tuple[Array, float]:
        """Standard errors of the gains, and their degrees of freedom."""
        cut = np.clip(np.searchsorted(self.share, shares, side="left"), 1, self.n_levels)
        # The part of the level at the cut that counts as above it.
        part = (shares - self.share[cut - 1]) / (self.share[cut] - self.share[cut - 1])

        def influence(positive: Any, above: Any) -> Any:
            return positive * (above - gain) / self.prevalence - slope * (above - shares)

        if groups is None:
            # Rows of one class on one side of the cut are alike: squares by running sums.
            total = np.zeros(shares.size)
            for positive, squares in zip((True, False), self.squares, strict=True):
                total += squares[cut - 1] * influence(positive, 1.0) ** 2
                total += (squares[cut] - squares[cut - 1]) * influence(positive, part) ** 2
                total += (squares[-1] - squares[cut]) * influence(positive, 0.0) ** 2
            return np.sqrt(total * bessel(self.n_rows, "row")), self.n_rows - 1.0
        columns = []
        for k in range(shares.size):
            above = np.where(self.level_of < cut[k] - 1, 1.0, 0.0)
            above[self.level_of == cut[k] - 1] = part[k]
            hit = self.positive * (above - gain[k]) / self.prevalence
            columns.append(self.weight * (hit - slope[k] * (above - shares[k])))
        return spread(np.column_stack(columns), groups)


def _running(values: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum(values)])
