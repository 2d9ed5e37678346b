"""A push towards the top of the list: the p-norm of what each negative row loses (Rudin 2009).

    L(s) = (sum_j b_j l_j^p)^(1/p) ,   l_j = sum_i a_i log(1 + exp(s_j - s_i)) .

p = 1 is the mean over every pair. With a larger p the negatives that outscore many positives, at
the top of the list, weigh more. The derivatives are those of a pair sum in which negative j
weighs ``b_j (l_j / L)^(p - 1)``, so one more set of box moments is all that a push costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.pairs import pair_point
from everypair.pairs.smooth import LOGISTIC_KERNELS, SmoothPoint
from everypair.rows import Rows

Array = NDArray[np.float64]


def check_push(loss: str, push: float, losses: Sequence[str], within: Any = None) -> float:
    """The push as a number, if the loss is one of ``losses`` and takes it; without groups."""
    if loss not in losses:
        raise ValueError(
            f"loss={loss!r} is not available here: use one of {', '.join(map(repr, losses))}."
        )
    if not isinstance(push, Real) or not 1 <= push < np.inf:
        raise ValueError(f"push={push!r} is not a power: use a number >= 1.")
    if push > 1 and loss != "logistic":
        raise ValueError(
            f"push={push:g} needs the logistic loss, but loss={loss!r}: use loss='logistic', or "
            "push=1."
        )
    if push > 1 and within is not None:
        raise ValueError(f"push={push:g} is a norm over all negative rows: use push=1 with within.")
    return float(push)


def pushed_point(loss: str, pairs: Rows, scores: Array, push: float) -> Any:
    """The loss at these scores; its p-norm over the negative rows where push is above one."""
    if push == 1:
        return pair_point(loss, pairs, scores)
    return PushedPoint(SmoothPoint(LOGISTIC_KERNELS, pairs, scores), push)


class PushedPoint:
    """The pushed logistic loss at one vector of scores: value, gradient and curvature."""

    def __init__(self, plain: SmoothPoint, power: float):
        self._plain, self.power = plain, power

    # Arrays have an entry per row, zero for the positive ones: cheaper than the negatives alone.
    @cached_property
    def _of_negatives(self) -> tuple[Array, Array, float]:
        """``b_j l_j`` and ``l_j / L`` of the negative rows, and L."""
        share, boxes = self._plain.pairs.share, self._plain.boxes
        weighted = self._plain.losses_of_negatives()
        losses = np.divide(weighted, share, out=np.zeros_like(weighted), where=share > 0)
        largest = boxes.largest(float(losses.max(initial=0.0)))
        if largest == 0:  # every pair is won by more than float64 can tell
            return weighted, losses, 0.0
        powers = boxes.total(float(share @ _powered(losses / largest, self.power)))
        norm = largest * powers ** (1 / self.power)
        losses /= norm
        return weighted, losses, norm

    def value(self) -> float:
        return self._of_negatives[2]

    @cached_property
    def _pull(self) -> Array:
        """``(l_j / L)^(p - 1)``: by how much the push multiplies the weight of a negative row."""
        pull = _powered(self._of_negatives[1], self.power - 1)
        pull[self._plain.pairs.positive] = 1.0
        return pull

    @cached_property
    def _moments(self) -> Array:
        """The box moments of `SmoothPoint`, with the negatives at their pushed weights."""
        return self._plain.boxes.moments(self._plain.pairs.share * self._pull)

    @cached_property
    def _unpulled_gradient(self) -> Array:
        """The gradient, but for the factor `_pull` of the negative rows."""
        return self._plain.slope_sums(self._moments)

    def gradient(self) -> Array:
        return self._unpulled_gradient * self._pull

    def curvature(self) -> Array:
        """An upper estimate of the Hessian's diagonal.

        The negative term of the norm's second derivative, of rank one, is left out, and so are
        the terms ``a_i^2 ...`` of the positives, which are a share of 1 / n+ of the others.
        """
        weighted, _, _ = self._of_negatives
        slopes = self._unpulled_gradient
        bend = np.divide(slopes**2, weighted, out=np.zeros_like(slopes), where=weighted > 0)
        bend *= self.power - 1
        bend += self._plain.curvature_sums(self._moments)
        bend *= self._pull
        return bend


def _powered(values: Array, power: float) -> Array:
    """``values ** power``, by products where that is a small whole number: ten times as fast."""
    if power not in range(1, 9):
        return values**power
    out = values.copy()
    for _ in range(int(power) - 1):
        out *= values
    return out
