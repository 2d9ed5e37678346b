"""A small concave QP over a simplex, by active sets: exact, and quick from a good start.

    maximise  b . x - scale/2 x' G x   over  x >= 0, sum(x) = 1

Few of the x are above zero at the solution, and from one cut to the next only some of them
change. The Cholesky factor of that part of G is kept from one solve to the next, whatever b
and the scale; a variable that enters or leaves costs the square of their number.

On the simplex a constant added to all of G changes nothing. G + shift is as definite as the
*differences* between the planes are, which is all that matters there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import simplex_ascent

Array = NDArray[np.float64]

DIAGONAL_SHARE = 1e-13
"""Share of the shift added to the diagonal: planes may depend on each other linearly."""

QP_ACCURACY = 1e-12
"""Of ``max(gradient) - gradient . x``, which bounds how far x is from the maximum."""

LEAST_SQUARE = 1e-250
"""Squares of slopes below it count as none: their own rounding would divide by zero."""

MOVES_PER_VARIABLE = 20


class SimplexQP:
    """x, starting at the first corner, with what a next solve can reuse."""

    def __init__(self) -> None:
        self.x = np.ones(1)
        self._support = np.zeros(1, dtype=np.intp)
        self._size = 1
        self._shift = 0.0
        self._factor = np.zeros((1, 1))

    def solve(self, G: Array, b: Array, scale: float) -> Array:
        """The maximiser; G may have grown by rows and columns at its end since the last time.

        Always a point of the simplex, whatever rounding does: then the best that was reached.
        """
        self._grow(b.size)
        if self._shift == 0:
            self._start_factor(G)
        self._size = simplex_ascent(
            G,
            b,
            scale,
            self._shift,
            DIAGONAL_SHARE * self._shift,
            QP_ACCURACY,
            MOVES_PER_VARIABLE * b.size,
            self.x,
            self._support,
            self._size,
            self._factor,
        )
        return self.x

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget the variables that are not kept; they must be zero."""
        place = np.cumsum(kept) - 1
        self.x = self.x[kept]
        self._support[: self._size] = place[self._support[: self._size]]

    def _grow(self, n_variables: int) -> None:
        self.x = np.append(self.x, np.zeros(n_variables - self.x.size))
        room = self._support.size
        if n_variables > room:
            room = 2 * n_variables
            support, factor = np.zeros(room, dtype=np.intp), np.zeros((room, room))
            support[: self._size] = self._support[: self._size]
            factor[: self._size, : self._size] = self._factor[: self._size, : self._size]
            self._support, self._factor = support, factor

    def _start_factor(self, G: Array) -> None:
        largest = float(G.diagonal().max())
        self._shift = largest if largest > LEAST_SQUARE else 1.0
        corner = self._support[0]
        self._factor[0, 0] = np.sqrt(G[corner, corner] + self._shift * (1 + DIAGONAL_SHARE))
