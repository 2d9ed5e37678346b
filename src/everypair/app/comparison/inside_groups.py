"""Comparisons of rows that are paired inside groups: folds, units of the intervals, spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.app.comparison.records import ModelResult
from everypair.app.wording import counted
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

FOLD_GROUPS = 10
"""With fewer groups of ``within``, the rows of a group are dealt over the folds."""


def in_groups(
    y: Bool, within: ArrayLike | None, groups: ArrayLike | None
) -> tuple[NDArray[np.intp] | None, ArrayLike | None]:
    """The groups inside which rows are paired, numbered, and those that stay in one fold."""
    if within is None:
        return None, groups
    rows = Rows.uncut(y, None, within)
    assert rows.within is not None
    codes = rows.within.codes
    if groups is None and rows.paired.n_groups >= FOLD_GROUPS:
        groups = codes
    return codes, groups


def independent_units(
    group: NDArray[Any] | None, within: NDArray[np.intp] | None
) -> NDArray[Any] | None:
    """What is independent of the rest: the groups of the folds, or those that rows are paired in.

    Where the former cut the latter, a row's influence is only known with its whole group.
    """
    if within is None or group is None:
        return group if within is None else within
    together = np.unique(within.astype(np.int64) * (int(group.max()) + 1) + group)
    return group if together.size == np.unique(within).size else within


def spread_over_groups(
    results: Sequence[ModelResult],
    y: Bool,
    within: NDArray[np.intp] | None,
    weight: Array | None,
) -> list[str]:
    """How the groups differ under the best model, in one sentence."""
    from everypair.metrics import auc_by_group

    best = next((result for result in results if result.failure is None), None)
    if within is None or best is None:
        return []
    areas = auc_by_group(y, best.scores, within, weight)
    low, middle, high = np.quantile(areas.auc, [0.25, 0.5, 0.75])
    below = float(np.mean(areas.auc < 0.5))
    without = int(np.unique(within).size) - areas.auc.size
    return [
        f"inside groups: {counted(areas.auc.size, 'group')} with a pair, {without} without; AUC of "
        f"{best.name} in half of the groups from {low:.3f} to {high:.3f}, median {middle:.3f}, "
        f"below 1/2 in {100 * below:.0f} %."
    ]
