"""Logistic regression of the rows in the units of a sphere: where climbs of a measure start.

    min_{v, b}  sum_k w_k log(1 + exp(-y_k (x_k . (scale v) + b))) + alpha / 2 |v|^2 ,

the weights summing to one: scikit-learn's ``C = 1 / (n alpha)`` on features of variance one. It
needs nothing of X but products: X is not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from everypair.linalg.threads import over_rows
from everypair.solvers.sphere import Sphere

Array = NDArray[np.float64]

MEMORY = 10
GRADIENT_SHARE, LOSS_SHARE = 1e-3, 1e-8
"""Of ``tol``: the largest entry of the gradient, and the last gain, at which a fit has arrived. At
the default of the climbs, 0.01, the gradient is a tenth of scikit-learn's, 1e-4."""


@dataclass(frozen=True)
class LogisticFit:
    alpha: float
    coef: Array
    """In the units of the sphere."""
    intercept: float
    scores: Array
    """Without the intercept."""
    n_iter: int


def logistic_path(
    sphere: Sphere,
    positive: NDArray[np.bool_],
    weight: Array,
    alphas: Array,
    max_iter: int,
    tol: float,
) -> Iterator[LogisticFit]:
    """A fit at each alpha, descending, each from where the last one ended."""
    signs = np.where(positive, 1.0, -1.0)
    coordinates = sphere.coordinates
    share = float(weight[positive].sum())
    y = np.append(np.zeros(sphere.scale.size), np.log(share) - np.log1p(-share))

    def loss_and_gradient(y: Array, alpha: float) -> tuple[float, Array]:
        v, b = coordinates.direction(y[:-1]), y[-1]
        margins = signs * (sphere.scores(v) + b)
        pull, losses = np.empty(margins.size), np.empty(margins.size)

        def part(start: int, stop: int) -> None:
            some = slice(start, stop)
            np.logaddexp(0.0, -margins[some], out=losses[some])
            np.multiply(-signs[some] * weight[some], expit(-margins[some]), out=pull[some])

        over_rows(part, margins.size, 20 * margins.size)
        loss = float(weight @ losses) + alpha / 2 * float(v @ v)
        gradient = coordinates.pull_back(sphere.pull_back(pull) + alpha * v)
        return loss, np.append(gradient, pull.sum())

    for alpha in alphas:
        found = minimize(
            loss_and_gradient, y, args=(float(alpha),), jac=True, method="L-BFGS-B",
            options={
                "maxiter": max_iter, "maxcor": MEMORY,
                "gtol": GRADIENT_SHARE * tol, "ftol": LOSS_SHARE * tol,
            },
        )  # fmt: skip
        y = found.x
        v = coordinates.direction(y[:-1])
        yield LogisticFit(float(alpha), v, float(y[-1]), sphere.scores(v), int(found.nit))
