"""Elastic-net fits over every pair, at one alpha or at many, each with its certificate.

Three loops: roundings (the hinge alone, as in `hinge`), working sets, proximal Newton. What one
fit leaves behind serves the next: coefficients, scores, gradient, working set and Hessian.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix, too_large
from everypair.pairs import pair_point
from everypair.penalties import ElasticNet
from everypair.rows import Rows
from everypair.solvers.column_moments import group_spreads
from everypair.solvers.hinge import (
    BY_HESSIANS,
    hinge_by_continuation,
    result_at,
    rounded_problem,
)
from everypair.solvers.problem import CloseEnough, Iterate, Problem, Stop, run_settled
from everypair.solvers.progress import Progress
from everypair.solvers.prox_newton import prox_newton
from everypair.solvers.result import Result
from everypair.solvers.scaling import LOST_BY_SCALING

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LEAST_COLUMNS = 50
"""A working set has at least this many columns, if that many are near their bound."""

JOINING_SHARE = 0.7
"""Columns whose gradient is at this share of its bound join before they must: on a path of
100 alphas over three decades that is five alphas ahead."""

INNER_SHARE = 0.5
"""A working set is solved to this share of the tolerance, the rest is for the columns left out."""

ROUNDING_SHARE = 0.1
"""A rounded hinge is solved until its own gap is this share of what the rounding costs."""

COARSE_STEP, COARSE_TOL = 0.1, 1e-2
"""A cold start goes down from alpha_max by this factor, each alpha solved to this gap."""


SURE_VARIANCE = 1e-10
"""Below this share of the mean square a variance is looked at again."""


@dataclass
class WorkingSet:
    """The columns that the solver sees, and the Hessian that it used there last."""

    columns: Index
    X: Matrix
    hessian: Array | None = None

    @classmethod
    def around(cls, now: Iterate, at_least: int) -> WorkingSet:
        """The support, and the columns nearest to entering it.

        More than half of the columns are all of them: then X itself serves, and no copy.
        """
        X, needed = now.problem.X, _support(now)
        n_columns = X.shape[1]
        urgency = np.where(needed, np.inf, _urgency(now))
        n_needed = int(np.count_nonzero(needed))
        near = int(np.count_nonzero(urgency >= JOINING_SHARE))
        size = min(near, max(at_least, 2 * n_needed, n_needed + LEAST_COLUMNS))
        if size > n_columns / 2:
            return cls(np.arange(n_columns), X)
        columns = np.sort(np.argpartition(-urgency, size - 1)[:size])
        return cls(columns, X.columns(columns))

    def covers(self, now: Iterate) -> bool:
        """Whether no column outside is in use or wants to be."""
        outside = np.ones(now.w.size, dtype=bool)
        outside[self.columns] = False
        return not np.any(outside & (_support(now) | (_urgency(now) > 1)))


def _support(now: Iterate) -> NDArray[np.bool_]:
    penalty = now.problem.separable
    return (now.w != penalty.rest) | ((penalty.l1 == 0) & (penalty.lower < penalty.upper))


def _urgency(now: Iterate) -> Array:
    """``|X'c|`` in units of what keeps a coefficient at rest; 0 where a bound keeps it."""
    penalty = now.problem.separable
    up = np.where(now.w < penalty.upper, -now.pulled, 0.0)
    down = np.where(now.w > penalty.lower, now.pulled, 0.0)
    l1 = np.where(penalty.l1 > 0, penalty.l1, np.inf)
    return np.maximum(0.0, np.maximum(up, down)) / l1


def on_working_sets(
    now: Iterate, stop: Stop, progress: Progress, working: WorkingSet | None
) -> tuple[Iterate, WorkingSet | None]:
    """Solve in few columns, look at all of them, take in those that object, again."""
    at_least = LEAST_COLUMNS
    while not stop(now) and not progress.exhausted:
        if working is None or not working.covers(now):
            working = WorkingSet.around(now, at_least)
        part = now.on(working.X, working.columns)
        inner, working.hessian = prox_newton(
            part, lambda point: stop(point, INNER_SHARE), progress, working.hessian
        )
        everything = working.columns.size == now.w.size
        at_least = 2 * working.columns.size
        if inner is part:
            if working.covers(now):
                break
            working = None
            continue
        w = now.w.copy()
        w[working.columns] = inner.w
        now = Iterate(now.problem, w, inner.point)
        if everything:
            now.pulled, now.pulled_error = inner.pulled, inner.pulled_error
    return now, working


class SparseProblem:
    """Minimise ``L(Xw) + alpha sum_k weights_k (l1_ratio |w_k| + (1 - l1_ratio) / 2 w_k^2)``.

    One loss, one X; alpha after alpha, each from where the last one ended. A weight of infinity
    keeps a coefficient at zero, and so does a constant column, whose coefficient no pair sees.
    ``bounds`` are the lowest and the highest value of each coefficient.
    """

    def __init__(
        self,
        X: Matrix,
        pairs: Rows,
        loss: str,
        l1_ratio: float,
        weights: Array,
        bounds: tuple[Array, Array] | None = None,
    ):
        self.X, self.pairs, self.loss, self.bounds = X, pairs, loss, bounds
        spreads = _spreads(X, pairs)
        self.l1_ratio, self.weights = l1_ratio, np.where(spreads > 0, weights, np.inf)
        self._free = np.flatnonzero(self.weights == 0)
        self._unit = 1 / np.where(spreads**2 > 0, spreads, 1.0)
        self._slope = 1.0
        zero = self._problem(0.0).at(np.zeros(X.shape[1]), X.zero_scores, error=0.0)
        slopes = np.abs(zero.pulled[np.isfinite(self.weights)])
        self._slope = float(np.max(slopes, initial=0.0)) or 1.0
        self._working: WorkingSet | None = None
        self._now = zero
        if np.any(zero.problem.separable.rest):
            self.start_at(zero.w)

    def _problem(self, alpha: float, tol: float = 0.0) -> Problem:
        return Problem(
            self.X,
            partial(pair_point, self.loss, self.pairs),
            ElasticNet.of(alpha, self.l1_ratio, self.weights, self._unit, self.bounds),
            tol=tol,
            lost_by_scaling=LOST_BY_SCALING[self.loss],
            slope=self._slope,
            by_row=self.loss == "hinge",
        )

    @cached_property
    def alpha_max(self) -> float:
        """The least alpha at which every penalised coefficient is zero.

        ``max_k |X_k'c| / (l1_ratio weights_k)`` at w = 0, the unpenalised coefficients
        (if any) fitted first. A slope that rounding may have made is none.
        """
        zero = self._now
        if self._free.size:
            columns, nothing = self.X.columns(self._free), np.zeros(self._free.size)
            bounds = self.bounds and (self.bounds[0][self._free], self.bounds[1][self._free])
            alone = SparseProblem(columns, self.pairs, self.loss, 1.0, nothing, bounds)
            alone.fit(0.0, tol=1e-9, max_iter=100)
            zero = Iterate(zero.problem, zero.w, alone._now.point)
        kept = (self.weights > 0) & np.isfinite(self.weights)
        kept &= np.abs(zero.pulled) > zero.pulled_error
        slopes = np.abs(zero.pulled[kept]) / self.weights[kept]
        return float(np.max(slopes, initial=0.0) / self.l1_ratio)

    def start_at(self, w: Array) -> None:
        """Begin the next fit from these coefficients, or from the nearest that are allowed."""
        problem = self._problem(0.0)
        penalty = problem.separable
        w = np.where(np.isinf(self.weights), penalty.rest, w)
        self._now = problem.at(np.clip(w, penalty.lower, penalty.upper))

    def approach(self, alpha: float, max_iter: int) -> None:
        """Come from alpha_max to near ``alpha`` in rough steps: for a cold start."""
        if self.l1_ratio == 0:  # nothing enters one by one
            return
        coarse = self.alpha_max * COARSE_STEP
        while coarse > alpha:
            self.fit(coarse, tol=COARSE_TOL, max_iter=max_iter)
            coarse *= COARSE_STEP

    def along(self, alphas: Array, *, tol: float, max_iter: int) -> Iterator[tuple[int, Result]]:
        """A fit at each of the alphas, in their order: descending is the fast one."""
        for k, alpha in enumerate(alphas.tolist()):
            yield k, self.fit(alpha, tol=tol, max_iter=max_iter)

    def fit(self, alpha: float, *, tol: float, max_iter: int, verbose: int = 0) -> Result:
        """The solution at this alpha, to a relative gap and a KKT residual of ``tol``."""
        progress = Progress(max_iter, verbose)
        problem = self._problem(alpha, tol)
        # Overflow is looked for and named where it matters (`Iterate`, `hessian_at`).
        with np.errstate(over="ignore", invalid="ignore"):
            if self.loss == "hinge":
                rounded = rounded_problem(self.X, self.pairs, problem.penalty, tol)
                start = rounded.at(self._now.w, self._now.scores, error=self._now.point.error)
                self._now, found = hinge_by_continuation(
                    start, progress, self._descend, BY_HESSIANS._replace(share=ROUNDING_SHARE)
                )
            else:
                start = self._now.under(problem)
                self._now = now = run_settled(self._descend, start, _Converged(tol), progress)
                found = replace(
                    result_at(now, progress),
                    kkt_residual=now.residual,
                    kkt_rounding=now.residual_rounding,
                )
        return found

    def _descend(self, now: Iterate, stop: Stop, progress: Progress) -> Iterate:
        now, self._working = on_working_sets(now, stop, progress, self._working)
        return now


@dataclass(frozen=True)
class _Converged(CloseEnough):
    """Within ``tol`` by the gap and by the largest violation of the optimality conditions."""

    def __call__(self, now: Iterate, share: float = 1.0) -> bool:
        if not now.judged.done(self.tol, share):
            return False
        return now.residual <= share * self.tol or now.residual <= now.residual_rounding


def _spreads(X: Matrix, pairs: Rows) -> Array:
    """Standard deviation of each column, both classes weighing the same; 0 for a constant.

    In groups it is the deviation inside them: pairs do not see a column that differs between
    groups alone.
    """
    if pairs.within is not None:
        return group_spreads(X, pairs)
    weight = pairs.share / 2
    with np.errstate(over="ignore", invalid="ignore"):
        means, squares = X.pull_back_moments(weight)
    if not np.all(np.isfinite(squares)):
        raise too_large("their squares overflow")
    variances = np.maximum(0, squares - means**2)
    spreads = np.sqrt(variances)
    # Where the difference is rounding, or the squares vanish: from the values themselves.
    doubtful = (variances <= SURE_VARIANCE * squares) & ((squares > 0) | (means != 0))
    which = np.flatnonzero(doubtful)
    for begin in range(0, which.size, LEAST_COLUMNS):
        columns = which[begin : begin + LEAST_COLUMNS]
        spreads[columns] = X.columns(columns).careful_spreads(weight)
    return spreads


def alpha_grid(alpha_max: float, n_alphas: int, eps: float) -> Array:
    """From alpha_max down to ``eps alpha_max``, evenly in the logarithm."""
    # No feature differs between the classes: any alpha above rounding gives zero coefficients.
    top = alpha_max or 1.0
    return np.geomspace(top, top * eps, n_alphas)


def minimise_sparse(
    X: Matrix,
    pairs: Rows,
    loss: str,
    alpha: float,
    l1_ratio: float,
    weights: Array,
    *,
    bounds: tuple[Array, Array] | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    verbose: int = 0,
) -> Result:
    """One fit, from ``start`` or from alpha_max down; an ``l1_ratio`` of 0 is L2 with bounds."""
    problem = SparseProblem(X, pairs, loss, l1_ratio, weights, bounds)
    if start is None:
        problem.approach(alpha, max_iter)
    else:
        problem.start_at(start)
    return problem.fit(alpha, tol=tol, max_iter=max_iter, verbose=verbose)
