"""What a solver may ask of a pair loss at one vector of scores."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_vector import BlockVector
from everypair.linalg.matrix import Matrix
from everypair.linalg.threads import over_rows, used_threads
from everypair.linalg.vectors import centred

Array = NDArray[np.float64]

FULL_ACCURACY = 1e-11
"""Accuracy of a Hessian when nothing rougher is asked for, relative to its largest entry."""

UNIT_ROUNDOFF = 2.0**-53
GROWTH_FACTOR = 4.0


def growth(terms: float) -> float:
    """Relative rounding of a sum of this many terms: ``4 sqrt(terms)`` unit roundoffs.

    Roundings partly cancel (Higham & Mary 2019). Spread evenly, with a variance of a third, more
    than lambda sqrt(terms) are left with a probability of at most ``2 exp(-3 lambda^2 / 2)``, for
    lambda = 4 about 1e-10.
    """
    return GROWTH_FACTOR * math.sqrt(terms) * UNIT_ROUNDOFF


def margin_rounding(low: float, high: float, most: float = np.inf) -> float:
    """What rounding may add to a shortfall ``1 - (s_i - s_j)``, up to ``most``, of scores that
    reach from ``low`` to ``high``."""
    return UNIT_ROUNDOFF * (1 + min(high - low, 1 + most))


class PairPoint(Protocol):
    """A pair loss at the scores s, ready to be summed over every pair.

    ``dual_value`` is ``sum_ij a_i b_j (-phi*(-a_ij))`` at ``a_ij = -phi'(z_ij)``, the dual
    objective's part that does not see the penalty; only convex losses have one.
    """

    pairs: Any
    """What the sum goes over: `Rows`, or a list of pairs."""

    def value(self) -> float: ...
    def gradient(self) -> Array: ...
    def curvature(self) -> Array:
        """``d_i``: the part of ``(H v)_i`` that multiplies v_i itself."""
        ...

    def product(self, vector: Array) -> Array: ...
    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        """``X' H X``; a rougher ``accuracy`` may come cheaper."""
        ...

    def hessian_bytes(self, n_columns: int) -> int:
        """About the memory that `hessian` takes beyond its result."""
        ...

    def dual_value(self) -> float: ...
    def gradient_error(self, size: float) -> float:
        """A bound on the norm of what rounding has added to a gradient of norm ``size``."""
        ...

    def gradient_row_errors(self, gradient: Array) -> Array:
        """The error of each entry of ``gradient``, which is this point's own."""
        ...

    def steepest(self) -> float:
        """A bound on an entry of `curvature`: the largest phi'' times the largest weight."""
        ...


LARGEST_SCORE = 1e300


def extent(values: Array) -> tuple[float, float]:
    """The least and the largest."""
    if isinstance(values, BlockVector):
        return values.extent
    ends = over_rows(
        lambda start, stop: (values[start:stop].min(), values[start:stop].max()),
        values.size,
        values.size,
    )
    low, high = ends[0]
    for others in ends[1:]:  # by NumPy, which keeps NaN where Python's own may lose it
        low, high = np.minimum(low, others[0]), np.maximum(high, others[1])
    return float(low), float(high)


def usable(scores: Array) -> bool:
    """Scores whose differences stay finite; the walks and boxes need no less."""
    low, high = extent(scores)
    return low > -LARGEST_SCORE and high < LARGEST_SCORE


def refuse_unusable(scores: Array) -> None:
    if not usable(scores):
        low, high = extent(scores)
        raise ValueError(
            f"The scores reach from {low:g} to {high:g}: they must be finite and lie within "
            f"+-{LARGEST_SCORE:g}."
        )


def fenchel_dual(value: float, pairs: Any, scores: Array, gradient: Array) -> float:
    """``sum (phi(z) - z phi'(z)) = L(s) - s . dL/ds``, for losses with a slope everywhere.

    The gradient sums to zero, in each group too, so the scores may be centred first, which keeps
    a large common offset out of the rounding.
    """
    return value - float(centred(pairs, scores) @ gradient)


def gram_bytes(n_columns: int) -> int:
    """Bytes of a Gram matrix, of another beside it, and of each thread's part."""
    return 8 * n_columns**2 * (2 + used_threads())
