"""The hinge over many pairs is all but smooth: Newton's method on the hinge itself.

The margins of n+ n- pairs lie so close together that their mean hinge curves like

    H = sum_ij a_i b_j delta(u_ij) (x_i - x_j)(x_i - x_j)' ,     u = 1 - (s_i - s_j) ,

the density of the margins at the corner. H is estimated by the pairs with ``|u| < width / 2``, each
of which counts ``1 / width``: that is the Hessian of the hinge rounded over this window, and the
window is about as wide as the last step moved the margins. Value, gradient and gap are those of the
hinge, whose multipliers are 1 where u > 0 and 0 elsewhere:

    P - D = sum_ij a_i b_j (max(0, u) - theta u) + |grad P|^2 / (2 alpha) = |grad P|^2 / (2 alpha) .

No rounding has to be narrowed, so few steps are needed. Where few pairs lie at the corner (few
rows, many columns, columns of few values) the last steps meet the corners themselves: there the
gap shrinks no more, and `hinge_by_continuation` goes on.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.pairs import pair_point
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HuberHingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.hinge import FIRST_WIDTH, duals_of_hinge, judge_against
from everypair.solvers.line_search import search_line
from everypair.solvers.newton import GAIN_TO_KEEP, NewtonMatrix
from everypair.solvers.problem import Iterate, Problem, Stop
from everypair.solvers.progress import Judgement, Progress

Array = NDArray[np.float64]

START_WIDTH = 0.25
"""Of the first window where the start is not zero: nobody knows how far the solution is."""

WIDTH_OF_A_STEP = 2.0
"""The width of a window in standard deviations of what the last step added to the scores."""

LEAST_WIDTH = 1e-4
"""Narrower windows hold too few pairs to tell a density."""

FAR = 1.0
"""A relative gap above this says little about the distance, and nothing about corners."""


def plain_hinge(X: Matrix, pairs: Rows, alpha: float, tol: float) -> Problem:
    """The problem of the hinge itself."""
    loss_at = partial(pair_point, "hinge", pairs)
    return Problem(X, loss_at, L2(alpha), _judge, tol, by_row=True)


def _judge(now: Iterate) -> Judgement:
    return judge_against(duals_of_hinge(now), now, now.value)


class HingeNewton:
    """Newton's method with matrices of windows; a matrix is kept while its steps gain enough, over
    calls too."""

    def __init__(self) -> None:
        self._matrix: NewtonMatrix | None = None
        self._width = START_WIDTH
        self.at_corner = False
        """Whether the last call ended because the gap would not shrink."""

    def __call__(self, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        self.at_corner = False
        while not stop(now) and not progress.exhausted:
            fresh = self._matrix is None
            if self._matrix is None:
                self._matrix = NewtonMatrix(self._windowed(now))
            else:
                self._matrix.serve(now.problem.quadratic.alpha)
            after = search_line(now, self._matrix.step(now.gradient))
            worse = after is None or after.gap > now.gap
            if worse and not fresh:
                self._matrix = None
                # The last step of another problem says nothing of the distance here.
                self._width = START_WIDTH if after is None else _width_of_step(now, after)
                continue
            if after is None or after.value >= now.value:
                self.at_corner = True
                break
            if after.gap > now.gap / GAIN_TO_KEEP:
                self._matrix = None
                self.at_corner = fresh and after.judged.distance < FAR
            else:
                self._matrix.learn(now, after)
            self._width = _width_of_step(now, after)
            now = after
            progress.step(now)
            if self.at_corner:
                break
        return now

    def _windowed(self, now: Iterate) -> Iterate:
        """The same point under the hinge rounded over the window.

        At zero every pair has a shortfall of 1: the middle of the window (0, 2).
        """
        pairs, scores = now.loss.pairs, now.scores
        width = float(np.clip(self._width, LEAST_WIDTH, FIRST_WIDTH))
        if now.w.any():
            scores = scores.copy()
            scores[pairs.positives] -= width / 2
        else:
            width = FIRST_WIDTH
        loss = HuberHingePoint(SortedScores(pairs, scores), width)
        return now.problem.at(now.w, now.scores, loss)


def _width_of_step(before: Iterate, after: Iterate) -> float:
    return WIDTH_OF_A_STEP * float(np.std(after.scores - before.scores))
