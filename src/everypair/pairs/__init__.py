"""Sums of a loss over every positive–negative pair, in (near-)linear time.

point = pair_point("logistic", Rows.uncut(y == 1), scores)
point.value(), point.gradient(), point.product(v), point.hessian(X), point.dual_value()
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from everypair.pairs.blocked import BLOCK_POINTS
from everypair.pairs.losses import LOSSES
from everypair.pairs.point import PairPoint, refuse_unusable
from everypair.pairs.separable import ExponentialPoint, SquarePoint
from everypair.pairs.smooth import LOGISTIC_KERNELS, SIGMOID_KERNELS, SmoothPoint
from everypair.pairs.sorted import (
    HingePoint,
    SortedScores,
    SquaredHingePoint,
    auc,
)
from everypair.rows import Rows

__all__ = ["LOSSES", "PairPoint", "auc", "pair_point"]

_POINTS: dict[str, Callable[[Rows, NDArray[np.float64]], PairPoint]] = {
    "square": SquarePoint,
    "exponential": ExponentialPoint,
    "hinge": lambda pairs, scores: HingePoint(SortedScores(pairs, scores)),
    "squared_hinge": lambda pairs, scores: SquaredHingePoint(SortedScores(pairs, scores)),
    "logistic": lambda pairs, scores: SmoothPoint(LOGISTIC_KERNELS, pairs, scores),
    "sigmoid": lambda pairs, scores: SmoothPoint(SIGMOID_KERNELS, pairs, scores),
}


def pair_point(loss: str, pairs: Rows, scores: NDArray[np.float64]) -> PairPoint:
    """The loss of that name (see `losses`) at these scores, summed over every pair."""
    refuse_unusable(scores)
    points = _POINTS if isinstance(scores, np.ndarray) else BLOCK_POINTS
    return points[loss](pairs, scores)
