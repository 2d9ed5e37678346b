"""`AUCClassifier` with alpha chosen by cross-validated AUC."""

from __future__ import annotations

from collections.abc import Mapping
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
    fits_along,
    grid_of,
    problem_of,
)
from everypair.estimators._base import CUTS, WITHIN_WEIGHTS, LinearRanker, warn_not_converged
from everypair.estimators._cross_fit import OutOfFold, mean_score
from everypair.estimators._search import Fold, folds_of, side_by_side
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.solvers.result import Result

Array = NDArray[np.float64]
Index = NDArray[np.intp]


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
        Share of the L1 norm in ``elasticnet``, in (0, 1]. From a list the best is chosen. Other
        penalties do not look at it.
    n_alphas : int, default=None
        Number of alphas from alpha_max (of all rows, see `auc_path`) to ``eps * alpha_max``. None:
        25 for ``l2``, else 100.
    eps : float, default=None
        Smallest alpha over the largest. None: 1e-8 for ``l2``, else 1e-3.
    alphas : array of shape (n_alphas,), default=None
        A grid of one's own instead.
    penalty_weights : array of shape (n_features,), default=None
        As in `AUCClassifier`.
    cv : int, splitter, iterable or None, default=None
        None: 5 stratified folds. An iterable gives (train, test) rows. With ``within`` and no
        ``groups``, None and a number keep each group of ``within`` whole, or, where there are
        fewer groups than folds, deal the rows of each class of each group over the folds.
    selection : {"best", "one_standard_error"}, default="best"
        ``one_standard_error`` takes the largest alpha whose mean AUC is within one standard
        error of the best: a simpler model for an AUC that cannot be told apart.
    {within_weight}
    {threshold}
    {calibration}
    tol : float, default=1e-6
        As in `AUCClassifier`, at each alpha.
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
    {fitted}

    See Also
    --------
    AUCClassifier : The same with a given alpha.
    auc_path : The whole path, without cross-validation.

    Notes
    -----
    X is not copied for the folds: held-out rows weigh nothing, and their scores fall out of the
    same product.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair import AUCClassifierCV
    >>> X, y = make_classification(400, 40, n_informative=3, n_redundant=0,
    ...                            n_clusters_per_class=1, shuffle=False, random_state=4)
    >>> model = AUCClassifierCV().fit(X, y)
    >>> print(f"{model.best_score_:.3f}")
    0.945
    >>> model = AUCClassifierCV(penalty="l1", selection="one_standard_error").fit(X, y)
    >>> (model.coef_[0] != 0).nonzero()[0].tolist()
    [0, 1, 2]
    """

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
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Choose alpha by cross-validation, then fit on all rows.

        Parameters
        ----------
        {rows}
        {sample_weight}
            They count in the fits and in the AUC of the held-out rows.
        {groups}
        {within}

        {returns_self}
        """
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import own_threads
        from everypair.pairs import auc

        self._validate_params()
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        ratios = check_ratios(self.penalty, self.l1_ratio)
        weights = check_weights_of(self.penalty, self.penalty_weights, X.shape[1])
        matrix, pairs = as_matrix(X), self._pair_up(positive, sample_weight, within)
        folds = folds_of(
            self.cv, X, positive, sample_weight, groups, each_has_auc=True, within=pairs.within
        )
        with own_threads():
            problem = partial(problem_of, matrix, loss=self.loss, weights=weights)
            tops = [problem(pairs=pairs, l1_ratio=float(r)).alpha_max for r in ratios]
            settings = self.alphas, self.n_alphas, self.eps, self.penalty
            grids = np.array([grid_of(*settings, top) for top in tops])
            self.alphas_, self.l1_ratios_ = grids.ravel(), np.repeat(ratios, grids.shape[1])
            tasks = [
                partial(
                    self._areas_of_fold, problem, float(ratio), grid, pairs, sample_weight,
                    train, test,
                )
                for ratio, grid in zip(ratios, grids, strict=True)
                for train, test in folds
            ]  # fmt: skip
            areas = self._cross_validate(tasks, grids.shape, len(folds))
            self.cv_fold_scores_ = areas.reshape(-1, len(folds))
            self.cv_scores_ = self.cv_fold_scores_.mean(axis=1)
            best, chosen = self._select(areas)
            self.l1_ratio_, self.alpha_ = float(ratios[best]), float(grids[best, chosen])
            self.best_score_ = float(areas[best, chosen].mean())
            columns, gaps = [], []
            everything = problem(pairs=pairs, l1_ratio=self.l1_ratio_)
            for k, each in enumerate(fits_along(everything, grids[best], **self._settings())):
                columns.append(sparse.csc_array(each.coef.reshape(-1, 1)))
                gaps.append(each.distance)
                if k == chosen:
                    fit = each
            self.train_score_ = auc(pairs, fit.scores)
            held_out = None
            if self._needs_held_out():
                held_out = self._held_out(problem, fit, pairs, sample_weight, folds)
        # Sparse, so that a model of many features stays small.
        self.coefs_, self.dual_gaps_ = sparse.hstack(columns, format="csc"), np.array(gaps)
        self.objective_, self.dual_gap_ = float(fit.objective), fit.distance
        self.n_iter_, self.history_ = fit.n_iter, fit.history
        cut = self._choose_threshold(positive, fit.scores, sample_weight, held_out)
        self._set_linear(fit.coef, cut)
        if hasattr(self, "kkt_residual_"):
            del self.kkt_residual_  # of an earlier fit; L2 and the hinge have none
        self._keep_certificate("relative duality gap", fit)
        return self

    def _settings(self) -> dict[str, Any]:
        return {"tol": float(self.tol), "max_iter": int(self.max_iter)}

    def _cross_validate(self, tasks: list[Any], shape: tuple[int, ...], n_folds: int) -> Array:
        """AUC of the held-out rows: ``[l1_ratio, alpha, fold]``."""
        results = side_by_side(tasks, self.n_jobs, "cross-validation", int(self.verbose))
        worst, rounding = max(gap for _, gap, _ in results)
        if not worst <= self.tol:
            steps = max(n_iter for _, _, n_iter in results)
            warn_not_converged(
                "largest relative gap in the folds", worst, self.tol, steps,
                max_iter=self.max_iter, rounding=rounding,
            )  # fmt: skip
        areas = np.array([scores for scores, _, _ in results])
        return areas.reshape(shape[0], n_folds, -1).transpose(0, 2, 1)

    def _areas_of_fold(
        self,
        problem: Any,
        l1_ratio: float,
        alphas: Array,
        pairs: Rows,
        sample_weight: Array | None,
        train: Index,
        test: Index,
    ) -> tuple[list[float], tuple[float, float], int]:
        """AUC of the test rows at each alpha, the worst gap with its rounding, the most steps."""
        from everypair.pairs import auc

        row_weight = np.ones(pairs.n_rows) if sample_weight is None else sample_weight
        held_out = pairs.part(test, row_weight)
        of_fold = problem(pairs=_only(train, pairs, row_weight), l1_ratio=l1_ratio)
        areas, gap, steps = [], (0.0, 0.0), 0
        for fit in fits_along(of_fold, alphas, **self._settings()):
            areas.append(auc(held_out, fit.scores[test]))
            gap, steps = max(gap, (fit.distance, fit.rounding)), max(steps, fit.n_iter)
        return areas, gap, steps

    def _held_out(
        self,
        problem: Any,
        fit: Result,
        pairs: Rows,
        sample_weight: Array | None,
        folds: list[Fold],
    ) -> OutOfFold:
        """Scores of the folds at the chosen alpha, each fit from the one on all rows.

        Kept from the search they would take a number per row and alpha.
        """
        row_weight = np.ones(pairs.n_rows) if sample_weight is None else sample_weight

        def scores(train: Index, test: Index) -> Array:
            of_fold = problem(pairs=_only(train, pairs, row_weight), l1_ratio=self.l1_ratio_)
            of_fold.start_at(fit.coef / fit.stretch)
            found = of_fold.fit(self.alpha_, **self._settings()).scores
            return np.asarray(found[test] - mean_score(found, sample_weight))

        found = side_by_side([partial(scores, *fold) for fold in folds], self.n_jobs)
        return OutOfFold.of(folds, found)

    def _select(self, areas: Array) -> tuple[int, int]:
        """Which l1_ratio and which alpha; the largest alpha among equals."""
        means = areas.mean(axis=2)
        best, at = np.unravel_index(np.argmax(means), means.shape)
        least = means[best, at] - 1e-12
        if self.selection == "one_standard_error" and areas.shape[2] > 1:
            least -= areas[best, at].std(ddof=1) / np.sqrt(areas.shape[2])
        return int(best), int(np.argmax(means[best] >= least))


def _only(train: Index, pairs: Rows, weight: Array) -> Rows:
    """These rows; the others weigh nothing."""
    training = np.zeros(pairs.n_rows)
    training[train] = weight[train]
    return pairs.weighing(training)
