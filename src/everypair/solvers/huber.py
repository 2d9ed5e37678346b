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
from everypair.pairs import PairPoint
from everypair.pairs.listed import ListedHuberHingePoint, PairList
from everypair.pairs.sorted import HuberHingePoint, SortedScores
from everypair.pairs.structure import Pairs
from everypair.solvers.objective import (
    Iterate,
    Judgement,
    Objective,
    Progress,
    Stop,
    at_rest,
    better_start,
)

Array = NDArray[np.float64]
Inner = Callable[[Iterate, Stop, Progress], Iterate]

FIRST_WIDTH = 2.0  # at w = 0 every pair has a shortfall of 1: inside the rounding
NARROWER = 4.0
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
    return Judgement.of_gap(value, value - dual)


def hinge_by_continuation(
    X: Matrix,
    pairs: Pairs | PairList,
    alpha: float,
    start: Array,
    tol: float,
    progress: Progress,
    inner: Inner,
) -> Iterate:
    """The best iterate of a series of narrower and narrower roundings.

    The series begins with the rounding that certifies the start best: at zero that is the
    widest, at a solution of almost the same problem a narrow one.
    """

    def stop(now: Iterate) -> bool:
        value, distance = now.judged
        rounding = max(distance * value - now.gap, tol * value)
        close = distance <= tol or now.gap <= INNER_SHARE * rounding
        return close and not at_rest(now)

    def rounded(width: float) -> Objective:
        point: Callable[[Array], PairPoint] = partial(rounded_hinge, pairs, width)
        return Objective(X, point, alpha, judge_as_hinge)

    width = FIRST_WIDTH
    best = better_start(rounded(width), start)
    while best.w.any() and width > LAST_WIDTH:
        narrower = rounded(width / NARROWER).at(best.w, best.scores)
        if narrower.judged.distance >= best.judged.distance:
            break
        best, width = narrower, width / NARROWER
    now = best
    while True:
        now = inner(now, stop, progress)
        if now.judged.distance < best.judged.distance:
            best = now
        if best.judged.distance <= tol or progress.exhausted or width <= LAST_WIDTH:
            return best
        width /= NARROWER
        progress.renew()
        now = rounded(width).at(now.w)


def rounded_hinge(
    pairs: Pairs | PairList, width: float, scores: Array
) -> HuberHingePoint | ListedHuberHingePoint:
    if isinstance(pairs, PairList):
        return ListedHuberHingePoint(pairs, scores, width)
    return HuberHingePoint(SortedScores(pairs, scores), width)
