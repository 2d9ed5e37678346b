"""Sums of a loss over every positive–negative pair, in (near-)linear time.

point = pair_point("logistic", Pairs.of(y == 1), scores)
point.value(), point.gradient(), point.product(v), point.hessian(X), point.dual_value()
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
from everypair.pairs.structure import Pairs

__all__ = ["LOSSES", "PairPoint", "Pairs", "auc", "pair_point"]

_POINTS: dict[str, Callable[[Pairs, NDArray[np.float64]], PairPoint]] = {
    "square": SquarePoint,
    "exponential": ExponentialPoint,
    "hinge": lambda pairs, scores: HingePoint(SortedScores(pairs, scores)),
    "squared_hinge": lambda pairs, scores: SquaredHingePoint(SortedScores(pairs, scores)),
    "logistic": lambda pairs, scores: SmoothPoint(LOGISTIC_KERNELS, pairs, scores),
    "sigmoid": lambda pairs, scores: SmoothPoint(SIGMOID_KERNELS, pairs, scores),
}


def pair_point(loss: str, pairs: Pairs, scores: NDArray[np.float64]) -> PairPoint:
    """The loss of that name (see `losses`) at these scores, summed over every pair."""
    refuse_unusable(scores)
    return _POINTS[loss](pairs, scores)
