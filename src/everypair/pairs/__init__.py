"""Sums of a loss over every positive–negative pair, or those inside groups, in (near-)linear time.

point = pair_point("logistic", Rows.uncut(y == 1), scores)
point.value(), point.gradient(), point.product(v), point.hessian(X), point.dual_value()
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_histogram import Ranking
from everypair.linalg.block_ranking import area_of
from everypair.linalg.block_vector import BlockVector
from everypair.pairs.blocked import BLOCK_POINTS
from everypair.pairs.blocked_groups import BlockGroupPoint, BlockGroups
from everypair.pairs.in_arrays import area_in_arrays, point_in_arrays
from everypair.pairs.losses import LOSSES
from everypair.pairs.point import PairPoint, refuse_unusable
from everypair.rows import Rows

__all__ = ["LOSSES", "PairPoint", "auc", "pair_point"]

AREA_WIDTH = 1e-4
"""Of scores on a cluster the area lies in an interval as wide as this at most; half way is
taken, which the area is nearer to by far."""


def pair_point(loss: str, pairs: Rows, scores: NDArray[np.float64]) -> PairPoint:
    """The loss of that name (see `losses`) at these scores, summed over every pair."""
    if isinstance(scores, np.ndarray):
        return point_in_arrays(loss, pairs, scores)
    refuse_unusable(scores)
    if isinstance(pairs, BlockGroups):
        return BlockGroupPoint(loss, pairs, scores)
    return BLOCK_POINTS[loss](pairs, scores)


def auc(pairs: Rows, scores: NDArray[np.float64]) -> float:
    """Exact area under the ROC curve: weighted share of pairs won, ties counted half."""
    if not isinstance(scores, BlockVector):
        return area_in_arrays(pairs, scores)
    if isinstance(pairs, BlockGroups):
        return pairs.area(scores)
    if scores.blocks.here:
        return area_of(scores)
    low, high = Ranking.of(scores).area(AREA_WIDTH)
    return low + (high - low) / 2
