"""Dense X as the solvers see it (`matrix.Matrix`): float32 rows are widened inside the cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from everypair.cached import cached_property
from everypair.linalg.class_moments import ClassMoments, dense_moments
from everypair.linalg.column_sizes import ProductBounds, Sizes, spreads_of
from everypair.linalg.few_rows import few_rows
from everypair.linalg.row_sums import (
    BLOCK_BYTES,
    CENTRE_ROWS,
    BoxedRows,
    Windows,
    add_boxed_rows,
    add_chosen_rows,
    add_narrow_rows,
    add_rows,
    add_weighted_gram,
    cross_of_windows,
    slices,
)
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

HESSIAN_COLUMNS_PER_PRODUCT = 15
"""A Hessian costs about one product per this many columns: BLAS is faster on dense matrices."""

PRODUCT_ROWS, PRODUCT_COLUMNS = 128, 512
"""Of a block, where rows are multiplied with rows."""

FEW_VECTORS = 3
"""Up to so many are multiplied one by one with a block of rows while it is in the cache: BLAS
copies a block before it multiplies it with a matrix, which pays for more."""

LONG_ROW, CHOSEN_SHARE = 200, 0.9
"""Where rows have so many columns, and at most this share of them has a weight that is not zero,
the others are passed over. Short rows would not be read faster."""

COMPILED_COLUMNS = 512
"""Columns up to which rows are added up by compiled code; wider ones were not measured."""

FINE_SUMS = 500
"""Entries of X for each sum over its rows from which on the rows are taken finely."""

SHARED_BLOCKS = 4
"""Blocks that are read twice while they are in the cache that the cores share: with one block at a
time, threads wait for one another between the two readings."""

MIRRORED_ROWS = 256
"""Of a block, where a triangle is copied to the other side."""

COVARIANCE_COLUMNS = 300
"""Columns up to which the class covariance is worth its price."""


def read_only(X: NDArray[Any]) -> NDArray[Any]:
    """A view that nobody writes to: the same compiled code reads arrays and mapped files."""
    if not isinstance(X, np.ndarray):
        return X  # rows that are made when they are asked for
    view = X.view()
    view.flags.writeable = False
    return view


class DenseMatrix:
    """An array in float32 or float64 and in any memory order."""

    by_rows = True
    differences_pay = True
    sample_hessian_pays = False
    in_order_only = False
    keeps_products = True
    product_dtype: np.dtype[Any] = np.dtype(np.float64)
    """In which rows are multiplied with rows for a Hessian."""
    in_a_fit = False
    """Predictions do without compiled code."""

    def __init__(self, X: NDArray[Any]):
        self.X = read_only(X)
        self.shape: tuple[int, int] = X.shape
        self.block_rows = max(64, BLOCK_BYTES // (8 * max(1, X.shape[1])))
        self._whole = X.dtype == np.float64 and (X.flags.c_contiguous or X.flags.f_contiguous)
        self._few = few_rows(X.shape)
        narrow = X.dtype == np.float32 and not self._few
        self._narrow = narrow and X.flags.c_contiguous
        self._narrow_columns = narrow and X.flags.f_contiguous and not self._narrow

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    @property
    def hessian_room(self) -> float:
        return self.nbytes

    @property
    def rounding_bounds(self) -> ProductBounds | None:
        return None

    @property
    def rough(self) -> DenseMatrix:
        return self

    @property
    def products_per_hessian(self) -> float:
        return self.shape[1] / HESSIAN_COLUMNS_PER_PRODUCT

    @property
    def covariance_pays(self) -> bool:
        return self.shape[1] <= COVARIANCE_COLUMNS

    def _pieces(self, start: int, stop: int, whole: bool = True) -> Iterator[tuple[slice, Array]]:
        """The rows ``start:stop`` in float64, with their place.

        ``whole``: views, where BLAS can read X as it is; otherwise small blocks, each to be used
        before the next.
        """
        if whole and self._whole:
            for rows in slices(start, stop, self.block_rows):
                yield rows, self.X[rows]
            return
        order: Any = "C" if self.X.flags.c_contiguous else "F"  # copied as it lies
        buffer = np.empty((min(self.block_rows, stop - start), self.shape[1]), order=order)
        for rows in slices(start, stop, self.block_rows):
            block = buffer[: rows.stop - rows.start]
            np.copyto(block, self.X[rows])
            yield rows, block

    @cached_property
    def centre(self) -> Array:
        step = max(1, self.shape[0] // CENTRE_ROWS)
        return np.median(self.X[::step], axis=0).astype(np.float64)

    @cached_property
    def unit(self) -> Array:
        """About the size of each column's distances from its centre, a power of two."""
        step = max(1, self.shape[0] // CENTRE_ROWS)
        largest = np.max(np.abs(self.X[::step] - self.centre), axis=0)
        return np.where(largest > 0, np.exp2(np.frexp(largest)[1]), 1.0)

    @property
    def chain(self) -> float:
        # Of a block's rows, then of the blocks.
        if self._narrow or self._narrow_columns:
            return self.shape[0] / 4
        return min(self.block_rows, self.shape[0]) + self.shape[0] / self.block_rows

    @cached_property
    def sizes(self) -> Sizes:
        from everypair import _compiled

        def part(start: int, stop: int) -> Array:
            out = np.zeros((2, self.shape[1]))
            if self.X.flags.c_contiguous and not self._few:
                _compiled.dense_add_moments(self.X, start, stop, out)
            else:
                for _, block in self._pieces(start, stop):
                    out += np.stack([block.sum(axis=0), np.einsum("ij,ij->j", block, block)])
            return out

        with np.errstate(over="ignore", invalid="ignore"):
            parts = over_rows(part, self.shape[0], self.X.size, finely=True)
        return self._sizes(parts)

    def _sizes(self, parts: list[Array]) -> Sizes:
        sums, squares = sum(parts[1:], parts[0])
        return Sizes.of(sums, squares, self.shape[0], lambda columns: self.X[:, columns])

    @cached_property
    def longest(self) -> float:
        return max(over_rows(self._longest, self.shape[0], self.X.size, finely=True))

    def _longest(self, start: int, stop: int) -> float:
        longest = 0.0
        for _, block in self._pieces(start, stop):
            with np.errstate(over="ignore"):
                squares = float(np.einsum("ij,ij->i", block, block).max())
            longest = max(longest, float(np.sqrt(squares)))
        return longest

    def _centred_sums(
        self, shapes: Sequence[tuple[int, ...]], add: Callable[..., None], rough: bool = False
    ) -> list[Array]:
        """Arrays of these shapes after ``add(rows, block, *arrays)`` on each block of rows.

        ``block`` holds ``X[rows] - centre`` and may be written over; where ``rough``, it holds
        ``(X[rows] - centre) / unit`` in single precision. The rows are shared out over threads,
        each with arrays of its own, which are added up at the end.
        """
        dtype = np.float32 if rough else np.float64
        centre = self.centre.astype(self.X.dtype) if rough else self.centre
        scale = (1 / self.unit).astype(dtype) if rough else None

        def part(start: int, stop: int) -> list[Array]:
            sums = [np.zeros(shape) for shape in shapes]
            buffer = np.empty((min(self.block_rows, stop - start), self.shape[1]), dtype)
            for rows in slices(start, stop, self.block_rows):
                block = buffer[: rows.stop - rows.start]
                np.subtract(self.X[rows], centre, out=block, casting="same_kind")
                if scale is not None:
                    block *= scale
                add(rows, block, *sums)
            return sums

        few = FINE_SUMS * sum(math.prod(shape) for shape in shapes) <= self.X.size
        with one_blas_thread():
            parts = over_rows(part, self.shape[0], self.X.size * self.shape[1], finely=few)
        return [sum(arrays[1:], arrays[0]) for arrays in zip(*parts, strict=True)]

    @property
    def zero_scores(self) -> Array:
        return np.zeros(self.shape[0])

    def dot(self, vector: Array) -> Array:
        out = np.empty(self.shape[0])

        def part(start: int, stop: int) -> None:
            if self._whole:  # no sum over rows: blocks would gain nothing
                np.matmul(self.X[start:stop], vector, out=out[start:stop])
                return
            for rows, block in self._pieces(start, stop):
                np.matmul(block, vector, out=out[rows])

        def widened(start: int, stop: int) -> None:
            from everypair._compiled import columns_dot, rows_dot

            if self._narrow:
                rows_dot(self.X, vector, start, stop, out)
            else:
                columns_dot(self.X.T, vector, start, stop, out)

        compiled = self.in_a_fit and (self._narrow or self._narrow_columns)
        with one_blas_thread():
            over_rows(widened if compiled else part, self.shape[0], self.X.size, finely=True)
        return out

    def dot_and_sizes(self, vector: Array) -> Array:
        if "sizes" in vars(self) or self._few or not (self._whole and self.X.flags.c_contiguous):
            return self.dot(vector)
        from everypair import _compiled

        out = np.empty(self.shape[0])

        def part(start: int, stop: int) -> Array:
            moments = np.zeros((2, self.shape[1]))
            for rows in slices(start, stop, SHARED_BLOCKS * self.block_rows):
                np.matmul(self.X[rows], vector, out=out[rows])
                _compiled.dense_add_moments(self.X, rows.start, rows.stop, moments)
            return moments

        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            parts = over_rows(part, self.shape[0], self.X.size, finely=True)
        self.sizes = self._sizes(parts)
        return out

    def dot_each(self, coefs: Array) -> Array:
        """``[X @ coef, ...]``, a row for each of the coefs: X is read once for all."""
        out = np.empty((coefs.shape[0], self.shape[0]))

        def part(start: int, stop: int) -> None:
            for rows, block in self._pieces(start, stop):
                if coefs.shape[0] > FEW_VECTORS:
                    np.matmul(coefs, block.T, out=out[:, rows])
                    continue
                for coef, of in zip(coefs, out, strict=True):
                    np.matmul(block, coef, out=of[rows])

        with one_blas_thread():
            over_rows(part, self.shape[0], self.X.size * coefs.shape[0])
        return out

    def pull_back_each(self, weights: Array) -> Array:
        """``[X.T @ weight, ...]``, a row for each of the weights."""
        shape = weights.shape[0], self.shape[1]
        if weights.shape[0] > FEW_VECTORS:
            return self._sum_over_rows(lambda rows, block: weights[:, rows] @ block, shape)
        return self._sum_over_rows(
            lambda rows, block: np.stack([weight[rows] @ block for weight in weights]), shape
        )

    def pull_back(self, weights: Array) -> Array:
        by_rows = self._narrow or (self._whole and self.X.flags.c_contiguous)
        if by_rows and self.shape[1] >= LONG_ROW:
            rows = np.flatnonzero(weights)
            if rows.size <= CHOSEN_SHARE * weights.size:
                return add_chosen_rows(self.X, weights, rows, self.block_rows)
        if self._narrow or self._narrow_columns:
            return add_narrow_rows(self.X, weights, self._narrow)
        if self._whole and self.X.flags.c_contiguous and self.shape[1] <= COMPILED_COLUMNS:
            return add_rows(self.X, weights, self.block_rows)
        return self._sum_over_rows(lambda rows, block: weights[rows] @ block, self.shape[1:])

    def pull_back_moments(self, weights: Array) -> Array:
        def moments(rows: slice, block: Array) -> Array:
            sums = weights[rows] @ block
            return np.stack([sums, weights[rows] @ np.multiply(block, block, out=block)])

        return self._sum_over_rows(moments, (2, self.shape[1]), whole=False)

    def pull_back_distances(self, weights: Array) -> Array:
        means = self.sizes.means

        def distances(rows: slice, block: Array) -> Array:
            block -= means
            return np.asarray(weights[rows] @ np.abs(block, out=block))

        return self._sum_over_rows(distances, self.shape[1:], whole=False)

    def _sum_over_rows(
        self, of: Callable[[slice, Array], Array], shape: tuple[int, ...], whole: bool = True
    ) -> Array:
        def part(start: int, stop: int) -> Array:
            out = np.zeros(shape)
            for rows, block in self._pieces(start, stop, whole):
                out += of(rows, block)
            return out

        with one_blas_thread():
            parts = over_rows(part, self.shape[0], self.X.size, finely=True)
        return np.asarray(sum(parts[1:], parts[0]))

    def gram(self, weights: Array) -> Array:
        gram, _ = self.gram_and_sums(weights, [])
        return gram

    def gram_and_sums(self, weights: Array, others: Sequence[Array]) -> tuple[Array, Array]:
        """The Gram matrix and the sums, in one pass."""

        def add(rows: slice, block: Array, gram: Array, sums: Array) -> None:
            for k, other in enumerate(others):
                sums[k] += other[rows] @ block
            add_weighted_gram(gram, block, weights[rows])

        n_columns = self.shape[1]
        gram, sums = self._centred_sums([(n_columns, n_columns), (len(others), n_columns)], add)
        return gram, sums

    def centred_moments(self, weights: Sequence[Array]) -> tuple[Array, Array]:
        def add(rows: slice, block: Array, sums: Array, squares: Array) -> None:
            for k, weight in enumerate(weights):
                sums[k] += weight[rows] @ block
            np.square(block, out=block)
            for k, weight in enumerate(weights):
                squares[k] += weight[rows] @ block

        shape = len(weights), self.shape[1]
        sums, squares = self._centred_sums([shape, shape], add)
        return sums, squares

    def gram_and_boxes(
        self, weights: Array, boxed: BoxedRows, n_terms: int, rough: bool
    ) -> tuple[Array, Array]:
        """The Gram matrix and the moments in boxes, in one pass; ``rough`` in single precision."""

        def add(rows: slice, block: Array, gram: Array, moments: Array) -> None:
            add_boxed_rows(rows, block, boxed, self._few, moments)
            add_weighted_gram(gram, block, weights[rows])

        n_columns = self.shape[1]
        shapes = (n_columns, n_columns), (2, boxed.n_boxes, n_terms, n_columns)
        gram, moments = self._centred_sums(shapes, add, rough)
        if rough:
            gram *= self.unit * self.unit[:, None]
            moments *= self.unit
        return gram, moments

    def window_cross(self, windows: Windows) -> Array:
        return cross_of_windows(self.X, self.centre, windows, self.block_rows, self.product_dtype)

    def gram_of_differences(self, first: Index, second: Index, weights: Array) -> Array:
        out = np.zeros((self.shape[1], self.shape[1]))
        for some in slices(0, weights.size, self.block_rows):
            rows = self.X[first[some]].astype(np.float64)
            rows -= self.X[second[some]]
            rows *= np.sqrt(weights[some])[:, None]
            out += rows.T @ rows
        return out

    def class_moments(self, members: Index, weights: Array | None) -> ClassMoments:
        return dense_moments(self.X, members, weights)

    def dot_rows(self, rows: Index, coefs: Array, origin: Array) -> Array:
        out = np.empty((rows.size, coefs.shape[1]))
        for some in slices(0, rows.size, self.block_rows):
            out[some] = np.subtract(self.X[rows[some]], origin, dtype=np.float64) @ coefs
        return out

    def take(self, rows: NDArray[np.intp]) -> DenseMatrix:
        some = np.empty((rows.size, self.shape[1]), self.X.dtype)

        def part(start: int, stop: int) -> None:
            some[start:stop] = self.X[rows[start:stop]]

        over_rows(part, rows.size, some.size)
        return DenseMatrix(some)

    def row_products(self, rows: Index, others: Index, unit: float | None = None) -> Array:
        dtype = np.float64 if unit is None else np.float32
        out: Any = np.zeros((rows.size, others.size), dtype, order="F")
        multiply: Any = get_blas_funcs("syrk" if rows is others else "gemm", dtype=dtype)

        def centred(which: Index, some: slice) -> Any:
            out = np.empty((which.size, some.stop - some.start), dtype)
            # Few rows at a time stay in the cache until they are narrowed.
            for part in slices(0, which.size, PRODUCT_ROWS):
                block = self.X[which[part], some] - self.sizes.means[some]
                np.multiply(block, 1 / (unit or 1.0), out=out[part], casting="same_kind")
            return out.T

        # Added to as it stands: a product beside it would be as large as the result.
        for some in slices(0, self.shape[1], PRODUCT_COLUMNS):
            left = centred(rows, some)
            if rows is others:  # half the work
                out = multiply(1.0, left, 1.0, out, trans=1, overwrite_c=1)
            else:
                right = centred(others, some)
                out = multiply(1.0, left, right, 1.0, out, trans_a=1, overwrite_c=1)
        return _mirrored(out).T if rows is others else out

    def written_out(self, rows: Index) -> Array:
        return self.X[rows].astype(np.float64, order="C")

    def careful_spreads(self, weight: Array) -> Array:
        return spreads_of(self, weight)

    def columns(self, columns: NDArray[np.intp]) -> DenseMatrix:
        few = DenseMatrix(np.take(self.X, columns, axis=1))
        if "sizes" in vars(self):
            few.sizes = self.sizes.on(columns)
        return few


def _mirrored(upper: Array) -> Array:
    """A symmetric matrix from its upper triangle, in place."""
    for some in slices(0, upper.shape[0], MIRRORED_ROWS):
        block = upper[some, some]
        block[:] = np.triu(block) + np.triu(block, 1).T
        upper[some.stop :, some] = upper[some, some.stop :].T
    return upper
