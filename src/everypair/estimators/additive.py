"""Additive models over every pair: a curve per column, a few pairs of columns."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.estimators._base import CUTS, BinaryRanker, warn_not_converged
from everypair.estimators._interactions import PairShape, find_pairs
from everypair.estimators._shapes import KINDS, Shape, columns_of, learn_shape
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.linalg.binned import BinnedMatrix
    from everypair.solvers.result import Result

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


class ScorecardRow(NamedTuple):
    """A line of `AUCAdditive.scorecard`: what a bin of a column adds to the score."""

    column: str
    bin: str
    share: float
    points: float


class Design(NamedTuple):
    """The columns and pairs of a model with the bins of all rows."""

    shapes: list[Shape]
    pairs: list[PairShape]
    codes: NDArray[Any]

    @property
    def parts(self) -> list[Any]:
        """Columns, then pairs."""
        return [*self.shapes, *self.pairs]

    def matrix(self) -> BinnedMatrix:
        from everypair.linalg.binned import BinnedMatrix, BinnedRows

        tables = [part.table() for part in self.parts]
        return BinnedMatrix(BinnedRows(self.codes, tables))

    def with_pairs(self, pairs: list[PairShape]) -> Design:
        cells = [pair.codes(self.codes) for pair in pairs]
        codes = np.vstack([self.codes, *cells]) if cells else self.codes
        return Design(self.shapes, pairs, _narrow(codes))


def _narrow(codes: NDArray[Any]) -> NDArray[Any]:
    return codes.astype(np.uint8 if codes.max(initial=0) < 256 else np.uint16)


class AdditiveRanker(BinaryRanker):
    """What `AUCAdditive` and `AUCAdditiveCV` share: columns in, curves out."""

    shapes: Any
    min_rows: float
    interactions: int
    shapes_: list[Shape]
    pairs_: list[PairShape]
    curves_: list[Array]
    pair_values_: list[Array]
    intercept_: Array
    tol: float
    max_iter: int
    loss: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _checked(self, X: Any, **options: Any) -> Any:
        """An array in float64 or float32, or a data frame as it is."""
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            return validate_data(self, X, skip_check_array=True, **options)
        return validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", **options
        )

    def _rows(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Bools, Array | None]:
        self._validate_params()
        X, y = self._checked(X, y=y)
        positive = self._encode_labels(np.asarray(y))
        if sample_weight is None:
            return X, positive, None
        weight = _check_sample_weight(
            sample_weight, positive, dtype=np.float64, ensure_non_negative=True
        )
        return X, positive, weight

    def _design(self, X: Any, weight: Array | None) -> Design:
        """Bins of every column, from the values alone: labels are not looked at."""
        columns = columns_of(X)
        names = [name for name, _ in columns]
        asked = dict(self.shapes or {})
        for name, kind in asked.items():
            if name not in names:
                raise ValueError(f"shapes names {name!r}, which is not a column of X.")
            if kind not in KINDS:
                raise ValueError(
                    f"shapes[{name!r}]={kind!r} is not a kind of shape: use one of "
                    f"{', '.join(map(repr, KINDS))}."
                )
        learnt = [
            learn_shape(name, values, weight, asked.get(name), float(self.min_rows))
            for name, values in columns
        ]
        codes = [shape.codes(values) for shape, (_, values) in zip(learnt, columns, strict=True)]
        return Design(learnt, [], _narrow(np.array(codes)))

    def _minimise(
        self, matrix: BinnedMatrix, pairs: Rows, alpha: float, start: Array | None = None
    ) -> Result:
        from everypair.solvers.choose import minimise

        return minimise(
            matrix, pairs, self.loss, alpha, tol=float(self.tol), max_iter=int(self.max_iter),
            start=start,
        )  # fmt: skip

    def _with_interactions(
        self, design: Design, rows: Rows, fit: Result, matrix: BinnedMatrix, n_pairs: int
    ) -> Design:
        """The design with the pairs of columns that promise the most at this fit."""
        from everypair.pairs import pair_point

        point = pair_point("logistic", rows, fit.scores)
        curves = self._curves(design, matrix, fit.coef)
        found = find_pairs(
            design.shapes, curves, design.codes, rows.share, point.gradient(), point.curvature(),
            n_pairs,
        )  # fmt: skip
        return design.with_pairs(found)

    def _curves(self, design: Design, matrix: BinnedMatrix, coef: Array) -> list[Array]:
        X = matrix.X
        parts = np.split(X.values(coef), X.first[1:])
        return parts[: len(design.shapes) + len(design.pairs)]

    def _keep(
        self, design: Design, matrix: BinnedMatrix, rows: Rows, fit: Result, alpha: float
    ) -> None:
        from everypair.pairs import auc

        values = self._curves(design, matrix, fit.coef)
        n = len(design.shapes)
        self.shapes_, self.pairs_ = design.shapes, design.pairs
        self.curves_, self.pair_values_ = values[:n], values[n:]
        self.importances_ = np.array(
            [_spread(part.counts, curve) for part, curve in zip(design.parts, values, strict=True)]
        )
        self.train_score_ = auc(rows, fit.scores)
        self.objective_, self.n_iter_ = float(fit.objective), fit.n_iter
        self.__dict__.pop("dual_gap_", None)  # of an earlier fit
        what = "relative gradient norm"
        if self.loss != "sigmoid":
            self.dual_gap_, what = fit.distance, "relative duality gap"
        if not fit.distance <= self.tol:
            warn_not_converged(
                what, fit.distance, self.tol, fit.n_iter, max_iter=self.max_iter,
                rounding=fit.rounding,
            )  # fmt: skip

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _scores(self, X: Any) -> Array:
        columns = columns_of(X)
        codes = np.array(
            [shape.codes(values) for shape, (_, values) in zip(self.shapes_, columns, strict=True)]
        )
        scores = np.full(codes.shape[1], self.intercept_[0])
        for curve, column in zip(self.curves_, codes, strict=True):
            scores += curve[column]
        for pair, values in zip(self.pairs_, self.pair_values_, strict=True):
            scores += values[pair.codes(codes)]
        return scores

    def scorecard(self) -> list[ScorecardRow]:
        """The whole model as a table: what each bin of each column adds to the score.

        Returns
        -------
        list of ScorecardRow
            Column, bin, share of the training rows in the bin, and points. The score of a row is
            the sum of its bins' points. It includes the constant, whose column is
            ``"(constant)"``. Pairs of columns have a line per cell.
        """
        check_is_fitted(self)
        out = [ScorecardRow("(constant)", "all", 1.0, float(self.intercept_[0]))]
        for shape, curve in zip(self.shapes_, self.curves_, strict=True):
            share = shape.counts / shape.counts.sum()
            for bin_name, part, points in zip(shape.labels(), share, curve, strict=True):
                out.append(ScorecardRow(shape.name, bin_name, float(part), float(points)))
        for pair, values in zip(self.pairs_, self.pair_values_, strict=True):
            name = f"{self.shapes_[pair.first].name} x {self.shapes_[pair.second].name}"
            share = pair.counts / pair.counts.sum()
            labels = [
                f"{one} and {other}"
                for one in _group_labels(self.shapes_[pair.first], pair.group_of_first)
                for other in _group_labels(self.shapes_[pair.second], pair.group_of_second)
            ]
            for bin_name, part, points in zip(labels, share, values, strict=True):
                out.append(ScorecardRow(name, bin_name, float(part), float(points)))
        return out

    def to_sql(self) -> str:
        """The score as one expression of SQL, for scoring inside a database.

        Returns
        -------
        str
            A sum of ``CASE`` expressions over the columns by their names; it equals
            `decision_function` up to the rounding of a sum. Missing values are NULL.
        """
        from everypair.estimators._sql import sql_of

        check_is_fitted(self)
        return sql_of(self)


def _spread(counts: Array, curve: Array) -> float:
    """The standard deviation of a curve over the rows."""
    share = counts / counts.sum()
    return float(np.sqrt(share @ (curve - share @ curve) ** 2))


def _group_labels(shape: Shape, group_of: NDArray[np.intp]) -> list[str]:
    labels = shape.labels()
    out = []
    for group in range(int(group_of.max()) + 1):
        members = [labels[k] for k in np.flatnonzero(group_of == group)]
        if shape.kind == "category" or len(members) == 1:
            out.append(", ".join(members))
        else:
            low = members[0].split(" to ")[0] if " to " in members[0] else ""
            high = members[-1].split(" to ")[-1].removeprefix("up to ")
            if members[-1].startswith("above"):
                out.append(f"above {low}")
            else:
                out.append(f"{low} to {high}" if low else f"up to {high}")
    return out


SHARED: dict[str, list[Any]] = {
    "loss": [StrOptions({"logistic", "sigmoid"})],
    "shapes": [Mapping, None],
    "interactions": [Interval(Integral, 0, None, closed="left")],
    "min_rows": [Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    **CUTS,
}


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
        ``"linear"``, ``"steps"`` (a value per bin, neighbours drawn together) or ``"category"``.
        Other columns: numbers have splines, all else is categories.
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
            fit = self._minimise(matrix, rows, alpha)
            if self.interactions:
                design = self._with_interactions(design, rows, fit, matrix, int(self.interactions))
                matrix = design.matrix()
                fit = self._minimise(matrix, rows, alpha)
            self._keep(design, matrix, rows, fit, alpha)
        self.intercept_ = np.array([-self._cut(X, positive, fit.scores, weight, groups)])
        return self
