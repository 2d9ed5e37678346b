"""What the page draws, as plain numbers ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from everypair.app.comparison.figures import Figures
from everypair.app.comparison.records import Comparison, ModelResult, PathSummary
from everypair.app.explain.curves import Panel
from everypair.app.explain.weights import Line
from everypair.app.report.at_cuts import at_cuts, what_is_drawn
from everypair.app.report.chart_bands import LEVEL, bands
from everypair.app.report.cuts import Cuts
from everypair.metrics import roc_band
from everypair.rows import Array, Bool, Rows

N_BOOTSTRAP = 200
"""Replicates of the band of weighted rows: enough for a drawing, and minutes less than 2000."""

MAX_BINS = 48
TAIL_SHARE = 0.002
"""Share of the scores on each side that the outermost bar may gather."""

N_COLUMNS, N_FEATURES = 24, 8
"""Columns of the table that are listed for a model, and features of each; not thousands."""

N_LINES = 60
"""Features of the path that are drawn."""


def drawn(comparison: Comparison) -> dict[str, Any]:
    """Everything the scripts of the page need."""
    rows = Rows.of(comparison.y, comparison.weights)
    models = [_model(model, rows, comparison) for model in comparison.models if not model.failure]
    first = next((m for m in models if m["name"] == comparison.best_baseline), None)
    return {
        "target": comparison.target,
        "positive": comparison.positive,
        "best_baseline": None if first is None else first["name"],
        "recommended": comparison.recommended,
        "start": "own" if comparison.evaluated or comparison.measure else "top",
        "weighted": comparison.weights is not None,
        "n_positive": _mass(rows, rows.positive),
        "n_negative": _mass(rows, ~rows.positive),
        "band": "simultaneous" if comparison.weights is None else "pointwise",
        "models": models,
        "path": None if comparison.path is None else _path(comparison.path),
        "measure": None
        if comparison.measure is None
        else what_is_drawn(comparison.measure, comparison.measure.of(rows)),
    }


def _mass(rows: Rows, members: Bool) -> float:
    """Number or weight of rows of one class."""
    if rows.weight is None:
        return int(np.count_nonzero(members))
    unit = rows.units[0 if np.any(members & rows.positive) else 1]
    return float(unit * np.sum(rows.weight[members]))


def _model(model: ModelResult, rows: Rows, comparison: Comparison) -> dict[str, Any]:
    scores = rows.scores(model.scores, f"The scores of {model.name}")
    measure = comparison.measure
    exact = None if measure is None else measure.of(rows)
    cuts = Cuts.of(rows, scores, model.threshold, exact)
    return {
        "name": model.name,
        "kind": model.kind,
        "auc": model.auc,
        "threshold": cuts.threshold.tolist(),
        "tp": _counts(cuts.tp, rows),
        "fp": _counts(cuts.fp, rows),
        "standard": cuts.standard,
        "own": None if model.called is None else _own(model.called, rows),
        "band": _band(model, comparison),
        "histogram": _histogram(rows, scores),
        "judged": model.judged,
        "measure": None
        if measure is None or exact is None
        else at_cuts(measure, exact, rows, cuts),
        "probability": None
        if model.calibrator is None
        else np.round(model.calibrator.probabilities(cuts.threshold)[:, 1], 6).tolist(),
        **bands(model, comparison, rows, cuts),
        "figures": _figures(model, comparison),
        "columns": _columns(model),
        "n_used": _n_used(model),
        "panels": [_panel(panel) for panel in model.panels[:N_COLUMNS]],
    }


def _own(called: Bool, rows: Rows) -> dict[str, float]:
    """Counts where each row is called by the model of its fold: beside the curve, not on it."""
    called = called if rows.kept is None else called[rows.kept]
    return {
        "tp": _mass(rows, called & rows.positive),
        "fp": _mass(rows, called & ~rows.positive),
    }


def _counts(values: Array, rows: Rows) -> list[float]:
    """Counts as integers, sums of weights as they are."""
    return (values.astype(np.int64) if rows.weight is None else values).tolist()


def _band(model: ModelResult, comparison: Comparison) -> dict[str, list[float]] | None:
    if np.min(model.scores) == np.max(model.scores):
        return None
    if comparison.weights is None:
        band = roc_band(comparison.y, model.scores, level=LEVEL)
    else:
        band = roc_band(
            comparison.y,
            model.scores,
            kind="pointwise",
            level=LEVEL,
            sample_weight=comparison.weights,
            n_bootstrap=N_BOOTSTRAP,
            random_state=comparison.seed,
        )
    return {"low": np.round(band.low, 4).tolist(), "high": np.round(band.high, 4).tolist()}


def _histogram(rows: Rows, scores: Array) -> dict[str, Any]:
    """Shares of each class in bins of equal width; the outermost gather what lies beyond."""
    low = float(np.quantile(scores, TAIL_SHARE, method="lower"))
    high = float(np.quantile(scores, 1 - TAIL_SHARE, method="higher"))
    if not low < high:
        low, high = float(scores.min()), float(scores.max())
    if not low < high:
        reach = max(abs(low), 1.0) / 2
        low, high = low - reach, high + reach
    inside = np.clip(scores, low, high)
    n_bins = min(MAX_BINS, 8 + int(np.sqrt(2 * scores.size)))
    shares = {}
    for name, members in (("positive", rows.positive), ("negative", ~rows.positive)):
        counted, _ = np.histogram(inside[members], n_bins, (low, high), weights=rows.share[members])
        shares[name] = np.round(counted, 5).tolist()
    gathers = bool(scores.min() < low or scores.max() > high)
    return {"low": low, "high": high, "gathers": gathers, **shares}


def _figures(model: ModelResult, comparison: Comparison) -> dict[str, list[float] | None]:
    found = Figures.of(comparison.y, model.scores, model.probabilities, comparison.weights)
    return {
        name: None if figure is None else [round(end, 6) for end in figure.values()]
        for name, figure in asdict(found).items()
    }


def _columns(model: ModelResult) -> list[dict[str, Any]]:
    """The columns that are worth most, each with its features; or the largest weights alone."""
    lines = model.lines or {}
    if model.worth:
        return [
            {
                "name": worth.name,
                "alone": None if np.isnan(worth.alone) else round(worth.alone, 4),
                "lost": round(worth.lost, 5),
                "spread": round(worth.spread, 5),
                "goes": worth.direction,
                "features": _features(lines.get(worth.name, ())),
            }
            for worth in model.worth[:N_COLUMNS]
        ]
    by_size = sorted((model.coefficients or {}).items(), key=lambda item: -abs(item[1]))
    return [
        {"name": name, "lost": None, "features": [{"name": name, "weight": value}]}
        for name, value in by_size[:N_COLUMNS]
        if value != 0
    ]


def _features(lines: Sequence[Line]) -> list[dict[str, Any]]:
    kept = [line for line in lines if line.weight != 0][:N_FEATURES]
    return [{"name": line.name, "weight": line.weight} for line in kept]


def _panel(panel: Panel) -> dict[str, Any]:
    """A curve, or the categories with the most rows."""
    kept = np.arange(len(panel.y))
    if panel.labels:
        kept = np.argsort(-np.asarray(panel.share), kind="stable")[:N_FEATURES]
    return {
        "name": panel.name,
        "x": [float(f"{x:.6g}") for x in panel.x],
        "labels": [panel.labels[k] for k in kept] if panel.labels else [],
        "y": [float(f"{panel.y[k]:.5g}") for k in kept],
        "share": [round(panel.share[k], 5) for k in kept],
        "missing": None if panel.missing is None else float(f"{panel.missing:.5g}"),
    }


def _n_used(model: ModelResult) -> int | None:
    """Features with a weight; the record may hold fewer than the model has."""
    if model.n_features is not None or model.coefficients is None:
        return model.n_features
    return sum(value != 0 for value in model.coefficients.values())


def _path(path: PathSummary) -> dict[str, Any]:
    on_log_scale = np.asarray(path.alphas) > 0
    alphas = np.asarray(path.alphas, dtype=np.float64)[on_log_scale]
    coef = np.asarray(path.coef, dtype=np.float64)[on_log_scale]
    reach = np.abs(coef).max(axis=0, initial=0)
    largest = np.argsort(-reach, kind="stable")[:N_LINES]
    largest = largest[reach[largest] > 0]
    return {
        "alphas": [float(f"{alpha:.6g}") for alpha in alphas],
        "chosen": path.chosen,
        "rule": path.rule,
        "n_entered": int(np.count_nonzero(reach)),
        "n_nonzero": np.count_nonzero(coef, axis=1).tolist(),
        "names": [str(path.features[i]) for i in largest],
        "coef": [[float(f"{value:.5g}") for value in coef[:, i]] for i in largest],
    }
