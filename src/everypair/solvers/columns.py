"""What a climb knows of the columns of X beforehand: class means, variances, covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix, too_large
from everypair.rows import Rows

Array = NDArray[np.float64]

MOST_SEPARATION = 1e3
"""Cap of ``separation^2 / variance``: past 30 standard deviations a feature is simply perfect."""

SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN = 2000, 10
"""Rows that the class covariance comes from: more would not save another step."""


class ColumnMoments(NamedTuple):
    """Per feature: difference of the class means, and the variance in each class."""

    separation: Array
    variance_of_positives: Array
    variance_of_negatives: Array

    @property
    def variance(self) -> Array:
        """Both class variances added, at least a share of the separation squared."""
        added = self.variance_of_positives + self.variance_of_negatives
        return np.maximum(added, self.separation**2 / MOST_SEPARATION)

    def variance_of_all(self, positive_share: float) -> Array:
        """Of all rows, when this share of them is positive."""
        return np.asarray(
            positive_share * self.variance_of_positives
            + (1 - positive_share) * self.variance_of_negatives
            + positive_share * (1 - positive_share) * self.separation**2
        )


def column_moments(X: Matrix, pairs: Rows) -> ColumnMoments:
    """Weighted class means and (biased) variances of the columns, in one pass.

    Around a point amid the values of each column, so that columns far from zero keep theirs.
    """
    classes = pairs.shares_by_class
    with np.errstate(over="ignore", invalid="ignore"):
        means, squares = X.centred_moments(classes)
        separation = means[0] - means[1]
        variance = squares - means**2
        size = squares.sum(axis=0)
    if not np.all(np.isfinite(size)):
        raise too_large("their squares overflow")
    # What is left of a constant column after rounding is no variance.
    variance = np.where(variance > 1e-13 * size, variance, 0.0)
    varies = np.any(variance > 0, axis=0) | (separation**2 > 1e-13 * size)
    return ColumnMoments(np.where(varies, separation, 0.0), *variance)


def class_covariance(X: Matrix, pairs: Rows) -> Array | None:
    """Mean of the two class covariances, on a sample of rows; None where it does not pay."""
    if not X.covariance_pays:
        return None
    n_rows = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN * X.shape[1])
    if pairs.n_rows > n_rows:
        rows = pairs.sample(n_rows)
        X, pairs = X.take(rows), pairs.take(rows)
    weight = pairs.share
    of_positives = np.where(pairs.positive, weight, 0.0)
    gram, means = X.gram_and_sums(weight, [weight - of_positives, of_positives])
    return np.asarray((gram - means.T @ means) / 2)
