"""The definition: sums over every pair, written out, O(n+ n-). Tests hold all else to it.

L(s)    = sum_ij a_i b_j phi(z_ij),    z_ij = s_i - s_j
dL/ds_i = a_i sum_j b_j phi'(z_ij),    dL/ds_j = -b_j sum_i a_i phi'(z_ij)
(H v)_i = a_i sum_j b_j phi''(z_ij) (v_i - v_j),   and the mirror for j

With groups a pair weighs omega_g a_i b_j if both rows are in group g, else nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.pairs.losses import MarginLoss
from everypair.rows import Rows

Array = NDArray[np.float64]


class BrutePoint:
    """One loss at one vector of scores, by the definition."""

    def __init__(self, loss: MarginLoss, pairs: Rows, scores: Array):
        self.loss, self.pairs = loss, pairs
        p, n = pairs.positives, pairs.negatives
        self.margins = scores[p][:, None] - scores[n][None, :]
        self.weights = pair_weights(pairs)

    def _to_rows(self, per_pair: Array) -> Array:
        """Sum over each row's pairs: plus for the positive of a pair, minus for the negative."""
        rows = np.zeros(self.pairs.n_rows)
        rows[self.pairs.positives] = per_pair.sum(axis=1)
        rows[self.pairs.negatives] = -per_pair.sum(axis=0)
        return rows

    def value(self) -> float:
        return float(np.sum(self.weights * self.loss.value(self.margins)))

    def gradient(self) -> Array:
        return self._to_rows(self.weights * self.loss.slope(self.margins))

    def product(self, vector: Array) -> Array:
        p, n = self.pairs.positives, self.pairs.negatives
        differences = vector[p][:, None] - vector[n][None, :]
        return self._to_rows(self.weights * self.loss.curvature(self.margins) * differences)

    def hessian(self, X: Array) -> Array:
        return np.asarray(X.T @ np.column_stack([self.product(column) for column in X.T]))

    def dual_value(self) -> float:
        assert self.loss.dual_term is not None, f"{self.loss.name} is not convex"
        return float(np.sum(self.weights * self.loss.dual_term(-self.loss.slope(self.margins))))


def pair_weights(pairs: Rows) -> Array:
    """``[i, j]`` of the positives and the negatives; they sum to one."""
    p, n = pairs.classes
    weights = pairs.share[p][:, None] * pairs.inside[n][None, :]
    if pairs.within is not None:
        weights *= pairs.within.codes[p][:, None] == pairs.within.codes[n][None, :]
    return np.asarray(weights)


def auc(pairs: Rows, scores: Array) -> float:
    """Weighted share of the pairs with ``s_i > s_j``, ties counted half."""
    margins = scores[pairs.positives][:, None] - scores[pairs.negatives][None, :]
    won = (margins > 0) + 0.5 * (margins == 0)
    return float(np.sum(pair_weights(pairs) * won))
