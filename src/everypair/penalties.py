"""What is added to the loss, with its conjugate: a penalty is a class with the methods below.

L2 has a slope everywhere, and the Newton solvers take it. Penalties with corners are for proximal
Newton: groups that vanish whole, cones, and the elastic net:

Omega(w) = sum_k l1_k |w_k| + l2_k / 2 w_k^2,  with bounds on each w_k if there are any

Omega*(u) = sum_k max(0, |u_k| - l1_k)^2 / (2 l2_k) ;   with l2_k = 0: 0 where |u_k| <= l1_k,
                                                        infinite elsewhere  (without bounds)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from everypair._compiled import (
    elastic_net_conjugate,
    elastic_net_scales,
    elastic_net_value,
    elastic_net_young,
)
from everypair.cached import cached_property
from everypair.linalg.vectors import length
from everypair.pairs.point import growth

Array = NDArray[np.float64]

OUT_OF_REACH = 1e150
"""No gradient gets there; and unlike infinity it may be multiplied by zero."""


LEAST_VALUE = 1e-7
"""A share of the loss at w = 0, which is of the order of 1. Where a feature that is not penalised
separates the classes the objective's minimum is zero, and no gap is small beside it."""


ROUNDING_OF_PRODUCTS = 1e-14
"""Products of multipliers and slopes, beside the square of what they balance: this is rounding."""


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

    def scales(self, u: Array, error: Array | float) -> set[float]:
        """The factors theta <= 1 that are worth a try, Omega* being finite at ``-theta u``."""
        ...

    def conjugate(self, u: Array, w: Array, error: Array | float = 0.0) -> float:
        """``Omega*(-u)``, at most, of a feasible u; w is where the gap is looked for."""
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
    def lower(self) -> Array: ...
    @property
    def upper(self) -> Array: ...
    @property
    def rest(self) -> Array:
        """Where each coefficient lies that nothing pulls: zero, or its nearest bound."""
        ...

    def on(self, columns: NDArray[np.intp]) -> Separable:
        """The same penalty of these coefficients alone."""
        ...

    def snap(self, w: Array, target: Array) -> None:
        """Set the coefficients that a whole step took to a bound there, to the last digit."""
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
        return self.conjugate(u + self.alpha * w, w, error)

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        """What is left where the gradient is zero."""
        return float(error @ error) / (2 * self.alpha)

    def scales(self, u: Array, error: Array | float) -> set[float]:
        return {1.0}

    def conjugate(self, u: Array, w: Array, error: Array | float = 0.0) -> float:
        size = u if isinstance(error, float) and error == 0 else np.abs(u) + error
        return float(size @ size) / (2 * self.alpha)


@dataclass(frozen=True)
class ElasticNet:
    """``l1`` and ``l2`` of each coefficient and its bounds; both zero where it is not penalised.

    ``unit`` is a length of each coefficient: one over its feature's spread. Unpenalised
    coefficients, whose conjugate is infinite off zero, need it: their gap holds against
    every w with ``|w_k| <= 2 |own w_k| + unit_k``, and Omega* is that box's.
    """

    l1: Array
    l2: Array
    unit: Array
    lower: Array
    upper: Array
    has_corners = True

    @classmethod
    def of(
        cls,
        alpha: float,
        l1_ratio: float,
        weights: Array,
        unit: Array,
        bounds: tuple[Array, Array] | None = None,
    ) -> ElasticNet:
        """``alpha sum_k weights_k (l1_ratio |w_k| + (1 - l1_ratio) / 2 w_k^2)``.

        A weight of infinity keeps its coefficient at zero, whatever alpha, or at its nearest bound.
        """
        out = np.isinf(weights)
        finite = np.where(out, 0.0, weights)
        l1 = np.where(out, OUT_OF_REACH, alpha * l1_ratio * finite)
        lower, upper = unbounded(weights.size) if bounds is None else bounds
        if bounds is not None and np.any(out):
            rest = np.clip(0.0, lower, upper)
            lower, upper = np.where(out, rest, lower), np.where(out, rest, upper)
            l1[out] = 0.0
        return cls(l1, alpha * (1 - l1_ratio) * finite, unit, lower, upper)

    @cached_property
    def rest(self) -> Array:
        return np.clip(0.0, self.lower, self.upper)

    def on(self, columns: NDArray[np.intp]) -> ElasticNet:
        parts = (self.l1, self.l2, self.unit, self.lower, self.upper)
        return ElasticNet(*(part[columns] for part in parts))

    def value(self, w: Array) -> float:
        return float(elastic_net_value(w, self.l1, self.l2))

    def young(self, w: Array, u: Array, error: Array | float) -> float:
        return float(
            elastic_net_young(
                w, u, self._errors(error), self.l1, self.l2, self.unit, self.lower, self.upper,
                growth(1),
            )
        )  # fmt: skip

    def _errors(self, error: Array | float) -> Array:
        if isinstance(error, np.ndarray):
            return error
        return self._no_error if error == 0 else np.full_like(self.l1, error)

    @cached_property
    def _no_error(self) -> Array:
        return np.zeros_like(self.l1)

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        return bound - seen

    @cached_property
    def least_value(self) -> float:
        free = (self.l1 == 0) & (self.l2 == 0) & (self.lower < self.upper)
        return LEAST_VALUE if np.any(free) else float(np.finfo(np.float64).tiny)

    def scales(self, u: Array, error: Array | float) -> set[float]:
        """The largest scale with finite Omega*, and the one with every penalised ``|theta u|``
        within l1."""
        return set(
            elastic_net_scales(u, self._errors(error), self.l1, self.l2, self.lower, self.upper)
        )

    def conjugate(self, u: Array, w: Array, error: Array | float = 0.0) -> float:
        """w gives the box of the unpenalised coefficients."""
        return float(
            elastic_net_conjugate(
                u, self._errors(error), w, self.l1, self.l2, self.unit, self.lower, self.upper
            )
        )

    def snap(self, w: Array, target: Array) -> None:
        met = (target == self.lower) | (target == self.upper)
        w[met] = target[met]

    def residual(self, w: Array, gradient: Array) -> Array:
        """The steeper of the two ways down that its bounds leave a coefficient."""
        slope = gradient + self.l2 * w
        up = np.where(w < self.upper, -slope - np.where(w >= 0, self.l1, -self.l1), 0.0)
        down = np.where(w > self.lower, slope - np.where(w > 0, -self.l1, self.l1), 0.0)
        return np.maximum(0.0, np.maximum(up, down))


def unbounded(n_features: int) -> tuple[Array, Array]:
    return np.full(n_features, -np.inf), np.full(n_features, np.inf)


@dataclass(frozen=True)
class GroupNet:
    """``sum_g l1_g |w_g| + alpha / 2 |w|^2``: groups of coefficients that vanish whole.

    Omega*(-u) = sum_g max(0, |u_g| - l1_g)^2 / (2 alpha)     (Yuan & Lin 2006, with a ridge)

    With ``v_g`` the slope of Omega* at -u and ``e_g = -u_g / |u_g|``, Young's gap of a group is
    ``alpha / 2 |w - v|^2 + l1 (|w| - w.e)`` where ``|u| > l1``, and elsewhere
    ``alpha / 2 |w|^2 + |w| (l1 - |u|) + |u| (|w| - w.e)``: no term is negative.
    """

    alpha: float
    l1: Array
    """Of each group."""
    starts: NDArray[np.intp]
    """The first coefficient of each group, the first 0."""
    unit: Array
    has_corners = True
    least_value = 0.0

    def lengths(self, w: Array) -> Array:
        """``|w_g|`` of each group."""
        return np.asarray(np.sqrt(np.add.reduceat(w * w, self.starts)))

    def spread(self, of_groups: Array) -> Array:
        """The value of its group for each coefficient."""
        sizes = np.diff(np.append(self.starts, self.unit.size))
        return np.repeat(of_groups, sizes)

    def value(self, w: Array) -> float:
        return float(self.l1 @ self.lengths(w)) + self.alpha / 2 * float(w @ w)

    def _shrunk(self, u: Array) -> Array:
        """The slope of Omega* at -u."""
        size = self.lengths(u)
        kept = np.divide(
            np.maximum(size - self.l1, 0), size, out=np.zeros_like(size), where=size > 0
        )
        return -self.spread(kept) * u / self.alpha

    def young(self, w: Array, u: Array, error: Array | float) -> float:
        off, of_u, of_w = w - self._shrunk(u), self.lengths(u), self.lengths(w)
        with np.errstate(invalid="ignore", divide="ignore"):
            turned = self.lengths(w / self.spread(of_w) + u / self.spread(of_u)) ** 2 / 2
        turned = np.where((of_w > 0) & (of_u > 0), turned, 0.0)  # 1 - cos of the angle
        corner = np.minimum(self.l1, of_u) * turned + np.maximum(self.l1 - of_u, 0)
        plain = self.alpha / 2 * float(off @ off) + float(of_w @ corner)
        wrong = np.broadcast_to(np.asarray(error, dtype=np.float64), w.shape)
        # Omega*(-u) + w.u has the slope w - v, which changes by 1 / alpha at most.
        return plain + float(np.abs(off) @ wrong) + float(wrong @ wrong) / (2 * self.alpha)

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        return bound - seen

    def snap(self, w: Array, target: Array) -> None:
        """Groups at zero are there to the last digit."""
        gone = self.spread(self.lengths(target) == 0)
        w[gone] = 0.0

    def scales(self, u: Array, error: Array | float) -> set[float]:
        return {1.0}

    def conjugate(self, u: Array, w: Array, error: Array | float = 0.0) -> float:
        beyond = np.maximum(self.lengths(np.abs(u) + error) - self.l1, 0)
        return float(beyond @ beyond) / (2 * self.alpha)


class ConePart(NamedTuple):
    """Neighbouring coefficients v with ``rows @ v >= 0``."""

    first: int
    rows: Array

    @property
    def place(self) -> slice:
        return slice(self.first, self.first + self.rows.shape[1])


@dataclass(frozen=True)
class ConeL2:
    """``alpha / 2 |w|^2`` where ``A w >= 0``, infinite elsewhere; A in blocks of coefficients.

    Any multipliers m >= 0 bound Young's gap, and those of the projection of u do so best:

        Omega(w) + Omega*(-u) + w.u  <=  |alpha w + u - A'm|^2 / (2 alpha) + m.Aw
    """

    alpha: float
    parts: Sequence[ConePart]
    unit: Array
    has_corners = True
    least_value = 0.0

    def value(self, w: Array) -> float:
        return self.alpha / 2 * float(w @ w)

    def multipliers(self, u: Array) -> Iterator[tuple[ConePart, Array]]:
        """Of each part: the m >= 0 with the least ``|u - A'm|``."""
        for part in self.parts:
            yield part, least_multipliers(part.rows, u[part.place])

    def _against(self, u: Array) -> tuple[Array, list[tuple[ConePart, Array]]]:
        """``A'm`` and the m."""
        found, out = list(self.multipliers(u)), np.zeros_like(u)
        for part, m in found:
            out[part.place] = part.rows.T @ m
        return out, found

    def young(self, w: Array, u: Array, error: Array | float) -> float:
        against, found = self._against(u)
        off = np.abs(u + self.alpha * w - against) + error
        slack = sum(float(m @ np.maximum(part.rows @ w[part.place], 0)) for part, m in found)
        return float(off @ off) / (2 * self.alpha) + slack

    def unavoidable(self, error: Array, bound: float, seen: float) -> float:
        return bound - seen

    def snap(self, w: Array, target: Array) -> None:
        """A curve's own rounding is taken off in its values."""

    def scales(self, u: Array, error: Array | float) -> set[float]:
        return {1.0}

    def conjugate(self, u: Array, w: Array, error: Array | float = 0.0) -> float:
        left = np.abs(u - self._against(u)[0]) + error
        return float(left @ left) / (2 * self.alpha)


def least_multipliers(rows: Array, u: Array) -> Array:
    """The m >= 0 with the least ``|u - rows' m|``.

    `nnls` may stop short where lines nearly depend on each other. Its multipliers are then not
    complementary to the slopes, and a second solver's are taken where they are better.
    """
    m = nnls(rows.T, u)[0]
    left = u - rows.T @ m
    if np.max(np.abs(m * (rows @ left)), initial=0.0) <= ROUNDING_OF_PRODUCTS * float(u @ u):
        return np.asarray(m)
    other = np.maximum(lsq_linear(rows.T, u, (0, np.inf), method="bvls", tol=1e-14).x, 0)
    return np.asarray(other if length(u - rows.T @ other) < length(left) else m)
