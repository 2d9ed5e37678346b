"""A cut of a ranking that comes range by range: no curve of all rows is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_ranking import Levels
from everypair.metrics.curve import Curve
from everypair.metrics.thresholds import RULES, SLACK, check_rule

Array = NDArray[np.float64]


def cut_of_levels(
    rule: str | Mapping[str, Any], levels: Iterator[Levels], totals: tuple[float, float]
) -> float:
    """`thresholds.cut_by` of levels that descend; ``totals``: weight of positives and negatives."""
    check_rule(rule)
    state = _Best(rule, *totals)
    for some in levels:
        state.see(some)
    return state.cut()


class _Best:
    """The best cut of the levels seen so far: between which two it lies."""

    def __init__(self, rule: str | Mapping[str, Any], positives: float, negatives: float):
        self._rule, self._totals = rule, (positives, negatives)
        self._tp = self._fp = 0.0
        self._last = np.inf  # the level seen last
        self._top = np.nan
        self._worth = -np.inf
        self._between: list[float] = []  # of the best cut: the level above, then that below
        self._take(np.array([np.inf]), np.zeros(1), np.zeros(1))

    def see(self, levels: Levels) -> None:
        if np.isnan(self._top):
            self._top = float(levels.scores[0])
        if len(self._between) == 1:
            self._between.append(float(levels.scores[0]))
        tp = self._tp + np.cumsum(levels.positive)
        fp = self._fp + np.cumsum(levels.negative)
        self._take(levels.scores, tp, fp)
        self._tp, self._fp = float(tp[-1]), float(fp[-1])
        self._last = float(levels.scores[-1])

    def _take(self, scores: Array, tp: Array, fp: Array) -> None:
        worth, last_counts = self._worths(tp, fp)
        best = int(worth.size - 1 - np.argmax(worth[::-1])) if last_counts else np.argmax(worth)
        better = worth[best] >= self._worth if last_counts else worth[best] > self._worth
        if better and worth[best] > -np.inf:
            self._worth = float(worth[best])
            self._between = [float(level) for level in scores[best : best + 2]]

    def _worths(self, tp: Array, fp: Array) -> tuple[Array, bool]:
        """What each cut is worth, and whether the lowest of equals is wanted."""
        positives, negatives = self._totals
        if isinstance(self._rule, str):
            curve = Curve(tp, np.append(tp, positives), np.append(fp, negatives))
            return RULES[self._rule](curve)[:-1], False
        ((name, wanted),) = self._rule.items()
        if name == "fpr":
            return np.where(fp / negatives <= wanted + SLACK, 0.0, -np.inf), True
        if name == "tpr":
            return np.where(tp / positives >= wanted - SLACK, 0.0, -np.inf), False
        return wanted[1] * tp - wanted[0] * fp, False

    def cut(self) -> float:
        ends = Curve(np.array([self._top, self._last]), *np.zeros((2, 3)))
        if not np.isfinite(self._between[0]):
            return ends.cut(0)
        if len(self._between) == 1:
            return ends.cut(2)
        return Curve(np.array(self._between), *np.zeros((2, 3))).cut(1)
