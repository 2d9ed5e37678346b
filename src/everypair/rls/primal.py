"""AUC-RLS in the coefficients, eq. (11) of Pahikkala et al. 2008, from class moments.

With S = C+ + C- + lam / (A B) I the minimiser of

    J(w) = A B ( w' (C+ + C-) w + (d . w - 2)^2 ) + lam |w|^2

is ``w = 2 S^-1 d / (1 + d' S^-1 d)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from everypair.rls.moments import PairMoments

Array = NDArray[np.float64]

CERTAIN = 1e-10
"""A relative gap above this sends a Cholesky solution back to the eigendecomposition."""


class Solution(NamedTuple):
    coef: Array
    objective: float
    gap: float
    """Relative: no solution has an objective lower than ``objective`` by more than this share."""


def solve(moments: PairMoments, lam: float) -> Solution:
    """The minimiser of J; the one of least norm where lam = 0 leaves several."""
    if moments.pair_weight == 0:  # no pair yet: J = lam |w|^2
        return Solution(np.zeros(moments.apart.size), 0.0, 0.0)
    if lam > 0:
        coef = _by_cholesky(moments, lam / moments.pair_weight)
        if coef is not None:
            solution = _judged(moments, lam, coef)
            if solution.gap <= CERTAIN:
                return solution
    path = PrimalPath(moments)
    return _judged(moments, lam, path.coefficients(np.array([lam]))[:, 0], path)


def _by_cholesky(moments: PairMoments, ridge: float) -> Array | None:
    matrix, apart = moments.within, moments.apart
    diagonal = np.einsum("jj->j", matrix)
    diagonal += ridge
    # A unit diagonal makes the factorisation blind to the units of the features.
    scale = 1 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    matrix *= scale
    matrix *= scale[:, None]
    try:
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    direction = scale * cho_solve(factor, scale * apart, check_finite=False)
    return np.asarray(2 * direction / (1 + apart @ direction))


class PrimalPath:
    """One eigendecomposition of ``C+ + C- + d d'`` for every lam."""

    def __init__(self, moments: PairMoments):
        self._pair_weight, self._apart = moments.pair_weight, moments.apart
        values, vectors = np.linalg.eigh(moments.within + np.outer(self._apart, self._apart))
        kept = values > values.size * np.finfo(float).eps * values[-1]
        self._values, self._vectors = values[kept], vectors[:, kept]

    def coefficients(self, lams: Array) -> Array:
        """One column of coefficients for each lam."""
        filters = 1 / (self._values[:, None] + lams / self._pair_weight)
        return np.asarray(self._vectors @ (2 * (self._vectors.T @ self._apart)[:, None] * filters))

    def decrement(self, gradient: Array) -> float:
        """How far J is above its minimum where J has this gradient, for lam = 0."""
        along = self._vectors.T @ gradient
        return float(np.sum(along**2 / self._values) / (4 * self._pair_weight))


def _judged(
    moments: PairMoments, lam: float, coef: Array, path: PrimalPath | None = None
) -> Solution:
    """J and its relative duality gap, ``|grad J|^2 / (4 lam)``, at any w."""
    pair_weight, apart, within = moments.pair_weight, moments.apart, moments.within
    spread, shortfall = within @ coef, float(apart @ coef) - 2
    objective = pair_weight * (float(coef @ spread) + shortfall**2) + lam * float(coef @ coef)
    gradient = 2 * (pair_weight * (spread + shortfall * apart) + lam * coef)
    if lam > 0:
        excess = float(gradient @ gradient) / (4 * lam)
    else:
        assert path is not None
        excess = path.decrement(gradient)
    return Solution(coef, objective, relative_gap(excess, objective, pair_weight))


def relative_gap(excess: float, objective: float, pair_weight: float) -> float:
    """The share of the objective; one that is rounding beside its value at zero counts as that."""
    return max(0.0, excess) / max(objective, np.finfo(float).eps * 4 * pair_weight)
