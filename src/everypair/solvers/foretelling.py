"""Which alphas of a path foretell the others, and with what coefficients.

On known rows the solutions ``w_k`` at all alphas are known, with their Newton matrices ``M_k``. On
other rows the solution lies off by ``d_k``. The gradient that takes it there, ``M_k d_k`` nearly,
depends on ``w_k`` alone, and for a quadratic loss it is an affine function of it. So where

    w_k = sum_j c_j w_j,  sum_j c_j = 1,

nearly, with the c of least squares in the metric of ``M_k``, the gradients combine likewise:

    M_k d_k = sum_j c_j M_j d_j .

The alphas that no others foretell are found beforehand from the known path, worst first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.solvers.newton import NewtonMatrix

Array = NDArray[np.float64]

WELL_TOLD = 1e-3
"""A known solution is foretold by others if this share of its length is left, in its metric."""

DEPENDENT = 1e-8
"""Directions shorter than this share of the longest are rounding."""


class Known(NamedTuple):
    """The minimum at one alpha, and a Newton matrix near it."""

    w: Array
    matrix: NewtonMatrix


class KnownPath:
    """Minima at many alphas on some rows; what they tell of other rows is computed once."""

    def __init__(self, at: Mapping[float, Known]):
        self.alphas = sorted(at, reverse=True)
        self._known = [at[alpha] for alpha in self.alphas]

    def in_order_of(self, alphas: Array) -> list[int] | None:
        """The number of each of the alphas here; None unless they are those that are known."""
        numbers = {alpha: k for k, alpha in enumerate(self.alphas)}
        found = [numbers.get(alpha) for alpha in alphas.tolist()]
        inside = [k for k in found if k is not None]
        return inside if len(inside) == len(found) == len(numbers) else None

    def __getitem__(self, k: int) -> Known:
        return self._known[k]

    def offset(self, k: int, gradients: Mapping[int, Array]) -> Array | None:
        """``d_k`` from the gradients ``M_j d_j`` of the tellers; None where k is one of them."""
        if k in self.tellers:
            return None
        told = sum(
            share * gradients[j] for share, j in zip(self._shares[k], self.tellers, strict=True)
        )
        return self._known[k].matrix.solve(np.asarray(told))

    @cached_property
    def _roots(self) -> list[Array]:
        return [each.matrix.root() for each in self._known]

    @cached_property
    def tellers(self) -> list[int]:
        """The alphas that foretell the others; all, where the known path is not fit for it."""
        n_alphas = len(self._known)
        w = np.array([each.w for each in self._known])
        offsets = w - w[0]
        left = self._in_own_metric(offsets)
        sizes = _lengths(self._in_own_metric(w))
        if not np.isfinite(left).all() or not (np.isfinite(sizes) & (sizes > 0)).all():
            return list(range(n_alphas))
        found, directions = [0], list[Array]()
        while len(found) < n_alphas:
            shares = _lengths(left) / sizes
            shares[found] = 0.0
            worst = int(np.argmax(shares))
            if shares[worst] <= WELL_TOLD:
                break
            found.append(worst)
            new = self._in_own_metric(np.broadcast_to(offsets[worst], offsets.shape))
            for _ in range(2):  # once leaves what rounding makes of nearly dependent ones
                for other in directions:
                    new -= np.einsum("kj,kj->k", new, other)[:, None] * other
            lengths = _lengths(new)[:, None]
            long = lengths > DEPENDENT * sizes[:, None]
            directions.append(np.divide(new, lengths, out=np.zeros_like(new), where=long))
            left -= np.einsum("kj,kj->k", left, directions[-1])[:, None] * directions[-1]
        return sorted(found)

    def _in_own_metric(self, vectors: Array) -> Array:
        return np.array([root @ v for root, v in zip(self._roots, vectors, strict=True)])

    @cached_property
    def _shares(self) -> dict[int, Array]:
        """By the alphas that are foretold: the share of each teller, 1 in all."""
        base, *others = self.tellers
        w = np.array([each.w for each in self._known])
        found = {}
        for k in range(len(self._known)):
            if k not in self.tellers:
                ways, wanted = ((w[j] - w[base]) @ self._roots[k].T for j in (others, k))
                shares = np.linalg.lstsq(ways.T, wanted, rcond=DEPENDENT)[0]
                found[k] = np.array([1 - shares.sum(), *shares])
        return found


def _lengths(vectors: Array) -> Array:
    return np.sqrt(np.einsum("kj,kj->k", vectors, vectors))
