"""Backtracking along a direction, from scores that are known along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.pairs.point import usable
from everypair.solvers.objective import Iterate

Array = NDArray[np.float64]

LEAST_DECREASE = 1e-4
LEAST_SHRINKING = 0.5
VALUE_ROUNDING = 1e-14
SHORTENING = 0.1, 0.5
SHORTEST_STEP = 2.0**-60
STEEP = 0.5
LONGEST_STEP = 4.0
"""A whole step at whose end this share of the slope is left is lengthened, but not beyond."""


def search_line(now: Iterate, direction: Array, score_step: Array | None = None) -> Iterate | None:
    """Backtrack until the objective falls enough; None when rounding leaves no way down.

    Trial points cost a pair sum each, no product with X. Near the minimum the objective's
    last digits say nothing more; there a step counts as down when the objective stays within
    rounding and the gradient shrinks (as in Hager & Zhang 2005).
    """
    slope = float(now.gradient @ direction)
    if not slope < 0:
        return None
    score_step = now.objective.X.dot(direction) if score_step is None else score_step
    rounding = VALUE_ROUNDING * abs(now.value)

    def at(length: float) -> Iterate | None:
        scores = now.scores + length * score_step
        return now.objective.at(now.w + length * direction, scores) if usable(scores) else None

    length = 1.0
    while length >= SHORTEST_STEP:
        trial = at(length)
        if trial is not None:
            least = now.value + LEAST_DECREASE * length * slope
            if trial.value < now.value and trial.value <= least:
                break
            if abs(trial.value - now.value) <= rounding and trial.gap <= LEAST_SHRINKING * now.gap:
                return trial
        length *= _shorter(length, slope, trial.value - now.value if trial else np.inf)
    else:
        return None
    if length < 1:
        return trial
    left = float(trial.score_gradient @ score_step) + now.objective.alpha * float(
        trial.w @ direction
    )
    if left <= STEEP * slope:
        # Where the slope would vanish if it went on changing as it did.
        longer = at(min(LONGEST_STEP, slope / (slope - left)) if left > slope else LONGEST_STEP)
        if longer is not None and longer.value < trial.value:
            return longer
    return trial


def _shorter(length: float, slope: float, rise: float) -> float:
    """The share of a step at which the parabola through both values is least, within bounds."""
    bend = rise - length * slope
    least = -length * slope / (2 * bend) if 0 < bend < np.inf else SHORTENING[0]
    return float(np.clip(least, *SHORTENING))
