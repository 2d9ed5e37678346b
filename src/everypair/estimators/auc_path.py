"""Whole regularisation paths over every pair."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from everypair.estimators._along_alphas import (
    CONVEX_LOSSES,
    check_ratios,
    check_weights_of,
    grid_of,
    problem_of,
)
from everypair.estimators._base import WITHIN_WEIGHTS
from everypair.estimators._search import with_progress
from everypair.estimators._warnings import warn_not_converged
from everypair.estimators.auc import AUCClassifier
from everypair.rows import Rows

Array = NDArray[np.float64]


class AUCPath(NamedTuple):
    """What `auc_path` returns."""

    alphas: Array
    """Descending."""
    coefs: Array
    """Of shape (n_features, n_alphas)."""
    dual_gaps: Array
    """Relative duality gap of each fit."""
    n_nonzero: NDArray[np.int64]
    """Coefficients that are not zero, of each fit."""


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "loss": [StrOptions(set(CONVEX_LOSSES))],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "n_alphas": [Interval(Integral, 1, None, closed="left"), None],
        "eps": [Interval(Real, 0, 1, closed="neither"), None],
        "alphas": ["array-like", None],
        "penalty_weights": ["array-like", None],
        "sample_weight": ["array-like", None],
        "within": ["array-like", None],
        "within_weight": WITHIN_WEIGHTS,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)  # type: ignore[untyped-decorator]
def auc_path(
    X: Any,
    y: ArrayLike,
    *,
    loss: str = "logistic",
    penalty: str = "l1",
    l1_ratio: float = 0.5,
    n_alphas: int | None = None,
    eps: float | None = None,
    alphas: ArrayLike | None = None,
    penalty_weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    within: ArrayLike | None = None,
    within_weight: str = "pairs",
    tol: float = 1e-6,
    max_iter: int = 100,
    verbose: int = 0,
) -> AUCPath:
    """Solutions of `AUCClassifier` for many alphas, from the largest to the smallest.

    The objective is that of `AUCClassifier`; Kim & Shin 2024, eq. 2.3, is the logistic loss
    with ``penalty="l1"``. Each fit starts from the one before it. The largest alpha of the
    grid is, for ``l1`` and ``elasticnet``,

        alpha_max = max_k |sum_ij a_i b_j phi'(0) (x_ik - x_jk)| / (l1_ratio r_k) ,

    the least at which every coefficient is zero (unpenalised ones are fitted first); for ``l2``
    it is the mean squared distance between the rows of a pair.

    Parameters
    ----------
    X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
        Used as it comes: scale it first, for example with `StandardScaler`.
    y : array of shape (n_rows,)
        Two distinct labels.
    loss : {"logistic", "squared_hinge", "hinge", "square", "exponential"}, default="logistic"
        As in `AUCClassifier`; convex losses only.
    penalty : {"l2", "l1", "elasticnet"}, default="l1"
        As in `AUCClassifier`, but L1 by default: its path says in which order features enter.
    l1_ratio : float, default=0.5
        Share of the L1 norm in ``elasticnet``, in (0, 1].
    n_alphas : int, default=None
        Number of alphas from alpha_max to ``eps * alpha_max``, even in the logarithm. None: 100,
        for ``l2`` 25.
    eps : float, default=None
        Smallest alpha over the largest. None: 1e-3, for ``l2`` 1e-8.
    alphas : array of shape (n_alphas,), default=None
        Your own grid instead.
    penalty_weights : array of shape (n_features,), default=None
        As in `AUCClassifier`.
    sample_weight : array of shape (n_rows,), default=None
        Weights >= 0; None means 1 for every row. A pair weighs the product of its rows' weights.
    within : array of shape (n_rows,), default=None
        Labels of groups: rows are paired inside their group only, as in `AUCClassifier`.
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs, as in `AUCClassifier`.
    tol : float, default=1e-6
        Relative duality gap to reach at each alpha.
    max_iter : int, default=100
        Newton steps at most at each alpha.
    verbose : int, default=0
        1 draws a progress bar.

    Returns
    -------
    AUCPath
        Named tuple ``(alphas, coefs, dual_gaps, n_nonzero)``; ``coefs`` has one column per alpha.

    See Also
    --------
    AUCClassifierCV : Chooses one alpha of such a path by cross-validated AUC.
    everypair.plots.CoefficientPathDisplay : Draws it.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair import auc_path
    >>> X, y = make_classification(400, 40, n_informative=3, n_redundant=0,
    ...                            n_clusters_per_class=1, shuffle=False, random_state=4)
    >>> path = auc_path(X, y, n_alphas=5, eps=0.1)
    >>> path.n_nonzero.tolist()
    [0, 1, 2, 2, 3]
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    from everypair.linalg.matrix import as_matrix
    from everypair.linalg.threads import own_threads

    X, positive, sample_weight = AUCClassifier()._validate_fit(X, y, sample_weight)
    weights = check_weights_of(penalty, penalty_weights, X.shape[1])
    (ratio,) = check_ratios(penalty, l1_ratio)
    with own_threads():
        problem = problem_of(
            as_matrix(X),
            Rows.uncut(positive, sample_weight, within, within_weight),
            loss,
            float(ratio),
            weights,
        )
        grid = grid_of(alphas, n_alphas, eps, penalty, problem.alpha_max)
        coefs, gaps = np.empty((X.shape[1], grid.size)), np.empty(grid.size)
        roundings, steps = np.empty(grid.size), 0
        fits = problem.along(grid, tol=tol, max_iter=max_iter)
        for k, fit in with_progress(fits, grid.size, "path", verbose):
            coefs[:, k], gaps[k], roundings[k] = fit.coef, fit.distance, fit.rounding
            steps = max(steps, fit.n_iter)
    if not gaps.max() <= tol:
        warn_not_converged(
            "largest relative duality gap on the path", gaps.max(), tol, steps,
            max_iter=max_iter, rounding=roundings[gaps.argmax()],
        )  # fmt: skip
    return AUCPath(grid, coefs, gaps, np.count_nonzero(coefs, axis=0))
