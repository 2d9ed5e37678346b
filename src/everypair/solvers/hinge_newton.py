"""The hinge over many pairs is all but smooth: Newton's method on the hinge itself.

The margins of n+ n- pairs lie so close together that their mean hinge curves like

    H = sum_ij a_i b_j delta(u_ij) (x_i - x_j)(x_i - x_j)' ,     u = 1 - (s_i - s_j) ,

the density of the margins at the corner. H is estimated by the pairs with ``|u| < width / 2``, each
of which counts ``1 / width``: that is the Hessian of the hinge rounded over this window, and the
window is about as wide as the last step moved the margins. Value, gradient and gap are those of the
hinge, whose multipliers are 1 where u > 0 and 0 elsewhere:

    P - D = sum_ij a_i b_j (max(0, u) - theta u) + |grad P|^2 / (2 alpha) = |grad P|^2 / (2 alpha) .

No rounding has to be narrowed, so few steps are needed. Where few pairs lie at the corner (few
rows, many columns, a small alpha) the last steps meet the corners themselves, and the gap shrinks
no more. There the hinge is rounded over a narrow window around its corner, whose multipliers
certify the hinge at little cost (`CentredHingePoint`), and one or two steps end within the
tolerance. Where they do not (columns of few values), `hinge_by_continuation` goes on.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.pairs import pair_point
from everypair.pairs.sorted import CentredHingePoint, HuberHingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.hinge import FIRST_WIDTH, around_corner
from everypair.solvers.hinge_certificate import duals_of_hinge, judge_against
from everypair.solvers.line_search import search_line
from everypair.solvers.newton import GAIN_TO_KEEP, Newton, NewtonMatrix
from everypair.solvers.problem import Iterate, Problem, Stop
from everypair.solvers.progress import Judgement, Progress

Array = NDArray[np.float64]

START_WIDTH = 0.25
"""Of the first window where the start is not zero, and of a matrix that is to serve other rows:
nobody knows how far their solution is."""

WIDTH_OF_A_STEP = 2.0
"""The width of a window in standard deviations of what the last step added to the scores."""

LEAST_WIDTH = 1e-4
"""Narrower windows hold too few pairs to tell a density."""

NEAR = 10.0
"""Within so many tolerances a step that gains little is held up by corners, not by its matrix."""

FAR = 1.0
"""A relative gap above this says little about the distance, and nothing about corners."""


def plain_hinge(X: Matrix, pairs: Rows, alpha: float, tol: float) -> Problem:
    """The problem of the hinge itself."""
    loss_at = partial(pair_point, "hinge", pairs)
    return Problem(X, loss_at, L2(alpha), _judge, tol, by_row=True)


def centred_hinge(now: Iterate) -> Iterate:
    """The same point under the hinge rounded over a narrow window around its corner.

    It is judged as the hinge. The rounding costs ``rho width^2 / 24``, rho the density of the
    margins, which is below 1 in most cases: with a width of ``2 sqrt(tol P)`` that is at most a
    sixth of what the tolerance allows.
    """
    if isinstance(now.loss, CentredHingePoint):
        return now
    return around_corner(now, 2 * (now.problem.tol * now.value) ** 0.5)


def _judge(now: Iterate) -> Judgement:
    return judge_against(duals_of_hinge(now), now, now.value)


class HingeNewton(Newton):
    """Newton's method with matrices of windows; a matrix is kept while its steps gain enough, over
    calls too. The last steps may be those of a `centred_hinge`."""

    def __init__(self, matrix: NewtonMatrix | None = None) -> None:
        super().__init__(matrix)
        self._width, self._lags = START_WIDTH, False
        self.at_corner = False
        """True if steps on the plain hinge stopped gaining in the last call. Steps on a
        `centred_hinge` may have finished."""

    def make_matrix(self, now: Iterate) -> None:
        self._width = START_WIDTH
        self._matrix = NewtonMatrix(self._windowed(now))

    def doubt(self) -> None:
        """The corner may be at fault, not the matrix: that is tried first."""
        self._lags = True

    def __call__(self, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        self.at_corner = False
        while not stop(now) and not progress.exhausted:
            if self._lags:
                self._lags = False
                near = FAR if self.at_corner else NEAR * now.problem.tol
                is_near = now.problem.tol > 0 and now.judged.distance < near
                past = _past_corner(now, stop, progress) if is_near else None
                if past is not None:
                    return past
                self._matrix = None
            if self.at_corner:
                break
            fresh = self._matrix is None
            if self._matrix is None:
                self._matrix = NewtonMatrix(self._windowed(now))
            else:
                self._matrix.serve(now.problem.quadratic.alpha)
            after = search_line(now, self._matrix.step(now.gradient))
            if not fresh and (after is None or after.gap > now.gap):
                # The last step of another problem says nothing of the distance here.
                self._width = START_WIDTH if after is None else _width_of_step(now, after)
                self.doubt()
                continue
            if after is None or after.value >= now.value:
                self.at_corner = True
                self.doubt()
                continue
            if after.gap > now.gap / GAIN_TO_KEEP:
                self.at_corner = fresh and after.judged.distance < FAR
                self.doubt()
            else:
                self._matrix.learn(now, after)
            self._width = _width_of_step(now, after)
            now = after
            progress.step(now)
        return now

    def _windowed(self, now: Iterate) -> Iterate:
        """The same point under the hinge rounded over the window.

        At zero every pair has a shortfall of 1: the middle of the window (0, 2).
        """
        loss: Any = now.loss
        width = float(np.clip(self._width, LEAST_WIDTH, FIRST_WIDTH))
        if now.w.any():
            loss = CentredHingePoint.at(loss, width)
        else:
            loss = HuberHingePoint(loss.order, FIRST_WIDTH)
        return now.problem.at(now.w, now.scores, loss)


def _past_corner(now: Iterate, stop: Stop, progress: Progress) -> Iterate | None:
    """A point where ``stop`` is content, by steps on the hinge rounded around its corner; None
    where one of them gains too little."""
    now = centred_hinge(now)
    while not stop(now):
        if progress.exhausted:
            return None
        after = search_line(now, NewtonMatrix(now).step(now.gradient))
        if after is None or after.gap > now.gap / GAIN_TO_KEEP:
            return None
        now = after
        progress.step(now)
    return now


def _width_of_step(before: Iterate, after: Iterate) -> float:
    return WIDTH_OF_A_STEP * float(np.std(after.scores - before.scores))
