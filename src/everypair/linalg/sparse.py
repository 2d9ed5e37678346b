"""Sparse X as the solvers see it (`matrix.Matrix`): CSR or CSC, never a copy but where said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.cached import cached_property
from everypair.linalg.class_moments import ClassMoments, sparse_moments
from everypair.linalg.column_sizes import ProductBounds, Sizes, spreads_of
from everypair.linalg.row_sums import (
    BLOCK_BYTES,
    CENTRE_ROWS,
    BoxedRows,
    Windows,
    add_weighted_gram,
    slices,
)
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

HESSIAN_COLUMNS_PER_PRODUCT = 8
"""A Hessian costs about one product per this many columns."""

SCATTERED_SHARE = 0.25
"""Rows with at most this share of non-zeros are multiplied entry by entry, fuller ones by BLAS."""

DIFFERENCES_AT_ONCE = 4096
"""Differences of rows that are multiplied at a time."""


class SparseMatrix:
    """CSR or CSC as it came; a CSC matrix is the CSR form of its transpose."""

    covariance_pays = False
    differences_pay = False
    sample_hessian_pays = False
    in_order_only = False
    keeps_products = True
    rounding_bounds: ProductBounds | None = None

    def __init__(self, X: Any, in_blocks: bool = True):
        """``in_blocks``: sums over rows are made in blocks, for less rounding."""
        self.X = X
        self._in_blocks = in_blocks
        self.shape: tuple[int, int] = X.shape
        self.by_rows: bool = X.format == "csr"
        self.block_rows = max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays)

    @property
    def hessian_room(self) -> float:
        return self.nbytes

    @property
    def rough(self) -> SparseMatrix:
        return SparseMatrix(self.X, in_blocks=False)

    @property
    def products_per_hessian(self) -> float:
        return self.shape[1] / HESSIAN_COLUMNS_PER_PRODUCT

    @cached_property
    def centre(self) -> Array:
        """As for dense X in columns without zeros, whose values may lie anywhere; zero, which is
        among the values, in the others."""
        centre = np.zeros(self.shape[1])
        full = np.flatnonzero(self._entries_a_column() == self.shape[0])
        if full.size:
            step = max(1, self.shape[0] // CENTRE_ROWS)
            # Rows first: the columns without zeros may be all of X.
            centre[full] = np.median(self.X[::step][:, full].toarray(), axis=0)
        return centre

    @property
    def chain(self) -> float:
        if self.by_rows:
            return min(self._summed_rows, self.shape[0]) + self.shape[0] / self._summed_rows
        return self.shape[0] / 2

    @cached_property
    def _summed_rows(self) -> int:
        """Rows that are added up before the blocks are: few, but a block's sum costs no more than
        an eighth of its entries."""
        n_rows, n_columns = self.shape
        return max(int(np.sqrt(n_rows)), 8 * n_columns * n_rows // max(1, self.X.nnz)) + 1

    @cached_property
    def sizes(self) -> Sizes:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._sizes(self.pull_back_moments(np.ones(self.shape[0])))

    def _sizes(self, moments: Array) -> Sizes:
        sums, squares = moments
        return Sizes.of(sums, squares, self.shape[0], lambda columns: self.X[:, columns])

    @cached_property
    def squared_rows(self) -> Array:
        """The squared Euclidean norm of each row."""
        ones = np.ones(self.shape[1])
        with np.errstate(over="ignore"):
            if self.by_rows:
                return self._gather(ones, moments=True)[:, 1].copy()
            return self._scatter(ones, self.shape[0], moments=True)[:, 1].copy()

    @property
    def longest(self) -> float:
        return float(np.sqrt(self.squared_rows.max()))

    @property
    def compressed_rows(self) -> tuple[NDArray[Any], ...] | None:
        """Entries, their columns, where each row begins, and the squared norm of each row; None
        where columns are compressed."""
        return (*self._arrays, self.squared_rows) if self.by_rows else None

    def _entries_a_column(self) -> NDArray[Any]:
        if not self.by_rows:
            return np.diff(self.X.indptr)
        counts = np.zeros(self.shape[1], dtype=np.intp)
        for some in slices(0, self.X.nnz, BLOCK_BYTES // 8):  # bincount widens what it counts
            counts += np.bincount(self.X.indices[some], minlength=counts.size)
        return counts

    def _centred_sums(
        self, shapes: Sequence[tuple[int, ...]], add: Callable[..., None]
    ) -> list[Array]:
        """The sums of `DenseMatrix`: rows are written out a block at a time, never the whole."""
        data, indices, indptr = self._rows_first._arrays

        def part(start: int, stop: int) -> list[Array]:
            sums = [np.zeros(shape) for shape in shapes]
            for rows in slices(start, stop, self.block_rows):
                held = slice(indptr[rows.start], indptr[rows.stop])
                ends = indptr[rows.start : rows.stop + 1] - held.start
                shape = (rows.stop - rows.start, self.shape[1])
                block = sparse.csr_array((data[held], indices[held], ends), shape=shape)
                add(rows, block.toarray() - self.centre, *sums)
            return sums

        with one_blas_thread():
            parts = over_rows(part, self.shape[0], self.shape[0] * self.shape[1] ** 2)
        return [sum(arrays[1:], arrays[0]) for arrays in zip(*parts, strict=True)]

    @cached_property
    def _rows_first(self) -> SparseMatrix:
        """Itself, or a CSR copy of a CSC matrix, kept for the next Hessian."""
        return self if self.by_rows else SparseMatrix(self.X.tocsr())

    @property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return self.X.data, self.X.indices, self.X.indptr

    def _add_rows(
        self, shape: tuple[int, ...], operations: int, add: Callable[[int, int, Array], None]
    ) -> Array:
        """An array after ``add(start, stop, array)`` on blocks of rows, one per thread."""

        def part(start: int, stop: int) -> Array:
            out = np.zeros(shape)
            add(start, stop, out)
            return out

        parts = over_rows(part, self.X.indptr.size - 1, operations)
        return np.asarray(sum(parts[1:], parts[0]))

    def gram(self, weights: Array) -> Array:
        n_rows, n_columns = self.shape
        if self.X.nnz <= SCATTERED_SHARE * n_rows * n_columns:
            return self._scattered_gram(weights)
        (gram,) = self._centred_sums(
            [(n_columns, n_columns)],
            lambda rows, block, gram: add_weighted_gram(gram, block, weights[rows]),
        )
        return gram

    def _scattered_gram(self, weights: Array) -> Array:
        """At the cost of the squared lengths of the rows."""
        from everypair import _compiled

        rows, (n_rows, n_columns) = self._rows_first, self.shape
        lower = rows._add_rows(
            (n_columns, n_columns),
            self.X.nnz * (1 + self.X.nnz // max(1, n_rows)),
            lambda start, stop, out: _compiled.csr_add_gram(
                *rows._arrays, self.centre, weights, start, stop, out
            ),
        )
        return lower + np.tril(lower, -1).T

    def _gather(self, vector: Array, moments: bool = False) -> Array:
        """One entry a compressed row: its values (and their squares) times the vector."""
        from everypair import _compiled

        n_rows = self.X.indptr.size - 1
        kernel = _compiled.csr_dot_moments if moments else _compiled.csr_dot
        out = np.empty((n_rows, 2) if moments else n_rows)
        over_rows(
            lambda start, stop: kernel(*self._arrays, vector, start, stop, out), n_rows, self.X.nnz
        )
        return out

    def _scatter(self, weights: Array, size: int, moments: bool = False) -> Array:
        """The sum of the compressed rows (and of their squares), each times its weight."""
        from everypair import _compiled

        kernel = _compiled.csr_add_moments if moments else _compiled.csr_add_rows
        return self._add_rows(
            (size, 2) if moments else (size,),
            self.X.nnz,
            lambda start, stop, out: kernel(*self._arrays, weights, start, stop, out),
        )

    @property
    def zero_scores(self) -> Array:
        return np.zeros(self.shape[0])

    def dot(self, vector: Array) -> Array:
        if self.by_rows:
            return self._gather(vector)
        return self._scatter(vector, self.shape[0])

    def dot_and_sizes(self, vector: Array) -> Array:
        if "sizes" in vars(self) or not self.by_rows:
            return self.dot(vector)
        from everypair import _compiled

        out = np.empty(self.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            moments = self._add_rows(
                (self.shape[1], 2),
                self.X.nnz,
                lambda start, stop, moments: _compiled.csr_dot_and_moments(
                    *self._arrays, vector, start, stop, out, moments
                ),
            )
            self.sizes = self._sizes(moments.T)
        return out

    def pull_back(self, weights: Array) -> Array:
        if not self.by_rows:
            return self._gather(weights)
        if not self._in_blocks:
            return self._scatter(weights, self.shape[1])
        from everypair import _compiled

        return self._add_rows(
            (self.shape[1],),
            self.X.nnz,
            lambda start, stop, out: _compiled.csr_add_rows_in_blocks(
                *self._arrays, weights, start, stop, self._summed_rows, out
            ),
        )

    def pull_back_moments(self, weights: Array) -> Array:
        if self.by_rows:
            return self._scatter(weights, self.shape[1], moments=True).T
        return self._gather(weights, moments=True).T

    def pull_back_distances(self, weights: Array) -> Array:
        """As for dense X; here ``|x| + |mean|`` serves as the distance."""
        data, indices, indptr = self._arrays
        sizes = SparseMatrix(type(self.X)((np.abs(data), indices, indptr), shape=self.shape))
        return sizes.pull_back(weights) + np.abs(self.sizes.means) * float(weights.sum())

    def gram_and_sums(self, weights: Array, others: Sequence[Array]) -> tuple[Array, Array]:
        sums = [self.pull_back(other) - other.sum() * self.centre for other in others]
        return self.gram(weights), np.array(sums)

    def centred_moments(self, weights: Sequence[Array]) -> tuple[Array, Array]:
        sums, squares = np.zeros((2, len(weights), self.shape[1]))
        for rows, columns, block in self._centred_blocks():
            for k, weight in enumerate(weights):
                of_block = block.pull_back_moments(weight[rows])
                sums[k, columns] += of_block[0]
                squares[k, columns] += of_block[1]
        return sums, squares

    def _centred_blocks(self) -> Iterator[tuple[slice, slice, SparseMatrix]]:
        """Blocks of ``X - centre`` and the rows and columns that each holds, as sparse as X.

        Only columns without zeros have a centre other than zero, so it is taken from the entries
        that are stored and from no others.
        """
        everything = slice(None)
        if not np.any(self.centre):
            yield everything, everything, self
            return
        data, indices, indptr = self._arrays
        kind = sparse.csr_array if self.by_rows else sparse.csc_array
        # A block of fewer entries than columns would cost more to add up than to read.
        n_blocks = 1 + data.size // max(BLOCK_BYTES // 8, self.shape[1])
        ends = np.searchsorted(indptr, np.linspace(0, data.size, n_blocks + 1))
        for start, stop in pairwise(np.unique(ends).tolist()):
            lines, held = slice(start, stop), slice(indptr[start], indptr[stop])
            pointers = indptr[start : stop + 1] - held.start
            if self.by_rows:
                rows, columns, shape = lines, everything, (stop - start, self.shape[1])
                centre = self.centre[indices[held]]
            else:
                rows, columns, shape = everything, lines, (self.shape[0], stop - start)
                centre = np.repeat(self.centre[lines], np.diff(pointers))
            block = kind((data[held] - centre, indices[held], pointers), shape=shape)
            yield rows, columns, SparseMatrix(block)

    def gram_and_boxes(
        self, weights: Array, boxed: BoxedRows, n_terms: int, rough: bool
    ) -> tuple[Array, Array]:
        from everypair._compiled import csr_box_row_moments

        rows = self._rows_first
        moments = rows._add_rows(
            (2, boxed.n_boxes, n_terms, self.shape[1]),
            n_terms * self.X.nnz,
            lambda start, stop, out: csr_box_row_moments(
                *rows._arrays, self.centre, *boxed[:5], start, stop, out
            ),
        )
        return self.gram(weights), moments

    def window_cross(self, windows: Windows) -> Array:
        from everypair._compiled import csr_window_cross

        cross = np.zeros((self.shape[1], self.shape[1]))
        csr_window_cross(*self._rows_first._arrays, self.centre, *windows, cross)
        return cross

    def gram_of_differences(self, first: Index, second: Index, weights: Array) -> Array:
        rows, out = self._rows_first.X, np.zeros((self.shape[1], self.shape[1]))
        for some in slices(0, weights.size, DIFFERENCES_AT_ONCE):
            apart = rows[first[some]].astype(np.float64) - rows[second[some]]
            out += (apart.T @ (sparse.diags_array(weights[some]) @ apart)).toarray()
        return out

    def class_moments(self, members: Index, weights: Array | None) -> ClassMoments:
        return sparse_moments(self.X, members, weights)

    def dot_rows(self, rows: Index, coefs: Array, origin: Array) -> Array:
        return np.asarray(self.X[rows].astype(np.float64) @ coefs - origin @ coefs)

    def take(self, rows: NDArray[np.intp]) -> SparseMatrix:
        return SparseMatrix(self.X[rows])

    def row_products(self, rows: Index, others: Index, unit: float | None = None) -> Array:
        left, means = self.X[rows].astype(np.float64, copy=False), self.sizes.means
        right = left if rows is others else self.X[others]
        out = np.asarray((left @ right.T).toarray(), dtype=np.float64)
        out -= np.asarray(left @ means)[:, None]
        out -= np.asarray(right @ means) - means @ means
        return out if unit is None else (out / unit**2).astype(np.float32)

    def written_out(self, rows: Index) -> Array:
        return np.asarray(self.X[rows].toarray(), dtype=np.float64)

    def careful_spreads(self, weight: Array) -> Array:
        return spreads_of(self, weight)

    def columns(self, columns: NDArray[np.intp]) -> SparseMatrix:
        """These columns as the rows of a CSR matrix."""
        few = SparseMatrix(self.X[:, columns].tocsr())
        if "sizes" in vars(self):
            few.sizes = self.sizes.on(columns)
        return few
