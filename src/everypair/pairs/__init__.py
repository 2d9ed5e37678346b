"""Sums of a loss over every positive–negative pair, or those inside groups, in (near-)linear time.

point = pair_point("logistic", Rows.uncut(y == 1), scores)
point.value(), point.gradient(), point.product(v), point.hessian(X), point.dual_value()
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.pairs.blocked import BLOCK_POINTS
from everypair.pairs.blocked_groups import BlockGroupPoint, BlockGroups
from everypair.pairs.losses import LOSSES
from everypair.pairs.point import PairPoint, refuse_unusable
from everypair.pairs.separable import ExponentialPoint, SquarePoint
from everypair.pairs.smooth import LOGISTIC_KERNELS, SIGMOID_KERNELS, SmoothKernels, SmoothPoint
from everypair.pairs.smooth_groups import GroupedSmoothPoint
from everypair.pairs.sorted import (
    HingePoint,
    SortedScores,
    SquaredHingePoint,
    auc,
)
from everypair.rows import Rows

__all__ = ["LOSSES", "PairPoint", "auc", "pair_point"]


def _smooth(kernels: SmoothKernels, pairs: Rows, scores: NDArray[np.float64]) -> PairPoint:
    point = SmoothPoint if pairs.within is None else GroupedSmoothPoint
    return point(kernels, pairs, scores)


_POINTS: dict[str, Callable[[Rows, NDArray[np.float64]], PairPoint]] = {
    "square": SquarePoint,
    "exponential": ExponentialPoint,
    "hinge": lambda pairs, scores: HingePoint(SortedScores(pairs, scores)),
    "squared_hinge": lambda pairs, scores: SquaredHingePoint(SortedScores(pairs, scores)),
    "logistic": partial(_smooth, LOGISTIC_KERNELS),
    "sigmoid": partial(_smooth, SIGMOID_KERNELS),
}


def pair_point(loss: str, pairs: Rows, scores: NDArray[np.float64]) -> PairPoint:
    """The loss of that name (see `losses`) at these scores, summed over every pair."""
    refuse_unusable(scores)
    if isinstance(pairs, BlockGroups):
        return BlockGroupPoint(loss, pairs, scores)
    points = _POINTS if isinstance(scores, np.ndarray) else BLOCK_POINTS
    return points[loss](pairs, scores)
