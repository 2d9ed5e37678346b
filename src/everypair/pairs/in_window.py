"""Products with the Hessian of a loss that is curved in a window of margins, row by row.

With height h and the windows ``low_i:high_i`` of the sources of target i, both sides give

    (H v)_i = d_i v_i - h a_i sum_{low_i <= j < high_i} b_j v_j .

Only rows that have a pair in the window take part. Near the solution of a hinge they are few, so
their places are looked up once, and a product touches nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import window_mass
from everypair.linalg.threads import over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Places = NDArray[np.int32]

PLACES = np.int32
"""Half the memory: these live beside X for a whole solve of a Newton step."""

OPERATIONS_OF_A_PRODUCT = 10
"""About as many as a row's part in a product."""


class WindowSide(NamedTuple):
    """The targets of one class and the sources of the other; both by their place in `InWindow`."""

    targets: Places
    weights: Array
    """Of the targets, times the height of the window."""
    sources: Places
    source_weights: Array
    low: Places
    high: Places

    def mass(self, vector: Array) -> Array:
        """What is taken off at the targets."""
        sums = np.empty(self.targets.size)
        head = np.empty(self.sources.size + 1)
        window_mass(self.source_weights * vector[self.sources], self.low, self.high, head, sums)
        sums *= self.weights
        return sums


class InWindow:
    """The rows with a pair in the window, and H times a vector over them."""

    def __init__(self, rows: Index, curvature: Array, sides: list[WindowSide]):
        self.rows, self._curvature, self._sides = rows, curvature, sides

    def product(self, vector: Array) -> Array:
        """H times ``vector``; both hold these rows only.

        Pairs do not see a shift, so the mean is taken off: large entries would cancel.
        """
        vector = vector - (vector.mean() if vector.size else 0.0)
        out = self._curvature * vector

        def part(start: int, stop: int) -> None:
            for side in self._sides[start:stop]:
                out[side.targets] -= side.mass(vector)

        over_rows(part, len(self._sides), OPERATIONS_OF_A_PRODUCT * vector.size)
        return out
