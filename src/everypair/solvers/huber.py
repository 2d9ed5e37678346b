"""The hinge as the limit of rounded hinges: solve, narrow the rounding, start from there.

The multipliers of the rounded hinge lie in [0, 1], so they are feasible for the hinge itself and
certify it: with ``c`` the rounded loss' gradient in score space,

    gap = hinge(s) + alpha / 2 |w|^2 - ( -sum_{i in P} c_i - |X'c|^2 / (2 alpha) ).

It falls like the square of the width. No quadratic program and no n+ x n- variables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.matrix import Matrix
from everypair.pairs.listed import ListedHuberHingePoint, PairList
from everypair.pairs.sorted import HuberHingePoint, SortedScores
from everypair.pairs.structure import Pairs
from everypair.solvers.objective import Iterate, Judgement, Objective, Progress, Stop

Array = NDArray[np.float64]
Inner = Callable[[Objective, Array, Stop, Progress], Iterate]

FIRST_WIDTH = 2.0  # at w = 0 every pair has a shortfall of 1: inside the rounding
NARROWER = 10.0
LAST_WIDTH = 1e-9
INNER_SHARE = 0.1
"""An inner solve ends when its own gap is this share of what the rounding costs."""


def judge_as_hinge(now: Iterate) -> Judgement:
    """The hinge objective and its relative gap at a point of the rounded problem."""
    assert isinstance(now.loss, HuberHingePoint | ListedHuberHingePoint)
    alpha, pairs = now.objective.alpha, now.loss.pairs
    value = now.loss.hinge_value() + alpha / 2 * float(now.w @ now.w)
    multipliers = -float(now.score_gradient[pairs.positives].sum())
    pulled = now.loss_gradient
    dual = multipliers - float(pulled @ pulled) / (2 * alpha)
    return Judgement(value, (value - dual) / value)


def hinge_by_continuation(
    X: Matrix,
    pairs: Pairs | PairList,
    alpha: float,
    start: Array,
    tol: float,
    progress: Progress,
    inner: Inner,
    width: float = FIRST_WIDTH,
) -> Iterate:
    """The best iterate of a series of narrower and narrower roundings, from ``width`` on."""

    def stop(now: Iterate) -> bool:
        value, distance = now.judged
        rounding = max(distance * value - now.gap, tol * value)
        return distance <= tol or now.gap <= INNER_SHARE * rounding

    best = None
    while True:
        rounded = partial(rounded_hinge, pairs, width)
        now = inner(Objective(X, rounded, alpha, judge_as_hinge), start, stop, progress)
        if best is None or now.judged.distance < best.judged.distance:
            best = now
        if best.judged.distance <= tol or progress.exhausted or width <= LAST_WIDTH:
            return best
        start, width = now.w, width / NARROWER


def rounded_hinge(
    pairs: Pairs | PairList, width: float, scores: Array
) -> HuberHingePoint | ListedHuberHingePoint:
    if isinstance(pairs, PairList):
        return ListedHuberHingePoint(pairs, scores, width)
    return HuberHingePoint(SortedScores(pairs, scores), width)
