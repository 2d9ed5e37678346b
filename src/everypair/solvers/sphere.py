"""Climbing a rank statistic over the directions of the coefficients (Herschtal & Raskutti 2004).

AUC sees only the direction of w. With ``w = radius * scale * u``, ``|u| = 1``, the statistic
R(Xw) is climbed over u at one radius after the other, until R is close to AUC itself. Each
feature is measured in units of its own (``scale``), so that rescaling it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from everypair.linalg.matrix import BLOCK_BYTES, DenseMatrix, Matrix, SparseMatrix
from everypair.pairs import Pairs
from everypair.pairs.point import add_weighted_gram
from everypair.solvers.choose import sample_rows
from everypair.solvers.rank_statistic import Statistic

Array = NDArray[np.float64]

MOST_SEPARATION = 1e3
"""Cap of ``separation^2 / variance``: past 30 standard deviations a feature is simply perfect."""

FIRST_ANGLE = 0.1
LONGER, SHORTER = 1.2, 0.5
SHORTEST_ANGLE = 1e-10
PATIENCE = 5
"""Steps whose gains together must fall below ``tol^2`` of the loss before a climb by gradients
ends: about what a slope of ``tol`` has left to give."""

MEMORY = 10

LIMIT_REACHED = 1
"""``status`` of scipy's L-BFGS where the steps or the looks at the statistic ran out."""

NARROW = 300
"""Columns up to which the class covariance of a dense X is worth its price."""

SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN = 2000, 10
"""Rows that the class covariance comes from: more would not save another step."""


class ClassMoments(NamedTuple):
    """Per feature: difference of the class means, and the variance in each class."""

    separation: Array
    variance_of_positives: Array
    variance_of_negatives: Array

    @property
    def variance(self) -> Array:
        """Both class variances added, at least a share of the separation squared."""
        added = self.variance_of_positives + self.variance_of_negatives
        return np.maximum(added, self.separation**2 / MOST_SEPARATION)

    def variance_of_all(self, positive_share: float) -> Array:
        """Of all rows, when this share of them is positive."""
        return np.asarray(
            positive_share * self.variance_of_positives
            + (1 - positive_share) * self.variance_of_negatives
            + positive_share * (1 - positive_share) * self.separation**2
        )


def class_moments(X: Matrix, pairs: Pairs) -> ClassMoments:
    """Weighted class means and (biased) variances of the columns, in one pass.

    Around a point amid the values of each column, so that columns far from zero keep theirs.
    """
    classes = [
        np.where(members, pairs.weight, 0.0) for members in (pairs.positive, ~pairs.positive)
    ]
    n_columns = X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(X, DenseMatrix):

            def add(rows: slice, block: Array, means: Array, squares: Array) -> None:
                for k, weight in enumerate(classes):
                    means[k] += weight[rows] @ block
                np.square(block, out=block)
                for k, weight in enumerate(classes):
                    squares[k] += weight[rows] @ block

            means, squares = X.centred_sums([(2, n_columns), (2, n_columns)], add)
        else:
            means, squares = np.zeros((2, 2, n_columns))
            for rows, columns, block in centred_blocks(X):
                for k, weight in enumerate(classes):
                    sums, sums_of_squares = block.pull_back_moments(weight[rows])
                    means[k, columns] += sums
                    squares[k, columns] += sums_of_squares
        separation = means[0] - means[1]
        variance = squares - means**2
        size = squares.sum(axis=0)
    if not np.all(np.isfinite(size)):
        raise ValueError(
            "The features are too large for float64: their squares overflow. "
            "Rescale X, for example with StandardScaler."
        )
    # What is left of a constant column after rounding is no variance.
    variance = np.where(variance > 1e-13 * size, variance, 0.0)
    varies = np.any(variance > 0, axis=0) | (separation**2 > 1e-13 * size)
    return ClassMoments(np.where(varies, separation, 0.0), *variance)


def centred_blocks(X: SparseMatrix) -> Iterator[tuple[slice, slice, SparseMatrix]]:
    """Blocks of ``X - centre`` and the rows and columns that each holds, as sparse as X.

    Only columns without zeros have a centre other than zero, so it is taken from the entries
    that are stored and from no others.
    """
    everything = slice(None)
    if not np.any(X.centre):
        yield everything, everything, X
        return
    data, indices, indptr = X.arrays
    kind = sparse.csr_array if X.by_rows else sparse.csc_array
    # A block of fewer entries than columns would cost more to add up than to read.
    n_blocks = 1 + data.size // max(BLOCK_BYTES // 8, X.shape[1])
    ends = np.searchsorted(indptr, np.linspace(0, data.size, n_blocks + 1))
    for start, stop in pairwise(np.unique(ends).tolist()):
        lines, held = slice(start, stop), slice(indptr[start], indptr[stop])
        pointers = indptr[start : stop + 1] - held.start
        if X.by_rows:
            rows, columns, shape = lines, everything, (stop - start, X.shape[1])
            centre = X.centre[indices[held]]
        else:
            rows, columns, shape = everything, lines, (X.shape[0], stop - start)
            centre = np.repeat(X.centre[lines], np.diff(pointers))
        block = kind((data[held] - centre, indices[held], pointers), shape=shape)
        yield rows, columns, SparseMatrix(block)


def class_covariance(X: Matrix, pairs: Pairs) -> Array | None:
    """Mean of the two class covariances, on a sample of rows; for dense X of few columns."""
    n_columns = X.shape[1]
    if not isinstance(X, DenseMatrix) or n_columns > NARROW:
        return None
    n_rows = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_COLUMN * n_columns)
    if pairs.n_rows > n_rows:
        rows = sample_rows(pairs, n_rows)
        X, pairs = X.take(rows), Pairs.of(pairs.positive[rows], pairs.weight[rows])
    weight = pairs.weight
    of_positives = np.where(pairs.positive, weight, 0.0)

    def add(rows: slice, block: Array, gram: Array, means: Array) -> None:
        means[1] += of_positives[rows] @ block
        means[0] += (weight[rows] - of_positives[rows]) @ block
        add_weighted_gram(gram, block, weight[rows])

    gram, means = X.centred_sums([(n_columns, n_columns), (2, n_columns)], add)
    return np.asarray((gram - means.T @ means) / 2)


class Coordinates:
    """Coordinates y of a direction in which the statistic is curved alike all around.

    ``y = L' u`` with ``L L' = I + class covariance`` in the sphere's units. They change how
    soon L-BFGS arrives, not where.
    """

    def __init__(self, covariance: Array | None, scale: Array):
        self._factor = None
        if covariance is not None:
            matrix = scale * covariance * scale[:, None]
            matrix[np.diag_indices_from(matrix)] += 1.0
            self._factor = cholesky(matrix, lower=True)

    def of(self, direction: Array) -> Array:
        return direction if self._factor is None else self._factor.T @ direction

    def direction(self, y: Array) -> Array:
        """Not of length one."""
        if self._factor is None:
            return y
        return np.asarray(solve_triangular(self._factor, y, lower=True, trans="T"))

    def pull_back(self, gradient: Array) -> Array:
        if self._factor is None:
            return gradient
        return np.asarray(solve_triangular(self._factor, gradient, lower=True))


@dataclass(frozen=True)
class Sphere:
    """The directions u, each feature in units of ``1 / scale``."""

    X: Matrix
    scale: Array
    coordinates: Coordinates

    @classmethod
    def around(
        cls, X: Matrix, pairs: Pairs, positive_share: float, covariance: Array | None = None
    ) -> tuple[Sphere, Array]:
        """The sphere over features of variance one, and where climbs on it start.

        The variance is that of all rows, ``positive_share`` of them positive. The start is
        ``w = separation / variance``, feature by feature, with the class variances added
        (section 3.4). A constant feature is left out by a scale of zero.
        """
        moments = class_moments(X, pairs)
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
        return self.X.dot(self.scale * direction)

    def pull_back(self, score_gradient: Array) -> Array:
        return self.scale * self.X.pull_back(score_gradient)


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

    @property
    def n_iter(self) -> int:
        return len(self.history) - 1


Climber = Callable[[Sphere, Statistic, Array, float, int, float], Climb]


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
            rate *= SHORTER
        if not trial.loss < now.loss:
            converged = True
            break
        direction, scores, now = (direction + rate * uphill) / length, trial_scores, trial
        rate *= LONGER
        history.append(now.loss)
        if len(history) > PATIENCE:
            converged = history[-1 - PATIENCE] - now.loss <= tol**2 * now.loss
    return Climb(direction / np.linalg.norm(direction), scores, now.loss, converged, history)


def climb_by_lbfgs(
    sphere: Sphere, statistic: Statistic, start: Array, radius: float, max_iter: int, tol: float
) -> Climb:
    """L-BFGS over y with ``u = v / |v|``, v of coordinates y, until the slope is below ``tol``.

    The statistic does not see the length of v, so its gradient is perpendicular to v of
    itself and the sphere needs no constraint.
    """
    coordinates, seen = sphere.coordinates, _Seen()

    def loss_and_gradient(y: Array) -> tuple[float, Array]:
        v = coordinates.direction(y)
        length = np.linalg.norm(v)
        seen.y, seen.direction = y.copy(), v / length
        seen.scores = sphere.scores(seen.direction)
        point = statistic.at(radius * seen.scores)
        gradient = radius * _tangent(sphere.pull_back(point.gradient), seen.direction)
        seen.loss, seen.slope = point.loss, _slope(gradient, point.loss)
        gradient = coordinates.pull_back(gradient) / length
        if seen.unit == 0:
            # The first step of L-BFGS is as long as the gradient: an angle, not a guess.
            seen.unit = FIRST_ANGLE / max(float(np.linalg.norm(gradient)), 1e-300)
        return seen.unit * point.loss, seen.unit * gradient

    first = coordinates.of(start)
    first = first / np.linalg.norm(first)
    loss_and_gradient(first)
    history = [seen.loss]

    def after_step(intermediate_result: Any) -> None:
        if not np.array_equal(seen.y, intermediate_result.x):
            loss_and_gradient(intermediate_result.x)
        history.append(seen.loss)
        if seen.slope <= tol:
            raise StopIteration

    converged = seen.slope <= tol
    if not converged:
        result = minimize(
            loss_and_gradient,
            first,
            jac=True,
            method="L-BFGS-B",
            callback=after_step,
            options={"maxiter": max_iter, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
        )
        if not np.array_equal(seen.y, result.x):
            loss_and_gradient(result.x)
        # Where scipy gives up for another reason, rounding leaves no step that raises R.
        converged = seen.slope <= tol or result.status != LIMIT_REACHED
    return Climb(seen.direction, seen.scores, seen.loss, converged, history)


class _Seen:
    """The point that L-BFGS looked at last."""

    y: Array
    direction: Array
    scores: Array
    loss: float
    slope: float
    unit: float = 0.0


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
) -> Iterator[Step]:
    """A climb at each radius of the series, each from where the one before ended (section 3.2).

    The shares ascend. So do the radii as a rule; but a climb that widens the margins may leave
    more pairs saturated than the next share asks for, and the next radius is then smaller.
    A radius is climbed when its step is asked for.
    """
    direction, scores = start, sphere.scores(start)
    for saturation in saturations:
        radius = statistic.radius(scores, saturation)
        climb = climber(sphere, statistic, direction, radius, max_iter, tol)
        direction, scores = climb.direction, climb.scores
        yield Step(saturation, radius, climb)
