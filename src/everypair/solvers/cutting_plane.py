"""The 1-slack structural SVM by cutting planes, stabilised by a level.

    P(w) = 1/2 |w|^2 + C slack(Xw)            (Joachims 2005, Optimization Problem 2)

The most violated labelling at w gives a plane ``offset + slope . w`` below the slack, with
slope = X'(c' - c). The highest of the planes so far, and zero, is a model of the slack; the
minimum of the model is a lower bound D of P, whose dual is a QP over the simplex.

Algorithm 1 of the paper goes to the model's minimum at each step and zigzags where C is
large. Here the next point is the one nearest to the last among those where the model is at
most ``D + LEVEL (P_best - D)``: the level method of Lemaréchal, Nemirovskii & Nesterov (1995).
The bound and the gap are the same, the cuts are fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from everypair.matrix import Matrix
from everypair.measures import Measure
from everypair.solvers.simplex_qp import SimplexQP

Array = NDArray[np.float64]

LEVEL = 0.7
NEAR_LEVEL = (0.5, 0.85)
"""The projection's multiplier is searched until the level is met this closely."""

MULTIPLIER_TRIALS = 12
LOG_STEP = 1.5
LOG_LEAST = -60.0
LEFT_OF_WAY = 0.1
NO_WAY = 1e-3
STALE = 30
DROP_TOGETHER = 0.1
"""Cuts with no weight in either QP for so many steps are dropped, once they are this share."""


@dataclass(frozen=True)
class MeasureFit:
    """A solution and how close it came."""

    coef: Array
    constant: float
    scores: Array
    objective: float
    slack: float
    gap: float
    """``(P - D) / P``."""
    n_iter: int
    n_cuts: int
    """Planes in the model at the end."""
    history: list[tuple[float, float, float]]
    """(seconds, lowest objective, gap), one entry a step."""


class Problem:
    """P at a point, and the plane below it. The last coefficient is the constant's."""

    def __init__(
        self, X: Matrix, positive: NDArray[np.bool_], measure: Measure, C: float, constant: bool
    ):
        self.X, self.positive, self.measure, self.C = X, positive, measure, C
        self.constant = constant

    def at(self, w: Array) -> Evaluation:
        scores = self.X.dot(w[:-1])
        scores += w[-1]
        found = self.measure.most_violated(self.positive, scores)
        slack = max(0.0, found.slack(scores))
        slope = np.append(
            self.X.pull_back(found.change), found.change.sum() if self.constant else 0.0
        )
        if not np.isfinite(slope @ slope):
            raise ValueError(
                "The features are too large for float64: squares of their sums overflow. "
                "Rescale X, for example with StandardScaler."
            )
        return Evaluation(w, scores, slack, float(w @ w) / 2 + self.C * slack, found.loss, slope)


@dataclass(frozen=True)
class Evaluation:
    w: Array
    scores: Array
    slack: float
    objective: float
    offset: float
    slope: Array


class Planes:
    """The model: ``max_t offset_t + slope_t . w``; the first plane is zero.

    Everything but the slopes themselves lives in the small space of the planes: their Gram
    matrix, and the weights of two QPs, the lower bound's and the level's.
    """

    def __init__(self, n_columns: int, C: float):
        self.C = C
        self._slopes = np.zeros((8, n_columns))
        self.offsets = np.zeros(1)
        self.gram = np.zeros((1, 1))
        self._bound, self._level = SimplexQP(), SimplexQP()
        self._idle = np.zeros(1, dtype=int)
        self._at_centre = np.zeros(1)

    @property
    def n_cuts(self) -> int:
        return self.offsets.size - 1

    @property
    def slopes(self) -> Array:
        return self._slopes[: self.offsets.size]

    def add(self, slope: Array, offset: float, centre: Array) -> None:
        """One more plane; ``centre`` is the point where the last projection ended."""
        self._at_centre = np.append(self._at_centre, slope @ centre)
        across = self.slopes @ slope
        self.gram = np.block([[self.gram, across[:, None]], [across, slope @ slope]])
        if self.offsets.size == len(self._slopes):
            self._slopes = np.concatenate([self._slopes, np.empty_like(self._slopes)])
        self._slopes[self.offsets.size] = slope
        self.offsets = np.append(self.offsets, offset)
        self._idle = np.append(self._idle, 0)

    def drop_stale(self) -> None:
        used = (self._bound.x > 0) | (self._level.x > 0)
        self._idle = np.where(used, 0, self._idle + 1)
        keep = self._idle <= STALE
        keep[0] = True
        if np.count_nonzero(~keep) > DROP_TOGETHER * keep.size:
            self._slopes[: np.count_nonzero(keep)] = self.slopes[keep]
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
        return -self.C * (self._bound.x @ self.slopes)

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
            if share > LEVEL:
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
        return keep * centre - step * (x @ self.slopes), log_multiplier


def cutting_plane(
    X: Matrix,
    positive: NDArray[np.bool_],
    measure: Measure,
    C: float,
    *,
    constant: bool,
    tol: float = 1e-3,
    max_iter: int = 1000,
    verbose: int = 0,
) -> MeasureFit:
    """Minimise ``1/2 |w|^2 + C slack(Xw)``; ``constant`` adds a feature that is 1 in each row."""
    began = perf_counter()
    problem = Problem(X, positive, measure, C, constant)
    planes = Planes(X.shape[1] + 1, C)
    now = best = problem.at(np.zeros(X.shape[1] + 1))
    at_zero = best.objective
    pull = C * float(np.linalg.norm(now.slope))
    # At first, the step that would halve a quadratic of this slope.
    log_multiplier = np.log(max(pull**2 / (2 * best.objective), 1e-12)) if best.objective else 0.0
    history: list[tuple[float, float, float]] = []
    bound, gap = 0.0, 1.0
    last = False
    while True:
        planes.add(now.slope, now.offset, now.w)
        # The bound never falls, though rounding and dropped cuts may make the QP's fall.
        bound = max(bound, planes.lower_bound())
        gap = max(0.0, best.objective - bound) / best.objective if best.objective > 0 else 0.0
        history.append((perf_counter() - began, best.objective, gap))
        if verbose:
            print(
                f"[everypair] cut {len(history)}: objective {best.objective:.9g}, "
                f"relative gap {gap:.1e}, {planes.n_cuts} cuts kept"
            )
        if last or gap == 0 or len(history) >= max_iter:
            break
        # Where C is small, P hardly changes from w = 0 to the minimum, and a gap that is small
        # beside P says little: most of the way must be done, or none be left.
        ahead, way = best.objective - bound, at_zero - bound
        settled = ahead <= LEFT_OF_WAY * way or gap <= NO_WAY * tol
        # Once the gap is small the model is right near its own minimum, which is the last point.
        last = gap <= tol and settled
        if last:
            w = planes.minimum()
        else:
            w, log_multiplier = planes.nearest_at_level(
                now.w, bound, best.objective, log_multiplier
            )
            planes.drop_stale()
        now = problem.at(w)
        if now.objective < best.objective:
            best = now
    return MeasureFit(
        coef=best.w[:-1],
        constant=float(best.w[-1]),
        scores=best.scores,
        objective=best.objective,
        slack=best.slack,
        gap=gap,
        n_iter=len(history),
        n_cuts=planes.n_cuts,
        history=history,
    )
