"""`AUCAdditive` with its strength and its interactions chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._additive_design import Design
from everypair.estimators._additive_folds import PATH_TOL, AdditiveFolds, Held
from everypair.estimators._additive_ranker import SHARED, AdditiveRanker, rounds
from everypair.estimators._cross_fit import OutOfFold
from everypair.estimators._search import folds_of, positive_grid
from everypair.rows import Rows

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]

ALPHAS = tuple(float(alpha) for alpha in 10.0 ** np.arange(0, -6.5, -0.5))
"""From nearly straight lines to nearly free curves."""

SPARSITIES = (0.5, 0.25, 0.12, 0.06, 0.03, 0.015)
COLUMN_STRENGTHS = (10.0, 0.1)
FEW_PAIRS, MOST_PAIRS = 15, 120
"""The smallest number of pairs of columns to try, and the largest of ``interactions="auto"``."""

PAIR_STRENGTHS = (0.01, 0.001)
ALPHA_BESIDE_PAIRS = 3.0
"""What multiplies alpha where there are pairs: surfaces take over part of what curves did."""

CLIMB_STRENGTHS = (1.0, 0.1)
"""What multiplies alpha in a climb: pairs that are ranked well do not press on."""


class AUCAdditiveCV(AdditiveRanker):
    """`AUCAdditive` with ``alpha`` and the interactions chosen by cross-validated AUC.

    Each fold fits a path of falling alphas, each from the solution before it. The alpha with the
    largest mean AUC of the held-out rows is taken. Then each fold adds the pairs of columns that
    its own training rows ask for; they stay if that raises the mean AUC by more than a standard
    error of the difference.
    A climb of the sigmoid or of a measure stays if it raises it at all. If ``loss`` is a measure,
    it takes the place of AUC in all of this.

    Parameters
    ----------
    loss : str, dict, ContingencyMeasure or callable, default="logistic"
        ``"logistic"``, ``"sigmoid"`` or a measure, as in `AUCAdditive`. The path of alphas is that
        of the logistic loss; the climb from it is kept if it raises the held-out score.
    alphas : array, default=None
        Strengths of the penalty to try; None: thirteen from 1 to 1e-6.
    sparsity : float or "auto", default=0.0
        From 0, which keeps every column, to 1, which leaves none, as in `AUCAdditive`.
        ``"auto"``: the largest of several whose held-out score is no more than one standard error
        of the difference below the best.
    strengths : dict or "auto", default=None
        What multiplies alpha in single columns, by their names. ``"auto"``: each column in turn is
        tried with ten times and with a tenth of alpha, which stays if the held-out score rises by
        more than a standard error.
    shapes : dict, default=None
        Kind of curve by the name of the column, as in `AUCAdditive`.
    constraints : dict, default=None
        Increasing, decreasing, convex or concave curves, as in `AUCAdditive`.
    interactions : int or "auto", default=0
        Pairs of columns at most; the folds choose among 15, each 60 and this number. 0 tries none,
        ``"auto"`` 15, 60 and 120.
    pair_strengths : array, default=(0.01, 0.001)
        What multiplies alpha in pairs of columns: the values to try.
    min_rows : float, default=10
        Categories with fewer rows (by weight) are put together as one, "(other)".
    cv : int, splitter, iterable or None, default=None
        Folds; None and integers are stratified, five when None.
    {threshold}
        Here the default is None: ``"balanced"``, or the cut that the measure asks for.
    {calibration}
    tol : float, default=1e-6
        Relative duality gap of the final fit, as in `AUCAdditive`.
    max_iter : int, default=100
        Newton steps of a fit at most.
    {n_jobs}
    verbose : int, default=0
        1 shows a bar of the folds.

    Attributes
    ----------
    alpha_ : float
        The strength chosen; where pairs of columns stay, three times that of the curves alone.
    alphas_ : array of shape (n_alphas,)
        The strengths tried, falling.
    cv_scores_ : array of shape (n_alphas,)
        Mean AUC (or the measure) of the held-out rows, without interactions.
    cv_fold_scores_ : array of shape (n_alphas, n_folds)
        The same by fold.
    sparsity_ : float
        The sparsity chosen, or given.
    interaction_score_ : float
        The best score of the held-out rows with interactions, where some were tried.
    climbed_ : bool
        Whether the climb of the sigmoid or measure stayed; False for the logistic loss.
    best_score_ : float
        Score of the held-out rows of the model that was chosen.
    shapes_, curves_, pairs_, pair_values_, importances_, strengths_
        As in `AUCAdditive`.
    intercept_ : array of shape (1,)
        Minus the threshold.
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        Relative duality gap of the final fit; not set after a climb.
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
        **SHARED,
        "alphas": ["array-like", None],
        "sparsity": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "strengths": [Mapping, StrOptions({"auto"}), None],
        "interactions": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "pair_strengths": ["array-like"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: Any = "logistic",
        alphas: ArrayLike | None = None,
        sparsity: float | str = 0.0,
        strengths: Mapping[str, float] | str | None = None,
        shapes: Mapping[str, str] | None = None,
        constraints: Mapping[str, Any] | None = None,
        interactions: int | str = 0,
        pair_strengths: ArrayLike = PAIR_STRENGTHS,
        min_rows: float = 10,
        cv: Any = None,
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.alphas = alphas
        self.sparsity = sparsity
        self.strengths = strengths
        self.shapes = shapes
        self.constraints = constraints
        self.interactions = interactions
        self.pair_strengths = pair_strengths
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
        measure = self._measure(rows)
        rows_alone = np.broadcast_to(0.0, (positive.size, 1))
        folds = folds_of(self.cv, rows_alone, positive, weight, groups, each_has_auc=True)
        with own_threads():
            tried = AdditiveFolds(self, rows, weight, folds, measure)
            design, held = self._choose_alpha(tried, self._design(X, weight))
            if self.strengths == "auto":
                design, held = self._choose_strengths(tried, design, held)
            if self.sparsity == "auto":
                held = self._choose_sparsity(tried, design, held)
            if self.interactions:
                design, held = self._choose_pairs(tried, design, held, rows)
            matrix, strength = design.matrix(), (self.alpha_, self.sparsity_)
            fit = self._convex(design, matrix, rows, *strength, tol=float(self.tol))
            factor, held = self._choose_climb(tried, design, held)
            if factor:
                alpha = factor * self.alpha_
                fit = self._climb(matrix, rows, alpha, fit, measure, float(self.tol))
            self.best_score_ = held.value if measure is None else measure.sign * held.value
            self._keep(design, matrix, rows, fit, convex=not factor)
        found = OutOfFold.of(folds, held.scores)
        own = "balanced" if measure is None else measure.best_cut
        cut = self._choose_threshold(positive, fit.scores, weight, found, own, groups=groups)
        self.intercept_ = np.array([-cut])
        return self

    def _given_strengths(self, names: list[str]) -> Array:
        return np.ones(len(names)) if self.strengths == "auto" else super()._given_strengths(names)

    def _choose_alpha(self, tried: AdditiveFolds, design: Design) -> tuple[Design, Held]:
        """The alpha with the best score of the held-out rows; of several the largest."""
        self.sparsity_ = 0.0 if self.sparsity == "auto" else float(self.sparsity)
        found = tried.along(design, [(float(a), self.sparsity_) for a in self.alphas_])
        sign = 1 if tried.measure is None else tried.measure.sign
        self.cv_fold_scores_ = sign * np.array([held.by_fold for held in found])
        self.cv_scores_ = sign * np.array([held.value for held in found])
        chosen = int(np.argmax([held.value for held in found]))
        self.alpha_ = float(self.alphas_[chosen])
        return design, found[chosen]

    def _choose_strengths(
        self, tried: AdditiveFolds, design: Design, held: Held
    ) -> tuple[Design, Held]:
        """One column after the other, those that move the score the most first."""
        strength = self.alpha_, self.sparsity_
        for column in tried.by_importance(design, *strength):
            for factor in COLUMN_STRENGTHS:
                strengths = design.strengths.copy()
                strengths[column] *= factor
                other = design.with_strengths(strengths)
                found = tried.along(other, [strength])[0]
                if found.surely_above(held):
                    design, held = other, found
                    break
        return design, held

    def _choose_sparsity(self, tried: AdditiveFolds, design: Design, held: Held) -> Held:
        """The sparsest of those that are not surely below the best."""
        found = tried.along(design, [(self.alpha_, share) for share in SPARSITIES])
        best = max([held, *found], key=lambda one: one.value)
        for share, one in zip(SPARSITIES, found, strict=True):
            if one is best or not best.surely_above(one):
                self.sparsity_ = share
                return one
        return held

    def _choose_pairs(
        self, tried: AdditiveFolds, design: Design, held: Held, rows: Rows
    ) -> tuple[Design, Held]:
        """The number and the strength of pairs of columns, where they are better than none."""
        asked = MOST_PAIRS if self.interactions == "auto" else int(self.interactions)
        most = min(asked, design.most_pairs)
        numbers = sorted({min(FEW_PAIRS, most), *rounds(most)} - {0})
        factors = positive_grid(self.pair_strengths, "pair_strengths").tolist()
        self.__dict__.pop("interaction_score_", None)  # of an earlier fit
        if not numbers:
            return design, held
        strength = ALPHA_BESIDE_PAIRS * self.alpha_, self.sparsity_
        alone, *found = tried.with_pairs(design, strength, numbers, factors)
        best = max(range(len(found)), key=lambda k: found[k].value)
        sign = 1 if tried.measure is None else tried.measure.sign
        self.interaction_score_ = sign * found[best].value
        # Not a gain of the other alpha: the pairs must be better than the curves at either.
        if not all(found[best].surely_above(curves) for curves in (held, alone)):
            return design, held
        self.alpha_ = strength[0]
        number, factor = numbers[best % len(numbers)], factors[best // len(numbers)]
        fit = tried.rough(design, design.matrix(), rows, *strength)
        given = rows, strength, fit, rounds(number), factor, PATH_TOL
        *_, (wider, _, _) = self._with_pairs(design, *given, warm=True)
        return wider, found[best]

    def _choose_climb(self, tried: AdditiveFolds, design: Design, held: Held) -> tuple[float, Held]:
        """What multiplies alpha in the climb, 0 where it is not better than the convex fit."""
        self.climbed_ = False
        if self.loss == "logistic":
            return 0.0, held
        found = tried.climbed(design, (self.alpha_, self.sparsity_), CLIMB_STRENGTHS)
        best = max(range(len(found)), key=lambda k: found[k].value)
        if found[best].value <= held.value:
            return 0.0, held
        self.climbed_ = True
        return CLIMB_STRENGTHS[best], found[best]
