"""The linear classifier that minimises a loss over every positive–negative pair."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._along_alphas import check_weights_of, problem_of, scores_in_folds
from everypair.estimators._base import CUTS, WITHIN_WEIGHTS
from everypair.estimators._linear import LinearRanker, check_bounds

if TYPE_CHECKING:
    from everypair.estimators._training import Training, TrainingFolds
    from everypair.linalg.matrix import Matrix
    from everypair.solvers.result import Result

Array = NDArray[np.float64]

LOSS_NAMES = ("logistic", "squared_hinge", "hinge", "square", "exponential", "sigmoid")

BOUNDED_COLUMNS = 5000
"""Features that an L2 penalty with bounds takes at most: their Hessian has 200 MB."""


class AUCClassifier(LinearRanker):
    """Linear classifier trained on every positive–negative pair.

    Minimises, over the pairs of a positive row i and a negative row j,

        P(w) = sum_ij a_i b_j phi(x_i . w - x_j . w) + alpha Omega(w) ,

        Omega(w) = |w|^2 / 2  (l2),   sum_k r_k |w_k|  (l1)   or
                   sum_k r_k (l1_ratio |w_k| + (1 - l1_ratio) / 2 w_k^2)  (elasticnet) ,

    where a and b are the sample weights, each class summing to one: a mean over pairs, so
    that ``alpha`` means the same for any number of rows. The sum is exact, over all n+ n-
    pairs, at O(n) or O(n log n) cost. AUC does not depend on a constant, so no intercept is fitted;
    ``threshold`` sets it afterwards.

    With ``within`` rows are paired inside their group only (a user, a query, a day):

        sum_g omega_g sum_{i in P_g, j in N_g} a_i b_j phi(x_i . w - x_j . w) ,

    where a and b sum to one over each class of each group and ``within_weight`` says what the
    group weights omega are, which sum to one as well.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "hinge", "square", "exponential", "sigmoid"}, \
            default="logistic"
        The loss phi(z) of a pair's margin z: ``log(1 + exp(-z))``, ``max(0, 1 - z)^2``,
        ``max(0, 1 - z)``, ``(1 - z)^2``, ``exp(-z)`` or ``1 / (1 + exp(z))``. The sigmoid is
        closest to AUC itself but not convex: its fit is a local minimum, reached from the
        logistic solution.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        With ``l1`` and ``elasticnet`` most coefficients are exactly zero (Kim & Shin 2024,
        eq. 2.3, over all pairs); convex losses only.
    alpha : float, default=1e-3
        Weight of the penalty, > 0. ``alpha = 1 / (C n_rows)`` is the strength per example of
        scikit-learn's ``C``: their default of C = 1 on 50 000 rows is alpha = 2e-5 here.
    l1_ratio : float, default=0.5
        Share of the L1 norm in ``elasticnet``, in (0, 1]; 1 is ``l1``. No effect with other
        penalties.
    penalty_weights : array of shape (n_features,), default=None
        The r_k: how much each feature is penalised under ``l1`` and ``elasticnet``: 0 leaves it
        unpenalised, infinity leaves it out, ``1 / |w_k|`` of an earlier fit gives the adaptive
        lasso (features that it dropped stay out). All ones when None.
    bounds : pair (lower, upper), default=None
        Lowest and highest value of the coefficients: a number for all or one per feature, infinity
        for none. ``(0, np.inf)`` makes the score rise with every feature. Convex losses; with
        ``l2`` at most 5,000 features, whose Hessian is built.
    solver : {"auto", "newton", "newton-cg"}, default="auto"
        For ``l2``; the other penalties have one solver, proximal Newton. ``newton`` builds the
        whole p x p Hessian (of a CSC matrix from a copy by rows); ``newton-cg`` uses its
        products only. ``auto`` takes ``newton`` for dense X and CSR matrices of up to 300 columns,
        and for others once products and steps cost more than Hessians would.
    {within_weight}
    {threshold}
    {calibration}
    {cv}
    tol : float, default=1e-6
        Relative duality gap to reach (for the sigmoid: relative gradient norm). With ``l1``
        and ``elasticnet`` the KKT residual as well, except for the hinge.
    max_iter : int, default=100
        Newton steps at most, for the hinge over all widths of its rounding together.
    warm_start : bool, default=False
        Start from the last fit's coefficients.
    {verbose_steps}

    Attributes
    ----------
    {linear}
    objective_ : float
        P at the solution.
    dual_gap_ : float
        ``(P - D) / P``: no w has an objective lower than ``objective_`` by more than this share.
        A bound on what rounding may hide is included. Not set for the sigmoid. Where features
        are unpenalised, their coefficients are compared up to twice their size plus one over the
        feature's standard deviation, and P counts as at least 1e-7.
    kkt_residual_ : float
        ``l1`` and ``elasticnet`` with a smooth loss: the largest violation of the optimality
        conditions, relative to the largest slope of the loss at w = 0.
    gradient_norm_ : float
        Sigmoid only: ``|grad P|`` relative to its two parts, loss and penalty.
    {train_score}
    {without_pairs}
    n_iter_ : int
        Newton steps on the whole data.
    {n_passes}
    history_ : list of (seconds, objective, distance)
        One entry per step; distance is the relative gap (gradient norm for the sigmoid). With
        ``l1`` and ``elasticnet`` it is the gap on the columns that the step worked on.
    {fitted}

    See Also
    --------
    AUCClassifierCV : The same with alpha chosen by cross-validated AUC.
    auc_path : Solutions for a whole grid of alphas.
    AUCRLS : The square loss in closed form, with kernels and in chunks.
    ROCSVM : The hinge with kernels.

    Notes
    -----
    X is used as it comes, dense or sparse, float32 or float64; scaling is the user's
    (`StandardScaler`, or `MaxAbsScaler` for sparse X). A first solve on a sample of rows
    gives the starting point for large data; it does not change the solution, which is
    certified on all rows.

    More than two classes: `sklearn.multiclass.OneVsRestClassifier`; scores of separate fits share
    no scale, so set ``calibration="auto"`` before comparing them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import AUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AUCClassifier()).fit(X, y)
    >>> print(f"{model[-1].train_score_:.4f}")
    0.9979
    >>> model[-1].dual_gap_ <= 1e-6
    True
    >>> sparse = AUCClassifier(penalty="l1", alpha=0.02)
    >>> sparse = make_pipeline(StandardScaler(), sparse).fit(X, y)
    >>> int((sparse[-1].coef_ != 0).sum()), f"{sparse[-1].train_score_:.4f}"
    (5, '0.9943')

    Probabilities, by cross-fitting:

    >>> from sklearn.model_selection import cross_val_score
    >>> model = make_pipeline(StandardScaler(), AUCClassifier(calibration="auto"))
    >>> print(f"{cross_val_score(model, X, y, scoring='neg_log_loss').mean():.1f}")
    -0.1
    """

    _takes_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSS_NAMES))],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "penalty_weights": ["array-like", None],
        "bounds": ["array-like", None],
        "solver": [StrOptions({"auto", "newton", "newton-cg"})],
        "within_weight": WITHIN_WEIGHTS,
        **CUTS,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str = "logistic",
        penalty: str = "l2",
        alpha: float = 1e-3,
        l1_ratio: float = 0.5,
        penalty_weights: ArrayLike | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        solver: str = "auto",
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.solver = solver
        self.within_weight = within_weight
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Fit on rows X with labels y, or on rows in blocks.

        Parameters
        ----------
        {rows_or_blocks}
        {sample_weight}
        {groups}
        {within}

        {returns_self}
        """
        from everypair.linalg.threads import own_threads
        from everypair.pairs import auc

        self._validate_params()
        start = self._start() if self.warm_start else None
        rows = self._training(X, y, sample_weight, self.loss, groups, within)
        if start is not None and start.size != rows.X.shape[1]:
            start = None
        stale = {"dual_gap_", "gradient_norm_", "kkt_residual_", "n_passes_"}
        for name in stale & vars(self).keys():
            delattr(self, name)
        with own_threads():
            fit = self._minimise(rows.X, rows.pairs, start)
            self.train_score_ = auc(rows.pairs, fit.scores)
        self.objective_, self.n_iter_, self.history_ = float(fit.objective), fit.n_iter, fit.history
        self.__dict__.pop("_rounded", None)
        if self.warm_start and fit.rounded is not None:
            self._rounded = fit.coef.copy(), fit.rounded
        if self.loss == "sigmoid":
            self.gradient_norm_, what = fit.distance, "relative gradient norm"
        else:
            self.dual_gap_, what = fit.distance, "relative duality gap"
        if rows.blocks is not None:
            self.n_passes_ = rows.blocks.n_passes
        self._set_linear(
            fit.coef, rows.cut(fit.scores, in_folds=partial(self._in_folds, rows, fit))
        )
        self._keep_certificate(what, fit)
        return self

    def _in_folds(self, rows: Training, fit: Result, folds: TrainingFolds) -> Any:
        """Out-of-fold scores, from the fit on all rows."""
        from everypair.linalg.threads import own_threads

        ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": float(self.l1_ratio)}[self.penalty]
        weights = check_weights_of(self.penalty, self.penalty_weights, rows.X.shape[1])
        problem = partial(problem_of, loss=self.loss, l1_ratio=ratio, weights=weights)
        with own_threads():
            return scores_in_folds(
                problem, float(self.alpha), fit, self.loss, folds, tol=float(self.tol),
                max_iter=int(self.max_iter),
            )  # fmt: skip

    def _minimise(self, X: Matrix, pairs: Any, start: np.ndarray | None) -> Result:
        from everypair.solvers.choose import minimise
        from everypair.solvers.elastic_net import minimise_sparse

        tol, max_iter, verbose = float(self.tol), int(self.max_iter), int(self.verbose)
        weights = check_weights_of(self.penalty, self.penalty_weights, X.shape[1])
        bounds = check_bounds(self.bounds, X.shape[1])
        if self.penalty == "l2" and bounds is None:
            return minimise(
                X, pairs, self.loss, float(self.alpha), solver=self.solver,
                tol=tol, max_iter=max_iter, start=start, verbose=verbose,
            )  # fmt: skip
        if self.loss == "sigmoid" or self.solver != "auto":
            asked = f"penalty={self.penalty!r}" if self.penalty != "l2" else "bounds="
            raise ValueError(
                f"{asked} needs a convex loss and solver='auto', but loss is "
                f"{self.loss!r} and solver is {self.solver!r}."
            )
        if self.penalty == "l2" and X.shape[1] > BOUNDED_COLUMNS:
            raise ValueError(
                f"bounds with penalty='l2' build a Hessian of all features, and X has "
                f"{X.shape[1]} of them: use penalty='elasticnet', whose Hessian is that of the "
                f"features in use, or at most {BOUNDED_COLUMNS} features."
            )
        return minimise_sparse(
            X,
            pairs,
            self.loss,
            float(self.alpha),
            {"l2": 0.0, "l1": 1.0}.get(self.penalty, float(self.l1_ratio)),
            weights,
            bounds=bounds,
            tol=tol,
            max_iter=max_iter,
            start=start,
            verbose=verbose,
        )

    def _start(self) -> np.ndarray | None:
        if not hasattr(self, "coef_"):
            return None
        coef: np.ndarray = self.coef_[0]
        of_coef, rounded = getattr(self, "_rounded", (coef, coef))
        return rounded if np.array_equal(of_coef, coef) else coef
