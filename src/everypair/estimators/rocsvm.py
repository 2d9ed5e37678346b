"""The ROC-SVM: the hinge over every positive–negative pair, in any kernel's space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from everypair.estimators._base import CUTS, WITHIN_WEIGHTS
from everypair.estimators._kernel import AUTO_RANKS, KernelRanker
from everypair.estimators._warnings import warn_not_converged
from everypair.linalg.kernels import Kernel
from everypair.metrics.statuses import count_pair_statuses, pair_status
from everypair.rows import Rows

Array = NDArray[np.float64]

ENOUGH_GAP = 0.0015
"""Of the objective per pair, as the AUC is a share of pairs. Measured (`lab/notes/rocsvm.md`):
where the gap over the whole of the kernel's space is about this at most, twice the pivots raised
the test AUC by 0.0006 or less."""


class ROCSVM(KernelRanker):
    """Support vector machine over every positive–negative pair.

    Minimises (Rakotomamonjy 2004, eq. 3)

        P(f) = 1/2 |f|^2 + C sum_ij max(0, rho - (f(x_i) - f(x_j)))

    over the functions f of a kernel's space, i running over the positive and j over the negative
    rows. The paper solves a quadratic program with n+ x n- variables; here the sum and its
    derivatives come from sorting the scores. `lab/notes/rocsvm.md` has every choice. With
    ``within`` the sum goes over the pairs inside groups; with ``within_weight="rows"`` and
    ``"equal"`` these have different weights with the same total.

    Parameters
    ----------
    C : float, default=1.0
        Weight of a pair, > 0. It is a sum over n+ n- pairs: to weigh the loss as much as
        `sklearn.svm.SVC` does with its C, take ``C n / (n+ n-)``.
    {kernel}
    margin : float, default=1.0
        The rho above. Only C / rho matters to the ranking: rho C' scales the solution for C' by
        rho.
    pairs : {"all", "neighbors"}, default="all"
        ``"neighbors"`` is the paper's shortcut (section 3.3): the positives that are among the
        m nearest positives of some negative, each with its m nearest negatives.
    n_neighbors : int, default=10
        The m of ``"neighbors"``. A row counts for as many neighbours as it weighs.
    {low_rank}
    max_gap : float or None, default=None
        Largest relative duality gap over the whole of the kernel's space (`kernel_gap`). The number
        of pivots is doubled beyond ``max_rank`` until the gap holds: 0.01 guarantees that no
        function of the kernel's space has an objective lower by more than 1 %. Each doubling takes
        a solve, and the kernel between all rows with a multiplier; memory grows with the pivots.
        None: ``max_rank`` holds.
    {within_weight}
    {threshold}
    {calibration}
    {cv}
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, default=500
        Newton steps on the last set of pivots, at most.
    {verbose_steps}

    Attributes
    ----------
    {expansion}
    objective_ : float
        P at the solution.
    dual_gap_ : float
        ``(P - D) / P``: no function in the pivots' span has an objective lower by more than this
        share. `kernel_gap` has the same over the whole of the kernel's space.
    n_pairs_ : int
        Pairs in the sum.
    pair_counts_ : PairCounts
        How many of all training pairs are satisfied, on the margin and violated; with
        ``within``, of those inside groups.
    margin_range_ : (low, high)
        Pairs whose margin lies between the two count as on the margin; rho is one of them or
        between them too.
    {train_score}
    {without_pairs}
    n_iter_ : int
        Newton steps on the last set of pivots.
    history_ : list of (seconds, objective, gap)
        One entry per step; the objective per pair and unit of margin.
    {fitted}

    See Also
    --------
    AUCClassifier : Linear, with other losses and penalties; ``loss="hinge"`` is this one.
    TwoNormSVM : The paper's SVM with squared slacks.
    everypair.metrics.pair_status : Which pairs have their margin.

    Notes
    -----
    ``kernel="linear"`` is solved for one coefficient per feature, without a kernel matrix.

    From 10,000 rows on a sample of them chooses the pivots, and ``kernel_left_out_`` may be an
    estimate from 1,000 to 2,000 rows. With ``max_rank="auto"`` and more than 600 rows, fewer
    pivots are taken where more would lower the objective per pair by about 0.0015 and by 5 % at
    most. Below 10,000 rows up to 1000 are taken until that holds, if ``pairs="all"`` and no
    ``max_gap`` is given. Features of more than 1 GB are kept in single precision, and those of
    more than 2 GB are computed again at each pass.

    With ``sample_weight`` a pair weighs the product of its rows' weights: a row of weight 2 is
    two rows. More than two classes: `sklearn.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import ROCSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ROCSVM(C=0.01)).fit(X, y)
    >>> print(f"{model[-1].train_score_:.3f}")
    0.999
    >>> model[-1].dual_gap_ <= 1e-6
    True
    >>> counts = model[-1].pair_counts_
    >>> print(f"{counts.satisfied / sum(counts):.2f} of the pairs have their margin")
    0.96 of the pairs have their margin
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **KernelRanker._kernel_constraints,
        **KernelRanker._rank_constraints,
        "max_gap": [Interval(Real, 0, None, closed="neither"), None],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "pairs": [StrOptions({"all", "neighbors"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "within_weight": WITHIN_WEIGHTS,
        **CUTS,
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
        max_gap: float | None = None,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
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
        self.max_gap = max_gap
        self.within_weight = within_weight
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
        within: ArrayLike | None = None,
    ) -> Self:
        """Fit on rows X with labels y.

        Parameters
        ----------
        {kernel_rows}
        {sample_weight}
        {groups}
        {within}

        {returns_self}
        """
        from everypair.linalg.threads import own_threads, thread_limit
        from everypair.pairs import auc

        self._validate_params()
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        self._forget_fit()
        if within is not None and self.pairs == "neighbors":
            raise ValueError(
                "pairs='neighbors' looks for neighbours among all rows, not inside the groups "
                "of within: use pairs='all'."
            )
        every_pair = self._pair_up(positive, sample_weight, within)
        with own_threads() if self.kernel == "linear" else thread_limit():
            self._neighbors = int(self.n_neighbors) if self.pairs == "neighbors" else None
            pairs, total = self._pairs(X, positive, sample_weight, every_pair)
            alpha, worth = _penalty(float(self.C), float(self.margin), total)
            fit = self._solve(X, sample_weight, pairs, alpha)
            scores = self.margin * fit.scores
            self.train_score_ = auc(every_pair, scores)
        self.objective_ = fit.objective * worth
        self._penalty = alpha, worth
        self.dual_gap_, self.n_iter_, self.history_ = fit.distance, fit.n_iter, fit.history
        self.n_pairs_ = pairs.n_pairs
        high = float(self.margin) * fit.stretch
        low = high * (1 - fit.width)
        self.margin_range_ = low, high
        self.pair_counts_ = count_pair_statuses(positive, scores, high, high - low, within=within)
        cut = self._cut(X, positive, scores, sample_weight, groups, within=within)
        self.intercept_ = -np.array([cut])
        if not fit.distance <= self.tol:
            matching = positive.size / (np.count_nonzero(positive) * np.count_nonzero(~positive))
            easier = f"lower C (C = n / (n+ n-) = {matching:.2g} weighs the loss as SVC's C = 1)"
            warn_not_converged(
                "relative duality gap", fit.distance, self.tol, fit.n_iter, easier,
                max_iter=self.max_iter, rounding=fit.rounding,
            )  # fmt: skip
        return self

    def _pairs(self, X: Any, positive: Any, sample_weight: Any, every_pair: Any) -> Any:
        """The pairs of the sum, weighing one together, and what they weigh in the objective."""
        if self._neighbors is not None:
            from everypair.pairs.neighbors import neighbor_pairs

            precomputed = self.kernel == "precomputed"
            X = X.tocsr() if hasattr(X, "tocsr") else X
            with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
                listed = neighbor_pairs(X, positive, self._neighbors, sample_weight, precomputed)
            return listed, listed.total
        weight = np.ones(positive.size) if sample_weight is None else sample_weight
        total = float(weight[positive].sum()) * float(weight[~positive].sum())
        if every_pair.within is not None:
            total *= every_pair.paired.share_of_pairs
        return every_pair, total

    def _solve(self, X: Any, sample_weight: Any, pairs: Any, alpha: float) -> Any:
        """The solution for a margin of one; sets the coefficients for ``margin``."""
        from everypair.linalg.matrix import as_matrix
        from everypair.solvers.choose import minimise
        from everypair.solvers.kernel_hinge import (
            minimise_in_kernel,
            minimise_over_list,
            takes_sample,
        )

        settings: dict[str, Any] = {
            "tol": float(self.tol), "max_iter": int(self.max_iter), "verbose": int(self.verbose),
        }  # fmt: skip
        if self.kernel == "linear":
            if self.pairs == "all":
                fit = minimise(as_matrix(X), pairs, "hinge", alpha, to_limit=False, **settings)
            else:
                fit = minimise_over_list(as_matrix(X), pairs, alpha, **settings)
            self._keep_linear(self.margin * fit.coef)
            return fit
        kernel = self._training_kernel(X, sample_weight)
        sampled = takes_sample(kernel, pairs, self.max_gap)
        may_end = self.max_rank == "auto" and X.shape[0] > AUTO_RANKS[0]  # few rows: exact
        max_rank = self.max_rank
        if may_end and not sampled and self.pairs == "all" and self.max_gap is None:
            # They end when they are enough. On 4,000 rows of covtype 1 and 2 the test AUC with 600
            # was lower by up to .006.
            max_rank = AUTO_RANKS[1]
        fit, basis = minimise_in_kernel(
            kernel,
            pairs,
            alpha,
            kernel_tol=float(self.kernel_tol),
            max_rank=self._rank(X.shape[0], max_rank, sampled),
            max_gap=None if self.max_gap is None else float(self.max_gap),
            enough_gap=ENOUGH_GAP if may_end else None,
            **settings,
        )
        coefficients = self.margin * basis.coefficients(fit.coef)
        self._keep_expansion(kernel, basis.pivots, coefficients, basis.left_out)
        return fit

    def pair_status(self, X_positive: Any, X_negative: Any) -> NDArray[Any]:
        """``"satisfied"``, ``"on_margin"`` or ``"violated"`` (Proposition 3.2.1), row by row.

        Row k of ``X_positive`` is held against row k of ``X_negative``; one of them may have a
        single row. `everypair.metrics.pair_status` does the same on scores.

        Parameters
        ----------
        X_positive : array, data frame or CSR/CSC matrix of shape (n_pairs, n_features)
            Rows that should score higher.
        X_negative : array, data frame or CSR/CSC matrix of shape (n_pairs, n_features)
            Rows that should score lower.

        Returns
        -------
        array of shape (n_pairs,)
            The status of each pair.
        """
        low, high = self.margin_range_
        scores = self.decision_function(X_positive), self.decision_function(X_negative)
        return pair_status(*scores, high, high - low)

    def kernel_gap(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> float:
        """Relative duality gap over the whole of the kernel's space, from the training data.

        With c the multipliers' sums over each row's pairs, the pivots' span costs
        ``c' (K - G G') c / (2 alpha)`` beside ``dual_gap_``: c' K c instead of c' G G' c in the
        dual objective. Takes the kernel between all rows with a multiplier, O(n^2) time but
        little memory. 0.05 says: no function at all has an objective lower by more than 5 %.

        Parameters
        ----------
        {kernel_rows}
        {sample_weight}
        {within}

        Returns
        -------
        float
            The relative gap.
        """
        from everypair.solvers.kernel_hinge import kernel_gap

        scores = self.decision_function(X)
        X = self._validate_predict(X)
        positive = self._known_labels(y, X.shape[0])
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        kernel = Kernel("linear") if hasattr(self, "coef_") else self._expansion.kernel
        every_pair = Rows.uncut(positive, weight, within, self.within_weight)
        pairs, _ = self._pairs(X, positive, weight, every_pair)
        (alpha, worth), (low, high) = self._penalty, self.margin_range_
        return kernel_gap(
            kernel.on(X), pairs, alpha, scores / high, self.objective_ / worth, 1 - low / high
        )

    def _known_labels(self, y: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
        labels = np.asarray(y)
        if labels.shape != (n_rows,) or not np.all(np.isin(labels, self.classes_)):
            raise ValueError(
                f"y has shape {labels.shape} for {n_rows} rows and must hold the labels "
                f"{self.classes_[0]!r} and {self.classes_[1]!r}: give the data of the fit."
            )
        return labels == self.classes_[1]


def _penalty(C: float, margin: float, total: float) -> tuple[float, float]:
    """alpha of the mean over the pairs, and what the mean is worth in the objective."""
    alpha, worth = margin / (C * total) if C * total else np.inf, C * margin * total
    if not (0 < alpha < np.inf and 0 < worth < np.inf):
        raise ValueError(
            f"C={C:g} times the weight of all pairs, {total:g}, leaves the range of float64: "
            "rescale sample_weight or C."
        )
    return alpha, worth
