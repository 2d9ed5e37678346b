"""The covariance of a minimiser over every pair: the sandwich of its Hessian and its rows.

    H^-1 V H^-1 ,   H = grad^2 P(w) ,   V = sum_i (c_i - a_i g)(c_i - a_i g)' + the same of j ,

with the Hájek projections ``c_i`` of the gradient g of the loss (`everypair.pairs.projections`).
Each class counts n / (n - 1 - d): n is its effective number of rows (Kish 1965), all of them where
they weigh the same, and ``d = tr(H^-1 (H - alpha I))`` the effective number of coefficients, all of
them where alpha is small (Hastie & Tibshirani 1990, section 3.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils.validation import column_or_1d

from everypair.rows import NoSpread, Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK_CELLS = 2**18
"""Cells of X that are worked on at once."""

OTHER_ROWS = 1e-3
"""Relative gradient from which on the rows are not those that the model was fitted on."""


def rows_of_fit(model: Any, y: ArrayLike, n_rows: int, sample_weight: ArrayLike | None) -> Rows:
    """The rows that a model was fitted on, from labels of its classes."""
    labels = column_or_1d(y)
    if labels.size != n_rows:
        raise ValueError(f"y has {labels.size} labels for {n_rows} rows: give one per row.")
    unknown = labels[~np.isin(labels, model.classes_)]
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown[0]!r}, but the model was fitted on {model.classes_[0]!r} "
            f"and {model.classes_[1]!r}: give the labels of the fit."
        )
    return Rows.uncut(np.asarray(labels == model.classes_[1]), sample_weight)


def clusters(rows: Rows, groups: ArrayLike | None) -> Index | None:
    """The number of each row's group; None where rows are independent."""
    if groups is None:
        return None
    try:
        return rows.groups(groups)
    except NoSpread as error:
        raise ValueError(str(error)) from error


def sandwich(
    X: Any, rows: Rows, coef: Array, alpha: float, cluster: Index | None
) -> tuple[Array, float]:
    """The covariance of the coefficients, and the degrees of freedom of its filling."""
    from everypair.pairs.projections import Projections
    from everypair.pairs.smooth import LOGISTIC_KERNELS, SmoothPoint

    point = SmoothPoint(LOGISTIC_KERNELS, rows, X.dot(coef))
    gradient = X.pull_back(point.gradient())
    apart = np.linalg.norm(gradient + alpha * coef)
    if apart > OTHER_ROWS * (np.linalg.norm(gradient) + alpha * np.linalg.norm(coef)):
        # Near w = 0 both parts vanish: compare with the gradient there.
        start = SmoothPoint(LOGISTIC_KERNELS, rows, np.zeros(rows.n_rows))
        if apart > OTHER_ROWS * np.linalg.norm(X.pull_back(start.gradient())):
            raise ValueError(
                "The coefficients do not minimise the objective on these rows: give the rows, "
                "labels and weights that the model was fitted on."
            )
    hessian = point.hessian(X)
    hessian[np.diag_indices_from(hessian)] += alpha
    inverse = linalg.cho_solve(linalg.cho_factor(hessian, lower=True), np.eye(coef.size))
    used = coef.size - alpha * float(np.trace(inverse))
    spread, freedom = _spread(Projections(point, X), rows, gradient, cluster, used)
    covariance = inverse @ spread @ inverse
    return np.asarray((covariance + covariance.T) / 2), freedom


def _spread(
    projections: Any, rows: Rows, gradient: Array, cluster: Index | None, used: float
) -> tuple[Array, float]:
    """V: the sum of squares of what rows, or groups of rows, add to the gradient.

    And how many of them there are, of the smaller class, beyond the coefficients and a mean.
    """
    n_columns = gradient.size
    step = max(1, BLOCK_CELLS // n_columns)
    sums = None if cluster is None else np.zeros((cluster.max() + 1, n_columns))
    squares, counts = [], []
    for each in rows.classes:
        members = each[rows.share[each] > 0]
        part = np.zeros((n_columns, n_columns))
        for start in range(0, members.size, step):
            some = members[start : start + step]
            terms = projections.of(some) - rows.share[some, None] * gradient
            if sums is None or cluster is None:
                part += terms.T @ terms
            else:
                np.add.at(sums, cluster[some], terms)
        squares.append(part)
        counts.append(1 / float(np.sum(rows.share[members] ** 2)))  # Kish: all of equal weight
    what = "rows of a class"
    if sums is not None:
        squares, counts, what = [sums.T @ sums], [float(sums.shape[0])], "groups"
    freedom = min(counts) - 1 - used
    if freedom < 1:
        raise ValueError(
            f"There are {min(counts):.4g} {what} for {used:.3g} effective coefficients: standard "
            f"errors need at least {int(np.ceil(used)) + 2}."
        )
    spread = sum(n / (n - 1 - used) * part for n, part in zip(counts, squares, strict=True))
    return np.asarray(spread), freedom
