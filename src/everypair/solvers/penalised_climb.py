"""A local minimum of ``best - M(Xw - c) + alpha / 2 |w|^2``, M a smoothed measure, c its cut.

The climb of a measure with a penalty in place of a sphere: w starts at a convex fit, at the best
of several lengths, and L-BFGS goes down from there. It never ends above where it began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from everypair.linalg.matrix import Matrix
from everypair.solvers.choose import RADII
from everypair.solvers.progress import Progress
from everypair.solvers.rank_statistic import Statistic
from everypair.solvers.result import Result

Array = NDArray[np.float64]

MEMORY = 10


def climb_with_penalty(
    X: Matrix,
    statistic: Statistic,
    alpha: float,
    start: Array,
    *,
    first_cut: Callable[[Array], float] | None,
    tol: float,
    max_iter: int,
    verbose: int = 0,
) -> Result:
    """From ``start`` until the gradient's norm is ``tol`` of its two parts that cancel.

    ``first_cut`` says where a free cut starts among given scores; None where the statistic has
    none. ``distance`` of the result is the relative gradient norm.
    """
    progress, free = Progress(max_iter, verbose, "relative gradient"), statistic.free_cut
    seen = _LastPoint()

    def at(v: Array) -> tuple[float, Array]:
        w = v[:-1] if free else v
        scores = X.dot(w)
        point = statistic.at(scores - v[-1] if free else scores)
        pulled = X.pull_back(point.gradient)
        slope = pulled + alpha * w
        if free:
            slope = np.append(slope, -float(point.gradient.sum()))
        parts = np.linalg.norm(pulled) + alpha * np.linalg.norm(w)
        seen.distance = float(np.linalg.norm(slope) / parts) if parts > 0 else 0.0
        seen.v, seen.scores = v.copy(), scores
        seen.value = point.loss + alpha / 2 * float(w @ w)
        return seen.value, slope

    def with_cut(w: Array, scores: Array) -> Array:
        return w if first_cut is None or not free else np.append(w, first_cut(scores))

    scores = X.dot(start)
    lengths = RADII if np.any(start) else RADII[:1]
    tried = [with_cut(r * start, r * scores) for r in lengths]
    first = min(tried, key=lambda v: at(v)[0])
    slope = at(first)[1]
    unit = 1 / max(float(np.linalg.norm(slope)), 1e-300)

    def after_step(intermediate_result: Any) -> None:
        if not np.array_equal(seen.v, intermediate_result.x):
            at(intermediate_result.x)
        progress.record(seen.value, seen.distance)
        if seen.distance <= tol:
            raise StopIteration

    def scaled(v: Array) -> tuple[float, Array]:
        value, slope = at(v)
        return unit * value, unit * slope

    if seen.distance > tol:
        found = minimize(
            scaled, first, jac=True, method="L-BFGS-B", callback=after_step,
            options={"maxiter": max_iter, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
        )  # fmt: skip
        if not np.array_equal(seen.v, found.x):
            at(found.x)
    w = seen.v[:-1] if free else seen.v
    return Result(w, seen.scores, seen.value, seen.distance, progress.n_iter, [])


class _LastPoint:
    """The point that L-BFGS looked at last."""

    v: Array
    scores: Array
    value: float
    distance: float
