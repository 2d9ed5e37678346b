"""How large the columns of X are: what bounds the rounding of sums over its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.cached import cached_property

Array = NDArray[np.float64]

CONSTANT_COLUMN_SPREAD = 8 * float(np.finfo(np.float64).eps)
"""A column whose values differ by this share of them differs by rounding."""

SAFE_SQUARES = 1e-280, 1e300
"""Sums of squares outside have lost terms to underflow, or the whole to overflow."""

LARGEST_LOST = 2.0**-511
"""Values whose squares are lost are not above this, even where tiny numbers are taken for zero."""


@dataclass(frozen=True)
class Sizes:
    """The mean of each column, and its norms about zero and about the mean."""

    means: Array
    lengths: Array
    """Euclidean norms."""
    spreads: Array
    """Euclidean norms about the means, at most."""

    @classmethod
    def of(
        cls,
        sums: Array,
        squares: Array,
        n_rows: int,
        columns: Callable[[NDArray[np.intp]], Any] | None = None,
        lengths: Array | None = None,
    ) -> Sizes:
        """From sums over rows; ``columns`` of X are read again where the sums may have left the
        range of float64, unless the ``lengths`` are known."""
        means = sums / n_rows
        if lengths is None:
            assert columns is not None
            lengths = _roots(sums, squares, n_rows, columns)
        with np.errstate(over="ignore", invalid="ignore"):
            about = squares - sums * means
            about = np.maximum(about, 0) + n_rows * np.finfo(np.float64).eps * squares
        low, high = SAFE_SQUARES
        spreads = np.where((squares > low) & (squares < high), np.sqrt(about), lengths)
        return cls(means, lengths, np.minimum(spreads, lengths))

    @cached_property
    def finite(self) -> bool:
        """Whether every column has a mean."""
        return bool(np.all(np.isfinite(self.means)))

    def on(self, columns: NDArray[np.intp]) -> Sizes:
        return Sizes(self.means[columns], self.lengths[columns], self.spreads[columns])


def spreads_of(X: Any, weight: Array) -> Array:
    """Standard deviations from the values themselves, for weights that sum to one."""
    rows = np.flatnonzero(weight > 0)
    few, weight = X.written_out(rows), weight[rows]
    size = np.abs(few).max(axis=0)
    apart = (few - few[0]) / size
    apart[:, np.ptp(apart, axis=0) <= CONSTANT_COLUMN_SPREAD] = 0.0
    return np.asarray(size * np.sqrt(np.maximum(0, weight @ apart**2 - (weight @ apart) ** 2)))


def _roots(
    sums: Array, squares: Array, n_rows: int, columns: Callable[[NDArray[np.intp]], Any]
) -> Array:
    """Norms from sums of squares; those that may have left the range from the columns again.

    Where both sums are zero every square is: no value is above `LARGEST_LOST`.
    """
    low, high = SAFE_SQUARES
    out = np.sqrt(squares)
    nothing = (sums == 0) & (squares == 0)
    out[nothing] = LARGEST_LOST * np.sqrt(n_rows)
    doubtful = np.flatnonzero(~((squares > low) & (squares < high) | nothing))
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


class ProductBounds(Protocol):
    """Bounds on what the products of a matrix round by."""

    def reach_of_rows(self, vector: Array, /) -> float:
        """What the rounding of any one entry of ``X @ vector`` is in proportion to."""
        ...

    def square_error(
        self, pulled: Array, error: float, of_sums: float, of_columns: float, /
    ) -> float:
        """How far ``|X'c|^2`` may be off: by X'c as computed, the norm of the error of c, and the
        rounding of sums over rows and over columns, in units of the terms, times the norm of c."""
        ...
