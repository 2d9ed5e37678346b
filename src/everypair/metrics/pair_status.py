"""Which pairs a ROC-SVM has satisfied, holds on the margin, or violates.

Proposition 3.2.1 of Rakotomamonjy (2004): at the solution the multiplier of a pair with margin
z = f(x_i) - f(x_j) is 0 where z > rho, C where z < rho, and anything between where z = rho. A
fit rounds the corner at rho over a narrow width, and its multipliers

    alpha_ij = C clip((rho - z) / width, 0, 1)

certify it. Read off them, a pair is *satisfied* (alpha = 0, z >= rho), *on the margin*
(0 < alpha < C) or *violated* (alpha = C, z <= rho - width).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

SATISFIED, ON_MARGIN, VIOLATED = "satisfied", "on_margin", "violated"


class PairCounts(NamedTuple):
    satisfied: int
    on_margin: int
    violated: int


def pair_multipliers(
    positive_scores: ArrayLike, negative_scores: ArrayLike, margin: float, width: float, C: float
) -> Array:
    """``C clip((rho - z) / width, 0, 1)`` of the pairs; scores are broadcast."""
    z = np.subtract(positive_scores, negative_scores, dtype=np.float64)
    return np.asarray(C * np.clip((margin - z) / width, 0.0, 1.0))


def pair_status(
    positive_scores: ArrayLike, negative_scores: ArrayLike, margin: float, width: float
) -> NDArray[Any]:
    """``"satisfied"``, ``"on_margin"`` or ``"violated"`` for each pair; scores are broadcast.

    >>> pair_status([2.0, 0.999, 0.0], [0.0, 0.0, 0.0], margin=1.0, width=0.01).tolist()
    ['satisfied', 'on_margin', 'violated']
    """
    z = np.subtract(positive_scores, negative_scores, dtype=np.float64)
    return np.where(z >= margin, SATISFIED, np.where(z > margin - width, ON_MARGIN, VIOLATED))


def count_pair_statuses(
    positive: NDArray[np.bool_], scores: Array, margin: float, width: float
) -> PairCounts:
    """How many of all n+ n- pairs have each status: one sort, two searches, O(n log n).

    >>> scores = np.array([2.0, 0.999, 0.0])
    >>> count_pair_statuses(np.array([True, True, False]), scores, margin=1.0, width=0.01)
    PairCounts(satisfied=1, on_margin=1, violated=0)
    """
    positives, negatives = scores[positive], np.sort(scores[~positive])
    satisfied = int(np.searchsorted(negatives, positives - margin, side="right").sum())
    not_violated = int(np.searchsorted(negatives, positives - (margin - width), side="left").sum())
    not_violated = max(not_violated, satisfied)
    total = positives.size * negatives.size
    return PairCounts(satisfied, not_violated - satisfied, total - not_violated)
