"""The training kernel of an estimator: weights count in gamma, an offset of the data does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from everypair.kernels import BLOCK_ENTRIES, Kernel, TrainingKernel
from everypair.matrix import CENTRE_ROWS

Array = NDArray[np.float64]


def training_kernel(estimator: Any, X: Any, sample_weight: Array | None) -> TrainingKernel:
    """`Kernel` from the parameters of that name; ``gamma="scale"`` heeds the weights."""
    function, gamma = estimator.kernel, estimator.gamma
    if function == "precomputed":
        return Kernel(function).on(X)
    if gamma == "scale" and sample_weight is not None:
        gamma = weighted_scale(X, sample_weight)
    kernel = Kernel(function, gamma, estimator.degree, estimator.coef0).on(X)
    if function == "rbf" and not sparse.issparse(X):
        gamma = float(kernel.kernel.gamma)
        return UnitDiagonal(Kernel(CentredRBF(X, gamma), gamma), X)
    return kernel


class UnitDiagonal(TrainingKernel):
    """k(x, x) = 1, which need not be computed."""

    def diagonal(self) -> Array:
        return np.ones(self.n_rows)


class CentredRBF:
    """``exp(-gamma |x - z|^2)``, both moved to a centre first.

    Squared distances come from products of the rows, which at an offset of 1e6 have no digits
    left for the distances: the matrix would not even be positive semi-definite.
    """

    def __init__(self, X: NDArray[Any], gamma: float):
        step = max(1, X.shape[0] // CENTRE_ROWS)
        self.centre = np.asarray(X[::step].mean(axis=0, dtype=np.float64))
        self.gamma = gamma

    def __call__(self, X: Any, Z: Any) -> Array:
        if sparse.issparse(X):  # new rows may come sparse
            X = X.toarray()
        return np.asarray(rbf_kernel(X - self.centre, Z - self.centre, gamma=self.gamma))


def weighted_scale(X: Any, weight: Array) -> float:
    """1 / (columns x variance of X's entries), each row counted as often as it weighs."""
    n_rows, n_columns = X.shape
    weight = weight / weight.sum()
    X = X.tocsr() if sparse.issparse(X) else X
    mean, square = 0.0, 0.0
    step = max(1, BLOCK_ENTRIES // n_columns)
    offset = float(X[0].mean())  # near the data: its squares do not cancel
    for start in range(0, n_rows, step):
        block, some = X[start : start + step].astype(np.float64), weight[start : start + step]
        if sparse.issparse(block):
            sums = np.asarray(block.sum(axis=1)).ravel()
            squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
            squares += n_columns * offset**2 - 2 * offset * sums
            sums = sums - n_columns * offset
        else:
            sums, squares = (block - offset).sum(axis=1), ((block - offset) ** 2).sum(axis=1)
        mean += float(some @ sums) / n_columns
        square += float(some @ squares) / n_columns
    variance = square - mean**2
    return 1.0 / (n_columns * variance) if variance > 0 else 1.0
