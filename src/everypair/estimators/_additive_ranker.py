"""What `AUCAdditive` and `AUCAdditiveCV` share: bins in, a certified fit, curves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.estimators._additive_design import Design, narrow
from everypair.estimators._base import OWN_CUTS, BinaryRanker
from everypair.estimators._interactions import PairShape, find_pairs
from everypair.estimators._scorecard import Scorecard
from everypair.estimators._shapes import (
    KINDS,
    Shape,
    binned,
    check_constraints,
    columns_of,
    straight_by_sign,
)
from everypair.estimators._warnings import warn_not_converged
from everypair.measures.operating import measure_with_numbers, operating_measure
from everypair.measures.operating_point import OperatingMeasure
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.linalg.binned import BinnedMatrix
    from everypair.solvers.result import Result

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

PAIR_LOSSES = ("logistic", "sigmoid")

PAIRS_PER_ROUND = 60
"""Pairs of columns that one ranking serves for; the next is made at the fit with them."""

CLIMB_TOL = 1e-3
"""Relative gradient norm at which the climb of a measure ends: its own noise is far larger."""


class AdditiveRanker(BinaryRanker):
    """What `AUCAdditive` and `AUCAdditiveCV` share: columns in, curves out."""

    shapes: Any
    constraints: Any
    strengths: Any
    min_rows: float
    shapes_: list[Shape]
    pairs_: list[PairShape]
    strengths_: Array
    curves_: list[Array]
    pair_values_: list[Array]
    intercept_: Array
    tol: float
    max_iter: int
    loss: Any

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

    def _measure(self, rows: Rows) -> OperatingMeasure | None:
        """The measure that ``loss`` names; None for the losses of pairs."""
        if isinstance(self.loss, str) and self.loss in PAIR_LOSSES:
            return None
        if isinstance(self.loss, Mapping):
            return measure_with_numbers(self.loss, rows, "loss")
        try:
            return operating_measure(self.loss, rows)
        except ValueError as error:
            raise ValueError(
                f"loss={self.loss!r} is neither 'logistic' nor 'sigmoid' nor a measure: {error}"
            ) from error

    def _design(self, X: Any, weight: Array | None) -> Design:
        """Bins of every column, from the values alone: labels are not looked at."""
        columns = columns_of(X)
        names = [name for name, _ in columns]
        constraints, straight = straight_by_sign(self.constraints or {})
        asked = {**dict(self.shapes or {}), **straight}
        for name, kind in dict(self.shapes or {}).items():
            if name not in names:
                raise ValueError(f"shapes names {name!r}, which is not a column of X.")
            if kind not in KINDS:
                raise ValueError(
                    f"shapes[{name!r}]={kind!r} is not a kind of shape: use one of "
                    f"{', '.join(map(repr, KINDS))}."
                )
        wants = check_constraints(constraints, names)
        if wants and self.loss != "logistic":
            raise ValueError(f"constraints need loss='logistic', but loss is {self.loss!r}.")
        learnt, codes = [], []
        for name, values in columns:
            shape, of_rows = binned(
                name, values, weight, asked.get(name), float(self.min_rows), wants.get(name, ())
            )
            learnt.append(shape)
            # One or two bytes per cell, column by column: never eight for all of them.
            codes.append(narrow(of_rows))
        by_number = {names.index(name): want for name, want in wants.items()}
        return Design(learnt, [], np.array(codes), by_number, self._given_strengths(names))

    def _given_strengths(self, names: list[str]) -> Array:
        """What multiplies alpha in each column."""
        out = np.ones(len(names))
        for name, strength in dict(self.strengths or {}).items():
            if name not in names:
                raise ValueError(f"strengths names {name!r}, which is not a column of X.")
            if not (isinstance(strength, Real) and 0 < float(strength) < np.inf):
                raise ValueError(
                    f"strengths[{name!r}]={strength!r} must be a positive number: it multiplies "
                    "alpha."
                )
            out[names.index(name)] = float(strength)
        return out

    def _convex(
        self,
        design: Design,
        matrix: BinnedMatrix,
        rows: Rows,
        alpha: float,
        sparsity: float,
        *,
        tol: float,
        start: Array | None = None,
        verbose: int = 0,
    ) -> Result:
        """The minimum of the logistic loss."""
        from everypair.solvers.choose import minimise
        from everypair.solvers.cone import minimise_on_cone
        from everypair.solvers.group_net import group_strengths, minimise_in_groups

        options: dict[str, Any] = {
            "tol": tol, "max_iter": int(self.max_iter), "start": start, "verbose": verbose,
        }  # fmt: skip
        if design.wants:
            if sparsity:
                raise ValueError(
                    f"sparsity={sparsity:g} cannot be used with constraints: leave one of them out."
                )
            cone = design.cone(matrix)
            return minimise_on_cone(matrix, rows, "logistic", alpha, cone, **options)
        if sparsity:
            weights, most = group_strengths(matrix, rows)
            l1 = sparsity * most * weights
            return minimise_in_groups(matrix, rows, "logistic", alpha, l1, **options)
        return minimise(matrix, rows, "logistic", alpha, **options)

    def _climb(
        self,
        matrix: BinnedMatrix,
        rows: Rows,
        alpha: float,
        fit: Result,
        measure: OperatingMeasure | None,
        tol: float,
        verbose: int = 0,
    ) -> Result:
        """From the convex fit to a local minimum of the sigmoid, or of a smoothed measure.

        Columns that the convex fit has left out stay out.
        """
        from everypair.solvers.choose import minimise
        from everypair.solvers.penalised_climb import climb_with_penalty
        from everypair.solvers.soft_measure import smoothed

        kept = np.flatnonzero(np.add.reduceat(fit.coef != 0, matrix.starts))
        if kept.size == 0:
            return fit
        part = matrix if kept.size == matrix.starts.size else matrix.parts(kept)
        columns = np.concatenate([matrix.columns_of(k) for k in kept.tolist()])
        options: dict[str, Any] = {"max_iter": int(self.max_iter), "verbose": verbose}
        if measure is None:
            start = fit.coef[columns]
            found = minimise(part, rows, "sigmoid", alpha, tol=tol, start=start, **options)
        else:
            of_rows = Rows.of(rows.positive, rows.relative_weight)

            def best_cut(scores: Array) -> float:
                return measure.best_cut(of_rows, of_rows.scores(scores))

            found = climb_with_penalty(
                part, smoothed(measure, rows, rows.totals), alpha, fit.coef[columns],
                first_cut=best_cut if measure.free_cut else None,
                tol=max(tol, CLIMB_TOL), **options,
            )  # fmt: skip
        coef = np.zeros_like(fit.coef)
        coef[columns] = found.coef
        return type(found)(
            coef, found.scores, found.objective, found.distance, fit.n_iter + found.n_iter, []
        )

    def _with_pairs(
        self, design: Design, rows: Rows, strength: tuple[float, float], fit: Result,
        numbers: Sequence[int], factor: float, tol: float, *,
        warm: bool, verbose: int = 0,
    ) -> Iterator[tuple[Design, BinnedMatrix, Result]]:  # fmt: skip
        """From a fit of the curves: so many pairs of columns, one number after the other.

        They are ranked at the fit so far, and after each `PAIRS_PER_ROUND` anew: what the
        surfaces in the model express already does not call for others like them. ``factor``
        multiplies alpha in pairs. ``warm`` fits start at the one before; on many rows the solution
        of a sample is the better start.
        """
        matrix, ranking, served = design.matrix(), [], 0
        for number in numbers:
            if number > served:
                ranking = self._found_pairs(design, rows, fit, matrix, PAIRS_PER_ROUND)
                served += PAIRS_PER_ROUND
            places = number - len(design.pairs)
            more, ranking = ranking[:places], ranking[places:]
            if more:
                design = design.with_pairs([*design.pairs, *more], factor)
                matrix = design.matrix()
                before = np.append(fit.coef, np.zeros(matrix.shape[1] - fit.coef.size))
                start = before if warm else None
                fit = self._convex(
                    design, matrix, rows, *strength, tol=tol, start=start, verbose=verbose
                )
            yield design, matrix, fit

    def _found_pairs(
        self, design: Design, rows: Rows, fit: Result, matrix: BinnedMatrix, n_pairs: int
    ) -> list[PairShape]:
        """The pairs of columns that promise the most at this fit, the best first."""
        from everypair.pairs import pair_point

        point = pair_point("logistic", rows, fit.scores)
        n = len(design.shapes)
        return find_pairs(
            design.shapes, self._curves(design, matrix, fit.coef)[:n], design.codes[:n],
            rows.share, point.gradient(), point.curvature(), n_pairs, design.wants,
            {(pair.first, pair.second) for pair in design.pairs},
        )  # fmt: skip

    def _curves(self, design: Design, matrix: BinnedMatrix, coef: Array) -> list[Array]:
        return matrix.curves(coef)[: len(design.shapes) + len(design.pairs)]

    def _keep(
        self,
        design: Design,
        matrix: BinnedMatrix,
        rows: Rows,
        fit: Result,
        convex: bool,
    ) -> None:
        from everypair.pairs import auc

        values = self._curves(design, matrix, fit.coef)
        for j, wants in design.wants.items():
            values[j] = design.shapes[j].without_rounding(values[j], wants)
        n = len(design.shapes)
        self.shapes_, self.pairs_ = design.shapes, design.pairs
        self.strengths_ = design.strengths
        self.curves_, self.pair_values_ = values[:n], values[n:]
        self.importances_ = np.array(
            [_spread(part.counts, curve) for part, curve in zip(design.parts, values, strict=True)]
        )
        self.train_score_ = auc(rows, fit.scores)
        self.objective_, self.n_iter_ = float(fit.objective), fit.n_iter
        self.__dict__.pop("dual_gap_", None)  # of an earlier fit
        what, tol = "relative gradient norm", max(self.tol, CLIMB_TOL)
        if convex:
            self.dual_gap_, what, tol = fit.distance, "relative duality gap", self.tol
        elif self.loss == "sigmoid":
            tol = self.tol
        if not fit.distance <= tol:
            warn_not_converged(
                what, fit.distance, tol, fit.n_iter, max_iter=self.max_iter, rounding=fit.rounding
            )

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _codes(self, X: Any) -> NDArray[np.intp]:
        """The bin of each column in each row, a line per column."""
        columns = columns_of(X)
        return np.array(
            [shape.codes(values) for shape, (_, values) in zip(self.shapes_, columns, strict=True)]
        )

    def _scores(self, X: Any) -> Array:
        codes = self._codes(X)
        scores = np.full(codes.shape[1], self.intercept_[0])
        for curve, column in zip(self.curves_, codes, strict=True):
            scores += curve[column]
        for pair, values in zip(self.pairs_, self.pair_values_, strict=True):
            scores += values[pair.codes(codes)]
        return scores

    def auc_lost(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """The AUC that the score loses without each curve and surface.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows, best those that the model was not fitted on.
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), default=None
            Weights >= 0; None means 1 for every row.

        Returns
        -------
        array of shape (n_columns + n_pairs,)
            AUC of the score less that of the score without the part: columns, then pairs.
        """
        from everypair.metrics import auc_score

        X = self._validate_predict(X)
        codes, labels = self._codes(X), np.asarray(y) == self.classes_[1]
        parts = [curve[column] for curve, column in zip(self.curves_, codes, strict=True)]
        for pair, values in zip(self.pairs_, self.pair_values_, strict=True):
            parts.append(values[pair.codes(codes)])
        whole = np.sum(parts, axis=0)
        areas = [
            auc_score(labels, scores, sample_weight=sample_weight)
            for scores in (whole, *(whole - part for part in parts))
        ]
        return areas[0] - np.array(areas[1:])

    def scorecard(self) -> Scorecard:
        """The whole model as a table: what each bin of each column adds to the score.

        Returns
        -------
        Scorecard
            A list of rows: column, bin, share of the training rows in the bin, and points. The
            score of a row is the sum of its bins' points. It includes the constant, whose column
            is ``"(constant)"``. Pairs of columns have a line per cell. ``write(path)`` makes a CSV,
            JSON or HTML file of it, by the name's ending.
        """
        check_is_fitted(self)
        return Scorecard.of(self)

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


def rounds(n_pairs: int) -> list[int]:
    """How many pairs of columns there are at most after each ranking, up to ``n_pairs``."""
    return [*range(PAIRS_PER_ROUND, n_pairs, PAIRS_PER_ROUND), n_pairs] if n_pairs else []


def _spread(counts: Array, curve: Array) -> float:
    """The standard deviation of a curve over the rows."""
    share = counts / counts.sum()
    return float(np.sqrt(share @ (curve - share @ curve) ** 2))


SHARED: dict[str, list[Any]] = {
    "loss": "no_validation",  # type: ignore[dict-item]
    "shapes": [Mapping, None],
    "constraints": [Mapping, None],
    "min_rows": [Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    **OWN_CUTS,
}
