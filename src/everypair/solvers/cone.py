"""Minimise ``L(Xw) + alpha / 2 |w|^2`` over the w with ``A w >= 0``: curves with a given shape.

Proximal Newton whose model is a quadratic program. With ``H + alpha I = R R'`` and v the model's
free minimum, its dual is the least squares problem ``min |R'v + (A R^-T)'m|`` over m >= 0
(Lawson & Hanson 1974, ch. 23). Few lines of A are tight, so it grows from those that were.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from everypair.linalg.matrix import Matrix
from everypair.pairs import pair_point
from everypair.penalties import ConeL2, ConePart
from everypair.rows import Rows
from everypair.solvers.hinge import result_at
from everypair.solvers.problem import (
    CloseEnough,
    Iterate,
    Problem,
    Stop,
    better_start,
    run_settled,
)
from everypair.solvers.progress import Progress
from everypair.solvers.prox_newton import prox_newton
from everypair.solvers.result import Result

Array = NDArray[np.float64]
Index = NDArray[np.intp]

VIOLATION = 1e-12
"""Of a line of A with norm one, beside the largest coefficient: less is rounding."""

ROUNDS = 100
"""Times that violated lines join the program, at most: in practice about five."""


class ConeModel:
    """The quadratic program of a Newton step; it remembers which lines of A were tight."""

    def __init__(self, parts: Sequence[ConePart], n_columns: int):
        blocks = []
        for part in parts:
            lines = np.zeros((part.rows.shape[0], n_columns))
            lines[:, part.place] = part.rows
            blocks.append(lines)
        lines = np.concatenate(blocks) if blocks else np.zeros((0, n_columns))
        sizes = np.linalg.norm(lines, axis=1)
        self.lines = lines[sizes > 0] / sizes[sizes > 0, None]
        self._tight: Index = np.empty(0, dtype=np.intp)

    def __call__(self, hessian: Array, penalty: ConeL2, start: Array, gradient: Array) -> Array:
        """``argmin_w g.(w - start) + (w - start)' H (w - start) / 2 + Omega(w)``."""
        matrix = hessian.copy()
        np.einsum("jj->j", matrix)[:] += penalty.alpha
        root = cholesky(matrix, lower=True)
        step = solve_triangular(root, gradient + penalty.alpha * start, lower=True)
        turned = root.T @ start - step  # R'v, v the free minimum
        held, of_held = self._tight, self._turned(root, self._tight)
        w = start
        for _ in range(ROUNDS):
            multipliers = nnls(of_held, -turned)[0] if held.size else np.empty(0)
            w = solve_triangular(root, turned + of_held @ multipliers, lower=True, trans="T")
            self._tight = held[multipliers > 0]
            slack = self.lines @ w
            slack[held] = 0.0
            violated = np.flatnonzero(slack < -VIOLATION * np.max(np.abs(w), initial=0.0))
            if violated.size == 0:
                break
            held = np.concatenate([held, violated])
            of_held = np.hstack([of_held, self._turned(root, violated)])
        return w

    def _turned(self, root: Array, which: Index) -> Array:
        """``R^-1 a`` for these lines a, as columns."""
        return np.asarray(solve_triangular(root, self.lines[which].T, lower=True))


def minimise_on_cone(
    X: Matrix,
    pairs: Rows,
    loss: str,
    alpha: float,
    parts: Sequence[ConePart],
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    verbose: int = 0,
) -> Result:
    """From ``start``, which lies in the cone, or from zero, to a relative gap of ``tol``."""
    n_columns = X.shape[1]
    penalty = ConeL2(alpha, parts, np.ones(n_columns))
    problem = Problem(X, partial(pair_point, loss, pairs), penalty, tol=tol)
    model, progress = ConeModel(parts, n_columns), Progress(max_iter, verbose)

    def run(now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        return prox_newton(now, stop, progress, model=model)[0]

    with np.errstate(over="ignore", invalid="ignore"):
        first = better_start(problem, np.zeros(n_columns) if start is None else start)
        now = run_settled(run, first, CloseEnough(tol), progress)
    return result_at(now, progress)
