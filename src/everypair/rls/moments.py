"""Class moments: all that a squared loss over pairs needs to know of the rows.

With A, B the total weights of the positives and negatives, m their means and C their (biased)
covariances, and d = m+ - m-,

    sum_ij a_i b_j (1 - x_i . w + x_j . w)^2
        = A B ( w' (C+ + C-) w + (d . w - 1)^2 ) .

Moments of disjoint sets of rows add up (`linalg.class_moments`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.class_moments import ClassMoments
from everypair.linalg.matrix import Matrix
from everypair.rows import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairMoments:
    """The moments of both classes."""

    positive: ClassMoments
    negative: ClassMoments

    @classmethod
    def none(cls, n_columns: int) -> PairMoments:
        return cls(ClassMoments.none(n_columns), ClassMoments.none(n_columns))

    @classmethod
    def of(
        cls, X: Matrix, positive: NDArray[np.bool_], sample_weight: Array | None = None
    ) -> PairMoments:
        # Rows without weight, which may lie anywhere, are not even looked at.
        there = True if sample_weight is None else sample_weight > 0
        members = [np.flatnonzero(rows & there) for rows in (positive, ~positive)]
        return cls(*(X.class_moments(rows, sample_weight) for rows in members))

    @classmethod
    def in_groups(cls, X: Matrix, pairs: Rows) -> PairMoments:
        """Moments that have the squared loss over the pairs inside groups.

        With omega_g of the groups it is ``w' M w - 2 d . w + 1``, d the mean of the groups'
        differences d_g of class means and ``M = sum_g omega_g (C+_g + C-_g + d_g d_g')``; so
        ``C+ + C-`` is M - d d', what the groups leave of it about d. They do not add up to the
        moments of more rows.
        """
        from everypair.pairs import pair_point

        curvature = pair_point("square", pairs, X.zero_scores).hessian(X) / 2
        means = [X.pull_back(share) for share in pairs.shares_by_class]
        apart = means[0] - means[1]
        curvature -= np.outer(apart, apart)
        nothing = np.zeros_like(curvature)
        return cls(ClassMoments(1.0, means[0], curvature), ClassMoments(1.0, means[1], nothing))

    def __add__(self, other: PairMoments) -> PairMoments:
        return PairMoments(self.positive + other.positive, self.negative + other.negative)

    @property
    def pair_weight(self) -> float:
        """``A B``: for unit weights the number of pairs."""
        return self.positive.weight * self.negative.weight

    @property
    def apart(self) -> Array:
        """``d = m+ - m-``."""
        return self.positive.mean - self.negative.mean

    @property
    def within(self) -> Array:
        """``C+ + C-``."""
        return self.positive.covariance + self.negative.covariance

    @property
    def midpoint(self) -> Array:
        """Halfway between the class means."""
        return self.negative.mean + self.apart / 2

    @property
    def finite(self) -> bool:
        """False when X held a NaN or an infinity, or its squares overflowed."""
        sides = (self.positive, self.negative)
        return all(np.isfinite(s.scatter).all() and np.isfinite(s.mean).all() for s in sides)
