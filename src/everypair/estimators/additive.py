"""Additive models over every pair: a curve per column, a few pairs of columns."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from everypair.estimators._additive_ranker import SHARED, AdditiveRanker
from everypair.rows import Rows


class AUCAdditive(AdditiveRanker):
    """Additive model over every positive–negative pair: a curve per column.

    The score is ``s(x) = sum_j f_j(x_j) + sum_jk f_jk(x_j, x_k)``, with a curve f_j for each column
    and surfaces f_jk for a few pairs of columns. The curves minimise

        sum_ij a_i b_j phi(s(x_i) - s(x_j)) + alpha / 2 sum_j roughness(f_j)

    over the pairs of a positive row i and a negative row j, with the sample weights a and b, each
    class summing to one. The roughness of a curve is the sum of squared second differences of
    its B-splines' coefficients (Eilers & Marx 1996), of a category the square of its value.

    Parameters
    ----------
    loss : {"logistic", "sigmoid"}, default="logistic"
        The loss phi of a pair's margin. ``logistic`` is convex and comes with a duality gap;
        ``sigmoid`` is closer to AUC itself, a local minimum reached from the logistic solution.
    alpha : float, default=1e-3
        Strength of the penalty, > 0. `AUCAdditiveCV` chooses it.
    shapes : dict, default=None
        Kind of curve by the name of the column (``x0``, ``x1``, ... in an array): ``"spline"``,
        ``"pieces"`` (straight between quantiles), ``"linear"``, ``"steps"`` (a value per bin,
        neighbours drawn together) or ``"category"``. Other columns: numbers have splines, all
        else is categories.
    constraints : dict, default=None
        What a curve must be, by the name of the column: ``"increasing"``, ``"decreasing"``,
        ``"convex"``, ``"concave"``, or several of them in a tuple. It holds at every bin, not
        approximately; missing values are free. Convex and concave curves are made of straight
        pieces. Constrained columns are in no pair. Needs the logistic loss.
    interactions : int, default=0
        Pairs of columns at most, those that promise the largest gain once the curves are fitted.
    min_rows : float, default=10
        Categories with fewer rows (by weight) are put together as one, "(other)".
    {threshold}
    {calibration}
    {cv}
    tol : float, default=1e-6
        Relative duality gap to reach (sigmoid: relative gradient norm).
    max_iter : int, default=100
        Newton steps at most.

    Attributes
    ----------
    shapes_ : list of Shape
        The bins of each column: name, kind, edges or categories, weight of the rows in each bin.
    curves_ : list of arrays
        The value of each bin of each column; the last bin is that of missing values.
    pairs_ : list of PairShape
        The pairs of columns, by their numbers, with the groups of bins that make their cells.
    pair_values_ : list of arrays
        The value of each cell of each pair.
    importances_ : array of shape (n_columns + n_pairs,)
        The standard deviation of each curve and surface over the training rows.
    intercept_ : array of shape (1,)
        Minus the threshold.
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        Relative duality gap, as of `AUCClassifier`; not set for the sigmoid.
    n_iter_ : int
        Newton steps on the whole data.
    {train_score}
    {fitted}

    See Also
    --------
    AUCAdditiveCV : The same with alpha and the interactions chosen by cross-validated AUC.
    AUCClassifier : A linear score.

    Notes
    -----
    Columns of numbers are cut into at most 128 bins with about as many rows each, and a curve has
    one value per bin: it is smooth because neighbouring values are, and a table or an SQL
    expression states the whole model (`scorecard`, `to_sql`). Missing values are a bin of their
    own. Data frames of pandas, polars and Arrow are taken as they are: columns that are not
    numbers are categories. X is kept as one or two bytes per cell.

    References
    ----------
    P. Eilers, B. Marx. Flexible smoothing with B-splines and penalties. Statistical Science 11,
    1996. Y. Lou, R. Caruana, J. Gehrke, G. Hooker. Accurate intelligible models with pairwise
    interactions. KDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import AUCAdditive
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AUCAdditive(alpha=1e-2).fit(X, y)
    >>> f"{model.train_score_:.3f}", model.dual_gap_ <= 1e-6
    ('0.999', True)
    >>> model.shapes_[0].name, len(model.curves_[0])
    ('mean radius', 129)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        **SHARED,
    }

    def __init__(
        self,
        loss: str = "logistic",
        alpha: float = 1e-3,
        shapes: Mapping[str, str] | None = None,
        constraints: Mapping[str, Any] | None = None,
        interactions: int = 0,
        min_rows: float = 10,
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
    ):
        self.loss = loss
        self.alpha = alpha
        self.shapes = shapes
        self.constraints = constraints
        self.interactions = interactions
        self.min_rows = min_rows
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter

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
        rows = Rows.uncut(positive, weight)
        alpha = float(self.alpha)
        with own_threads():
            design = self._design(X, weight)
            matrix = design.matrix()
            fit = self._final(design, matrix, rows, alpha)
            if self.interactions:
                design = self._with_interactions(design, rows, fit, matrix, int(self.interactions))
                matrix = design.matrix()
                fit = self._final(design, matrix, rows, alpha)
            self._keep(design, matrix, rows, fit, alpha)
        self.intercept_ = np.array([-self._cut(X, positive, fit.scores, weight, groups)])
        return self
