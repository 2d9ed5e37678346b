"""A search along a direction, from scores that are known along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.threads import over_rows
from everypair.pairs.point import usable
from everypair.solvers.objective import Iterate

Array = NDArray[np.float64]

LEAST_DECREASE = 1e-4
LEAST_SHRINKING = 0.5
VALUE_ROUNDING = 1e-14
SHORTEST_STEP = 2.0**-60

SHORTENING = 0.1, 0.5
"""A step that is too long is shortened by a factor between these."""

STEEP = 0.5
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
    rounding = VALUE_ROUNDING * abs(now.value)
    length, too_long = 1.0, 0.0
    while length >= SHORTEST_STEP:
        trial = line.at(length)
        if trial is not None:
            least = now.value + LEAST_DECREASE * length * line.slope
            if trial.value < now.value and trial.value <= least:
                return line.further(trial, length, too_long)
            if abs(trial.value - now.value) <= rounding and trial.gap <= LEAST_SHRINKING * now.gap:
                return trial
        too_long = length
        length *= line.shortening(trial, length)
    return None


class _Line:
    """The points ``w + length direction`` and their scores."""

    def __init__(self, start: Iterate, direction: Array, score_step: Array | None):
        self.start, self.direction = start, direction
        self.slope = float(start.gradient @ direction)
        self._score_step = score_step

    @cached_property
    def score_step(self) -> Array:
        known = self._score_step
        return self.start.objective.X.dot(self.direction) if known is None else known

    def at(self, length: float) -> Iterate | None:
        scores = _moved(self.start.scores, length, self.score_step)
        if not usable(scores):
            return None
        return self.start.objective.at(self.start.w + length * self.direction, scores)

    def slope_at(self, point: Iterate) -> float:
        of_penalty = self.start.objective.alpha * float(point.w @ self.direction)
        return float(point.score_gradient @ self.score_step) + of_penalty

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
            if left > STEEP * self.slope:
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
    out = np.empty_like(scores)

    def part(start: int, stop: int) -> None:
        np.multiply(step[start:stop], length, out=out[start:stop])
        out[start:stop] += scores[start:stop]

    over_rows(part, scores.size, scores.size)
    return out
