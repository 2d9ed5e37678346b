"""From the scores of the folds to an area with its interval, a test, and a plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from everypair.comparison.result import ModelResult
from everypair.metrics._rows import Rows
from everypair.metrics.inference import (
    area_interval,
    effective_sizes,
    independent_pairs,
    standard_error,
)
from everypair.metrics.placements import covariance, influence

Array = NDArray[np.float64]

LEVEL = 0.95
SURE = 0.05
ROUNDING = 1e-12


def pooled_auc(
    y: NDArray[np.bool_],
    repeats: Sequence[Array],
    weight: Array | None,
    groups: NDArray[np.intp] | None,
) -> tuple[float, float, float]:
    """Mean over the repeats of the AUC of all held-out scores, with its 95 % interval.

    A row's influences on the repeats are averaged before DeLong's variance is taken: repeating
    the folds does not make new rows.
    """
    rows = Rows.of(y, weight, pos_label=True)
    kept = slice(None) if rows.kept is None else rows.kept
    codes = None if groups is None else np.unique(groups[kept], return_inverse=True)[1]
    parts = [influence(rows, scores[kept]) for scores in repeats]
    auc = float(np.mean([part[0] for part in parts]))
    mean = np.mean([part[1] for part in parts], axis=0)
    se = standard_error(covariance(mean[:, None], rows.positive, codes)[0, 0])
    sizes = effective_sizes(rows, codes)
    return (auc, *area_interval(auc, se, sizes, independent_pairs(sizes, codes), LEVEL, True))


def corrected_resampled_t(differences: Array, test_share: float) -> float:
    """Two-sided p value of the corrected resampled t test (Nadeau & Bengio 2003, eq. 9).

        t = mean(d) / sqrt((1/J + n_test / n_train) var(d)) ,   J - 1 degrees of freedom

    for the differences d of J splits. Splits share training rows, so that their differences
    vary together; the plain t test (1/J alone) finds differences that are not there.

    >>> import numpy as np
    >>> from everypair.comparison.judge import corrected_resampled_t
    >>> d = np.array([0.01, 0.03, 0.02, 0.00, 0.02])
    >>> print(round(corrected_resampled_t(d, test_share=0.2), 3))
    0.105
    """
    n_splits = differences.size
    if n_splits < 2:
        return 1.0
    variance = float(differences.var(ddof=1)) * (1 / n_splits + test_share / (1 - test_share))
    mean = float(differences.mean())
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(n_splits - 1, -abs(mean) / np.sqrt(variance)))


def verdict_of(models: Sequence[ModelResult], best_baseline: str) -> str:
    """What the table says, in one or two sentences; several tries cost significance (Holm)."""
    from everypair.metrics import holm

    fitted = [model for model in models if model.failure is None]
    ours = [model for model in fitted if model.kind == "everypair"]
    base = next((model for model in fitted if model.name == best_baseline), None)
    if not fitted:
        return "No model could be fitted."
    if base is None:
        return f"No baseline was run. The best model is {fitted[0].name}, AUC {fitted[0].auc:.3f}."
    if not ours:
        return f"Only baselines were run. The best is {base.name}, AUC {base.auc:.3f}."
    best = ours[0]
    gap = best.auc - base.auc
    corrected = holm([1.0 if model.p_value is None else model.p_value for model in ours])
    better = [
        (model, p)
        for model, p in zip(ours, corrected, strict=True)
        if p < SURE and model.difference is not None and model.difference > 0
    ]
    if better:
        model, p = better[0]
        return (
            f"{model.name} ranks better than the best baseline, {base.name}: AUC {model.auc:.3f} "
            f"against {base.auc:.3f}, p = {p:.2g}{_corrected(ours)}."
        )
    opening = f"Nothing here beats the best baseline, {base.name} (AUC {base.auc:.3f})"
    worse = best.p_value is not None and best.p_value < SURE and gap < 0
    if worse:
        return f"{opening}: the best other model, {best.name}, is {_size(gap)} below it."
    side = "above" if gap > 0 else "below"
    chance = (
        f"is {_size(gap)} {side} it, which these folds cannot tell from chance "
        f"(p = {corrected[0]:.2g}{_corrected(ours)})"
    )
    return f"{opening}: {best.name} {'ties with it' if abs(gap) < ROUNDING else chance}."


def _size(gap: float) -> str:
    return f"{abs(gap):.3f}" if abs(gap) >= 0.0005 else "less than 0.001"


def _corrected(ours: Sequence[ModelResult]) -> str:
    return f" after correction for {len(ours)} comparisons" if len(ours) > 1 else ""
