"""The rows on which a measure is climbed: in arrays, or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from everypair.estimators._search import side_by_side
from everypair.linalg.block_vector import BlockVector
from everypair.measures.operating_point import OperatingMeasure
from everypair.rows import Rows
from everypair.within import Groups

if TYPE_CHECKING:
    from everypair.linalg.blocks import Blocks
    from everypair.linalg.matrix import Matrix
    from everypair.solvers.logistic import LogisticFit
    from everypair.solvers.sphere import Sphere, Step

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Item = TypeVar("Item")


def as_array(scores: Any) -> Array:
    """Scores in this process, wherever they are."""
    return scores.gather() if isinstance(scores, BlockVector) else scores


@dataclass(frozen=True)
class ClimbProblem:
    """Rows to climb on; rows of weight zero are held out."""

    X: Matrix
    positive: Bools
    weight: Array
    measure: OperatingMeasure
    sphere: Sphere
    pairs: Any
    total: float
    """What all rows weigh together, as they were given."""

    @property
    def centre(self) -> Array:
        """The means of the columns: scores are those of rows less them."""
        assert self.sphere.centre is not None
        return self.sphere.centre

    @classmethod
    def of(
        cls, X: Matrix, positive: Bools, sample_weight: Array | None, measure: OperatingMeasure,
        within: Any = None,
    ) -> Self:  # fmt: skip
        from everypair.solvers.column_moments import class_covariance
        from everypair.solvers.sphere import Sphere

        weight = np.ones(positive.size) if sample_weight is None else sample_weight
        largest = float(weight.max())
        weight = weight / largest
        total = float(weight.sum())
        weight /= total
        pairs = cls._pairs(X, positive, weight, measure)
        if within is not None:
            pairs = Rows.uncut(positive, weight, within)
        share = float(weight[positive].sum())
        sphere, _ = Sphere.around(X, pairs, share, class_covariance(X, pairs))
        sphere = replace(sphere, centre=X.pull_back(weight))
        return cls(X, positive, weight, measure, sphere, pairs, largest * total)

    @staticmethod
    def _pairs(X: Matrix, positive: Bools, weight: Array, measure: OperatingMeasure) -> Any:
        return Rows.uncut(positive, weight)

    def without(self, held_out: NDArray[np.intp]) -> Self:
        """The same on the other rows: X itself is never cut into folds."""
        weight = self._weight_without(held_out)
        return replace(self, weight=weight, pairs=Rows.uncut(self.positive, weight, self.within))

    def _weight_without(self, held_out: NDArray[np.intp]) -> Array:
        weight = self.weight.copy()
        weight[held_out] = 0.0
        weight /= weight.sum()
        return weight

    @property
    def within(self) -> Groups | None:
        """The groups inside which rows are paired."""
        groups: Groups | None = self.pairs.within
        return groups

    @property
    def rows(self) -> Rows:
        return Rows.of(self.positive, self.weight, within=self.within)

    @property
    def best(self) -> float:
        return self.measure.smooth(*self.rows.totals).best

    def cut(self, scores: Any) -> float:
        rows = self.rows
        return self.measure.best_cut(rows, rows.scores(as_array(scores)))

    def train_value(self, scores: Any) -> float:
        """At the cut that is best for these rows."""
        rows = self.rows
        kept = rows.scores(as_array(scores))
        return self.measure.value(rows, kept, self.measure.best_cut(rows, kept))

    def _classes(self) -> tuple[Any, Any]:
        """Which rows are positive, and weights that sum to one, as the scores are."""
        return self.positive, self.weight

    def starts(self, alphas: Array, max_iter: int, tol: float) -> list[LogisticFit]:
        from everypair.solvers.grouped_quota import pairwise_path
        from everypair.solvers.logistic import logistic_path

        if self.within is not None:
            return pairwise_path(self.sphere, self.pairs, alphas, max_iter, tol)
        return list(logistic_path(self.sphere, *self._classes(), alphas, max_iter, tol))

    def climbs(
        self, start: LogisticFit, saturations: tuple[float, ...], max_iter: int, tol: float
    ) -> list[Step]:
        from everypair.solvers.soft_measure import smoothed
        from everypair.solvers.sphere import LbfgsClimber, climb_path

        length = float(np.linalg.norm(start.coef))
        if length == 0:
            return []
        statistic = smoothed(self.measure, self.pairs, self.rows.totals)
        return list(
            climb_path(
                self.sphere, statistic, start.coef / length, saturations, LbfgsClimber(),
                max_iter, tol, self.cut if self.measure.free_cut else None,
            )
        )  # fmt: skip

    def side_by_side(
        self, tasks: Sequence[Callable[[], Item]], n_jobs: int | None, what: str, verbose: int
    ) -> list[Item]:
        """Of the folds."""
        return side_by_side(tasks, n_jobs, what, verbose)


@dataclass(frozen=True)
class BlockClimbProblem(ClimbProblem):
    """`ClimbProblem` of rows in blocks: sums where the rows live. Labels and weights are here as
    well, and scores come here for an exact cut."""

    @property
    def blocks(self) -> Blocks:
        X: Any = self.X
        blocks: Blocks = X.blocks
        return blocks

    @staticmethod
    def _pairs(X: Any, positive: Bools, weight: Array, measure: OperatingMeasure) -> Any:
        from everypair.pairs.blocked import BlockRows
        from everypair.pairs.blocked_groups import BlockGroups

        if X.blocks.grouped:
            return BlockGroups(X.blocks, "pairs")
        return BlockRows(X.blocks, "sigmoid" if measure.of_pairs else "extent")

    @property
    def within(self) -> Groups | None:
        return self.pairs.groups_here if self.blocks.grouped else None

    def without(self, held_out: NDArray[np.intp]) -> Self:
        from everypair.linalg.block_folds import GivenFolds, training

        fold = np.full(self.positive.size, -1, dtype=np.int8)
        fold[held_out] = 0
        X: Any = self.X
        X = X.over(self.blocks.only(training(GivenFolds(fold), 0)))
        weight = self._weight_without(held_out)
        pairs = self._pairs(X, self.positive, weight, self.measure)
        return replace(self, X=X, weight=weight, pairs=pairs, sphere=replace(self.sphere, X=X))

    def _classes(self) -> tuple[Any, Any]:
        blocks = self.blocks
        return blocks.positive, blocks.weight * (1 / sum(blocks.totals))

    def side_by_side(
        self, tasks: Sequence[Callable[[], Item]], n_jobs: int | None, what: str, verbose: int
    ) -> list[Item]:
        from everypair.estimators._block_training import sharing_passes

        return sharing_passes(self.blocks, tasks, n_jobs)
