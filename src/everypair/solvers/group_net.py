"""Minimise ``L(Xw) + sum_g l1_g |w_g| + alpha / 2 |w|^2``: additive models whose columns vanish.

Proximal Newton on the columns that are in use or want to be. The quadratic model is minimised
column by column, each exactly (an eigenvalue problem and one equation in the length of w_g), and
then by Newton's equation on the columns that are left. The certificate is of all columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from everypair.linalg.binned import BinnedMatrix
from everypair.pairs import pair_point
from everypair.penalties import GroupNet
from everypair.rows import Rows
from everypair.solvers.hinge import result_at
from everypair.solvers.problem import CloseEnough, Iterate, Problem, Stop, run_settled
from everypair.solvers.progress import Progress
from everypair.solvers.prox_newton import prox_newton
from everypair.solvers.result import Result

Array = NDArray[np.float64]
Index = NDArray[np.intp]

INNER_SHARE = 0.5
"""A set of columns is solved to this share of the tolerance; the rest is for those left out."""

JOINING_SHARE = 0.9
"""Columns at this share of their bound join the set before they must."""

EPOCHS, ROUNDS = 10, 20
MODEL_TOLERANCE = 1e-10
"""Of the model's slope, beside the slope that it began with."""

SECULAR_STEPS = 50


def group_strengths(X: BinnedMatrix, pairs: Rows) -> tuple[Array, float]:
    """What ``l1`` is a multiple of in each group, and the least multiple that takes every group.

    A group weighs the root of the summed variances of its features: what its part of the gradient
    at w = 0 is like where it has nothing to do with the classes.
    """
    weight = pairs.share / 2
    means, squares = X.pull_back_moments(weight)
    variances = np.maximum(squares - means**2, 0)
    starts = X.starts
    weights = np.sqrt(np.add.reduceat(variances, starts))
    slopes = X.pull_back(pair_point("logistic", pairs, X.zero_scores).gradient())
    sizes = np.sqrt(np.add.reduceat(slopes * slopes, starts))
    # A column that never moves has neither.
    most = np.max(np.divide(sizes, weights, out=np.zeros_like(sizes), where=weights > 0))
    return weights, float(most)


def minimise_in_groups(
    X: BinnedMatrix,
    pairs: Rows,
    loss: str,
    alpha: float,
    l1: Array,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    verbose: int = 0,
) -> Result:
    """From ``start`` or from zero to a relative gap of ``tol``; a group is a column of bins."""
    n_columns = X.shape[1]
    penalty = GroupNet(alpha, l1, X.starts, np.ones(n_columns))
    problem = Problem(X, partial(pair_point, loss, pairs), penalty, tol=tol)
    progress = Progress(max_iter, verbose)
    with np.errstate(over="ignore", invalid="ignore"):
        now = problem.at(np.zeros(n_columns) if start is None else start)
        now = run_settled(partial(_on_working_sets, X), now, CloseEnough(tol), progress)
    return result_at(now, progress)


def _on_working_sets(X: BinnedMatrix, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
    """Solve in few columns, look at all of them, take in those that object, again."""
    penalty = now.problem.penalty
    assert isinstance(penalty, GroupNet)
    kept = np.zeros(penalty.l1.size, dtype=bool)
    while not stop(now) and not progress.exhausted:
        wanted = penalty.lengths(now.pulled) > JOINING_SHARE * penalty.l1
        wanted |= penalty.lengths(now.w) > 0
        if not np.any(wanted & ~kept) and np.any(kept):
            share, before = INNER_SHARE / 10, now  # the columns outside agree: go on inside
        else:
            share, before = INNER_SHARE, None
        kept |= wanted
        found = _inside(now, X, np.flatnonzero(kept), penalty, stop, share, progress)
        if found is None or (before is not None and not found.value < before.value):
            break
        now = found
    return now


def _inside(
    now: Iterate,
    X: BinnedMatrix,
    kept: Index,
    penalty: GroupNet,
    stop: Stop,
    share: float,
    progress: Progress,
) -> Iterate | None:
    """The solution with all other columns at zero; None where there is no way down."""
    part = X.parts(kept)
    columns = np.concatenate([X.columns_of(group) for group in kept.tolist()])
    inner_penalty = GroupNet(penalty.alpha, penalty.l1[kept], part.starts, np.ones(columns.size))
    problem = Problem(part, now.problem.loss_at, inner_penalty, tol=now.problem.tol)
    first = Iterate(problem, now.w[columns], now.point)
    model = partial(minimise_group_model, inner_penalty.starts)
    found, _ = prox_newton(first, lambda point: stop(point, share), progress, model=model)
    if found is first:
        return None
    w = np.zeros_like(now.w)
    w[columns] = found.w
    return Iterate(now.problem, w, found.point)


def minimise_group_model(
    starts: Index, hessian: Array, penalty: GroupNet, start: Array, gradient: Array
) -> Array:
    """``argmin_w g.(w - start) + (w - start)' H (w - start) / 2 + Omega(w)``."""
    w, slope = start.copy(), gradient.copy()
    ends = np.append(starts[1:], w.size)
    places = [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    roots = [eigh(hessian[p, p]) for p in places]
    first = max(_residual(penalty, places, w, slope), np.finfo(np.float64).tiny)
    for _ in range(ROUNDS):
        for _ in range(EPOCHS):
            for number, place in enumerate(places):
                _best_group(number, place, roots[number], hessian, penalty, w, slope)
        _polish(places, hessian, penalty, w, slope)
        if _residual(penalty, places, w, slope) <= MODEL_TOLERANCE * first:
            break
    return w


def _best_group(
    number: int,
    place: slice,
    root: tuple[Array, Array],
    hessian: Array,
    penalty: GroupNet,
    w: Array,
    slope: Array,
) -> None:
    """The model's minimum in one group, the others held; ``w`` and ``slope`` change in place.

    ``A v + l1 v / |v| = -b`` with A = H_gg + alpha: in eigenvectors of A, t = |v| solves
    ``sum_k c_k^2 / (lambda_k t + l1)^2 = 1``.
    """
    values, vectors = root
    old = w[place]
    pull = vectors.T @ (slope[place] - hessian[place, place] @ old)
    length = float(np.linalg.norm(pull))
    l1, bends = float(penalty.l1[number]), np.maximum(values, 0) + penalty.alpha
    if length <= l1:
        new = np.zeros_like(old)
    else:
        # 1 / |c / (lambda t + l1)| is concave in t: Newton's steps from the left stay there.
        t = (length - l1) / float(bends[-1])
        for _ in range(SECULAR_STEPS):
            below = bends * t + l1
            size = np.sqrt(np.sum((pull / below) ** 2))
            fall = np.sum(pull**2 * bends / below**3) / size**2
            step = (size - 1) / fall
            t += step
            if not abs(step) > 1e-14 * t:
                break
        new = -vectors @ (pull * t / (bends * t + l1))
    move = new - old
    if np.any(move):
        w[place] = new
        slope += hessian[:, place] @ move


def _polish(
    places: Sequence[slice], hessian: Array, penalty: GroupNet, w: Array, slope: Array
) -> None:
    """A Newton step on the groups in use, shortened until the slope is smaller; in place."""
    used = [number for number, place in enumerate(places) if np.any(w[place])]
    if not used:
        return
    columns = np.concatenate([np.arange(places[k].start, places[k].stop) for k in used])
    matrix = hessian[np.ix_(columns, columns)].copy()
    np.einsum("jj->j", matrix)[:] += penalty.alpha
    position = 0
    for k in used:
        v = w[places[k]]
        size = float(np.linalg.norm(v))
        block = slice(position, position + v.size)
        matrix[block, block] += penalty.l1[k] / size * (np.eye(v.size) - np.outer(v, v) / size**2)
        position += v.size
    before = _residual(penalty, places, w, slope)
    left = _slopes(penalty, places, w, slope)[columns]
    try:
        step = -cho_solve(cho_factor(matrix, lower=True), left)
    except LinAlgError:
        return
    for length in (1.0, 0.5, 0.1):
        trial, moved = w.copy(), slope + length * (hessian[:, columns] @ step)
        trial[columns] += length * step
        if _residual(penalty, places, trial, moved) < before:
            w[:], slope[:] = trial, moved
            return


def _slopes(penalty: GroupNet, places: Sequence[slice], w: Array, slope: Array) -> Array:
    """What is left of the slope: beyond l1 where a group is at zero."""
    out = slope + penalty.alpha * w
    for number, place in enumerate(places):
        size, l1 = float(np.linalg.norm(w[place])), penalty.l1[number]
        if size > 0:
            out[place] += l1 * w[place] / size
        else:
            pull = float(np.linalg.norm(out[place]))
            out[place] *= max(0.0, 1 - l1 / pull) if pull > 0 else 0.0
    return out


def _residual(penalty: GroupNet, places: Sequence[slice], w: Array, slope: Array) -> float:
    return float(np.linalg.norm(_slopes(penalty, places, w, slope)))
