"""From what each model did to the records of the comparison, each beside the best baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from everypair.app.comparison.by_measure import Difference
from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.judge import LEVEL, cut_calling
from everypair.app.comparison.recommend import recommended
from everypair.app.comparison.records import ModelResult
from everypair.app.comparison.search import Fitted
from everypair.app.comparison.sentences import what_is
from everypair.app.comparison.standard import Standard
from everypair.app.comparison.tally import Tally
from everypair.app.comparison.typed_measure import TypedMeasure
from everypair.metrics.held_out import HeldOutArea, HeldOutDifference, held_out_difference

MOST_WEIGHTS = 1000
"""Coefficients kept for the record: the largest of a wide model."""


def result_of(
    candidate: Candidate,
    tally: Tally,
    final: Fitted | None,
    names: Sequence[str],
    area: HeldOutArea | None,
) -> ModelResult:
    if final is None or area is None:
        nothing = np.full(tally.called.size, np.nan)
        return ModelResult(
            candidate.name, candidate.kind, np.nan, np.nan, np.nan, np.array([]), np.nan,
            nothing, 0.0, {}, failure=tally.failure,
        )  # fmt: skip
    low, high = area.interval(LEVEL)
    weights = _coefficients(final.model, names)
    used = None if weights is None else int(np.count_nonzero(final.model.coef_))
    return ModelResult(
        name=candidate.name,
        kind=candidate.kind,
        auc=area.auc,
        low=low,
        high=high,
        fold_auc=area.fold_auc,
        fit_seconds=float(np.median(tally.seconds)),
        scores=tally.scores[0],
        threshold=cut_calling(int(np.count_nonzero(tally.called)), tally.scores[0]),
        settings=final.settings,
        n_features=used,
        coefficients=weights,
        called=tally.called,
        what=what_is(candidate.name),
    )


def _coefficients(model: Any, names: Sequence[str]) -> dict[str, float] | None:
    """Weight of each feature, largest first; None for a model that has none."""
    coef = getattr(model, "coef_", None)
    if coef is None:
        return None
    coef = np.ravel(coef)
    order = np.argsort(-np.abs(coef), kind="stable")[:MOST_WEIGHTS]
    return {names[k]: float(coef[k]) for k in order}


def against_baseline(
    results: list[ModelResult], areas: Mapping[str, HeldOutArea], standard: Standard | None
) -> tuple[list[ModelResult], str]:
    """Best first, failures last, each beside the best baseline."""
    sign = 1.0 if standard is None else standard.measure.sign
    results = sorted(
        results, key=lambda r: (r.failure is not None, -np.nan_to_num(sign * r.judged))
    )
    baselines = [r for r in results if r.kind == "baseline" and r.failure is None]
    if not baselines:
        return results, ""
    base = baselines[0]
    compared = []
    for result in results:
        if result.failure is None and result.name != base.name:
            # The best baseline is chosen on these folds, among those that the model is not.
            n_rivals = len(baselines) - (result.kind == "baseline")
            found: HeldOutDifference | Difference = (
                held_out_difference(areas[result.name], areas[base.name], LEVEL, n_rivals)
                if standard is None
                else standard.difference(result.name, base.name, n_rivals)
            )
            low, high = sorted((sign * found.low, sign * found.high))
            result = replace(  # noqa: PLW2901
                result,
                difference=sign * found.difference,
                difference_low=low,
                difference_high=high,
                p_value=found.p,
            )
        compared.append(result)
    return compared, base.name


def recommended_of(results: Sequence[ModelResult], measure: TypedMeasure | None) -> str:
    sign = 1.0 if measure is None else measure.sign
    measured = {r.name: sign * r.judged_folds for r in results if r.failure is None}
    return recommended(measured) if measured else ""
