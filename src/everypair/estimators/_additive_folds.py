"""What an additive model is worth on held-out rows, at one setting after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everypair.estimators._additive_design import Design
from everypair.estimators._cross_fit import mean_score
from everypair.estimators._held_out import HeldOut
from everypair.estimators._search import Fold, side_by_side
from everypair.measures.operating_point import OperatingMeasure
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.linalg.binned import BinnedMatrix
    from everypair.solvers.result import Result

Array = NDArray[np.float64]
Strength = tuple[float, float]
"""Alpha and sparsity."""

PATH_TOL = 1e-3
"""Relative gap of the folds' fits: their AUC does not move by more than its own noise."""


@dataclass(frozen=True)
class Held:
    """What one setting is worth on the held-out rows."""

    value: float
    by_fold: Array
    scores: list[Array]
    """Of the rows that each fold tests, less the mean score of its model."""

    def surely_above(self, other: Held) -> bool:
        """By more than a standard error of the difference, fold against fold."""
        off = self.by_fold - other.by_fold
        error = float(np.std(off, ddof=1)) / np.sqrt(off.size) if off.size > 1 else 0.0
        return self.value - other.value > error


class AdditiveFolds:
    """The folds of a search; every method returns a `Held` for each setting."""

    def __init__(
        self,
        model: Any,
        rows: Rows,
        weight: Array | None,
        folds: list[Fold],
        measure: OperatingMeasure | None,
    ):
        self.model, self.rows, self.folds, self.measure = model, rows, folds, measure
        self.weight = np.ones(rows.n_rows) if weight is None else weight
        self.training = [self._weighing(train) for train, _ in folds]

    def _weighing(self, members: NDArray[np.intp]) -> Rows:
        """All rows; those that are not members weigh nothing."""
        weight = np.zeros(self.rows.n_rows)
        weight[members] = self.weight[members]
        return Rows.uncut(self.rows.positive, weight)

    def rough(
        self,
        design: Design,
        matrix: BinnedMatrix,
        rows: Rows,
        alpha: float,
        sparsity: float,
        start: Array | None = None,
    ) -> Result:
        """A convex fit that is good enough to choose by."""
        fit: Result = self.model._convex(
            design, matrix, rows, alpha, sparsity, tol=PATH_TOL, start=start
        )
        return fit

    def along(self, design: Design, path: Sequence[Strength]) -> list[Held]:
        """One fit after the other, each from the solution before it."""
        matrix = design.matrix()

        def of_fold(number: int) -> list[Array]:
            out, start = [], None
            for strength in path:
                fit = self.rough(design, matrix, self.training[number], *strength, start)
                start = fit.coef
                out.append(self._held(number, fit.scores))
            return out

        return self._judged(of_fold)

    def with_pairs(
        self, design: Design, strength: Strength, numbers: Sequence[int], factors: Sequence[float]
    ) -> list[Held]:
        """The curves alone, then for each factor so many pairs, one number after the other.

        Each fold adds the pairs that its own training rows ask for.
        """
        matrix = design.matrix()

        def of_fold(number: int) -> list[Array]:
            rows = self.training[number]
            fit = self.rough(design, matrix, rows, *strength)
            found = [fit]
            for factor in factors:
                given = rows, strength, fit, numbers, factor, PATH_TOL
                grown = self.model._with_pairs(design, *given, warm=True)
                found += [wider for _, _, wider in grown]
            return [self._held(number, one.scores) for one in found]

        return self._judged(of_fold)

    def climbed(self, design: Design, strength: Strength, factors: Sequence[float]) -> list[Held]:
        """After a climb from the convex fit, its alpha times each factor."""
        matrix = design.matrix()

        def of_fold(number: int) -> list[Array]:
            rows = self.training[number]
            fit = self.rough(design, matrix, rows, *strength)
            return [
                self._held(number, self._climbed(matrix, rows, factor * strength[0], fit).scores)
                for factor in factors
            ]

        return self._judged(of_fold)

    def _climbed(self, matrix: BinnedMatrix, rows: Rows, alpha: float, fit: Result) -> Result:
        found: Result = self.model._climb(matrix, rows, alpha, fit, self.measure, PATH_TOL)
        return found

    def by_importance(self, design: Design, alpha: float, sparsity: float) -> list[int]:
        """The columns, those whose curves move the score the most first."""
        matrix = design.matrix()
        fit = self.rough(design, matrix, self.rows, alpha, sparsity)
        curves = self.model._curves(design, matrix, fit.coef)
        spreads = [np.ptp(curve) for curve in curves[: len(design.shapes)]]
        order: list[int] = np.argsort(-np.array(spreads), kind="stable").tolist()
        return order

    def _held(self, number: int, scores: Array) -> Array:
        _, test = self.folds[number]
        return scores[test] - mean_score(scores, self.weight)

    def _judged(self, of_fold: Any) -> list[Held]:
        """Folds side by side, then setting by setting."""
        model = self.model
        tasks = [partial(of_fold, number) for number in range(len(self.folds))]
        found = side_by_side(tasks, model.n_jobs, "cross-validation", int(model.verbose))
        return [self._worth(list(scores)) for scores in zip(*found, strict=True)]

    def _worth(self, scores: list[Array]) -> Held:
        from everypair.pairs import auc

        if self.measure is None:
            areas = [
                auc(Rows.uncut(self.rows.positive[test], self.weight[test]), of_test)
                for (_, test), of_test in zip(self.folds, scores, strict=True)
            ]
            return Held(float(np.mean(areas)), np.array(areas), scores)
        of_rows = np.zeros(self.rows.n_rows)
        for (_, test), of_test in zip(self.folds, scores, strict=True):
            of_rows[test] = of_test
        held = HeldOut(self.measure, self.rows.positive, self.weight, self.folds, of_rows)
        by_fold = [held.on([fold]).value() for fold in self.folds]
        return Held(held.value(), np.array(by_fold), scores)
