"""The measure by which a comparison judges its models, if not by AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.by_measure import Difference, Judged, Splits, difference, judge
from everypair.app.comparison.judge import cut_calling
from everypair.app.comparison.records import ModelResult
from everypair.app.comparison.typed_measure import TypedMeasure, parse_measure
from everypair.app.comparison.yardstick import ByMeasure
from everypair.measures.operating_point import OperatingMeasure
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

FEW_ROWS = 10
"""Rows on the rarer side of a cut below which a measure is mostly chance; no climb is tried."""


@dataclass
class Standard:
    """The measure by which the models are judged, and what it says of each."""

    measure: TypedMeasure
    as_share: TypedMeasure  # the same on part of the rows
    exact: OperatingMeasure
    rows: Rows
    judged: dict[str, Judged] = field(default_factory=dict)
    n_repeats: int = 1
    n_units: int = 1

    @classmethod
    def of(cls, typed: str, rows: Rows) -> Standard | None:
        measure = parse_measure(typed)
        if measure is None:
            return None
        measure = measure if rows.within is None else measure.inside_groups()
        return cls(measure, measure.as_share(rows), measure.of(rows), rows)

    @property
    def yardstick(self) -> ByMeasure:
        """What settings are chosen by."""
        return ByMeasure.of(self.measure, self.rows)

    def judge(
        self,
        results: Sequence[ModelResult],
        y: Bool,
        splits: Splits,
        scores: Mapping[str, Sequence[Array]],
        weight: Array | None,
        group: NDArray[Any] | None,
        seed: int,
        seen: Mapping[str, Sequence[Array]],
        kappas: Mapping[str, float],
        within: NDArray[Any] | None = None,
    ) -> list[ModelResult]:
        """The results with the measure of each (`everypair.app.comparison.by_measure.judge`)."""
        self.judged = judge(
            self.exact, y, splits, scores, weight, group, seed, seen=seen, kappas=kappas,
            within=within,
        )  # fmt: skip
        self.n_repeats = len(splits)
        rarer = min(self.rows.n_positive, self.rows.n_negative)
        self.n_units = rarer if group is None else int(np.unique(group).size)
        return [self._result(model) for model in results]

    def _result(self, model: ModelResult) -> ModelResult:
        """With its measure, and classified by the cuts that are best for it."""
        if model.failure is not None:
            return model
        found, sign = self.judged[model.name], self.measure.sign
        low, high = sorted(sign * end for end in found.interval())
        return replace(
            model,
            value=sign * found.value,
            value_low=low,
            value_high=high,
            fold_value=sign * found.by_fold,
            called=found.called,
            threshold=cut_calling(int(np.count_nonzero(found.called)), model.scores),
        )

    def difference(self, name: str, other: str, n_rivals: int) -> Difference:
        one, two = self.judged[name], self.judged[other]
        return difference(one, two, self.n_repeats, self.n_units, n_rivals)

    @property
    def scale(self) -> str:
        """What the scores and the threshold of a model are."""
        return (
            "Scores are those of the model of each row's fold, less the mean and in units of the "
            "spread of its training scores. At the model's own threshold each row is classified by "
            f"the cut that is best for the {self.measure.label} of the other folds. The threshold "
            "shown classifies the same number of rows as positive."
        )

    def remarks(self) -> list[str]:
        n_rows = self.exact.deciding_rows(self.rows.n_positive, self.rows.n_negative)
        if n_rows >= FEW_ROWS:
            return []
        return [
            f"only about {n_rows:.1f} rows lie beyond the cut of {self.measure.typed}: its value "
            "is mostly chance, and measure-opt does not climb it."
        ]
