"""AUC-RLS in coefficients of the rows, over the pairs inside groups.

With shares s_i = omega_g a_i of the rows, which sum to one over each class, the sum over pairs

    sum_g omega_g sum_ij a_i b_j (f_i - f_j - 1)^2 = f' L f - 2 l . f + 1 ,

    (L f)_i = s_i (f_i - mean of f over the other class of the group),   l_i = +-s_i .

For f = K A and the penalty ``ridge A' K A`` its minimiser solves ``(L K + ridge I) A = l``. With
the residual r of that equation the objective is at most ``r' K r / ridge`` above its minimum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve as solve_square

from everypair.rls.dual import DualSolution
from everypair.rls.primal import relative_gap
from everypair.rows import Rows

Array = NDArray[np.float64]


def solve_in_groups(K: Array, rows: Rows, ridge: float) -> DualSolution:
    """The solution for a kernel matrix of these rows, all of which have a pair, and ridge > 0."""
    linear = np.where(rows.positive, rows.share, -rows.share)
    matrix = _apply_L(rows, K)
    np.einsum("kk->k", matrix)[:] += ridge
    coef = solve_square(matrix, linear, overwrite_a=True, check_finite=False)
    coef = _without_sums(rows, coef)
    scores = K @ coef
    residual = linear - _apply_L(rows, scores[:, None])[:, 0] - ridge * coef
    norm = float(coef @ scores)
    loss = float(scores @ (linear - ridge * coef - residual)) - 2 * float(linear @ scores) + 1
    objective = loss + ridge * norm
    excess = abs(float(residual @ (K @ residual))) / ridge
    midpoint = float(rows.share @ scores) / 2
    return DualSolution(
        coef, scores - midpoint, midpoint, objective, relative_gap(excess, objective)
    )


def _apply_L(rows: Rows, columns: Array) -> Array:
    return np.asarray(rows.share[:, None] * (columns - _other_means(rows, columns)))


def _other_means(rows: Rows, columns: Array) -> Array:
    """For each row, the mean of every column over the other class of its group."""
    paired = rows.paired
    means = [
        np.add.reduceat(
            columns[paired.classes[k]] * paired.inside_of_class[k][:, None],
            paired.edges[k][:-1],
            axis=0,
        )
        for k in (0, 1)
    ]
    out = np.empty_like(columns)
    for k in (0, 1):
        groups = np.repeat(np.arange(paired.n_groups), np.diff(paired.edges[k]))
        out[paired.classes[k]] = means[1 - k][groups]
    return out


def _without_sums(rows: Rows, coef: Array) -> Array:
    """Coefficients sum to zero in each group, but for rounding, which is taken off by shares."""
    codes, n_groups = rows.paired.cells // 2, rows.paired.n_groups
    sums = np.bincount(codes, coef, n_groups) / (2 * rows.paired.weight)
    return np.asarray(coef - sums[codes] * rows.share)
