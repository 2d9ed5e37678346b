"""Which alphas of a path foretell the others, and with what coefficients.

On known rows the solutions ``w_k`` at all alphas are known, with their Newton matrices ``M_k``. On
other rows the solution lies off by ``d_k``. The gradient that takes it there, ``M_k d_k`` nearly,
depends on ``w_k`` alone, and for a quadratic loss it is an affine function of it. So where

    w_k = sum_j c_j w_j,  sum_j c_j = 1,

nearly, with the c of least squares in the metric of ``M_k``, the gradients combine likewise:

    M_k d_k = sum_j c_j M_j d_j .

The alphas that no others foretell are found beforehand from the known path, worst first.

Where the other rows are some of the known ones, as in a fold, the gradient there at ``w_k`` is
known nearly, without a sum over pairs: a row's slope, the mean over its pairs, changes little when
other rows are left out. With this estimate ``h_k`` every ``d_k`` is ``-M_k^-1 h_k`` at first, and
what the combination above has to tell is only the difference, ``M_k d_k + h_k``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix, pull_back_each
from everypair.linalg.row_sums import slices
from everypair.solvers.newton import NewtonMatrix
from everypair.solvers.problem import Iterate
from everypair.solvers.rounding import pulled

Array = NDArray[np.float64]

WELL_TOLD = 1e-3
"""A known solution is foretold by others if this share of its length is left, in its metric."""

DEPENDENT = 1e-8
"""Directions shorter than this share of the longest are rounding."""


AT_ONCE = 8
"""Alphas that are read side by side: each holds numbers of every row."""


class Slopes(NamedTuple):
    """Of the loss in score space, near the minimum."""

    means: NDArray[np.float32]
    """Over the pairs of each row. What rests on them is an estimate and needs no more digits."""
    pulled: Array
    """``X'c``."""

    @classmethod
    def at(cls, now: Iterate, share: Array) -> Slopes:
        slope = now.point.gradient
        means = np.zeros(slope.size, np.float32)
        np.divide(slope, share, out=means, where=share > 0, casting="same_kind")
        return cls(means, now.pulled)


class Known(NamedTuple):
    """The minimum at one alpha, and a Newton matrix near it."""

    w: Array
    matrix: NewtonMatrix
    slopes: Slopes | None = None
    """None where the path that is to be told goes over other rows."""


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

    def gradients(self, X: Matrix, share: Array) -> Array | None:
        """``h_k`` where the rows weigh ``share``; None where nothing is known of these rows."""
        slopes = [each.slopes for each in self._known if each.slopes is not None]
        if len(slopes) < len(self._known):
            return None
        found = np.empty((len(slopes), X.shape[1]))
        for some in slices(0, len(slopes), AT_ONCE):
            weights = np.array([each.means for each in slopes[some]]) * share
            for k, weight, back in zip(
                range(some.start, some.stop), weights, pull_back_each(X, weights), strict=True
            ):
                # At the known minimum nothing is left but what the other weights change.
                found[k] = pulled(X, weight, back) - slopes[k].pulled
        return found if np.isfinite(found).all() else None

    def offset(
        self, k: int, gradients: Mapping[int, Array], at_known: Array | None
    ) -> Array | None:
        """``d_k`` from the gradients ``M_j d_j`` of the tellers and from `gradients` at the known
        solutions; None where k is a teller and nothing is known."""
        if k in self.tellers:
            return None if at_known is None else self._known[k].matrix.solve(-at_known[k])
        h = np.zeros((len(self._known), self._known[k].w.size)) if at_known is None else at_known
        told = -h[k]
        for share, j in zip(self._shares[k], self.tellers, strict=True):
            told += share * (gradients[j] + h[j])
        return self._known[k].matrix.solve(told)

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
