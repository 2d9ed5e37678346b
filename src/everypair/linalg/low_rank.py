"""K ~ G G' grown a block of columns at a time, where the next solve will need it.

A block of rows is drawn, each with a probability in proportion to ``importance_i R_ii``, where
R = K - G G' is what is not explained yet (randomly pivoted Cholesky: Chen, Epperly, Tropp &
Webber 2025); their columns of K are computed at once, freed of what G has, and factored. Every
step is a matrix product, which a column at a time is not, and far-out rows, that the greedy
choice would take first, get no more than their share.

The importance is the caller's. With the multipliers c of a solution at hand, ``c_i^2`` is the
right one: leaving R out of the kernel costs ``c' R c / (2 alpha)`` of the dual objective.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from everypair.linalg.kernels import TrainingKernel
from everypair.linalg.threads import one_blas_thread, over_rows, used_threads

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK_COLUMNS = 128

LEAST_REMAINDER = 1e-13
"""A remainder below this share of the largest diagonal entry is rounding, not a direction."""

MOST_NEGATIVE = 1e-6
"""A diagonal entry below zero by more than this share of the largest is not due to rounding."""

MEMORY_SHARE = 0.5
"""Of the memory that is free, the part that a factor and its Hessian may take."""


@dataclass(frozen=True)
class LowRank:
    """``K ~ G G'``, exact in the rows and columns of the pivots."""

    pivots: Index
    triangle: Array
    """The rows of the pivots in G: the Cholesky factor of the kernel between them."""
    left_out: float
    """What is left of the trace, as a share of it."""

    def coefficients(self, w: Array) -> Array:
        """a with ``sum_r a_r k(x, x_pivot_r) = g(x) . w``, g(x_i) being row i of G."""
        return np.asarray(
            solve_triangular(self.triangle, w, lower=True, trans="T", check_finite=False)
        )


class GrowingFactor:
    """The factor so far, its pivots, and the diagonal of what it leaves out."""

    def __init__(self, kernel: TrainingKernel):
        self.kernel = kernel
        self.left = kernel.diagonal()
        self._largest = float(self.left.max(initial=0.0))
        self._trace = float(self.left.sum())
        self._refuse_negative()
        self.features = np.empty((kernel.n_rows, 0))
        self.pivots: Index = np.empty(0, dtype=np.intp)
        # The same data give the same factor.
        self._rng = np.random.default_rng(0)

    @property
    def rank(self) -> int:
        return self.pivots.size

    @property
    def left_out(self) -> float:
        """The trace that is not explained, as a share of the whole."""
        return float(self.left.sum()) / self._trace if self._trace > 0 else 0.0

    @property
    def low_rank(self) -> LowRank:
        return LowRank(self.pivots, self.features[self.pivots], self.left_out)

    def grow(self, importance: Array, max_rank: int, tol: float) -> bool:
        """Add pivots up to ``max_rank``; True when they leave out at most ``tol`` of the trace.

        Rows without importance become no pivots, and what is left of them does not count.
        """
        max_rank = min(max_rank, self.kernel.n_rows)
        room = np.empty((self.kernel.n_rows, max_rank))
        room[:, : self.rank] = self.features
        while not (complete := self._explained(importance, tol)) and self.rank < max_rank:
            self._add(room, self._draw(importance, min(BLOCK_COLUMNS, max_rank - self.rank)))
        self.features = room if self.rank == max_rank else room[:, : self.rank].copy()
        return complete

    def _open(self, importance: Array) -> NDArray[np.bool_]:
        return (importance > 0) & (self.left > LEAST_REMAINDER * self._largest)

    def _explained(self, importance: Array, tol: float) -> bool:
        return float(self.left[self._open(importance)].sum()) <= tol * self._trace

    def _draw(self, importance: Array, n_rows: int) -> Index:
        open_rows = np.flatnonzero(self._open(importance))
        if open_rows.size <= n_rows:
            return open_rows
        # Divided by the largest first: the product of two small numbers may vanish.
        chance = importance[open_rows] / importance[open_rows].max()
        chance *= self.left[open_rows] / self._largest
        chance = np.maximum(chance, np.finfo(float).tiny)
        return self._rng.choice(open_rows, n_rows, replace=False, p=chance / chance.sum())

    def _add(self, room: Array, chosen: Index) -> None:
        """Append the columns of the chosen rows; those that hang on the others are left out."""
        n_rows, rank = room.shape[0], self.rank
        columns, known = self.kernel.columns(chosen), room[chosen, :rank].T

        def free_of_known(start: int, stop: int) -> None:
            columns[start:stop] -= room[start:stop, :rank] @ known

        with one_blas_thread():
            over_rows(free_of_known, n_rows, n_rows * rank * chosen.size)
            factor, order, kept, _ = dpstrf(
                columns[chosen], tol=LEAST_REMAINDER * self._largest, lower=1
            )
            order = order[:kept] - 1
            factor = np.tril(factor[:kept, :kept])
            new = room[:, rank : rank + kept]

            def solve(start: int, stop: int) -> None:
                rows = columns[start:stop, order].T
                new[start:stop] = solve_triangular(factor, rows, lower=True, check_finite=False).T
                self.left[start:stop] -= np.einsum("ij,ij->i", new[start:stop], new[start:stop])

            over_rows(solve, n_rows, n_rows * kept**2)
        new[self.pivots] = 0.0
        new[chosen[order]] = factor
        self.pivots = np.concatenate([self.pivots, chosen[order]])
        self._refuse_negative()
        np.maximum(self.left, 0.0, out=self.left)
        self.left[chosen] = 0.0  # pivots, and rows that they explain to rounding
        self.left[self.pivots] = 0.0

    def _refuse_negative(self) -> None:
        least = float(self.left.min(initial=0.0))
        if least < -MOST_NEGATIVE * max(self._largest, np.finfo(float).tiny):
            raise not_psd(f"a pivot of its Cholesky factor is {least:.1e}")


def not_psd(why: str) -> ValueError:
    return ValueError(
        f"The kernel is not positive semi-definite: {why}. "
        "Use a Mercer kernel such as 'rbf' or 'poly' with coef0 >= 0."
    )


def available_memory() -> float:
    """Bytes that may be taken without swapping; infinite where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def room_in_memory() -> float:
    """Bytes that a factor and its Hessian may take."""
    return MEMORY_SHARE * available_memory()


def rank_that_fits(n_rows: int) -> int:
    """The largest rank whose factor fits: n r numbers, the copy while it grows, the sums behind a
    Hessian (`pairs.point.gram_bytes`), and the inverse of its triangle."""
    numbers, squares = room_in_memory() / 8, 6 + used_threads()
    if not np.isfinite(numbers):
        return n_rows
    rank = (np.sqrt(n_rows**2 + squares * numbers) - n_rows) / squares
    return int(np.clip(rank, 1, n_rows))
