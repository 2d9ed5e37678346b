"""A cut of scores in blocks: `thresholds.cut_by` from counts in boxes, without a curve."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_histogram import Ranking
from everypair.metrics.asked import SHARE_ROUNDING, Asked
from everypair.metrics.curve import Curve
from everypair.metrics.thresholds import RULES

Array = NDArray[np.float64]


def streams(rule: Any) -> bool:
    """Whether counts in boxes are enough for this rule; others take the curve of all rows."""
    if rule is None or isinstance(rule, Real):
        return True
    asked = Asked.of(rule)
    alone = asked.requirement is None or (asked.rule is None and asked.cost is None)
    return asked.guarantee is None and alone and asked.requirement in (None, "fpr", "recall")


def cut_of_ranking(rule: Any, ranking: Ranking, totals: tuple[float, float]) -> float:
    """The cut by this rule; ``totals``: the weight of the positives and of the negatives."""
    asked, (positives, negatives) = Asked.of(rule), totals
    if asked.requirement == "fpr":
        below = ranking.crossing(lambda tp, fp: fp / negatives <= asked.wanted + SHARE_ROUNDING)
    elif asked.requirement == "recall":
        below = ranking.best_cut(
            lambda tp, fp: np.where(
                tp / positives >= asked.wanted - SHARE_ROUNDING,
                tp / np.maximum(tp + fp, 1e-300),
                -np.inf,
            )
        )
    elif asked.cost is not None:
        of_fp, of_fn = asked.cost
        below = ranking.best_cut(lambda tp, fp: of_fn * tp - of_fp * fp)
    else:
        of_curve = RULES[str(asked.rule)]

        def worth(tp: Array, fp: Array) -> Array:
            curve = Curve(tp, np.append(tp, positives), np.append(fp, negatives))
            return of_curve(curve)[:-1]

        below = ranking.best_cut(worth)
    boxes = ranking.boxes
    if 0 < below < boxes.low.size:
        levels = np.array([boxes.low[below], boxes.high[below - 1]])  # they descend
        return Curve(levels, *np.zeros((2, 3))).cut(1)
    ends = Curve(np.array([boxes.high[-1], boxes.low[0]]), *np.zeros((2, 3)))
    return ends.cut(0 if below else 2)
