"""Wide dense factors of a kernel matrix, in double and in single precision, or as a product."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrmv

from everypair.cached import cached_property
from everypair.linalg.column_sizes import ProductBounds, Sizes
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.low_rank import room_in_memory
from everypair.linalg.row_sums import Windows, cross_of_windows, slices, without_subnormals
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SINGLE_RANGE = 1e12
"""Kernels whose root is within this of one leave single precision room for sums and products."""


SOLVED_ROWS, SOLVED_COLUMNS = 512, 128
"""Of a block of features that is computed at a time."""

LEADING_BITS = 20
"""Of a number, so that products of two are exact, and sums of up to 8,000 of these."""

SINGLE_REACH = 2.0**16
"""`Inverse.reach`, in lengths of the longest row, up to which features in single precision are
computed in it. At a reach of 1,300 the length of a row, which is at most 1, is off by 3e-5. With a
reach of 12,000 and 55,000 fits of covtype 5 take as many steps as in double precision."""


class FactorMatrix(DenseMatrix):
    """A wide factor, with its copy in single precision.

    A factor in single precision is read as it is: its numbers are exact, and sums over them are in
    double precision.
    """

    in_a_fit = True

    @property
    def hessian_room(self) -> float:
        return max(self.nbytes, room_in_memory())

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
        part = FactorMatrix(super().take(rows).X)
        if "rough" in vars(self) and self.rough is not self:
            part.rough = self.rough.take(rows)
        return part


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
        return RoughFactor(whole[rows].astype(self.product_dtype, copy=False))

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
                without_subnormals(block)
                out += block.T @ block
            return out

        with one_blas_thread():
            parts = over_rows(part, rows.size, rows.size * self.shape[1] ** 2)
        return np.asarray(sum(parts[1:], parts[0]))


def leading(values: Array) -> Array:
    """Each number to `LEADING_BITS` of the largest one, as it is where none is beyond these."""
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1]) + 52 - LEADING_BITS
    if exponent >= np.finfo(np.float64).maxexp:  # the end of the range of float64
        return values
    unit = np.ldexp(1.5, exponent)
    return np.asarray((values + unit) - unit)


def _times(upper: Array, vector: Array) -> Array:
    """``U v``, without a look at the zeros below the diagonal."""
    return np.asarray(dtrmv(upper.T, vector, lower=1, trans=1))


def _turned(upper: Array, vector: Array) -> Array:
    """``U' v``."""
    return np.asarray(dtrmv(upper.T, vector, lower=1))


@dataclass(frozen=True)
class Inverse:
    """``T = L^-T`` for the Cholesky factor L of the kernel between pivots, as it was computed."""

    matrix: Array
    triangle: Array
    longest: float
    """The largest root of the kernel's diagonal."""

    @cached_property
    def parts(self) -> tuple[Array, Array]:
        """T by its leading bits and by the others."""
        high = leading(self.matrix)
        return high, self.matrix - high

    def times(self, vector: Array) -> Array:
        """``T w`` with some 20 bits more than double precision: a plain product rounds in
        proportion to ``|T| |w|``, which may be a thousand times ``|T w|``."""
        (high, low), first = self.parts, leading(vector)
        rest = _times(low, vector) + _times(high, vector - first)
        return np.asarray(_times(high, first) + rest)

    def turned(self, vector: Array) -> Array:
        """``T' v``, as finely."""
        (high, low), first = self.parts, leading(vector)
        rest = _turned(low, vector) + _turned(high, vector - first)
        return np.asarray(_turned(high, first) + rest)

    def terms(self, vector: Array) -> float:
        """What the rounding of any entry of ``K (T w)`` is in proportion to, by `times`."""
        sizes = np.abs(vector)
        beyond = np.minimum(self.beyond(sizes), 3 * _times(self.absolute, sizes))
        # The product itself rounds, too; and a plain one is off by much less than what is beyond.
        of_sums = (1 + 0.5 / np.sqrt(vector.size)) * np.abs(_times(self.matrix, vector))
        return float(self.longest * self.roots @ (of_sums + beyond))

    def beyond(self, sizes: Array) -> float:
        """What rounds in `times` and `turned`: products with what is beyond the leading bits, of T
        and of a vector of these sizes. No entry of them has more of it, nor more than three times
        that of ``|T|`` and the sizes."""
        largest = float(self.absolute.max(initial=0.0))
        return 2.0**-LEADING_BITS * largest * float(sizes.sum() + sizes.size * sizes.max(initial=0))

    @cached_property
    def absolute(self) -> Array:
        return np.abs(self.matrix)

    @cached_property
    def mean_reach(self) -> float:
        """About `terms` of a w of length 1, in the mean over its directions. Solutions of covtype
        5, 7 and 2 have 1.2 to 19 times less; the worst direction may have more."""
        return float(np.linalg.norm(self.longest * self.roots[:, None] * self.matrix))

    @cached_property
    def roots(self) -> Array:
        """Of the kernel's diagonal at the pivots: a value of the kernel is at most the product of
        those of its two rows."""
        return np.sqrt(np.einsum("ij,ij->i", self.triangle, self.triangle))

    @classmethod
    def of(cls, triangle: Array, longest: float) -> Inverse:
        eye = np.eye(triangle.shape[0])
        matrix = solve_triangular(triangle, eye, lower=True, check_finite=False).T
        return cls(np.ascontiguousarray(matrix), triangle, longest)

    @cached_property
    def reach(self) -> float:
        """No row of ``|K| |T|`` is longer."""
        return float(np.linalg.norm(self.spread(self.longest * self.roots)))

    def spread(self, sizes: Array) -> Array:
        return np.asarray(sizes @ self.absolute)

    @cached_property
    def strips(self) -> list[tuple[slice, NDArray[Any]]]:
        """T by its columns, some at a time, without the rows below its diagonal, which are zero.

        For a kernel and features in units of the longest row; in single precision where this leaves
        enough digits.
        """
        matrix = self.matrix * self.longest
        if self.reach <= SINGLE_REACH * self.longest:
            matrix = matrix.astype(np.float32)
        return [
            (some, np.ascontiguousarray(matrix[: some.stop, some]))
            for some in slices(0, matrix.shape[1], SOLVED_COLUMNS)
        ]


class _ProductRows:
    """The rows of K T by their numbers, computed as they are read."""

    dtype = np.dtype(np.float64)
    flags = SimpleNamespace(c_contiguous=False, f_contiguous=False)

    def __init__(self, values: NDArray[Any], inverse: Array):
        self._values, self._inverse = values, inverse
        self.shape: tuple[int, ...] = values.shape
        self.size, self.nbytes = values.size, values.nbytes

    def __getitem__(self, rows: Any) -> Array:
        return np.asarray(self._values[rows] @ self._inverse)


class _SolvedRows:
    """The rows of ``K T`` in single precision, by their numbers, each made when it is first read.

    They lie in the order in which they were made: memory is taken for these rows alone.
    """

    dtype = np.dtype(np.float32)
    flags = SimpleNamespace(c_contiguous=False, f_contiguous=False)

    def __init__(self, values: NDArray[Any], inverse: Inverse):
        self._values, self._strips, self._unit = values, inverse.strips, inverse.longest
        self.shape: tuple[int, int] = values.shape
        self.size, self.nbytes = values.size, values.size * self.dtype.itemsize
        self.solved = np.empty(self.shape, self.dtype)
        self._place, self.n_solved = np.full(self.shape[0], -1), 0

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self.solved[self.places(np.arange(self.shape[0])[rows])]

    def places(self, rows: Index) -> Index:
        """Where these rows lie in `solved`."""
        new = np.unique(rows[self._place[rows] < 0])
        if new.size:
            stop = self.n_solved + new.size
            self._solve(new, self.solved[self.n_solved : stop])
            self._place[new] = np.arange(self.n_solved, stop)
            self.n_solved = stop
        return self._place[rows]

    def in_order(self) -> NDArray[Any]:
        """All rows, each at its own number."""
        if self.n_solved < self.shape[0] or np.any(np.diff(self._place) != 1):
            self.solved, self.n_solved = np.empty(self.shape, self.dtype), 0
            self._place[:] = -1
        self.places(np.arange(self.shape[0]))
        return self.solved

    def _solve(self, rows: Index, out: NDArray[Any]) -> None:
        dtype = self._strips[0][1].dtype

        def part(start: int, stop: int) -> None:
            for some in slices(start, stop, SOLVED_ROWS):
                block = self._values[rows[some]] / self._unit**2
                block = without_subnormals(block.astype(dtype, copy=False))
                solved = out[some] if dtype == self.dtype else np.empty(block.shape, dtype)
                for columns, strip in self._strips:
                    np.matmul(block[:, : columns.stop], strip, out=solved[:, columns])
                np.multiply(solved, self._unit, out=out[some], casting="same_kind")

        with one_blas_thread():
            over_rows(part, rows.size, rows.size * self.shape[1] ** 2)


class SolvedRows(RoughFactor):
    """``K T`` in single precision: a Hessian reads the rows with a pair in the window of the loss,
    and windows get narrower."""

    X: _SolvedRows  # type: ignore[assignment]

    def __init__(self, values: NDArray[Any], inverse: Inverse):
        super().__init__(_SolvedRows(values, inverse))  # type: ignore[arg-type]

    @cached_property
    def _single(self) -> NDArray[Any]:
        return self.X.in_order()

    def take(self, rows: Index) -> RoughFactor:
        return RoughFactor(self.X[rows])

    def gram(self, weights: Array) -> Array:
        self.X.places(np.flatnonzero(weights))  # before threads ask for them
        return super().gram(weights)

    def window_cross(self, windows: Windows) -> Array:
        sources = windows.sources.copy()
        if windows.low.size:
            read = slice(windows.low.min(), windows.high.max())
            sources[read] = self.X.places(sources[read])
        placed = windows._replace(targets=self.X.places(windows.targets), sources=sources)
        return cross_of_windows(
            self.X.solved, self.centre, placed, self.block_rows, self.product_dtype
        )


class ProductFactor(DenseMatrix):
    """``G = K T`` as K, the kernel's values, and T.

    ``G w = K (T w)`` and ``G'c = T'(K'c)``: the triangular solve for every row of K, which costs
    as much as hundreds of products, is never made. T as it was computed is taken for exact, as G
    would be. A product rounds in proportion to ``|K| |T w|``, T w being made more finely; lengths
    and distances here bound ``|K| |T| |w|``, which may be much more.
    """

    def __init__(self, values: DenseMatrix, inverse: Inverse):
        rows: Any = _ProductRows(values.X, inverse.matrix)
        super().__init__(rows)
        self._values, self._inverse = values, inverse
        self.longest = inverse.reach

    @property
    def rounding_bounds(self) -> ProductBounds:
        return self

    def reach_of_rows(self, vector: Array) -> float:
        return self._inverse.terms(vector)

    def square_error(self, pulled: Array, error: float, of_sums: float, of_columns: float) -> float:
        inverse, lengths = self._inverse, self._values.sizes.lengths
        spread = float(np.linalg.norm(inverse.spread(lengths)))
        # No row of G is longer than the root of the kernel's diagonal.
        own = error * inverse.longest * np.sqrt(self.shape[0])
        own += of_columns * min(np.sqrt(pulled.size) * inverse.beyond(lengths), 3 * spread)
        # What K'c is off meets T G'c: at a solution much less than |T| |G'c|.
        along = own * np.linalg.norm(pulled)
        along += of_sums * np.abs(inverse.times(pulled)) @ lengths
        return float(2 * along + (own + of_sums * spread) ** 2)

    @property
    def hessian_room(self) -> float:
        return self._values.hessian_room

    @cached_property
    def rough(self) -> DenseMatrix:
        in_range = 1 / SINGLE_RANGE < self._inverse.longest < SINGLE_RANGE
        return SolvedRows(self._values.X, self._inverse) if in_range else self

    def take(self, rows: Index) -> ProductFactor:
        some = self._values.take(rows)
        vars(some)["centre"] = self._values.centre  # of sums that are added to those of all rows
        return ProductFactor(some, self._inverse)

    @property
    def chain(self) -> float:
        return self._values.chain

    @cached_property
    def sizes(self) -> Sizes:
        of, inverse = self._values.sizes, self._inverse
        most = inverse.longest * float(np.sqrt(self.shape[0]))
        spreads = np.minimum(inverse.spread(of.spreads), most)
        return Sizes(of.means @ inverse.matrix, inverse.spread(of.lengths), spreads)

    def gram(self, weights: Array) -> Array:
        return self._turned(self._values.gram(weights))

    def window_cross(self, windows: Windows) -> Array:
        return self._turned(self._values.window_cross(windows))

    def _turned(self, of_values: Array) -> Array:
        """``T' A T``: rows of K less a centre, turned, are those of G less its own."""
        return np.asarray(self._inverse.matrix.T @ of_values @ self._inverse.matrix)

    def dot(self, vector: Array) -> Array:
        return self._values.dot(self._inverse.times(vector))

    def dot_and_sizes(self, vector: Array) -> Array:
        return self._values.dot_and_sizes(self._inverse.times(vector))

    def pull_back(self, weights: Array) -> Array:
        return self._inverse.turned(self._values.pull_back(weights))

    def pull_back_distances(self, weights: Array) -> Array:
        means = float(weights.sum()) * np.abs(self._values.sizes.means)
        return self._inverse.spread(self._values.pull_back_distances(weights) + means)
