"""X as the solvers see it: products with vectors and sums over rows, never a whole copy.

Dense or sparse, float32 or float64, any memory order. Scores and gradients are float64
whatever X is: float32 rows are widened a block at a time, inside the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.linalg.class_moments import ClassMoments
from everypair.linalg.column_sizes import ProductBounds, Sizes
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.row_sums import BoxedRows, Windows
from everypair.linalg.sparse import SparseMatrix

Array = NDArray[np.float64]
Index = NDArray[np.intp]

COPIED_SHARE = 0.25
"""Rows that alone count in a sum are copied where they are at most this share of all."""


class Matrix(Protocol):
    """What a solver or a pair loss may ask of X; nobody asks which kind it is."""

    shape: tuple[int, int]
    by_rows: bool
    """Whether rows can be read without a copy of X."""
    differences_pay: bool
    """Whether `gram_of_differences` is worth its price in a solver."""
    in_order_only: bool
    """Whether rows are read in their own order alone: then `gram_of_windows` is there, and
    `window_cross` is not."""
    keeps_products: bool
    """Whether scores from `dot` can be used more than once."""

    @property
    def sample_hessian_pays(self) -> bool:
        """Whether the Hessian of a sample, which serves all rows, is worth its price however many
        columns there are."""
        ...

    @property
    def nbytes(self) -> int: ...
    @property
    def hessian_room(self) -> float:
        """Bytes that the sums behind a Hessian may take."""
        ...

    @property
    def rough(self) -> Matrix:
        """What products whose last digits do not matter may use instead."""
        ...

    @property
    def products_per_hessian(self) -> float:
        """Hessian products that cost about as much as a whole Hessian."""
        ...

    @property
    def covariance_pays(self) -> bool:
        """Whether the covariance of the columns is worth its price."""
        ...

    @property
    def centre(self) -> Array:
        """A point amid each column's values. Pair sums do not see it; rounding does."""
        ...

    @property
    def chain(self) -> float:
        """Additions behind an entry of `pull_back`."""
        ...

    @property
    def sizes(self) -> Sizes: ...
    @property
    def rounding_bounds(self) -> ProductBounds | None:
        """Of what products round by, where `sizes` and `longest` would tell of much more."""
        ...

    @property
    def longest(self) -> float:
        """The largest Euclidean norm of a row."""
        ...

    @property
    def zero_scores(self) -> Array:
        """The scores of w = 0."""
        ...

    def dot(self, vector: Array, /) -> Array:
        """``X @ vector``."""
        ...

    def dot_and_sizes(self, vector: Array) -> Array:
        """`dot`, with `sizes` from the same pass over X where that saves one."""
        ...

    def dot_rows(self, rows: Index, coefs: Array, origin: Array) -> Array:
        """``(X[rows] - origin) @ coefs``, for several columns of coefficients."""
        ...

    def pull_back(self, weights: Array, /) -> Array:
        """``X.T @ weights``: from a gradient in score space to one in the coefficients."""
        ...

    def pull_back_moments(self, weights: Array) -> Array:
        """``[X.T @ weights, (X * X).T @ weights]`` in one pass."""
        ...

    def pull_back_distances(self, weights: Array) -> Array:
        """``sum_i weights_i |x_ij - mean_j|`` at most."""
        ...

    def centred_moments(self, weights: Sequence[Array]) -> tuple[Array, Array]:
        """``sum_i w_i (x_i - centre)`` and the sums of the squares, a row for each w."""
        ...

    def class_moments(self, members: Index, weights: Array | None) -> ClassMoments:
        """Weight, mean and scatter of these rows."""
        ...

    def gram(self, weights: Array) -> Array:
        """``(X - centre)' diag(weights) (X - centre)``."""
        ...

    def gram_and_sums(self, weights: Array, others: Sequence[Array]) -> tuple[Array, Array]:
        """`gram`, and ``(X - centre)' other`` for each of the others."""
        ...

    def gram_and_boxes(
        self, weights: Array, boxed: BoxedRows, n_terms: int, rough: bool
    ) -> tuple[Array, Array]:
        """`gram`, and ``sum_i w_i T_k(t_i) (x_i - centre)`` over the rows of each class and box.

        The latter has the shape (2, n_boxes, n_terms, n_columns), T_k being Chebyshev's
        polynomials. Where ``rough``, few digits are enough, and the sums may overflow.
        """
        ...

    def window_cross(self, windows: Windows) -> Array:
        """``sum_k a_k (x_k - centre) (sum_l b_l (x_l - centre))'``, l in the window of target k."""
        ...

    def gram_of_differences(self, first: Index, second: Index, weights: Array) -> Array:
        """``sum_k weights_k d_k d_k'`` with ``d_k = x_first[k] - x_second[k]``."""
        ...

    def row_products(self, rows: Index, others: Index, unit: float | None = None) -> Array:
        """``(X[rows] - c)(X[others] - c)'``, c the means; X is read by some columns at a time.

        With a ``unit``: those of X / unit, in single precision.
        """
        ...

    def take(self, rows: Index) -> Matrix:
        """A copy of these rows."""
        ...

    def written_out(self, rows: Index) -> Array:
        """These rows as an array in float64, row after row."""
        ...

    def careful_spreads(self, weight: Array) -> Array:
        """Standard deviations of columns that hardly vary, for weights that sum to one."""
        ...

    def columns(self, columns: Index) -> Matrix:
        """A copy of these columns: for a few of them."""
        ...


def too_large(what: str) -> ValueError:
    return ValueError(
        f"The features are too large for float64: {what}. "
        "Rescale X, for example with StandardScaler (MaxAbsScaler for sparse X)."
    )


def rows_that_count(
    X: Matrix, weights: Array, share: float | None = None
) -> tuple[Matrix, Index] | None:
    """A copy of the rows whose weight is not zero, and their numbers; None where they are more
    than this ``share``, `COPIED_SHARE` unless told.

    The copy has X's centre.
    """
    if X.in_order_only or not X.by_rows:
        return None
    most = COPIED_SHARE if share is None else share
    if np.count_nonzero(weights) > most * X.shape[0]:
        return None
    rows = np.flatnonzero(weights)
    part = X.take(rows)
    vars(part)["centre"] = X.centre
    return part, rows


def dot_each(X: Matrix, coefs: Array) -> Array:
    """``[X @ coef, ...]``, a row for each of the coefs; dense X is read once for all."""
    if type(X) is DenseMatrix:
        return X.dot_each(coefs)
    return np.stack([X.dot(coef) for coef in coefs])


def pull_back_each(X: Matrix, weights: Array) -> Array:
    """``[X.T @ weight, ...]``, a row for each of the weights; dense X is read once for all."""
    if type(X) is DenseMatrix:
        return X.pull_back_each(weights)
    return np.stack([X.pull_back(weight) for weight in weights])


def as_matrix(X: Any) -> Matrix:
    """Wrap a validated X for a fit: an array, or a CSR or CSC matrix."""
    if sparse.issparse(X):
        return SparseMatrix(X)
    dense = DenseMatrix(X)
    dense.in_a_fit = True
    return dense


def summed(X: Any) -> Any:
    """X, or a copy of a sparse X that holds an entry in several parts: with the parts added up.

    Entries out of order do no harm, and cost no copy.
    """
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    if not X.has_sorted_indices:
        from everypair import _compiled

        last_seen = np.full(X.shape[1 if X.format == "csr" else 0], -1, dtype=np.intp)
        if not _compiled.csr_has_duplicates(X.indices, X.indptr, last_seen):
            return X
    return canonical(X)


def canonical(X: Any) -> Any:
    """X, or a copy of a sparse X whose entries come in parts or out of order: added up, in order.

    As `summed`, without compiled code: for predictions.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
