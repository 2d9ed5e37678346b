"""The SVM with squared slacks, which ranks its training rows perfectly in a space of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from everypair.estimators._base import OWN_CUTS
from everypair.estimators._kernel import KernelRanker
from everypair.estimators._warnings import warn, warn_not_converged
from everypair.linalg.kernels import TrainingKernel
from everypair.linalg.low_rank import GrowingFactor, room_in_memory
from everypair.rows import Rows

Array = NDArray[np.float64]

FALLBACK_RANK = 500

MERCER_KERNELS = {"linear", "rbf", "laplacian", "cosine"}
"""Kernels that need no look at their eigenvalues."""


class TwoNormSVM(KernelRanker):
    """Kernel SVM with squared slacks, and its scores where it is a hard-margin SVM.

    Minimises (Rakotomamonjy 2004, eq. 14)

        P(f, b) = 1/2 |f|^2 + C sum_i max(0, 1 - y_i (f(x_i) + b))^2 ,

    whose dual is that of a hard-margin SVM for the kernel ``k'(x, z) = k(x, z) + ridge [x is z]``
    (eq. 15). In the space H' of k' the training rows are separable, so there the ROC area of
    the training rows is 1 (Proposition 3.6.1).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared slacks, > 0. The ridge is 1 / (2 C): that is what the dual of eq. 14
        has; the 1 / C of eq. 15 and 16 belongs to slacks that weigh C / 2.
    {kernel}
    max_rank : int or None, default=None
        None solves with the whole kernel matrix, which takes 2 n^2 numbers of memory. A number
        restricts the function to the span of at most that many training rows (pivots), which
        takes n numbers per pivot.
    {threshold}
        Here the default is None: b as the problem above fits it.
    {calibration}
    {cv}
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, default=100
        Newton steps at most.
    {verbose_steps}

    Attributes
    ----------
    {expansion}
    decision_function_train_ : array of shape (n_rows,)
        Scores of the training rows in H' (eq. 16): ``f(x_i) + y_i alpha_i / (2 C) + intercept_``.
        All positives are above all negatives there. Rows of weight zero do not take part in
        training: theirs are in H.
    train_score_ : float
        Exact AUC of the training rows' scores in H (eq. 13), those of `decision_function`.
    objective_ : float
        P at the solution.
    dual_gap_ : float
        ``(P - D) / P``; over the pivots' span with ``max_rank``.
    n_iter_ : int
        Newton steps.
    {fitted}

    See Also
    --------
    ROCSVM : The hinge over every pair.

    Notes
    -----
    ``kernel="linear"`` with more rows than features is solved for one coefficient per feature,
    without a kernel matrix.

    With ``sample_weight`` a row's slack weighs C times its weight. More than two classes:
    `sklearn.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import roc_auc_score
    >>> from everypair import TwoNormSVM
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = TwoNormSVM(C=0.01).fit(X, y)
    >>> roc_auc_score(y, model.decision_function_train_) == 1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **KernelRanker._kernel_constraints,
        "max_rank": [Interval(Integral, 1, None, closed="left"), None],
        **OWN_CUTS,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        max_rank: int | None = None,
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        verbose: int = 0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rank = max_rank
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit on rows X with labels y.

        Parameters
        ----------
        {kernel_rows}
        sample_weight : array of shape (n_rows,), default=None
            Weights >= 0 of the slacks; None means 1 for every row.
        {groups}

        {returns_self}
        """
        from everypair.linalg.threads import thread_limit
        from everypair.pairs import auc

        self._validate_params()
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        pairs = Rows.uncut(positive, sample_weight)
        weight = np.ones(positive.size) if sample_weight is None else sample_weight
        self._forget_fit()
        kernel = self._training_kernel(X, sample_weight)
        signs, costs = np.where(positive, 1.0, -1.0), float(self.C) * weight
        with thread_limit(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scores, lift = self._solve(kernel, signs, costs)
            self.train_score_ = auc(pairs, scores)
        own = -float(self.intercept_[0])
        cut = self._cut(X, positive, scores, sample_weight, groups, own)
        self.intercept_ = np.array([-cut])
        self.decision_function_train_ = scores + lift + self.intercept_[0]
        if self.kernel == "linear":
            rows = kernel.X[self.support_]
            self._keep_linear(np.asarray(rows.T @ self.dual_coef_[0], dtype=np.float64))
        if not self.dual_gap_ <= self.tol:
            warn_not_converged(
                "relative duality gap", self.dual_gap_, self.tol, self.n_iter_, "lower C"
            )
        return self

    def _solve(self, kernel: TrainingKernel, signs: Array, costs: Array) -> tuple[Array, Array]:
        """Scores in H without the intercept, and what H' adds to them.

        With alpha = 2 c xi, eq. 16 adds y alpha / (2 c) = y xi: it lifts each row to its margin.
        """
        from everypair.solvers.two_norm import NoFactorError

        n_rows, n_columns = kernel.X.shape
        rank = FALLBACK_RANK if self.max_rank is None else int(self.max_rank)
        if self.max_rank is None and self.kernel == "linear" and n_columns < n_rows:
            rank = n_columns
        elif self._holds_matrix(n_rows):
            try:
                return self._solve_matrix(kernel, signs, costs)
            except NoFactorError:
                rank = n_rows
        return self._solve_low_rank(kernel, signs, costs, rank)

    def _holds_matrix(self, n_rows: int) -> bool:
        if self.max_rank is not None:
            return False
        fits = 16.0 * n_rows**2 <= room_in_memory()
        if not fits:
            warn(
                f"The kernel matrix of {n_rows} rows does not fit in memory, so the function is "
                f"restricted to the span of {FALLBACK_RANK} training rows; kernel_left_out_ says "
                "which share of the kernel they leave out. Set max_rank to choose the number of "
                "rows yourself.",
                UserWarning,
            )
        return fits

    def _solve_matrix(
        self, kernel: TrainingKernel, signs: Array, costs: Array
    ) -> tuple[Array, Array]:
        from everypair.solvers.two_norm import refuse_not_psd, two_norm_svm_matrix

        rows = np.flatnonzero(costs > 0)
        K = kernel.columns(rows, None if rows.size == signs.size else rows)
        if self.kernel not in MERCER_KERNELS:
            refuse_not_psd(K)
        fit = two_norm_svm_matrix(K, signs[rows], costs[rows], **self._settings())
        self._keep_expansion(kernel, rows, fit.coef, left_out=0.0)
        self._keep(fit)
        every, lift = np.empty(signs.size), np.zeros(signs.size)
        every[rows], lift[rows] = fit.scores, signs[rows] * fit.slacks
        if rows.size < signs.size:
            rest = np.flatnonzero(costs == 0)
            every[rest] = self._expansion.scores(kernel.X[rest], self.dual_coef_[0])
        return every, lift

    def _solve_low_rank(
        self, kernel: TrainingKernel, signs: Array, costs: Array, rank: int
    ) -> tuple[Array, Array]:
        from everypair.solvers.two_norm import two_norm_svm

        factor = GrowingFactor(kernel)
        factor.grow(costs, rank, 0.0)
        fit = two_norm_svm(factor.features, signs, costs, **self._settings())
        coefficients = factor.low_rank.coefficients(fit.coef)
        self._keep_expansion(kernel, factor.pivots, coefficients, factor.left_out)
        self._keep(fit)
        return fit.scores, np.where(costs > 0, signs * fit.slacks, 0.0)

    def _settings(self) -> dict[str, Any]:
        return {
            "tol": float(self.tol), "max_iter": int(self.max_iter), "verbose": int(self.verbose),
        }  # fmt: skip

    def _keep(self, fit: Any) -> None:
        self.intercept_ = np.array([fit.intercept])
        self.objective_, self.dual_gap_, self.n_iter_ = fit.objective, fit.distance, fit.n_iter
