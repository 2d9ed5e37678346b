"""AUC-RLS in coefficients of the rows, eq. (8) of Pahikkala et al. 2008, without L.

With weights D_i = B a_i for positives and A b_j for negatives, both classes weigh A B, and

    sum_ij a_i b_j (f_i - f_j - 2)^2 = min_c sum_k D_k (f_k + c - y_k)^2
                                       + A B / 2 (mean_P f - mean_N f - 2)^2 .

The first part is kernel ridge regression of y = +-1 with an intercept; the second pulls along
the same function, so it only changes its length. Move the origin of the kernel to the midpoint
of the two class means: the intercept is zero, and the solution of eq. (8) is

    A = 4 / (2 + t) (K + lam D^-1)^-1 y ,    t = mean_P f - mean_N f of f = K (K + lam D^-1)^-1 y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from everypair.rls.primal import CERTAIN, relative_gap

Array = NDArray[np.float64]

BLOCK_ROWS = 64


class DualSolution(NamedTuple):
    coef: Array
    """One coefficient a row, summing to zero."""
    scores: Array
    """Of the training rows, zero at the midpoint of the class means."""
    midpoint: float
    """What is to be subtracted from ``sum_k coef_k k(x, x_k)`` to get such scores."""
    objective: float
    gap: float


class PairWeights:
    """Weights of the rows, all positive, and what they make of the pairs."""

    def __init__(self, positive: NDArray[np.bool_], sample_weight: Array | None = None):
        self.positive = positive
        self.rows = np.ones(positive.size) if sample_weight is None else sample_weight
        self.of_positives = float(self.rows[positive].sum())
        self.of_negatives = float(self.rows[~positive].sum())
        self.of_pairs = self.of_positives * self.of_negatives
        self.y = np.where(positive, 1.0, -1.0)

    @property
    def D(self) -> Array:
        return self.rows * np.where(self.positive, self.of_negatives, self.of_positives)

    def class_means(self, scores: Array) -> tuple[float, float]:
        weighted = self.rows * scores
        return (
            float(weighted[self.positive].sum()) / self.of_positives,
            float(weighted[~self.positive].sum()) / self.of_negatives,
        )

    def loss(self, scores: Array) -> float:
        """``sum_ij a_i b_j (f_i - f_j - 2)^2`` by class variances and means."""
        high, low = self.class_means(scores)
        spread = float(self.D @ (scores - np.where(self.positive, high, low)) ** 2)
        return spread + self.of_pairs * (high - low - 2) ** 2

    def apply_L(self, scores: Array) -> Array:
        """``L f`` for the matrix of eq. (9)."""
        high, low = self.class_means(scores)
        return self.D * (scores - np.where(self.positive, low, high))


def centre_kernel(K: Array, share: Array, out: Array, lift: bool = False) -> Array:
    """K with its origin moved to the mean of the rows weighted by ``share``; returns K share.

    ``lift`` adds a constant of the size of the diagonal. Coefficients that sum to zero do not
    see it, and without it the matrix would be singular along ``share``. ``out`` may be K.
    """
    towards = K @ share
    constant = float(share @ towards)
    if lift:
        constant += max(0.0, float(np.mean(K.diagonal() - 2 * towards + constant)))
    for begin in range(0, K.shape[0], BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        np.subtract(K[rows], towards, out=out[rows])
        out[rows] -= (towards[rows] - constant)[:, None]
    return towards


def solve(K: Array, weights: PairWeights, lam: float, overwrite: bool = False) -> DualSolution:
    """The solution of eq. (8); for lam = 0 the one of least norm."""
    D = weights.D
    centred = K if overwrite else np.empty_like(K, order="C")
    towards = centre_kernel(K, D / (2 * weights.of_pairs), centred, lift=True)
    diagonal = centred.diagonal().copy()
    product = _Product(centred, diagonal)
    solution = None
    if lam > 0:
        np.einsum("kk->k", centred)[:] += lam / D
        # LAPACK reads columns: the transpose's lower triangle is the upper one of `centred`.
        # The other triangle keeps K for the products below.
        factor, failed = dpotrf(centred.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            coef = dpotrs(factor, weights.y, lower=1)[0]
            solution = _judged(_stretched(coef, weights, product), weights, lam, product, towards)
    if solution is None or solution.gap > CERTAIN:
        np.einsum("kk->k", centred)[:] = diagonal
        solution = _by_eigenvectors(centred, weights, lam, product, towards)
    return solution


def _by_eigenvectors(
    K: Array, weights: PairWeights, lam: float, product: _Product, towards: Array
) -> DualSolution:
    """With ``D^1/2 K D^1/2 = V diag(l) V'``, for singular K and little or no lam.

    The coefficients leave out what K maps to zero: the function is that of eq. (8), without
    the large terms ``(residual) D / lam`` that cancel in it. Only K's lower triangle is read.
    """
    root = np.sqrt(weights.D)
    values, vectors = scaled_eigenvectors(np.tril(K), root)
    coef = root * (vectors @ ((vectors.T @ (root * weights.y)) / (values + lam)))
    coef = _stretched(coef, weights, product)
    return _judged(coef, weights, lam, product, towards, None if lam > 0 else vectors)


def scaled_eigenvectors(lower: Array, root: Array) -> tuple[Array, Array]:
    """Positive eigenvalues and eigenvectors of ``diag(root) K diag(root)``; uses up ``lower``."""
    lower *= root
    lower *= root[:, None]
    values, vectors = np.linalg.eigh(lower, UPLO="L")
    largest = max(values[-1], -values[0])
    rounding = values.size * np.finfo(float).eps * largest
    if -values[0] > max(rounding, 1e-6 * largest):
        raise ValueError(
            "The kernel matrix is not positive semi-definite: its eigenvalues range from "
            f"{values[0]:.3g} to {values[-1]:.3g}. Use another kernel or a larger lam."
        )
    kept = values > max(rounding, -values[0])
    return values[kept], vectors[:, kept]


class _Product:
    """``K v`` from the lower triangle (in C order) and the diagonal of K."""

    def __init__(self, matrix: Array, diagonal: Array):
        self._matrix, self._diagonal = matrix, diagonal

    def __call__(self, vector: Array) -> Array:
        correction = self._diagonal - self._matrix.diagonal()
        return np.asarray(dsymv(1.0, self._matrix.T, vector, lower=0) + correction * vector)


def _stretched(coef: Array, weights: PairWeights, product: _Product) -> Array:
    coef = coef - coef.mean()  # zero but for rounding
    high, low = weights.class_means(product(coef))
    return np.asarray(4 / (2 + high - low) * coef)


def _judged(
    coef: Array,
    weights: PairWeights,
    lam: float,
    product: _Product,
    towards: Array,
    range_: Array | None = None,
) -> DualSolution:
    """The objective and its relative duality gap ``|grad|^2 / (4 lam)`` in the kernel's norm."""
    scores = product(coef)
    objective = weights.loss(scores) + lam * float(coef @ scores)
    gradient = weights.apply_L(scores - weights.y) + lam * coef
    if range_ is None:
        excess = float(gradient @ product(gradient)) / lam
    else:
        excess = float(np.sum((range_.T @ (gradient / np.sqrt(weights.D))) ** 2))
    gap = relative_gap(excess, objective, weights.of_pairs)
    return DualSolution(coef, scores, float(towards @ coef), objective, gap)
