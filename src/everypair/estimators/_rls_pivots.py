"""AUC-RLS over the span of some rows: the primal form in the features of the pivots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.rows import Rows

Array = NDArray[np.float64]

PIVOT_TOL = 1e-10
"""Pivots are added while they explain more than this share of the kernel matrix' trace."""


def solve_over_pivots(
    model: Any, X: Any, rows: Rows, weight: Array | None, alpha: float
) -> tuple[float, Array]:
    """Sets the model's expansion, objective and gap; where the midpoint of the classes is scored,
    and the scores of the rows."""
    from everypair.linalg.threads import own_threads
    from everypair.rls.moments import PairMoments
    from everypair.rls.primal import solve

    kernel = model._training_kernel(X, weight)
    with own_threads():
        matrix, basis = model._features(kernel, rows, model.max_rank, PIVOT_TOL)
        if rows.within is None:
            moments = PairMoments.of(matrix, rows.positive, weight)
        else:
            moments = PairMoments.in_groups(matrix, rows)
        solution = solve(moments, alpha / 2)
        scores = matrix.dot(solution.coef)
    coefficients = basis.coefficients(solution.coef)
    model._keep_expansion(kernel, basis.pivots, coefficients, basis.left_out)
    model.objective_, model.dual_gap_ = solution.objective, solution.gap
    return float(moments.midpoint @ solution.coef), scores
