"""The objective P(w) = L(Xw) + Omega(w) with a penalty that has corners, and its certificate.

The multipliers ``a_ij = -phi'(z_ij)`` at w, scaled by theta <= 1 until Omega* is finite, are
dual feasible. With u = X'c, c the loss' gradient in score space, the gap at them is

    P - D(theta) = [Omega(w) + Omega*(-theta u) + theta u.w] + R(theta) .

Neither part is negative and nothing of the size of P cancels. R is what the scaling costs; with
``m = sum a_ij`` over the weighted pairs, L the loss and E the exponential loss at the same scores,

    R = (1 - theta)^2 L                             square, squared hinge
    R = (1 - theta) (L - theta Q)                   rounded hinge, Q = width / 2 sum a_ij^2
                                                      = m - L + s.c
    R = (1 - theta + theta log theta) L             exponential
    R = min{ (1 - theta) L + m theta log theta,     logistic, at most: -(1 - a) log(1 - a) is
             (1 - theta)^2 E / (2 theta) }          concave and zero at 0; its second
                                                    derivative is at least -1 / (1 - a)

so the gap costs nothing beyond the gradient. What rounding hides is added to it (`rounding`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix, too_large
from everypair.pairs import PairPoint
from everypair.pairs.point import fenchel_dual
from everypair.penalties import ElasticNet
from everypair.rows import Rows
from everypair.solvers.progress import Judgement
from everypair.solvers.rounding import LITTLE, bent, pulled, pulled_error, pulled_error_by_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LEAST_VALUE = 1e-7
"""A share of the loss at w = 0, which is of the order of 1. Where a feature that is not penalised
separates the classes the objective's minimum is zero, and no gap is small beside it."""


NEARLY_FEASIBLE = 1e-4
"""A second bound, another sum over the rows, is worth while at a theta so near to one: it saves 9 %
of the steps on a path of 30 alphas (a9a; 5000 x 100 dense). 1e-6 saves none, 1e-2 no more."""


class LossPoint:
    """The pair loss at one vector of scores; what is asked for is computed once."""

    def __init__(self, pairs: Rows, loss: PairPoint, scores: Array):
        self.pairs, self.loss, self.scores = pairs, loss, scores

    @cached_property
    def value(self) -> float:
        return self.loss.value()

    @cached_property
    def gradient(self) -> Array:
        return self.loss.gradient()

    @cached_property
    def multipliers(self) -> float:
        """Their sum over the weighted pairs."""
        return -float(self.gradient[self.pairs.positives].sum())

    @cached_property
    def dual_value(self) -> float:
        return fenchel_dual(self.value, self.scores, self.gradient)

    @cached_property
    def exponential(self) -> float:
        """The exponential loss at these scores: a product of two class sums."""
        weight, (of_positives, of_negatives) = self.pairs.share, self.pairs.classes
        low, high = self.scores[of_positives], self.scores[of_negatives]
        least, most = low.min(), high.max()
        sums = (weight[of_positives] @ np.exp(least - low)) * (
            weight[of_negatives] @ np.exp(high - most)
        )
        with np.errstate(over="ignore"):
            return float(sums * np.exp(most - least))


def quadratic_loss(point: LossPoint, theta: float) -> float:
    return (1 - theta) ** 2 * point.value


def rounded_hinge_loss(point: LossPoint, theta: float) -> float:
    squares = max(point.multipliers - point.dual_value, 0.0)
    return (1 - theta) * (point.value - theta * squares)


def exponential_loss(point: LossPoint, theta: float) -> float:
    return (1 - theta + float(xlogy(theta, theta))) * point.value


def logistic_loss(point: LossPoint, theta: float) -> float:
    first = (1 - theta) * point.value + point.multipliers * float(xlogy(theta, theta))
    if theta == 1 or 1 - theta > NEARLY_FEASIBLE:
        return first
    return min(first, (1 - theta) ** 2 / (2 * theta) * point.exponential)


LOST_BY_SCALING: dict[str, Callable[[LossPoint, float], float]] = {
    "square": quadratic_loss,
    "squared_hinge": quadratic_loss,
    "hinge": rounded_hinge_loss,
    "exponential": exponential_loss,
    "logistic": logistic_loss,
}


def judge_by_gap(now: CompositeIterate) -> Judgement:
    return now.objective.judgement(now.value, now.gap_bound, now.gap)


@dataclass(frozen=True)
class Composite:
    """Mean loss over every pair plus the elastic net.

    ``slope`` is the largest entry of ``|X'c|`` at w = 0, the measure of a KKT residual.
    """

    X: Matrix
    pairs: Rows
    loss_at: Callable[[Array], PairPoint]
    lost_by_scaling: Callable[[LossPoint, float], float]
    penalty: ElasticNet
    slope: float
    judge: Callable[[CompositeIterate], Judgement] = judge_by_gap
    tol: float = 0.0
    """Bounds on rounding are as fine as it needs."""

    def at(self, w: Array, scores: Array | None = None) -> CompositeIterate:
        scores = self.X.dot(w) if scores is None else scores
        return CompositeIterate(self, w, LossPoint(self.pairs, self.loss_at(scores), scores))

    def judgement(self, value: float, gap: float, seen: float) -> Judgement:
        """By the gap and what is seen of it, as shares of the objective; NaN stays NaN: it is at
        most no tolerance."""
        scale = self.scale(value)
        return Judgement(value, gap / scale, max(0.0, gap - seen) / scale)

    def scale(self, value: float) -> float:
        """What a gap is small beside."""
        least = LEAST_VALUE if np.any(self.penalty.free) else np.finfo(np.float64).tiny
        return max(value, float(least))

    def on(self, X: Matrix, columns: Index) -> Composite:
        """The same problem in these coefficients alone; X holds their columns."""
        return replace(self, X=X, penalty=self.penalty.on(columns))


class CompositeIterate:
    """The objective at one w."""

    def __init__(self, objective: Composite, w: Array, point: LossPoint):
        self.objective, self.w, self.point = objective, w, point
        self._read_by_rows = False

    @cached_property
    def value(self) -> float:
        return self.point.value + self.objective.penalty.value(self.w)

    @cached_property
    def pulled(self) -> Array:
        """``X'c``: the loss' gradient in the coefficients."""
        slope = pulled(self.objective.X, self.point.gradient)
        if not np.all(np.isfinite(slope)):
            raise too_large("a gradient overflowed")
        return slope

    @cached_property
    def pulled_error(self) -> Array:
        return pulled_error(self.objective.X, self.point.loss, self.point.gradient)

    def scales(self, error: Array | float = 0.0) -> set[float]:
        """Two thetas: as far as Omega* is finite, and where no penalised ``|theta X'c|`` is past
        its l1."""
        penalty, u = self.objective.penalty, np.abs(self.pulled) + error
        kept = penalty.l1 > 0
        inner = float(1 / np.max(u[kept] / penalty.l1[kept], initial=1.0))
        return {penalty.feasible_scale(u), inner}

    @cached_property
    def gap(self) -> float:
        """Absolute duality gap of the objective as it stands."""
        return self._gap(0.0)

    @cached_property
    def gap_bound(self) -> float:
        """The gap and what rounding may have hidden of it."""
        gap = self.with_rounding(self._gap, self.gap, beside=self.value)
        return gap + bent(self.objective.X, self.point.loss, self.w)

    def with_rounding(
        self, of: Callable[[Array | float], float], plain: float, beside: float
    ) -> float:
        """``of`` the error of X'c, from ``plain`` without: as `Iterate.half_square`."""
        found = of(self.pulled_error)
        little = LITTLE * self.objective.tol * self.objective.scale(beside)
        if not self._read_by_rows and not found - plain <= max(little, self.gap):
            self._read_by_rows = True
            by_rows = pulled_error_by_rows(self.objective.X, self.point.loss, self.point.gradient)
            self.pulled_error = np.fmin(self.pulled_error, by_rows)
            found = of(self.pulled_error)
        return found

    def _gap(self, error: Array | float) -> float:
        objective, point = self.objective, self.point
        return min(
            objective.penalty.young(self.w, theta * self.pulled, theta * error)
            + max(objective.lost_by_scaling(point, theta), 0.0)
            for theta in self.scales(error)
        )

    @cached_property
    def residual(self) -> float:
        """Largest violation of the optimality conditions, relative to ``slope``."""
        violations = self.objective.penalty.residual(self.w, self.pulled)
        return float(np.max(violations, initial=0.0)) / self.objective.slope

    @property
    def residual_rounding(self) -> float:
        """What rounding may make of the residual."""
        return float(np.max(self.pulled_error, initial=0.0)) / self.objective.slope

    @cached_property
    def judged(self) -> Judgement:
        return self.objective.judge(self)

    def moved(self, w: Array, scores: Array) -> CompositeIterate:
        return self.objective.at(w, scores)

    def on(self, X: Matrix, columns: Index) -> CompositeIterate:
        """The same point in the coefficients ``columns``; the others are zero."""
        part = CompositeIterate(self.objective.on(X, columns), self.w[columns], self.point)
        part.pulled, part.pulled_error = self.pulled[columns], self.pulled_error[columns]
        return part

    def under(self, objective: Composite) -> CompositeIterate:
        """The same point under another penalty of the same loss: nothing is summed again."""
        after = CompositeIterate(objective, self.w, self.point)
        if "pulled" in vars(self):
            after.pulled, after.pulled_error = self.pulled, self.pulled_error
        return after
