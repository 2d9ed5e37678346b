"""Wide dense factors of a kernel matrix, in double and in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.row_sums import slices
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SINGLE_RANGE = 1e12
"""Kernels whose root is within this of one leave single precision room for sums and products."""


class FactorMatrix(DenseMatrix):
    """A wide factor: its rows are shared out over our own threads.

    BLAS' threads wait for each other in a loop, which costs up to ten times the work where the
    cores are shared. A factor in single precision is read as it is: its numbers are exact, and
    sums over them are in double precision.
    """

    in_a_fit = True

    @cached_property
    def rough(self) -> DenseMatrix:
        """The matrix with products in single precision, where its range suffices."""
        if self.X.dtype == np.float32:
            return RoughFactor(self.X)
        largest = max(self.X.max(initial=0.0), -self.X.min(initial=0.0))
        in_range = 1 / SINGLE_RANGE < largest < SINGLE_RANGE
        return RoughFactor(self.X) if in_range else self

    def take(self, rows: Index) -> FactorMatrix:
        """A copy of these rows, with that of its single precision where there is one."""
        part = FactorMatrix(self.X[rows])
        if "rough" in vars(self) and self.rough is not self:
            part.rough = self.rough.take(rows)
        return part

    def dot(self, vector: Array) -> Array:
        if not self._whole:
            return super().dot(vector)
        out = np.empty(self.shape[0])

        def part(start: int, stop: int) -> None:
            np.dot(self.X[start:stop], vector, out=out[start:stop])

        over_rows(part, self.shape[0], self.X.size)
        return out

    def pull_back(self, weights: Array) -> Array:
        if not self._whole:
            return super().pull_back(weights)
        parts = over_rows(
            lambda start, stop: weights[start:stop] @ self.X[start:stop],
            self.shape[0],
            self.X.size,
        )
        return np.asarray(sum(parts[1:], parts[0]))


class RoughFactor(DenseMatrix):
    """A factor whose sums are in single precision.

    Its numbers may be in double precision: products with a vector read a copy of all of them,
    because reading costs most there, and Gram matrices a copy of the rows that count.
    """

    keeps_products = False  # a step's scores come from the factor itself
    product_dtype = np.dtype(np.float32)

    def __init__(self, X: NDArray[Any]):
        super().__init__(X)
        self.block_rows = max(self.block_rows, self.shape[1])  # a Gram matrix is added per block

    @cached_property
    def _single(self) -> NDArray[Any]:
        return self.X.astype(self.product_dtype, copy=False)

    def dot(self, vector: Array) -> Array:
        vector = vector.astype(self.product_dtype)
        out = np.empty(self.shape[0], dtype=self.product_dtype)

        def part(start: int, stop: int) -> None:
            np.dot(self._single[start:stop], vector, out=out[start:stop])

        over_rows(part, self.shape[0], self.X.size)
        return out.astype(np.float64)

    def pull_back(self, weights: Array) -> Array:
        weights = weights.astype(self.product_dtype)
        parts = over_rows(
            lambda start, stop: weights[start:stop] @ self._single[start:stop],
            self.shape[0],
            self.X.size,
        )
        return np.asarray(sum(parts[1:], parts[0]), dtype=np.float64)

    def take(self, rows: Index) -> RoughFactor:
        whole = self._single if "_single" in vars(self) else self.X
        return RoughFactor(whole[rows])

    @cached_property
    def centre(self) -> Array:
        """In single precision, so that a row less the centre is the same in every sum."""
        return super().centre.astype(self.product_dtype).astype(np.float64)

    def gram(self, weights: Array) -> Array:
        """``(X - centre)' diag(weights) (X - centre)``, the weights not negative; rows without a
        weight are not read."""
        rows = np.flatnonzero(weights)
        root = np.sqrt(weights[rows]).astype(self.product_dtype)
        centre = self.centre.astype(self.product_dtype)

        def part(start: int, stop: int) -> Array:
            out = np.zeros((self.shape[1], self.shape[1]))
            for some in slices(start, stop, self.block_rows):
                block = self.X[rows[some]].astype(self.product_dtype, copy=False)
                block -= centre
                block *= root[some, None]
                out += block.T @ block
            return out

        with one_blas_thread():
            parts = over_rows(part, rows.size, rows.size * self.shape[1] ** 2)
        return np.asarray(sum(parts[1:], parts[0]))
