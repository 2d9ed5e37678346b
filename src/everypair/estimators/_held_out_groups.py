"""The k best rows of each group on rows that were held out: the value, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.cached import cached_property
from everypair.estimators._held_out import HeldOut
from everypair.estimators._search import Fold
from everypair.measures.grouped import TopOfEachGroup
from everypair.measures.operating_point import OperatingMeasure
from everypair.metrics.at_k import TopOfGroups
from everypair.rows import Rows, groups_of
from everypair.within import Groups

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class _OfFold(NamedTuple):
    """The measure in each group of a fold that has rows of both classes there."""

    firsts: Index
    """A positive row of each group: it is drawn as often as the group is."""
    values: Array


@dataclass(frozen=True)
class HeldOutGroups(HeldOut):
    """`HeldOut` for a measure that is a mean over groups. A group that a splitter cuts counts once
    in each fold that tests it."""

    within: Groups | None = None

    @cached_property
    def prepared(self) -> Any:
        return [self._of_fold(test) for _, test in self.folds]

    def _of_fold(self, test: Index) -> _OfFold:
        measure: Any = self.measure
        assert isinstance(measure, TopOfEachGroup)
        assert self.within is not None
        groups = self.within.take(test)
        rows = Rows.of(self.positive[test], self.weight[test], True, groups)
        top = TopOfGroups.of(rows, measure.k)
        values = top.hits(rows.scores(self.scores[test])) / measure.largest(top)
        there = test if rows.kept is None else test[rows.kept]
        return _OfFold(there[rows.paired.classes[0][rows.paired.edges[0][:-1]]], values)

    def value(self, prepared: Any = None, weight: Array | None = None) -> float:
        """Of these values (its own), the rows, and with them their groups, drawn so often."""
        prepared = self.prepared if prepared is None else prepared
        values = np.concatenate([of.values for of in prepared])
        if weight is None:
            return float(values.mean())
        counts = weight[np.concatenate([of.firsts for of in prepared])]
        return float(counts @ values / counts.sum()) if counts.any() else 0.0


def held_out(
    measure: OperatingMeasure,
    positive: NDArray[np.bool_],
    weight: Array,
    folds: list[Fold],
    scores: Array,
    within: Groups | ArrayLike | None,
    groups: NDArray[Any] | None = None,
) -> HeldOut:
    """Rows that were held out: alone, or in groups, which are drawn whole unless larger ``groups``
    hold them."""
    inside = groups_of(within, "pairs", positive.size)
    given = measure, positive, weight, folds, scores
    if inside is None:
        return HeldOut(*given, groups)
    return HeldOutGroups(*given, inside.codes if groups is None else groups, inside)
