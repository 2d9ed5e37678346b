"""The pair losses phi(z) of a margin ``z = s_i - s_j``: the definitions, one pair at a time.

`brute` sums them over pairs as they stand; `separable`, `sorted` and `smooth` reach the same
sums in (near-)linear time. Each formula is the stable one at both ends of the real line.

The *dual term* is ``-phi*(-a)``, the concave conjugate at the pair's multiplier ``a``. At
``a = -phi'(z)`` Fenchel's equality makes it ``phi(z) - z phi'(z)``; the formulas here are in
``a`` alone, so that tests can hold one against the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

Array = NDArray[np.float64]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class MarginLoss:
    """phi with its first two derivatives and, where phi is convex, its dual term."""

    name: str
    value: Function
    slope: Function
    curvature: Function
    dual_term: Function | None

    @property
    def convex(self) -> bool:
        return self.dual_term is not None


def _squared_hinge_dual(a: Array) -> Array:
    return a - a**2 / 4


def _logistic(z: Array) -> Array:
    return np.logaddexp(0, -z)


def _bell(z: Array) -> Array:
    """sigma(z) sigma(-z), without the cancellation of 1 - sigma."""
    return expit(z) * expit(-z)


SQUARE = MarginLoss(
    "square",
    value=lambda z: (1 - z) ** 2,
    slope=lambda z: -2 * (1 - z),
    curvature=lambda z: np.full_like(z, 2.0),
    dual_term=_squared_hinge_dual,
)
HINGE = MarginLoss(
    "hinge",
    value=lambda z: np.maximum(0, 1 - z),
    slope=lambda z: -np.where(z < 1, 1.0, 0.0),
    curvature=np.zeros_like,
    dual_term=lambda a: a,
)
SQUARED_HINGE = MarginLoss(
    "squared_hinge",
    value=lambda z: np.maximum(0, 1 - z) ** 2,
    slope=lambda z: -2 * np.maximum(0, 1 - z),
    curvature=lambda z: np.where(z < 1, 2.0, 0.0),
    dual_term=_squared_hinge_dual,
)
LOGISTIC = MarginLoss(
    "logistic",
    value=_logistic,
    slope=lambda z: -expit(-z),
    curvature=_bell,
    dual_term=lambda a: entr(a) + entr(1 - a),
)
EXPONENTIAL = MarginLoss(
    "exponential",
    value=lambda z: np.exp(-z),
    slope=lambda z: -np.exp(-z),
    curvature=lambda z: np.exp(-z),
    dual_term=lambda a: a + entr(a),
)
SIGMOID = MarginLoss(
    "sigmoid",
    value=lambda z: expit(-z),
    slope=lambda z: -_bell(z),
    curvature=lambda z: _bell(z) * np.tanh(z / 2),
    dual_term=None,
)


def huber_hinge(width: float) -> MarginLoss:
    """The hinge with its corner rounded over ``1 - width < z < 1``.

    ``(1 - z)^2 / (2 width)`` there, ``1 - z - width / 2`` below; within ``width / 2`` of
    the hinge everywhere. Its multipliers lie in [0, 1], so they are feasible for the hinge.
    """

    def value(z: Array) -> Array:
        u = np.maximum(0, 1 - z)
        return np.where(u < width, u * (u / (2 * width)), u - width / 2)

    return MarginLoss(
        "huber_hinge",
        value=value,
        slope=lambda z: -np.clip((1 - z) / width, 0, 1),
        curvature=lambda z: np.where((z < 1) & (1 - z < width), 1 / width, 0.0),
        dual_term=lambda a: a - width * a**2 / 2,
    )


LOSSES = {
    loss.name: loss for loss in (SQUARE, HINGE, SQUARED_HINGE, LOGISTIC, EXPONENTIAL, SIGMOID)
}
