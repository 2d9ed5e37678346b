"""What the kernel machines share: parameters, training kernel, rank, expansion and scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._base import BinaryRanker
from everypair.estimators._linear import linear_scores
from everypair.estimators._warnings import warn
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.kernels import (
    BLOCK_ENTRIES,
    KERNEL_NAMES,
    Expansion,
    Kernel,
    TrainingKernel,
    refuse_not_finite,
)
from everypair.linalg.low_rank import LowRank, rank_that_fits
from everypair.linalg.pivot_features import (
    chosen_on_sample,
    drawn_features,
    most_pivots,
    sample_rows,
)
from everypair.linalg.row_sums import CENTRE_ROWS, slices
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

RANK_PER_ROOT, AUTO_RANKS = 7.0, (600, 1000)
"""Measured (`lab/notes/rocsvm.md`): test AUC within 0.002 of the exact one, time beside SVC's."""

OF_SOME_KERNELS = {"coef_", "dual_coef_", "support_", "kernel_left_out_", "_expansion"}


class KernelRanker(BinaryRanker):
    """Scores ``X @ coef_`` or ``sum_r dual_coef_r k(x, x_r)`` over ``support_``, and intercept."""

    kernel: str | Callable[..., Any]
    gamma: float | str
    degree: float
    coef0: float
    coef_: Array
    dual_coef_: Array
    support_: Index
    intercept_: Array
    kernel_left_out_: float
    _expansion: Expansion

    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Real],
    }
    _rank_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel_tol": [Interval(Real, 0, 1, closed="left")],
        "max_rank": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _n_coefficients(self, X: Any) -> float:
        return float(X.shape[1]) if self.kernel == "linear" else np.inf

    def _forget_fit(self) -> None:
        """Attributes that belong to some kernels only: the last fit's must not outlive it."""
        for stale in OF_SOME_KERNELS & vars(self).keys():
            delattr(self, stale)

    def _training_kernel(self, X: Any, sample_weight: Array | None = None) -> TrainingKernel:
        kernel = Kernel(self.kernel, self.gamma, self.degree, self.coef0)
        return training_kernel(kernel, X, sample_weight)

    def _rank(self, n_rows: int, max_rank: int | str | None, sampled: bool = False) -> int:
        """Columns of the factor; a warning where memory does not hold those asked for.

        A factor of a sample is small, and that of all rows is not kept where it is large.
        """
        if max_rank == "auto":
            wanted = int(np.clip(RANK_PER_ROOT * np.sqrt(n_rows), *AUTO_RANKS))
            wanted = most_pivots(n_rows, wanted)
        else:
            wanted = n_rows if max_rank is None else int(max_rank)
        wanted = min(wanted, n_rows)
        fits = rank_that_fits(min(n_rows, sample_rows(wanted)) if sampled else n_rows)
        if wanted > fits:
            warn(
                f"A kernel factor of {n_rows} rows and {wanted} columns does not fit in memory, "
                f"so {fits} columns are used; kernel_left_out_ says which share of the kernel "
                "they leave out. Set max_rank to choose the number of columns yourself.",
                UserWarning,
            )
        return min(wanted, fits)

    def _features(
        self, kernel: TrainingKernel, rows: Rows, max_rank: int | str | None, tol: float
    ) -> tuple[DenseMatrix, LowRank]:
        """Features of all rows; each class has the same share of the pivots' chances, however
        rare it is."""
        sampled = chosen_on_sample(kernel.n_rows)
        rank = self._rank(kernel.n_rows, max_rank, sampled)
        share = np.where(rows.positive, 1 / rows.positives.size, 1 / rows.negatives.size)
        sample = rows.sample(sample_rows(rank)) if sampled else None
        return drawn_features(kernel, sample, share, rank, tol)

    def _keep_linear(self, coef: Array) -> None:
        self.coef_ = coef.reshape(1, -1)

    def _keep_expansion(
        self, kernel: TrainingKernel, rows: Index, coefficients: Array, left_out: float
    ) -> None:
        """``f(x) = sum_r coefficients_r k(x, x_r)``: the rows that it needs."""
        needed = coefficients != 0
        self.support_ = rows[needed]
        self.dual_coef_ = coefficients[needed].reshape(1, -1)
        self.kernel_left_out_ = left_out
        self._expansion = kernel.expansion(self.support_)

    def _scores(self, X: Any) -> Array:
        if hasattr(self, "coef_"):  # what was fitted, whatever the parameter says by now
            return linear_scores(X, self.coef_[0]) + self.intercept_[0]
        return self._expansion.scores(X, self.dual_coef_[0]) + self.intercept_[0]


def training_kernel(kernel: Kernel, X: Any, sample_weight: Array | None = None) -> TrainingKernel:
    """The kernel on the training rows; ``gamma="scale"`` heeds the weights."""
    if kernel.gamma == "scale" and sample_weight is not None and kernel.function != "precomputed":
        kernel = replace(kernel, gamma=weighted_scale(X, sample_weight))
    on_rows = kernel.on(X)
    if kernel.function == "rbf" and not sparse.issparse(X):
        gamma = float(on_rows.kernel.gamma)
        return UnitDiagonal(Kernel(CentredRBF(X, gamma), gamma), X)
    return on_rows


class UnitDiagonal(TrainingKernel):
    """The rbf kernel of dense rows: k(x, x) = 1, which need not be computed."""

    def diagonal(self) -> Array:
        return np.ones(self.n_rows)

    def columns(
        self, columns: Index, rows: Index | slice | None = None, out: Array | None = None
    ) -> Array:
        X, rbf = self.X if rows is None else self.X[rows], cast(CentredRBF, self.kernel.function)
        return rbf.in_a_fit(X, self.X[columns], out)


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
        (X, of_rows), (Z, of_columns) = self._moved(X), self._moved(Z)
        out = np.dot(X, (2 * self.gamma) * Z.T)
        out -= of_rows[:, None]
        out -= of_columns
        np.minimum(out, 0.0, out=out)  # distances are not negative
        return np.asarray(np.exp(out, out=out))

    def in_a_fit(self, X: NDArray[Any], Z: NDArray[Any], out: Array | None = None) -> Array:
        """The same by compiled code, which reads each value once; a block of rows at a time."""
        from everypair._compiled import rbf_from_products

        out = np.empty((X.shape[0], Z.shape[0])) if out is None else out
        Z, of_columns = self._moved(Z)
        Z = (2 * self.gamma) * Z.T
        for some in slices(0, X.shape[0], max(1, BLOCK_ENTRIES // max(1, *Z.shape))):
            block, of_rows = self._moved(X[some])
            # Below half of the range no product of theirs overflows.
            refuse_not_finite(4 * np.concatenate([of_rows, of_columns]))
            np.dot(block, Z, out=out[some])
            rbf_from_products(out[some], of_rows, of_columns)
        return out

    def _moved(self, X: NDArray[Any]) -> tuple[Array, Array]:
        """The rows about the centre, and gamma times their squared lengths."""
        X = X - self.centre
        return X, self.gamma * np.einsum("ij,ij->i", X, X)


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
