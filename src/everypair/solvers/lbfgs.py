"""L-BFGS: the inverse H of a Hessian, from the latest steps s and changes z of the gradient.

    H <- (I - rho s z') H (I - rho z s') + rho s s' ,   rho = 1 / s'z ,

one pair after the other, from a multiple of the identity (Nocedal & Wright 2006, algorithm 7.4).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import two_loops

Array = NDArray[np.float64]

LEAST_COSINE = 1e-8
"""Between a step and its change of gradient: where the function is not convex along the step, or
flat to rounding, the step says nothing of H."""


class LbfgsMemory:
    """The latest steps, the oldest first."""

    def __init__(self, most: int):
        self._pairs: deque[tuple[Array, Array]] = deque(maxlen=most)

    def __len__(self) -> int:
        return len(self._pairs)

    def forget(self) -> None:
        self._pairs.clear()

    def rescale(self, factor: float) -> None:
        """Of a function that is ``factor`` times as large."""
        for k, (step, change) in enumerate(self._pairs):
            self._pairs[k] = step, factor * change

    def learn(self, step: Array, change: Array) -> None:
        least = LEAST_COSINE * float(np.linalg.norm(step) * np.linalg.norm(change))
        if float(step @ change) > least:
            self._pairs.append((step, change))

    def downhill(self, gradient: Array) -> Array:
        """``-H gradient``; H is the identity where nothing is known."""
        out = -gradient
        if self._pairs:
            steps, changes = map(np.array, zip(*self._pairs, strict=True))
            two_loops(steps, changes, out)
        return out
