"""Proximal Newton: a quadratic model of the loss, the penalty as it is, a search along the line.

The model's minimum is found on the Gram matrix X'HX: coordinate descent finds the
support, Newton's equation on the support then gives the coefficients to the last digit (as in
active-set methods), so the number of steps does not depend on how correlated the features are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from everypair._compiled import descend_coordinates
from everypair.linalg.matrix import too_large
from everypair.pairs.smooth import ROUGH_ACCURACY
from everypair.penalties import Separable
from everypair.solvers.line_search import VALUE_ROUNDING, search_line
from everypair.solvers.problem import Iterate
from everypair.solvers.progress import Progress

Array = NDArray[np.float64]
Reached = Callable[[Iterate], bool]
Model = Callable[[Array, Any, Array, Array], Array]
"""The minimum of a quadratic model plus the penalty: of the Hessian, the penalty, w, the slope."""

GAIN_TO_KEEP = 4.0
"""A step must shrink the gap by this factor for its matrix to serve once more. (The gap is of
first order in the distance here, not of second as with L2 alone.)"""

MOST_ROUNDS = 50
MOST_EPOCHS = 20
WHOLE_STEP = 1 - 1e-9
MODEL_TOLERANCE = 1e-10
"""Share of the first epoch's largest move at which coordinate descent has arrived."""

LEAST_DAMPING, MOST_DAMPING, LEAST_CURVATURE = 1e-6, 1e6, 1e-9
"""Second derivatives along a coefficient in units of its feature's spread."""


def hessian_at(now: Iterate) -> Array:
    hessian = now.point.loss.hessian(now.problem.X, accuracy=ROUGH_ACCURACY)
    if not np.all(np.isfinite(hessian)):
        raise too_large("their squares overflow")
    return hessian


def prox_newton(
    now: Iterate,
    stop: Reached,
    progress: Progress,
    hessian: Array | None = None,
    model: Model | None = None,
) -> tuple[Iterate, Array | None]:
    """Newton steps until ``stop`` or no way down; the last point and the last matrix.

    ``model`` minimises the quadratic model; the elastic net's when None. A matrix is kept while
    its steps gain enough, as in `newton`. A rounded hinge may have no curvature along a direction;
    then the model is damped (Levenberg) until its step is one.
    """
    penalty, damping = now.problem.separable, 0.0
    model = minimise_model if model is None else model
    stale = hessian is not None
    while not stop(now) and not progress.exhausted:
        if hessian is None:
            hessian, stale = hessian_at(now), False
        target = model(damped(hessian, damping, penalty.unit), penalty, now.w, now.pulled)
        slope = predicted_change(now, target)
        direction = target - now.w
        after = search_line(now, direction, slope=slope)
        if after is None:
            if stale:
                hessian = None
            elif damping >= MOST_DAMPING or abs(slope) <= VALUE_ROUNDING * now.value:
                break
            else:
                damping = max(LEAST_DAMPING, 100 * damping)
            continue
        length = np.max(np.abs(after.w - now.w)) / np.max(np.abs(direction))
        if length > WHOLE_STEP:
            penalty.snap(after.w, target)
        if length == 1:
            damping = 0.0 if damping <= LEAST_DAMPING else damping / 10
        elif length < 0.25:
            damping = max(LEAST_DAMPING, 10 * damping)
        stale = True
        if after.gap > now.gap / GAIN_TO_KEEP:
            hessian = None
        now = after
        progress.step(now)
    return now, hessian


def damped(hessian: Array, damping: float, unit: Array) -> Array:
    """More curvature along each coefficient, and some where there is none."""
    least = LEAST_CURVATURE / unit**2
    if damping == 0 and np.all(np.diagonal(hessian) >= least):
        return hessian
    out = hessian.copy()
    diagonal = np.einsum("jj->j", out)
    diagonal[:] = np.maximum(diagonal + damping / unit**2, least)
    return out


def minimise_model(hessian: Array, penalty: Separable, start: Array, gradient: Array) -> Array:
    """``argmin_w g.(w - start) + (w - start)' H (w - start) / 2 + Omega(w)``."""
    w, gradient = start.copy(), gradient.copy()
    for _ in range(MOST_ROUNDS):
        before = _moves(penalty, w)
        share = descend_coordinates(
            hessian, penalty.l1, penalty.l2, penalty.lower, penalty.upper, w, gradient,
            MOST_EPOCHS, MODEL_TOLERANCE,
        )  # fmt: skip
        if share <= MODEL_TOLERANCE:
            break
        moved = _solve_on_support(hessian, penalty, w, gradient)
        moving = _moves(penalty, w)
        at_rest = moved == 1 and np.array_equal(before, moving)
        if at_rest and not np.any(penalty.residual(w, gradient)[~moving]):
            break
    return w


def _moves(penalty: Separable, w: Array) -> NDArray[np.bool_]:
    """Which coefficients lie neither at a corner nor at a bound."""
    return ((w != 0) | (penalty.l1 == 0)) & (w > penalty.lower) & (w < penalty.upper)


def _solve_on_support(hessian: Array, penalty: Separable, w: Array, gradient: Array) -> float:
    """Newton's equation with the signs held, in place; how far it went before a sign changed or a
    bound was met.

    A singular matrix leaves everything as it was: distance 0.
    """
    support = np.flatnonzero(_moves(penalty, w))
    signs = np.sign(w[support])
    matrix = hessian[np.ix_(support, support)]
    l1, l2 = penalty.l1[support], penalty.l2[support]
    np.einsum("jj->j", matrix)[:] += l2
    slope = gradient[support] + l1 * signs + l2 * w[support]
    try:
        step = -cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), slope)
    except LinAlgError:
        return 0.0
    if not np.all(np.isfinite(step)):
        return 0.0
    # The first corner or bound in the way of each, and how far it is.
    low, high = penalty.lower[support], penalty.upper[support]
    low = np.where((l1 > 0) & (signs > 0), np.maximum(low, 0.0), low)
    high = np.where((l1 > 0) & (signs < 0), np.minimum(high, 0.0), high)
    ends = np.where(step > 0, high, low)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        crossings = np.where(step != 0, (ends - w[support]) / step, np.inf)
    length = float(min(1.0, np.min(crossings, initial=1.0)))
    w[support] = np.clip(w[support] + length * step, low, high)
    met = crossings <= length
    if length < 1:
        w[support[met]] = ends[met]
    gradient += length * (step @ hessian[support])
    return length


def predicted_change(now: Iterate, target: Array) -> float:
    """``g.d + Omega(w + d) - Omega(w)``: negative unless w is the model's minimum."""
    penalty = now.problem.penalty
    of_penalty = penalty.value(target) - penalty.value(now.w)
    return float(now.pulled @ (target - now.w)) + of_penalty
