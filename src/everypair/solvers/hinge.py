"""The hinge as the limit of rounded hinges: solve, narrow the rounding, start from there.

The multipliers of the rounded hinge lie in [0, 1], so they are feasible for the hinge itself and
certify it: with ``c`` the rounded loss' gradient in score space,

    gap = hinge(t s) + alpha / 2 |t w|^2 - ( -sum_{i in P} c_i - |X'c|^2 / (2 alpha) ) ,

t w being the rounded problem's solution w stretched by a little (`best_stretch`). The gap falls
like the square of the width. Where the multipliers need not belong to the coefficients, the line
through the solutions of two roundings gives better ones (`Limit`). No quadratic program and no
n+ x n- variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.pairs import pair_point
from everypair.pairs.listed import ListedHuberHingePoint, PairList
from everypair.pairs.point import growth
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import CentredHingePoint, HingePoint, HuberHingePoint
from everypair.penalties import ElasticNet, Penalty
from everypair.rows import Rows
from everypair.solvers.corner import Corner, CornerSearch, out_of_reach
from everypair.solvers.hinge_certificate import (
    best_stretch,
    duals_of_hinge,
    judge_against,
    judge_as_hinge,
    most_lost,
    rounded_loss,
)
from everypair.solvers.problem import Iterate, Problem, Solver, at_rest, run_settled, settled
from everypair.solvers.progress import Progress
from everypair.solvers.result import Result
from everypair.solvers.row_grams import RowGrams
from everypair.solvers.scaling import LOST_BY_SCALING

Array = NDArray[np.float64]

FIRST_WIDTH = 2.0  # at w = 0 every pair has a shortfall of 1: inside the rounding
LAST_WIDTH = 1e-9
LAST_SHARE, FALL = 0.5, 1.5
"""The last rounding aims at this share of the tolerance, and the gap falls at least like this power
of the width: a narrower rounding than is needed takes more products."""

NARROWING_OF_A_START, WORTH_NARROWING = 4.0, 0.8
"""A start is rounded more narrowly while that multiplies its gap by at most this. Where the
rounding makes most of the gap, a narrower one leaves a sixteenth of it; elsewhere it leaves all of
it, and only makes the problem harder."""

FAR_OFF, FARTHER = 1.0, 100.0
"""A start whose relative gap is at least 1 begins with a rounding four times as wide as its own, at
least 100 sixteen times, at least 10,000 sixty-four times, and so on. From the widest rounding rbf
fits of six tasks with 14,000 or 20,000 rows take 1.3 times as many steps at C = 1 and 10, and as
many at C = 100."""

LASTING_SHARE = 0.9
"""No narrower rounding is taken where this one, and float64, cost at most this share of the
tolerance: a finer solve takes fewer steps than a narrower rounding."""


class Pace(NamedTuple):
    """How far a series of roundings goes at a time."""

    least: float
    most: float
    """Each rounding is narrower than the last by a factor between these."""
    share: float
    """An inner solve ends when its own gap is this share of what the rounding costs."""


BY_HESSIANS = Pace(4.0, 4.0, 0.3)
OF_A_FACTOR = Pace(1.5, 2.5, 0.3)
"""Hundreds of pivots and few pairs at the margin: from the solution of a rounding four times as
wide, Newton's steps are cut short. On covtype 7 with 20,000 rows and C = 100, 16 or 25 Hessians
(at two ranks) in place of 37. The last rounding may be nearer still, if that is enough."""
BY_PRODUCTS = Pace(2.0, 2.5, 0.03)
"""With many columns a narrow rounding takes hundreds of products a step. A nearer solution that is
finer foretells the next one better, and a step that it spares costs more than one that it takes."""


def rounded_problem(
    X: Matrix, pairs: Rows | PairList, penalty: Penalty, tol: float, width: float = FIRST_WIDTH
) -> Problem:
    """The problem of the hinge rounded by ``width``, judged as the hinge itself."""
    return Problem(
        X, partial(rounded_hinge, pairs, width), penalty, judge_as_hinge, tol,
        LOST_BY_SCALING["hinge"], by_row=True,
    )  # fmt: skip


def hinge_by_continuation(
    start: Iterate,
    progress: Progress,
    run: Solver,
    pace: Pace = BY_HESSIANS,
    *,
    to_limit: bool = True,
    known: RowGrams | None = None,
    near: float = FIRST_WIDTH,
) -> tuple[Iterate, Result]:
    """The best iterate of a series of narrower and narrower roundings, and what it says of the
    hinge, whatever the penalty.

    ``start`` lies in the `rounded_problem` of the first width. With ``to_limit`` the result is the
    best point of all (`Limit`); without, it is the iterate itself, stretched, whose margins tell
    its multipliers. ``known``: products of rows that ``start`` was made with. ``near``: the width
    that ``start`` was solved at, on other rows or in fewer coefficients.
    """
    tol = start.problem.tol
    best, width = _first_rounding(start, near)
    now, limit = best, Limit(best, known) if to_limit else None
    before: Iterate | None = None
    while True:
        now = run_settled(run, now, CloseForItsRounding(tol, pace.share), progress)
        if now.judged.distance < best.judged.distance:
            best = now
        last = progress.exhausted or width <= LAST_WIDTH
        if limit is not None:
            limit.look_at(now, before)
            if not limit.judged.done(tol):
                limit.look_beside(now)
            if limit.judged.done(tol) or last:
                limit.settle()
            if limit.judged.done(tol) or last:
                return limit.certificate, limit.result(progress)
        elif best.judged.done(tol) or last:
            return best, result_at(best, progress)
        distance = best.judged.distance if limit is None else limit.judged.distance
        width = _narrower(width, distance / tol if tol > 0 else np.inf, pace)
        now, before = _continued(now, before, width), now


def _first_rounding(start: Iterate, near: float) -> tuple[Iterate, float]:
    """The start under the rounding with which a series begins, and its width.

    Without ``near`` it is the one that certifies the start best: at zero that is the widest, at a
    solution of almost the same problem a narrow one. A solution of other rows, or of fewer
    coefficients, may be off by more than its own rounding, and with a small alpha no gap tells by
    how much. A rounding several times as wide takes in what has moved; from the widest one the
    series would begin anew.
    """
    best, width = start, FIRST_WIDTH
    if near < FIRST_WIDTH and start.w.any():
        loss = rounded_loss(start)
        # Where no pair is short by more than the rounding, a stretch ends every shortfall, and
        # there is none of a rounding to both sides (`best_stretch`).
        one_sided = isinstance(loss, ListedHuberHingePoint) or loss.largest_shortfall() <= near
        rounded = _narrowed if one_sided else around_corner
        best, width, far = rounded(start, near), near, FAR_OFF
        if best.judged.distance < far:
            return best, width
        while best.judged.distance >= far and width < FIRST_WIDTH:
            width, far = min(FIRST_WIDTH, NARROWING_OF_A_START * width), FARTHER * far
        return rounded(start, width), width
    while best.w.any() and width > LAST_WIDTH:
        narrower = _narrowed(best, width / NARROWING_OF_A_START)
        if narrower.judged.distance > WORTH_NARROWING * best.judged.distance:
            break
        best, width = narrower, width / NARROWING_OF_A_START
    return best, width


def _narrower(width: float, left: float, pace: Pace) -> float:
    """The next rounding, where the gap is ``left`` times the tolerance."""
    needed = (left / LAST_SHARE) ** (1 / FALL)
    return width / min(pace.most, max(needed, pace.least))


class Limit:
    """The hinge's own solution from those of two roundings, and the best multipliers of all.

    Between changes of the support and of the pairs inside the rounding, solutions are linear in the
    width, so the line through two of them, followed to the width zero, ends in the solution itself.
    Where pairs do change it still ends nearer than either: on text it spares the last two of ten
    roundings and more than half of the products with X.
    """

    def __init__(self, start: Iterate, known: RowGrams | None = None) -> None:
        self.certificate, self._duals = start, (-np.inf, -np.inf)
        self._corners = CornerSearch(known or RowGrams(start.problem.X))
        self.judged = start.judged
        self._best = _unrounded(start)

    def look_at(self, now: Iterate, before: Iterate | None) -> None:
        below = duals_of_hinge(now)
        if below > self._duals:
            self.certificate, self._duals = now, below
        here = _unrounded(now)
        found = [self._best, here, *_stretched(now, here)]
        if before is not None:
            error = now.point.error + before.point.error
            step = now.w - before.w, now.scores - before.scores
            beyond = here.moved(_share_of_move(before, now, 0.0), *step, error)
            found += [] if beyond is None else [_allowed(beyond)]
        self._best = min(found, key=lambda at: at.value)
        if not self._best.w.any() and now.w.any():
            # Zero ranks nothing: what is no worse up to rounding is better.
            near = min(found[1:], key=lambda at: at.value)
            if near.value <= self._best.value * (1 + growth(now.scores.size)):
                self._best = near
        self._judge()

    def look_beside(self, now: Iterate) -> None:
        """At the corner next to ``now``, whose multipliers are its own."""
        corner = self._corners.beside(now)
        if corner is not None:
            self.take(corner)

    def take(self, corner: Corner) -> None:
        """A point with multipliers of its own, which are feasible but for what is out of reach."""
        problem = self._best.problem
        error = problem.product_error(corner.w)
        at, proof = (problem.at(corner.w, corner.scores, error=error) for _ in range(2))
        proof.point.gradient = corner.gradient
        lost = most_lost(out_of_reach(proof.loss.pairs, corner.gradient), proof)
        least, dual = duals_of_hinge(proof)
        self._best = min(self._best, at, key=lambda one: one.value)
        if least - lost > self._duals[0]:
            self._duals = least - lost, dual - lost
        self._judge()

    def settle(self) -> None:
        """Before the end: at scores that are those of the coefficients, and past the margin.

        At a corner many pairs lie on the margin itself, and rounding of a score counts for each of
        them. A stretch by as little as that takes them past it.
        """
        at = self._best = settled(self._best)
        self._judge()
        if at.problem.penalty.has_corners or not at.w.any():
            return
        t = 1 + 4 * at.problem.score_error(at.w)
        past = at.problem.at(t * at.w, t * at.scores, error=t * at.point.error)
        judged = judge_against(self._duals, past, past.value)
        if judged.distance < self.judged.distance:
            # What the stretch costs is a price of rounding, too.
            by_steps = self.judged.distance - self.judged.rounding
            rounding = max(judged.rounding, judged.distance - by_steps)
            self._best, self.judged = past, judged._replace(rounding=rounding)

    def _judge(self) -> None:
        self.judged = judge_against(self._duals, self._best, self._best.value)

    def result(self, progress: Progress) -> Result:
        value, distance, rounding = self.judged
        history = progress.history
        if history:  # the last step led here
            history = [*history[:-1], (history[-1][0], value, distance)]
        return Result(
            self._best.w, self._best.scores, value, distance, progress.n_iter, history, rounding,
            rounded=self.certificate.w,
        )  # fmt: skip


@dataclass(frozen=True)
class CloseForItsRounding:
    """Solved well enough that the rounding makes most of the hinge's gap."""

    tol: float
    share: float
    """Of what the rounding costs."""

    def __call__(self, now: Iterate, share: float = 1.0) -> bool:
        close = now.judged.done(self.tol, share) or now.gap <= share * self.gap_wanted(now)
        return close and not at_rest(now)

    def gap_wanted(self, now: Iterate) -> float:
        value, distance, rounding = now.judged
        scale = now.problem.scale(value)
        enough, of_width = self.tol * scale, (distance - rounding) * scale - now.gap
        lasting = of_width + rounding * scale
        if lasting <= LASTING_SHARE * enough:
            return enough - lasting
        return self.share * max(of_width, enough)


def _unrounded(now: Iterate) -> Iterate:
    """The same point under the hinge itself."""
    problem = replace(now.problem, loss_at=partial(pair_point, "hinge", now.loss.pairs))
    return problem.at(now.w, now.scores, _all_pairs(now).unrounded(), now.point.error)


def _stretched(now: Iterate, here: Iterate) -> list[Iterate]:
    """The point at its `best_stretch`, if that is another: ``here`` is ``now`` under the hinge."""
    t, _ = best_stretch(now)
    if t == 1:
        return []
    loss = _all_pairs(now).unrounded(t)
    return [here.problem.at(t * now.w, t * now.scores, loss, t * now.point.error)]


def _narrowed(now: Iterate, width: float) -> Iterate:
    """The same point under another rounding."""
    return _under(now, rounded_loss(now).rounded(width))


def around_corner(now: Iterate, width: float) -> Iterate:
    """The same point of the hinge, rounded or not, under a rounding to both sides of the corner.

    The solution moves with the square of this width, where it moves with the width itself if the
    hinge is rounded to one side: a start that is nearly solved stays so.
    """
    assert isinstance(now.loss, HingePoint | HuberHingePoint)
    return _under(now, CentredHingePoint.at(now.loss, width))


def _under(now: Iterate, loss: HuberHingePoint | ListedHuberHingePoint) -> Iterate:
    of = partial(rounded_hinge, loss.pairs, loss.width, kind=type(loss))
    problem = replace(now.problem, loss_at=of, judge=judge_as_hinge)
    return problem.at(now.w, now.scores, loss, now.point.error)


def _continued(now: Iterate, before: Iterate | None, width: float) -> Iterate:
    """Where to begin at the next width.

    The solution moves about in proportion to the width, or less around the corner, so its last
    move tells the next; where that is no better, the last solution serves.
    """
    start = _narrowed(now, width)
    if before is not None:
        error = now.point.error + before.point.error
        share = _share_of_move(before, now, width)
        ahead = start.moved(share, now.w - before.w, now.scores - before.scores, error)
        if ahead is not None and _nearer(ahead := _allowed(ahead), start):
            return ahead
    return start


def _share_of_move(before: Iterate, now: Iterate, width: float) -> float:
    """How far the line through two solutions leads to this width, in steps from one to the
    other."""
    here = rounded_loss(now).width
    return (here - width) / (rounded_loss(before).width - here)


def _allowed(now: Iterate) -> Iterate:
    """The same point, or the nearest inside the bounds of the coefficients: a line through two
    solutions may lead out of them."""
    penalty = now.problem.penalty
    if not isinstance(penalty, ElasticNet):
        return now
    w = np.clip(now.w, penalty.lower, penalty.upper)
    return now if np.array_equal(w, now.w) else now.problem.at(w)


def _nearer(one: Iterate, other: Iterate) -> bool:
    """By the gap where the penalty has corners: a lower value may lie on the wrong support."""
    corners = one.problem.penalty.has_corners
    return one.gap < other.gap if corners else one.value < other.value


def result_at(now: Iterate, progress: Progress) -> Result:
    """The result of a solver that ended at ``now``; for a rounded hinge, at its best stretch."""
    if getattr(now.loss, "width", None) is None:
        return smooth_result(now, progress)
    width, outermost = rounded_loss(now).width, rounded_loss(now).outermost
    stretch, _ = best_stretch(now)
    objective, distance, rounding = now.judged
    scores = now.scores if stretch == 1 else stretch * now.scores  # what is known of them stays
    return Result(
        stretch * now.w, scores, objective, distance, progress.n_iter, progress.history, rounding,
        width / outermost, stretch * outermost, now.w,
    )  # fmt: skip


def smooth_result(now: Iterate, progress: Progress) -> Result:
    """`result_at` of a loss that is not rounded. It is not asked for: after `LossPoint.rest` the
    rows would be ordered once more."""
    objective, distance, rounding = now.judged
    return Result(
        now.w, now.scores, objective, distance, progress.n_iter, progress.history, rounding
    )


def rounded_hinge(
    pairs: Rows | PairList, width: float, scores: Array, kind: type[Any] = HuberHingePoint
) -> HuberHingePoint | ListedHuberHingePoint:
    """The rounded hinge at these scores; ``kind`` says to which side of its corner, for rows."""
    if isinstance(pairs, PairList):
        return ListedHuberHingePoint(pairs, scores, width)
    of_rows: HuberHingePoint = kind(SortedScores(pairs, scores), width)
    return of_rows


def _all_pairs(now: Iterate) -> HuberHingePoint:
    assert isinstance(now.loss, HuberHingePoint)
    return now.loss
