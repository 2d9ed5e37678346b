"""The rows of a fit as solvers see them, and their folds: here those in arrays.

Rows in blocks have the same two classes (`_block_training`), so that an estimator does not ask
where its rows live.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.estimators._cross_fit import OutOfFold, mean_score
from everypair.estimators._search import Fold, folds_of, side_by_side
from everypair.linalg.matrix import Matrix, as_matrix

if TYPE_CHECKING:
    from everypair.linalg.blocks import Blocks

Array = NDArray[np.float64]
Item = TypeVar("Item")


class TrainingFolds(Protocol):
    """Folds of the rows of a fit: rows outside a fold weigh nothing, and X is never cut."""

    def __len__(self) -> int: ...
    def training(self, k: int) -> tuple[Matrix, Any]:
        """X and the pairs that fold k trains on."""

    def area(self, k: int, scores: Any) -> float:
        """AUC of the rows that fold k tests, by these scores of all rows."""

    def kept(self, k: int, scores: Any, coef: Array) -> Any:
        """What is kept of the model of fold k until all folds make the `held_out` scores."""

    def held_out(self, kept: Sequence[Any]) -> Any: ...
    def side_by_side(
        self,
        tasks: Sequence[Callable[[], Item]],
        n_jobs: int | None,
        what: str = "cross-validation",
        verbose: int = 0,
    ) -> list[Item]: ...


class Training(Protocol):
    """X, the classes and weights of its rows, and what a fit asks of them at its end."""

    X: Matrix
    pairs: Any
    positive_share: float
    """Weight of the positives beside all."""

    @property
    def blocks(self) -> Blocks | None: ...
    def cut(self, scores: Any, held_out: Any = None, in_folds: Any = None) -> float:
        """The threshold by scores that were held out, by those that ``in_folds(folds)`` makes where
        folds are wanted, or at these scores."""

    def folds(self, cv: Any) -> TrainingFolds: ...


class ArrayTraining:
    """Rows in arrays."""

    blocks = None

    def __init__(
        self,
        model: Any,
        X: Any,
        positive: NDArray[np.bool_],
        sample_weight: Array | None,
        groups: ArrayLike | None,
        within: ArrayLike | None,
    ):
        self._model, self._groups, self._within = model, groups, within
        self._given, self.positive, self.weight = X, positive, sample_weight
        self.pairs = model._pair_up(positive, sample_weight, within)
        self.X = as_matrix(X)
        # Relative to the largest, so that huge weights do not overflow in their sum.
        relative = None if sample_weight is None else sample_weight / sample_weight.max()
        self.positive_share = float(np.average(positive, weights=relative))

    def cut(self, scores: Array, held_out: OutOfFold | None = None, in_folds: Any = None) -> float:
        model, rows = self._model, (self.positive, scores, self.weight)
        if held_out is not None:
            return float(model._choose_threshold(*rows, held_out, groups=self._groups))
        by_folds = None if in_folds is None else lambda folds: in_folds(self._folds_of(folds))
        return float(
            model._cut(self._given, *rows, self._groups, within=self._within, in_folds=by_folds)
        )

    def _folds_of(self, folds: list[Fold]) -> ArrayFolds:
        return ArrayFolds(self.X, self.pairs, self.weight, folds)

    def folds(self, cv: Any) -> ArrayFolds:
        # Splitters see the number of rows alone: scikit-learn would copy a CSC matrix for them.
        rows_alone = np.broadcast_to(0.0, (self.positive.size, 1))
        folds = folds_of(
            cv, rows_alone, self.positive, self.weight, self._groups, each_has_auc=True,
            within=self.pairs.within,
        )  # fmt: skip
        return self._folds_of(folds)


class ArrayFolds:
    """`TrainingFolds` of arrays of scores."""

    def __init__(self, X: Matrix, pairs: Any, weight: Array | None, folds: list[Fold]):
        self._X, self._pairs, self._given, self._folds = X, pairs, weight, folds
        self._weight = np.ones(pairs.n_rows) if weight is None else weight
        self._tested: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._folds)

    def training(self, k: int) -> tuple[Matrix, Any]:
        rows = self._folds[k][0]
        weight = np.zeros(self._pairs.n_rows)
        weight[rows] = self._weight[rows]
        return self._X, self._pairs.weighing(weight)

    def area(self, k: int, scores: Array) -> float:
        from everypair.pairs import auc

        test = self._folds[k][1]
        if k not in self._tested:
            self._tested[k] = self._pairs.part(test, self._given)
        return auc(self._tested[k], scores[test])

    def kept(self, k: int, scores: Array, coef: Array) -> Array:
        return np.asarray(scores[self._folds[k][1]] - mean_score(scores, self._given))

    def held_out(self, kept: Sequence[Array]) -> OutOfFold:
        return OutOfFold.of(self._folds, kept)

    def side_by_side(
        self,
        tasks: Sequence[Callable[[], Item]],
        n_jobs: int | None,
        what: str = "cross-validation",
        verbose: int = 0,
    ) -> list[Item]:
        return side_by_side(tasks, n_jobs, what, verbose)
