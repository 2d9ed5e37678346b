"""Probabilities of each model's held-out scores, by calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.records import ModelResult

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


def with_probabilities(
    results: Sequence[ModelResult], folds: Folds, y: Bool, weight: Array | None
) -> list[ModelResult]:
    """Each row's probability by a calibrator of the other folds' scores."""
    return [
        result if result.failure is not None else _calibrated(result, folds, y, weight)
        for result in results
    ]


def _calibrated(result: ModelResult, folds: Folds, y: Bool, weight: Array | None) -> ModelResult:
    chances = np.empty(y.size)
    for _, test in folds:
        others = np.ones(y.size, dtype=bool)
        others[test] = False
        fitted = calibrator_of(result.scores[others], y[others], _part(weight, others))
        chances[test] = fitted.probabilities(result.scores[test])[:, 1]
    return replace(
        result, calibrator=calibrator_of(result.scores, y, weight), probabilities=chances
    )


def calibrator_of(scores: Array, y: Bool, weight: Array | None, prior: float | None = None) -> Any:
    """From these scores of held-out rows to probabilities. Rows of weight zero say nothing."""
    from everypair.estimators._calibration import calibrated, method_for

    if weight is not None:
        scores, y, weight = scores[weight > 0], y[weight > 0], weight[weight > 0]
    return calibrated(method_for("auto", y.size), scores, y, weight, prior)


def _part(weight: Array | None, rows: Any) -> Array | None:
    return None if weight is None else weight[rows]
