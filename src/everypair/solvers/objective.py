"""The smooth objective P(w) = L(Xw) + alpha / 2 |w|^2 and how far a point is from its minimum.

For a convex pair loss with a slope everywhere, the multipliers ``-phi'(z_ij)`` at w are dual
feasible, and Fenchel's equality turns the duality gap at w into

    P(w) - D(w) = |grad P(w)|^2 / (2 alpha) :

a certificate that costs nothing beyond the gradient. What rounding hides is added to it
(`rounding`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix, too_large
from everypair.pairs import PairPoint
from everypair.pairs.point import usable
from everypair.solvers.progress import Judgement, Progress
from everypair.solvers.rounding import (
    LITTLE,
    bent,
    pulled,
    pulled_error,
    pulled_error_by_rows,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """Mean loss over every pair plus the penalty.

    ``loss_at`` maps scores to a `PairPoint`. ``judge`` says what a point is worth: the
    objective that counts (the hinge's, where a rounded hinge is being solved) and the
    relative distance to its minimum; a solver is judged by it and never judges itself. Bounds on
    rounding are as fine as ``tol`` needs.
    """

    X: Matrix
    loss_at: Callable[[Array], PairPoint]
    alpha: float
    judge: Callable[[Iterate], Judgement] = lambda now: Judgement.of_gap(now.value, *now.gap_bound)
    tol: float = 0.0

    def at(self, w: Array, scores: Array | None = None, loss: PairPoint | None = None) -> Iterate:
        """The iterate at w; ``scores``, and the loss there, where they are known already."""
        scores = self.X.dot(w) if scores is None else scores
        return Iterate(self, w, scores, self.loss_at(scores) if loss is None else loss)


class Iterate:
    """The objective at one w; what is asked for is computed once."""

    def __init__(self, objective: Objective, w: Array, scores: Array, loss: PairPoint):
        self.objective, self.w, self.scores, self.loss = objective, w, scores, loss
        self._read_by_rows = False

    @cached_property
    def value(self) -> float:
        return self.loss.value() + self.objective.alpha / 2 * float(self.w @ self.w)

    @cached_property
    def score_gradient(self) -> Array:
        return self.loss.gradient()

    @cached_property
    def loss_gradient(self) -> Array:
        """Of the loss alone, in the coefficients."""
        slope = pulled(self.objective.X, self.score_gradient)
        if not np.all(np.isfinite(slope)):
            raise too_large("a gradient overflowed")
        return slope

    @cached_property
    def gradient(self) -> Array:
        return self.loss_gradient + self.objective.alpha * self.w

    @cached_property
    def gap(self) -> float:
        """Absolute duality gap; infinite where its square overflows."""
        return float(self.gradient @ self.gradient) / (2 * self.objective.alpha)

    @cached_property
    def pulled_error(self) -> Array:
        return pulled_error(self.objective.X, self.loss, self.score_gradient)

    @cached_property
    def gap_bound(self) -> tuple[float, float]:
        """The gap and what rounding may have hidden of it; the part that a gradient of zero has."""
        gap = self.half_square(self.gradient, beside=self.value)
        of_scores = bent(self.objective.X, self.loss, self.w)
        of_zero = float(self.pulled_error @ self.pulled_error) / (2 * self.objective.alpha)
        return gap + of_scores, of_zero + of_scores

    def half_square(self, vector: Array, beside: float) -> float:
        """``|v|^2 / (2 alpha)`` at most, v with the error of the loss' gradient.

        Where the error makes most of a gap, and no small share of the tolerance for one ``beside``
        which it is small, it is bounded anew by rows.
        """
        alpha, size = self.objective.alpha, np.abs(vector)

        def at_most() -> float:
            off = size + self.pulled_error
            return float(off @ off) / (2 * alpha)

        found = at_most()
        hidden = found - float(size @ size) / (2 * alpha)
        little = LITTLE * self.objective.tol * beside
        if not self._read_by_rows and not hidden <= max(little, self.gap):
            self._read_by_rows = True
            by_rows = pulled_error_by_rows(self.objective.X, self.loss, self.score_gradient)
            self.pulled_error = np.fmin(self.pulled_error, by_rows)
            found = at_most()
        return found

    @cached_property
    def judged(self) -> Judgement:
        return self.objective.judge(self)

    @property
    def relative_gradient(self) -> float:
        """``|grad P|`` beside the two parts that cancel in it at a stationary point."""
        parts = np.linalg.norm(self.loss_gradient)
        parts += self.objective.alpha * np.linalg.norm(self.w)
        return float(np.linalg.norm(self.gradient) / parts) if parts > 0 else 0.0


def better_start(objective: Objective, start: Array) -> Iterate:
    """The iterate at ``start``, or at zero where that is better: a start from other data may lie
    anywhere, even where the loss overflows."""
    zero = objective.at(np.zeros_like(start), np.zeros(objective.X.shape[0]))
    if not start.any():
        return zero
    scores = objective.X.dot(start)
    if usable(scores):
        now = objective.at(start, scores)
        if now.value <= zero.value:
            return now
    return zero


def at_rest(now: Iterate) -> bool:
    """At zero, with a way down from it.

    Where features are of size 1e-5 the objective hardly moves and zero is within any
    tolerance of the minimum; it ranks nothing, and a step from it does.
    """
    return bool(not now.w.any() and now.gradient.any())


class Stop(Protocol):
    """When a point is good enough."""

    def __call__(self, now: Iterate) -> bool: ...

    def gap_wanted(self, now: Iterate) -> float:
        """The absolute gap of the smooth problem that would do from here; 0 where none is known."""
        ...


@dataclass(frozen=True)
class CloseEnough:
    """Within ``tol`` of the minimum, as the objective judges it: by the gap, or otherwise."""

    tol: float
    by_gap: bool = True

    def __call__(self, now: Iterate) -> bool:
        return now.judged.done(self.tol) and not at_rest(now)

    def gap_wanted(self, now: Iterate) -> float:
        return self.tol * now.value if self.by_gap else 0.0


Solver = Callable[[Iterate, Stop, Progress], Iterate]
