"""Metrics of scores in blocks from counts in boxes, without a curve of all rows.

A cut (`thresholds.cut_by`), an area with its confidence interval (`inference`), gains (`gain`).
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_histogram import Ranking
from everypair.metrics.asked import SHARE_ROUNDING, Asked
from everypair.metrics.curve import Curve
from everypair.metrics.gain import Gain, Top
from everypair.metrics.inference import (
    AUCInterval,
    area_interval,
    check_not_tied,
    independent_pairs,
    standard_error,
)
from everypair.metrics.placements import bessel, satterthwaite
from everypair.metrics.thresholds import RULES

Array = NDArray[np.float64]

AREA_WIDTH = 1e-4
"""Of the certified interval of an area whose confidence interval is asked for: far narrower."""

ROW_ROUNDING = 1e-6
"""Of a share times the number of rows, which is a whole number of rows."""


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


def interval_of_ranking(ranking: Ranking, level: float, on_logit: bool) -> AUCInterval:
    """The area with DeLong's interval (`placements`), of rows that weigh the same.

    Rows of one box have the placement of its middle: that of equal scores. The standard error is
    too small by a part of the order of the boxes' share of the rows, squared.
    """
    boxes = ranking.boxes
    check_not_tied(np.array([boxes.low[0], boxes.high[-1]]))
    low, high = ranking.area(AREA_WIDTH)
    boxes = ranking.boxes  # some were split
    counts = boxes.positive, boxes.negative
    n_positive, n_negative = (float(of_class.sum()) for of_class in counts)
    among_negatives = (np.cumsum(boxes.negative) - boxes.negative / 2) / n_negative
    among_positives = 1 - (np.cumsum(boxes.positive) - boxes.positive / 2) / n_positive
    auc = low + (high - low) / 2
    parts = [
        bessel(int(total), what) * float(of_class @ (placed - auc) ** 2) / total**2
        for of_class, placed, total, what in zip(
            counts, (among_negatives, among_positives), (n_positive, n_negative),
            ("positive row", "negative row"), strict=True,
        )
    ]  # fmt: skip
    separated = low == high and low in (0.0, 1.0)
    se = 0.0 if separated else standard_error(sum(parts))
    df = np.inf if separated else satterthwaite(parts, [n_positive - 1, n_negative - 1])
    sizes = n_positive, n_negative
    ends = area_interval(auc, se, sizes, independent_pairs(sizes), level, on_logit, df=df)
    return AUCInterval(auc, *ends, se, level, "delong", df)


def gains_of_ranking(ranking: Ranking, shares: Array, level: float, split: bool) -> Gain:
    """Gains at these shares of the rows, which weigh the same.

    ``split``: each box that holds a cut is split until one score is left. Otherwise its rows count
    as tied, which moves a gain by less than the positives of one box.
    """
    if split:
        n_rows = float(ranking.boxes.positive.sum() + ranking.boxes.negative.sum())
        for most in shares * n_rows + ROW_ROUNDING:
            ranking.crossing(partial(_at_most, most))
    boxes = ranking.boxes
    top = Top.of_counts(boxes.positive[::-1], boxes.negative[::-1])
    return Gain(shares, *top.limits(shares, level), level)


def _at_most(most: float, tp: Array, fp: Array) -> NDArray[np.bool_]:
    return np.asarray(tp + fp <= most)
