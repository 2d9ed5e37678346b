"""Newton's method with the whole Hessian X'HX: for X with few columns, or hard problems."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor
from scipy.linalg.lapack import dpotrs

from everypair.linalg.matrix import Matrix, too_large
from everypair.pairs import PairPoint
from everypair.pairs.point import FULL_ACCURACY
from everypair.pairs.smooth import ROUGH_ACCURACY
from everypair.solvers.line_search import search_line
from everypair.solvers.newton_cg import Patience, newton_cg
from everypair.solvers.problem import Iterate, Stop
from everypair.solvers.progress import Progress

Array = NDArray[np.float64]

GAIN_TO_KEEP = 3.0
"""A step must shrink the gap by this factor for its matrix to serve once more."""

STEPS_OF_A_MATRIX = 6
"""Steps that a matrix learns from before it is made anew."""

CHEAP_COLUMNS = 3
"""A Hessian on a sample takes one pass over the sample per column. It is cheap if that costs at
most this many passes over all rows."""

HESSIANS_OF_A_SOLVE = 8
"""Hessians that Newton's method is expected to need where products have not been enough."""

HESSIAN_BYTES = 2**25
"""The sums behind a matrix may take this much, or the room that X says."""


SomeRows = Callable[[Iterate], tuple[Matrix, PairPoint]]
"""Rows whose Hessian stands for that of all rows, and the loss at their scores."""


class _Learnt(NamedTuple):
    """A step, the change of the gradients of loss and objective along it, the curvature of both."""

    step: Array
    of_loss: Array
    change: Array
    curvature: float


class NewtonMatrix:
    """The factored Hessian ``X'HX + alpha I`` at one point, scaled to a unit diagonal.

    The scaling makes the factorisation blind to the units of the features. A rough Hessian
    serves; one that is not positive definite is computed again exactly, and what rounding
    still leaves indefinite is lifted along its diagonal until it factors. At later points it
    is corrected by what steps have shown of the curvature, and for another alpha it is factored
    again (`serve`): its sums over the pairs do not depend on alpha.
    """

    def __init__(self, now: Iterate, some_rows: SomeRows | None = None):
        self._learnt: list[_Learnt] = []
        self._some_rows = some_rows
        self._alpha = alpha = now.problem.quadratic.alpha
        self._read(now, ROUGH_ACCURACY)
        try:
            self._scaled(alpha, rough=True)
            self._factor = cho_factor(self._matrix, lower=True, check_finite=False)
        except LinAlgError:
            self._read(now, FULL_ACCURACY)
            self._factor_lifted(alpha)
        del self._matrix

    def _read(self, now: Iterate, accuracy: float) -> None:
        X, loss = now.problem.X, now.loss
        if self._some_rows is not None:
            X, loss = self._some_rows(now)
        self._hessian = loss.hessian(X if accuracy == FULL_ACCURACY else X.rough, accuracy=accuracy)

    def serve(self, alpha: float) -> None:
        """Factor the same sums for another alpha.

        What was learnt stays where its curvature is more than rounding at this alpha too.
        """
        if alpha == self._alpha:
            return
        self._alpha = alpha
        self._factor_lifted(alpha)
        del self._matrix
        learnt, self._learnt = self._learnt, []
        for step, of_loss, *_ in learnt:
            self._keep(step, of_loss)

    def _scaled(self, alpha: float, rough: bool = False) -> None:
        matrix = self._hessian.copy()
        diagonal = np.einsum("jj->j", matrix)
        diagonal += alpha
        if not np.all(np.isfinite(matrix)):
            raise too_large("their squares overflow")
        if rough and diagonal.min(initial=np.inf) < alpha / 2:
            raise LinAlgError("rounding has eaten the diagonal")
        # Nothing below the rounding of the largest entry, so that no scale explodes.
        floor = max(alpha, np.finfo(float).eps * diagonal.max(initial=0.0))
        self._scale = 1 / np.sqrt(np.maximum(diagonal, floor))
        matrix *= self._scale
        matrix *= self._scale[:, None]
        self._matrix = matrix

    def _factor_lifted(self, alpha: float) -> None:
        self._scaled(alpha)
        diagonal, lift = np.einsum("jj->j", self._matrix), 0.0
        while True:
            try:
                self._factor = cho_factor(self._matrix, lower=True, check_finite=False)
                return
            except LinAlgError:
                diagonal -= lift
                lift = max(1e-12, 10 * lift)
                diagonal += lift

    def copied(self) -> NewtonMatrix:
        """The same sums and what was learnt, to serve another problem."""
        other = copy(self)
        other._learnt = list(self._learnt)
        return other

    @property
    def n_learnt(self) -> int:
        return len(self._learnt)

    def learn(self, before: Iterate, after: Iterate) -> None:
        """The change of the gradient along the step from ``before`` to ``after``.

        The penalty alone has a curvature of alpha: less than that is rounding.
        """
        self._keep(after.w - before.w, after.pulled - before.pulled)

    def _keep(self, step: Array, of_loss: Array) -> None:
        change = of_loss + self._alpha * step
        curvature = float(step @ change)
        if curvature > 0 and curvature >= self._alpha / 2 * float(step @ step):
            self._learnt.append(_Learnt(step, of_loss, change, curvature))

    def times(self, vector: Array) -> Array:
        """``(X'HX + alpha I) v``, without what was learnt."""
        return self._hessian @ vector + self._alpha * vector

    def root(self) -> Array:
        """R with ``R'R = X'HX + alpha I``, as it was factored and without what was learnt."""
        return np.asarray(np.tril(self._factor[0]).T / self._scale)

    def solve(self, vector: Array) -> Array:
        """``(X'HX + alpha I)^-1 v``, without what was learnt."""
        # As `cho_solve`, which takes longer to look at its arguments than to solve.
        scaled, _ = dpotrs(self._factor[0], self._scale * vector, lower=1)
        return np.asarray(self._scale * scaled)

    def step(self, gradient: Array) -> Array:
        """The step of the matrix corrected by what was learnt: BFGS, two loops (Nocedal 1980)."""
        left, shares = -gradient, []
        for step, _, change, curvature in reversed(self._learnt):
            shares.append(float(step @ left) / curvature)
            left = left - shares[-1] * change
        way = self.solve(left)
        for step, _, change, curvature in self._learnt:
            way += (shares.pop() - float(change @ way) / curvature) * step
        return way


class Newton:
    """Solve ``(X'HX + alpha I) d = -grad``, search along d, until ``stop`` or no way down.

    A matrix is kept while its steps gain enough, over calls too: the Hessian costs several
    gradients, and what the steps learn mends it. So the matrix of a sample serves the whole.
    Hessians of ``some_rows`` give way to those of all rows when a new one gains too little.
    Where the sums for a matrix would outgrow their room, its products serve instead.
    """

    def __init__(
        self, matrix: NewtonMatrix | None = None, some_rows: SomeRows | None = None
    ) -> None:
        self._matrix, self._some_rows = matrix, some_rows

    @property
    def matrix(self) -> NewtonMatrix | None:
        return self._matrix

    def renew(self, now: Iterate, n_rows: int) -> None:
        """Before it serves a problem with ``n_rows``, the matrix is made again here if it is worn,
        or if that costs little beside the steps it saves there."""
        if self._matrix is None:
            return
        cheap = now.problem.X.shape[0] * now.w.size <= CHEAP_COLUMNS * n_rows
        if self._matrix.n_learnt >= (1 if cheap else STEPS_OF_A_MATRIX):
            self._matrix = NewtonMatrix(now, self._some_rows)

    def make_matrix(self, now: Iterate) -> None:
        """At this point, whatever matrix there is."""
        self._matrix = NewtonMatrix(now, self._some_rows) if _fits(now) else None

    def doubt(self) -> None:
        """The matrix has gained too little."""
        self._matrix = None

    def next_coefficients(self, now: Iterate) -> Array:
        """Where one more step would end, without a look at X; ``now.w`` without a matrix."""
        if self._matrix is None:
            return now.w
        self._matrix.serve(now.problem.quadratic.alpha)
        return now.w + self._matrix.step(now.gradient)

    def __call__(self, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        while not stop(now) and not progress.exhausted:
            fresh = self._matrix is None
            if self._matrix is None:
                if not _fits(now):
                    return newton_cg(now, stop, progress)
                self._matrix = NewtonMatrix(now, self._some_rows)
            else:
                self._matrix.serve(now.problem.quadratic.alpha)
            after = search_line(now, self._matrix.step(now.gradient))
            if after is not None and after.gap <= now.gap / GAIN_TO_KEEP:
                self._matrix.learn(now, after)
            else:
                self._matrix = None
                another = not fresh or self._some_rows is not None
                if fresh:
                    self._some_rows = None  # they say too little of all rows
                if another and (after is None or after.gap > now.gap):
                    continue
                if after is None:
                    break
            now = after
            progress.step(now)
        return now


class ProductsFirst:
    """Newton-CG while a problem takes fewer products than a few whole Hessians cost, then `Newton`.

    A hinge that is rounded narrowly curves along few pairs: conjugate gradients may need hundreds
    of products there, step after step.
    """

    def __init__(self) -> None:
        self._newton: Newton | None = None

    def renew(self, now: Iterate, n_rows: int) -> None:
        if self._newton is not None:
            self._newton.renew(now, n_rows)

    def __call__(self, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        if self._newton is None:
            a_hessian = now.problem.X.products_per_hessian
            patience = Patience(HESSIANS_OF_A_SOLVE * a_hessian) if _fits(now) else None
            now = newton_cg(now, stop, progress, patience)
            if patience is None or not patience.is_over or stop(now) or progress.exhausted:
                return now
            self._newton = Newton()
        return self._newton(now, stop, progress)


def _fits(now: Iterate) -> bool:
    """Whether there is room for the sums behind a matrix."""
    X = now.problem.X
    return now.loss.hessian_bytes(X.shape[1]) <= max(HESSIAN_BYTES, X.hessian_room)
