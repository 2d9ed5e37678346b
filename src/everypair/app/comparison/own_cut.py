"""The cut that a fitted model ships for a measure: from rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.by_measure import judge
from everypair.app.comparison.inside_groups import independent_units
from everypair.app.comparison.refits import Refits
from everypair.app.comparison.typed_measure import TypedMeasure
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class OwnCut:
    """Where a model is cut for the measure, and the measure of held-out rows."""

    cut: float  # of the model's scores
    value: float  # as people call it
    low: float
    high: float


def own_cut(
    measure: TypedMeasure,
    refits: Refits,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
    within: NDArray[np.intp] | None = None,
) -> OwnCut:
    """The cut of a model fitted on these rows, from the scores of rows held out of three folds.

    `MeasureOptCV` has found its own, which is zero of its scores.
    """
    rows = Rows.of(y, weight, pos_label=True, within=within)
    exact, model = measure.of(rows), refits.final.model
    if hasattr(model, "score_interval_"):
        turn = exact.sign * measure.sign
        ends = sorted(turn * end for end in model.score_interval_)
        return OwnCut(0.0, turn * float(model.best_score_), *ends)
    folds = list(refits.folds)
    found = judge(
        exact, y, [folds], {"": [refits.scores]}, weight, independent_units(groups, within), seed,
        seen={"": [refits.seen]}, kappas={"": refits.area.kappa}, within=within,
    )[""]  # fmt: skip
    cut = exact.best_cut(rows, rows.scores(refits.scores))
    ends = sorted(measure.sign * end for end in found.interval())
    return OwnCut(float(refits.on_scale(cut)), measure.sign * found.value, *ends)
