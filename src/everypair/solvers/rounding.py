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

from everypair._compiled import compensated_sum
from everypair.linalg.matrix import Matrix
from everypair.pairs import PairPoint
from everypair.pairs.point import growth, length

Array = NDArray[np.float64]

NEGLIGIBLE_SHARE = 0.1
"""A bound on rounding is good enough at this share of the tolerance. Of a gap that rounding makes,
no more than this share is worth another step."""


def score_error(X: Matrix, w: Array) -> float:
    """Of scores beside Xw: the norm over the rows. A solver's path may add as much again."""
    return 2 * growth(X.shape[1]) * float(np.sum(X.sizes.lengths * np.abs(w)))


def largest_score_error(X: Matrix, w: Array) -> float:
    """As `score_error`, of one row at most."""
    size = min(X.longest * length(w), float(np.sum(X.sizes.lengths * np.abs(w))))
    return 2 * growth(X.shape[1]) * size


def refreshed(
    X: Matrix, w: Array, scores: Array, product: Array, hinge: bool = False
) -> Array | None:
    """``product``, which is Xw computed anew, where the scores have drifted away from it.

    Steps add up scores without a product with X, and rounding adds up with them, far where the
    first coefficients were huge. The hinge takes the drift of any row as it is (`hinge_error`), a
    smooth loss the norm of all (`bent`).
    """
    if hinge:
        drift, most = float(np.max(np.abs(product - scores))), largest_score_error(X, w)
    else:
        drift, most = length(product - scores), score_error(X, w)
    return None if drift <= most / 2 else product  # a NaN has drifted


def pulled(X: Matrix, gradient: Array) -> Array:
    """``X'c``. The exact c sums to zero; what rounding leaves of the sum is taken off, because it
    would meet the means of columns that lie far from zero."""
    means, pulled_back = X.sizes.means, X.pull_back(gradient)
    left = compensated_sum(gradient) if isinstance(gradient, np.ndarray) else gradient.sum()
    return pulled_back - np.where(np.isfinite(means), means, 0.0) * left


def pulled_error(X: Matrix, loss: PairPoint, gradient: Array) -> Array:
    """Of `pulled` beside what the exact multipliers would give, by coefficient.

    Without the sum of c, its error meets the columns about their means.
    """
    means, lengths, spreads = X.sizes
    out = spreads * loss.gradient_error(gradient)
    out += lengths * growth(X.chain) * length(gradient)
    return np.where(np.isfinite(means), out, np.inf)


def pulled_error_by_rows(X: Matrix, loss: PairPoint, gradient: Array) -> Array:
    """As `pulled_error`, from one more pass over X: an outlier counts as far as its row does."""
    size = abs(gradient)
    of_rows = loss.gradient_row_errors(gradient) + growth(X.chain) * size
    of_means = growth(X.chain) * np.abs(X.sizes.means) * float(size.sum())
    return X.pull_back_distances(of_rows) + of_means


def hinge_error(
    X: Matrix, w: Array, value: float, mass_short: Callable[[float], float], tol: float
) -> float:
    """Of the objective of the hinge, which takes errors of the scores as they are.

    Of every pair at most; where that is no small share of the tolerance, of the pairs alone that
    may be short, whose weight ``mass_short`` says: of those with a shortfall of at least so much.
    """
    of_margin = 2 * largest_score_error(X, w)
    if of_margin > NEGLIGIBLE_SHARE * tol * value:
        of_margin *= mass_short(-of_margin)
    return of_margin + growth(X.shape[0]) * value


def bent(X: Matrix, loss: PairPoint, w: Array) -> float:
    """What errors of the scores cost a loss with second derivatives."""
    error = score_error(X, w)
    return loss.steepest() * error * error  # infinite where it is too large, unlike a power
