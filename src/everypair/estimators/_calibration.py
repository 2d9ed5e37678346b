"""From scores to probabilities: three logistic maps and a monotone one, as plain numbers.

With Platt's targets (Platt 1999) ``(n+ + 1) / (n+ + 2)`` for a positive and ``1 / (n- + 2)`` for a
negative, n+ and n- the effective numbers of rows (Kish: ``(sum w)^2 / sum w^2``), every fit is
finite, also on separable scores, and every probability is inside (0, 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit
from sklearn.utils._param_validation import Interval, Real, StrOptions

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

LARGEST_LOG_ODDS = 36.0
"""Beyond it float64 has no probability below one."""

LEAST_SLOPE = 1e-3
"""Log-odds per standard deviation of the scores: scores that say nothing, or the opposite, are
given almost the share of positives, and keep their order."""

ROWS_FOR_BETA = 2000
"""From here on ``"auto"`` is beta calibration: on the tasks of the choice level with the sigmoid or
behind it at 300 and 1,000 rows, level or ahead at 4,000 (docs/benchmarks/calibration.md)."""

METHODS = ("intercept", "sigmoid", "beta", "isotonic")

CONSTRAINTS: dict[str, list[Any]] = {
    "calibration": [StrOptions({"auto", *METHODS}), None],
    "prior": [Interval(Real, 0, 1, closed="neither"), None],
}
"""What scikit-learn checks of the parameters."""


class Calibrator:
    """A map from decisions (scores less the threshold) to the probability of the positive class."""

    def log_odds(self, decisions: Array) -> Array:
        raise NotImplementedError

    def probabilities(self, decisions: Array) -> Array:
        """Probabilities of both classes, one column each."""
        odds = self.log_odds(decisions)
        return np.column_stack([expit(-odds), expit(odds)])

    def log_probabilities(self, decisions: Array) -> Array:
        odds = self.log_odds(decisions)
        return np.column_stack([log_expit(-odds), log_expit(odds)])


@dataclass(frozen=True)
class LogOdds(Calibrator):
    """Log-odds of slope ``low / scale`` far below the centre and ``high / scale`` far above it.

        log p / (1 - p) = high softplus(t) - low softplus(-t) + intercept ,
        t = (decision - centre) / scale .

    With low = high this is ``low t + intercept``: an intercept, or Platt's sigmoid. Both free is
    beta calibration (Kull, Silva Filho & Flach 2017): there ``softplus(-t) = -log q`` and
    ``softplus(t) = -log(1 - q)`` for ``q = sigma(t)``.
    """

    centre: float
    scale: float
    low: float
    high: float
    intercept: float

    def log_odds(self, decisions: Array) -> Array:
        with np.errstate(over="ignore"):
            t = (decisions - self.centre) / self.scale
            odds = self.high * np.logaddexp(0, t) - self.low * np.logaddexp(0, -t)
            odds += self.intercept
        return np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)

    def shifted(self, by: float) -> LogOdds:
        return replace(self, intercept=self.intercept + by)

    @property
    def holds(self) -> bool:
        """Are these numbers those of an increasing map?"""
        values = (self.centre, self.scale, self.low, self.high, self.intercept)
        numbers = all(type(value) is float and abs(value) < np.inf for value in values)
        return numbers and self.scale > 0 and self.low > 0 and self.high > 0


@dataclass(frozen=True)
class Isotonic(Calibrator):
    """Probabilities that rise with the decision, linear between knots and constant beyond them."""

    knots: Array
    heights: Array

    def log_odds(self, decisions: Array) -> Array:
        # Rounding, coarse where knots are huge, must not carry a value past the next knot's.
        above = np.searchsorted(self.knots, decisions, side="right")
        low = self.heights[np.maximum(above - 1, 0)]
        high = self.heights[np.minimum(above, self.knots.size - 1)]
        odds = logit(np.clip(np.interp(decisions, self.knots, self.heights), low, high))
        return np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)

    def shifted(self, by: float) -> Isotonic:
        return replace(self, heights=_inside(expit(logit(self.heights) + by)))

    @property
    def holds(self) -> bool:
        """Are these arrays those of an increasing map?"""
        arrays = (self.knots, self.heights)
        right = all(type(a) is np.ndarray and a.dtype == np.float64 and a.ndim == 1 for a in arrays)
        if not right or not 0 < self.knots.size == self.heights.size:
            return False
        ascending = np.all(np.diff(self.knots) > 0) and np.all(np.diff(self.heights) >= 0)
        inside = np.all((self.heights > 0) & (self.heights < 1)) and np.isfinite(self.knots).all()
        return bool(ascending and inside)


def calibrated(
    method: str, decisions: Array, positive: Bools, weight: Array | None, prior: float | None
) -> LogOdds | Isotonic:
    """The map of this method, for these decisions of rows that were held out.

    With a known ``prior``, the share of positives among the rows to be scored, log-odds are
    shifted by ``logit(prior) - logit(share of positives here)`` (Elkan 2001; Saerens et al. 2002).
    """
    weight = np.ones(positive.size) if weight is None else weight / weight.max()
    weight /= weight.sum()
    target = np.where(positive, 1 - _doubt(weight[positive]), _doubt(weight[~positive]))
    share = float(weight @ target)
    found = (
        _isotonic(decisions, target, weight)
        if method == "isotonic"
        else _logistic(method, decisions, target, weight)
    )
    return found if prior is None else found.shifted(float(logit(prior) - logit(share)))


def method_for(calibration: str, n_rows: int) -> str:
    """The method that ``"auto"`` stands for with this many rows."""
    if calibration != "auto":
        return calibration
    return "sigmoid" if n_rows < ROWS_FOR_BETA else "beta"


def _doubt(weight: Array) -> float:
    """1 / (n + 2) for the effective number of these rows."""
    relative = weight / weight.max()
    return 1 / (float(relative.sum()) ** 2 / float(relative @ relative) + 2)


def _inside(probabilities: Array) -> Array:
    end = float(expit(-LARGEST_LOG_ODDS))
    return np.clip(probabilities, end, 1 - end)


def _isotonic(decisions: Array, target: Array, weight: Array) -> Isotonic:
    from sklearn.isotonic import IsotonicRegression

    # Of standard size: scikit-learn takes values that differ by less than 1e-15 for equal.
    centre, scale = _location(decisions, weight)
    fit = IsotonicRegression(out_of_bounds="clip").fit((decisions - centre) / scale, target, weight)
    knots = centre + scale * np.asarray(fit.X_thresholds_, dtype=np.float64)
    heights = np.maximum.accumulate(np.asarray(fit.y_thresholds_, dtype=np.float64))
    distinct = np.append(True, np.diff(knots) > 0)  # rounding may join two
    return Isotonic(knots[distinct], _inside(heights[distinct]))


def _logistic(method: str, decisions: Array, target: Array, weight: Array) -> LogOdds:
    if method == "intercept":
        fit = _fitted(np.empty((target.size, 0)), target, weight, decisions)
        return LogOdds(0.0, 1.0, 1.0, 1.0, float(fit[0]))
    centre, scale = _location(decisions, weight)
    z = (decisions - centre) / scale
    slope, constant = _fitted(z[:, None], target, weight)
    if method == "sigmoid":
        return LogOdds(centre, scale, float(slope), float(slope), float(constant))
    # Kull et al. begin with probabilities: here those of the sigmoid.
    t = slope * z + constant
    parts = np.column_stack([np.logaddexp(0, t), -np.logaddexp(0, -t)])
    high, low, beyond = (float(value) for value in _fitted(parts, target, weight))
    centre, scale = centre - scale * float(constant / slope), scale / float(slope)
    return LogOdds(centre, scale, low, high, beyond)


def _location(decisions: Array, weight: Array) -> tuple[float, float]:
    """Mean and standard deviation, also of huge values; a deviation of one where there is none."""
    largest = float(np.abs(decisions).max())
    if largest == 0:
        return 0.0, 1.0
    relative = decisions / largest
    mean = float(weight @ relative)
    deviation = float(np.sqrt(weight @ (relative - mean) ** 2))
    return largest * mean, largest * (deviation if deviation > 1e-12 else 1.0)


def _fitted(features: Array, target: Array, weight: Array, offset: Any = 0.0) -> Array:
    """Slopes, each at least `LEAST_SLOPE`, and the intercept of least weighted log loss.

    Newton's method on the slopes that are not at their bound, with a halving line search.
    """
    F = np.column_stack([features, np.ones(target.size)])
    lowest = np.append(np.full(features.shape[1], LEAST_SLOPE), -np.inf)
    share = float(weight @ target)
    theta = np.append(np.full(features.shape[1], LEAST_SLOPE), 0.0)
    # From the intercept that gives the share of positives at a typical row.
    theta[-1] = logit(share) - float(np.median(offset)) if np.ndim(offset) else logit(share)

    def loss(at: Array) -> tuple[float, Array]:
        odds = F @ at + offset
        return float(weight @ (np.logaddexp(0, odds) - target * odds)), odds

    value, odds = loss(theta)
    for _ in range(100):
        p = expit(odds)
        gradient = F.T @ (weight * (p - target))
        free = (theta > lowest) | (gradient < 0)
        curved = (F[:, free] * (weight * p * (1 - p))[:, None]).T @ F[:, free]
        curved[np.diag_indices_from(curved)] += 1e-12 * np.trace(curved) + 1e-300
        step = np.zeros_like(theta)
        step[free] = np.linalg.solve(curved, -gradient[free])
        length = 1.0
        while length > 1e-10:
            trial = np.maximum(theta + length * step, lowest)
            lower, of_trial = loss(trial)
            if lower <= value + 1e-4 * float(gradient @ (trial - theta)):
                break
            length /= 2
        else:
            break
        done = value - lower <= 1e-14 * (1 + abs(value))
        theta, value, odds = trial, lower, of_trial
        if done:
            break
    return theta
