"""Hinges on classes that come apart, solved under a penalty that falls to the one asked for.

With about as many columns as rows, some w ranks every pair with a margin of one, and a small
penalty changes little of the loss. From w = 0 Newton's method then steps right to the corner of
every pair, where later steps are cut short: which pairs are short of the margin changes with every
digit of w. Under a large alpha all pairs are short. While alpha falls, rows
leave the window for good, and solutions move about in proportion to alpha, so that the last move
tells the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from everypair.pairs.sorted import HuberHingePoint, SquaredHingePoint
from everypair.penalties import L2
from everypair.solvers.problem import CloseEnough, Iterate, Stop, judge_by_gap
from everypair.solvers.progress import Progress

COLUMNS_PER_ROW = 0.5
"""From there on two classes in general position come apart (Cover 1965)."""

FIRST_SHARE = 0.5
"""Under the first alpha, one step along the gradient takes this share off the objective."""

FALL = 4.0
"""Alpha is divided by this, and by at least `LEAST_FALL` in all: below that, nothing is gained."""
LEAST_FALL = 64.0

STAGE_TOL = 1e-4
"""Of the gap at each alpha on the way. A rough solution foretells the next one badly."""

Run = Callable[[Iterate, Stop, Progress], Iterate]


def first_alpha(start: Iterate) -> float:
    """The alpha under which to begin; that of the problem where there is nothing to gain."""
    alpha = start.problem.quadratic.alpha
    slope = start.gradient
    size = float(slope @ slope)
    if not comes_apart(start) or not size > 2 * FIRST_SHARE * start.value * LEAST_FALL * alpha:
        return alpha
    along = start.problem.X.dot(slope)
    curvature = float(along @ start.loss.product(along)) / size
    halving = size / (2 * FIRST_SHARE * start.value) - curvature
    # Where columns have much in common, no step along the gradient takes that much off.
    found = halving if halving > LEAST_FALL * alpha else curvature
    return found if LEAST_FALL * alpha < found < np.inf else alpha


def comes_apart(start: Iterate) -> bool:
    """Whether two classes of so many rows may, and nothing is known of the solution."""
    n_rows, n_columns = start.problem.X.shape
    windowed = isinstance(start.loss, SquaredHingePoint | HuberHingePoint)
    return windowed and n_columns >= COLUMNS_PER_ROW * n_rows and not start.w.any()


def through_alphas(start: Iterate, progress: Progress, run: Run) -> Iterate:
    """Where to begin under the problem's own alpha: ``start``, or where larger alphas lead."""
    problem, now = start.problem, start
    least, alpha = problem.quadratic.alpha, first_alpha(start)
    before: Iterate | None = None
    while alpha > least and not progress.exhausted:
        at_alpha = replace(problem, penalty=L2(alpha), judge=judge_by_gap, tol=STAGE_TOL)
        begin = _foretold(now.under(at_alpha), now, before)
        after = run(begin, CloseEnough(STAGE_TOL), progress)
        before, now = (now, after) if now.w.any() else (None, after)
        alpha = max(least, alpha / FALL)
    return start if now is start else _foretold(now.under(problem), now, before)


def _foretold(start: Iterate, now: Iterate, before: Iterate | None) -> Iterate:
    """``start``, or where the line through two solutions leads if that is better."""
    if before is None:
        return start
    alpha, last, other = (at.problem.quadratic.alpha for at in (start, now, before))
    ahead = start.moved(
        (alpha - last) / (last - other),
        now.w - before.w,
        now.scores - before.scores,
        now.point.error + before.point.error,
    )
    return ahead if ahead is not None and ahead.value < start.value else start
