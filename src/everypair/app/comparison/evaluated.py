"""One model on rows with labels, in the form that the report draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.by_column import panels_of
from everypair.app.comparison.headline import Headline
from everypair.app.comparison.models import CANDIDATES
from everypair.app.comparison.records import Comparison, ModelResult
from everypair.app.comparison.sentences import what_is
from everypair.app.explain.column_features import blocks_of
from everypair.app.explain.curves import Panel
from everypair.app.explain.weights import lines_of
from everypair.app.explain.worth import Worth
from everypair.app.model_file.store import SavedModel

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

SCALE = "Scores are those of the model on these rows. Zero is its own threshold."


def evaluated(
    saved: SavedModel,
    y: Bool,
    scores: Array,
    weight: Array | None,
    area: tuple[float, float, float],
    headline: Headline | None,
    labels: Mapping[str, str],
    threshold: float = 0.0,
    notes: Sequence[str] = (),
    within: NDArray[Any] | None = None,
) -> Comparison:
    """``area`` is the AUC with its interval, ``threshold`` where the model is cut at first."""
    auc, low, high = area
    known = not np.isnan(low)
    interval = f" (95 % interval {low:.3f} to {high:.3f})" if known else ""
    return Comparison(
        source=labels["source"],
        target=saved.target,
        positive=saved.positive,
        y=y,
        models=[_model(saved, scores, area, threshold)],
        best_baseline="",
        verdict=f"{saved.method}, fitted on {saved.source}, has an AUC of {auc:.3f}{interval} on "
        "these rows.",
        columns=[],
        folds="",
        seed=0,
        command=labels["command"],
        versions=saved.versions,
        weights=weight,
        scale=SCALE,
        notes=notes,
        headline=headline,
        within=within,
        evaluated=True,
    )


def _model(
    saved: SavedModel, scores: Array, area: tuple[float, float, float], threshold: float
) -> ModelResult:
    coef = getattr(saved.estimator, "coef_", None)
    candidate = CANDIDATES.get(saved.method)
    return ModelResult(
        name=saved.method,
        kind="everypair" if candidate is None else candidate.kind,
        auc=area[0],
        low=area[1],
        high=area[2],
        fold_auc=np.array([area[0]]),
        fit_seconds=np.nan,
        scores=scores,
        threshold=threshold,
        settings=saved.settings,
        n_features=None if coef is None else int(np.count_nonzero(coef)),
        what=what_is(saved.method),
        worth=worth_in(saved),
        lines=None if coef is None else _lines(saved, np.ravel(coef)),
        panels=_panels(saved),
        calibrator=saved.calibrator,
        probabilities=None if saved.calibrator is None else saved.calibrated(scores),
    )


def worth_in(saved: SavedModel) -> list[Worth]:
    """What the model file knows of its columns."""
    known: dict[str, Any] = {} if saved.evidence is None else saved.evidence.worth
    return [Worth(name, *values) for name, values in known.items()]


def _lines(saved: SavedModel, coef: Array) -> dict[str, Any]:
    same = [] if saved.evidence is None else saved.evidence.alike
    names = saved.features()
    return {b.name: lines_of(b, names, coef, same) for b in blocks_of(saved.encoder)}


def _panels(saved: SavedModel) -> list[Panel]:
    blocks = {block.name: block for block in blocks_of(saved.encoder)}
    known = [worth.name for worth in worth_in(saved)]
    listed = [*known, *(name for name in blocks if name not in known)]
    return panels_of(listed, blocks, saved.features(), saved.estimator, saved.encoder)
