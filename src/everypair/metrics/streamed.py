"""A cut of scores in blocks: `thresholds.cut_by` from counts in boxes, without a curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_histogram import Ranking
from everypair.metrics.curve import Curve
from everypair.metrics.thresholds import RULES, SLACK, check_rule

Array = NDArray[np.float64]


def cut_of_ranking(
    rule: str | Mapping[str, Any], ranking: Ranking, totals: tuple[float, float]
) -> float:
    """The cut by this rule; ``totals``: the weight of the positives and of the negatives."""
    check_rule(rule)
    positives, negatives = totals
    if isinstance(rule, str):
        of_curve = RULES[rule]
        below = ranking.best_cut(
            lambda tp, fp: of_curve(Curve(tp, np.append(tp, positives), np.append(fp, negatives)))[
                :-1
            ]
        )
    else:
        ((name, wanted),) = rule.items()
        if name == "fpr":
            below = ranking.crossing(lambda tp, fp: fp / negatives <= wanted + SLACK)
        elif name == "tpr":
            below = ranking.crossing(lambda tp, fp: tp / positives < wanted - SLACK)
            if wanted > SLACK:  # the last cut before
                below -= 1
        else:
            below = ranking.best_cut(lambda tp, fp: wanted[1] * tp - wanted[0] * fp)
    boxes = ranking.boxes
    if 0 < below < boxes.low.size:
        levels = np.array([boxes.low[below], boxes.high[below - 1]])  # they descend
        return Curve(levels, *np.zeros((2, 3))).cut(1)
    ends = Curve(np.array([boxes.high[-1], boxes.low[0]]), *np.zeros((2, 3)))
    return ends.cut(0 if below else 2)
