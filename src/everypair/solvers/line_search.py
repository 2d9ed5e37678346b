"""A search along a direction, from scores that are known along it: of every solver, any penalty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.solvers.problem import Iterate

Array = NDArray[np.float64]

LEAST_DECREASE = 1e-4
LEAST_SHRINKING = 0.5
VALUE_ROUNDING = 1e-14
SHORTEST_STEP = 2.0**-60
SHORTEST_STEP_WITH_CORNERS = 2.0**-20
"""A direction of proximal Newton that needs a shorter one is damped instead."""

SHORTENING = 0.1, 0.5
"""A step that is too long is shortened by a factor between these."""

SLOPE_SHARE_TO_GO_ON = 0.5
"""A step at whose end more than this share of the slope is left ..."""

LONGEST_STEP = 4.0
MOST_HALVINGS = 10
"""... is lengthened up to `LONGEST_STEP`, or at most this many times half way to a length that was
too long."""


def search_line(
    now: Iterate,
    direction: Array,
    score_step: Array | None = None,
    slope: float | None = None,
) -> Iterate | None:
    """A point along ``direction`` where the objective has fallen enough.

    ``slope`` is the fall that a model predicts for the whole step (Tseng & Yun 2009); without it,
    the objective's own slope. None when rounding leaves no way down. Trial points cost a pair sum
    each, no product with X.
    """
    line = _Line(now, direction, score_step, slope)
    rounding = VALUE_ROUNDING * abs(now.value)
    if not line.slope <= (rounding if line.corners else 0.0) or not np.any(direction):
        return None
    length, too_long = 1.0, 0.0
    while length >= (SHORTEST_STEP_WITH_CORNERS if line.corners else SHORTEST_STEP):
        trial = line.at(length)
        if trial is not None:
            if _falls_enough(now, trial, length * line.slope):
                if line.corners:
                    return line.nearer(trial, length)
                return line.further(trial, length, too_long)
            if _closer_on_the_level(now, trial):
                return trial
        if line.corners and line.slope >= -rounding:
            return None
        too_long = length
        length *= line.shortening(trial, length)
    return None


def _falls_enough(now: Iterate, trial: Iterate, predicted: float) -> bool:
    least = now.value + LEAST_DECREASE * predicted
    return trial.value < now.value and trial.value <= least


def _closer_on_the_level(now: Iterate, trial: Iterate) -> bool:
    """The objective's last digits say nothing more, but the gap shrinks.

    Near the minimum a step counts as down when the objective stays within rounding and the
    gradient shrinks (as in Hager & Zhang 2005).
    """
    level = abs(trial.value - now.value) <= VALUE_ROUNDING * abs(now.value)
    return level and trial.gap <= LEAST_SHRINKING * now.gap


class _Line:
    """The points ``w + length direction`` and their scores."""

    def __init__(
        self, start: Iterate, direction: Array, score_step: Array | None, slope: float | None
    ):
        self.start, self.direction = start, direction
        self.corners = start.problem.penalty.has_corners
        self.slope = float(start.gradient @ direction) if slope is None else slope
        self._known = score_step

    @cached_property
    def score_step(self) -> Array:
        return self.start.problem.X.dot(self.direction) if self._known is None else self._known

    @cached_property
    def _step_error(self) -> float:
        """The error of `score_step`; infinite for a step that was itself added up."""
        known = self._known is not None
        return np.inf if known else self.start.problem.product_error(self.direction)

    def at(self, length: float) -> Iterate | None:
        return self.start.moved(length, self.direction, self.score_step, self._step_error)

    def slope_at(self, point: Iterate) -> float:
        of_penalty = self.start.problem.quadratic.alpha * float(point.w @ self.direction)
        if self.start.problem.X.in_order_only:  # the pass that a point taken needs anyway
            return float(point.pulled @ self.direction) + of_penalty
        return float(point.point.gradient @ self.score_step) + of_penalty

    def shortening(self, trial: Iterate | None, length: float) -> float:
        """The factor that leads to where the parabola through both values is least; a half where
        corners lie between, which no parabola sees."""
        if self.corners:
            return SHORTENING[1]
        rise = np.inf if trial is None else trial.value - self.start.value
        bend = rise - length * self.slope
        least = -length * self.slope / (2 * bend) if 0 < bend < np.inf else 0.0
        return float(np.clip(least, *SHORTENING))

    def nearer(self, trial: Iterate, length: float) -> Iterate:
        """A step that had to be cut is cut on while that pays: corners lie close together in a
        rounded hinge, and the first acceptable length may be far past the best."""
        while length < 1 and (shorter := self.at(length / 2)) and shorter.value < trial.value:
            trial, length = shorter, length / 2
        return trial

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
