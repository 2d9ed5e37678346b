"""The k best rows of each group, smooth, and the pairwise fit from which climbs of it start.

In group g the cut c_g(s) solves ``sum_k sigma(s_k - c_g) = k_g``. With d = sigma'(s - c_g), A the
sum of d over the group's positives and S over its rows, the smooth hits ``sum_P sigma(s_i - c_g)``
have the implicit derivative ``d_k ([k in P] - A / S)``, and a measure is their mean over groups,
each divided by k_g or by the group's positives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from everypair._compiled import top_of_groups
from everypair.linalg.block_jobs import Job
from everypair.linalg.block_shard import Shard
from everypair.measures.grouped import TopOfEachGroup
from everypair.metrics.at_k import TopOfGroups
from everypair.pairs import pair_point
from everypair.pairs.blocked_groups import BlockGroups, Inside
from everypair.rows import Rows
from everypair.solvers.logistic import GRADIENT_SHARE, LBFGS_MEMORY, LOSS_SHARE, LogisticFit
from everypair.solvers.rank_statistic import AllPairsStatistic, Point
from everypair.solvers.sphere import Sphere

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GroupedQuota:
    """``1 - M`` of the scores, smooth: a statistic as the climbs on the sphere know it."""

    pairs: Rows
    top: TopOfGroups
    scales: Array
    """What a smooth hit adds to the mean, in each group."""
    free_cut: ClassVar[bool] = False

    @classmethod
    def of(cls, measure: TopOfEachGroup, pairs: Rows) -> GroupedQuota:
        top = TopOfGroups.of(pairs, measure.k)
        return cls(pairs, top, 1 / (measure.largest(top) * top.counts.size))

    def loss(self, scores: Array) -> float:
        return self.at(scores).loss

    def at(self, scores: Array) -> Point:
        top = self.top
        values, gradient = np.empty(top.counts.size), np.zeros(scores.size)
        top_of_groups(
            scores, self.pairs.positive, top.rows, top.edges, top.counts.astype(np.float64),
            self.scales, values, gradient,
        )  # fmt: skip
        return Point(1 - float(values.sum()), -gradient)

    def radius(self, scores: Array, share: float) -> float:
        """As of the statistic of the pairs inside groups."""
        return AllPairsStatistic(self.pairs).radius(scores, share)


@dataclass(frozen=True)
class BlockGroupedQuota:
    """`GroupedQuota` of rows in blocks."""

    measure: TopOfEachGroup
    pairs: BlockGroups
    free_cut: ClassVar[bool] = False

    def loss(self, scores: Any) -> float:
        work = partial(_share_of_block, self.pairs.within, self.measure, self.pairs.n_paired)
        return 1 - float(self.pairs.blocks.run(Job.of("top-of-groups", work, [scores])))

    def at(self, scores: Any) -> Point:
        work = partial(_slopes_of_block, self.pairs.within, self.measure, self.pairs.n_paired)
        return Point(self.loss(scores), scores.each(work))

    def radius(self, scores: Any, share: float) -> float:
        return AllPairsStatistic(self.pairs).radius(scores, share)  # type: ignore[arg-type]


def _of_block(
    inside: Inside, measure: TopOfEachGroup, n_groups: int, shard: Shard, scores: Array
) -> tuple[float, Array]:
    """What the groups of one block add to the mean over all groups, and its gradient."""
    rows, _ = inside.rows(shard)
    if rows is None:
        return 0.0, np.zeros(shard.n_rows)
    quota = GroupedQuota.of(measure, rows)
    part = quota.top.counts.size / n_groups
    point = quota.at(scores)
    return part * (1 - point.loss), part * point.gradient


def _share_of_block(*given: Any) -> float:
    return _of_block(*given)[0]


def _slopes_of_block(*given: Any) -> Array:
    return _of_block(*given)[1]


def pairwise_path(
    sphere: Sphere, pairs: Rows, alphas: Array, max_iter: int, tol: float
) -> list[LogisticFit]:
    """The logistic loss over the pairs inside groups with ``alpha / 2 |v|^2``, each fit from the
    one before: a logistic regression of the rows would learn what sets groups apart."""
    coordinates, fits = sphere.coordinates, []
    at = np.zeros(sphere.scale.size)

    def loss_and_gradient(y: Array, alpha: float) -> tuple[float, Array]:
        v = coordinates.direction(y)
        point = pair_point("logistic", pairs, sphere.scores(v))
        loss = point.value() + alpha / 2 * float(v @ v)
        return loss, coordinates.pull_back(sphere.pull_back(point.gradient()) + alpha * v)

    for alpha in alphas:
        found = minimize(
            loss_and_gradient, at, (float(alpha),), jac=True, method="L-BFGS-B",
            options={
                "maxiter": max_iter, "maxcor": LBFGS_MEMORY,
                "gtol": GRADIENT_SHARE * tol, "ftol": LOSS_SHARE * tol,
            },
        )  # fmt: skip
        at = found.x
        v = coordinates.direction(at)
        fits.append(LogisticFit(float(alpha), v, 0.0, sphere.scores(v), int(found.nit)))
    return fits
