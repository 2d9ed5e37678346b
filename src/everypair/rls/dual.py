"""AUC-RLS in coefficients of the rows, eq. (8) of Pahikkala et al. 2008, without L.

With weights a_i of the positives and b_j of the negatives, each class summing to one, and D the
weights of all rows,

    sum_ij a_i b_j (f_i - f_j - 1)^2 = min_c sum_k D_k (f_k + c - y_k / 2)^2
                                       + 1 / 2 (mean_P f - mean_N f - 1)^2 .

The first part is kernel ridge regression of y / 2 = +-1/2 with an intercept; the second pulls
along the same function, so it only changes its length. Move the origin of the kernel to the
midpoint of the two class means: the intercept is zero, and the solution of eq. (8) is

    A = 2 / (2 + t) (K + ridge D^-1)^-1 y ,  t = mean_P f - mean_N f,  f = K (K + ridge D^-1)^-1 y.

The paper has the sum over pairs, ridge = lam / (n+ n-), and labels 2 apart: its A is twice this.
All of it is computed in units of r = sqrt(D): scores r f, coefficients A / r, kernel r_i K_ij r_j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from everypair.linalg.low_rank import MOST_NEGATIVE
from everypair.rls.primal import CHOLESKY_GAP, relative_gap
from everypair.rows import Rows

Array = NDArray[np.float64]

BLOCK_ROWS = 64


class DualSolution(NamedTuple):
    coef: Array
    """One coefficient per row; they sum to zero."""
    scores: Array
    """Of the training rows, zero at the midpoint of the class means."""
    midpoint: float
    """What is to be subtracted from ``sum_k coef_k k(x, x_k)`` to get such scores."""
    objective: float
    gap: float


class PairWeights:
    """The matrix L of eq. (9) by the shares of the rows, which are all positive."""

    def __init__(self, rows: Rows):
        self.share = rows.share
        self.root = np.sqrt(self.share)
        self.u = self.root / np.sqrt(2)
        self.y = self.root * np.where(rows.positive, 1.0, -1.0)
        """The labels, and the difference of the class means: ``t = y . (r f)``."""

    def apply_L(self, scores: Array) -> Array:
        """``L f`` for the matrix of eq. (9) over the number of pairs: ``I - u u' + y y' / 2``."""
        out = scores + self.y * (float(self.y @ scores) / 2)
        out -= self.u * float(self.u @ scores)
        return np.asarray(out)

    def mean_loss(self, scores: Array) -> float:
        """``sum_ij a_i b_j (f_i - f_j - 1)^2``."""
        short = scores - self.y / 2
        short -= self.u * float(self.u @ short)
        return float(short @ short) + float(self.y @ short) ** 2 / 2


def centre_kernel(K: Array, root: Array, out: Array, lift: bool = False) -> Array:
    """``root_i K_ij root_j`` with the origin at the rows' mean by weights ``root^2``.

    Returns K times the weights' shares. ``lift`` adds a constant of the size of the diagonal to
    K. Coefficients that sum to zero do not see it, and without it the matrix would be singular
    along ``root``. ``out`` may be K.
    """
    share = root**2 / (root @ root)
    towards = K @ share
    constant = float(share @ towards)
    if lift:
        constant += max(0.0, float(np.mean(K.diagonal() - 2 * towards + constant)))
    for begin in range(0, K.shape[0], BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        block = np.subtract(K[rows], towards, out=out[rows])
        block -= (towards[rows] - constant)[:, None]
        block *= root
        block *= root[rows, None]
    return towards


def solve(K: Array, weights: PairWeights, ridge: float, overwrite: bool = False) -> DualSolution:
    """The solution of eq. (8); for ridge = 0 the one of least norm."""
    size = float(np.max(np.abs(K.diagonal()), initial=0.0))
    centred = K if overwrite else np.empty_like(K, order="C")
    towards = centre_kernel(K, weights.root, centred, lift=True)
    diagonal = centred.diagonal().copy()
    product = _Product(centred, diagonal)
    solution = None
    if ridge > 0:
        np.einsum("kk->k", centred)[:] += ridge
        # LAPACK reads columns: the transpose's lower triangle is the upper one of `centred`.
        # The other triangle keeps K for the products below.
        factor, failed = dpotrf(centred.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            coef = _stretched(dpotrs(factor, weights.y, lower=1)[0], weights, product)
            solution = _judged(coef, weights, ridge, product, towards)
    if solution is None or not solution.gap <= CHOLESKY_GAP:
        np.einsum("kk->k", centred)[:] = diagonal
        eigen = scaled_eigenvectors(np.tril(centred), weights.root, size)
        # The coefficients leave out what K maps to zero: the function is that of eq. (8),
        # without the large terms (residual) D / ridge that cancel in it.
        along = (eigen.vectors.T @ weights.y) / (eigen.values + ridge)
        coef = _stretched(eigen.vectors @ along, weights, product)
        solution = _judged(coef, weights, ridge, product, towards, eigen)
    return solution


class Eigen(NamedTuple):
    """Eigenvalues and vectors of a kernel matrix that is positive semi-definite up to rounding."""

    values: Array
    vectors: Array
    doubtful: tuple[Array, Array]
    """Values above rounding but not above the size of the most negative one, and their vectors."""


def scaled_eigenvectors(lower: Array, root: Array, size: float) -> Eigen:
    """Eigenvectors of a centred matrix ``root_i K_ij root_j``; ``K`` had this size before."""
    values, vectors = np.linalg.eigh(lower, UPLO="L")
    largest = float(np.max(np.abs(values), initial=0.0))
    rounding = np.finfo(float).eps * max(values.size * largest, 4 * size * float(root @ root))
    rounding += values.size * float(np.finfo(float).smallest_subnormal)
    if -values[0] > max(rounding, MOST_NEGATIVE * largest):
        raise ValueError(
            "The kernel matrix is not positive semi-definite: its eigenvalues range from "
            f"{values[0]:.3g} to {values[-1]:.3g}. Use another kernel or a larger alpha."
        )
    kept = values > max(rounding, -values[0])
    doubtful = ~kept & (np.abs(values) > rounding)
    return Eigen(values[kept], vectors[:, kept], (values[doubtful], vectors[:, doubtful]))


class _Product:
    """``K v`` from the lower triangle (in C order) and the diagonal of K."""

    def __init__(self, matrix: Array, diagonal: Array):
        self._matrix, self._diagonal = matrix, diagonal

    def __call__(self, vector: Array) -> Array:
        correction = self._diagonal - self._matrix.diagonal()
        return np.asarray(dsymv(1.0, self._matrix.T, vector, lower=0) + correction * vector)


def _stretched(coef: Array, weights: PairWeights, product: _Product) -> Array:
    coef = coef - weights.u * float(weights.u @ coef)  # zero but for rounding
    return np.asarray(2 / (2 + float(weights.y @ product(coef))) * coef)


def _judged(
    coef: Array,
    weights: PairWeights,
    ridge: float,
    product: _Product,
    towards: Array,
    eigen: Eigen | None = None,
) -> DualSolution:
    """The objective and how far it may be above its minimum.

    With half the gradient g in the scores, and as L is at least I on what the kernel moves,
    ``J - min J <= sum_k l_k / (l_k + ridge) (V_k . g)^2``; without the eigenvectors, by
    ``l / (l + ridge) <= min(1, l / ridge)``.
    """
    scores = product(coef)
    objective = weights.mean_loss(scores) + ridge * float(coef @ scores)
    gradient = weights.apply_L(scores - weights.y / 2) + ridge * coef
    if eigen is None:
        excess = float(gradient @ gradient)
        excess = min(excess, abs(float(gradient @ product(gradient))) / ridge)
    else:
        excess = 0.0
        for values, vectors in ((eigen.values, eigen.vectors), eigen.doubtful):
            share = np.abs(values) / (np.abs(values) + ridge)
            excess += float(share @ (vectors.T @ gradient) ** 2)
    return DualSolution(
        weights.root * coef,
        scores / weights.root,
        float(towards @ (weights.root * coef)),
        objective,
        relative_gap(excess, objective),
    )
