"""Newton's method for a hinge in the space of its rows, by their Gram matrix K.

A solution is a combination of rows, ``w = X' b`` with ``alpha b = -c(s)`` and ``s = K b``, c being
the gradient in score space. Inside the window of the loss ``c = H (s - [positive])``; what pairs
beyond it add, c0, does not change. A whole step takes H and c0 for those of its end:

    (K + alpha H^+) g = -alpha [positive] - K c0 + a constant per tie ,    alpha b' = -(g + c0) ,

a tie being rows that windows join. H^+ costs sums over rows alone. Where alpha is small, K is
nearly all of this matrix: conjugate gradients need as many products with K as its condition asks
for, and whole steps lead from anywhere to the solution in five to ten, whatever the objective does
on the way. In the coefficients the same steps are badly conditioned: solved roughly, they have to
be cut short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.factor import FactorMatrix, RoughFactor
from everypair.pairs.sorted import HuberHingePoint, SquaredHingePoint
from everypair.solvers.corner import ties_of
from everypair.solvers.row_grams import RowGrams

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Loss = SquaredHingePoint | HuberHingePoint

MOST_STEPS = 20
MOST_IN_VAIN = 3
"""Steps in a row that end with a larger gap than the best."""

MOST_PRODUCTS = 200
"""With K, of a step: where it needs more, this is not the way."""

FORCING, LAST_SHARE = 0.01, 0.1
"""A step is solved until its own error makes this share of the gap, or of the gap that would do."""

INNER_FORCING, MOST_INNER = 1e-4, 100
"""Of H^+ times a vector."""


class RowNewton:
    """The problem of some rows alone: ``loss_at`` their scores, with a penalty of ``alpha``."""

    def __init__(self, known: RowGrams, loss_at: Callable[[Array], Loss], alpha: float):
        self._loss_at, self._alpha = loss_at, alpha / known.unit**2
        self._unit = known.unit**2
        single = known.gram.dtype == np.float32
        self._gram = RoughFactor(known.gram) if single else FactorMatrix(known.gram)
        self._size = float(np.einsum("ii->i", known.gram).mean())

    def solved(self, b: Array, scores: Array, tol: float) -> Array:
        """The solution b to this gap, or the best that was found.

        ``scores`` are those of the first b, and steps add to both: what the rounding of K leaves, a
        new call with the true scores takes off.
        """
        alpha, b = self._alpha, b * self._unit
        best, found, in_vain = np.inf, b, 0
        for _ in range(MOST_STEPS):
            loss = self._loss_at(scores)
            short = loss.gradient() + alpha * b
            gap = float(short @ self._gram.dot(short)) / (2 * alpha)
            value = loss.value() + alpha / 2 * float(b @ scores)
            if gap < best:
                best, found, in_vain = gap, b, 0
            else:
                in_vain += 1
            if not gap > tol * value or in_vain == MOST_IN_VAIN:
                break
            enough = max(FORCING * min(gap, value), LAST_SHARE * tol * value)
            after = _Step.of(loss, alpha, self._size).solved(self._gram, -alpha * b, enough)
            if after is None:
                break
            before, b = b, after / -alpha
            scores = scores + self._gram.dot(b - before)
        return found / self._unit


class _Step(NamedTuple):
    """The system of a whole step, over the rows in the window."""

    loss: Loss
    alpha: float
    size: float
    """A row's product with itself."""
    rows: Index
    curvature: Array
    tie: Index

    @classmethod
    def of(cls, loss: Loss, alpha: float, size: float) -> _Step:
        rows = loss.in_window.rows
        return cls(loss, alpha, size, rows, loss.curvature()[rows], ties_of(loss)[rows])

    def solved(self, gram: FactorMatrix | RoughFactor, guess: Array, enough: float) -> Array | None:
        """The multipliers at the end of the step; None where K has no such step.

        ``guess``: those of the scores. ``enough``: the gap that an error of the solution may make.
        """
        rows, alpha, inside = self.rows, self.alpha, self.loss.in_window
        ahead = self.loss.order.scores - self.loss.pairs.positive
        beyond = self.loss.gradient()
        beyond[rows] -= inside.product(ahead[rows])
        if isinstance(self.loss, SquaredHingePoint):
            beyond[:] = 0.0  # its window has no far end

        def product(vector: Array) -> Array:
            whole[rows] = vector
            return self._flat(gram.dot(whole)[rows] + alpha * self._backwards(vector))

        found, whole = self._flat((guess - beyond)[rows]), np.zeros(guess.size)
        after = beyond.copy()
        after[rows] += found
        # What K makes of the guess is in the scores, without the rounding of K.
        left = alpha * ahead[rows] - gram.dot(after - guess)[rows] - alpha * self._backwards(found)
        left = self._flat(left)
        way, size = left, float(left @ left)
        for _ in range(MOST_PRODUCTS):
            # Scores that are off by left / alpha make a gradient that is off by H times that.
            change = inside.product(left)
            if self.size * float(change @ change) <= 2 * alpha**3 * enough:
                beyond[rows] += found
                return beyond
            bent = product(way)
            curved = float(way @ bent)
            if not curved > 0:
                return None
            found, left = found + size / curved * way, left - size / curved * bent
            before, size = size, float(left @ left)
            way = left + size / before * way
        return None

    def _flat(self, vector: Array) -> Array:
        """Without its mean over each tie: H knows nothing of it."""
        sums = np.bincount(self.tie, vector)
        return np.asarray(vector - (sums / np.bincount(self.tie))[self.tie])

    def _backwards(self, vector: Array) -> Array:
        """``H^+`` times a vector of sum zero over each tie, by conjugate gradients."""
        found, left = np.zeros(vector.size), vector
        way = left / self.curvature
        size = float(left @ way)
        least = INNER_FORCING**2 * size
        for _ in range(MOST_INNER):
            if not size > least:
                break
            bent = self.loss.in_window.product(way)
            length = size / float(way @ bent)
            found, left = found + length * way, left - length * bent
            ready = left / self.curvature
            before, size = size, float(left @ ready)
            way = ready + size / before * way
        return found
