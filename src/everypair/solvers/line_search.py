"""A search along a direction, from scores that are known along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.threads import over_rows
from everypair.pairs.point import usable
from everypair.solvers.problem import Iterate

Array = NDArray[np.float64]

LEAST_DECREASE = 1e-4
LEAST_SHRINKING = 0.5
VALUE_ROUNDING = 1e-14
SHORTEST_STEP = 2.0**-60
SHORTEST_STEP_TO_TARGET = 2.0**-20
"""A direction of proximal Newton that needs a shorter one is damped instead."""

SHORTENING = 0.1, 0.5
"""A step that is too long is shortened by a factor between these."""

SLOPE_SHARE_TO_GO_ON = 0.5
"""A step at whose end more than this share of the slope is left ..."""

LONGEST_STEP = 4.0
MOST_HALVINGS = 10
"""... is lengthened up to so far, or so many times half way to a length that was too long."""


def search_line(now: Iterate, direction: Array, score_step: Array | None = None) -> Iterate | None:
    """A point along ``direction`` where the objective has fallen and the slope is down by half.

    None when rounding leaves no way down. Trial points cost a pair sum each, no product with X.
    Near the minimum the objective's last digits say nothing more; there a step counts as down
    when the objective stays within rounding and the gradient shrinks (as in Hager & Zhang 2005).
    """
    line = _Line(now, direction, score_step)
    if not line.slope < 0:
        return None
    length, too_long = 1.0, 0.0
    while length >= SHORTEST_STEP:
        trial = line.at(length)
        if trial is not None:
            if _falls_enough(now, trial, length * line.slope):
                return line.further(trial, length, too_long)
            if _closer_on_the_level(now, trial):
                return trial
        too_long = length
        length *= line.shortening(trial, length)
    return None


def search_towards(now: Iterate, target: Array, slope: float) -> tuple[Iterate | None, float]:
    """Backtrack from ``target`` towards ``now`` until the objective falls enough.

    For a penalty with corners: the fall is measured against the predicted one, ``slope`` (Tseng &
    Yun 2009). Returns the length of the step, too.
    """
    rounding = VALUE_ROUNDING * now.value
    direction = target - now.w
    if not slope <= rounding or not np.any(direction):
        return None, 0.0
    score_step = now.problem.X.dot(direction)

    def at(length: float) -> Iterate:
        w = target if length == 1 else now.w + length * direction
        return now.problem.at(w, _moved(now.scores, length, score_step))

    length = 1.0
    while length >= SHORTEST_STEP_TO_TARGET:
        trial = at(length)
        if _falls_enough(now, trial, length * slope):
            # A step that had to be cut is cut on while that pays: corners lie close together
            # in a rounded hinge, and the first acceptable length may be far past the best.
            while length < 1 and (shorter := at(length / 2)).value < trial.value:
                trial, length = shorter, length / 2
            return trial, length
        if _closer_on_the_level(now, trial):
            return trial, length
        if slope >= -rounding:
            break
        length /= 2
    return None, 0.0


def _falls_enough(now: Iterate, trial: Iterate, predicted: float) -> bool:
    least = now.value + LEAST_DECREASE * predicted
    return trial.value < now.value and trial.value <= least


def _closer_on_the_level(now: Iterate, trial: Iterate) -> bool:
    """The objective's last digits say nothing more, but the gap shrinks."""
    level = abs(trial.value - now.value) <= VALUE_ROUNDING * abs(now.value)
    return level and trial.gap <= LEAST_SHRINKING * now.gap


class _Line:
    """The points ``w + length direction`` and their scores."""

    def __init__(self, start: Iterate, direction: Array, score_step: Array | None):
        self.start, self.direction = start, direction
        self.slope = float(start.gradient @ direction)
        self._score_step = score_step

    @cached_property
    def score_step(self) -> Array:
        known = self._score_step
        return self.start.problem.X.dot(self.direction) if known is None else known

    def at(self, length: float) -> Iterate | None:
        scores = _moved(self.start.scores, length, self.score_step)
        if not usable(scores):
            return None
        return self.start.problem.at(self.start.w + length * self.direction, scores)

    def slope_at(self, point: Iterate) -> float:
        of_penalty = self.start.problem.quadratic.alpha * float(point.w @ self.direction)
        if self.start.problem.X.in_order_only:  # the pass that a point taken needs anyway
            return float(point.pulled @ self.direction) + of_penalty
        return float(point.point.gradient @ self.score_step) + of_penalty

    def shortening(self, trial: Iterate | None, length: float) -> float:
        """The factor that leads to where the parabola through both values is least."""
        rise = np.inf if trial is None else trial.value - self.start.value
        bend = rise - length * self.slope
        least = -length * self.slope / (2 * bend) if 0 < bend < np.inf else 0.0
        return float(np.clip(least, *SHORTENING))

    def further(self, trial: Iterate, length: float, too_long: float) -> Iterate:
        """On from ``trial`` while the slope is steep and the objective falls.

        A length that was too long is not reached again. Where the curvature lies at the far end, as
        with hinges, a shortened step may have left nearly all of the slope.
        """
        left = self.slope_at(trial)
        for _ in range(MOST_HALVINGS if too_long else 1):
            if left > SLOPE_SHARE_TO_GO_ON * self.slope:
                break
            ahead = (length + too_long) / 2 if too_long else self._level_at(left)
            longer = self.at(ahead)
            if longer is not None and longer.value < trial.value:
                trial, length, left = longer, ahead, self.slope_at(longer)
            else:
                too_long = ahead
        return trial

    def _level_at(self, left: float) -> float:
        """Where the slope would vanish if it went on changing as over the first whole step."""
        falling = left > self.slope
        return min(LONGEST_STEP, self.slope / (self.slope - left)) if falling else LONGEST_STEP


def _moved(scores: Array, length: float, step: Array) -> Array:
    """``scores + length * step`` in one array, on all threads."""
    if not isinstance(scores, np.ndarray):
        return (scores + length * step).kept()
    out = np.empty_like(scores)

    def part(start: int, stop: int) -> None:
        np.multiply(step[start:stop], length, out=out[start:stop])
        out[start:stop] += scores[start:stop]

    over_rows(part, scores.size, scores.size)
    return out
