"""Products of rows of X with each other, about the means of the columns: each is computed once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_UNUSED = 1.5
"""Rows are forgotten where there are more of them than this times those that are asked for."""


class RowGrams:
    """The Gram matrix of some rows, to which others are added as they are asked for.

    In single precision it takes half the time and memory; X is then taken in units of `unit`, about
    the length of a row, so that nothing overflows.
    """

    def __init__(self, X: Matrix, single: bool = False):
        self.X, self._single = X, single
        self.rows = np.zeros(0, dtype=np.intp)
        self.gram = np.zeros((0, 0), np.float32 if single else np.float64)

    @cached_property
    def unit(self) -> float:
        return _length_of_a_row(self.X) if self._single else 1.0

    def add(self, rows: Index) -> None:
        """Behind those that are there; ``rows`` are others."""
        if not rows.size:
            return
        n_old, n_all = self.rows.size, self.rows.size + rows.size
        if not n_old:
            self.rows, self.gram = rows, self._products(rows, rows)
            return
        across = self._products(rows, self.rows)
        gram = np.empty((n_all, n_all), self.gram.dtype)
        gram[:n_old, :n_old] = self.gram
        gram[n_old:, :n_old], gram[:n_old, n_old:] = across, across.T
        gram[n_old:, n_old:] = self._products(rows, rows)
        self.rows, self.gram = np.concatenate([self.rows, rows]), gram

    def of(self, rows: Index) -> Array:
        """A copy of the matrix of these rows, which ascend."""
        new = np.setdiff1d(rows, self.rows, assume_unique=True)
        if new.size:
            self._forget(rows)
            self.add(new)
        order = np.argsort(self.rows)
        places = order[np.searchsorted(self.rows, rows, sorter=order)]
        return self.gram[np.ix_(places, places)]

    def _forget(self, rows: Index) -> None:
        """The others, where they are many."""
        kept = np.flatnonzero(np.isin(self.rows, rows))
        if MOST_UNUSED * kept.size < self.rows.size:
            self.rows, self.gram = self.rows[kept], self.gram[np.ix_(kept, kept)]

    def _products(self, rows: Index, others: Index) -> Array:
        return self.X.row_products(rows, others, self.unit if self._single else None)


def _length_of_a_row(X: Matrix) -> float:
    """Root mean square, about the means; a power of two."""
    with np.errstate(over="ignore"):
        mean = float(np.sqrt(np.sum(X.sizes.spreads**2) / X.shape[0]))
    return float(np.exp2(np.frexp(mean)[1])) if 0 < mean < np.inf else 1.0
