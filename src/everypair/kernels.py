"""Kernels are linear in disguise: K ~ G G', the linear solver on G, back to the rows.

Pivoted Cholesky builds G a column at a time, each from one column of K, always for the row
that is explained worst so far; it stops when what is left of the trace of K is small. Only
the diagonal and the columns of the chosen rows (the pivots) are ever computed.

    kernel = Kernel("rbf", gamma="scale").on(X)
    basis = pivoted_cholesky(kernel, tol=1e-8, max_rank=1000)
    w = ...                                   # any linear solver on basis.features
    basis.coefficients(w)                     # f(x) = sum_r coefficients_r k(x, x_pivot_r)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

Array = NDArray[np.float64]
Index = NDArray[np.intp]
KernelFunction = Callable[[Any, Any], Any]

KERNEL_NAMES = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed")

BLOCK_ENTRIES = 2**20
"""Entries of a block of rows, or of its kernel values: a few megabytes at a time."""

DIAGONAL_ROWS = 64

TILE = 128
"""Rows and columns of a square of a matrix that is compared with its mirror image."""

NOT_PSD = 1e-6
"""A diagonal that falls below zero by this share of its largest is no rounding."""


@dataclass(frozen=True)
class Kernel:
    """k(x, z) by name (as `sklearn.metrics.pairwise.pairwise_kernels`), function or matrix.

    ``function(X, Z)`` gives the matrix of values for blocks of rows X and Z.
    ``"precomputed"``: X is the kernel matrix itself.
    """

    function: str | KernelFunction
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0

    def on(self, X: Any) -> TrainingKernel:
        """The kernel between the rows of X; fixes ``gamma="scale"`` and ``"auto"``."""
        if self.function == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"kernel='precomputed' needs a square matrix, but X has shape {X.shape}."
                )
            return TrainingKernel(self, X)
        if sparse.issparse(X):
            X = X.tocsr()
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = default_gamma(X, gamma)
        return TrainingKernel(Kernel(self.function, gamma, self.degree, self.coef0), X)

    def values(self, X: Any, Z: Any) -> Array:
        """``k(x, z)`` for every row of X and Z in float64, a block of rows of X at a time."""
        Z = _wide(Z)
        width = max(1, X.shape[1], Z.shape[0])
        rows = max(1, BLOCK_ENTRIES // width)
        out = np.empty((X.shape[0], Z.shape[0]))
        for start in range(0, X.shape[0], rows):
            out[start : start + rows] = self._block(_wide(X[start : start + rows]), Z)
        return out

    def _block(self, X: Any, Z: Any) -> Any:
        if callable(self.function):
            values = np.asarray(self.function(X, Z))
            if values.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"The kernel returned shape {values.shape} for {X.shape[0]} and {Z.shape[0]} "
                    "rows: it must return one value for each two of them."
                )
            return values
        return pairwise_kernels(
            X,
            Z,
            metric=self.function,
            filter_params=True,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )


class TrainingKernel:
    """The kernel matrix K of the training rows, by its diagonal and its columns."""

    def __init__(self, kernel: Kernel, X: Any):
        self.kernel, self.X = kernel, X
        self.n_rows: int = X.shape[0]

    @property
    def _precomputed(self) -> bool:
        return self.kernel.function == "precomputed"

    def diagonal(self) -> Array:
        if self._precomputed:
            return np.array(self.X.diagonal(), dtype=np.float64)
        out = np.empty(self.n_rows)
        for start in range(0, self.n_rows, DIAGONAL_ROWS):
            block = self.X[start : start + DIAGONAL_ROWS]
            out[start : start + DIAGONAL_ROWS] = self.kernel.values(block, block).diagonal()
        return out

    def column(self, row: int) -> Array:
        """k(x_i, x_row) for every i."""
        if self._precomputed:
            column = self.X[:, [row]]
            column = column.toarray() if sparse.issparse(column) else column
            return np.asarray(column[:, 0], dtype=np.float64)
        return self.kernel.values(self.X, self.X[[row]])[:, 0]

    def expansion(self, rows: Index) -> Expansion:
        """What is needed to evaluate k(x, x_row) for new x."""
        return Expansion(self.kernel, rows, None if self._precomputed else self.X[rows])


@dataclass(frozen=True)
class Expansion:
    """k(x, x_r) of new rows with the rows of a basis."""

    kernel: Kernel
    rows: Index
    basis: Any
    """The rows themselves; None for a precomputed kernel."""

    def scores(self, X: Any, coefficients: Array) -> Array:
        """``sum_r coefficients_r k(x, x_r)`` for each row of X, a block of rows at a time."""
        out = np.empty(X.shape[0])
        step = max(1, BLOCK_ENTRIES // max(1, X.shape[1], self.rows.size))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            if self.basis is None:
                values = block[:, self.rows]
            else:
                values = self.kernel.values(block, self.basis)
            out[start : start + step] = values @ coefficients
        return out


@dataclass(frozen=True)
class LowRank:
    """``K ~ features @ features.T``, exact in the rows and columns of the pivots."""

    features: Array
    pivots: Index
    left_out: float
    """What is left of the trace, as a share of it."""

    def coefficients(self, w: Array) -> Array:
        """a with ``sum_r a_r k(x, x_pivot_r) = g(x) . w``, g(x_i) being row i of the features."""
        triangle = self.features[self.pivots]
        return solve_triangular(triangle, w, lower=True, trans="T", check_finite=False)


def pivoted_cholesky(kernel: TrainingKernel, tol: float, max_rank: int) -> LowRank:
    """G with ``trace(K - G G') <= tol trace(K)``, or of rank ``max_rank`` where that comes first.

    Costs n r^2 for rank r, and n r numbers of memory.
    """
    left = kernel.diagonal()
    if not np.all(np.isfinite(left)):
        raise ValueError("The kernel has NaN or infinite values: rescale X or lower the degree.")
    largest, trace = float(left.max(initial=0.0)), float(left.sum())
    _refuse_negative(left, largest)
    max_rank = min(max_rank, kernel.n_rows)
    # A row a feature: each is written and read in one stretch.
    features = np.empty((min(max_rank, 64), kernel.n_rows))
    pivots: list[int] = []
    while len(pivots) < max_rank and left.sum() > tol * trace:
        rank, pivot = len(pivots), int(np.argmax(left))
        if left[pivot] <= np.finfo(float).eps * largest:
            break
        if rank == len(features):
            more = np.empty((min(rank, max_rank - rank), kernel.n_rows))
            features = np.concatenate([features, more])
        feature = kernel.column(pivot)
        feature -= features[:rank, pivot] @ features[:rank]
        root = np.sqrt(left[pivot])
        feature /= root
        feature[pivots] = 0.0
        feature[pivot] = root
        features[rank] = feature
        pivots.append(pivot)
        left -= feature**2
        left[pivots] = 0.0
        _refuse_negative(left, largest)
        np.maximum(left, 0.0, out=left)
    share = float(left.sum()) / trace if trace > 0 else 0.0
    return LowRank(features[: len(pivots)].T, np.array(pivots, dtype=np.intp), share)


def _refuse_negative(left: Array, largest: float) -> None:
    if left.size and left.min() < -NOT_PSD * max(largest, np.finfo(float).tiny):
        raise ValueError(
            "The kernel is not positive semi-definite: a pivot of its Cholesky factor is "
            f"{left.min():.1e}. Use a Mercer kernel such as 'rbf' or 'poly' with coef0 >= 0."
        )


def check_symmetric(K: Any) -> None:
    """Refuse a kernel matrix with ``k(x, z) != k(z, x)`` beyond rounding."""
    # The diagonal of a kernel holds its largest entry.
    largest = float(np.max(np.abs(K.diagonal()), initial=0.0))
    if sparse.issparse(K):
        apart = float(abs(K - K.T).max())
    else:
        tiles = [slice(b, b + TILE) for b in range(0, K.shape[0], TILE)]
        below = ((i, j) for k, i in enumerate(tiles) for j in tiles[: k + 1])
        apart = max(float(np.abs(K[i, j] - K[j, i].T).max()) for i, j in below)
    if apart > NOT_PSD * largest:
        raise ValueError(
            f"The kernel matrix is not symmetric: two of its entries that should be equal differ "
            f"by {apart:.3g}. Give k(x, z) between the training rows, which is k(z, x)."
        )


def default_gamma(X: Any, rule: str) -> float:
    """``"scale"``: 1 / (columns x variance of X's entries); ``"auto"``: 1 / columns."""
    n_rows, n_columns = X.shape
    if rule == "auto":
        return 1.0 / n_columns
    if rule != "scale":
        raise ValueError(f"gamma={rule!r} is not a rule: use 'scale', 'auto' or a number.")
    if sparse.issparse(X):
        entries, n_zero = X.data, n_rows * n_columns - X.nnz
    else:
        entries, n_zero = X, 0
    mean = float(entries.sum(dtype=np.float64)) / (n_rows * n_columns)
    squares = n_zero * mean**2
    step = BLOCK_ENTRIES if sparse.issparse(X) else max(1, BLOCK_ENTRIES // n_columns)
    for start in range(0, len(entries), step):
        squares += float(np.sum((_wide(entries[start : start + step]) - mean) ** 2))
    variance = squares / (n_rows * n_columns)
    return 1.0 / (n_columns * variance) if variance > 0 else 1.0


def _wide(X: Any) -> Any:
    return X if X.dtype == np.float64 else X.astype(np.float64)
