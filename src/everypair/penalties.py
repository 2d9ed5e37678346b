"""The elastic net, one pair of weights a coefficient, with its conjugate and its minima.

Omega(w) = sum_k l1_k |w_k| + l2_k / 2 w_k^2

Omega*(u) = sum_k max(0, |u_k| - l1_k)^2 / (2 l2_k) ;   with l2_k = 0: 0 where |u_k| <= l1_k,
                                                        infinite elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.pairs.point import growth

Array = NDArray[np.float64]

OUT_OF_REACH = 1e150
"""No gradient gets there; and unlike infinity it may be multiplied by zero."""


@dataclass(frozen=True)
class ElasticNet:
    """``l1`` and ``l2`` of each coefficient; both zero where it is not penalised.

    ``unit`` is a length of each coefficient: one over its feature's spread. Unpenalised
    coefficients, whose conjugate is infinite off zero, need it: their gap holds against
    every w with ``|w_k| <= 2 |own w_k| + unit_k``, and Omega* is that box's.
    """

    l1: Array
    l2: Array
    unit: Array

    @classmethod
    def of(cls, alpha: float, l1_ratio: float, weights: Array, unit: Array) -> ElasticNet:
        """``alpha sum_k weights_k (l1_ratio |w_k| + (1 - l1_ratio) / 2 w_k^2)``.

        A weight of infinity keeps its coefficient at zero, whatever alpha.
        """
        out = np.isinf(weights)
        finite = np.where(out, 0.0, weights)
        l1 = np.where(out, OUT_OF_REACH, alpha * l1_ratio * finite)
        return cls(l1, alpha * (1 - l1_ratio) * finite, unit)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        return (self.l1 == 0) & (self.l2 == 0)

    @cached_property
    def _sharp(self) -> NDArray[np.bool_]:
        """Penalised by l1 alone: where the conjugate is infinite past l1."""
        return (self.l2 == 0) & (self.l1 > 0)

    @cached_property
    def _round(self) -> NDArray[np.bool_]:
        return self.l2 > 0

    def on(self, columns: NDArray[np.intp]) -> ElasticNet:
        return ElasticNet(self.l1[columns], self.l2[columns], self.unit[columns])

    def value(self, w: Array) -> float:
        # Not a product: BLAS would wake its threads for every trial step.
        return float(np.sum(np.abs(w) * (self.l1 + self.l2 / 2 * np.abs(w))))

    def young(self, w: Array, u: Array, error: Array | float) -> float:
        """``Omega(w) + Omega*(u) + w.u``, at most, where u is known up to ``error``.

        No term is negative, and all vanish where -u is a slope of Omega at w.
        """
        terms = np.abs(w) * (self.l1 + self.l2 / 2 * np.abs(w)) + w * u
        rounding = growth(1) * np.abs(w * u) + np.abs(w) * error
        terms += self._conjugates(np.abs(u) + error, w)
        return float(np.sum(np.maximum(terms, 0.0) + rounding))

    def feasible_scale(self, u: Array) -> float:
        """The largest ``theta <= 1`` with a finite conjugate at ``theta u``."""
        sharp = np.abs(u[self._sharp])
        with np.errstate(divide="ignore"):
            return float(min(1.0, np.min(self.l1[self._sharp] / sharp, initial=1.0)))

    def conjugate(self, u: Array, w: Array) -> float:
        """Omega* at a feasible u; w gives the box of the unpenalised coefficients."""
        return float(np.sum(self._conjugates(np.abs(u), w)))

    def _conjugates(self, size: Array, w: Array) -> Array:
        """By coefficient, at a feasible u of this size."""
        out = np.zeros_like(w)
        if np.any(self._round):
            over = np.maximum(0, size - self.l1)[self._round]
            out[self._round] = over**2 / (2 * self.l2[self._round])
        if np.any(self.free):
            out[self.free] = ((2 * np.abs(w) + self.unit) * size)[self.free]
        return out

    def residual(self, w: Array, gradient: Array) -> Array:
        """Distance of ``-gradient`` from the subdifferential of Omega at w, by coefficient."""
        slope = gradient + self.l2 * w
        off = np.maximum(0, np.abs(slope) - self.l1)
        return np.where(w == 0, off, np.abs(slope + self.l1 * np.sign(w)))
