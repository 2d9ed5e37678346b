"""The dual set of the hinge, and the point of it that is nearest to a vector.

With ``r = s - [positive]`` the hinge over all pairs is ``sum_ij a_i b_j max(0, r_j - r_i)``, the
largest ``c . r`` over the c that multipliers ``0 <= theta_ij <= 1`` make: ``c_i = -a_i sum_j b_j
theta_ij`` of a positive, ``c_j = b_j sum_i a_i theta_ij`` of a negative. It is the Lovasz extension
of the cut ``F(A) = a(P \\ A) b(N & A)``. So its proximal map is found by cuts of the two sorted
classes into groups of one level each (Bach 2013, section 9), and Moreau's decomposition gives the
nearest c:

    min_r sum_ij a_i b_j max(0, r_j - r_i) + 1/2 sum_k d_k (r_k - z_k)^2 ,    c = d (z - r) .

d is the share of a row times a number for its class: then the order of z is that of r in each
class, which a cut needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import project_rows
from everypair.linalg.order import descending
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Projected(NamedTuple):
    """A point c of the dual set, and the ties that r has there."""

    gradient: Array
    """c, by row: a gradient of the hinge in score space."""
    tie: Index
    """Of each row; -1 without one."""
    levels: Array
    """What r is in each tie."""
    lower: Array
    upper: Array
    """Of each row's multiplier while the ties are these; equal where it has none."""


def project(pairs: Rows, ahead: Array, stiffness: Array) -> Projected:
    """The c nearest to ``d ahead``, d being the share of each row times the stiffness of its
    class, by ``sum (c - d ahead)^2 / d``; without groups."""
    share, n_rows = pairs.share, pairs.n_rows
    (of_x, x), (of_y, y) = (descending(ahead, rows) for rows in pairs.classes)
    a, b = share[of_x], share[of_y]
    low_x, high_x = np.empty((2, x.size))
    low_y, high_y = np.empty((2, y.size))
    tie_x, tie_y = np.empty(x.size, dtype=np.intp), np.empty(y.size, dtype=np.intp)
    levels = np.zeros(min(x.size, y.size) + 1)  # the last one is for rows without a tie
    n_ties = project_rows(
        x, a, y, b, *stiffness, low_x, high_x, low_y, high_y, tie_x, tie_y, levels
    )
    gradient, lower, upper = np.empty((3, n_rows))
    tie = np.empty(n_rows, dtype=np.intp)
    for rows, z, stiff, low, high, number in (
        (of_x, x, stiffness[0] * a, low_x, high_x, tie_x),
        (of_y, y, stiffness[1] * b, low_y, high_y, tie_y),
    ):
        gradient[rows] = np.clip(stiff * (z - levels[number]), low, high)
        tie[rows], lower[rows], upper[rows] = number, low, high
    return Projected(gradient, tie, levels[:n_ties], lower, upper)


def all_tied(pairs: Rows) -> Projected:
    """The ties of equal scores halfway between the two classes of r, and c = 0."""
    share, positive, zero = pairs.share, pairs.positive, np.zeros(pairs.n_rows)
    return Projected(
        zero, np.zeros(pairs.n_rows, dtype=np.intp), np.array([-0.5]),
        np.where(positive, -share, 0.0), np.where(positive, 0.0, share),
    )  # fmt: skip
