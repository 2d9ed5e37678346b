"""What a climb knows of the columns of X beforehand: class means, variances, covariance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_shard import Shard
from everypair.linalg.group_blocks import GroupBlocks, sums_over_groups
from everypair.linalg.matrix import Matrix, too_large
from everypair.pairs.blocked_groups import BlockGroups, Inside
from everypair.rows import Rows

Array = NDArray[np.float64]

MOST_SEPARATION = 1e3
"""Cap of ``separation^2 / variance``: past 30 standard deviations a feature is simply perfect."""

CONSTANT_COLUMN_SPREAD = 8 * float(np.finfo(np.float64).eps)
"""A column whose values differ by this share of them differs by rounding."""

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
        """The variance over all rows if this share of them is positive."""
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
    # What rounding leaves of a constant column is not a variance.
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
    gram, means = X.gram_and_sums(pairs.share, pairs.shares_by_class)
    return np.asarray((gram - means.T @ means) / 2)


def group_spreads(X: Matrix, pairs: Rows) -> Array:
    """Root mean square of each column about the mean of its group, both classes weighing the same.

    A column that differs by rounding alone inside the groups has none.
    """
    if isinstance(pairs, BlockGroups):
        work = partial(_of_block, pairs.within, _squared_spreads)
        of_blocks: Any = X
        return np.asarray(np.sqrt(of_blocks.sum_over_shards("spreads", work)))
    paired, weight, n_columns = pairs.paired, pairs.share / 2, X.shape[1]

    def add(groups: GroupBlocks, squares: Array, of_means: Array, largest: Array) -> None:
        means = np.zeros((groups.last - groups.first, n_columns))
        for number in (0, 1):
            for some, block in groups.blocks(number):
                w = weight[paired.classes[number][some]][:, None]
                groups.add_sums(number, some, w * block, means)
                squares += np.sum(w * block**2, axis=0)
                np.maximum(largest, np.max(np.abs(block), axis=0), out=largest)
        of_means += np.sum(means**2 / paired.weight[groups.first : groups.last, None], axis=0)

    with np.errstate(over="ignore", invalid="ignore"):
        squares, of_means, largest = sums_over_groups(X, paired, [(n_columns,)] * 3, add)
    if not np.all(np.isfinite(squares)):
        raise too_large("their squares overflow")
    rounding = CONSTANT_COLUMN_SPREAD * np.abs(X.sizes.means) + np.finfo(float).tiny
    return np.where(largest > rounding, np.sqrt(np.maximum(0, squares - of_means)), 0.0)


def mean_squared_distance(X: Matrix, pairs: Rows) -> float:
    """``sum_ij a_i b_j |x_i - x_j|^2`` over the pairs; infinite where it overflows."""
    if isinstance(pairs, BlockGroups):
        work = partial(_of_block, pairs.within, mean_squared_distance)
        of_blocks: Any = X
        return float(of_blocks.sum_over_shards("distances", work))
    with np.errstate(over="ignore", invalid="ignore"):
        if pairs.within is None:
            moments = column_moments(X, pairs)
            squares = moments.variance_of_positives + moments.variance_of_negatives
            return float(np.sum(squares + moments.separation**2))
        paired, n_columns = pairs.paired, X.shape[1]

        def add(groups: GroupBlocks, total: Array) -> None:
            sums = np.zeros((2, groups.last - groups.first, n_columns))
            for number in (0, 1):
                for some, block in groups.blocks(number):
                    rows = paired.classes[number][some]
                    groups.add_sums(number, some, pairs.inside[rows, None] * block, sums[number])
                    total += np.sum(pairs.share[rows, None] * block**2)
            of_groups = paired.weight[groups.first : groups.last]
            total -= 2 * np.sum(of_groups * np.einsum("gk,gk->g", *sums))

        ((total,),) = sums_over_groups(X, paired, [(1,)], add)
        return float(max(0.0, total))


def _squared_spreads(X: Matrix, rows: Rows) -> Array:
    return group_spreads(X, rows) ** 2


def _of_block(inside: Inside, of: Callable[..., Any], X: Matrix, shard: Shard) -> Any:
    """A mean over the pairs inside groups, of one block."""
    rows, factor = inside.rows(shard)
    return 0.0 if rows is None else factor * of(X, rows)
