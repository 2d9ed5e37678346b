"""What rounding may hide from a certificate: bounds that are added to every duality gap.

Three things are rounded. The scores s = Xw; a point's multipliers are those of the scores as they
were rounded, so for a smooth loss an error e of the scores costs only

    L(s) - L(s - e) - e . dL(s - e) <= max phi'' sum_i weight_i e_i^2 .

The gradient c in score space, whose error `PairPoint.gradient_error` bounds; and the product X'c.
A sum over rows is at most a product of norms (Cauchy and Schwarz), so the norms of the columns,
read once, serve every point. One outlier makes a norm huge, though its row may have no part in
the gradient: where the norms do not settle a certificate, the rows themselves are read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.linalg.vectors import exact_sum
from everypair.pairs import PairPoint
from everypair.pairs.point import growth

Array = NDArray[np.float64]

NEGLIGIBLE_SHARE = 0.1
"""A bound on rounding is good enough at this share of the tolerance. Of a gap that rounding makes,
no more than this share is worth another step."""


def pulled(X: Matrix, gradient: Array, pulled_back: Array | None = None) -> Array:
    """``X'c``, the product as BLAS makes it where that is known already.

    The exact c sums to zero; what rounding leaves of the sum is taken off, because it would meet
    the means of columns that lie far from zero.
    """
    sizes = X.sizes
    if pulled_back is None:
        pulled_back = X.pull_back(gradient)
    left = exact_sum(gradient) if isinstance(gradient, np.ndarray) else gradient.sum()
    means = sizes.means if sizes.finite else np.where(np.isfinite(sizes.means), sizes.means, 0.0)
    return pulled_back - means * left


def pulled_error(X: Matrix, error: float, size: float) -> Array:
    """The error of `pulled` beside the exact multipliers, by coefficient, from the norms of c and
    of its error.

    Without the sum of c, its error meets the columns about their means.
    """
    sizes = X.sizes
    out = sizes.spreads * error
    out += sizes.lengths * (growth(X.chain) * size)
    return out if sizes.finite else np.where(np.isfinite(sizes.means), out, np.inf)


def pulled_error_by_rows(X: Matrix, loss: PairPoint, gradient: Array) -> Array:
    """`pulled_error` from one more pass over X: an outlier counts as far as its row does."""
    size = abs(gradient)
    of_rows = loss.gradient_row_errors(gradient) + growth(X.chain) * size
    of_means = growth(X.chain) * np.abs(X.sizes.means) * float(size.sum())
    return X.pull_back_distances(of_rows) + of_means


def hinge_error(
    of_score: float, n_rows: int, value: float, mass_short: Callable[[float], float], tol: float
) -> float:
    """A bound on the error of the hinge objective, which passes errors of the scores on as they
    are.

    Every pair may be off. Where that bound is a large share of the tolerance, only the pairs that
    may be short count: ``mass_short(x)`` is the weight of the pairs with a shortfall of at least x.
    """
    of_margin = 2 * of_score
    if of_margin > NEGLIGIBLE_SHARE * tol * value:
        of_margin *= mass_short(-of_margin)
    return of_margin + growth(n_rows) * value


def bent(steepest: float, score_error: float) -> float:
    """What errors of the scores, of this norm, cost a loss with second derivatives."""
    return steepest * score_error * score_error  # infinite where it is too large
