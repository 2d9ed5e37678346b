"""Kernels: values between rows in blocks, the training matrix by its columns, expansions.

    kernel = Kernel("rbf", gamma="scale").on(X)
    kernel.diagonal(), kernel.columns(rows)      # never the whole matrix
    kernel.expansion(rows).scores(Z, a)          # sum_r a_r k(z, x_r)

`low_rank` turns them into features for a linear solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import (
    KERNEL_PARAMS,
    PAIRWISE_KERNEL_FUNCTIONS,
    pairwise_kernels,
)

Array = NDArray[np.float64]
Index = NDArray[np.intp]
KernelFunction = Callable[[Any, Any], Any]

KERNEL_NAMES = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed")

BLOCK_ENTRIES = 2**20
"""Entries of a block of rows, or of its kernel values: a few megabytes at a time."""

DIAGONAL_ROWS = 64

TILE_ROWS = 128
"""Rows and columns of a square of a matrix that is compared with its mirror image."""

MOST_ASYMMETRY = 1e-6
"""Share of the largest entry by which two halves of a matrix may differ through rounding."""


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
            check_symmetric(X)
            return TrainingKernel(self, X)
        if sparse.issparse(X):
            X = X.tocsr()
        gamma = self.gamma
        named = isinstance(self.function, str)  # a function may have no hash
        if named and isinstance(gamma, str) and "gamma" in KERNEL_PARAMS.get(self.function, ()):
            gamma = default_gamma(X, gamma)
        return TrainingKernel(Kernel(self.function, gamma, self.degree, self.coef0), X)

    def values(self, X: Any, Z: Any) -> Array:
        """``k(x, z)`` for every row of X and Z in float64, a block of rows of X at a time."""
        Z = _wide(Z)
        width = max(1, X.shape[1], Z.shape[0])
        rows = max(1, BLOCK_ENTRIES // width)
        out = np.empty((X.shape[0], Z.shape[0]))
        for start in range(0, X.shape[0] if Z.shape[0] else 0, rows):
            out[start : start + rows] = self._block(_wide(X[start : start + rows]), Z)
        return out

    def _block(self, X: Any, Z: Any) -> Any:
        if callable(self.function):
            values = self.function(X, Z)
            values = np.asarray(values.toarray() if sparse.issparse(values) else values)
            if values.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"The kernel returned shape {values.shape} for {X.shape[0]} and {Z.shape[0]} "
                    "rows: it must return one value for each pair of them."
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
            return refuse_not_finite(np.array(self.X.diagonal(), dtype=np.float64))
        out = np.empty(self.n_rows)
        for start in range(0, self.n_rows, DIAGONAL_ROWS):
            block = self.X[start : start + DIAGONAL_ROWS]
            out[start : start + DIAGONAL_ROWS] = self.kernel.values(block, block).diagonal()
        return refuse_not_finite(out)

    def take(self, rows: Index) -> TrainingKernel:
        """The kernel between these rows alone."""
        X = self.X[rows]
        return type(self)(self.kernel, X[:, rows] if self._precomputed else X)

    def columns(
        self, columns: Index, rows: Index | slice | None = None, out: Array | None = None
    ) -> Array:
        """k(x_i, x_r) for each r of ``columns`` and every i, or each of ``rows``; in ``out`` or a
        new array."""
        if self._precomputed:
            values = self.X[:, columns] if rows is None else self.X[rows][:, columns]
            values = values.toarray() if sparse.issparse(values) else values
            values = np.asarray(values, dtype=np.float64)
        else:
            X = self.X if rows is None else self.X[rows]
            values = self.kernel.values(X, self.X[columns])
        refuse_not_finite(values)
        if out is None:
            return values
        out[:] = values
        return out

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
        out = np.zeros(X.shape[0])
        if self.rows.size == 0:  # f = 0
            return out
        step = max(1, BLOCK_ENTRIES // max(1, X.shape[1], self.rows.size))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            if self.basis is None:
                values = block[:, self.rows]
            else:
                values = self.kernel.values(block, self.basis)
            out[start : start + step] = values @ coefficients
        return out


def refuse_not_finite(values: Array) -> Array:
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The kernel has NaN or infinite values: rescale X, lower the degree, or use a whole "
            "number as degree."
        )
    return values


def check_symmetric(K: Any) -> None:
    """Refuse a matrix whose two halves differ by more than rounding, naming the entry."""
    # The diagonal of a kernel holds its largest entry.
    worst, at = MOST_ASYMMETRY * float(np.max(np.abs(K.diagonal()), initial=0.0)), None
    if sparse.issparse(K):
        apart = abs(K - K.T).tocoo()
        if apart.nnz and apart.data.max() > worst:
            place = int(np.argmax(apart.data))
            at = int(apart.row[place]), int(apart.col[place])
    else:
        tiles = [slice(start, start + TILE_ROWS) for start in range(0, K.shape[0], TILE_ROWS)]
        for k, rows in enumerate(tiles):
            for columns in tiles[: k + 1]:
                with np.errstate(invalid="ignore"):  # what is not finite is refused elsewhere
                    gap = np.abs(K[rows, columns] - K[columns, rows].T)
                if gap.max() > worst:
                    row, column = divmod(int(np.argmax(gap)), gap.shape[1])
                    worst, at = float(gap.max()), (rows.start + row, columns.start + column)
    if at is not None:
        i, j = sorted(at)
        raise ValueError(
            f"The kernel matrix is not symmetric: entry ({i}, {j}) is {K[i, j]:g} and entry "
            f"({j}, {i}) is {K[j, i]:g}. Give K[i, j] = k(x_i, x_j)."
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
    # In units of the largest entry, whose squares neither overflow nor vanish.
    size = float(max(entries.max(initial=0.0), -entries.min(initial=0.0))) or 1.0
    step = BLOCK_ENTRIES if sparse.issparse(X) else max(1, BLOCK_ENTRIES // n_columns)
    blocks = [slice(start, start + step) for start in range(0, len(entries), step)]
    mean = sum(float(np.sum(_wide(entries[some]) / size)) for some in blocks) / (n_rows * n_columns)
    squares = n_zero * mean**2
    for some in blocks:
        squares += float(np.sum((_wide(entries[some]) / size - mean) ** 2))
    variance = squares / (n_rows * n_columns)
    if variance == 0:
        return 1.0
    gamma = 1.0 / (n_columns * variance) / size / size
    if not np.finfo(np.float64).tiny <= gamma < np.inf:
        raise ValueError(
            f"The features are too {'small' if gamma > 1 else 'large'} for float64: gamma='scale' "
            f"would be {gamma:g}. Rescale X, for example with StandardScaler (MaxAbsScaler for "
            "sparse X)."
        )
    return gamma


def _wide(X: Any) -> Any:
    return X if X.dtype == np.float64 else X.astype(np.float64)
