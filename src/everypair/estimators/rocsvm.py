"""The ROC-SVM: the hinge over every positive–negative pair, in any kernel's space."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._base import BinaryRanker, linear_scores, warn_not_converged
from everypair.estimators._kernel import training_kernel
from everypair.kernels import KERNEL_NAMES, Kernel
from everypair.low_rank import rank_that_fits
from everypair.metrics.pair_status import count_pair_statuses, pair_status

Array = NDArray[np.float64]

RANK_PER_ROOT, AUTO_RANKS = 7.0, (500, 1000)
"""Measured (`docs/rocsvm.md`): test AUC within 0.002 of the exact solution's, time beside SVC's."""

OF_KERNELS = {"coef_", "dual_coef_", "support_", "kernel_left_out_", "_expansion"}
"""Attributes that belong to some kernels only: the last fit's must not outlive it."""


class ROCSVM(BinaryRanker):
    """Support vector machine over every positive–negative pair.

    Minimises (Rakotomamonjy 2004, eq. 3)

        P(f) = 1/2 |f|^2 + C sum_ij max(0, rho - (f(x_i) - f(x_j)))

    over the functions f of a kernel's space, i running over the positive and j over the negative
    rows. The paper's quadratic program has n+ x n- variables; here there are none: the sum
    and its derivatives come from sorting the scores. `docs/rocsvm.md` has every choice.

    Parameters
    ----------
    C : float > 0
        Weight of a pair. It is a sum over n+ n- pairs: to weigh the loss as much as
        `sklearn.svm.SVC` does with its C, take ``C n / (n+ n-)``.
    kernel : str or callable
        ``"rbf"``, ``"linear"``, ``"poly"`` or another kernel of `sklearn.metrics.pairwise`,
        ``"precomputed"``, or a function of two blocks of rows. ``"linear"`` is solved for one
        coefficient a feature, without a kernel matrix.
    gamma : "scale", "auto" or float
        Of the kernels that have one, as in `sklearn.svm.SVC`; "scale" heeds sample weights.
    degree, coef0 : float
        Of the polynomial kernel.
    margin : float > 0
        rho. Only C / rho matters to the ranking: rho C' scales the solution for C' by rho.
    pairs : {"all", "neighbors"}
        ``"neighbors"`` is the paper's shortcut (section 3.3): the positives that are among the
        m nearest positives of some negative, each with its m nearest negatives.
    n_neighbors : int
        m.
    kernel_tol : float
        f is sought in the span of some rows (pivots), enough of them to leave out at most
        this share of the kernel matrix' trace ...
    max_rank : "auto", int or None
        ... but no more than so many. "auto": 7 sqrt(n), at least 500 and at most 1000. None: as
        many as ``kernel_tol`` needs and memory holds.
    threshold : {"balanced", "accuracy", "f1"}, {"fpr": x}, {"tpr": x} or float
        Where `predict` cuts the training scores; sets ``intercept_``. See
        `everypair.metrics.threshold_for`.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Newton steps at most.
    verbose : int
        1 prints a line a step.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Linear kernel only.
    dual_coef_ : array of shape (1, n_support)
        Other kernels: the score is ``sum_r dual_coef_r k(x, x_r)`` over the rows ``support_``.
    support_ : array of row numbers
    kernel_left_out_ : float
        Share of the kernel's trace that the pivots leave out.
    intercept_ : array of shape (1,)
    classes_ : array of the two labels; the second is the positive one.
    objective_ : float
        P at the solution.
    dual_gap_ : float
        ``(P - D) / P``: no function in the pivots' span has an objective lower by more than this
        share. `kernel_gap` has the same over the whole of the kernel's space.
    n_pairs_ : int
        Pairs in the sum.
    pair_counts_ : PairCounts
        How many of all training pairs are satisfied, on the margin and violated.
    margin_range_ : (low, high)
        Pairs whose margin lies between the two count as on the margin; rho is one of them or
        between them too.
    train_auc_ : float
        Exact AUC of the training scores, ties counted half.
    n_iter_ : int
        Newton steps on the last set of pivots.
    history_ : list of (seconds, objective, gap)
        One entry a step; the objective per pair and unit of margin.

    Notes
    -----
    With ``sample_weight`` a pair weighs the product of its rows' weights: a row of weight 2 is
    two rows. Probabilities: `sklearn.calibration.CalibratedClassifierCV`. More than two
    classes: `sklearn.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import ROCSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ROCSVM(C=0.01)).fit(X, y)
    >>> print(f"{model[-1].train_auc_:.3f}")
    0.999
    >>> model[-1].dual_gap_ <= 1e-6
    True
    >>> counts = model[-1].pair_counts_
    >>> print(f"{counts.satisfied / sum(counts):.2f} of the pairs have their margin")
    0.96 of the pairs have their margin
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Real],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "pairs": [StrOptions({"all", "neighbors"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "kernel_tol": [Interval(Real, 0, 1, closed="left")],
        "max_rank": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "threshold": [StrOptions({"balanced", "accuracy", "f1"}), dict, Real],
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
        margin: float = 1.0,
        pairs: str = "all",
        n_neighbors: int = 10,
        kernel_tol: float = 1e-10,
        max_rank: int | str | None = "auto",
        threshold: str | float | Mapping[str, float] = "balanced",
        tol: float = 1e-6,
        max_iter: int = 500,
        verbose: int = 0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.margin = margin
        self.pairs = pairs
        self.n_neighbors = n_neighbors
        self.kernel_tol = kernel_tol
        self.max_rank = max_rank
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows X with labels y.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            The kernel matrix for ``kernel="precomputed"``.
        y : array of shape (n_rows,) with two distinct labels
        sample_weight : array of shape (n_rows,), optional
            Non-negative. A pair weighs the product of its rows' weights.
        """
        from everypair.pairs import Pairs, auc
        from everypair.threads import thread_limit

        self._validate_params()
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        for stale in OF_KERNELS & vars(self).keys():
            delattr(self, stale)
        every_pair = Pairs.of(positive, sample_weight)
        with thread_limit():
            pairs, total = self._pairs(X, positive, sample_weight, every_pair)
            alpha = float(self.margin) / (float(self.C) * total)
            fit = self._solve(X, sample_weight, pairs, alpha)
            scores = self.margin * fit.scores
            self.train_auc_ = auc(every_pair, scores)
        self.objective_ = fit.objective * float(self.C) * float(self.margin) * total
        self.dual_gap_, self.n_iter_, self.history_ = fit.distance, fit.n_iter, fit.history
        self.n_pairs_ = pairs.n_pairs
        high = float(self.margin) * fit.stretch
        low = high * (1 - fit.width)
        self.margin_range_ = low, high
        self.pair_counts_ = count_pair_statuses(positive, scores, high, high - low)
        self.intercept_ = -np.array([self._choose_threshold(positive, scores, sample_weight)])
        if fit.distance > self.tol:
            warn_not_converged(
                "relative duality gap", fit.distance, self.tol, fit.n_iter, "lower C"
            )
        return self

    def _pairs(self, X: Any, positive: Any, sample_weight: Any, every_pair: Any) -> Any:
        """The pairs of the sum, weighing one together, and what they weigh in the objective."""
        if self.pairs == "neighbors":
            from everypair.pairs.neighbors import neighbor_pairs

            precomputed = self.kernel == "precomputed"
            X = X.tocsr() if hasattr(X, "tocsr") else X
            listed = neighbor_pairs(X, positive, self.n_neighbors, sample_weight, precomputed)
            return listed, listed.total
        weight = np.ones(positive.size) if sample_weight is None else sample_weight
        return every_pair, float(weight[positive].sum()) * float(weight[~positive].sum())

    def _solve(self, X: Any, sample_weight: Any, pairs: Any, alpha: float) -> Any:
        """The solution for a margin of one; sets the coefficients for ``margin``."""
        from everypair.matrix import as_matrix
        from everypair.solvers.choose import minimise
        from everypair.solvers.kernel_hinge import minimise_in_kernel, minimise_over_list

        settings: dict[str, Any] = {
            "tol": float(self.tol), "max_iter": int(self.max_iter), "verbose": int(self.verbose),
        }  # fmt: skip
        if self.kernel == "linear":
            if self.pairs == "all":
                fit = minimise(as_matrix(X), pairs, "hinge", alpha, **settings)
            else:
                fit = minimise_over_list(as_matrix(X), pairs, alpha, **settings)
            self.coef_ = self.margin * fit.coef.reshape(1, -1)
            return fit
        kernel = training_kernel(self, X, sample_weight)
        solved = minimise_in_kernel(
            kernel,
            pairs,
            alpha,
            kernel_tol=float(self.kernel_tol),
            max_rank=self._rank(X.shape[0]),
            **settings,
        )
        coefficients = self.margin * solved.basis.coefficients(solved.fit.coef)
        needed = coefficients != 0
        self.support_ = solved.basis.pivots[needed]
        self.dual_coef_ = coefficients[needed].reshape(1, -1)
        self.kernel_left_out_ = solved.basis.left_out
        self._expansion = kernel.expansion(self.support_)
        return solved.fit

    def _rank(self, n_rows: int) -> int:
        if self.max_rank == "auto":
            wanted = int(np.clip(RANK_PER_ROOT * np.sqrt(n_rows), *AUTO_RANKS))
        else:
            wanted = n_rows if self.max_rank is None else int(self.max_rank)
        wanted = min(wanted, n_rows)
        fits = rank_that_fits(n_rows)
        if wanted > fits:
            warnings.warn(
                f"A kernel factor of {n_rows} rows and {wanted} columns does not fit in memory: "
                f"at most {fits} columns are used, and kernel_left_out_ says what they leave out. "
                "Lower max_rank to choose for yourself.",
                UserWarning,
                stacklevel=4,
            )
        return min(wanted, fits)

    def decision_function(self, X: Any) -> Array:
        """Scores less the threshold: the higher, the more likely of class ``classes_[1]``."""
        X = self._validate_predict(X)
        if self.kernel == "linear":
            return linear_scores(X, self.coef_[0]) + self.intercept_[0]
        if self.support_.size == 0:  # f = 0 is best
            return np.full(X.shape[0], self.intercept_[0])
        return self._expansion.scores(X, self.dual_coef_[0]) + self.intercept_[0]

    def pair_status(self, X_positive: Any, X_negative: Any) -> NDArray[Any]:
        """``"satisfied"``, ``"on_margin"`` or ``"violated"`` (Proposition 3.2.1), row by row.

        Row k of ``X_positive`` is held against row k of ``X_negative``; one of them may have a
        single row. `everypair.metrics.pair_status` does the same on scores.
        """
        low, high = self.margin_range_
        scores = self.decision_function(X_positive), self.decision_function(X_negative)
        return pair_status(*scores, high, high - low)

    def kernel_gap(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Relative duality gap over the whole of the kernel's space, from the training data.

        With c the multipliers' sums over each row's pairs, the pivots' span costs
        ``c' (K - G G') c / (2 alpha)`` beside ``dual_gap_``: c' K c instead of c' G G' c in the
        dual objective. Takes the kernel between all rows with a multiplier, O(n^2) time but
        little memory. 0.05 says: no function at all has an objective lower by more than 5 %.
        """
        from everypair.pairs import Pairs
        from everypair.solvers.kernel_hinge import kernel_gap

        scores = self.decision_function(X)
        X = self._validate_predict(X)
        positive = np.asarray(y) == self.classes_[1]
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        kernel = Kernel("linear") if self.kernel == "linear" else self._expansion.kernel
        pairs, total = self._pairs(X, positive, weight, Pairs.of(positive, weight))
        scale = float(self.C) * float(self.margin) * total
        low, high = self.margin_range_
        return kernel_gap(
            kernel.on(X),
            pairs,
            float(self.margin) / (float(self.C) * total),
            scores / high,
            self.objective_ / scale,
            1 - low / high,
        )
