"""Newton's method with the whole Hessian X'HX: for X with few columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from everypair.pairs.point import EXACT
from everypair.pairs.smooth import ROUGH_ACCURACY
from everypair.solvers.line_search import search_line
from everypair.solvers.newton_cg import newton_cg
from everypair.solvers.objective import Iterate, Progress, Stop, too_large

Array = NDArray[np.float64]

GAIN_TO_KEEP = 10.0
"""A step must shrink the gap by this factor for its matrix to serve once more."""

HESSIAN_BYTES = 2**25
"""The sums behind a matrix may take this much, or as much as X."""


class NewtonMatrix:
    """The factored Hessian ``X'HX + alpha I`` at one point, scaled to a unit diagonal.

    The scaling makes the factorisation blind to the units of the features. A rough Hessian
    serves; one that is not positive definite is computed again exactly, and what rounding
    still leaves indefinite is lifted along its diagonal until it factors.
    """

    def __init__(self, now: Iterate):
        try:
            self._scaled(now, accuracy=ROUGH_ACCURACY)
            self._factor = cho_factor(self._matrix, lower=True, check_finite=False)
        except LinAlgError:
            self._scaled(now, accuracy=EXACT)
            self._factor = self._lifted_factor()
        del self._matrix

    def _scaled(self, now: Iterate, accuracy: float) -> None:
        alpha = now.objective.alpha
        matrix = now.loss.hessian(now.objective.X, accuracy=accuracy)
        diagonal = np.einsum("jj->j", matrix)
        diagonal += alpha
        if not np.all(np.isfinite(matrix)):
            raise too_large("their squares overflow")
        if accuracy != EXACT and diagonal.min() < alpha / 2:
            raise LinAlgError("rounding has eaten the diagonal")
        # Nothing below the rounding of the largest entry, so that no scale explodes.
        floor = max(alpha, np.finfo(float).eps * diagonal.max())
        self._scale = 1 / np.sqrt(np.maximum(diagonal, floor))
        matrix *= self._scale
        matrix *= self._scale[:, None]
        self._matrix = matrix

    def _lifted_factor(self) -> tuple[Array, bool]:
        diagonal, lift = np.einsum("jj->j", self._matrix), 0.0
        while True:
            try:
                return cho_factor(self._matrix, lower=True, check_finite=False)
            except LinAlgError:
                diagonal -= lift
                lift = max(1e-12, 10 * lift)
                diagonal += lift

    def step(self, gradient: Array) -> Array:
        solution = cho_solve(self._factor, self._scale * gradient, check_finite=False)
        return -self._scale * solution


def newton(
    now: Iterate, stop: Stop, progress: Progress, matrix: NewtonMatrix | None = None
) -> Iterate:
    """Solve ``(X'HX + alpha I) d = -grad``, search along d, until ``stop`` or no way down.

    A matrix is kept for the next step while its steps gain enough: the Hessian costs several
    gradients. The first ``matrix`` may come from a sample of the rows. Where the sums for a matrix
    would outgrow X, its products serve instead.
    """
    while not stop(now) and not progress.exhausted:
        fresh = matrix is None
        if matrix is None:
            X = now.objective.X
            if now.loss.hessian_bytes(X.shape[1]) > max(HESSIAN_BYTES, X.nbytes):
                return newton_cg(now, stop, progress)
            matrix = NewtonMatrix(now)
        after = search_line(now, matrix.step(now.gradient))
        if after is None:
            if fresh:
                break
            matrix = None
            continue
        if after.gap > now.gap / GAIN_TO_KEEP:
            matrix = None
        now = after
        progress.step(now)
    return now
