"""What `AUCAdditive` and `AUCAdditiveCV` share: bins in, a certified fit, curves out."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.estimators._base import CUTS, BinaryRanker
from everypair.estimators._interactions import PairShape, find_pairs
from everypair.estimators._shapes import (
    KINDS,
    Shape,
    check_constraints,
    columns_of,
    learn_shape,
)
from everypair.estimators._warnings import warn_not_converged
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.linalg.binned import BinnedMatrix
    from everypair.penalties import ConePart
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
    wants: dict[int, tuple[str, ...]]
    """Of the constrained columns: increasing, decreasing, convex, concave."""

    @property
    def parts(self) -> list[Any]:
        """Columns, then pairs."""
        return [*self.shapes, *self.pairs]

    def matrix(self) -> BinnedMatrix:
        from everypair.linalg.binned import BinnedMatrix, BinnedRows

        tables = [part.table() for part in self.parts]
        return BinnedMatrix(BinnedRows(self.codes, tables))

    def cone(self, matrix: BinnedMatrix) -> list[ConePart]:
        """The constraints in the coefficients of the matrix."""
        from everypair.penalties import ConePart

        places = matrix.X.places
        return [ConePart(int(places[j]), self.shapes[j].cone(w)) for j, w in self.wants.items()]

    def with_pairs(self, pairs: list[PairShape]) -> Design:
        cells = [pair.codes(self.codes) for pair in pairs]
        codes = np.vstack([self.codes, *cells]) if cells else self.codes
        return Design(self.shapes, pairs, _narrow(codes), self.wants)


def _narrow(codes: NDArray[Any]) -> NDArray[Any]:
    return codes.astype(np.uint8 if codes.max(initial=0) < 256 else np.uint16)


class AdditiveRanker(BinaryRanker):
    """What `AUCAdditive` and `AUCAdditiveCV` share: columns in, curves out."""

    shapes: Any
    constraints: Any
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
        wants = check_constraints(self.constraints or {}, names)
        if wants and self.loss != "logistic":
            raise ValueError(f"constraints need loss='logistic', but loss is {self.loss!r}.")
        learnt = [
            learn_shape(
                name, values, weight, asked.get(name), float(self.min_rows), wants.get(name, ())
            )
            for name, values in columns
        ]
        codes = [shape.codes(values) for shape, (_, values) in zip(learnt, columns, strict=True)]
        by_number = {names.index(name): want for name, want in wants.items()}
        return Design(learnt, [], _narrow(np.array(codes)), by_number)

    def _minimise(
        self,
        design: Design,
        matrix: BinnedMatrix,
        pairs: Rows,
        alpha: float,
        *,
        loss: str,
        tol: float,
        start: Array | None = None,
    ) -> Result:
        from everypair.solvers.choose import minimise
        from everypair.solvers.cone import minimise_on_cone

        options: dict[str, Any] = {"tol": tol, "max_iter": int(self.max_iter), "start": start}
        if design.wants:
            return minimise_on_cone(matrix, pairs, loss, alpha, design.cone(matrix), **options)
        return minimise(matrix, pairs, loss, alpha, **options)

    def _final(self, design: Design, matrix: BinnedMatrix, rows: Rows, alpha: float) -> Result:
        """On all rows, with the loss and the accuracy asked for."""
        return self._minimise(design, matrix, rows, alpha, loss=self.loss, tol=float(self.tol))

    def _with_interactions(
        self, design: Design, rows: Rows, fit: Result, matrix: BinnedMatrix, n_pairs: int
    ) -> Design:
        """The design with the pairs of columns that promise the most at this fit."""
        from everypair.pairs import pair_point

        point = pair_point("logistic", rows, fit.scores)
        curves = self._curves(design, matrix, fit.coef)
        found = find_pairs(
            design.shapes, curves, design.codes, rows.share, point.gradient(), point.curvature(),
            n_pairs, design.wants,
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
        for j, wants in design.wants.items():
            values[j] = design.shapes[j].without_rounding(values[j], wants)
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
    "constraints": [Mapping, None],
    "interactions": [Interval(Integral, 0, None, closed="left")],
    "min_rows": [Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    **CUTS,
}
