"""A push towards the top of the list: the p-norm of what each negative row loses (Rudin 2009).

    L(s) = (sum_j b_j l_j^p)^(1/p) ,   l_j = sum_i a_i log(1 + exp(s_j - s_i)) .

p = 1 is the mean over every pair. With a larger p the negatives that outscore many positives, at
the top of the list, weigh more. The derivatives are those of a pair sum in which negative j
weighs ``b_j (l_j / L)^(p - 1)``, so one more set of box moments is all that a push costs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.pairs.smooth import LOGISTIC_KERNELS, SmoothPoint
from everypair.rows import Rows

Array = NDArray[np.float64]


class PushedPoint:
    """The pushed logistic loss at one vector of scores: value, gradient and curvature."""

    def __init__(self, pairs: Rows, scores: Array, power: float):
        self.power = power
        self._plain = SmoothPoint(LOGISTIC_KERNELS, pairs, scores)

    @cached_property
    def _of_negatives(self) -> tuple[Array, Array, float]:
        """Of the negative rows: ``b_j l_j`` and ``l_j / L``; and L."""
        pairs = self._plain.pairs
        weighted = self._plain.losses_of_negatives()[pairs.negatives]
        share = pairs.share[pairs.negatives]
        losses = np.divide(weighted, share, out=np.zeros_like(weighted), where=share > 0)
        largest = losses.max()
        if largest == 0:  # every pair is won by more than float64 can tell
            return weighted, losses, 0.0
        norm = largest * float(share @ (losses / largest) ** self.power) ** (1 / self.power)
        return weighted, losses / norm, norm

    def value(self) -> float:
        return self._of_negatives[2]

    @cached_property
    def _pull(self) -> Array:
        """``(l_j / L)^(p - 1)``: by how much the push multiplies the weight of a negative row."""
        return self._of_negatives[1] ** (self.power - 1)

    @cached_property
    def _moments(self) -> Array:
        """The box moments of `SmoothPoint`, with the negatives at their pushed weights."""
        pairs = self._plain.pairs
        weights = pairs.share.copy()
        weights[pairs.negatives] *= self._pull
        of_negatives, _ = self._plain.boxes.moments(weights)
        return np.stack([of_negatives, self._plain.moments[1]])

    @cached_property
    def _unpulled_gradient(self) -> Array:
        """The gradient, but for the factor `_pull` of the negative rows."""
        return self._plain.slope_sums(self._moments)

    def gradient(self) -> Array:
        gradient = self._unpulled_gradient.copy()
        gradient[self._plain.pairs.negatives] *= self._pull
        return gradient

    def curvature(self) -> Array:
        """An upper estimate of the Hessian's diagonal.

        The negative term of the norm's second derivative, of rank one, is left out, and so are
        the terms ``a_i^2 ...`` of the positives, which are a share of 1 / n+ of the others.
        """
        negatives = self._plain.pairs.negatives
        weighted, _, _ = self._of_negatives
        curvature = self._plain.curvature_sums(self._moments)
        slopes = self._unpulled_gradient[negatives]
        bend = np.divide(slopes**2, weighted, out=np.zeros_like(slopes), where=weighted > 0)
        curvature[negatives] = self._pull * (curvature[negatives] + (self.power - 1) * bend)
        return curvature
