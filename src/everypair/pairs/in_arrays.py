"""Losses and area of rows in arrays, by name: what a block of rows computes for itself too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import auc_pairs, group_areas_lost
from everypair.linalg.order import pairs_won_twice
from everypair.pairs.point import PairPoint, refuse_unusable
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.separable import ExponentialPoint, SquarePoint
from everypair.pairs.smooth import LOGISTIC_KERNELS, SIGMOID_KERNELS, SmoothKernels, SmoothPoint
from everypair.pairs.smooth_groups import GroupedSmoothPoint
from everypair.pairs.sorted import HingePoint, SquaredHingePoint
from everypair.rows import Rows

Array = NDArray[np.float64]


def _smooth(kernels: SmoothKernels, pairs: Rows, scores: Array) -> PairPoint:
    point = SmoothPoint if pairs.within is None else GroupedSmoothPoint
    return point(kernels, pairs, scores)


_POINTS: dict[str, Callable[[Rows, Array], PairPoint]] = {
    "square": SquarePoint,
    "exponential": ExponentialPoint,
    "hinge": lambda pairs, scores: HingePoint(SortedScores(pairs, scores)),
    "squared_hinge": lambda pairs, scores: SquaredHingePoint(SortedScores(pairs, scores)),
    "logistic": partial(_smooth, LOGISTIC_KERNELS),
    "sigmoid": partial(_smooth, SIGMOID_KERNELS),
}


def point_in_arrays(loss: str, pairs: Rows, scores: Array) -> PairPoint:
    refuse_unusable(scores)
    return _POINTS[loss](pairs, scores)


def area_in_arrays(pairs: Rows, scores: Array) -> float:
    refuse_unusable(scores)
    if pairs.even:
        # Whole numbers of pairs; Python's division of integers rounds once.
        return pairs_won_twice(scores, *pairs.classes) / (2 * pairs.n_pairs)
    order = SortedScores(pairs, scores)
    x, y = order.positives, order.negatives
    if pairs.within is not None:
        lost = np.empty(pairs.paired.n_groups)
        group_areas_lost(x.scores, y.scores, x.inside, y.inside, x.edges, y.edges, lost)
        return 1 - min(1.0, float(pairs.paired.weight @ lost))
    return float(auc_pairs(x.scores, y.scores, x.weights, y.weights))
