"""The objective P(w) = L(Xw) + Omega(w) and how far a point is from its minimum.

The multipliers ``a_ij = -phi'(z_ij)`` at w, scaled by theta <= 1 until Omega* is finite, are
dual feasible. With u = X'c, c the loss' gradient in score space, the gap at them is

    P - D(theta) = [Omega(w) + Omega*(-theta u) + theta u.w] + R(theta) .

Neither part is negative and nothing of the size of P cancels. R is what the scaling costs
(`scaling`). The L2 penalty needs no scaling, and Fenchel's equality makes the gap
``|grad P(w)|^2 / (2 alpha)``. Either costs nothing beyond the gradient. What rounding hides is
added to it (`rounding`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix, too_large
from everypair.linalg.vectors import length, moved
from everypair.pairs import PairPoint, pair_point
from everypair.pairs.point import UNIT_ROUNDOFF, fenchel_dual, growth, usable
from everypair.pairs.separable import ClassSums
from everypair.penalties import Penalty, Quadratic, Separable
from everypair.solvers.progress import Judgement, Progress
from everypair.solvers.rounding import (
    NEGLIGIBLE_SHARE,
    bent,
    pulled,
    pulled_error,
    pulled_error_by_rows,
)

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class LossPoint:
    """The pair loss at one vector of scores; what is asked for is computed once.

    ``error`` bounds what the scores are off Xw by (`Problem.reach`); infinite where nobody knows.
    """

    def __init__(
        self,
        loss: PairPoint,
        scores: Array,
        error: float = np.inf,
        loss_at: Callable[[Array], PairPoint] | None = None,
    ):
        self.loss, self.scores, self.error, self.pairs = loss, scores, error, loss.pairs
        self._loss_at = loss_at

    @cached_property
    def loss(self) -> PairPoint:
        """The pair loss at the scores, made again after `rest`."""
        assert self._loss_at is not None
        return self._loss_at(self.scores)

    def rest(self) -> None:
        """Keep what a certificate needs, and no order or boxes of the rows."""
        _ = self.value, self.gradient, self.gradient_error, self.steepest
        if self._loss_at is not None:
            del self.loss

    @cached_property
    def value(self) -> float:
        return self.loss.value()

    @cached_property
    def gradient(self) -> Array:
        return self.loss.gradient()

    @cached_property
    def gradient_length(self) -> float:
        return length(self.gradient)

    @cached_property
    def gradient_error(self) -> float:
        return self.loss.gradient_error(self.gradient_length)

    @cached_property
    def steepest(self) -> float:
        return self.loss.steepest()

    @cached_property
    def multipliers(self) -> float:
        """Their sum over the weighted pairs."""
        return -float(self.pairs.sum_of_positives(self.gradient))

    @cached_property
    def dual_value(self) -> float:
        return fenchel_dual(self.value, self.pairs, self.scores, self.gradient)

    @cached_property
    def exponential(self) -> float:
        """The exponential loss at these scores: a product of two class sums, in each group."""
        pairs = self.pairs
        if pairs.within is not None:
            return pair_point("exponential", pairs, self.scores).value()
        if not isinstance(self.scores, np.ndarray):
            return float(pairs.exponential(self.scores))
        _, sums = ClassSums(pairs).exponentials(self.scores, pairs.share)
        with np.errstate(over="ignore"):
            return float(np.exp(sums.sum()))


def judge_by_gap(now: Iterate) -> Judgement:
    return now.problem.judgement(now.value, *now.gap_bound)


@dataclass(frozen=True)
class Problem:
    """Mean loss over every pair plus the penalty.

    ``loss_at`` maps scores to a `PairPoint`. ``judge`` says what a point is worth: the
    objective that counts (the hinge's, where a rounded hinge is being solved) and the
    relative distance to its minimum; a solver is judged by it and never judges itself. Bounds on
    rounding are as fine as ``tol`` needs.
    """

    X: Matrix
    loss_at: Callable[[Array], PairPoint]
    penalty: Penalty
    judge: Callable[[Iterate], Judgement] = judge_by_gap
    tol: float = 0.0
    lost_by_scaling: Callable[[LossPoint, float], float] | None = None
    """R(theta) of the loss, for a penalty whose conjugate may be infinite."""
    slope: float = 1.0
    """The largest entry of ``|X'c|`` at w = 0, the measure of a KKT residual."""
    by_row: bool = False
    """Whether the error of any one score counts, as for the hinge, or the norm of all."""

    def at(
        self,
        w: Array,
        scores: Array | None = None,
        loss: PairPoint | None = None,
        error: float = np.inf,
    ) -> Iterate:
        """The iterate at w; ``scores`` and the loss there, where they are known already."""
        if scores is None:
            scores, error = self.X.dot(w), self.product_error(w)
        loss = self.loss_at(scores) if loss is None else loss
        return Iterate(self, w, LossPoint(loss, scores, error, self.loss_at))

    def reach(self, w: Array) -> float:
        """A bound on Xw: on the norm over the rows, or on any one of them."""
        if self.by_row and self.X.rounding_bounds is not None:
            return self.X.rounding_bounds.reach_of_rows(w)
        sizes = np.abs(w)
        of_all = float(self.X.sizes.lengths @ sizes)
        return min(self.X.longest * length(sizes), of_all) if self.by_row else of_all

    def product_error(self, w: Array) -> float:
        """What rounding adds to Xw."""
        return growth(self.X.shape[1]) * self.reach(w)

    def score_error(self, w: Array) -> float:
        """What the scores of an iterate at w may be off Xw by: twice a product's error. Those that
        are further off are computed anew (`settled`)."""
        return 2 * self.product_error(w)

    @property
    def quadratic(self) -> Quadratic:
        """The penalty of a solver that needs its second derivatives."""
        if self.penalty.has_corners:
            raise TypeError(f"{self.penalty!r} has corners: this solver needs an L2 penalty.")
        return cast(Quadratic, self.penalty)

    @property
    def separable(self) -> Separable:
        """The penalty of a solver that goes by coefficients."""
        if not self.penalty.has_corners:
            raise TypeError(f"{self.penalty!r} is not separable: this solver needs an elastic net.")
        return cast(Separable, self.penalty)

    def judgement(self, value: float, gap: float, rounding: float) -> Judgement:
        """By shares of the objective; NaN stays NaN: it is at most no tolerance."""
        scale = self.scale(value)
        if scale == 0:  # underflow: nothing is left to be relative to
            return Judgement(value, 0.0 if gap == 0 else np.inf)
        return Judgement(value, gap / scale, rounding / scale)

    def scale(self, value: float) -> float:
        """What a gap is small beside."""
        return max(value, self.penalty.least_value)

    def on(self, X: Matrix, columns: Index) -> Problem:
        """The same problem in these coefficients alone; X holds their columns."""
        return replace(self, X=X, penalty=self.separable.on(columns))


class Iterate:
    """The objective at one w; what is asked for is computed once."""

    def __init__(self, problem: Problem, w: Array, point: LossPoint):
        self.problem, self.w, self.point = problem, w, point
        self._read_by_rows = False
        self.stretch: tuple[float, float] | None = None
        """Kept by `hinge_certificate.best_stretch`."""

    @property
    def scores(self) -> Array:
        return self.point.scores

    @property
    def loss(self) -> PairPoint:
        return self.point.loss

    @cached_property
    def value(self) -> float:
        return self.point.value + self.problem.penalty.value(self.w)

    @cached_property
    def pulled(self) -> Array:
        """``X'c``: the loss' gradient in the coefficients."""
        slope = pulled(self.problem.X, self.point.gradient)
        if not np.isfinite(slope).all():
            raise too_large("a gradient overflowed")
        return slope

    @cached_property
    def pulled_error(self) -> Array:
        point = self.point
        return pulled_error(self.problem.X, point.gradient_error, point.gradient_length)

    @cached_property
    def gradient(self) -> Array:
        """The gradient of the whole objective, if the penalty has one."""
        return self.pulled + self.problem.quadratic.slope(self.w)

    @cached_property
    def gap(self) -> float:
        """Absolute duality gap of the objective as it stands; infinite where a square overflows."""
        return self._gap(0.0)

    @cached_property
    def gap_bound(self) -> tuple[float, float]:
        """The gap and what rounding may have hidden of it; the part that no step can take off."""
        gap = self.with_rounding(self._gap, self.gap, beside=self.value)
        of_scores = bent(self.point.steepest, self.problem.score_error(self.w))
        unavoidable = self.problem.penalty.unavoidable(self.pulled_error, gap, self.gap)
        return gap + of_scores, max(0.0, unavoidable + of_scores)

    def with_rounding(
        self, of: Callable[[Array | float], float], plain: float, beside: float
    ) -> float:
        """``of`` the error of X'c, from ``plain`` without.

        Where the error makes most of a gap, and no small share of the tolerance for one ``beside``
        which it is small, it is bounded anew by rows.
        """
        found = of(self.pulled_error)
        little = NEGLIGIBLE_SHARE * self.problem.tol * self.problem.scale(beside)
        if not self._read_by_rows and not found - plain <= max(little, self.gap):
            self._read_by_rows = True
            by_rows = pulled_error_by_rows(self.problem.X, self.loss, self.point.gradient)
            self.pulled_error = np.fmin(self.pulled_error, by_rows)
            found = of(self.pulled_error)
        return found

    def _gap(self, error: Array | float) -> float:
        penalty = self.problem.penalty
        if not penalty.has_corners:  # nothing needs scaling
            return penalty.young(self.w, self.pulled, error)
        return min(
            penalty.young(self.w, theta * self.pulled, theta * error) + self._lost(theta)
            for theta in penalty.scales(self.pulled, error)
        )

    def _lost(self, theta: float) -> float:
        lost = self.problem.lost_by_scaling
        return 0.0 if theta == 1 or lost is None else max(lost(self.point, theta), 0.0)

    @cached_property
    def residual(self) -> float:
        """Largest violation of the optimality conditions, relative to ``slope``."""
        violations = self.problem.separable.residual(self.w, self.pulled)
        return float(np.max(violations, initial=0.0)) / self.problem.slope

    @property
    def residual_rounding(self) -> float:
        """What rounding may make of the residual."""
        return float(np.max(self.pulled_error, initial=0.0)) / self.problem.slope

    @property
    def relative_gradient(self) -> float:
        """``|grad P|`` beside the two parts that cancel in it at a stationary point."""
        of_penalty = self.problem.quadratic.slope(self.w)
        parts = np.linalg.norm(self.pulled) + np.linalg.norm(of_penalty)
        return float(np.linalg.norm(self.gradient) / parts) if parts > 0 else 0.0

    @cached_property
    def judged(self) -> Judgement:
        return self.problem.judge(self)

    def moved(
        self, length: float, direction: Array, score_step: Array, step_error: float
    ) -> Iterate | None:
        """``length`` along ``direction``, from scores that are added up: X is not read.

        None where they leave the range of float64.
        """
        scores = moved(self.scores, length, score_step)
        if not usable(scores):
            return None
        problem, w = self.problem, self.w + length * direction
        error = self.point.error + length * step_error + 2 * UNIT_ROUNDOFF * problem.reach(w)
        return problem.at(w, scores, error=error)

    def on(self, X: Matrix, columns: Index) -> Iterate:
        """The same point in the coefficients ``columns``; the others are zero."""
        part = Iterate(self.problem.on(X, columns), self.w[columns], self.point)
        part.pulled, part.pulled_error = self.pulled[columns], self.pulled_error[columns]
        return part

    def under(self, problem: Problem) -> Iterate:
        """The same point under another penalty of the same loss: nothing is summed again."""
        after = Iterate(problem, self.w, self.point)
        if "pulled" in vars(self):
            after.pulled, after.pulled_error = self.pulled, self.pulled_error
        return after


def better_start(problem: Problem, start: Array) -> Iterate:
    """The iterate at ``start``, or at zero where that is better: a start from other data may lie
    anywhere, even where the loss overflows."""
    zero = problem.at(np.zeros_like(start), problem.X.zero_scores, error=0.0)
    if not start.any():
        return zero
    scores = problem.X.dot_and_sizes(start)
    if usable(scores):
        now = problem.at(start, scores, error=problem.product_error(start))
        if now.value <= zero.value:
            return now
    return zero


def settled(now: Iterate) -> Iterate:
    """``now``, or the same coefficients at scores computed anew where these have drifted.

    Steps add up scores without a product with X, and rounding adds up with them, far where the
    first coefficients were huge. Where the bound on it is not enough, a product is.
    """
    problem, w, point = now.problem, now.w, now.point
    if point.error <= problem.score_error(w):
        return now
    product, least = problem.X.dot(w), problem.product_error(w)
    off = product - point.scores
    drift = float(np.max(np.abs(off))) if problem.by_row else length(off)
    if drift <= least:  # a NaN has drifted
        point.error = least + drift
        return now
    return problem.at(w, product, error=least)


def run_settled(run: Solver, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
    """Run a solver until it stops at scores that are still those of its coefficients."""
    while True:
        found = run(now, stop, progress)
        now = settled(found)
        if now is found or stop(now) or progress.exhausted:
            return now
        progress.n_iter += 1  # a new start counts, so that there is an end to them


def at_rest(now: Iterate) -> bool:
    """At zero, with a way down from it.

    Where features are of size 1e-5 the objective hardly moves and zero is within any
    tolerance of the minimum; it ranks nothing, and a step from it does. A penalty with corners
    has zero for a minimum.
    """
    corners = now.problem.penalty.has_corners
    return bool(not corners and not now.w.any() and now.gradient.any())


class Stop(Protocol):
    """When a point is good enough."""

    def __call__(self, now: Iterate, share: float = 1.0) -> bool:
        """A ``share`` below one asks for as much less of what steps can take off."""
        ...

    def gap_wanted(self, now: Iterate) -> float:
        """The absolute gap of the smooth problem that would do from here; 0 where none is known."""
        ...


@dataclass(frozen=True)
class CloseEnough:
    """Within ``tol`` of the minimum, as the problem judges it: by the gap, or otherwise."""

    tol: float
    by_gap: bool = True

    def __call__(self, now: Iterate, share: float = 1.0) -> bool:
        return now.judged.done(self.tol, share) and not at_rest(now)

    def gap_wanted(self, now: Iterate) -> float:
        return self.tol * now.value if self.by_gap else 0.0


Solver = Callable[[Iterate, Stop, Progress], Iterate]
