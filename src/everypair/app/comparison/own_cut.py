"""The cut that a fitted model ships for a measure: from rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.by_measure import judge
from everypair.app.comparison.measure import Measure
from everypair.app.comparison.models import Candidate
from everypair.app.comparison.search import Fitted, fit_candidate, inner_splits
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
    measure: Measure,
    candidate: Candidate,
    fitted: Fitted,
    X: Any,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
) -> OwnCut:
    """The cut of a model fitted on these rows, from the scores of rows held out of three folds.

    `MeasureOptCV` has found its own, which is zero of its scores.
    """
    rows = Rows.of(y, weight, pos_label=True)
    exact = measure.of(rows)
    if candidate.takes_folds:
        turn = exact.sign * measure.sign
        ends = sorted(turn * end for end in fitted.model.score_interval_)
        return OwnCut(0.0, turn * float(fitted.model.best_score_), *ends)
    folds = inner_splits(y, groups, seed)
    scores, seen = np.empty(y.size), np.empty(y.size)
    for k, (train, test) in enumerate(folds):
        part = fit_candidate(
            candidate, X[train], y[train], None if weight is None else weight[train],
            None if groups is None else groups[train], seed, fitted.settings,
        )  # fmt: skip
        scores[test] = part.standardised(part.scores(X[test]))
        before = folds[k - 1][1]  # rows that it trained on
        seen[before] = part.standardised(part.scores(X[before]))
    by = {"": [scores]}, weight, groups, seed
    found = judge(exact, y, [folds], *by, seen={"": [seen]})[""]
    cut = exact.best_cut(rows, rows.scores(scores))
    ends = sorted(measure.sign * end for end in found.interval())
    return OwnCut(fitted.score_mean + fitted.score_scale * cut, measure.sign * found.value, *ends)
