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
from everypair.linalg.block_jobs import Job
from everypair.linalg.block_shard import Shard
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
from everypair.metrics.placements import bessel, leverage, satterthwaite
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
    """The area with DeLong's interval (`placements`).

    Rows of one box have the placement of its middle: that of equal scores. The standard error is
    too small by a part of the order of the boxes' share of the rows, squared.
    """
    boxes = ranking.boxes
    check_not_tied(np.array([boxes.low[0], boxes.high[-1]]))
    low, high = ranking.area(AREA_WIDTH)
    boxes = ranking.boxes  # some were split
    counts = boxes.positive, boxes.negative
    totals = float(boxes.positive.sum()), float(boxes.negative.sum())
    among_negatives = (np.cumsum(boxes.negative) - boxes.negative / 2) / totals[1]
    among_positives = 1 - (np.cumsum(boxes.positive) - boxes.positive / 2) / totals[0]
    auc = low + (high - low) / 2
    above = among_negatives - auc, among_positives - auc
    if ranking.scores.blocks.weighted:
        parts, degrees, sizes = _weighted_spread(ranking, above)
    else:
        sizes = totals
        parts = [
            bessel(int(total), what) * float(of_class @ of_box**2) / total**2
            for of_class, of_box, total, what in zip(
                counts, above, totals, ("positive row", "negative row"), strict=True
            )
        ]
        degrees = [total - 1 for total in totals]
    separated = low == high and low in (0.0, 1.0)
    se = 0.0 if separated else standard_error(sum(parts))
    df = np.inf if separated else satterthwaite(parts, degrees)
    ends = area_interval(auc, se, sizes, independent_pairs(sizes), level, on_logit, df=df)
    return AUCInterval(auc, *ends, se, level, "delong", df)


def _weighted_spread(
    ranking: Ranking, above: tuple[Array, Array]
) -> tuple[list[float], list[float], tuple[float, float]]:
    """Of the positives and of the negatives: variance, degrees of freedom, Kish's number of rows.

    ``above`` is what a row of each box is placed above the area.
    """
    work = partial(_influences, ranking.boxes.low, above)
    sums = ranking.scores.blocks.run(Job.of("influences", work, [ranking.scores]))
    for n, what in zip(sums[:, 0], ("positive row", "negative row"), strict=True):
        bessel(int(n), what)
    degrees = [
        1 / (1 / (n - 1) + (max(0.0, fourth / square**2 - equal4 / equal**2) if square > 0 else 0))
        for n, _, _, square, fourth, equal, equal4 in sums
    ]
    of_positives, of_negatives = 1 / sums[:, 1]
    return sums[:, 2].tolist(), [max(1.0, df) for df in degrees], (of_positives, of_negatives)


def _influences(low: Array, above: tuple[Array, Array], shard: Shard, scores: Array) -> Array:
    """Sums over the rows of each class with weight: how many, their squared shares, their squared
    influences with HC2's factor, and q, q^2, q / share^2 and its square of `degrees_of_class`."""
    sums = []
    for members, of_box in zip((shard.positive, ~shard.positive), above, strict=True):
        rows = np.flatnonzero(members & (shard.share > 0))
        share, placed = shard.share[rows], of_box[_box_of(low, scores[rows])]
        squares = (share * placed) ** 2
        of_class = [share**2, squares * leverage(share) ** 2]
        of_class += [squares, squares**2, placed**2, placed**4]
        sums.append([float(rows.size), *map(np.sum, of_class)])
    return np.array(sums)


def _box_of(low: Array, scores: Array) -> NDArray[np.intp]:
    return np.searchsorted(low, scores, side="right") - 1


def gains_of_ranking(ranking: Ranking, shares: Array, level: float, split: bool) -> Gain:
    """Gains at these shares of the weight.

    ``split``: each box that holds a cut is split until one score is left. Otherwise its rows count
    as tied, which moves a gain by less than the positives of one box.
    """
    total = float(ranking.boxes.positive.sum() + ranking.boxes.negative.sum())
    weighted = ranking.scores.blocks.weighted
    if split:
        rounding = SHARE_ROUNDING * total if weighted else ROW_ROUNDING
        for most in shares * total + rounding:
            ranking.crossing(partial(_at_most, most))
    boxes = ranking.boxes
    counts = boxes.positive[::-1], boxes.negative[::-1]
    if weighted:
        job = Job.of("squared-weights", partial(_squared_weights, boxes.low), [ranking.scores])
        n_rows, squares = ranking.scores.blocks.run(job)
        of_boxes = [of_class[::-1] / total**2 for of_class in squares]
        top = Top(counts[0] / total, counts[1] / total, of_boxes, n_rows)
    else:
        top = Top.of_counts(*counts)
    return Gain(shares, *top.limits(shares, level), level)


def _squared_weights(low: Array, shard: Shard, scores: Array) -> tuple[int, Array]:
    """Rows with weight, and the sums of their squared weights by class and box."""
    assert shard.weight is not None
    weight = shard.weight.astype(np.float64, copy=False)
    sums = [
        np.bincount(_box_of(low, scores[rows]), weight[rows] ** 2, low.size)
        for rows in (np.flatnonzero(of & (weight > 0)) for of in (shard.positive, ~shard.positive))
    ]
    return int(np.count_nonzero(weight)), np.array(sums)


def _at_most(most: float, tp: Array, fp: Array) -> NDArray[np.bool_]:
    return np.asarray(tp + fp <= most)
