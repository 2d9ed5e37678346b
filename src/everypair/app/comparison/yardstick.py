"""What a race of models goes by: AUC, or a measure of the operating point, of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.typed_measure import TypedMeasure
from everypair.estimators._held_out import HeldOut
from everypair.estimators._held_out_groups import held_out
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]
Fold = tuple[Index, Index]


class Yardstick(Protocol):
    """A value of the held-out rows of one fold; higher is better."""

    @property
    def label(self) -> str: ...
    @property
    def sign(self) -> float:
        """Times the value: what people call it."""
        ...

    def value(
        self, y: Bool, scores: Array, weight: Array | None, within: Index | None = None
    ) -> float: ...
    def error(
        self, value: float, y: Bool, scores: Array | None, weight: Array | None,
        within: Index | None = None,
    ) -> float:  # fmt: skip
        """The standard error of this value."""
        ...

    def over_folds(
        self, y: Bool, weight: Array | None, folds: Sequence[Fold], values: Sequence[float],
        scores: Sequence[Array], within: Index | None = None,
    ) -> float:  # fmt: skip
        """Of the held-out rows of all folds, each with its value and scores of its own."""
        ...


@dataclass(frozen=True)
class ByArea:
    """The area under the ROC curve."""

    label: str = "AUC"
    sign: float = 1.0

    def value(
        self, y: Bool, scores: Array, weight: Array | None, within: Index | None = None
    ) -> float:
        """With ``within``, that of the pairs inside its groups."""
        from everypair.metrics import auc_score

        return float(auc_score(y, scores, sample_weight=weight, within=within))

    def error(
        self, value: float, y: Bool, scores: Array | None, weight: Array | None,
        within: Index | None = None,
    ) -> float:  # fmt: skip
        from everypair.metrics.inference import hanley_mcneil

        return hanley_mcneil(value, int(y.sum()), int((~y).sum()))

    def over_folds(
        self, y: Bool, weight: Array | None, folds: Sequence[Fold], values: Sequence[float],
        scores: Sequence[Array], within: Index | None = None,
    ) -> float:  # fmt: skip
        return float(np.mean(values))


AREA = ByArea()


@dataclass(frozen=True)
class ByMeasure:
    """A measure of the operating point.

    A free cut comes from the other half of the fold's held-out rows, so that no row takes part in
    the choice of the cut that it is scored by. Training scores are no place for it: a model that
    has learnt its rows by heart separates them everywhere.
    """

    measure: TypedMeasure
    positive_share: float
    """Of all rows, by weight. A sample with more positives is weighted to it."""

    @classmethod
    def of(cls, measure: TypedMeasure, rows: Rows) -> ByMeasure:
        """For these rows and parts of them."""
        positive, negative = rows.totals
        return cls(measure.as_share(rows), positive / (positive + negative))

    @property
    def label(self) -> str:
        return self.measure.typed

    @property
    def sign(self) -> float:
        return self.measure.sign

    def _held_out(
        self, y: Bool, scores: Array, weight: Array | None, within: Index | None
    ) -> HeldOut:
        rows = np.arange(y.size)
        halves = [rows]
        if self.measure.free_cut:
            odd = np.zeros(y.size, dtype=bool)  # every other row of each class
            for members in (np.flatnonzero(y), np.flatnonzero(~y)):
                odd[members[1::2]] = True
            halves = [np.flatnonzero(~odd), np.flatnonzero(odd)]
        folds = [(np.setdiff1d(rows, half), half) for half in halves]
        return self._of(y, weight, folds, scores, within)

    def _of(
        self,
        y: Bool,
        weight: Array | None,
        folds: list[Fold],
        scores: Array,
        within: Index | None,
    ) -> HeldOut:
        mass = np.ones(y.size) if weight is None else weight
        share = float(mass[y].sum() / mass.sum())
        mass = mass * np.where(
            y, self.positive_share / share, (1 - self.positive_share) / (1 - share)
        )
        measure = self.measure.of(Rows.of(y, mass, pos_label=True, within=within))
        return held_out(measure, y, mass, folds, scores, within)

    def value(
        self, y: Bool, scores: Array, weight: Array | None, within: Index | None = None
    ) -> float:
        """With ``within``, that of the k best rows of each group."""
        return self._held_out(y, scores, weight, within).value()

    def error(
        self, value: float, y: Bool, scores: Array | None, weight: Array | None,
        within: Index | None = None,
    ) -> float:  # fmt: skip
        if scores is None:
            return 0.0
        held = self._held_out(y, scores, weight, within)
        return float(np.std(held.draws(held.prepared)[0]))

    def over_folds(
        self, y: Bool, weight: Array | None, folds: Sequence[Fold], values: Sequence[float],
        scores: Sequence[Array], within: Index | None = None,
    ) -> float:  # fmt: skip
        """A free cut of a fold's rows comes from the other folds."""
        together = np.zeros(y.size)
        for (_, test), of_fold in zip(folds, scores, strict=True):
            together[test] = of_fold
        return self._of(y, weight, list(folds), together, within).value()
