"""Weight, mean and scatter of some rows, a block at a time.

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

from everypair.linalg.row_sums import BLOCK_BYTES, CENTRE_ROWS
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SPARSE_BLOCK = 4096
"""Rows (CSR) or columns (CSC) of a sparse matrix that are multiplied at a time."""

NEAR_ORIGIN = 10.0
"""Moments about zero lose two of 16 digits if the mean is this many deviations from zero."""


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


def dense_moments(X: NDArray[Any], members: Index, weights: Array | None) -> ClassMoments:
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
            if weights is None:
                total += rows.size
                first += ones[: rows.size] @ block
            else:
                w = weights[rows]
                total += float(w.sum())
                first += w @ block
                block *= np.sqrt(w)[:, None]
            second += np.matmul(block.T, block, out=product)  # one operand twice: half the work
        return total, first, second

    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        parts = over_rows(part, members.size, members.size * n_columns**2)
        total, first, second = reduce(lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]), parts)
        return _about_mean(total, first, second, centre)


def sparse_moments(X: Any, members: Index, weights: Array | None) -> ClassMoments:
    """Sparse products about a point that leaves zeros zero (`sparse_centre`)."""
    n_columns = X.shape[1]
    if members.size == 0:
        return ClassMoments.none(n_columns)
    second, centre = np.zeros((n_columns, n_columns)), sparse_centre(X, members)
    w = np.ones(members.size) if weights is None else weights[members]
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


def sparse_centre(X: Any, members: Index | slice = slice(None)) -> Array:
    """The mean over ``members`` of each column that has an entry in every row, else zero.

    A column with zeros has at least 1 / n of its mean square as variance, so that sums about
    zero keep its digits; a full one may lie anywhere.
    """
    n_rows, n_columns = X.shape
    by_rows = X.format == "csr"
    stored = np.bincount(X.indices, minlength=n_columns) if by_rows else np.diff(X.indptr)
    full = stored == n_rows
    if not (full.any() and X.has_canonical_format):
        return np.zeros(n_columns)
    share = np.zeros(n_rows)
    share[members] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(full, X.T @ (share / share.sum()), 0.0)


def moved(X: Any, centre: Array) -> Any:
    """CSR or CSC rows in float64, less the centre in the columns where it is not zero."""
    X = X.astype(np.float64)  # always a copy
    if centre.any():
        by_rows = X.format == "csr"
        X.data -= centre[X.indices] if by_rows else np.repeat(centre, np.diff(X.indptr))
    return X
