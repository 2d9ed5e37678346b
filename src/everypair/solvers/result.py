"""What a solver found and how close it came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """A solution and its certificate."""

    coef: Array
    scores: Array
    objective: float
    distance: float
    """Relative duality gap; for the non-convex sigmoid the relative gradient norm."""
    n_iter: int
    history: list[tuple[float, float, float]]
    """(seconds, objective, distance), one entry a step."""
    rounding: float = 0.0
    """The part of the distance that bounds rounding: no step takes it off."""
    width: float | None = None
    stretch: float = 1.0
    """Of the hinge without its limit: its corner was rounded last between the margins
    ``stretch (1 - width)`` and ``stretch``, and the pairs whose multiplier is inside (0, 1) lie
    there."""
    rounded: Array | None = None
    """Of the hinge: the solution of a rounded problem next to this one."""
    kkt_residual: float | None = None
    """Relative to the largest gradient at w = 0; None where the problem is not looked at by
    coefficients, and for the hinge, which has no gradient."""
    kkt_rounding: float = 0.0
    """What rounding may make of it."""

    @property
    def start(self) -> Array:
        """Where a fit of almost the same problem begins best."""
        return self.coef if self.rounded is None else self.rounded
