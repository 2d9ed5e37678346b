"""What a point says of the hinge itself: its objective, stretched, beside a dual value.

The multipliers of a rounded hinge lie in [0, 1], so they are feasible for the hinge and bound its
minimum from below, whatever the rounding (`hinge` has the formula).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.vectors import length
from everypair.pairs.listed import ListedHuberHingePoint
from everypair.pairs.point import growth
from everypair.pairs.sorted import CentredHingePoint, HingePoint, HuberHingePoint
from everypair.solvers.problem import Iterate
from everypair.solvers.progress import Judgement
from everypair.solvers.rounding import hinge_error

Array = NDArray[np.float64]

STRETCH_SHARES = (0.25, 0.5, 0.75, 1.0)
MOST_STRETCH = 0.5
"""The solution is stretched until these shares of its largest shortfall (at most `MOST_STRETCH`)
lie on the margin; the best of these stretches is kept."""


def judge_as_hinge(now: Iterate) -> Judgement:
    """The hinge objective and its relative gap at a point of the rounded problem, stretched."""
    stretch, value = best_stretch(now)
    return judge_against(duals_of_hinge(now), now, value, stretch)


def judge_against(
    duals: tuple[float, float], now: Iterate, value: float, stretch: float = 1.0
) -> Judgement:
    """The objective of the hinge, ``value``, beside a dual value: at least, and as computed."""
    least, dual = duals

    def mass_short(short: float) -> float:
        # A shortfall of the stretched margins: 1 - t z >= u where 1 - z >= 1 - (1 - u) / t.
        unstretched = short if stretch == 1 else 1 - (1 - short) / stretch
        return _sorted_hinge(now).mass_short(unstretched)

    error = hinge_error(
        now.problem.score_error(stretch * now.w),
        now.problem.X.shape[0],
        value,
        mass_short,  # the rows may have to be ordered again for it, and it is seldom asked for
        now.problem.tol,
    )
    # Rounding may push either above the other: then they differ by no less than they seem to.
    gap = abs(value - least) + error
    return now.problem.judgement(value, gap, max(0.0, gap - max(0.0, value - dual)))


def dual_of_hinge(now: Iterate, error: Array | float = 0.0) -> float:
    """The dual value of the rounded hinge's multipliers, which lie in [0, 1]: a lower bound of
    it."""
    penalty, mass = now.problem.penalty, now.point.multipliers
    return max(
        theta * mass - penalty.conjugate(theta * now.pulled, now.w, theta * error)
        for theta in penalty.scales(now.pulled, error)
    )


def duals_of_hinge(now: Iterate) -> tuple[float, float]:
    """`dual_of_hinge` at least, and as computed."""
    computed, mass, X = dual_of_hinge(now), now.point.multipliers, now.problem.X
    bounds = X.rounding_bounds
    if bounds is not None:
        size, point = now.point.gradient_length, now.point
        of_sums, of_columns = size * growth(X.chain), size * growth(X.shape[1])
        off = bounds.square_error(now.pulled, point.gradient_error, of_sums, of_columns)
        least = computed - off / (2 * now.problem.quadratic.alpha)
    else:
        least = -now.with_rounding(lambda e: -dual_of_hinge(now, e), -computed, beside=mass)
    return least - growth(now.scores.size) * mass, computed


def most_lost(short: float, now: Iterate) -> float:
    """How much lower the dual value may be where this much of the multipliers is taken off each
    class: ``|X'c|`` changes by at most twice as much times the longest row, seen from zero or from
    the mean, because what is taken off sums to zero."""
    sizes, longest = now.problem.X.sizes, now.problem.X.longest
    if sizes.finite:
        longest = min(longest, length(sizes.spreads))
    change = 2 * short * longest
    size = length(np.abs(now.pulled) + now.pulled_error)
    return short + change * (2 * size + change) / (2 * now.problem.quadratic.alpha)


def best_stretch(now: Iterate) -> tuple[float, float]:
    """The t whose ``t w`` has the least hinge objective of those tried, and that objective.

    The rounding leaves every pair on the margin short of it by up to its width, and the hinge
    pays for that in full; stretching w a little is cheaper. Where no pair is short by more than
    the width (separable data), the t that ends every shortfall makes the hinge vanish. None is
    tried while the rounded problem itself is further from solved than the rounding costs, none
    for a rounding to both sides of the corner, and none for a penalty with corners.
    """
    if now.stretch is not None:
        return now.stretch
    loss = rounded_loss(now)
    penalty = now.problem.penalty
    stretches, values = [1.0], [loss.hinge_value() + penalty.value(now.w)]
    short = min(loss.largest_shortfall(), loss.width, MOST_STRETCH)
    one_sided = not isinstance(loss, CentredHingePoint) and not penalty.has_corners
    if one_sided and short > 0 and now.gap <= (values[0] - dual_of_hinge(now)) / 2:
        stretches += [1 / (1 - share * short) for share in STRETCH_SHARES]
        values += [loss.hinge_value(t) + penalty.value(t * now.w) for t in stretches[1:]]
    least = int(np.argmin(values))
    now.stretch = stretches[least], values[least]
    return now.stretch


def rounded_loss(now: Iterate) -> HuberHingePoint | ListedHuberHingePoint:
    assert isinstance(now.loss, HuberHingePoint | ListedHuberHingePoint)
    return now.loss


def _sorted_hinge(now: Iterate) -> HingePoint | HuberHingePoint | ListedHuberHingePoint:
    assert isinstance(now.loss, HingePoint | HuberHingePoint | ListedHuberHingePoint)
    return now.loss
