"""What is added to the loss, with its conjugate: a penalty is a class with the methods below.

L2 has a slope everywhere, and the Newton solvers take it. The elastic net, which has corners, is
for proximal Newton:

Omega(w) = sum_k l1_k |w_k| + l2_k / 2 w_k^2

Omega*(u) = sum_k max(0, |u_k| - l1_k)^2 / (2 l2_k) ;   with l2_k = 0: 0 where |u_k| <= l1_k,
                                                        infinite elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import (
    elastic_net_conjugate,
    elastic_net_scales,
    elastic_net_value,
    elastic_net_young,
)
from everypair.cached import cached_property
from everypair.pairs.point import growth

Array = NDArray[np.float64]

OUT_OF_REACH = 1e150
"""No gradient gets there; and unlike infinity it may be multiplied by zero."""


LEAST_VALUE = 1e-7
"""A share of the loss at w = 0, which is of the order of 1. Where a feature that is not penalised
separates the classes the objective's minimum is zero, and no gap is small beside it."""


class Penalty(Protocol):
    """Omega, and its part in a duality gap."""

    has_corners: bool
    """Whether it lacks a slope somewhere: then it is `Separable`, otherwise `Quadratic`."""

    @property
    def least_value(self) -> float:
        """A gap is small beside the objective, or beside this where that is larger."""
        ...

    def value(self, w: Array) -> float: ...
    def young(self, w: Array, u: Array, error: Array | float) -> float:
        """``Omega(w) + Omega*(-u) + w.u``, at most, where u is known up to ``error``.

        No term is negative, and all vanish where -u is a slope of Omega at w.
        """
        ...

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        """The part of ``bound``, Young's gap with this error, that no step can take off."""
        ...

    def scales(self, u: Array) -> set[float]:
        """The factors theta <= 1 that are worth a try, Omega* being finite at ``theta u``."""
        ...

    def conjugate(self, u: Array, w: Array) -> float:
        """Omega* at a feasible u; w is where the gap is looked for."""
        ...


class Quadratic(Penalty, Protocol):
    """``alpha / 2 |w|^2``: what a solver with second derivatives needs."""

    @property
    def alpha(self) -> float: ...
    def slope(self, w: Array) -> Array: ...


class Separable(Penalty, Protocol):
    """A sum over coefficients, with corners at zero: what proximal Newton needs."""

    @property
    def l1(self) -> Array: ...
    @property
    def l2(self) -> Array: ...
    @property
    def unit(self) -> Array:
        """A length of each coefficient: one over its feature's spread."""
        ...

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which coefficients are not penalised."""
        ...

    def on(self, columns: NDArray[np.intp]) -> Separable:
        """The same penalty of these coefficients alone."""
        ...

    def residual(self, w: Array, gradient: Array) -> Array:
        """Distance of ``-gradient`` from the subdifferential of Omega at w, by coefficient."""
        ...


@dataclass(frozen=True)
class L2:
    """``alpha / 2 |w|^2``: Young's gap is ``|u + alpha w|^2 / (2 alpha)``."""

    alpha: float
    least_value = 0.0
    has_corners = False

    def value(self, w: Array) -> float:
        return self.alpha / 2 * float(w @ w)

    def slope(self, w: Array) -> Array:
        return self.alpha * w

    def young(self, w: Array, u: Array, error: Array | float) -> float:
        off = np.abs(u + self.alpha * w) + error
        return self.conjugate(off, w)

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        """What is left where the gradient is zero."""
        return self.conjugate(error, error)

    def scales(self, u: Array) -> set[float]:
        return {1.0}

    def conjugate(self, u: Array, w: Array) -> float:
        return float(u @ u) / (2 * self.alpha)


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
    has_corners = True

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

    def on(self, columns: NDArray[np.intp]) -> ElasticNet:
        return ElasticNet(self.l1[columns], self.l2[columns], self.unit[columns])

    def value(self, w: Array) -> float:
        return float(elastic_net_value(w, self.l1, self.l2))

    def young(self, w: Array, u: Array, error: Array | float) -> float:
        errors = self._no_error if np.isscalar(error) and error == 0 else error
        return float(elastic_net_young(w, u, errors, self.l1, self.l2, self.unit, growth(1)))

    @cached_property
    def _no_error(self) -> Array:
        return np.zeros_like(self.l1)

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        return bound - seen

    @cached_property
    def least_value(self) -> float:
        return LEAST_VALUE if np.any(self.free) else float(np.finfo(np.float64).tiny)

    def scales(self, u: Array) -> set[float]:
        """As far as Omega* is finite, and where no penalised ``|theta u|`` is past its l1."""
        return set(elastic_net_scales(u, self.l1, self.l2))

    def conjugate(self, u: Array, w: Array) -> float:
        """w gives the box of the unpenalised coefficients."""
        return float(elastic_net_conjugate(u, w, self.l1, self.l2, self.unit))

    def residual(self, w: Array, gradient: Array) -> Array:
        slope = gradient + self.l2 * w
        off = np.maximum(0, np.abs(slope) - self.l1)
        return np.where(w == 0, off, np.abs(slope + self.l1 * np.sign(w)))
