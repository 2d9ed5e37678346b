"""Losses whose pair sum splits into class sums: square and exponential, O(n).

In both, the Hessian is a diagonal less two outer products of class vectors,
``H = diag(d) - p q' - q p'`` with p on the positives and q on the negatives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix
from everypair.pairs.point import (
    EXACT,
    extent,
    fenchel_dual,
    growth,
    margin_rounding,
)
from everypair.rows import Rows

Array = NDArray[np.float64]


class _SeparablePoint:
    """The Hessian shared by both losses.

    ``_scale c_i`` is the diagonal and ``_scale c_i c_j`` the weight of a pair in the
    Hessian, where c sums to one over each class.
    """

    _scale: float
    _class_weight: Array

    def __init__(self, pairs: Rows, scores: Array):
        # Relative to a point among the scores: pairs do not see a common offset, rounding does.
        self.pairs, self.scores = pairs, scores - scores[0]

    def value(self) -> float:
        raise NotImplementedError

    def gradient(self) -> Array:
        raise NotImplementedError

    def curvature(self) -> Array:
        return self._scale * self._class_weight

    def product(self, vector: Array) -> Array:
        positive, c = self.pairs.positive, self._class_weight
        vector = vector - vector.mean()
        weighted = c * vector
        of_positives = weighted[positive].sum()
        of_negatives = weighted[~positive].sum()
        return self._scale * (weighted - c * np.where(positive, of_negatives, of_positives))

    def hessian(self, X: Matrix, accuracy: float = EXACT) -> Array:
        c = self._class_weight
        of_these = np.where(self.pairs.positive, c, 0.0)
        gram, (of_positives, of_all) = X.gram_and_sums(c, [of_these, c])
        cross = np.outer(of_positives, of_all - of_positives)
        return self._scale * (gram - cross - cross.T)

    def hessian_bytes(self, n_columns: int) -> int:
        return 16 * n_columns**2

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.scores, self.gradient())

    def gradient_error(self, size: float) -> float:
        raise NotImplementedError

    def gradient_row_errors(self, gradient: Array) -> Array:
        raise NotImplementedError

    def steepest(self) -> float:
        return self._scale * float(self._class_weight.max())


class SquarePoint(_SeparablePoint):
    """``(1 - z)^2``: the class variances plus the squared shortfall of the means."""

    def __init__(self, pairs: Rows, scores: Array):
        super().__init__(pairs, scores)
        self._scale, self._class_weight = 2.0, pairs.share
        weighted = pairs.share * self.scores
        self._positive_mean = weighted[pairs.positive].sum()
        self._negative_mean = weighted[~pairs.positive].sum()
        self._shortfall = 1 - (self._positive_mean - self._negative_mean)

    def value(self) -> float:
        own_mean = np.where(self.pairs.positive, self._positive_mean, self._negative_mean)
        variances = float(self.pairs.share @ (self.scores - own_mean) ** 2)
        return variances + self._shortfall**2

    def gradient(self) -> Array:
        # Pairs of row i: 1 - (s_i - mean of the others), and the mirror for negatives.
        positive, s = self.pairs.positive, self.scores
        residual = np.where(positive, 1 - (s - self._negative_mean), 1 - (self._positive_mean - s))
        return 2 * self.pairs.share * np.where(positive, -residual, residual)

    @cached_property
    def _share_error(self) -> float:
        """The class means are sums over rows, however small a residual is left of them."""
        low, high = extent(self.scores)
        return growth(self.pairs.n_rows) * (1 + high - low) * self._scale

    def gradient_error(self, size: float) -> float:
        return self._share_error * self.pairs.share_length

    def gradient_row_errors(self, gradient: Array) -> Array:
        return self._share_error * self.pairs.share


class ExponentialPoint(_SeparablePoint):
    """``exp(-z)``: a product of two class sums, kept as logarithms until the end.

    Overflows to infinity, never to NaN; a line search steps back from there.
    """

    def __init__(self, pairs: Rows, scores: Array):
        super().__init__(pairs, scores)
        signed = np.where(pairs.positive, -self.scores, self.scores)
        with np.errstate(divide="ignore"):
            logs = signed + np.log(pairs.share)
        log_positive = logsumexp(logs[pairs.positive])
        log_negative = logsumexp(logs[~pairs.positive])
        with np.errstate(over="ignore"):
            self._scale = float(np.exp(log_positive + log_negative))
        self._class_weight = np.exp(logs - np.where(pairs.positive, log_positive, log_negative))

    def value(self) -> float:
        return self._scale

    def gradient(self) -> Array:
        return self._scale * np.where(self.pairs.positive, -self._class_weight, self._class_weight)

    def gradient_error(self, size: float) -> float:
        """An error of a margin is a relative one of its loss."""
        return (growth(self.pairs.n_rows) + 2 * margin_rounding(*extent(self.scores))) * size

    def gradient_row_errors(self, gradient: Array) -> Array:
        return self.gradient_error(1.0) * np.abs(gradient)
