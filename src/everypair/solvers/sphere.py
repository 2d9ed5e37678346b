"""Climbing a rank statistic over the directions of the coefficients (Herschtal & Raskutti 2004).

AUC sees only the direction of w. With ``w = radius * scale * u``, ``|u| = 1``, the statistic
R(Xw) is climbed over u at one radius after the other, until R is close to AUC itself. Each
feature is measured in units of its own (``scale``), so that rescaling it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from everypair.linalg.matrix import Matrix
from everypair.linalg.vectors import scaled
from everypair.rows import Rows
from everypair.solvers.column_moments import column_moments
from everypair.solvers.lbfgs import LbfgsMemory
from everypair.solvers.rank_statistic import Statistic

Array = NDArray[np.float64]

FIRST_ANGLE = 0.1
ANGLE_GROWTH, ANGLE_SHRINKAGE = 1.2, 0.5
SHORTEST_ANGLE = 1e-10
PATIENCE = 5
"""Steps whose gains together must fall below ``tol^2`` of the loss before a climb by gradients
ends: about what a slope of ``tol`` has left to give."""

LBFGS_MEMORY = 10
LONGEST_STEP = 1.0
"""Of coordinates whose length is about one."""
LEAST_GAIN = 1e-4
"""What a step must gain, as a share of what the slope at its beginning promises."""


class Coordinates:
    """Coordinates y of a direction in which the statistic is curved alike all around.

    ``y = L' u`` with ``L L' = I + class covariance`` in the sphere's units. They change how
    soon L-BFGS arrives, not where.
    """

    def __init__(self, covariance: Array | None, scale: Array):
        self._factor: Array | None = None
        if covariance is not None:
            matrix = scale * covariance * scale[:, None]
            matrix[np.diag_indices_from(matrix)] += 1.0
            self._factor = cholesky(matrix, lower=True)
            # No eigenvalue is below one, so the inverse is as good as a solve, and a plain product.
            self._inverse = solve_triangular(self._factor, np.eye(scale.size), lower=True)

    def of(self, direction: Array) -> Array:
        return direction if self._factor is None else self._factor.T @ direction

    def direction(self, y: Array) -> Array:
        """Not of length one."""
        return y if self._factor is None else y @ self._inverse

    def pull_back(self, gradient: Array) -> Array:
        return gradient if self._factor is None else self._inverse @ gradient


@dataclass(frozen=True)
class Sphere:
    """The directions u, each feature in units of ``1 / scale``."""

    X: Matrix
    scale: Array
    coordinates: Coordinates
    centre: Array | None = None
    """A row that is subtracted from all others. No pair sees it, but a free cut does: about the
    means of the columns it does not move with every coefficient."""

    @classmethod
    def around(
        cls, X: Matrix, pairs: Rows, positive_share: float, covariance: Array | None = None
    ) -> tuple[Sphere, Array]:
        """The sphere over features of variance one, and where climbs on it start.

        The variance is that of all rows, ``positive_share`` of them positive. The start is
        ``w = separation / variance``, feature by feature, with the class variances added
        (section 3.4). A constant feature is left out by a scale of zero.
        """
        moments = column_moments(X, pairs)
        spread = np.sqrt(moments.variance_of_all(positive_share))
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        start = np.divide(
            moments.separation * spread,
            moments.variance,
            out=np.zeros_like(spread),
            where=moments.variance > 0,
        )
        if not np.any(start):
            # The classes have the same means: no direction is better than another so far.
            start = np.ones_like(start)
        sphere = cls(X, scale, Coordinates(covariance, scale))
        return sphere, start / np.linalg.norm(start)

    def scores(self, direction: Array) -> Array:
        coef = self.scale * direction
        scores = self.X.dot(coef)
        if self.centre is not None:
            scores -= float(self.centre @ coef)
        return scores

    def pull_back(self, score_gradient: Array) -> Array:
        pulled = self.X.pull_back(score_gradient)
        if self.centre is not None:
            pulled -= float(score_gradient.sum()) * self.centre
        return self.scale * pulled


@dataclass(frozen=True)
class Climb:
    """Where a climb at one radius ended."""

    direction: Array
    scores: Array
    """Of the unit direction."""
    loss: float
    converged: bool
    """Within ``tol``, or as far as rounding lets it go; not cut short by ``max_iter``."""
    history: list[float]
    """The loss after each step, the start first: it never grows."""
    cut: float = 0.0
    """Where the statistic has a free cut: its place among the scores of the unit direction."""
    slope: float = 0.0
    """What is left of the gradient on the sphere, as a share of the loss."""

    @property
    def n_iter(self) -> int:
        return len(self.history) - 1


Climber = Callable[..., Climb]
"""Of a sphere, a statistic, a start, a radius, ``max_iter`` and ``tol``."""


def _tangent(gradient: Array, direction: Array) -> Array:
    return gradient - (gradient @ direction) * direction


def _slope(tangent_gradient: Array, loss: float) -> float:
    return float(np.linalg.norm(tangent_gradient)) / loss if loss > 0 else 0.0


def climb_by_gradients(
    sphere: Sphere, statistic: Statistic, start: Array, radius: float, max_iter: int, tol: float
) -> Climb:
    """Projected gradients with a growing and shrinking step (section 3.1).

    Step along the part of the gradient that is perpendicular to u and rescale. A step that
    raises the statistic is taken and the next one is longer; one that does not is shortened
    until it does, so the statistic never falls. Trial steps cost no product with X.
    """
    direction, scores = start, sphere.scores(start)
    now = statistic.at(radius * scores)
    history, rate = [now.loss], 0.0
    converged = False
    while True:
        uphill = -radius * _tangent(sphere.pull_back(now.gradient), direction)
        steepness = float(np.linalg.norm(uphill))
        converged |= steepness == 0
        if converged or len(history) > max_iter:
            break
        rate = rate or FIRST_ANGLE / steepness
        score_step = sphere.scores(uphill)
        while True:
            length = np.hypot(1.0, rate * steepness)
            trial_scores = (scores + rate * score_step) / length
            trial = statistic.at(radius * trial_scores)
            if trial.loss < now.loss or rate * steepness < SHORTEST_ANGLE:
                break
            rate *= ANGLE_SHRINKAGE
        if not trial.loss < now.loss:
            converged = True
            break
        direction, scores, now = (direction + rate * uphill) / length, trial_scores, trial
        rate *= ANGLE_GROWTH
        history.append(now.loss)
        if len(history) > PATIENCE:
            converged = history[-1 - PATIENCE] - now.loss <= tol**2 * now.loss
    return Climb(direction / np.linalg.norm(direction), scores, now.loss, converged, history)


class LbfgsClimber:
    """L-BFGS over y with ``u = v / |v|``, v of coordinates y, until the slope is below ``tol``.

    The statistic does not see the length of v, so its gradient is perpendicular to v of
    itself and the sphere needs no constraint. A free cut is one more coordinate. What one
    climb of a path learnt of the curvature serves the next one.
    """

    def __init__(self) -> None:
        self._memory, self._unit = LbfgsMemory(LBFGS_MEMORY), 1.0

    def __call__(
        self,
        sphere: Sphere,
        statistic: Statistic,
        start: Array,
        radius: float,
        max_iter: int,
        tol: float,
        cut: float = 0.0,
    ) -> Climb:
        first = sphere.coordinates.of(start)
        first = first / np.linalg.norm(first)
        if statistic.free_cut:
            first = np.append(first, cut)
            self._memory.forget()  # the cut has jumped
        look = partial(_Look, sphere, statistic, radius)
        now, memory = look(first), self._memory
        # Gradients in units of the first loss: near a perfect ranking their squares would vanish.
        unit = 1 / now.loss if now.loss > 0 else 1.0
        memory.rescale(unit / self._unit)
        self._unit = unit
        history = [now.loss]
        while now.slope > tol and len(history) <= max_iter:
            further = self._search(look, now, memory.downhill(unit * now.gradient))
            if further is None and len(memory):
                memory.forget()
                further = self._search(look, now, memory.downhill(unit * now.gradient))
            if further is None:  # rounding leaves no step that raises R
                break
            memory.learn(further.y - now.y, unit * (further.gradient - now.gradient))
            now = further
            history.append(now.loss)
        converged = now.slope <= tol or len(history) <= max_iter
        return Climb(now.direction, now.scores, now.loss, converged, history, now.cut, now.slope)

    def _search(self, look: Callable[[Array], _Look], now: _Look, step: Array) -> _Look | None:
        """A point along the step that lowers the loss; None where rounding hides it."""
        length, slope = float(np.linalg.norm(step)), float(step @ now.gradient)
        if not (length > 0 and slope < 0):
            return None
        size = min(1.0, LONGEST_STEP / length) if len(self._memory) else FIRST_ANGLE / length
        while size * length > SHORTEST_ANGLE:
            trial = look(now.y + size * step)
            promised, gain = -size * slope, now.loss - trial.loss
            if gain > LEAST_GAIN * promised:
                return trial
            # To the lowest point of the parabola through both losses and the slope.
            size *= min(max(0.1, promised / (2 * (promised - gain))), 0.5)
        return None


class _Look:
    """The statistic at coordinates y."""

    def __init__(self, sphere: Sphere, statistic: Statistic, radius: float, y: Array):
        free = statistic.free_cut
        v = sphere.coordinates.direction(y[:-1] if free else y)
        length = np.linalg.norm(v)
        self.y, self.direction = y, v / length
        self.scores, self.cut = sphere.scores(self.direction), float(y[-1]) if free else 0.0
        point = statistic.at(scaled(self.scores - self.cut if free else self.scores, radius))
        gradient = radius * _tangent(sphere.pull_back(point.gradient), self.direction)
        self.loss, self.slope = point.loss, _slope(gradient, point.loss)
        self.gradient = sphere.coordinates.pull_back(gradient) / length
        if free:
            self.gradient = np.append(self.gradient, -radius * point.gradient.sum())


class Step(NamedTuple):
    """One radius of a path."""

    saturation: float
    radius: float
    climb: Climb


def climb_path(
    sphere: Sphere,
    statistic: Statistic,
    start: Array,
    saturations: tuple[float, ...],
    climber: Climber,
    max_iter: int,
    tol: float,
    first_cut: Callable[[Array], float] | None = None,
) -> Iterator[Step]:
    """A climb at each radius of the series, each from where the one before ended (section 3.2).

    The shares ascend. So do the radii as a rule; but a climb that widens the margins may leave
    more pairs saturated than the next share asks for, and the next radius is then smaller.
    A radius is climbed when its step is asked for. ``first_cut`` says where a free cut starts,
    among the scores of a unit direction.
    """
    direction, scores = start, sphere.scores(start)
    for saturation in saturations:
        radius = statistic.radius(scores, saturation)
        begin = climber if first_cut is None else partial(climber, cut=first_cut(scores))
        climb = begin(sphere, statistic, direction, radius, max_iter, tol)
        direction, scores = climb.direction, climb.scores
        yield Step(saturation, radius, climb)
