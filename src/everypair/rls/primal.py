"""AUC-RLS in the coefficients, eq. (11) of Pahikkala et al. 2008, from class moments.

With S = C+ + C- + ridge I the minimiser of the mean over pairs

    J(w) = w' (C+ + C-) w + (d . w - 1)^2 + ridge |w|^2

is ``w = S^-1 d / (1 + d' S^-1 d)``. The paper has the sum over pairs, ridge = lam / (A B), and
labels 2 apart: its w is twice this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from everypair.rls.moments import PairMoments

Array = NDArray[np.float64]

CHOLESKY_GAP = 1e-16
"""A relative gap above this sends a Cholesky solution back to the eigendecomposition."""

LIGHTEST, HEAVIEST = 1e-120, 1e120
"""Total weight of a class: products of two of them stay within float64."""


class Solution(NamedTuple):
    coef: Array
    objective: float
    gap: float
    """Relative: no solution has an objective lower than ``objective`` by more than this share."""


def pair_weight(of_positives: float, of_negatives: float) -> float:
    """``A B``."""
    for total, name in ((of_positives, "positive"), (of_negatives, "negative")):
        if total > 0 and not LIGHTEST <= total <= HEAVIEST:
            raise ValueError(
                f"The sample_weight of the {name} rows adds up to {total:.3g}: give weights that "
                f"add up to between {LIGHTEST:g} and {HEAVIEST:g} in each class."
            )
    return of_positives * of_negatives


def solve(moments: PairMoments, ridge: float) -> Solution:
    """The minimiser of J; the one of least norm where ridge = 0 leaves several."""
    pairs = pair_weight(moments.positive.weight, moments.negative.weight)
    if pairs == 0:  # no pair yet: J = ridge |w|^2
        return Solution(np.zeros(moments.apart.size), 0.0, 0.0)
    if ridge > 0:
        inverse = _inverse(moments, ridge)
        if inverse is not None:
            direction = inverse(moments.apart)
            coef = direction / (1 + float(moments.apart @ direction))
            solution = _judged(moments, ridge, coef, inverse)
            if solution.gap <= CHOLESKY_GAP:
                return solution
    path = PrimalPath(moments)
    coef = path.coefficients(np.array([ridge]))[:, 0]
    return _judged(moments, ridge, coef, partial(path.inverse, ridge))


def _inverse(moments: PairMoments, ridge: float) -> Callable[[Array], Array] | None:
    """``v -> S^-1 v`` by Cholesky; None where S is singular."""
    matrix = moments.within
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
    return lambda v: scale * cho_solve(factor, scale * v, check_finite=False)


class PrimalPath:
    """One eigendecomposition of ``C+ + C- + d d'`` for every ridge."""

    def __init__(self, moments: PairMoments):
        self._apart = moments.apart
        values, self._vectors = np.linalg.eigh(moments.within + np.outer(self._apart, self._apart))
        self._rounding = values.size * np.finfo(float).eps * values[-1]
        self._values, self._kept = np.maximum(values, self._rounding), values > self._rounding

    def coefficients(self, ridges: Array) -> Array:
        """One column of coefficients for each ridge; none along what is zero but for rounding."""
        vectors, values = self._vectors[:, self._kept], self._values[self._kept]
        filters = 1 / (values[:, None] + ridges)
        return np.asarray(vectors @ ((vectors.T @ self._apart)[:, None] * filters))

    def inverse(self, ridge: float, v: Array) -> Array:
        """The inverse of the Hessian of ``J / 2``; curvatures below rounding count as rounding."""
        values = np.maximum(self._values + ridge, np.finfo(float).tiny)
        return np.asarray(self._vectors @ ((self._vectors.T @ v) / values))


def _judged(
    moments: PairMoments, ridge: float, coef: Array, inverse: Callable[[Array], Array]
) -> Solution:
    """J and how far it may be above its minimum at any w: the Newton decrement.

    With half the gradient g of J that is ``g' H^-1 g`` for the Hessian
    ``H = S + d d'``, and at most ``g' S^-1 g``.
    """
    apart, spread = moments.apart, moments.within @ coef
    shortfall = float(apart @ coef) - 1
    objective = float(coef @ spread) + shortfall**2 + ridge * float(coef @ coef)
    gradient = spread + shortfall * apart + ridge * coef
    gap = relative_gap(float(gradient @ inverse(gradient)), objective)
    return Solution(coef, objective, gap)


def relative_gap(excess: float, objective: float) -> float:
    """The share of the objective; rounding beside its 1 at zero counts as that."""
    gap = abs(excess) / max(objective, np.finfo(float).eps)
    return gap if np.isfinite(gap) and np.isfinite(objective) else np.inf
