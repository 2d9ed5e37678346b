"""Piecewise polynomial losses: sort each class, then walk both lists once, O(n log n).

Hinge by sorting: Joachims 2006, Airola et al. 2011; squared hinge: Lee & Lin 2014. The walks
here never subtract prefix sums (`_kernels.growing_sums`, `_kernels.window_sums`), so scores
of any size and offset keep their digits. Only the Hessian's window of rows adds and subtracts.

Everything is written for targets of one class against sources of the other, both descending,
with shortfall ``u = 1 - (x - y)``. Seen from the negatives the same pairs have targets
``-s_j`` and sources ``-s_i``: the reversed lists, negated.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everypair._kernels import (
    auc_pairs,
    count_short,
    csr_window_cross,
    growing_sums,
    window_rows,
    window_sums,
)
from everypair.matrix import DenseMatrix, Matrix, SparseMatrix
from everypair.pairs.point import (
    EXACT,
    fenchel_dual,
    refuse_unusable,
    weighted_gram,
)
from everypair.pairs.structure import Pairs
from everypair.threads import one_blas_thread

Array = NDArray[np.float64]
Index = NDArray[np.intp]

POSITIVE_SHORTFALL = np.nextafter(0.0, 1.0)
"""The least u that counts as u > 0."""


class Side:
    """The rows of one class as targets, those of the other as sources, scores descending."""

    def __init__(self, targets: Index, sources: Index, scores: Array, weight: Array):
        self.target_rows, self.source_rows = targets, sources
        self.target_scores, self.source_scores = scores[targets], scores[sources]
        self.target_weights, self.source_weights = weight[targets], weight[sources]

    def count_short(self, least: float) -> Index:
        """For each target, how many sources have ``u >= least``: they come first."""
        counts = np.empty(self.target_rows.size, dtype=np.intp)
        count_short(self.target_scores, self.source_scores, least, counts)
        return counts

    def growing_sums(self, high: Index) -> Array:
        sums = np.empty((self.target_rows.size, 3))
        growing_sums(self.target_scores, self.source_scores, self.source_weights, high, sums)
        return sums

    def window_sums(self, low: Index, high: Index, weights: Array | None = None) -> Array:
        sums = np.empty((self.target_rows.size, 3))
        weights = self.source_weights if weights is None else weights
        window_sums(self.target_scores, self.source_scores, weights, low, high, sums)
        return sums


class SortedScores:
    """Both classes in descending order of score, seen from either side."""

    def __init__(self, pairs: Pairs, scores: Array):
        self.pairs, self.scores = pairs, scores
        positives, negatives = pairs.positives, pairs.negatives
        self.positives = positives[np.argsort(scores[positives])[::-1]]
        self.negatives = negatives[np.argsort(scores[negatives])[::-1]]

    def stretched(self, by: float) -> SortedScores:
        """At ``by`` times the scores, which have the same order."""
        if by == 1:
            return self
        other = copy(self)
        other.scores = by * self.scores
        for side in ("from_positives", "from_negatives"):
            other.__dict__.pop(side, None)
        return other

    @cached_property
    def from_positives(self) -> Side:
        return Side(self.positives, self.negatives, self.scores, self.pairs.weight)

    @cached_property
    def from_negatives(self) -> Side:
        targets, sources = (rows[::-1].copy() for rows in (self.negatives, self.positives))
        return Side(targets, sources, -self.scores, self.pairs.weight)

    @property
    def sides(self) -> tuple[tuple[Side, float], tuple[Side, float]]:
        """Each side with the sign of its own score in the margin."""
        return (self.from_positives, 1.0), (self.from_negatives, -1.0)


class _SortedPoint:
    """Losses that are a polynomial in u between corners.

    The second derivative is ``_height`` inside the window ``_corner > u > 0`` and zero
    outside; a loss names the two and gets products and Hessian from here.
    """

    _height: float
    _corner: float

    def __init__(self, order: SortedScores):
        self.order, self.pairs = order, order.pairs
        self._windows: dict[int, tuple[Index, Index]] = {}

    def window(self, side: Side) -> tuple[Index, Index]:
        """First and last source inside the window of each target."""
        if id(side) not in self._windows:
            high = side.count_short(POSITIVE_SHORTFALL)
            past = side.count_short(self._corner) if self._corner < np.inf else np.zeros_like(high)
            self._windows[id(side)] = past, high
        return self._windows[id(side)]

    def value(self) -> float:
        raise NotImplementedError

    def gradient(self) -> Array:
        raise NotImplementedError

    @cached_property
    def _curvature(self) -> Array:
        out = np.empty(self.pairs.n_rows)
        for side, _ in self.order.sides:
            mass = side.window_sums(*self.window(side))[:, 0]
            out[side.target_rows] = self._height * side.target_weights * mass
        return out

    def curvature(self) -> Array:
        return self._curvature

    def product(self, vector: Array) -> Array:
        vector = vector - vector.mean()
        out = self._curvature * vector
        for side, _ in self.order.sides:
            weights = side.source_weights * vector[side.source_rows]
            others = side.window_sums(*self.window(side), weights)[:, 0]
            out[side.target_rows] -= self._height * side.target_weights * others
        return out

    def hessian(self, X: Matrix, accuracy: float = EXACT) -> Array:
        """``X' diag(d) X - C - C'``, C gathered from the side with the fewer targets.

        The gathering takes rows of X in the order of their scores.
        """
        side = min((side for side, _ in self.order.sides), key=lambda s: s.target_rows.size)
        if isinstance(X, SparseMatrix):
            X = X.rows_first
            cross = self._sparse_cross(X, side)
        else:
            cross = self._dense_cross(X, side)
        return weighted_gram(X, self._curvature) - self._height * (cross + cross.T)

    def hessian_bytes(self, n_columns: int) -> int:
        return 16 * n_columns**2

    def _dense_cross(self, X: DenseMatrix, side: Side) -> Array:
        low, high = self.window(side)
        n_columns = X.shape[1]
        cross = np.zeros((n_columns, n_columns))
        running, state = np.zeros(n_columns), np.zeros(2, dtype=np.intp)
        for begin in range(0, side.target_rows.size, X.block_rows):
            rows = side.target_rows[begin : begin + X.block_rows]
            sums = np.empty((rows.size, n_columns))
            window_rows(
                X.X, X.centre, side.source_rows, side.source_weights,
                low, high, begin, running, state, sums,
            )  # fmt: skip
            targets = np.subtract(X.X[rows], X.centre, dtype=np.float64)
            targets *= self.pairs.weight[rows, None]
            with one_blas_thread():  # blocks this small are not worth waking another
                cross += targets.T @ sums
        return cross

    def _sparse_cross(self, X: SparseMatrix, side: Side) -> Array:
        cross = np.zeros((X.shape[1], X.shape[1]))
        csr_window_cross(
            *X.arrays, X.centre, side.target_rows, side.target_weights, side.source_rows,
            side.source_weights, *self.window(side), cross,
        )  # fmt: skip
        return cross

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.order.scores, self.gradient())


class SquaredHingePoint(_SortedPoint):
    """``max(0, u)^2``."""

    _height, _corner = 2.0, np.inf

    def value(self) -> float:
        side = self.order.from_positives
        return float(side.target_weights @ side.growing_sums(self.window(side)[1])[:, 2])

    def gradient(self) -> Array:
        out = np.empty(self.pairs.n_rows)
        for side, sign in self.order.sides:
            shortfalls = side.growing_sums(self.window(side)[1])[:, 1]
            out[side.target_rows] = -2 * sign * side.target_weights * shortfalls
        return out


class HingePoint(_SortedPoint):
    """``max(0, u)``; the slope at the corner counts as zero."""

    _height, _corner = 0.0, np.inf

    def value(self) -> float:
        side = self.order.from_positives
        return float(side.target_weights @ side.growing_sums(self.window(side)[1])[:, 1])

    def gradient(self) -> Array:
        out = np.empty(self.pairs.n_rows)
        for side, sign in self.order.sides:
            mass = side.growing_sums(self.window(side)[1])[:, 0]
            out[side.target_rows] = -sign * side.target_weights * mass
        return out

    def dual_value(self) -> float:
        """The dual term is the multiplier itself: the pairs' mass in violation."""
        side = self.order.from_positives
        return float(side.target_weights @ side.growing_sums(self.window(side)[1])[:, 0])


class HuberHingePoint(_SortedPoint):
    """The hinge rounded over ``0 < u < width`` (`losses.huber_hinge`)."""

    def __init__(self, order: SortedScores, width: float):
        super().__init__(order)
        self.width = width
        self._height, self._corner = 1 / width, width

    def value(self) -> float:
        side = self.order.from_positives
        low, high = self.window(side)
        on_line = side.growing_sums(low)
        on_curve = side.window_sums(low, high)
        per_target = on_line[:, 1] - on_line[:, 0] * (self.width / 2)
        per_target += on_curve[:, 2] / (2 * self.width)
        return float(side.target_weights @ per_target)

    def gradient(self) -> Array:
        out = np.empty(self.pairs.n_rows)
        for side, sign in self.order.sides:
            low, high = self.window(side)
            multipliers = side.growing_sums(low)[:, 0]
            multipliers += side.window_sums(low, high)[:, 1] / self.width
            out[side.target_rows] = -sign * side.target_weights * multipliers
        return out

    def largest_shortfall(self) -> float:
        side = self.order.from_positives
        return 1.0 - float(side.target_scores[-1] - side.source_scores[0])

    def hinge_value(self, stretch: float = 1.0) -> float:
        """The hinge itself at ``stretch`` times these scores."""
        return HingePoint(self.order.stretched(stretch)).value()


def auc(pairs: Pairs, scores: Array) -> float:
    """Exact area under the ROC curve: weighted share of pairs won, ties counted half."""
    refuse_unusable(scores)
    side = SortedScores(pairs, scores).from_positives
    return float(
        auc_pairs(side.target_scores, side.source_scores, side.target_weights, side.source_weights)
    )
