"""Logistic regression of the rows in the units of a sphere: where climbs of a measure start.

    min_{v, b}  sum_k w_k log(1 + exp(-y_k (x_k . (scale v) + b))) + alpha / 2 |v|^2 ,

the weights summing to one: scikit-learn's ``C = 1 / (n alpha)`` on features of variance one. It
needs nothing of X but products: X is not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from everypair.linalg.block_jobs import Job
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.threads import over_rows
from everypair.solvers.sphere import Sphere

Array = NDArray[np.float64]

LBFGS_MEMORY = 10
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


def _in_memory(signs: Array, weight: Array, scores: Array) -> tuple[float, Array]:
    """The loss at these scores, and its gradient by row."""
    margins = signs * scores
    pull, losses = np.empty(margins.size), np.empty(margins.size)

    def part(start: int, stop: int) -> None:
        some = slice(start, stop)
        np.logaddexp(0.0, -margins[some], out=losses[some])
        np.multiply(-signs[some] * weight[some], expit(-margins[some]), out=pull[some])

    over_rows(part, margins.size, 20 * margins.size)
    return float(weight @ losses), pull


def _in_blocks(weight: BlockVector, scores: BlockVector) -> tuple[float, BlockVector]:
    """The same of scores in blocks."""
    loss = scores.blocks.run(Job.of("logistic-loss", _loss, [scores, weight]))
    return float(loss), scores.each(_pull, weight)


def _loss(shard: Shard, scores: Array, weight: Array) -> float:
    return float(weight @ np.logaddexp(0.0, np.where(shard.positive, -scores, scores)))


def _pull(shard: Shard, scores: Array, weight: Array) -> Array:
    lost = expit(np.where(shard.positive, -scores, scores))
    return np.where(shard.positive, -lost, lost) * weight


def logistic_path(
    sphere: Sphere,
    positive: Any,
    weight: Any,
    alphas: Array,
    max_iter: int,
    tol: float,
) -> Iterator[LogisticFit]:
    """A fit at each alpha, descending, each from where the last one ended."""
    coordinates = sphere.coordinates
    parts: Any
    if isinstance(weight, BlockVector):
        share = (weight * positive).sum()
        parts = partial(_in_blocks, weight)
    else:
        share = float(weight[positive].sum())
        parts = partial(_in_memory, np.where(positive, 1.0, -1.0), weight)
    y = np.append(np.zeros(sphere.scale.size), np.log(share) - np.log1p(-share))

    def loss_and_gradient(y: Array, alpha: float) -> tuple[float, Array]:
        v, b = coordinates.direction(y[:-1]), y[-1]
        loss, pull = parts(sphere.scores(v) + b)
        gradient = coordinates.pull_back(sphere.pull_back(pull) + alpha * v)
        return loss + alpha / 2 * float(v @ v), np.append(gradient, pull.sum())

    for alpha in alphas:
        found = minimize(
            loss_and_gradient, y, args=(float(alpha),), jac=True, method="L-BFGS-B",
            options={
                "maxiter": max_iter, "maxcor": LBFGS_MEMORY,
                "gtol": GRADIENT_SHARE * tol, "ftol": LOSS_SHARE * tol,
            },
        )  # fmt: skip
        y = found.x
        v = coordinates.direction(y[:-1])
        yield LogisticFit(float(alpha), v, float(y[-1]), sphere.scores(v), int(found.nit))
