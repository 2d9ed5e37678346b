"""`AUCAdditive` with its strength and its interactions chosen by cross-validated AUC."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.estimators._additive_ranker import SHARED, AdditiveRanker, Design
from everypair.estimators._cross_fit import OutOfFold, mean_score
from everypair.estimators._search import Fold, folds_of, positive_grid, side_by_side
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.linalg.binned import BinnedMatrix
    from everypair.solvers.result import Result

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(0, -6.5, -0.5))
"""From nearly straight lines to nearly free curves."""

PATH_TOL = 1e-3
"""Relative gap of the folds' fits: their AUC does not move by more than its own noise."""


class AUCAdditiveCV(AdditiveRanker):
    """`AUCAdditive` with ``alpha`` and the interactions chosen by cross-validated AUC.

    Each fold fits a path of falling alphas, each from the solution before it. The alpha with the
    largest mean AUC of the held-out rows is taken. Then each fold adds the pairs of columns
    that its own training rows ask for; they stay if that raises the mean AUC.

    Parameters
    ----------
    loss : {"logistic", "sigmoid"}, default="logistic"
        The loss of a pair's margin. The folds and the choice go by the logistic loss; ``sigmoid``
        is used for the model of all rows.
    alphas : array, default=None
        Strengths of the penalty to try; None: thirteen from 1 to 1e-6.
    shapes : dict, default=None
        Kind of curve by the name of the column, as in `AUCAdditive`.
    constraints : dict, default=None
        Increasing, decreasing, convex or concave curves, as in `AUCAdditive`.
    interactions : int, default=0
        Pairs of columns to try; 0 tries none.
    min_rows : float, default=10
        Categories with fewer rows (by weight) are put together as one, "(other)".
    cv : int, splitter, iterable or None, default=None
        Folds; None and integers are stratified, five when None.
    {threshold}
    {calibration}
    tol : float, default=1e-6
        Relative duality gap of the final fit (sigmoid: relative gradient norm).
    max_iter : int, default=100
        Newton steps of a fit at most.
    {n_jobs}
    verbose : int, default=0
        1 shows a bar of the folds.

    Attributes
    ----------
    alpha_ : float
        The strength chosen.
    alphas_ : array of shape (n_alphas,)
        The strengths tried, falling.
    cv_scores_ : array of shape (n_alphas,)
        Mean AUC of the held-out rows, without interactions.
    cv_fold_scores_ : array of shape (n_alphas, n_folds)
        The same by fold.
    interaction_score_ : float
        Mean AUC of the held-out rows with interactions, where some were tried.
    best_score_ : float
        Mean AUC of the held-out rows of the model that was chosen.
    shapes_, curves_, pairs_, pair_values_, importances_
        As in `AUCAdditive`.
    intercept_ : array of shape (1,)
        Minus the threshold.
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        Relative duality gap of the final fit; not set for the sigmoid.
    n_iter_ : int
        Newton steps of the final fit.
    {train_score}
    {fitted}

    See Also
    --------
    AUCAdditive : The same with one alpha.
    AUCClassifierCV : A linear score.

    Notes
    -----
    The bins of the columns come from all rows; they do not depend on the labels. Threshold and
    probabilities come from the held-out scores of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import AUCAdditiveCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AUCAdditiveCV(alphas=[1e-1, 1e-2]).fit(X, y)
    >>> print(f"{model.best_score_:.3f}")
    0.996
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": ["array-like", None],
        **SHARED,
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str = "logistic",
        alphas: ArrayLike | None = None,
        shapes: Mapping[str, str] | None = None,
        constraints: Mapping[str, Any] | None = None,
        interactions: int = 0,
        min_rows: float = 10,
        cv: Any = None,
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.alphas = alphas
        self.shapes = shapes
        self.constraints = constraints
        self.interactions = interactions
        self.min_rows = min_rows
        self.cv = cv
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
    ) -> Self:
        """Choose alpha and interactions by cross-validation, then fit on all rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers and categories; NaN, None and null are missing.
        y : array of shape (n_rows,)
            Two distinct labels; the second of the sorted ones is positive.
        {sample_weight}
        {groups}

        {returns_self}
        """
        from everypair.linalg.threads import own_threads

        X, positive, weight = self._rows(X, y, sample_weight)
        alphas = ALPHAS if self.alphas is None else positive_grid(self.alphas, "alphas")
        self.alphas_ = np.sort(np.asarray(alphas))[::-1]
        rows = Rows.uncut(positive, weight)
        rows_alone = np.broadcast_to(0.0, (positive.size, 1))
        folds = folds_of(self.cv, rows_alone, positive, weight, groups, each_has_auc=True)
        with own_threads():
            design = self._design(X, weight)
            matrix = design.matrix()
            fold_rows = [_parts(rows, fold) for fold in folds]
            areas = self._each(fold_rows, partial(self._areas, design, matrix))
            self.cv_fold_scores_ = np.array(areas).T
            self.cv_scores_ = self.cv_fold_scores_.mean(axis=1)
            best = int(np.argmax(self.cv_scores_))
            self.alpha_, self.best_score_ = float(self.alphas_[best]), float(self.cv_scores_[best])
            held_out = self._each(fold_rows, partial(self._fold_scores, design, matrix, 0))
            held_out, design = self._choose_pairs(design, matrix, rows, fold_rows, held_out)
            matrix = design.matrix()
            fit = self._final(design, matrix, rows, self.alpha_)
            self._keep(design, matrix, rows, fit, self.alpha_)
        level = [
            scores[test] - mean_score(scores, weight)
            for scores, (_, test) in zip(held_out, folds, strict=True)
        ]
        found = OutOfFold.of(folds, level) if self.loss == "logistic" else None
        cut = self._choose_threshold(positive, fit.scores, weight, found, groups=groups)
        self.intercept_ = np.array([-cut])
        return self

    def _each(self, fold_rows: list[tuple[Rows, Rows]], work: Any) -> list[Any]:
        tasks = [partial(work, *parts) for parts in fold_rows]
        return side_by_side(tasks, self.n_jobs, "cross-validation", int(self.verbose))

    def _areas(self, design: Design, matrix: BinnedMatrix, train: Rows, test: Rows) -> list[float]:
        """AUC of the held-out rows at each alpha."""
        from everypair.pairs import auc

        out, start = [], None
        for alpha in self.alphas_:
            fit = self._of_fold(design, matrix, train, float(alpha), start)
            start = fit.coef
            out.append(auc(test, fit.scores))
        return out

    def _of_fold(
        self,
        design: Design,
        matrix: BinnedMatrix,
        train: Rows,
        alpha: float,
        start: Array | None = None,
    ) -> Result:
        return self._minimise(
            design, matrix, train, alpha, loss="logistic", tol=PATH_TOL, start=start
        )

    def _fold_scores(
        self, design: Design, matrix: BinnedMatrix, n_pairs: int, train: Rows, test: Rows
    ) -> Array:
        """Scores of all rows by the model of a fold, with pairs that its rows ask for."""
        fit = self._of_fold(design, matrix, train, self.alpha_)
        if n_pairs == 0:
            return fit.scores
        wider = self._with_interactions(design, train, fit, matrix, n_pairs)
        return self._of_fold(wider, wider.matrix(), train, self.alpha_).scores

    def _choose_pairs(
        self,
        design: Design,
        matrix: BinnedMatrix,
        rows: Rows,
        fold_rows: list[tuple[Rows, Rows]],
        held_out: list[Array],
    ) -> tuple[list[Array], Design]:
        """The design with pairs of columns, and its held-out scores, where that is better."""
        from everypair.pairs import auc

        n_pairs = int(self.interactions)
        self.__dict__.pop("interaction_score_", None)  # of an earlier fit
        if n_pairs == 0:
            return held_out, design
        wider = self._each(fold_rows, partial(self._fold_scores, design, matrix, n_pairs))
        areas = [auc(test, scores) for (_, test), scores in zip(fold_rows, wider, strict=True)]
        self.interaction_score_ = float(np.mean(areas))
        if self.interaction_score_ <= self.best_score_:
            return held_out, design
        self.best_score_ = self.interaction_score_
        fit = self._of_fold(design, matrix, rows, self.alpha_)
        return wider, self._with_interactions(design, rows, fit, matrix, n_pairs)


def _parts(rows: Rows, fold: Fold) -> tuple[Rows, Rows]:
    """The training and the held-out rows of a fold; the others weigh nothing."""
    parts = []
    for members in fold:
        weight = np.zeros(rows.n_rows)
        weight[members] = rows.share[members]
        parts.append(Rows.uncut(rows.positive, weight))
    return parts[0], parts[1]
