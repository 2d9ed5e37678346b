"""The kernel matrix of the training rows, in float64, with X as it comes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.linalg.class_moments import moved, sparse_centre
from everypair.linalg.kernels import Expansion, TrainingKernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]

COLUMNS_AT_ONCE = 512
"""Columns of a dense X that are widened and centred at a time."""

SPARSE_ROWS_AT_ONCE = 2048


class Gram(NamedTuple):
    """The kernel matrix of the rows that have weight."""

    K: Array
    rows: Index
    """Which rows these are."""
    X: Any
    """The rows themselves; of a precomputed kernel the matrix."""
    origin: Array | None = None
    """The point moved to if the kernel is linear."""
    expansion: Expansion | None = None
    """The kernel with new rows if it is not."""
    own: bool = True
    """Whether K may be written over."""


def kernel_matrix(kernel: TrainingKernel) -> Array:
    """K, whole; X itself where that is K in float64."""
    if kernel.kernel.function == "precomputed":
        K = kernel.X.toarray() if sparse.issparse(kernel.X) else kernel.X
        return np.asarray(K, dtype=np.float64)
    K = kernel.kernel.values(kernel.X, kernel.X)
    np.fill_diagonal(K, kernel.diagonal())
    return K


def linear_gram(X: Any) -> tuple[Array, Array]:
    """``(X - o)(X - o)'`` and the origin o: near the rows, or zero where a column has zeros.

    Pairs do not see the origin; rounding does.
    """
    n_rows, n_columns = X.shape
    K = np.zeros((n_rows, n_rows))
    if sparse.issparse(X):
        rows, origin = X.tocsr(), sparse_centre(X)
        slices = [slice(b, b + SPARSE_ROWS_AT_ONCE) for b in range(0, n_rows, SPARSE_ROWS_AT_ONCE)]
        for left in slices:
            block = moved(rows[left], origin)
            for right in slices:
                if right.start <= left.start:
                    K[left, right] = (block @ moved(rows[right], origin).T).toarray()
                    K[right, left] = K[left, right].T
        return K, origin
    origin = np.empty(n_columns)
    for begin in range(0, n_columns, COLUMNS_AT_ONCE):
        columns = slice(begin, begin + COLUMNS_AT_ONCE)
        origin[columns] = X[:, columns].mean(axis=0, dtype=np.float64)
        block = np.subtract(X[:, columns], origin[columns], dtype=np.float64, order="C")
        K += block @ block.T
    return K, origin


def pull_back(X: Any, coef: Array, origin: Array) -> Array:
    """``(X - o)' coef``: that is ``X' coef`` where they sum to zero, with more of its digits."""
    out = np.zeros(X.shape[1])
    if sparse.issparse(X):
        rows = X.tocsr()
        for begin in range(0, X.shape[0], SPARSE_ROWS_AT_ONCE):
            some = slice(begin, begin + SPARSE_ROWS_AT_ONCE)
            out += moved(rows[some], origin).T @ coef[some]
        return out
    for begin in range(0, X.shape[1], COLUMNS_AT_ONCE):
        columns = slice(begin, begin + COLUMNS_AT_ONCE)
        out[columns] = coef @ np.subtract(X[:, columns], origin[columns], dtype=np.float64)
    return out
