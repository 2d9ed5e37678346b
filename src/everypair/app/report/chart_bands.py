"""Bands of the charts that follow the threshold, 95 % at one place of the curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.app.comparison.records import Comparison, ModelResult
from everypair.app.report.cuts import Cuts
from everypair.metrics import calibration_bins, gain_curve
from everypair.metrics.precision_recall import precision_at, precision_recall_band
from everypair.rows import Array, Rows

LEVEL = 0.95
N_DRAWS = 200
"""Replicates of a bootstrap: enough for a drawing."""

GRID = np.linspace(0.02, 1, 50)


def bands(model: ModelResult, comparison: Comparison, rows: Rows, cuts: Cuts) -> dict[str, Any]:
    """The bands of gain, precision and calibration; None if all scores are equal."""
    if np.min(model.scores) == np.max(model.scores):
        return {
            "gain_band": None,
            "precision_band": None,
            "calibration": _calibration(model, comparison),
        }
    gain = gain_curve(
        comparison.y, model.scores, GRID[:-1], level=LEVEL, sample_weight=comparison.weights
    )
    return {
        "gain_band": _plain(at=gain.share, low=gain.low, high=gain.high),
        "precision_band": _precision(model, comparison, rows, cuts),
        "calibration": _calibration(model, comparison),
    }


def _plain(**arrays: Array) -> dict[str, list[float]]:
    return {name: np.round(values, 4).tolist() for name, values in arrays.items()}


def _precision(
    model: ModelResult, comparison: Comparison, rows: Rows, cuts: Cuts
) -> dict[str, list[float]]:
    """The band of the precision at each recall, by a bootstrap of the rows within their classes.

    Rows between two cuts count alike there, so that rows of equal weight are drawn as counts
    between cuts: the same bootstrap, and its time does not grow with the rows.
    """
    if comparison.weights is not None:
        band = precision_recall_band(
            comparison.y, model.scores, level=LEVEL, sample_weight=comparison.weights,
            n_bootstrap=N_DRAWS, random_state=comparison.seed,
        )  # fmt: skip
        return _plain(at=band.recall, low=band.low, high=band.high)
    rng = np.random.default_rng(comparison.seed)
    shares = [(n[-1], np.diff(n, prepend=0) / n[-1]) for n in (cuts.fp, cuts.tp)]
    drawn = []
    for _ in range(N_DRAWS):
        fpr, tpr = (
            np.cumsum(rng.multinomial(round(count), share)) / count for count, share in shares
        )
        drawn.append(precision_at(fpr, tpr, rows.n_negative / rows.n_positive, GRID))
    here = precision_at(
        cuts.fp / cuts.fp[-1], cuts.tp / cuts.tp[-1], rows.n_negative / rows.n_positive, GRID
    )
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return _plain(at=GRID, low=np.minimum(low, here), high=np.maximum(high, here))


def _calibration(model: ModelResult, comparison: Comparison) -> dict[str, list[float]] | None:
    if model.probabilities is None:
        return None
    found = calibration_bins(
        comparison.y, model.probabilities, level=LEVEL, sample_weight=comparison.weights
    )
    return _plain(
        predicted=found.probability, observed=found.observed, low=found.low, high=found.high
    )
