"""From the scores of the folds to an area with its interval, a test, and a plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.records import ModelResult
from everypair.app.comparison.typed_measure import TypedMeasure
from everypair.metrics.held_out import HeldOutArea, held_out_area
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Splits = Sequence[Sequence[tuple[Index, Index]]]

LEVEL = 0.95
SIGNIFICANT_P = 0.05
TIED_AREA = 1e-12


def area_over_folds(
    y: NDArray[np.bool_],
    splits: Splits,
    scores: Sequence[Array],
    seen: Sequence[Array],
    weight: Array | None,
    groups: Index | None,
    within: Index | None = None,
) -> HeldOutArea:
    """Mean over all folds of the AUC within a test fold (`everypair.metrics.held_out`).

    ``scores[r]`` are the held-out scores of repeat r; ``seen[r]`` scores each row by the model of
    the next fold, which trained on it. Rows of weight zero are left out. With ``within`` the area
    is that inside its groups, each of which must lie in one of ``groups``.
    """
    rows = Rows.of(y, weight, pos_label=True, within=within)
    kept = np.ones(y.size, dtype=bool) if rows.kept is None else rows.kept
    number = np.cumsum(kept) - 1
    codes = None if groups is None else np.unique(groups[kept], return_inverse=True)[1]
    tests, own, other = [], [], []
    for repeat, folds in enumerate(splits):
        for _, test in folds:
            chosen = test[kept[test]]
            if not (np.any(y[chosen]) and np.any(~y[chosen])):
                raise ValueError(
                    "a test fold has rows of weight above zero in one class only: use fewer folds "
                    "(--cv sets them)."
                )
            tests.append(number[chosen])
            own.append(scores[repeat][chosen])
            other.append(seen[repeat][chosen])
    return held_out_area(rows, codes, tests, own, other, float(len(splits[0])))


def verdict_of(
    models: Sequence[ModelResult], best_baseline: str, measure: TypedMeasure | None = None
) -> str:
    """What the table says, in one or two sentences; several tries cost significance (Holm)."""
    from everypair.metrics import holm

    what = "AUC" if measure is None else measure.label
    sign = 1.0 if measure is None else measure.sign
    fitted = [model for model in models if model.failure is None]
    ours = [model for model in fitted if model.kind == "everypair"]
    base = next((model for model in fitted if model.name == best_baseline), None)
    if not fitted:
        return "No model could be fitted."
    if base is None:
        first = fitted[0]
        return f"No baseline was run. The best model is {first.name}, {what} {first.judged:.3f}."
    if not ours:
        return f"Only baselines were run. The best is {base.name}, {what} {base.judged:.3f}."
    best = ours[0]
    gap = sign * (best.judged - base.judged)
    corrected = holm([1.0 if model.p_value is None else model.p_value for model in ours])
    better = [
        (model, p)
        for model, p in zip(ours, corrected, strict=True)
        if p < SIGNIFICANT_P and model.difference is not None and sign * model.difference > 0
    ]
    if better:
        model, p = better[0]
        how = "ranks better" if measure is None else "is better"
        return (
            f"{model.name} {how} than the best baseline, {base.name}: {what} {model.judged:.3f} "
            f"against {base.judged:.3f}, {_interval(model, measure)}p = {p:.2g}{_corrected(ours)}."
        )
    opening = f"Nothing here beats the best baseline, {base.name} ({what} {base.judged:.3f})"
    above, below = ("above", "below") if measure is None else ("better than", "worse than")
    worse = best.p_value is not None and best.p_value < SIGNIFICANT_P and gap < 0
    if worse:
        return f"{opening}: the best other model, {best.name}, is {_size(gap)} {below} it."
    chance = (
        f"is {_size(gap)} {above if gap > 0 else below} it, which these folds cannot tell from "
        f"chance ({_interval(best, measure)}p = {corrected[0]:.2g}{_corrected(ours)})"
    )
    return f"{opening}: {best.name} {'ties with it' if abs(gap) < TIED_AREA else chance}."


def _interval(model: ModelResult, measure: TypedMeasure | None) -> str:
    """The interval of the difference; that of the AUC is in the table only."""
    if measure is None or model.difference_low is None or model.difference_high is None:
        return ""
    return (
        f"95% interval of the difference {model.difference_low:+.3f} to "
        f"{model.difference_high:+.3f}, "
    )


def _size(gap: float) -> str:
    return f"{abs(gap):.3f}" if abs(gap) >= 0.0005 else "less than 0.001"


def _corrected(ours: Sequence[ModelResult]) -> str:
    return f" after correction for {len(ours)} comparisons" if len(ours) > 1 else ""


def cut_calling(n_rows: int, scores: Array) -> float:
    """The threshold with this many scores above it."""
    falling = -np.sort(-scores)
    if n_rows == scores.size:
        return float(falling[-1] - 1)
    return float(falling[0] if n_rows == 0 else (falling[n_rows - 1] + falling[n_rows]) / 2)
