"""What a climb knows of the columns of X beforehand: class means, variances, covariance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.linalg.matrix import BLOCK_BYTES, DenseMatrix, Matrix, SparseMatrix
from everypair.pairs.point import add_weighted_gram
from everypair.rows import Rows
from everypair.solvers.choose import sample_rows

Array = NDArray[np.float64]

MOST_SEPARATION = 1e3
"""Cap of ``separation^2 / variance``: past 30 standard deviations a feature is simply perfect."""

FEW_COLUMNS = 300
"""Columns up to which the class covariance of a dense X is worth its price."""

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
    classes = [np.where(members, pairs.share, 0.0) for members in (pairs.positive, ~pairs.positive)]
    n_columns = X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(X, DenseMatrix):

            def add(rows: slice, block: Array, means: Array, squares: Array) -> None:
                for k, weight in enumerate(classes):
                    means[k] += weight[rows] @ block
                np.square(block, out=block)
                for k, weight in enumerate(classes):
                    squares[k] += weight[rows] @ block

            means, squares = X.centred_sums([(2, n_columns), (2, n_columns)], add)
        else:
            means, squares = np.zeros((2, 2, n_columns))
            for rows, columns, block in centred_blocks(X):
                for k, weight in enumerate(classes):
                    sums, sums_of_squares = block.pull_back_moments(weight[rows])
                    means[k, columns] += sums
                    squares[k, columns] += sums_of_squares
        separation = means[0] - means[1]
        variance = squares - means**2
        size = squares.sum(axis=0)
    if not np.all(np.isfinite(size)):
        raise ValueError(
            "The features are too large for float64: their squares overflow. "
            "Rescale X, for example with StandardScaler."
        )
    # What is left of a constant column after rounding is no variance.
    variance = np.where(variance > 1e-13 * size, variance, 0.0)
    varies = np.any(variance > 0, axis=0) | (separation**2 > 1e-13 * size)
    return ColumnMoments(np.where(varies, separation, 0.0), *variance)


def centred_blocks(X: SparseMatrix) -> Iterator[tuple[slice, slice, SparseMatrix]]:
    """Blocks of ``X - centre`` and the rows and columns that each holds, as sparse as X.

    Only columns without zeros have a centre other than zero, so it is taken from the entries
    that are stored and from no others.
    """
    everything = slice(None)
    if not np.any(X.centre):
        yield everything, everything, X
        return
    data, indices, indptr = X.arrays
    kind = sparse.csr_array if X.by_rows else sparse.csc_array
    # A block of fewer entries than columns would cost more to add up than to read.
    n_blocks = 1 + data.size // max(BLOCK_BYTES // 8, X.shape[1])
    ends = np.searchsorted(indptr, np.linspace(0, data.size, n_blocks + 1))
    for start, stop in pairwise(np.unique(ends).tolist()):
        lines, held = slice(start, stop), slice(indptr[start], indptr[stop])
        pointers = indptr[start : stop + 1] - held.start
        if X.by_rows:
            rows, columns, shape = lines, everything, (stop - start, X.shape[1])
            centre = X.centre[indices[held]]
        else:
            rows, columns, shape = everything, lines, (X.shape[0], stop - start)
            centre = np.repeat(X.centre[lines], np.diff(pointers))
        block = kind((data[held] - centre, indices[held], pointers), shape=shape)
        yield rows, columns, SparseMatrix(block)


def class_covariance(X: Matrix, pairs: Rows) -> Array | None:
    """Mean of the two class covariances, on a sample of rows; for dense X of few columns."""
    n_columns = X.shape[1]
    if not isinstance(X, DenseMatrix) or n_columns > FEW_COLUMNS:
        return None
    n_rows = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN * n_columns)
    if pairs.n_rows > n_rows:
        rows = sample_rows(pairs, n_rows)
        X, pairs = X.take(rows), Rows.uncut(pairs.positive[rows], pairs.share[rows])
    weight = pairs.share
    of_positives = np.where(pairs.positive, weight, 0.0)

    def add(rows: slice, block: Array, gram: Array, means: Array) -> None:
        means[1] += of_positives[rows] @ block
        means[0] += (weight[rows] - of_positives[rows]) @ block
        add_weighted_gram(gram, block, weight[rows])

    gram, means = X.centred_sums([(n_columns, n_columns), (2, n_columns)], add)
    return np.asarray((gram - means.T @ means) / 2)
