"""What it costs to scale the multipliers by theta <= 1: R(theta) of `problem`, loss by loss.

With ``m = sum a_ij`` over the weighted pairs, L the loss and E the exponential loss at the same
scores,

    R = (1 - theta)^2 L                             square, squared hinge
    R = (1 - theta) (L - theta Q)                   rounded hinge, Q = width / 2 sum a_ij^2
                                                      = m - L + s.c
    R = (1 - theta + theta log theta) L             exponential
    R = min{ (1 - theta) L + m theta log theta,     logistic, at most: -(1 - a) log(1 - a) is
             (1 - theta)^2 E / (2 theta) }          concave and zero at 0; its second
                                                    derivative is at least -1 / (1 - a)
"""

from __future__ import annotations

from collections.abc import Callable

from scipy.special import xlogy

from everypair.solvers.problem import LossPoint

NEARLY_FEASIBLE = 1e-4
"""A second bound, another sum over the rows, is worth while at a theta so near to one: it saves 9 %
of the steps on a path of 30 alphas (a9a; 5000 x 100 dense). 1e-6 saves none, 1e-2 no more."""


def quadratic_loss(point: LossPoint, theta: float) -> float:
    return (1 - theta) ** 2 * point.value


def rounded_hinge_loss(point: LossPoint, theta: float) -> float:
    squares = max(point.multipliers - point.dual_value, 0.0)
    return (1 - theta) * (point.value - theta * squares)


def exponential_loss(point: LossPoint, theta: float) -> float:
    return (1 - theta + float(xlogy(theta, theta))) * point.value


def logistic_loss(point: LossPoint, theta: float) -> float:
    first = (1 - theta) * point.value + point.multipliers * float(xlogy(theta, theta))
    if theta == 1 or 1 - theta > NEARLY_FEASIBLE:
        return first
    return min(first, (1 - theta) ** 2 / (2 * theta) * point.exponential)


LOST_BY_SCALING: dict[str, Callable[[LossPoint, float], float]] = {
    "square": quadratic_loss,
    "squared_hinge": quadratic_loss,
    "hinge": rounded_hinge_loss,
    "exponential": exponential_loss,
    "logistic": logistic_loss,
}
