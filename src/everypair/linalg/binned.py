"""X of an additive model: each column a bin number per row, and a table of basis values per bin.

Row i of X is the chain of the lines ``table_j[code_ij]`` of all columns j. It is never written out
whole: products look the bins up, and Hessians write a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.column_sizes import Sizes
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.threads import over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]


HESSIAN_COLUMNS, ROWS_PER_COLUMN = 1000, 100
"""Columns up to which, and rows per column from which on, the Hessian of a sample serves all rows:
it takes four gradients in place of more than a hundred products."""


class BinnedRows:
    """An array of rows that are made when they are asked for: ``X[rows]``, ``X[rows, columns]``."""

    dtype = np.dtype(np.float64)
    flags = SimpleNamespace(c_contiguous=False, f_contiguous=False)

    def __init__(self, codes: NDArray[Any], tables: Sequence[Array]):
        self.codes, self.tables = codes, list(tables)
        self.widths = np.array([table.shape[1] for table in tables], dtype=np.intp)
        bins = np.array([table.shape[0] for table in tables], dtype=np.intp)
        self.first = np.concatenate([[0], np.cumsum(bins)[:-1]]).astype(np.intp)
        self.places = np.concatenate([[0], np.cumsum(self.widths)[:-1]]).astype(np.intp)
        self.n_bins = int(bins.sum())
        self.shape = codes.shape[1], int(self.widths.sum())

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes

    @cached_property
    def _lines(self) -> Array:
        """All tables below each other, filled up with zeros to the widest."""
        lines = np.zeros((self.n_bins, int(self.widths.max(initial=1))))
        for start, table in zip(self.first, self.tables, strict=True):
            lines[start : start + table.shape[0], : table.shape[1]] = table
        return lines

    def __getitem__(self, rows: Any) -> Array:
        from everypair._compiled import binned_rows

        if isinstance(rows, tuple):
            rows, columns = rows
            return self[rows][:, columns]
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        rows = np.asarray(rows, dtype=np.intp)
        out = np.empty((rows.size, self.shape[1]))
        binned_rows(self.codes, self._lines, self.first, self.places, self.widths, rows, out)
        return out

    def values(self, coef: Array) -> Array:
        """The value of every bin: its line of the table times the column's coefficients."""
        parts = np.split(coef, self.places[1:])
        return np.concatenate([t @ part for t, part in zip(self.tables, parts, strict=True)])

    def coefs(self, of_bins: Array, power: int = 1) -> Array:
        """Sums over bins, pulled back to the coefficients, by the tables or by their squares."""
        parts = np.split(of_bins, self.first[1:])
        return np.concatenate(
            [(t**power).T @ part for t, part in zip(self.tables, parts, strict=True)]
        )


class BinnedMatrix(DenseMatrix):
    """The matrix of an additive model: one pass over the bin numbers makes a product."""

    X: BinnedRows  # type: ignore[assignment]

    def __init__(self, X: BinnedRows):
        super().__init__(X)  # type: ignore[arg-type]

    @property
    def sample_hessian_pays(self) -> bool:  # type: ignore[override]
        n_rows, n_columns = self.shape
        return n_columns <= min(HESSIAN_COLUMNS, n_rows / ROWS_PER_COLUMN)

    @property
    def starts(self) -> Index:
        """The first column of each table."""
        return self.X.places

    @property
    def chain(self) -> float:
        return float(self.shape[0])  # a bin adds up its rows one by one

    def dot(self, vector: Array) -> Array:
        from everypair._compiled import binned_dot

        X, out = self.X, np.empty(self.shape[0])
        values = X.values(vector)
        over_rows(
            lambda start, stop: binned_dot(X.codes, values, X.first, start, stop, out),
            self.shape[0], 2 * X.codes.size,
        )  # fmt: skip
        return out

    def _bin_sums(self, weights: Array) -> Array:
        from everypair._compiled import binned_sums

        def part(start: int, stop: int) -> Array:
            out = np.zeros(self.X.n_bins)
            binned_sums(self.X.codes, weights, self.X.first, start, stop, out)
            return out

        parts = over_rows(part, self.shape[0], 2 * self.X.codes.size)
        return np.asarray(sum(parts[1:], parts[0]))

    def pull_back(self, weights: Array) -> Array:
        return self.X.coefs(self._bin_sums(weights))

    def pull_back_moments(self, weights: Array) -> Array:
        of_bins = self._bin_sums(weights)
        return np.stack([self.X.coefs(of_bins), self.X.coefs(of_bins, power=2)])

    @cached_property
    def sizes(self) -> Sizes:
        return self._sizes([self.pull_back_moments(np.ones(self.shape[0]))])

    def take(self, rows: Index) -> BinnedMatrix:
        codes = np.ascontiguousarray(self.X.codes[:, rows])
        return BinnedMatrix(BinnedRows(codes, self.X.tables))

    def parts(self, which: Index) -> BinnedMatrix:
        """The same rows with these columns of bins alone."""
        return BinnedMatrix(BinnedRows(self.X.codes[which], [self.X.tables[k] for k in which]))

    def columns_of(self, part: int) -> Index:
        """The coefficients of one column of bins."""
        first = int(self.X.places[part])
        return np.arange(first, first + int(self.X.widths[part]))

    def curves(self, coef: Array) -> list[Array]:
        """What each column of bins adds to the score: a value per bin."""
        return np.split(self.X.values(coef), self.X.first[1:])

    def columns(self, columns: Index) -> DenseMatrix:
        return DenseMatrix(self.X[:, columns])
