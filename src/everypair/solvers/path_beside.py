"""Solutions at many alphas from those on other rows of the same table: of a sample, or of all rows.

At each alpha both solutions lie close together, and the Newton matrix of one serves the other. So
all alphas step side by side: the scores of several w, and the gradients of several multipliers,
are products of X with a matrix, which cost far less than as many products with a vector. A few of
the alphas go first, and what they show of the distance between both paths foretells that of the
others. Where the known path had these rows too, it foretells the first step of all (`foretelling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import dot_each, pull_back_each
from everypair.pairs.point import usable
from everypair.solvers.foretelling import AT_ONCE, Known, KnownPath
from everypair.solvers.newton import GAIN_TO_KEEP, Newton
from everypair.solvers.problem import CloseEnough, Iterate, Problem, better_start, run_settled
from everypair.solvers.progress import Progress
from everypair.solvers.rounding import pulled

Array = NDArray[np.float64]

SHARE_LEFT = 1e-4
"""Of the gap that the known solution has here, this share may be left, whatever the tolerance: the
known solution may have seen rows that this one is tested on. A hundredth of the distance between
both is left then, and a hundredth of what held-out rows would seem to gain by it."""


class End(NamedTuple):
    """The minimum at one alpha, how it was reached, and what another path may know of it."""

    now: Iterate
    progress: Progress
    known: Known


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
        self,
        problem: Problem,
        known: Known,
        offset: Array | None,
        max_iter: int,
        newton: type[Newton],
    ):
        """``offset``: where to begin, from the known solution; None for there itself."""
        self.problem, self.progress = problem, Progress(max_iter)
        self.known, self._is_told = known, offset is not None
        self._most = np.inf
        self.newton = newton(known.matrix.copied())
        self.next_w, self.goes_on = known.w if offset is None else known.w + offset, True
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
            if not self.goes_on:
                self.newton.doubt()
                self._now = now if now.gap < before.gap else before
                self.next_w = self._now.w
            elif matrix is not None:
                matrix.learn(before, now)
        if not self.goes_on:
            return
        if self._is_told or before is None:
            self._most = SHARE_LEFT * self._gap_of_known(now)
        self._now, self.next_w = now, self.newton.next_coefficients(now)
        self.goes_on = not self._stop(now) and not self.progress.exhausted

    @property
    def is_near(self) -> bool:
        """Whether the next step ends near enough to tell others where to begin."""
        return self._now is not None and self._now.gap <= self._most

    @property
    def gradient(self) -> Array:
        """What takes the known solution to where the next step ends."""
        return self.known.matrix.times(self.next_w - self.known.w)

    def _gap_of_known(self, now: Iterate) -> float:
        """The gap of the known solution here: where none was seen, by its distance from now."""
        if not self._is_told:
            return now.gap
        gradient = self.known.matrix.times(now.w - self.known.w)
        return float(gradient @ gradient) / (2 * self.problem.quadratic.alpha)

    @property
    def _stop(self) -> OwnMinimum:
        return OwnMinimum(self.problem.tol, most=self._most)

    def end(self) -> End:
        """The minimum; where steps of the known matrix do not lead there, Newton's method does."""
        now = self._now or better_start(self.problem, np.zeros_like(self.next_w))
        found = run_settled(self.newton, now, self._stop, self.progress)
        if found is not self._now:
            self.next_w = self.newton.next_coefficients(found)
        return End(
            found, self.progress, Known(self.next_w, self.newton.matrix or self.known.matrix)
        )


def solved_beside(
    problems: Sequence[Problem],
    path: KnownPath,
    share: Array,
    max_iter: int,
    newton: type[Newton] = Newton,
) -> Iterator[list[tuple[int, End]]]:
    """The minimum of each problem, the same loss at the alphas of the path, with its number: some
    at a time, each when it is done. Up to `AT_ONCE` are under way. The rows weigh ``share``."""
    at_known = path.gradients(problems[0].X, share)
    waiting = path.tellers
    others = [k for k in range(len(problems)) if k not in waiting]
    gradients: dict[int, Array] = {}
    under_way: dict[int, Course] = {}
    while waiting or others or under_way:
        if not waiting and all(course.is_near for course in under_way.values()):
            gradients |= {k: course.gradient for k, course in under_way.items()}
            waiting, others = others, []
        room = AT_ONCE - len(under_way)
        for k in waiting[:room]:
            offset = path.offset(k, gradients, at_known)
            under_way[k] = Course(problems[k], path[k], offset, max_iter, newton)
        waiting = waiting[room:]
        _step_together(list(under_way.values()))
        ends = [(k, course.end()) for k, course in under_way.items() if not course.goes_on]
        for k, _ in ends:
            gradients[k] = under_way.pop(k).gradient
        yield ends


def _step_together(courses: list[Course]) -> None:
    """A step of each."""
    X = courses[0].problem.X
    scores = dot_each(X, np.array([course.next_w for course in courses]))
    seen: list[tuple[Course, Iterate]] = []
    slopes = np.empty_like(scores)
    for course, of in zip(courses, scores, strict=True):
        if (now := course.look(of)) is not None:
            slopes[len(seen)] = now.point.gradient
            now.point.gradient = slopes[len(seen)]
            now.point.rest()
            seen.append((course, now))
    pulled_back = pull_back_each(X, slopes[: len(seen)])
    for (course, now), back in zip(seen, pulled_back, strict=True):
        course.reach(now, back)


def extrapolated(known: list[tuple[float, Array]], at: float) -> Array | float:
    """The polynomial through the known ``(x, value)`` at another x (Lagrange); 0 through none."""
    total: Array | float = 0.0
    for k, (x, value) in enumerate(known):
        others = [other for j, (other, _) in enumerate(known) if j != k]
        total = total + float(np.prod([(at - other) / (x - other) for other in others])) * value
    return total
