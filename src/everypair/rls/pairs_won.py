"""How many left-out pairs are ranked rightly, for many values of the ridge at once.

Each ridge wants T = V_P diag(filter) V_N' (see `spectrum`): a matrix product. But the filters of
neighbouring ridges are nearly linear combinations of each other, and only the sign of f_i - f_j is
asked for. So the products are done for a few pivots among the ridges, in single precision, and
combined for the others. With the remainder e of a filter, by Cauchy and Schwarz,

    |error of T_ij| <= sqrt(sum_k V_ik^2 |e_k|) sqrt(sum_k V_jk^2 |e_k|) ,

which decides all but a few pairs in ten thousand; those are computed again in double precision.
The count is that of T in double precision, where a difference within its rounding is a tie.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from everypair.linalg.threads import one_blas_thread, over_rows
from everypair.rls.spectrum import Smoothers, unmoved_block

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ROUNDING_STEPS = 8.0
"""Scores that differ by at most this many times their usual rounding are tied."""

PIVOT_TOLERANCE = 1e-4
"""Share of a filter that its combination may miss; less takes more products, more more repeats."""

PLANE_BYTES, NEAR_BYTES = 2**25, 2**20
"""Of a block of positives: the products of the pivots, and their combinations for every ridge."""


def pairs_won(smoothers: Smoothers, i: Index, j: Index) -> Array:
    """For each ridge the number of pairs of i and j with ``f_i > f_j``, ties counted half.

    The rows i have one weight, and so have the rows j.
    """
    from everypair import _compiled

    spectrum = smoothers.spectrum
    V, root = spectrum.vectors, spectrum.root
    if spectrum.values.size == 0:  # nothing tells the rows apart
        return np.full(smoothers.by_S.size, i.size * j.size / 2)
    pivots, combine = _pivots(smoothers.filters)
    slack = _slack(smoothers, pivots, combine)
    has_unmoved = ~smoothers.by_S & (spectrum.unmoved is not None)
    if has_unmoved.any():
        combine = np.column_stack([combine, has_unmoved])
    right = np.ascontiguousarray(V[j])
    right32 = right.T.astype(np.float32)
    along_u = float(spectrum.u[i[0]] * spectrum.u[j[0]])
    shared = (
        smoothers.filters - has_unmoved[:, None],
        along_u * has_unmoved,
        along_u * smoothers.by_S,
        float(root[i[0]]),
        float(root[j[0]]),
    )
    of_j, noise = _sides(smoothers, slack, j), ROUNDING_STEPS * smoothers.precision
    won = np.zeros(noise.size)
    step = max(16, PLANE_BYTES // (4 * combine.shape[1] * j.size))
    for begin in range(0, i.size, step):
        rows = i[begin : begin + step]
        left = V[rows]
        planes = np.empty((combine.shape[1], rows.size, j.size), dtype=np.float32)
        for q, pivot in enumerate(pivots):
            scaled = (left * smoothers.filters[pivot]).astype(np.float32)
            np.matmul(scaled, right32, out=planes[q])
        if has_unmoved.any():
            planes[-1] = unmoved_block(spectrum, rows, j)
        arguments = (left, right, *shared, _sides(smoothers, slack, rows), of_j, noise)
        kernel: Any = _compiled.left_out_pairs_won
        count = partial(_count, kernel, combine.astype(np.float32), planes, arguments)
        with one_blas_thread():
            won += sum(over_rows(count, rows.size, planes.size * won.size))
    return won


def _count(
    kernel: Any,
    combine: NDArray[np.float32],
    planes: NDArray[np.float32],
    arguments: tuple[Any, ...],
    start: int,
    stop: int,
) -> Array:
    """The rows ``start:stop`` of a block, a few at a time so that T stays in the cache."""
    n_planes, _, n_columns = planes.shape
    won = np.zeros(combine.shape[0])
    step = max(1, NEAR_BYTES // (4 * won.size * n_columns))
    for begin in range(start, stop, step):
        end = min(begin + step, stop)
        T = combine @ planes[:, begin:end].reshape(n_planes, -1)
        won += kernel(T.reshape(won.size, end - begin, n_columns), *arguments, begin, end)
    return won


def _pivots(filters: Array) -> tuple[Index, Array]:
    """Some of the filters, and the combination of them that is nearest to each."""
    size = np.abs(filters).max(axis=1, initial=np.finfo(float).tiny)
    _, R, order = qr((filters / size[:, None]).T, mode="economic", pivoting=True)
    falling = np.abs(np.diag(R))
    rank = max(1, int(np.count_nonzero(falling > PIVOT_TOLERANCE * falling[0])))
    combine = np.empty((size.size, rank))
    combine[order[:rank]] = np.eye(rank)
    combine[order[rank:]] = solve_triangular(R[:rank, :rank], R[:rank, rank:]).T
    pivots = order[:rank]
    return pivots, combine * size[:, None] / size[pivots]


def _slack(smoothers: Smoothers, pivots: Index, combine: Array) -> Array:
    """For each ridge and row the root of the bound above, single precision included."""
    spectrum, chosen = smoothers.spectrum, smoothers.filters[pivots]
    missed = np.abs(smoothers.filters - combine @ chosen)
    # A product of n terms in single precision, of operands rounded to it; the sum of the planes.
    rounding = (spectrum.values.size + 4 + pivots.size) * float(np.finfo(np.float32).eps) / 2
    missed += rounding * (np.abs(combine) @ np.abs(chosen))
    bound = missed @ spectrum.squares.T
    if spectrum.unmoved is not None:
        bound += rounding * (spectrum.unmoved + spectrum.u**2)
    return np.sqrt(bound)


def _sides(smoothers: Smoothers, slack: Array, rows: Index) -> Array:
    """What the kernel needs to know of some rows: one (4, n) array a ridge."""
    parts = (smoothers.R_diagonal, smoothers.beta, smoothers.magnitude, slack)
    # numpy may lay the stack out in another order, and the kernel's inner loop would not vectorise.
    return np.ascontiguousarray(np.stack([part[:, rows] for part in parts], axis=1))
