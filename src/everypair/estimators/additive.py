"""Additive models over every pair: a curve per column, a few pairs of columns."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from everypair.estimators._additive_ranker import SHARED, AdditiveRanker, rounds
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
    loss : str, dict, ContingencyMeasure or callable, default="logistic"
        The loss phi of a pair's margin: ``"logistic"`` is convex and comes with a duality gap;
        ``"sigmoid"`` is closer to AUC itself, a local minimum reached from the logistic solution.
        Or a measure of `MeasureOpt`, smoothed and climbed from the logistic solution: its name
        such as ``"f1"``, a dict of its name and settings such as ``{"measure": "tpr_at_fpr",
        "fpr": 0.05}``, a function of the counts, or a `everypair.measures.ContingencyMeasure`.
    alpha : float, default=1e-3
        Strength of the penalty, > 0. `AUCAdditiveCV` chooses it.
    sparsity : float, default=0.0
        From 0, which keeps every column, to 1, which leaves none. It multiplies the penalty
        ``sum_j weight_j sqrt(roughness(f_j))``, under which curves vanish whole (Yuan & Lin 2006).
        Not with constraints.
    strengths : dict, default=None
        What multiplies alpha in single columns, by their names: above 1 for a smoother curve.
    shapes : dict, default=None
        Kind of curve by the name of the column (``x0``, ``x1``, ... in an array): ``"spline"``,
        ``"pieces"`` (straight between quantiles), ``"linear"``, ``"steps"`` (a value per bin,
        neighbours drawn together) or ``"category"``. Other columns: numbers have splines, all
        else is categories.
    constraints : dict, default=None
        What a curve must be, by the name of the column: ``"increasing"``, ``"decreasing"``,
        ``"convex"``, ``"concave"``, or several of them in a tuple. It holds at every bin, not
        approximately; missing values are free. Convex and concave curves are made of straight
        pieces. ``"positive"`` and ``"negative"`` ask for a straight line with a slope of this sign.
        Constrained columns are in no pair. Needs the logistic loss.
    interactions : int, default=0
        Pairs of columns at most, those that promise the largest gain once the curves are fitted.
        Each 60 are fitted before the next are ranked.
    pair_strength : float, default=0.01
        What multiplies alpha in pairs of columns.
    min_rows : float, default=10
        Categories with fewer rows (by weight) are put together as one, "(other)".
    {threshold}
        Here the default is None: ``"balanced"``, or the cut that the measure asks for.
    {calibration}
    {cv}
    tol : float, default=1e-6
        Relative duality gap to reach (sigmoid: relative gradient norm; a measure: at least 1e-3).
    max_iter : int, default=100
        Newton steps at most.
    {verbose_steps}

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
    strengths_ : array of shape (n_columns + n_pairs,)
        What multiplies alpha in each column and pair.
    intercept_ : array of shape (1,)
        Minus the threshold.
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        Relative duality gap, as of `AUCClassifier`; set for the logistic loss alone.
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
    interactions. KDD 2013. M. Yuan, Y. Lin. Model selection and estimation in regression with
    grouped variables. Journal of the Royal Statistical Society B 68, 2006.

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
        **SHARED,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "sparsity": [Interval(Real, 0, 1, closed="left")],
        "strengths": [Mapping, None],
        "interactions": [Interval(Integral, 0, None, closed="left")],
        "pair_strength": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: Any = "logistic",
        alpha: float = 1e-3,
        sparsity: float = 0.0,
        strengths: Mapping[str, float] | None = None,
        shapes: Mapping[str, str] | None = None,
        constraints: Mapping[str, Any] | None = None,
        interactions: int = 0,
        pair_strength: float = 0.01,
        min_rows: float = 10,
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        verbose: int = 0,
    ):
        self.loss = loss
        self.alpha = alpha
        self.sparsity = sparsity
        self.strengths = strengths
        self.shapes = shapes
        self.constraints = constraints
        self.interactions = interactions
        self.pair_strength = pair_strength
        self.min_rows = min_rows
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
        measure = self._measure(rows)
        strength = float(self.alpha), float(self.sparsity)
        tol, verbose = float(self.tol), int(self.verbose)
        with own_threads():
            design = self._design(X, weight)
            matrix = design.matrix()
            fit = self._convex(design, matrix, rows, *strength, tol=tol, verbose=verbose)
            if n_pairs := min(int(self.interactions), design.most_pairs):
                given = rows, strength, fit, rounds(n_pairs), float(self.pair_strength), tol
                grown = self._with_pairs(design, *given, warm=False, verbose=verbose)
                *_, (design, matrix, fit) = grown
            if self.loss != "logistic":
                fit = self._climb(matrix, rows, strength[0], fit, measure, tol, verbose)
            self._keep(design, matrix, rows, fit, convex=self.loss == "logistic")
        own = "balanced" if measure is None else measure.best_cut
        self.intercept_ = np.array([-self._cut(X, positive, fit.scores, weight, groups, own)])
        return self
