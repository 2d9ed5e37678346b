"""The 1-slack structural SVM by cutting planes, stabilised by a level.

    P(w) = 1/2 |w|^2 + C slack(Xw)            (Joachims 2005, Optimization SlackProblem 2)

The most violated labelling at w gives a plane ``offset + slope . w`` below the slack, with
slope = X'(c' - c). The highest of the planes so far, and zero, is a model of the slack; the
minimum of the model is a lower bound D of P, whose dual is a QP over the simplex.

Algorithm 1 of the paper goes to the model's minimum at each step and zigzags where C is
large. Here the next point is the one nearest to the last among those where the model is at
most ``D + LEVEL (P_best - D)``: the level method of Lemaréchal, Nemirovskii & Nesterov (1995).
The bound and the gap are the same, the cuts are fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.measures import Measure
from everypair.solvers.planes import Planes, SlackProblem
from everypair.solvers.progress import Progress
from everypair.solvers.result import Result

Array = NDArray[np.float64]

GAP_SHARE_LEFT = 0.1
TOL_SHARE_LEFT = 1e-3


@dataclass(frozen=True)
class SlackResult(Result):
    """The distance is ``(P - D) / P``."""

    constant: float = 0.0
    slack: float = 0.0
    n_cuts: int = 0
    """Planes in the model at the end."""
    loss_at_zero: float = 0.0
    """Loss of the labelling that is violated most at w = 0."""
    square_at_zero: float = 0.0
    """Squared norm of its slope, without the constant's."""


def cutting_plane(
    X: Matrix,
    positive: NDArray[np.bool_],
    measure: Measure,
    C: float,
    *,
    constant: bool,
    tol: float = 1e-3,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SlackResult:
    """Minimise ``1/2 |w|^2 + C slack(Xw)``; ``constant`` adds a feature that is 1 in each row."""
    return SlackPath(X, positive, measure, constant).fit(C, tol, max_iter, verbose)


class SlackPath:
    """Fits of the same rows at one C after the other, each from where the last one ended.

    A plane below the slack stays below it whatever C is: all planes found so far are kept.
    """

    def __init__(self, X: Matrix, positive: NDArray[np.bool_], measure: Measure, constant: bool):
        self._problem = SlackProblem(X, positive, measure, 0.0, constant)
        self._planes = Planes(self._problem)
        self._w = np.zeros(X.shape[1] + 1)

    def fit(
        self, C: float, tol: float = 1e-3, max_iter: int = 1000, verbose: int = 0
    ) -> SlackResult:
        self._problem.C = self._planes.C = float(C)
        fit = _cutting_plane(self._problem, self._planes, self._w, tol, max_iter, verbose)
        self._w = np.append(fit.coef, fit.constant)
        return fit


def _cutting_plane(
    problem: SlackProblem, planes: Planes, w: Array, tol: float, max_iter: int, verbose: int
) -> SlackResult:
    progress = Progress(max_iter, verbose)
    zero = problem.at(np.zeros_like(w))
    at_zero, loss_at_zero, slope = zero.objective, zero.cut.offset, zero.cut.slope[:-1]
    now = problem.at(w) if np.any(w) else zero
    planes.move_to(now.w)
    best = min(zero, now, key=lambda point: point.objective)
    del zero  # its rows' worth of memory
    pull = problem.C * float(np.linalg.norm(now.cut.slope))
    # At first, the step that would halve a quadratic of this slope.
    log_multiplier = np.log(max(pull**2 / (2 * at_zero), 1e-12)) if at_zero else 0.0
    bound, gap = 0.0, 1.0
    last = False
    while True:
        planes.add(now.cut, now.w)
        # The bound never falls, though rounding and dropped cuts may make the QP's fall.
        bound = max(bound, planes.lower_bound())
        gap = max(0.0, best.objective - bound) / best.objective if best.objective > 0 else 0.0
        progress.record(best.objective, gap, f", {planes.n_cuts} cuts kept")
        if last or gap == 0 or progress.exhausted:
            break
        # Where C is small, P hardly changes from w = 0 to the minimum, and a gap that is small
        # beside P says little: most of the way must be done, or none be left.
        ahead, way = best.objective - bound, at_zero - bound
        settled = ahead <= GAP_SHARE_LEFT * way or gap <= TOL_SHARE_LEFT * tol
        # Once the gap is small the model is right near its own minimum, which is the last point.
        last = gap <= tol and settled
        if last:
            w = planes.minimum()
        else:
            w, log_multiplier = planes.nearest_at_level(
                now.w, bound, best.objective, log_multiplier
            )
            planes.drop_stale()
        now = problem.at(w)
        if now.objective < best.objective:
            best = now
    return SlackResult(
        best.w[:-1], best.scores, best.objective, gap, progress.n_iter, progress.history,
        constant=float(best.w[-1]), slack=best.slack, n_cuts=planes.n_cuts,
        loss_at_zero=loss_at_zero, square_at_zero=float(slope @ slope),
    )  # fmt: skip
