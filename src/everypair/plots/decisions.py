"""What decisions cost: expected cost against the cut, and net benefit against the cost ratio."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.checks import check_level
from everypair.metrics.asked import Asked
from everypair.metrics.curve import Curve
from everypair.metrics.decision_curve import NetBenefit, net_benefit
from everypair.metrics.interval import grouped, reach, shares_of, spread
from everypair.plots._axes import RING, short
from everypair.plots._curves import REFERENCE_LINE, CurveDisplay, ProbabilityDisplay
from everypair.rows import Array, Rows

N_POINTS = 400


class CostDisplay(CurveDisplay):
    """Expected cost per row, ``(c_fp FP + c_fn FN) / n``, against the cut, with a band.

    Parameters
    ----------
    threshold : array of shape (n_cuts,)
        Cuts, descending: positive where ``score > threshold``.
    share : array of shape (n_cuts,)
        Share of the rows above each.
    expected : array of shape (n_cuts,)
        Cost per row.
    low : array of shape (n_cuts,)
        Lower end of the band.
    high : array of shape (n_cuts,)
        Upper end of the band.
    costs : tuple (c_fp, c_fn)
        Cost of a false positive and of a false negative.
    level : float, default=0.95
        Confidence level of the band at one cut.
    against : {"share", "threshold"}, default="share"
        What the horizontal axis shows; shares put several models on one scale.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    NetBenefitDisplay : For all cost ratios at once.
    everypair.metrics.threshold_for : With ``cost=``, the cheapest cut.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import CostDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> s = rng.normal(size=500) + 1.5 * y
    >>> display = CostDisplay.from_predictions(y, s, cost=(1, 5), name="model")
    >>> print(display.line_.get_label())
    model: least cost 0.364 per row, at threshold 0.701
    """

    def __init__(
        self,
        *,
        threshold: Array,
        share: Array,
        expected: Array,
        low: Array,
        high: Array,
        costs: tuple[float, float],
        level: float = 0.95,
        against: Literal["share", "threshold"] = "share",
        name: str | None = None,
    ):
        self.threshold, self.share, self.expected = threshold, share, expected
        self.low, self.high, self.costs, self.level = low, high, costs, level
        self.against, self.name = against, name

    @classmethod
    def _predicted(cls, estimator: Any, X: Any, pos_label: Any) -> tuple[Array, dict[str, Any]]:
        return super()._predicted(estimator, X, pos_label)[0], {}

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        cost: tuple[float, float] = (1.0, 1.0),
        against: Literal["share", "threshold"] = "share",
        level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Draw the cost of every cut of scores.

        Parameters
        ----------
        {scores}
        cost : tuple (c_fp, c_fn), default=(1.0, 1.0)
            Cost of a false positive and of a false negative.
        against : {"share", "threshold"}, default="share"
            What the horizontal axis shows.
        level : float, default=0.95
            Confidence level of the band at one cut.
        {sample_weight}
        {groups}
        {pos_label}
        name : str, default=None
            For the legend.
        {ax}
        {line}

        {display}
        """
        level = check_level(level)
        Asked.by_call(None, cost=cost)
        if against not in ("share", "threshold"):
            raise ValueError(f"against={against!r} is not known: use 'share' or 'threshold'.")
        rows = Rows.of(y_true, sample_weight, pos_label)
        scores, weight = rows.scores(y_score), shares_of(rows)
        codes = grouped(rows, groups)
        curve = Curve.of(rows, scores)
        cuts = curve.cuts()
        # All cuts of a small table; of a large one the cheapest, the ends and an even choice.
        saved = cost[1] * curve.tp - cost[0] * curve.skew * curve.fp
        even = np.linspace(0, cuts.size - 1, min(cuts.size, N_POINTS)).astype(int)
        chosen = np.unique(np.append(even, np.argmax(saved)))
        share, expected, half = (np.empty(chosen.size) for _ in range(3))
        for k, t in enumerate(cuts[chosen]):
            above = scores > t
            each = np.where(rows.positive, cost[1] * ~above, cost[0] * above)
            share[k], expected[k] = weight @ above, weight @ each
            (se,), df = spread(weight * (each - expected[k]), codes)
            half[k] = reach(level, df) * se
        display = cls(
            threshold=cuts[chosen],
            share=share,
            expected=expected,
            low=np.maximum(expected - half, 0.0),
            high=expected + half,
            costs=(float(cost[0]), float(cost[1])),
            level=level,
            against=against,
            name=name,
        )
        return display.plot(ax=ax, **line)

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        x = self.share if self.against == "share" else self.threshold
        best = int(np.argmin(self.expected))
        if first:
            ends = {"no row": self.expected[0], "every row": self.expected[-1]}
            cheaper = min(ends, key=lambda which: ends[which])
            self.ax_.axhline(ends[cheaper], **REFERENCE_LINE, label=f"{cheaper} predicted positive")
            costs = f"false positive {self.costs[0]:g}, false negative {self.costs[1]:g}"
            self.ax_.set_ylabel(f"Cost per row ({costs})")
            self.ax_.set_xlabel(
                "Share of rows predicted positive" if self.against == "share" else "Threshold"
            )
        self._band(x, self.low, self.high, self.level, look)
        label = (
            f"{short(self.name or 'Model')}: least cost {self.expected[best]:.3f} per row, "
            f"at threshold {self.threshold[best]:.3g}"
        )
        (self.line_,) = self.ax_.plot(x, self.expected, **{"label": label, **look})
        self.ax_.plot(x[best], self.expected[best], **RING, markeredgecolor=look["color"])
        self.ax_.set_ylim(bottom=0)


class NetBenefitDisplay(ProbabilityDisplay):
    """Decision curve: net benefit against the threshold probability (Vickers & Elkin 2006).

    Parameters
    ----------
    curve : NetBenefit
        Arrays of `everypair.metrics.net_benefit`.
    name : str, default=None
        Name of the model, for the legend.

    See Also
    --------
    CostDisplay : For one pair of costs, at every cut.
    everypair.metrics.net_benefit : The numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import NetBenefitDisplay
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> display = NetBenefitDisplay.from_predictions(rng.random(500) < p, p, name="model")
    >>> print(display.line_.get_label())
    model
    """

    _legend_at = "upper right"

    def __init__(self, *, curve: NetBenefit, name: str | None = None):
        self.curve, self.name = curve, name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        level: float = 0.95,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Draw the decision curve of probabilities.

        Parameters
        ----------
        {probabilities}
        thresholds : array, default=None
            Threshold probabilities between 0 and 1; None means 0.01, 0.02, ..., 0.99.
        level : float, default=0.95
            Confidence level of the band at one threshold.
        {sample_weight}
        {groups}
        {pos_label}
        name : str, default=None
            For the legend.
        {ax}
        {line}

        {display}
        """
        curve = net_benefit(
            y_true, y_prob, thresholds, level=level, sample_weight=sample_weight, groups=groups,
            pos_label=pos_label,
        )  # fmt: skip
        return cls(curve=curve, name=name).plot(ax=ax, **line)

    def _draw(self, look: dict[str, Any], first: bool) -> None:
        curve = self.curve
        highest = max(float(curve.high.max()), float(curve.act_on_all.max()), 1e-3)
        if first:
            self.ax_.axhline(0.0, **REFERENCE_LINE, label="act on no row")
            self.ax_.plot(
                curve.threshold, curve.act_on_all, **REFERENCE_LINE | {"linestyle": "-"},
                label="act on every row",
            )  # fmt: skip
            self.ax_.set(
                xlabel="Threshold probability, c_fp / (c_fp + c_fn)",
                ylabel="Net benefit, true positives per row",
            )
        else:
            highest = max(highest, self.ax_.get_ylim()[1] / 1.05)
        # Far below zero nobody acts: what is there says nothing.
        self.ax_.set_ylim(-0.25 * highest, 1.05 * highest)
        self._band(curve.threshold, curve.low, curve.high, curve.level, look)
        (self.line_,) = self.ax_.plot(
            curve.threshold, curve.net_benefit, **{"label": short(self.name or "Model"), **look}
        )
