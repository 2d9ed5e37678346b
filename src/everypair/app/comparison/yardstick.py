"""What a race of models goes by: AUC, or a measure of the operating point, of held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.measure import Measure
from everypair.estimators._held_out import HeldOut
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


class Yardstick(Protocol):
    """Of one fold's held-out rows; higher is better."""

    @property
    def label(self) -> str: ...
    @property
    def sign(self) -> float:
        """Times the value: what people call it."""
        ...

    def value(
        self, y: Bool, scores: Array, weight: Array | None, within: Index | None = None
    ) -> float: ...
    def error(self, value: float, y: Bool, scores: Array | None, weight: Array | None) -> float:
        """The standard error of this value."""
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

    def error(self, value: float, y: Bool, scores: Array | None, weight: Array | None) -> float:
        from everypair.metrics.inference import hanley_mcneil

        return hanley_mcneil(value, int(y.sum()), int((~y).sum()))


AREA = ByArea()


@dataclass(frozen=True)
class ByMeasure:
    """A measure of the operating point.

    A free cut comes from the other half of the fold's held-out rows, so that no row takes part in
    the choice of the cut that it is scored by. Training scores are no place for it: a model that
    has learnt its rows by heart separates them everywhere.
    """

    measure: Measure

    @property
    def label(self) -> str:
        return self.measure.typed

    @property
    def sign(self) -> float:
        return self.measure.sign

    def _held_out(self, y: Bool, scores: Array, weight: Array | None) -> HeldOut:
        rows = np.arange(y.size)
        halves = [rows]
        if self.measure.free_cut:
            odd = np.zeros(y.size, dtype=bool)  # every other row of each class
            for members in (np.flatnonzero(y), np.flatnonzero(~y)):
                odd[members[1::2]] = True
            halves = [np.flatnonzero(~odd), np.flatnonzero(odd)]
        folds = [(np.setdiff1d(rows, half), half) for half in halves]
        mass = np.ones(y.size) if weight is None else weight
        return HeldOut(self.measure.of(Rows.of(y, weight, pos_label=True)), y, mass, folds, scores)

    def value(
        self, y: Bool, scores: Array, weight: Array | None, within: Index | None = None
    ) -> float:
        """Groups of pairs mean nothing to a measure of one cut."""
        return self._held_out(y, scores, weight).value()

    def error(self, value: float, y: Bool, scores: Array | None, weight: Array | None) -> float:
        if scores is None:
            return 0.0
        held = self._held_out(y, scores, weight)
        return float(np.std(held.draws(held.prepared)[0]))
