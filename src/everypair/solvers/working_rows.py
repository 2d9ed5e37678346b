"""Hinges on wide X, solved in the space of the rows that count (`row_newton`).

Rows count that have a pair short of the margin. The first are those at a rough solution, to which
alpha falls in a few steps of a product or two. Their own problem is solved; rows that are short at
its solution join them, and their Gram matrix grows by what is new. Where none is left, it is the
solution: the certificate is that of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.falling_alpha import FALL, comes_apart, first_alpha
from everypair.solvers.newton_cg import rough_step
from everypair.solvers.problem import Iterate, Stop
from everypair.solvers.progress import Progress
from everypair.solvers.rounding import pulled
from everypair.solvers.row_grams import RowGrams
from everypair.solvers.row_newton import Loss, RowNewton

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_FALLS, FEW = 12, 0.4
"""Alpha falls, at most so often, until at most this share of the rows, or of the columns, is short.
Rows that are missed join later, at the price of a few passes; those that are too many cost their
part of the matrix."""

MOST_GROWTH = 0.15
"""Of the rows in a round: where more are short, those that are short by most join. At a rough
solution many rows are short that are not in the end, and the price grows with their square."""

FEW_ROWS = 50
"""So many rows may join whatever is known: their products cost little beside a round."""

LEAST_SHARE = 0.2
"""With fewer columns than rows a smaller share than this is not to be expected."""

WORTH = 5000
"""The products of the rows may take as many multiplications as this many products with X. They stay
in the cache, run twenty times as fast, and spare hundreds of products."""

GRAM_SHARE, GRAM_BYTES = 0.5, 2**25
"""Their matrix may take this share of the bytes of X, or this many."""

MANY_MORE, ROUGH_TOL = 0.02, 1e-2
"""While a larger share of rows joins, a rough solution tells which are next."""

FINER = 0.5
"""Of the gap asked for: rows that are not there make some of it."""


def rows_pay(X: Matrix, n_rows: float) -> bool:
    """Whether so many rows have products with each other that are worth their price."""
    entries = X.nbytes / 8
    multiplications = n_rows**2 * (entries / X.shape[0] + n_rows / 3)
    small = 8 * n_rows**2 <= max(GRAM_BYTES, GRAM_SHARE * X.nbytes)
    return n_rows <= X.shape[1] and small and multiplications <= WORTH * entries


def solution_by_rows(
    start: Iterate,
    pairs: Rows,
    loss_of: Callable[[Rows], Callable[[Array], Loss]],
    stop: Stop,
    progress: Progress,
    known: RowGrams,
) -> Iterate:
    """``start``, or the solution where the rows that count are few enough.

    ``loss_of(pairs)`` is the loss of some rows, as a function of their scores. ``known`` gets the
    products of the rows.
    """
    X, problem = start.problem.X, start.problem
    if X.in_order_only or pairs.within is not None or not comes_apart(start):
        return start
    if not rows_pay(X, LEAST_SHARE * min(X.shape)):
        return start
    rough = _roughly_solved(start)
    more, best, now = _short(rough), start, start
    b, tol = np.zeros(0), problem.tol * FINER
    while rows_pay(X, known.rows.size + more.size) and not progress.exhausted:
        many = more.size > MANY_MORE * known.rows.size
        known.add(more)
        b = np.append(b, np.zeros(more.size))
        b = _newton(known, pairs, loss_of, problem.quadratic.alpha).solved(
            b, now.scores[known.rows], max(ROUGH_TOL, tol) if many else tol
        )
        of_all = np.zeros(X.shape[0])
        of_all[known.rows] = b
        now = problem.at(pulled(X, of_all))
        progress.step(now)
        more = _most_short(
            now, pairs, np.setdiff1d(_short(now), known.rows),
            max(FEW_ROWS, MOST_GROWTH * known.rows.size),
        )  # fmt: skip
        better = best is start or now.gap < best.gap
        best = now if better else best
        if stop(now) or not (more.size or better):
            break
    # A worse point would be a bad start.
    return best if best.gap <= ROUGH_TOL * best.value else start


def _newton(
    known: RowGrams, pairs: Rows, loss_of: Callable[[Rows], Callable[[Array], Loss]], alpha: float
) -> RowNewton:
    """Of the rows that are known: their shares sum to less than one."""
    part, share = pairs.take(known.rows), pairs.share[known.rows]
    weight = float(share[part.positives].sum() * share[part.negatives].sum())
    return RowNewton(known, loss_of(part), alpha / weight)


def _short(now: Iterate) -> Index:
    """Rows with a pair that is short of the margin."""
    return np.flatnonzero(now.point.gradient)


def _most_short(now: Iterate, pairs: Rows, rows: Index, most: float) -> Index:
    """Those of the ``rows`` whose worst pair is short by most."""
    if rows.size <= most:
        return rows
    scores, positive = now.scores, pairs.positive
    lowest, highest = scores[pairs.positives].min(), scores[pairs.negatives].max()
    shortfall = np.where(positive, highest - scores, scores - lowest)[rows]
    return np.sort(rows[np.argsort(-shortfall)[: int(most)]])


def _roughly_solved(start: Iterate) -> Iterate:
    problem, least, now = start.problem, start.problem.quadratic.alpha, start
    alpha, few = first_alpha(start), FEW * min(problem.X.shape)
    for _ in range(MOST_FALLS):
        alpha = max(alpha / FALL, least)
        after = rough_step(now.under(replace(problem, penalty=L2(alpha))))
        if after is None:
            break
        now = after
        if _short(now).size <= few:
            break
    return now
