"""X as the solvers see it: products with vectors and blocks of rows, never a whole copy.

Dense or sparse, float32 or float64, any memory order. Scores and gradients are float64
whatever X is: float32 rows are widened a block at a time, inside the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.cached import cached_property
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]

BLOCK_BYTES = 2**20
"""A block of widened or centred rows: small enough to stay in a core's own cache."""

CENTRE_ROWS = 1000
"""Rows whose median serves as the centre: any point amid the data removes cancellation, but a
mean may be dragged away from them by one outlier."""


def _slices(start: int, stop: int, step: int) -> Iterator[slice]:
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


SAFE_SQUARES = 1e-280, 1e300
"""Sums of squares outside have lost terms to underflow, or the whole to overflow."""


class Sizes(NamedTuple):
    """Of each column: what bounds the rounding of sums over its rows."""

    means: Array
    lengths: Array
    """Euclidean norms."""
    spreads: Array
    """Euclidean norms about the means, at most."""

    @classmethod
    def of(
        cls, sums: Array, squares: Array, n_rows: int, columns: Callable[[NDArray[np.intp]], Any]
    ) -> Sizes:
        """From sums over rows; ``columns`` of X are read again where the sums may have left the
        range of float64."""
        means, lengths = sums / n_rows, _roots(squares, columns)
        with np.errstate(over="ignore", invalid="ignore"):
            about = squares - sums * means
            about = np.maximum(about, 0) + n_rows * np.finfo(np.float64).eps * squares
        low, high = SAFE_SQUARES
        spreads = np.where((squares > low) & (squares < high), np.sqrt(about), lengths)
        return cls(means, lengths, np.minimum(spreads, lengths))

    def on(self, columns: NDArray[np.intp]) -> Sizes:
        return Sizes(self.means[columns], self.lengths[columns], self.spreads[columns])


def _roots(squares: Array, columns: Callable[[NDArray[np.intp]], Any]) -> Array:
    """Norms from sums of squares; those that may have left the range from the columns again."""
    low, high = SAFE_SQUARES
    out = np.sqrt(squares)
    doubtful = np.flatnonzero(~((squares > low) & (squares < high)))
    if doubtful.size:
        few = sparse.csc_array(columns(doubtful), dtype=np.float64)
        counts = np.diff(few.indptr)
        held = np.flatnonzero(counts)
        starts, values = few.indptr[held], np.abs(few.data)
        out[doubtful] = 0.0
        if held.size:
            size = np.maximum.reduceat(values, starts)
            size[size == 0] = 1.0
            shares = values / np.repeat(size, counts[held])
            out[doubtful[held]] = size * np.sqrt(np.add.reduceat(shares**2, starts))
    return out


class DenseMatrix:
    def __init__(self, X: NDArray[Any]):
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self.block_rows = max(64, BLOCK_BYTES // (8 * max(1, X.shape[1])))
        plain = X.flags.c_contiguous or X.flags.f_contiguous
        self._whole = X.dtype == np.float64 and plain
        self._narrow = X.dtype == np.float32 and X.flags.c_contiguous

    @property
    def nbytes(self) -> int:
        return self.X.nbytes

    @property
    def rough(self) -> DenseMatrix:
        """What products whose last digits do not matter may use instead."""
        return self

    def _pieces(self, start: int, stop: int, whole: bool = True) -> Iterator[tuple[slice, Array]]:
        """The rows ``start:stop`` in float64, with their place.

        ``whole``: views, where BLAS can read X as it is; otherwise small blocks in C order, each to
        be used before the next.
        """
        if whole and self._whole:
            for rows in _slices(start, stop, self.block_rows):
                yield rows, self.X[rows]
            return
        buffer = np.empty((min(self.block_rows, stop - start), self.shape[1]))
        for rows in _slices(start, stop, self.block_rows):
            block = buffer[: rows.stop - rows.start]
            np.copyto(block, self.X[rows])
            yield rows, block

    @cached_property
    def centre(self) -> Array:
        """A point amid each column's values. Pair sums do not see it; rounding does."""
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
        """Additions behind an entry of `pull_back`: of a block's rows, then of the blocks."""
        if self._narrow:
            return self.shape[0] / 4
        return min(self.block_rows, self.shape[0]) + self.shape[0] / self.block_rows

    @cached_property
    def sizes(self) -> Sizes:
        from everypair import _compiled

        def part(start: int, stop: int) -> Array:
            out = np.zeros((2, self.shape[1]))
            if self.X.flags.c_contiguous:
                _compiled.dense_add_moments(self.X, start, stop, out)
            else:
                for _, block in self._pieces(start, stop):
                    out += np.stack([block.sum(axis=0), np.einsum("ij,ij->j", block, block)])
            return out

        with np.errstate(over="ignore", invalid="ignore"):
            parts = over_rows(part, self.shape[0], self.X.size)
        sums, squares = sum(parts[1:], parts[0])
        return Sizes.of(sums, squares, self.shape[0], lambda columns: self.X[:, columns])

    @cached_property
    def longest(self) -> float:
        """The largest Euclidean norm of a row."""
        parts = over_rows(self._longest, self.shape[0], self.X.size)
        return max(parts)

    def _longest(self, start: int, stop: int) -> float:
        longest = 0.0
        for _, block in self._pieces(start, stop):
            with np.errstate(over="ignore"):
                squares = float(np.einsum("ij,ij->i", block, block).max())
            longest = max(longest, float(np.sqrt(squares)))
        return longest

    def centred_sums(
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
            for rows in _slices(start, stop, self.block_rows):
                block = buffer[: rows.stop - rows.start]
                np.subtract(self.X[rows], centre, out=block, casting="same_kind")
                if scale is not None:
                    block *= scale
                add(rows, block, *sums)
            return sums

        with one_blas_thread():
            parts = over_rows(part, self.shape[0], self.shape[0] * self.shape[1] ** 2)
        return [sum(arrays[1:], arrays[0]) for arrays in zip(*parts, strict=True)]

    def dot(self, vector: Array) -> Array:
        """``X @ vector``."""
        out = np.empty(self.shape[0])

        def part(start: int, stop: int) -> None:
            for rows, block in self._pieces(start, stop):
                np.matmul(block, vector, out=out[rows])

        with one_blas_thread():
            over_rows(part, self.shape[0], self.X.size)
        return out

    def pull_back(self, weights: Array) -> Array:
        """``X.T @ weights``: from a gradient in score space to one in the coefficients."""
        if self._narrow:
            return self._add_narrow_rows(weights)
        return self._sum_over_rows(lambda rows, block: weights[rows] @ block, self.shape[1:])

    def _add_narrow_rows(self, weights: Array) -> Array:
        """Compiled: single precision is widened as it is read, not block by block."""
        from everypair import _compiled

        def part(start: int, stop: int) -> Array:
            out = np.zeros(self.shape[1])
            _compiled.dense_add_rows(self.X, weights, start, stop, out)
            return out

        parts = over_rows(part, self.shape[0], self.X.size)
        return np.asarray(sum(parts[1:], parts[0]))

    def pull_back_moments(self, weights: Array) -> Array:
        """``[X.T @ weights, (X * X).T @ weights]`` in one pass."""

        def moments(rows: slice, block: Array) -> Array:
            sums = weights[rows] @ block
            return np.stack([sums, weights[rows] @ np.multiply(block, block, out=block)])

        return self._sum_over_rows(moments, (2, self.shape[1]), whole=False)

    def pull_back_distances(self, weights: Array) -> Array:
        """``sum_i weights_i |x_ij - mean_j|`` at most."""
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
            parts = over_rows(part, self.shape[0], self.X.size)
        return np.asarray(sum(parts[1:], parts[0]))

    def take(self, rows: NDArray[np.intp]) -> DenseMatrix:
        return DenseMatrix(self.X[rows])

    def columns(self, columns: NDArray[np.intp]) -> DenseMatrix:
        """A copy of these columns: for a few of them."""
        few = DenseMatrix(np.take(self.X, columns, axis=1))
        if "sizes" in vars(self):
            few.sizes = self.sizes.on(columns)
        return few


class SparseMatrix:
    """CSR or CSC as it came; a CSC matrix is the CSR form of its transpose."""

    def __init__(self, X: Any):
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self.by_rows: bool = X.format == "csr"
        self.block_rows = max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    @property
    def rough(self) -> SparseMatrix:
        """As for dense X."""
        return self

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
        """As for dense X."""
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
            sums, squares = self.pull_back_moments(np.ones(self.shape[0]))
        return Sizes.of(sums, squares, self.shape[0], lambda columns: self.X[:, columns])

    @cached_property
    def longest(self) -> float:
        """As for dense X."""
        ones = np.ones(self.shape[1])
        with np.errstate(over="ignore"):
            if self.by_rows:
                squares = self._gather(ones, moments=True)[:, 1]
            else:
                squares = self._scatter(ones, self.shape[0], moments=True)[:, 1]
        return float(np.sqrt(squares.max()))

    def _entries_a_column(self) -> NDArray[Any]:
        if not self.by_rows:
            return np.diff(self.X.indptr)
        counts = np.zeros(self.shape[1], dtype=np.intp)
        for some in _slices(0, self.X.nnz, BLOCK_BYTES // 8):  # bincount widens what it counts
            counts += np.bincount(self.X.indices[some], minlength=counts.size)
        return counts

    def centred_sums(
        self, shapes: Sequence[tuple[int, ...]], add: Callable[..., None]
    ) -> list[Array]:
        """As for dense X: rows are written out a block at a time, never the whole."""
        data, indices, indptr = self.rows_first.arrays

        def part(start: int, stop: int) -> list[Array]:
            sums = [np.zeros(shape) for shape in shapes]
            for rows in _slices(start, stop, self.block_rows):
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
    def rows_first(self) -> SparseMatrix:
        """Itself, or a CSR copy of a CSC matrix, kept for the next Hessian."""
        return self if self.by_rows else SparseMatrix(self.X.tocsr())

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return self.X.data, self.X.indices, self.X.indptr

    def add_rows(
        self, shape: tuple[int, ...], operations: int, add: Callable[[int, int, Array], None]
    ) -> Array:
        """An array after ``add(start, stop, array)`` on blocks of compressed rows, one a thread."""

        def part(start: int, stop: int) -> Array:
            out = np.zeros(shape)
            add(start, stop, out)
            return out

        parts = over_rows(part, self.X.indptr.size - 1, operations)
        return np.asarray(sum(parts[1:], parts[0]))

    def gram(self, weights: Array) -> Array:
        """``(X - centre)' diag(weights) (X - centre)``, at the cost of the squared lengths of the
        rows."""
        from everypair import _compiled

        rows, (n_rows, n_columns) = self.rows_first, self.shape
        lower = rows.add_rows(
            (n_columns, n_columns),
            self.X.nnz * (1 + self.X.nnz // max(1, n_rows)),
            lambda start, stop, out: _compiled.csr_add_gram(
                *rows.arrays, self.centre, weights, start, stop, out
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
            lambda start, stop: kernel(*self.arrays, vector, start, stop, out), n_rows, self.X.nnz
        )
        return out

    def _scatter(self, weights: Array, size: int, moments: bool = False) -> Array:
        """The sum of the compressed rows (and of their squares), each times its weight."""
        from everypair import _compiled

        kernel = _compiled.csr_add_moments if moments else _compiled.csr_add_rows
        return self.add_rows(
            (size, 2) if moments else (size,),
            self.X.nnz,
            lambda start, stop, out: kernel(*self.arrays, weights, start, stop, out),
        )

    def dot(self, vector: Array) -> Array:
        if self.by_rows:
            return self._gather(vector)
        return self._scatter(vector, self.shape[0])

    def pull_back(self, weights: Array) -> Array:
        if not self.by_rows:
            return self._gather(weights)
        from everypair import _compiled

        return self.add_rows(
            (self.shape[1],),
            self.X.nnz,
            lambda start, stop, out: _compiled.csr_add_rows_in_blocks(
                *self.arrays, weights, start, stop, self._summed_rows, out
            ),
        )

    def pull_back_moments(self, weights: Array) -> Array:
        if self.by_rows:
            return self._scatter(weights, self.shape[1], moments=True).T
        return self._gather(weights, moments=True).T

    def pull_back_distances(self, weights: Array) -> Array:
        """As for dense X; here ``|x| + |mean|`` serves as the distance."""
        data, indices, indptr = self.arrays
        sizes = SparseMatrix(type(self.X)((np.abs(data), indices, indptr), shape=self.shape))
        return sizes.pull_back(weights) + np.abs(self.sizes.means) * float(weights.sum())

    def take(self, rows: NDArray[np.intp]) -> SparseMatrix:
        return SparseMatrix(self.X[rows])

    def columns(self, columns: NDArray[np.intp]) -> SparseMatrix:
        """These columns, as rows: a CSR matrix of as many non-zeros as they have."""
        few = SparseMatrix(self.X[:, columns].tocsr())
        if "sizes" in vars(self):
            few.sizes = self.sizes.on(columns)
        return few


Matrix = DenseMatrix | SparseMatrix


def as_matrix(X: Any) -> Matrix:
    """Wrap a validated X: an array, or a CSR or CSC matrix."""
    return SparseMatrix(X) if sparse.issparse(X) else DenseMatrix(X)


def summed(X: Any) -> Any:
    """X, or a copy of a sparse X that holds an entry in several parts: with the parts added up.

    Entries out of order do no harm, and cost no copy.
    """
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    if not X.has_sorted_indices:
        from everypair import _compiled

        last_seen = np.full(X.shape[1 if X.format == "csr" else 0], -1, dtype=np.intp)
        if not _compiled.csr_has_duplicates(X.indices, X.indptr, last_seen):
            return X
    return canonical(X)


def canonical(X: Any) -> Any:
    """X, or a copy of a sparse X whose entries come in parts or out of order: added up, in order.

    As `summed`, without compiled code: for predictions.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
