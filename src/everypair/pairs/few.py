"""The sigmoid over every pair where pairs are few: by the definition, a pair at a time.

No pair needs an exponential of its own (`_compiled.group_pairs`), so a pair takes less than a
nanosecond. Boxes take longer to lay out than some hundred thousand pairs to sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import CHANNELS, TILE, WIDEST_SCORE_RANGE, group_slopes
from everypair.pairs.boxes import PER_UNIT
from everypair.rows import Rows

Array = NDArray[np.float64]

PAIRS, PAIRS_PER_ROW, PAIRS_PER_BOX = 300_000, 10, 500
"""So many pairs take no longer than boxes do, and than each row and each box of theirs."""

SIGMOID = 1
"""The kind of loss, in `group_slopes`."""


class FewPairs:
    """``sum_ij a_i b_j sigma(s_j - s_i)`` and its gradient."""

    def __init__(self, pairs: Rows):
        share, self._n_rows = pairs.share, pairs.n_rows
        self._members = [rows[share[rows] > 0] for rows in pairs.classes]
        self._signs = -1.0, 1.0
        if self._members[0].size > self._members[1].size:  # the shorter class is the outer one
            self._members.reverse()
            self._signs = 1.0, -1.0
        self._weights = [share[rows] for rows in self._members]
        self.n_pairs = self._members[0].size * self._members[1].size

    def pays(self, low: float, high: float) -> bool:
        """Whether scores that reach so far are summed faster so; False of what is not a number."""
        if not high - low <= WIDEST_SCORE_RANGE:
            return False
        boxes = PER_UNIT * (high - low)
        return self.n_pairs <= PAIRS + PAIRS_PER_ROW * self._n_rows + PAIRS_PER_BOX * boxes

    def at(self, scores: Array, low: float, high: float) -> tuple[float, Array]:
        """The value, and the gradient, an entry per row."""
        outer, inner = self._members
        middle = low + (high - low) / 2
        # The outer arrays have a row past the last, of factor and weight zero.
        factors, weights, sums = (np.zeros(outer.size + 1) for _ in range(3))
        np.exp(self._signs[0] * (scores[outer] - middle), out=factors[:-1])
        weights[:-1] = self._weights[0]
        of_inner = np.empty(inner.size)
        value = group_slopes(
            SIGMOID, factors, weights, sums, outer.size,
            np.exp(self._signs[1] * (scores[inner] - middle)), self._weights[1], of_inner,
            inner.size, high - low, np.empty(CHANNELS * TILE),
        )  # fmt: skip
        gradient = np.zeros(self._n_rows)
        gradient[outer] = self._signs[0] * self._weights[0] * sums[:-1]
        gradient[inner] = self._signs[1] * self._weights[1] * of_inner
        return float(value), gradient
