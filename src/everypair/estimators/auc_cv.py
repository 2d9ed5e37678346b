"""`AUCClassifier` with alpha chosen by cross-validated AUC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._along_alphas import (
    CONVEX_LOSSES,
    check_ratios,
    check_weights_of,
    fold_tol,
    goes_ahead,
    grid_of,
    problem_of,
    scores_in_folds,
    whole_path,
)
from everypair.estimators._base import CUTS, WITHIN_WEIGHTS
from everypair.estimators._linear import LinearRanker
from everypair.estimators._warnings import warn_not_converged

if TYPE_CHECKING:
    from everypair.estimators._training import TrainingFolds

Array = NDArray[np.float64]


class AUCClassifierCV(LinearRanker):
    """`AUCClassifier` with alpha chosen by cross-validated AUC.

    In every fold a whole path is fitted on the training rows, from the largest alpha to the
    smallest, and each of its solutions is scored by the exact AUC of the held-out rows. The alpha
    (and l1_ratio) with the highest mean AUC is refitted on all rows, as part of a last path. With
    ``within`` the pairs of the fits and of the held-out AUC are those inside groups.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "hinge", "square", "exponential"}, default="logistic"
        As in `AUCClassifier`; convex losses only.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        As in `AUCClassifier`.
    l1_ratio : float or list of floats, default=0.5
        Share of the L1 norm in ``elasticnet``, in (0, 1]. From a list the best is chosen. No effect
        with other penalties.
    n_alphas : int, default=None
        Number of alphas from alpha_max (of all rows, see `auc_path`) to ``eps * alpha_max``. None:
        25 for ``l2``, else 100.
    eps : float, default=None
        Smallest alpha over the largest. None: 1e-8 for ``l2``, else 1e-3.
    alphas : array of shape (n_alphas,), default=None
        Your own grid instead.
    penalty_weights : array of shape (n_features,), default=None
        As in `AUCClassifier`.
    cv : int, splitter, iterable or None, default=None
        None: 5 stratified folds. An iterable gives (train, test) rows. With ``within`` and no
        ``groups``, None and a number keep each group of ``within`` whole, or, where there are
        fewer groups than folds, deal the rows of each class of each group over the folds. Rows in
        blocks take a number, or scikit-learn's ``PredefinedSplit`` with the fold of each row.
    selection : {"best", "one_standard_error"}, default="best"
        ``one_standard_error`` takes the largest alpha whose mean AUC is within one standard
        error of the best: a simpler model whose AUC cannot be distinguished from the best.
    {within_weight}
    {threshold}
    {calibration}
    tol : float, default=1e-6
        As in `AUCClassifier`, at each alpha. With ``penalty="l2"`` the fits of the folds, of which
        only the AUC of the held-out rows counts, end at a gap of 1e-4 unless ``tol`` is below 1e-6.
        On many rows they begin at the solution of all rows and end at no more than a ten-thousandth
        of its gap, so that nothing of the held-out rows stays in them.
    max_iter : int, default=100
        As in `AUCClassifier`, at each alpha.
    {n_jobs}
    verbose : int, default=0
        1 draws a progress bar over the folds.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha.
    l1_ratio_ : float
        The chosen share of the L1 norm: 0 for ``l2``, 1 for ``l1``.
    alphas_ : array of shape (n_candidates,)
        The alphas tried, descending within each l1_ratio.
    l1_ratios_ : array of shape (n_candidates,)
        The l1_ratio of each candidate.
    {cv_scores}
    coefs_ : sparse array of shape (n_features, n_alphas)
        Coefficients on all rows at ``alphas_[l1_ratios_ == l1_ratio_]``.
    dual_gaps_ : array of shape (n_alphas,)
        Their relative duality gaps.
    {linear}
    objective_ : float
        Of the fit at ``alpha_`` on all rows, as in `AUCClassifier`.
    dual_gap_ : float
        Likewise.
    kkt_residual_ : float
        Likewise; ``l1`` and ``elasticnet`` with a smooth loss only.
    n_iter_ : int
        Likewise.
    history_ : list of tuples
        Likewise.
    {train_score}
    {without_pairs}
    {n_passes}
    {fitted}

    See Also
    --------
    AUCClassifier : The same with a given alpha.
    auc_path : The whole path, without cross-validation.

    Notes
    -----
    X is not copied for the folds: held-out rows weigh nothing, and their scores come from the same
    product. Rows in blocks are read once for all folds: the folds, or ``n_jobs`` of them at a time,
    share each pass, and each takes up to 24 bytes per row.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair import AUCClassifierCV
    >>> X, y = make_classification(400, 40, n_informative=3, n_redundant=0,
    ...                            n_clusters_per_class=1, shuffle=False, random_state=4)
    >>> model = AUCClassifierCV().fit(X, y)
    >>> print(f"{model.best_score_:.3f}")
    0.945
    >>> model = AUCClassifierCV(penalty="l1", n_alphas=20, selection="one_standard_error").fit(X, y)
    >>> (model.coef_[0] != 0).nonzero()[0].tolist()
    [0, 1, 2]
    """

    _takes_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(CONVEX_LOSSES))],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="right"), "array-like"],
        "n_alphas": [Interval(Integral, 1, None, closed="left"), None],
        "eps": [Interval(Real, 0, 1, closed="neither"), None],
        "alphas": ["array-like", None],
        "penalty_weights": ["array-like", None],
        "cv": ["cv_object"],
        "selection": [StrOptions({"best", "one_standard_error"})],
        "within_weight": WITHIN_WEIGHTS,
        **CUTS,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str = "logistic",
        penalty: str = "l2",
        l1_ratio: float | ArrayLike = 0.5,
        n_alphas: int | None = None,
        eps: float | None = None,
        alphas: ArrayLike | None = None,
        penalty_weights: ArrayLike | None = None,
        cv: Any = None,
        selection: str = "best",
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.n_alphas = n_alphas
        self.eps = eps
        self.alphas = alphas
        self.penalty_weights = penalty_weights
        self.cv = cv
        self.selection = selection
        self.within_weight = within_weight
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Choose alpha by cross-validation, then fit on all rows.

        Parameters
        ----------
        {rows_or_blocks}
        {sample_weight}
            They count in the fits and in the AUC of the held-out rows.
        {groups}
        {within}

        {returns_self}
        """
        from everypair.linalg.threads import own_threads
        from everypair.pairs import auc
        from everypair.solvers.foretelling import KnownPath

        self._validate_params()
        rows = self._training(X, y, sample_weight, self.loss, groups, within)
        ratios = check_ratios(self.penalty, self.l1_ratio)
        weights = check_weights_of(self.penalty, self.penalty_weights, rows.X.shape[1])
        folds = rows.folds(self.cv)
        with own_threads():
            problem = partial(problem_of, loss=self.loss, weights=weights)
            on_all = [problem(rows.X, rows.pairs, l1_ratio=float(ratio)) for ratio in ratios]
            settings = self.alphas, self.n_alphas, self.eps, self.penalty
            grids = np.array([grid_of(*settings, each.alpha_max) for each in on_all])
            self.alphas_, self.l1_ratios_ = grids.ravel(), np.repeat(ratios, grids.shape[1])
            whole = None
            if goes_ahead(first := on_all[0]):
                whole = whole_path(first, grids[0], **self._settings())
                problem = partial(problem, ahead=KnownPath(first.known))
            tasks = [
                partial(self._areas_of_fold, problem, float(ratio), grid, folds, k)
                for ratio, grid in zip(ratios, grids, strict=True)
                for k in range(len(folds))
            ]
            areas = self._cross_validate(tasks, grids.shape, folds)
            self.cv_fold_scores_ = areas.reshape(-1, len(folds))
            self.cv_scores_ = self.cv_fold_scores_.mean(axis=1)
            best, chosen = self._select(areas)
            self.l1_ratio_, self.alpha_ = float(ratios[best]), float(grids[best, chosen])
            self.best_score_ = float(areas[best, chosen].mean())
            if whole is None:
                whole = whole_path(on_all[best], grids[best], chosen, **self._settings())
                fit = whole[chosen]
            else:
                fit = replace(whole[chosen], scores=rows.X.dot(whole[chosen].coef))
            self.train_score_ = auc(rows.pairs, fit.scores)
            held_out = None
            if self._needs_held_out():
                # Kept from the search they would take a number per row and alpha.
                held_out = scores_in_folds(
                    partial(problem, l1_ratio=self.l1_ratio_), self.alpha_, fit, self.loss, folds,
                    n_jobs=self.n_jobs, **self._settings(),
                )  # fmt: skip
            cut = rows.cut(fit.scores, held_out)
        # Sparse, so that a model of many features stays small.
        columns = [sparse.csc_array(each.coef.reshape(-1, 1)) for each in whole]
        self.coefs_ = sparse.hstack(columns, format="csc")
        self.dual_gaps_ = np.array([each.distance for each in whole])
        self.objective_, self.dual_gap_ = float(fit.objective), fit.distance
        self.n_iter_, self.history_ = fit.n_iter, fit.history
        self._set_linear(fit.coef, cut)
        for name in {"kkt_residual_", "n_passes_"} & vars(self).keys():
            delattr(self, name)  # of an earlier fit; L2 and the hinge have no residual
        if rows.blocks is not None:
            self.n_passes_ = rows.blocks.n_passes
        self._keep_certificate("relative duality gap", fit)
        return self

    def _settings(self) -> dict[str, Any]:
        return {"tol": float(self.tol), "max_iter": int(self.max_iter)}

    @property
    def _tol_in_folds(self) -> float:
        """L1 keeps the tolerance: which features count changes with the last digits."""
        return fold_tol(float(self.tol)) if self.penalty == "l2" else float(self.tol)

    def _cross_validate(
        self, tasks: list[Any], shape: tuple[int, ...], folds: TrainingFolds
    ) -> Array:
        """AUC of the held-out rows: ``[l1_ratio, alpha, fold]``."""
        results = folds.side_by_side(tasks, self.n_jobs, "cross-validation", int(self.verbose))
        worst, rounding = max(gap for _, gap, _ in results)
        if not worst <= self._tol_in_folds:
            steps = max(n_iter for _, _, n_iter in results)
            warn_not_converged(
                "largest relative gap in the folds", worst, self._tol_in_folds, steps,
                max_iter=self.max_iter, rounding=rounding,
            )  # fmt: skip
        areas = np.array([scores for scores, _, _ in results])
        return areas.reshape(shape[0], len(folds), -1).transpose(0, 2, 1)

    def _areas_of_fold(
        self,
        problem: Any,
        l1_ratio: float,
        alphas: Array,
        folds: TrainingFolds,
        k: int,
    ) -> tuple[list[float], tuple[float, float], int]:
        """AUC of the test rows at each alpha, the worst gap with its rounding, the most steps."""
        of_fold = problem(*folds.training(k), l1_ratio=l1_ratio)
        areas, gap, steps = [0.0] * alphas.size, (0.0, 0.0), 0
        settings = {**self._settings(), "tol": self._tol_in_folds}
        for number, fit in of_fold.along(alphas, **settings):
            areas[number] = folds.area(k, fit.scores)
            gap, steps = max(gap, (fit.distance, fit.rounding)), max(steps, fit.n_iter)
        return areas, gap, steps

    def _select(self, areas: Array) -> tuple[int, int]:
        """Which l1_ratio and which alpha; the largest alpha among equals."""
        means = areas.mean(axis=2)
        best, at = np.unravel_index(np.argmax(means), means.shape)
        least = means[best, at] - 1e-12
        if self.selection == "one_standard_error" and areas.shape[2] > 1:
            least -= areas[best, at].std(ddof=1) / np.sqrt(areas.shape[2])
        return int(best), int(np.argmax(means[best] >= least))
