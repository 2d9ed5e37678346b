"""Sums over few rows in NumPy: a small fit needs no compiled code.

numba and its registries take .7 s to load, as long as a hundred fits of 2,000 rows. A fit of
2,000 rows takes about a tenth longer with these sums than with compiled ones. Sizes alone decide,
never what a process has loaded.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

FEW_ROWS = 2500

FEW_ENTRIES = 2**17
"""Up to this many entries of X, sums by BLAS take no longer than compiled ones."""


def few_rows(shape: tuple[int, ...]) -> bool:
    """Whether sums over an X of this shape need no compiled code."""
    return shape[0] <= FEW_ROWS and shape[0] * shape[1] <= FEW_ENTRIES


def chebyshev(t: Array, n_terms: int) -> Array:
    """``[k, i]``: T_k(t_i), by ``T_(m+n) = 2 T_m T_n - T_(m-n)``: each round nearly doubles the
    number of known polynomials."""
    out = np.empty((n_terms, t.size))
    out[0], out[1] = 1.0, t
    known = 2
    while known < n_terms:
        m = known - 1
        more = min(m, n_terms - known)
        np.multiply(2 * out[m], out[1 : 1 + more], out=out[known : known + more])
        out[known : known + more] -= out[m - more : m][::-1]
        known += more
    return out


LARGE = 1e290
"""Sums of few values below it stay finite."""


class FewInBoxes:
    """Few rows in boxes of the score axis (`pairs.boxes`), ``within`` in [0, 1) inside each, with
    ``n_terms`` polynomials."""

    def __init__(
        self,
        positive: NDArray[np.bool_],
        slots: NDArray[np.int32],
        within: Array,
        n_boxes: int,
        n_terms: int,
    ):
        self.n_boxes, self.n_terms = n_boxes, n_terms
        self._cells = np.multiply(positive, n_boxes, dtype=np.intp)
        self._cells += slots
        self._terms = chebyshev(2 * within - 1, n_terms)

    def moments(self, weights: Array) -> Array:
        """``[class, box, k]``: the sums of ``w_i T_k(t_i)``."""
        n_cells, n_terms = 2 * self.n_boxes, self.n_terms
        places = self._cells + n_cells * np.arange(n_terms)[:, None]
        sums: Array = np.asarray(
            np.bincount(places.ravel(), (weights * self._terms).ravel(), n_terms * n_cells),
            dtype=np.float64,
        )
        by_cell = np.ascontiguousarray(sums.reshape(n_terms, n_cells).T)
        return by_cell.reshape(2, self.n_boxes, n_terms)

    def evaluate(self, fields: Array, weights: Array) -> Array:
        """``w_i sum_k fields[class, box, k] T_k(t_i)``."""
        of_cells = np.ascontiguousarray(fields.reshape(-1, self.n_terms).T)
        sums = np.einsum("ki,ki->i", of_cells.take(self._cells, axis=1), self._terms)
        return np.multiply(weights, sums, out=sums)

    def add_row_moments(
        self, rows: slice, X: NDArray[np.floating], weights: Array, out: Array
    ) -> None:
        """Add ``w_i T_k(t_i) x_i`` to ``out[class, box, k]``, of the first k; ``X`` holds the
        ``rows`` alone."""
        n_rows = X.shape[0]
        in_cells = sparse.csc_array(
            (np.ones(n_rows), self._cells[rows], np.arange(n_rows + 1)), (2 * self.n_boxes, n_rows)
        )
        X = X.astype(np.float64, copy=False)
        for k in range(out.shape[2]):
            np.multiply(weights[rows], self._terms[k, rows], out=in_cells.data)
            out[:, :, k] += (in_cells @ X).reshape(2, self.n_boxes, -1)


def exact_sum_of_few(values: Array) -> float:
    """The sum as if in twice the precision (Rump, Ogita & Oishi 2008, algorithm 3.2).

    Beside a power of two as large as any sum of them, the values keep only leading digits, whose
    sums are exact; what is left of the values is as small as rounding.
    """
    largest = max(values.max(), -values.min()) if values.size else 0.0
    if not largest < LARGE:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(values.sum())
    beside = 2.0 ** (math.frexp(largest)[1] + math.frexp(values.size)[1])
    leading = values + beside
    leading -= beside
    return float(leading.sum() + (values - leading).sum())


def doubled_wins_of_few(positives: Array, negatives: Array) -> int:
    """Twice the pairs won plus the pairs tied; both ascend."""
    sides = (negatives.searchsorted(positives, side) for side in ("left", "right"))
    return sum(int(below.sum()) for below in sides)
