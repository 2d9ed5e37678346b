"""Newton's method for many rows: the Hessian of a sample of them preconditions products with all.

The pair loss of a sample estimates that of all rows, and so does its Hessian (Rudi, Carratino &
Rosasco 2017 precondition kernel least squares in the same way). Conjugate gradients correct what
the sample does not know: each of their steps reads the rows with a pair in the window of the loss
twice, in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from everypair.linalg.matrix import COPIED_SHARE, Matrix
from everypair.pairs import PairPoint
from everypair.solvers.line_search import search_line
from everypair.solvers.problem import Iterate, Stop
from everypair.solvers.progress import Progress

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FORCING = 0.1
"""Conjugate gradients end where the model's gradient is this share of the first one ..."""

PROMISED_GAP_SHARE = 0.5
"""... or where the model promises this share of the gap that would do."""

MOST_PRODUCTS = 60

WORN_PRODUCTS = 12
"""A step that took more products has its matrix made anew for the next one."""


class SampledNewton:
    """Newton-CG on all rows, preconditioned by the Hessian of some.

    ``point_of(now)`` is the loss at the scores of the sample, whose features ``X`` holds.
    """

    def __init__(self, X: Matrix, point_of: Callable[[Iterate], PairPoint]):
        self._X, self._point_of = X, point_of
        self._factor: Any = None

    def __call__(self, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        while not stop(now) and not progress.exhausted:
            fresh = self._factor is None
            if fresh:
                self._factor = self._factored(now)
            step, n_products = self._step(now, stop)
            after = search_line(now, step)
            if n_products > WORN_PRODUCTS or after is None:
                self._factor = None
            if after is None:
                if fresh:
                    break
                continue
            now = after
            progress.step(now)
        return now

    def _factored(self, now: Iterate) -> Any:
        matrix = self._point_of(now).hessian(self._X)
        lift = alpha = now.problem.quadratic.alpha
        diagonal = np.einsum("jj->j", matrix)
        plain = diagonal.copy()
        while True:
            diagonal[:] = plain + lift
            try:
                return cho_factor(matrix, lower=True, check_finite=False)
            except LinAlgError:  # single precision has left it indefinite
                lift = max(10 * lift, 1e-7 * float(plain.max()), alpha)

    def _step(self, now: Iterate, stop: Stop) -> tuple[Array, int]:
        """The step of the quadratic model, and the products that it took."""
        alpha, curved = now.problem.quadratic.alpha, _Curved(now)
        enough = np.sqrt(2 * alpha * PROMISED_GAP_SHARE * stop.gap_wanted(now))
        step, residual = np.zeros_like(now.w), -now.gradient
        conditioned = self._solved(residual)
        direction, reduction = conditioned, float(residual @ conditioned)
        least, n_products = FORCING**2 * reduction, 0
        while n_products < MOST_PRODUCTS:
            n_products += 1
            bent = curved.product(direction) + alpha * direction
            curvature = float(direction @ bent)
            if not curvature > 0:
                break
            length = reduction / curvature
            step += length * direction
            residual = residual - length * bent
            conditioned = self._solved(residual)
            before, reduction = reduction, float(residual @ conditioned)
            if reduction <= least or float(np.linalg.norm(residual)) <= enough:
                break
            direction = conditioned + (reduction / before) * direction
        return (step if step.any() else direction), n_products

    def _solved(self, vector: Array) -> Array:
        return np.asarray(cho_solve(self._factor, vector, check_finite=False))


class _Curved:
    """``X'HX`` in single precision, by the rows where H is not zero."""

    def __init__(self, now: Iterate):
        self._loss, self._X = now.loss, now.problem.X.rough
        self._rows: Index | None = None
        curvature = now.loss.curvature()
        few = np.count_nonzero(curvature) <= COPIED_SHARE * curvature.size
        if few and not self._X.in_order_only:
            self._rows = np.flatnonzero(curvature)
            self._X = self._X.take(self._rows)

    def product(self, vector: Array) -> Array:
        along = self._X.dot(vector)
        if self._rows is None:
            return self._X.pull_back(self._loss.product(along))
        whole = np.full(self._loss.pairs.n_rows, along.mean() if along.size else 0.0)
        whole[self._rows] = along
        return self._X.pull_back(self._loss.product(whole)[self._rows])
