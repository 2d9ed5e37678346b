"""What a solver may ask of a pair loss at one vector of scores."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix, SparseMatrix
from everypair.linalg.threads import over_rows, used_threads

Array = NDArray[np.float64]

EXACT = 1e-11
"""Accuracy of a Hessian when nothing rougher is asked for, relative to its largest entry."""

UNIT_ROUNDOFF = 2.0**-53
CONFIDENCE = 4.0


def growth(terms: float) -> float:
    """Relative rounding of a sum of so many terms: ``4 sqrt(terms)`` unit roundoffs.

    Roundings partly cancel (Higham & Mary 2019). Spread evenly, with a variance of a third, more
    than lambda sqrt(terms) are left with a probability of at most ``2 exp(-3 lambda^2 / 2)``, for
    lambda = 4 about 1e-10.
    """
    return CONFIDENCE * float(np.sqrt(terms)) * UNIT_ROUNDOFF


def length(values: Array) -> float:
    """The Euclidean norm, without BLAS: its threads may hang where another thread forks."""
    return float(np.sqrt(np.einsum("i,i", values, values)))


def margin_rounding(scores: Array, most: float = np.inf) -> float:
    """What rounding may add to a shortfall ``1 - (s_i - s_j)`` of these scores, up to ``most``."""
    low, high = extent(scores)
    return UNIT_ROUNDOFF * (1 + min(high - low, 1 + most))


class PairPoint(Protocol):
    """A pair loss at the scores s, ready to be summed over every pair.

    ``dual_value`` is ``sum_ij a_i b_j (-phi*(-a_ij))`` at ``a_ij = -phi'(z_ij)``, the dual
    objective's part that does not see the penalty; only convex losses have one.
    """

    def value(self) -> float: ...
    def gradient(self) -> Array: ...
    def curvature(self) -> Array:
        """``d_i``: the part of ``(H v)_i`` that multiplies v_i itself."""
        ...

    def product(self, vector: Array) -> Array: ...
    def hessian(self, X: Matrix, accuracy: float = EXACT) -> Array:
        """``X' H X``; a rougher ``accuracy`` may come cheaper."""
        ...

    def hessian_bytes(self, n_columns: int) -> int:
        """About the memory that `hessian` takes beyond its result."""
        ...

    def dual_value(self) -> float: ...
    def gradient_error(self, gradient: Array) -> float:
        """A bound on the norm of what rounding has added to ``gradient``, its own."""
        ...

    def gradient_row_errors(self, gradient: Array) -> Array:
        """The same by entry."""
        ...

    def steepest(self) -> float:
        """A bound on an entry of `curvature`: the largest phi'' times the largest weight."""
        ...


LARGEST_SCORE = 1e300


def extent(values: Array) -> tuple[float, float]:
    """The least and the largest."""
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


def fenchel_dual(value: float, scores: Array, gradient: Array) -> float:
    """``sum (phi(z) - z phi'(z)) = L(s) - s . dL/ds``, for losses with a slope everywhere.

    The gradient sums to zero, so the scores may be centred first, which keeps a large
    common offset out of the rounding.
    """
    return value - float((scores - scores.mean()) @ gradient)


def add_weighted_gram(out: Array, rows: Array, weights: Array) -> None:
    """``out += rows' diag(weights) rows``; the rows are used up."""
    if weights.min() >= 0:
        rows *= np.sqrt(weights).astype(rows.dtype)[:, None]
        out += rows.T @ rows  # one operand twice: BLAS does half the work
    else:
        out += rows.T @ (rows * weights[:, None])


SCATTERED_SHARE = 0.25
"""Rows with so few non-zeros are multiplied entry by entry, fuller ones written out for BLAS."""


def weighted_gram(X: Matrix, weights: Array) -> Array:
    """``(X - centre)' diag(weights) (X - centre)``."""
    n_columns = X.shape[1]
    if isinstance(X, SparseMatrix) and X.X.nnz <= SCATTERED_SHARE * X.shape[0] * n_columns:
        return X.gram(weights)
    (gram,) = X.centred_sums(
        [(n_columns, n_columns)],
        lambda rows, block, gram: add_weighted_gram(gram, block, weights[rows]),
    )
    return gram


def gram_bytes(n_columns: int) -> int:
    """Of such a matrix, of another beside it, and of each thread's part."""
    return 8 * n_columns**2 * (2 + used_threads())


class TakesColumns(Protocol):
    """A point that multiplies several columns by H at once."""

    def products(self, columns: Array) -> Array: ...


COLUMNS_BYTES = 2**24
"""Of the columns of a sparse matrix that are written out at a time."""


def hessian_by_products(point: TakesColumns, X: SparseMatrix) -> Array:
    """``X' H X``, a few columns of X at a time."""
    n_rows, n_columns = X.shape
    by_columns, out = X.X.tocsc(), np.empty((n_columns, n_columns))
    step = max(1, COLUMNS_BYTES // (8 * n_rows))
    for begin in range(0, n_columns, step):
        some = slice(begin, begin + step)
        columns = by_columns[:, some].toarray(order="C").astype(np.float64, copy=False)
        columns -= columns.mean(axis=0)  # H does not see constants, but rounding would
        out[:, some] = X.X.T @ point.products(columns)
    return (out + out.T) / 2
