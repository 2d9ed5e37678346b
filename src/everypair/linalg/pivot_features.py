"""G = K_nm L^-T: the features of all rows, given the pivots and their Cholesky factor L.

Pivots are chosen among a sample of the rows; the features of all rows then cost one pass over the
kernel between them and the pivots. They are kept in double precision while they are small, in
single precision while these fit `SINGLE_BYTES`, and beyond that not at all: a block of them is
computed whenever it is read, so that n x m numbers are never in memory.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from everypair.linalg.dense import DenseMatrix
from everypair.linalg.factor import FactorMatrix, Inverse, ProductFactor
from everypair.linalg.kernels import TrainingKernel
from everypair.linalg.low_rank import GrowingFactor, LowRank
from everypair.linalg.row_sums import slices
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

DOUBLE_BYTES = 2**30
"""Features are kept in double precision up to this size, with a copy in single precision beside
them for products whose last digits do not matter."""

SINGLE_BYTES = 2**31
"""Up to this size they are kept in single precision: a million rows and 500 pivots fit."""

MANY_ROWS, SAMPLE_ROWS, SAMPLE_PER_PIVOT = 10_000, 4_000, 5
"""From the first number of rows on, pivots are chosen among a sample: of the second number of rows,
or of the third per pivot."""

LEAST_PIVOTS = 500

LEFT_ROWS = 1_000
"""Rows that say what the pivots leave out, where the features are not computed."""

BLOCK_ROWS = 512
"""Rows whose features are computed at a time: enough for BLAS, a few megabytes."""


class PivotFeatures:
    """The rows of G by their numbers, computed as they are read."""

    dtype = np.dtype(np.float64)
    flags = SimpleNamespace(c_contiguous=False, f_contiguous=False)

    def __init__(self, kernel: TrainingKernel, pivots: Index, triangle: Array):
        self._kernel, self._pivots = kernel, pivots
        self._triangle = np.asfortranarray(triangle)
        self.shape: tuple[int, int] = kernel.n_rows, pivots.size

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __getitem__(self, rows: Any) -> Array:
        values = self._kernel.columns(self._pivots, rows)
        return np.asarray(
            solve_triangular(
                self._triangle, values.T, lower=True, overwrite_b=True, check_finite=False
            )
        ).T

    def values(self) -> Array:
        """K_nm itself."""
        out = np.empty(self.shape)

        def part(start: int, stop: int) -> None:
            self._kernel.columns(self._pivots, slice(start, stop), out[start:stop])

        with one_blas_thread():
            over_rows(part, self.shape[0], self.size * self._kernel.X.shape[1])
        return out

    def left(self) -> Array:
        """The diagonal of what G leaves out of K; one pass over the kernel."""
        return self._each_block(None)

    def kept(self, dtype: Any) -> tuple[NDArray[Any], Array]:
        """G as an array, and what is `left`."""
        out = np.empty(self.shape, dtype=dtype)
        return out, self._each_block(out)

    def _each_block(self, out: NDArray[Any] | None) -> Array:
        left = self._kernel.diagonal()

        def part(start: int, stop: int) -> None:
            for rows in slices(start, stop, BLOCK_ROWS):
                block = self[rows]
                left[rows] -= np.einsum("ij,ij->i", block, block)
                if out is not None:
                    out[rows] = block

        with one_blas_thread():
            over_rows(part, self.shape[0], self.size * self.shape[1])
        left[self._pivots] = 0.0
        return np.maximum(left, 0.0)


class StreamedFactor(DenseMatrix):
    """Features that are computed anew at every pass over the rows."""

    in_order_only = True
    in_a_fit = True

    def __init__(self, features: PivotFeatures):
        super().__init__(features)  # type: ignore[arg-type]
        self.block_rows = BLOCK_ROWS


def features_of_all_rows(
    kernel: TrainingKernel,
    pivots: Index,
    triangle: Array,
    most_reach: float = 0.0,
) -> tuple[DenseMatrix, LowRank]:
    """The features of the kernel's rows as a matrix, and the basis that they belong to.

    Features in double precision are kept as a `ProductFactor` where its `mean_reach` is at most
    ``most_reach``. What is left out is then estimated from some rows.
    """
    features = PivotFeatures(kernel, pivots, triangle)
    matrix: DenseMatrix
    diagonal, rows = kernel.diagonal(), slice(None)
    double = kept_in_double(*features.shape)
    inverse = Inverse.of(triangle, float(np.sqrt(diagonal.max(initial=0.0))))
    if features.size * 4 > SINGLE_BYTES:
        matrix, left = StreamedFactor(features), features.left()
    elif double and pivots.size and inverse.mean_reach <= most_reach:
        matrix = ProductFactor(FactorMatrix(features.values()), inverse)
        rows = slice(0, None, max(1, kernel.n_rows // LEFT_ROWS))
        left = diagonal.copy()
        left[rows] -= _lengths_squared(matrix.X, np.arange(kernel.n_rows)[rows])
        left[pivots] = 0.0
    else:
        array, left = features.kept(np.float64 if double else np.float32)
        matrix = FactorMatrix(array)
    trace = float(diagonal[rows].sum())
    left_out = float(left[rows].sum()) / trace if trace > 0 else 0.0
    return matrix, LowRank(pivots, triangle, left_out)


def _lengths_squared(features: Any, rows: Index) -> Array:
    out = np.empty(rows.size)

    def part(start: int, stop: int) -> None:
        for some in slices(start, stop, BLOCK_ROWS):
            block = features[rows[some]]
            out[some] = np.einsum("ij,ij->i", block, block)

    with one_blas_thread():
        over_rows(part, rows.size, rows.size * features.shape[1] ** 2)
    return out


def kept_in_double(n_rows: int, n_pivots: int) -> bool:
    """Whether the features of that many rows are an array in double precision."""
    size = n_rows * n_pivots
    return 4 * size <= SINGLE_BYTES and 8 * size <= DOUBLE_BYTES


def chosen_on_sample(n_rows: int) -> bool:
    """Whether the pivots of ``n_rows`` rows are chosen among a sample of them."""
    return n_rows >= MANY_ROWS


def sample_rows(max_rank: int) -> int:
    """Rows of the sample that ``max_rank`` pivots are chosen among."""
    return max(SAMPLE_ROWS, SAMPLE_PER_PIVOT * max_rank)


def most_pivots(n_rows: int, max_rank: int) -> int:
    """``max_rank``, or as many as single precision has room for: but `LEAST_PIVOTS`, if need be
    without keeping their features."""
    return min(max_rank, max(LEAST_PIVOTS, SINGLE_BYTES // (4 * max(1, n_rows))))


def drawn_features(
    kernel: TrainingKernel, sample: Index | None, importance: Array, max_rank: int, tol: float
) -> tuple[DenseMatrix, LowRank]:
    """Features over pivots that are drawn by their importance, among the ``sample`` of the rows or
    among all of them."""
    if sample is None:
        factor = GrowingFactor(kernel)
        factor.grow(importance, max_rank, tol)
        return DenseMatrix(factor.features), factor.low_rank
    factor = GrowingFactor(kernel.take(sample))
    factor.grow(importance[sample], max_rank, tol)
    basis = factor.low_rank
    return features_of_all_rows(kernel, sample[basis.pivots], basis.triangle)
