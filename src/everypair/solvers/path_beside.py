"""Solutions at many alphas from those on other rows of the same table: of a sample, or of all rows.

At each alpha both solutions lie close together, and the Newton matrix of one serves the other. So
all alphas step side by side: the scores of several w, and the gradients of several multipliers,
are products of X with a matrix, which cost far less than as many products with a vector. The
distance between both paths is smooth in log alpha: what some of the alphas show of it foretells
that of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import dot_each, pull_back_each
from everypair.linalg.row_sums import slices
from everypair.pairs.point import usable
from everypair.solvers.newton import GAIN_TO_KEEP, Newton, NewtonMatrix
from everypair.solvers.problem import CloseEnough, Iterate, Problem, better_start, run_settled
from everypair.solvers.progress import Progress
from everypair.solvers.rounding import pulled

Array = NDArray[np.float64]

STRIDES = 4, 2, 1
"""Every fourth alpha is solved from the known path alone, then every second, then the others."""

OFFSETS = 3
"""Nearest alphas from whose distances that of another one is foretold."""

SHARE_LEFT = 1e-4
"""Of the gap that the known solution has here, this share may be left, whatever the tolerance: the
known solution may have seen rows that this one is tested on. A hundredth of the distance between
both is left then, and a hundredth of what held-out rows would seem to gain by it."""

AT_ONCE = 8
"""Alphas that step side by side: each holds its scores, gradient and order of the rows."""


class Known(NamedTuple):
    """The minimum at one alpha on other rows, and a Newton matrix near it."""

    w: Array
    matrix: NewtonMatrix


class End(NamedTuple):
    """The minimum at one alpha, how it was reached, and what another path may know of it."""

    now: Iterate
    progress: Progress
    known: Known | None


@dataclass(frozen=True)
class OwnMinimum(CloseEnough):
    """Within ``tol``, and with an absolute gap of at most ``most``."""

    most: float = np.inf

    def __call__(self, now: Iterate, share: float = 1.0) -> bool:
        return super().__call__(now, share) and now.gap <= share * self.most

    def gap_wanted(self, now: Iterate) -> float:
        return min(super().gap_wanted(now), self.most)


class Course:
    """The way to the minimum at one alpha, by the steps of a known matrix."""

    def __init__(
        self, problem: Problem, known: Known, start: Array, max_iter: int, most: float | None
    ):
        """``most``: the gap that may be left where the tolerance allows more; None for a share of
        that at the start."""
        self.problem, self.progress = problem, Progress(max_iter)
        self.most = most
        self.newton = Newton(known.matrix.copied())
        self.next_w, self.goes_on = start, True
        self._now: Iterate | None = None

    def look(self, scores: Array) -> Iterate | None:
        """The point where the last step led; None, and no further, where its scores overflow."""
        self.goes_on = usable(scores)
        if not self.goes_on:
            return None
        error = self.problem.product_error(self.next_w)
        return self.problem.at(self.next_w, scores, error=error)

    def reach(self, now: Iterate, pulled_back: Array) -> None:
        """``now`` is where `look` saw it, and ``pulled_back`` is X'c there."""
        now.pulled = pulled(self.problem.X, now.point.gradient, pulled_back)
        before, matrix = self._now, self.newton.matrix
        self.goes_on = bool(np.isfinite(now.value + now.gap))
        if self.goes_on and before is not None:
            self.progress.step(now)
            self.goes_on = now.gap <= before.gap / GAIN_TO_KEEP
            if self.goes_on and matrix is not None:
                matrix.learn(before, now)
        if not self.goes_on:
            return
        if self.most is None:
            self.most = SHARE_LEFT * now.gap
        self._now = now
        self.goes_on = not self._stop(now) and not self.progress.exhausted
        if self.goes_on:
            self.next_w = self.newton.next_coefficients(now)

    @property
    def _stop(self) -> OwnMinimum:
        return OwnMinimum(self.problem.tol, most=np.inf if self.most is None else self.most)

    def end(self) -> End:
        """The minimum; where steps of the known matrix do not lead there, Newton's method does."""
        now = self._now or better_start(self.problem, np.zeros_like(self.next_w))
        now = run_settled(self.newton, now, self._stop, self.progress)
        matrix = self.newton.matrix
        known = None if matrix is None else Known(self.newton.next_coefficients(now), matrix)
        return End(now, self.progress, known)


def solved_beside(
    problems: Sequence[Problem], known: Sequence[Known], max_iter: int
) -> Iterator[list[tuple[int, End]]]:
    """The minimum of each problem, the same loss at several alphas, with its number: some at a
    time, each when it is done."""
    logs = [float(np.log(each.quadratic.alpha)) for each in problems]
    offsets: list[tuple[float, Array]] = []
    left: list[tuple[float, float]] = []
    for which in _in_turns(len(problems)):
        told = offsets.copy()
        for some in slices(0, len(which), AT_ONCE):
            courses = {
                k: Course(
                    problems[k], known[k], known[k].w + foretold(told, logs[k]), max_iter,
                    most=between(left, logs[k]) if told else None,
                )
                for k in which[some]
            }  # fmt: skip
            _step_together(list(courses.values()))
            if not told:
                left += [(logs[k], each.most) for k, each in courses.items() if each.most]
            ends = [(k, course.end()) for k, course in courses.items()]
            offsets += [(logs[k], end.known.w - known[k].w) for k, end in ends if end.known]
            yield ends


def _in_turns(n: int) -> list[list[int]]:
    """The numbers below n, each once: those of the first stride, of the next, of the last."""
    turns: list[list[int]] = []
    for stride in STRIDES:
        done = {k for turn in turns for k in turn}
        turns.append([k for k in range(0, n, stride) if k not in done])
    return [turn for turn in turns if turn]


def _step_together(courses: list[Course]) -> None:
    while courses:
        X = courses[0].problem.X
        scores = dot_each(X, np.array([course.next_w for course in courses]))
        looked = [(each, each.look(of)) for each, of in zip(courses, scores, strict=True)]
        seen = [(course, now) for course, now in looked if now is not None]
        if seen:
            slopes = np.array([now.point.gradient for _, now in seen])
            for (course, now), back in zip(seen, pull_back_each(X, slopes), strict=True):
                course.reach(now, back)
        courses = [course for course, _ in seen if course.goes_on]


def between(known: list[tuple[float, float]], at: float) -> float:
    """The line through the nearest positive values, in their logarithms; no limit by none."""
    if not known:
        return np.inf
    xs, values = np.array(sorted(known)).T
    return float(np.exp(np.interp(at, xs, np.log(values))))


def foretold(offsets: list[tuple[float, Array]], at: float) -> Array | float:
    """By the polynomial through the nearest of them."""
    nearest = sorted(offsets, key=lambda offset: abs(offset[0] - at))[:OFFSETS]
    return extrapolated(nearest, at)


def extrapolated(known: list[tuple[float, Array]], at: float) -> Array | float:
    """The polynomial through the known ``(x, value)`` at another x (Lagrange); 0 through none."""
    total: Array | float = 0.0
    for k, (x, value) in enumerate(known):
        others = [other for j, (other, _) in enumerate(known) if j != k]
        total = total + float(np.prod([(at - other) / (x - other) for other in others])) * value
    return total
