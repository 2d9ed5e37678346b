"""Class moments: all that a squared loss over pairs needs to know of the rows.

With A, B the total weights of the positives and negatives, m their means and C their (biased)
covariances, and d = m+ - m-,

    sum_ij a_i b_j (1 - x_i . w + x_j . w)^2
        = A B ( w' (C+ + C-) w + (d . w - 1)^2 ) .

Moments of disjoint sets of rows add up (Chan, Golub & LeVeque 1983), so they can be gathered
over blocks, chunks and machines in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.linalg.matrix import BLOCK_BYTES, CENTRE_ROWS, DenseMatrix, Matrix
from everypair.linalg.threads import one_blas_thread, over_rows
from everypair.rls.gram import moved, sparse_centre

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SPARSE_BLOCK = 4096
"""Rows (CSR) or columns (CSC) of a sparse matrix that are multiplied at a time."""

NEAR_ORIGIN = 10.0
"""A class whose mean is within so many deviations of zero loses two digits of 16 about zero."""


@dataclass(frozen=True)
class ClassMoments:
    """``weight = sum w_i``, ``mean`` and ``scatter = sum w_i (x_i - mean)(x_i - mean)'``."""

    weight: float
    mean: Array
    scatter: Array

    @classmethod
    def none(cls, n_columns: int) -> ClassMoments:
        return cls(0.0, np.zeros(n_columns), np.zeros((n_columns, n_columns)))

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """Moments of both sets of rows; nothing is ever subtracted but two nearby means."""
        if self.weight == 0:
            return other
        if other.weight == 0:
            return self
        weight = self.weight + other.weight
        apart = other.mean - self.mean
        share = other.weight / weight
        scatter = self.scatter + other.scatter
        scatter += np.outer((self.weight * share) * apart, apart)
        return ClassMoments(weight, self.mean + share * apart, scatter)

    @property
    def covariance(self) -> Array:
        return self.scatter / self.weight


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
        gather = _dense_moments if isinstance(X, DenseMatrix) else _sparse_moments
        unit = sample_weight is None
        weight = np.ones(positive.size) if sample_weight is None else sample_weight
        # Rows without weight, which may lie anywhere, are not even looked at.
        there = weight > 0
        members = [np.flatnonzero(rows & there) for rows in (positive, ~positive)]
        return cls(*(gather(X.X, rows, weight, unit) for rows in members))

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


def _dense_moments(X: NDArray[Any], members: Index, weight: Array, unit: bool) -> ClassMoments:
    """One X'X-shaped product over the rows of the class, a block at a time.

    Each block is moved to a point inside the class first, unless the origin is near enough: sums
    of squares about a distant one would lose the variance to rounding.
    """
    n_columns = X.shape[1]
    if members.size == 0:
        return ClassMoments.none(n_columns)
    # Blocks stay in the cache, unless the p x p sum that each adds is the larger matter.
    block_rows = max(64, BLOCK_BYTES // (8 * max(1, n_columns)), n_columns)
    step = -(-members.size // CENTRE_ROWS)
    sample = X[members[::step]].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = sample.mean(axis=0)
        moved = not np.all(np.abs(centre) <= NEAR_ORIGIN * sample.std(axis=0))
    if not moved:
        centre[:] = 0.0
    plain = X.dtype == np.float64 and X.flags.c_contiguous

    def part(start: int, stop: int) -> tuple[float, Array, Array]:
        total, first, second = 0.0, np.zeros(n_columns), np.zeros((n_columns, n_columns))
        product = np.empty((n_columns, n_columns))
        buffer = np.empty((min(block_rows, stop - start), n_columns))
        ones = np.ones(buffer.shape[0])
        for begin in range(start, stop, block_rows):
            rows = members[begin : min(begin + block_rows, stop)]
            block = buffer[: rows.size]
            if plain:
                # The rows are known to exist; "clip" lets numpy write to the buffer directly.
                np.take(X, rows, axis=0, out=block, mode="clip")
                if moved:
                    block -= centre
            else:
                np.subtract(X[rows], centre, out=block)
            if unit:
                total += rows.size
                first += ones[: rows.size] @ block
            else:
                w = weight[rows]
                total += float(w.sum())
                first += w @ block
                block *= np.sqrt(w)[:, None]
            second += np.matmul(block.T, block, out=product)  # one operand twice: half the work
        return total, first, second

    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        parts = over_rows(part, members.size, members.size * n_columns**2)
        total, first, second = reduce(lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]), parts)
        return _about_mean(total, first, second, centre)


def _sparse_moments(X: Any, members: Index, weight: Array, unit: bool) -> ClassMoments:
    """Sparse products about a point that leaves zeros zero (`sparse_centre`)."""
    n_columns = X.shape[1]
    if members.size == 0:
        return ClassMoments.none(n_columns)
    second, centre = np.zeros((n_columns, n_columns)), sparse_centre(X, members)
    w = weight[members]
    if X.format == "csr":
        first = np.zeros(n_columns)
        for begin in range(0, members.size, SPARSE_BLOCK):
            rows = slice(begin, begin + SPARSE_BLOCK)
            block = moved(X[members[rows]], centre)
            first += block.T @ w[rows]
            weighted = sparse.diags_array(w[rows]) @ block
            second += (block.T @ weighted).toarray()
    else:
        of_class = np.zeros(X.shape[0])
        of_class[members] = w
        first = np.empty(n_columns)
        scale = sparse.diags_array(of_class)
        columns = [slice(b, b + SPARSE_BLOCK) for b in range(0, n_columns, SPARSE_BLOCK)]
        for left in columns:
            weighted = (scale @ moved(X[:, left], centre[left])).T
            first[left] = np.asarray(weighted.sum(axis=1)).ravel()
            for right in columns:
                block = moved(X[:, right], centre[right])
                second[left, right] = (weighted @ block).toarray()
    return _about_mean(float(w.sum()), first, second, centre)


def _about_mean(total: float, first: Array, second: Array, centre: Array) -> ClassMoments:
    if total == 0:
        return ClassMoments.none(first.size)
    offset = first / total
    return ClassMoments(total, centre + offset, second - np.outer(total * offset, offset))
