"""The L2 penalty at many alphas: each solution, and the matrix that led to it, serve the next."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.pairs import pair_point
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.choose import (
    LEAST_SAMPLE,
    SAMPLE_TOL,
    choose_solver,
    finish_hinge,
    minimise,
    sample_size,
)
from everypair.solvers.column_moments import mean_squared_distance
from everypair.solvers.foretelling import Known, KnownPath, Slopes
from everypair.solvers.hinge import smooth_result
from everypair.solvers.hinge_newton import HingeNewton, plain_hinge
from everypair.solvers.newton import Newton
from everypair.solvers.path_beside import extrapolated, solved_beside
from everypair.solvers.problem import CloseEnough, Iterate, Problem, better_start, run_settled
from everypair.solvers.progress import Progress
from everypair.solvers.result import Result

Array = NDArray[np.float64]

SHARE_AHEAD, HINGE_SHARE_AHEAD = 0.05, 0.1
"""The sample that goes ahead has this share of the rows, at least `LEAST_SAMPLE`. It is solved at
every alpha, with a Hessian at each: more rows would cost more than the steps that they save. The
hinge counts only the pairs near its corner."""

OFFSETS = 3
"""Alphas from which the distance between the two solutions is extrapolated."""

MOST_AHEAD = 1.5
"""A start of the hinge is extrapolated in log alpha by at most this times the last step."""


class RidgeProblem:
    """Minimise ``L(Xw) + alpha / 2 |w|^2`` at one alpha after another.

    The loss at a point does not depend on alpha: its sums at the last solution are where the next
    fit begins, without a look at X. The Newton matrix of the last fit, factored for the new alpha,
    makes the first step; for a quadratic loss that step is exact.

    On many rows, a sample of them goes ahead, and its matrix serves all rows. The solution of all
    rows lies off that of the sample by a distance that changes little from alpha to alpha: the
    polynomial in log alpha through the last distances foretells the next one. Where all alphas are
    known beforehand (`along`), they step side by side.

    The hinge with many rows steps side by side in `along`, on the hinge itself (`hinge_newton`).
    Fits one by one, and those with few rows, begin on the line through the last two solutions.
    """

    def __init__(self, X: Matrix, pairs: Rows, loss: str, ahead: KnownPath | None = None):
        """``ahead``: the same path on other rows, as far as it is `known` there."""
        self.X, self.pairs, self.loss = X, pairs, loss
        self.known: dict[float, Known] = {}
        """By alpha, of the solutions that `along` has found, if this path is to `lead`."""
        self._ahead, self._leads, self._is_sample = ahead, False, False
        self._solver = choose_solver(X, loss, "auto")
        if loss == "hinge" and isinstance(self._solver, Newton) and self._has_many_rows:
            self._solver = HingeNewton()
        self._start: Array | None = None
        self._last: Iterate | None = None
        self._sample: RidgeProblem | None = None
        self._offsets: list[tuple[float, Array]] = []
        self._starts: list[tuple[float, Array]] = []  # of the last two fits of the hinge

    @property
    def alpha_max(self) -> float:
        """``sum_ij a_i b_j |x_i - x_j|^2``: no direction of the loss is much more curved.

        From there on the ranking is that of the class means' difference.
        """
        total = mean_squared_distance(self.X, self.pairs)
        return total if np.isfinite(total) else 0.0

    def start_at(self, w: Array) -> None:
        """The next fit begins there."""
        self._start, self._last, self._starts = w, None, []

    def lead(self) -> bool:
        """Keep in `known` what paths beside this one need; False where none could gain by it.

        With few rows, matrices at all alphas would cost more than the steps that they save.
        """
        self._leads = self._goes_beside
        return self._leads

    @property
    def _goes_beside(self) -> bool:
        matrices = isinstance(self._solver, Newton) and self._has_many_rows
        return matrices and not (self.X.in_order_only or self._is_sample)

    @property
    def _has_many_rows(self) -> bool:
        return sample_size(self.pairs.n_rows, self.loss, smooth=True) > 0

    def _problem(self, alpha: float, tol: float) -> Problem:
        if self.loss == "hinge":
            return plain_hinge(self.X, self.pairs, alpha, tol)
        return Problem(self.X, partial(pair_point, self.loss, self.pairs), L2(alpha), tol=tol)

    def along(self, alphas: Array, *, tol: float, max_iter: int) -> Iterator[tuple[int, Result]]:
        """A fit at each of the alphas with its number, in the order in which they are done."""
        ahead = self._known_ahead(alphas, max_iter)
        order = None if ahead is None else ahead.in_order_of(alphas)
        if ahead is None or order is None:
            for k, alpha in enumerate(alphas.tolist()):
                found = self.fit(alpha, tol=tol, max_iter=max_iter)
                self._keep_known(alpha)
                yield k, found
            return
        assert isinstance(self._solver, Newton)
        problems = [self._problem(alpha, tol) for alpha in ahead.alphas]
        done = solved_beside(problems, ahead, self.pairs.share, max_iter, type(self._solver))
        finish = finish_hinge if self.loss == "hinge" else smooth_result
        while True:
            # Overflow is looked for and named where it matters, as in `minimise`.
            with np.errstate(over="ignore", invalid="ignore"):
                ends = next(done, None)
                if ends is None:
                    return
                results = [(k, finish(end.now, end.progress)) for k, end in ends]
                for k, end in ends if self._leads else []:
                    slopes = Slopes.at(end.now, self.pairs.share)
                    self.known[ahead.alphas[k]] = end.known._replace(slopes=slopes)
            for k, found in results:
                yield order.index(k), found

    def _known_ahead(self, alphas: Array, max_iter: int) -> KnownPath | None:
        """The path of other rows; None where it would not serve."""
        if not self._goes_beside or np.unique(alphas).size < alphas.size:
            return None
        if self._ahead is not None:
            return self._ahead
        sample = self._sampled()
        assert sample is not None
        assert isinstance(self._solver, Newton)
        sample._solver, sample._leads, sample._is_sample = type(self._solver)(), True, True
        for _ in sample.along(alphas, tol=SAMPLE_TOL, max_iter=max_iter):
            pass
        return KnownPath(sample.known)

    def _keep_known(self, alpha: float) -> None:
        """With a matrix made at the solution: others make all their steps by it."""
        if not self._leads or self._last is None or not isinstance(self._solver, Newton):
            return
        self._solver.make_matrix(self._last)
        if self._solver.matrix is not None:
            self.known[alpha] = Known(self._limit, self._solver.matrix.copied())

    def fit(self, alpha: float, *, tol: float, max_iter: int) -> Result:
        if self.loss == "hinge" and not self._is_sample:
            return self._fit_hinge(alpha, tol, max_iter)
        # Overflow is looked for and named where it matters, as in `minimise`.
        with np.errstate(over="ignore", invalid="ignore"):
            problem = self._problem(alpha, tol)
            progress = Progress(max_iter)
            now = self._begin(problem, max_iter)
            self._last = run_settled(self._solver, now, CloseEnough(tol), progress)
            return smooth_result(self._last, progress)

    def _begin(self, problem: Problem, max_iter: int) -> Iterate:
        if self._last is None and self._start is not None:
            return better_start(problem, self._start)
        if self._is_sample and self._last is not None and self.loss == "hinge":
            # The last point may be one of a rounded hinge.
            return problem.at(self._last.w, self._last.scores, error=self._last.point.error)
        if self._last is not None and CloseEnough(problem.tol)(now := self._last.under(problem)):
            return now
        guess = self._guess(problem.quadratic.alpha, max_iter)
        if self._last is None:
            return better_start(problem, np.zeros(self.X.shape[1]) if guess is None else guess)
        if guess is None:
            return now
        ahead = problem.at(guess)
        return ahead if ahead.value < now.value else now

    def _guess(self, alpha: float, max_iter: int) -> Array | None:
        """The solution at this alpha as the sample foretells it; None without a sample."""
        sample = self._sample = self._sample or self._sampled()
        if sample is None:
            return None
        self._keep_offset(sample)
        sample.fit(alpha, tol=SAMPLE_TOL, max_iter=max_iter)
        assert sample._last is not None
        if isinstance(self._solver, Newton):
            self._solver.make_matrix(sample._last)
        return sample._limit + extrapolated(self._offsets, np.log(alpha))

    def _sampled(self) -> RidgeProblem | None:
        size = sample_size(self.pairs.n_rows, self.loss, smooth=True)
        if size == 0:
            return None
        share = HINGE_SHARE_AHEAD if self.loss == "hinge" else SHARE_AHEAD
        rows = self.pairs.sample(min(size, max(LEAST_SAMPLE, int(share * self.pairs.n_rows))))
        sample = RidgeProblem(self.X.take(rows), self.pairs.take(rows), self.loss)
        sample._solver, sample._is_sample = self._solver, self._is_sample
        return sample

    def _keep_offset(self, sample: RidgeProblem) -> None:
        """Where both have a solution at the same alpha: one that is close enough from the start
        leaves the sample behind."""
        if self._last is None or sample._last is None or self._log_alpha != sample._log_alpha:
            return
        if all(self._log_alpha != known for known, _ in self._offsets):
            self._offsets.append((self._log_alpha, self._limit - sample._limit))
            del self._offsets[:-OFFSETS]

    @property
    def _log_alpha(self) -> float:
        assert self._last is not None
        return float(np.log(self._last.problem.quadratic.alpha))

    @property
    def _limit(self) -> Array:
        """The last solution, without most of what its tolerance has left open."""
        assert self._last is not None
        if isinstance(self._solver, Newton):
            return self._solver.next_coefficients(self._last)
        return self._last.w

    def _fit_hinge(self, alpha: float, tol: float, max_iter: int) -> Result:
        log_alpha = float(np.log(alpha))
        found = minimise(
            self.X, self.pairs, self.loss, alpha,
            tol=tol, max_iter=max_iter, start=self._hinge_start(log_alpha),
            hinge_newton=self._solver if isinstance(self._solver, HingeNewton) else None,
            ascends=bool(self._starts),
        )  # fmt: skip
        self._starts = [*self._starts[-1:], (log_alpha, found.start)]
        return found

    def _hinge_start(self, log_alpha: float) -> Array | None:
        if not self._starts:
            return self._start
        (before, _), (last, start) = self._starts[0], self._starts[-1]
        if 0 < (log_alpha - last) * (last - before) <= MOST_AHEAD * (last - before) ** 2:
            return np.asarray(extrapolated(self._starts, log_alpha))
        return start
