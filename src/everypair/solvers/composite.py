"""The objective P(w) = L(Xw) + Omega(w) with a penalty that has corners, and its certificate.

The multipliers ``a_ij = -phi'(z_ij)`` at w, scaled by theta <= 1 until Omega* is finite, are
dual feasible. With c the loss' gradient in score space, ``m = sum a_ij`` over the weighted pairs
and ``S = L - s.c`` the dual value of the loss at theta = 1,

    D(theta) = S(theta) - Omega*(-theta X'c) ,

    S(theta) = theta m - theta^2 (m - S)            square, squared and rounded hinge (exact)
    S(theta) = theta S - m theta log theta          exponential (exact), logistic (from below:
                                                    -(1 - a) log(1 - a) is concave, zero at 0)

so the gap costs nothing beyond the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.matrix import Matrix
from everypair.pairs import PairPoint, Pairs
from everypair.pairs.point import fenchel_dual
from everypair.penalties import ElasticNet
from everypair.solvers.objective import Judgement

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LEAST_VALUE = float(np.sqrt(np.finfo(np.float64).eps))
"""A share of the loss at w = 0, which is of the order of 1: rounding of sums of such losses is
a tolerance of 1e-8 of it."""

ENTROPIC = {"logistic", "exponential"}


class LossPoint:
    """The pair loss at one vector of scores; what is asked for is computed once."""

    def __init__(self, pairs: Pairs, loss: PairPoint, scores: Array):
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


def entropic_dual(point: LossPoint, theta: float) -> float:
    return theta * (point.dual_value - point.multipliers * float(np.log(theta)))


def quadratic_dual(point: LossPoint, theta: float) -> float:
    return theta * point.multipliers - theta**2 * (point.multipliers - point.dual_value)


def relative(gap: float, value: float) -> float:
    """The gap as a share of the objective, or of `LEAST_VALUE` where that is more.

    An unpenalised feature that separates the classes takes the objective to zero, where no gap
    is small beside it. NaN stays NaN: it is at most no tolerance.
    """
    return max(gap, 0.0) / max(value, LEAST_VALUE)


def judge_by_gap(now: CompositeIterate) -> Judgement:
    return Judgement(now.value, relative(now.gap, now.value))


@dataclass(frozen=True)
class Composite:
    """Mean loss over every pair plus the elastic net.

    ``slope`` is the largest entry of ``|X'c|`` at w = 0, the measure of a KKT residual.
    """

    X: Matrix
    pairs: Pairs
    loss_at: Callable[[Array], PairPoint]
    scaled_dual: Callable[[LossPoint, float], float]
    penalty: ElasticNet
    slope: float
    judge: Callable[[CompositeIterate], Judgement] = judge_by_gap

    def at(self, w: Array, scores: Array | None = None) -> CompositeIterate:
        scores = self.X.dot(w) if scores is None else scores
        return CompositeIterate(self, w, LossPoint(self.pairs, self.loss_at(scores), scores))

    def on(self, X: Matrix, columns: Index) -> Composite:
        """The same problem in these coefficients alone; X holds their columns."""
        return replace(self, X=X, penalty=self.penalty.on(columns))


class CompositeIterate:
    """The objective at one w."""

    def __init__(self, objective: Composite, w: Array, point: LossPoint):
        self.objective, self.w, self.point = objective, w, point

    @cached_property
    def value(self) -> float:
        return self.point.value + self.objective.penalty.value(self.w)

    @cached_property
    def pulled(self) -> Array:
        """``X'c``: the loss' gradient in the coefficients."""
        pulled = self.objective.X.pull_back(self.point.gradient)
        if not np.all(np.isfinite(pulled)):
            raise ValueError(
                "The features are too large for float64: a gradient overflowed. "
                "Rescale X, for example with StandardScaler."
            )
        return pulled

    def dual(self, scaled_dual: Callable[[LossPoint, float], float]) -> float:
        """The better of two dual points: as far as Omega* is finite, and well inside."""
        penalty, u = self.objective.penalty, self.pulled
        scales = {penalty.feasible_scale(u), self._inner_scale}
        return max(scaled_dual(self.point, t) - penalty.conjugate(t * u, self.w) for t in scales)

    @cached_property
    def _inner_scale(self) -> float:
        """The largest ``theta <= 1`` at which no penalised ``|theta X'c|`` is past its l1."""
        penalty = self.objective.penalty
        kept = penalty.l1 > 0
        over = np.abs(self.pulled[kept]) / penalty.l1[kept]
        return float(1 / np.max(over, initial=1.0))

    @cached_property
    def gap(self) -> float:
        """Absolute duality gap of the objective as it stands."""
        return max(self.value - self.dual(self.objective.scaled_dual), 0.0)

    @cached_property
    def residual(self) -> float:
        """Largest violation of the optimality conditions, relative to ``slope``."""
        violations = self.objective.penalty.residual(self.w, self.pulled)
        return float(np.max(violations, initial=0.0)) / self.objective.slope

    @cached_property
    def judged(self) -> Judgement:
        return self.objective.judge(self)

    def moved(self, w: Array, scores: Array) -> CompositeIterate:
        return self.objective.at(w, scores)

    def on(self, X: Matrix, columns: Index) -> CompositeIterate:
        """The same point in the coefficients ``columns``; the others are zero."""
        part = CompositeIterate(self.objective.on(X, columns), self.w[columns], self.point)
        part.pulled = self.pulled[columns]
        return part

    def under(self, objective: Composite) -> CompositeIterate:
        """The same point under another penalty of the same loss: nothing is summed again."""
        after = CompositeIterate(objective, self.w, self.point)
        if "pulled" in vars(self):
            after.pulled = self.pulled
        return after
