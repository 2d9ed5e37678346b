"""The planes below the slack: where they come from, and the two QPs over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.linalg.matrix import Matrix, too_large
from everypair.measures import Measure
from everypair.solvers.simplex_qp import SimplexQP

Array = NDArray[np.float64]

LEVEL_SHARE = 0.7
NEAR_LEVEL = (0.5, 0.85)
"""The projection's multiplier is searched until the level is met this closely."""

MULTIPLIER_TRIALS = 12
LOG_STEP = 1.5
LOG_LEAST = -60.0
STALE_STEPS = 30
DROP_TOGETHER = 0.1
"""A cut without weight in either QP for this many steps is stale. Stale cuts are dropped together,
once they make up this share."""


class SlackProblem:
    """P at a point, and the plane below it. The last coefficient is the constant's."""

    def __init__(
        self, X: Matrix, positive: NDArray[np.bool_], measure: Measure, C: float, constant: bool
    ):
        self.X, self.C, self.constant = X, C, constant
        self.most_violated = measure.searcher(positive)

    def scores(self, w: Array) -> Array:
        scores = self.X.dot(w[:-1])
        scores += w[-1]
        return scores

    def pull_back(self, change: Array) -> Array:
        """Psi(y') - Psi(y)."""
        return np.append(self.X.pull_back(change), change.sum() if self.constant else 0.0)

    def at(self, w: Array) -> SlackPoint:
        scores = self.scores(w)
        found = self.most_violated(scores)
        slack = max(0.0, found.slack(scores))
        slope = self.pull_back(found.change)
        square = float(slope @ slope)
        if not np.isfinite(square):
            raise too_large("squares of their sums overflow")
        if not np.isfinite(np.float64(self.C) * self.C * max(square, 1.0)):
            raise ValueError(f"C={self.C:g} is too large for float64: lower C or rescale X.")
        objective = float(w @ w) / 2 + self.C * slack
        return SlackPoint(
            w, scores, slack, objective, CuttingPlane(found.loss, found.change, slope)
        )


@dataclass(frozen=True)
class CuttingPlane:
    """The plane ``offset + slope . w`` below the slack, slope being X'change."""

    offset: float
    change: Array
    slope: Array


@dataclass(frozen=True)
class SlackPoint:
    w: Array
    scores: Array
    slack: float
    objective: float
    cut: CuttingPlane


class DenseSlopes:
    """The slopes as rows of a matrix: for X with more rows than columns."""

    def __init__(self, problem: SlackProblem):
        self._rows = np.zeros((8, problem.X.shape[1] + 1))
        self._n_rows = 1

    def append(self, cut: CuttingPlane) -> None:
        if self._n_rows == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._n_rows] = cut.slope
        self._n_rows += 1

    def products(self, w: Array) -> Array:
        """``slope_t . w`` for each t."""
        return self._rows[: self._n_rows] @ w

    def combine(self, weights: Array) -> Array:
        """``sum_t weights_t slope_t``."""
        return weights @ self._rows[: self._n_rows]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        rows = self._rows[: self._n_rows][kept]
        self._n_rows = len(rows)
        self._rows[: self._n_rows] = rows


class SlopesOfChanges:
    """The slopes X'change_t by their changes: for X with more columns than rows.

    Near the solution a labelling changes few rows, where a slope has as many entries as
    X has columns. Two products with X replace a pass over all the slopes.
    """

    def __init__(self, problem: SlackProblem):
        self._problem = problem
        self._changes = sparse.csr_array((1, problem.X.shape[0]))

    def append(self, cut: CuttingPlane) -> None:
        one = sparse.csr_array(cut.change[None])
        self._changes = sparse.vstack([self._changes, one], format="csr")

    def products(self, w: Array) -> Array:
        return np.asarray(self._changes @ self._problem.scores(w))

    def combine(self, weights: Array) -> Array:
        return self._problem.pull_back(np.asarray(self._changes.T @ weights))

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._changes = self._changes[np.flatnonzero(kept)]


class Planes:
    """The model: ``max_t offset_t + slope_t . w``; the first plane is zero.

    Everything but the slopes themselves lives in the small space of the planes: their Gram
    matrix, and the weights of two QPs, the lower bound's and the level's.
    """

    def __init__(self, problem: SlackProblem):
        n_rows, n_columns = problem.X.shape
        self.C = problem.C
        self.slopes = SlopesOfChanges(problem) if n_columns > n_rows else DenseSlopes(problem)
        self.offsets = np.zeros(1)
        self.gram = np.zeros((1, 1))
        self._bound, self._level = SimplexQP(), SimplexQP()
        self._idle = np.zeros(1, dtype=int)
        self._at_centre = np.zeros(1)

    @property
    def n_cuts(self) -> int:
        return self.offsets.size - 1

    def add(self, cut: CuttingPlane, centre: Array) -> None:
        """One more plane; ``centre`` is the point where the last projection ended."""
        self._at_centre = np.append(self._at_centre, cut.slope @ centre)
        across = self.slopes.products(cut.slope)
        self.gram = np.block([[self.gram, across[:, None]], [across, cut.slope @ cut.slope]])
        self.slopes.append(cut)
        self.offsets = np.append(self.offsets, cut.offset)
        self._idle = np.append(self._idle, 0)

    def move_to(self, centre: Array) -> None:
        """The next projection starts at this point."""
        self._at_centre = self.slopes.products(centre)

    def drop_stale(self) -> None:
        used = (self._bound.x > 0) | (self._level.x > 0)
        self._idle = np.where(used, 0, self._idle + 1)
        keep = self._idle <= STALE_STEPS
        keep[0] = True
        if np.count_nonzero(~keep) > DROP_TOGETHER * keep.size:
            self.slopes.keep(keep)
            self.offsets = self.offsets[keep]
            self.gram = self.gram[np.ix_(keep, keep)]
            self._bound.keep(keep)
            self._level.keep(keep)
            self._idle = self._idle[keep]
            self._at_centre = self._at_centre[keep]

    def lower_bound(self) -> float:
        """D: the minimum over w of ``1/2 |w|^2 + C model(w)``, from its dual."""
        x = self._bound.solve(self.gram, self.offsets, self.C)
        return self.C * float(self.offsets @ x) - self.C**2 / 2 * float(x @ self.gram @ x)

    def minimum(self) -> Array:
        """The w of the lower bound."""
        return -self.C * self.slopes.combine(self._bound.x)

    def nearest_at_level(
        self, centre: Array, bound: float, best: float, log_multiplier: float
    ) -> tuple[Array, float]:
        """About the nearest w to ``centre`` where the model is at most at the level.

        For a multiplier m of the level, w minimises ``m/2 |w - centre|^2 + 1/2 |w|^2 + C model``:
        a QP of the same kind. The larger m, the nearer to the centre and the higher the
        model; a few values of m are tried, the last step's first.
        """
        at_centre, length = self._at_centre, float(centre @ centre)
        low, high = -np.inf, np.inf
        for _ in range(MULTIPLIER_TRIALS):
            m = np.exp(log_multiplier)
            keep, step = m / (1 + m), self.C / (1 + m)
            x = self._level.solve(self.gram, self.offsets + keep * at_centre, step)
            pulled = self.gram @ x
            norm = keep**2 * length - 2 * keep * step * (x @ at_centre) + step**2 * (x @ pulled)
            model = norm / 2 + self.C * np.max(self.offsets + keep * at_centre - step * pulled)
            share = (model - bound) / (best - bound)
            if NEAR_LEVEL[0] <= share <= NEAR_LEVEL[1]:
                break
            if share > LEVEL_SHARE:
                high = log_multiplier
            else:
                low = log_multiplier
            if np.isfinite(high - low):
                log_multiplier = (low + high) / 2
            else:
                log_multiplier += LOG_STEP if high == np.inf else -LOG_STEP
            if log_multiplier < LOG_LEAST:
                break
        # The next centre: its products with the slopes need no pass over them.
        self._at_centre = keep * at_centre - step * pulled
        return keep * centre - step * self.slopes.combine(x), log_multiplier
