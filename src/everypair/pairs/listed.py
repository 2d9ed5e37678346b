"""Pairs given one by one: the rounded hinge over a list, for sums that are not over every pair.

L(s) = sum_k w_k phi(s_{i_k} - s_{j_k}). Cost and memory grow with the list; `sorted` has the
same loss over every pair without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix
from everypair.linalg.vectors import length
from everypair.pairs.losses import HINGE, huber_hinge
from everypair.pairs.point import (
    FULL_ACCURACY,
    extent,
    fenchel_dual,
    growth,
    margin_rounding,
)

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class PairList:
    """Positive row ``first[k]`` with negative row ``second[k]``, weighing ``pair_weight[k]``.

    The pairs' weights sum to one; ``total`` is what they summed to before. Every one of them
    is positive.
    """

    first: Index
    second: Index
    pair_weight: Array
    n_rows: int
    total: float

    @classmethod
    def of(cls, first: Index, second: Index, pair_weight: Array, n_rows: int) -> PairList:
        kept = pair_weight > 0
        first, second, pair_weight = first[kept], second[kept], pair_weight[kept]
        total = float(pair_weight.sum())
        return cls(first, second, pair_weight / total, n_rows, total)

    @property
    def n_pairs(self) -> int:
        return self.first.size

    within = None
    """The pairs are given: no groups make them."""

    def sum_of_positives(self, vector: Array) -> float:
        return float(vector[self.positives].sum())

    @cached_property
    def positives(self) -> Index:
        """Numbers of the positive rows that are in some pair."""
        return np.unique(self.first)

    @cached_property
    def share(self) -> Array:
        """What the pairs of each row weigh together."""
        return self.per_row(self.pair_weight, self.pair_weight)

    def centred(self, values: Array) -> Array:
        return values - values.mean()

    def margins(self, values: Array) -> Array:
        return values[self.first] - values[self.second]

    def to_rows(self, per_pair: Array) -> Array:
        """Sum over each row's pairs: plus for the positive of a pair, minus for the negative."""
        return self.per_row(per_pair, -per_pair)

    def per_row(self, of_first: Array, of_second: Array) -> Array:
        first = np.bincount(self.first, of_first, minlength=self.n_rows)
        second = np.bincount(self.second, of_second, minlength=self.n_rows)
        return np.asarray(first + second, dtype=np.float64)


class ListedHuberHingePoint:
    """The hinge rounded over ``0 < u < width`` (`losses.huber_hinge`), over a list of pairs."""

    def __init__(self, pairs: PairList, scores: Array, width: float):
        self.pairs, self.scores, self.width = pairs, scores, width
        self._loss = huber_hinge(width)
        self._margins = pairs.margins(scores)

    outermost = 1.0

    def rounded(self, width: float) -> ListedHuberHingePoint:
        """Another rounding at the same scores."""
        return ListedHuberHingePoint(self.pairs, self.scores, width)

    @cached_property
    def _curvatures(self) -> Array:
        return self.pairs.pair_weight * self._loss.curvature(self._margins)

    def value(self) -> float:
        return float(self.pairs.pair_weight @ self._loss.value(self._margins))

    def mass_short(self, least: float) -> float:
        return float(self.pairs.pair_weight @ (1 - self._margins >= least))

    def largest_shortfall(self) -> float:
        return 1.0 - float(self._margins.min())

    def hinge_value(self, stretch: float = 1.0) -> float:
        """The hinge itself at ``stretch`` times these scores."""
        return float(self.pairs.pair_weight @ HINGE.value(stretch * self._margins))

    def gradient(self) -> Array:
        return self.pairs.to_rows(self.pairs.pair_weight * self._loss.slope(self._margins))

    def curvature(self) -> Array:
        return self.pairs.per_row(self._curvatures, self._curvatures)

    def product(self, vector: Array) -> Array:
        return self.pairs.to_rows(self._curvatures * self.pairs.margins(vector))

    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        """Gathered from the differences of the curved pairs' rows: nothing cancels."""
        curved = np.flatnonzero(self._curvatures)
        first, second = self.pairs.first[curved], self.pairs.second[curved]
        return X.gram_of_differences(first, second, self._curvatures[curved])

    def hessian_bytes(self, n_columns: int) -> int:
        return 16 * n_columns**2

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.pairs, self.scores, self.gradient())

    @cached_property
    def _margin_errors(self) -> Array:
        return margin_rounding(*extent(self.scores), self.width) * self.curvature()

    def gradient_error(self, size: float) -> float:
        return growth(self.pairs.n_pairs) * size + length(self._margin_errors)

    def gradient_row_errors(self, gradient: Array) -> Array:
        return growth(self.pairs.n_pairs) * np.abs(gradient) + self._margin_errors

    def steepest(self) -> float:
        return float(self.pairs.share.max()) / self.width
