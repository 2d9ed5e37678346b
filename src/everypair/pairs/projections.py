"""What each row adds to the gradient of a smooth pair loss in the coefficients (Hájek projections).

    c_i = a_i sum_j b_j phi'(z_ij) (x_i - x_j)     of a positive row i,
    c_j = b_j sum_i a_i phi'(z_ij) (x_i - x_j)     of a negative row j,   z_ij = s_i - s_j .

Each class sums to the gradient. The gradient is a U-statistic, and its variance is, to first
order, that of these sums over the rows (Hájek 1968; van der Vaart 1998, chapter 12). Moments of
rows in the boxes of `boxes` give all of them in O(n p).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import COEFFICIENTS
from everypair.linalg.matrix import Matrix
from everypair.pairs.boxes import PER_UNIT
from everypair.pairs.smooth import SmoothPoint

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Projections:
    """The c of every row at one point; made a block of rows at a time by `of`."""

    def __init__(self, point: SmoothPoint, X: Matrix):
        self.point, self.X = point, X
        boxes, kernels = point.boxes, point.kernels
        self._gradient = point.gradient()
        _, (of_negatives, of_positives) = X.gram_and_boxes(
            point.curvature(), point.boxed_rows(), COEFFICIENTS, False
        )
        held_negative, held_positive = point.with_negatives, point.with_positives
        self._fields = np.stack(
            [
                # At negative rows sum_i a_i phi'(z_ij) x_i, at positive -sum_j b_j phi'(z_ij) x_j.
                kernels.slope_from_negatives.row_fields(
                    boxes.ids, held_positive, held_negative, of_positives
                ),
                -kernels.slope.row_fields(boxes.ids, held_negative, held_positive, of_negatives),
            ]
        )

    def of(self, rows: Index) -> Array:
        """The c of these rows, one line each."""
        point = self.point
        position = point.scores[rows] * PER_UNIT
        chebyshev = _chebyshev(2 * (position - np.floor(position)) - 1)
        fields = self._fields[point.pairs.positive[rows].astype(np.intp), point.boxes.slots[rows]]
        others = np.einsum("rk,rkp->rp", chebyshev, fields)
        others *= point.pairs.share[rows, None]
        own = self.X.written_out(rows) - self.X.centre
        own *= self._gradient[rows, None]
        return own + others


def _chebyshev(t: Array) -> Array:
    """``T_0(t) ... T_7(t)``, a line for each t."""
    out = np.empty((t.size, COEFFICIENTS))
    out[:, 0], out[:, 1] = 1.0, t
    for k in range(2, COEFFICIENTS):
        out[:, k] = 2 * t * out[:, k - 1] - out[:, k - 2]
    return out
