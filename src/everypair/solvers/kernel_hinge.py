"""The hinge over pairs in a kernel's space: rough solves choose the pivots of the last one.

A first factor of low rank, whose pivots each row's weight decides; its solution to a rough
tolerance; then more pivots where its multipliers c say that they count (``c_i^2 R_ii``,
`low_rank`), up to the rank that was asked for, starting from what is known. A solution over
some pivots is a function of the kernel's space, and its scores and norm are exact; what a low
rank leaves open is how much lower the objective would be over all of the space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.factor import FactorMatrix
from everypair.linalg.kernels import BLOCK_ENTRIES, TrainingKernel
from everypair.linalg.low_rank import GrowingFactor, LowRank
from everypair.linalg.matrix import Matrix
from everypair.linalg.pivot_features import (
    chosen_on_sample,
    features_of_all_rows,
    kept_in_double,
    sample_rows,
)
from everypair.linalg.threads import one_blas_thread, over_rows
from everypair.linalg.vectors import length
from everypair.pairs.listed import PairList
from everypair.pairs.point import growth
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.choose import choose_for_factor, choose_for_list
from everypair.solvers.hinge import (
    BY_HESSIANS,
    FIRST_WIDTH,
    OF_A_FACTOR,
    Pace,
    hinge_by_continuation,
    rounded_hinge,
    rounded_problem,
)
from everypair.solvers.newton import Newton
from everypair.solvers.problem import Iterate, Problem, Solver, better_start
from everypair.solvers.progress import Progress
from everypair.solvers.result import Result
from everypair.solvers.sampled_newton import SampledNewton

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FIRST_RANK, FINE_RANK, FINE_GROWTH, RANK_GROWTH = 128, 512, 2, 4
"""Ranks of the rough solves: 128, 256, 512, 2048, .... Each costs a fraction of the next, and tells
better than the one before it where more pivots count."""

NEAR_THE_LAST, LEAST_GROWTH = 1.5, 1.1
"""No solve at a rank that the last exceeds by less than the first factor, and none for fewer new
pivots than the second one gives."""

FORETOLD_GROWTH = 1.5
"""Up to this growth a foretold rank is taken without a look at its gap."""

SLOWER_FALL, WORTH_A_SOLVE = 1.25, 0.8
"""Below `FINE_RANK` the gap falls less than it did, by about the first power, and a foretold rank
is tried if it is at most the second share of the next one of the series."""

GAP_GROWTH = 2
"""Of the rank, while a gap that is asked for does not hold."""

ROUGH_TOL = 1e-3

GAP_SHARE = 0.1
"""Where a gap over the whole kernel's space is asked for, rough solves end at this share of it."""

ENOUGH_SHARE = 0.05
"""A gap that is enough is at most this share of the objective, too: where every training pair is
satisfied, little is left of the objective, and test rows still tell ranks apart."""

MIDDLE_ROWS, MIDDLE_SHARE, MIDDLE_TOL = 20_000, 2, 1e-3
"""Between the sample that chooses the pivots and all rows, if these are a multiple, so many are
solved for: they leave few steps to all rows, and their Hessian serves these."""

ROUNDING_SHARE = 0.25
"""Of the tolerance, for the rounding of products that spare a triangular solve."""

GAP_ROWS = 512
"""Rows that an estimate of this gap is made from."""

LEAST_MULTIPLIER_SHARE = 1e-2
"""Rows without a multiplier may get one later: they count as if it were this share of the
largest it can be."""


def minimise_in_kernel(
    kernel: TrainingKernel,
    pairs: Rows | PairList,
    alpha: float,
    *,
    kernel_tol: float,
    max_rank: int,
    tol: float,
    max_iter: int,
    verbose: int = 0,
    max_gap: float | None = None,
    enough_gap: float | None = None,
) -> tuple[Result, LowRank]:
    """Minimise ``hinge(s) + alpha / 2 |f|^2`` over the functions f that the pivots span.

    With ``max_gap`` rough solves go on beyond ``max_rank`` until their `kernel_gap` is below it.
    With ``enough_gap`` they end before ``max_rank`` where the objective over the whole of the
    kernel's space is lower by about that much at most.
    """
    settings = _Settings(alpha, kernel_tol, max_iter, verbose)
    if takes_sample(kernel, pairs, max_gap):
        assert isinstance(pairs, Rows)
        return _by_sample(kernel, pairs, settings, max_rank, tol, enough_gap)
    factor = GrowingFactor(kernel)
    ranks = _Ranks(max_rank, enough_gap if max_gap is None else None)
    rank, enough = min(FIRST_RANK, max_rank), max_gap is None
    rough_tol = ROUGH_TOL if max_gap is None else min(ROUGH_TOL, GAP_SHARE * max_gap)
    importance, start = pairs.share, _Start()
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        while True:
            complete = factor.grow(importance, rank, kernel_tol)
            last = complete or (enough and factor.rank >= max_rank)
            solver = choose_for_factor(factor.rank)
            goal = tol if last else rough_tol
            now, found = _solved(factor, pairs, settings, start, solver, goal, last)
            if last:
                return found, factor.low_rank
            importance, start = _importance(now, pairs), _Start.of(now)
            if factor.rank < max_rank:
                rank = ranks.after(factor, now, found)
                if rank == factor.rank:
                    _, found = _solved(factor, pairs, settings, start, solver, tol, last=True)
                    return found, factor.low_rank
            elif max_gap is not None:
                assert found.width is not None
                scores = found.scores / found.stretch
                left = kernel_gap(kernel, pairs, alpha, scores, found.objective, found.width)
                # The last solve moves the gap a little.
                enough = left <= (1 - GAP_SHARE) * max_gap or factor.rank >= kernel.n_rows
                if not enough:
                    rank = max_rank = min(GAP_GROWTH * factor.rank, kernel.n_rows)


def takes_sample(kernel: TrainingKernel, pairs: Rows | PairList, max_gap: float | None) -> bool:
    """Whether a sample of the rows chooses the pivots. A gap that is asked for takes all rows."""
    return max_gap is None and isinstance(pairs, Rows) and chosen_on_sample(kernel.n_rows)


@dataclass(frozen=True)
class _Settings:
    alpha: float
    kernel_tol: float
    max_iter: int
    verbose: int


class _Start(NamedTuple):
    """A solution over the first of the pivots, and the width of the hinge's rounding there."""

    w: Array = np.zeros(0)
    width: float = FIRST_WIDTH

    @classmethod
    def of(cls, now: Iterate) -> _Start:
        loss: Any = now.loss
        return cls(now.w, loss.width)

    def over(self, rank: int) -> _Start:
        """The same over more pivots."""
        return self._replace(w=np.concatenate([self.w, np.zeros(rank - self.w.size)]))


def _solved(
    factor: GrowingFactor,
    pairs: Rows | PairList,
    settings: _Settings,
    start: _Start,
    solver: Solver,
    tol: float,
    last: bool,
) -> tuple[Iterate, Result]:
    """The solution over the factor's pivots, from one over the first of them."""
    progress = Progress(settings.max_iter, settings.verbose if last else 0)
    problem = rounded_problem(FactorMatrix(factor.features), pairs, L2(settings.alpha), tol)
    pace = OF_A_FACTOR if last else BY_HESSIANS
    return _refined(problem, start.over(factor.rank), progress, solver, pace)


def _refined(
    problem: Problem, start: _Start, progress: Progress, solver: Solver, pace: Pace
) -> tuple[Iterate, Result]:
    here = better_start(problem, start.w)
    return hinge_by_continuation(here, progress, solver, pace, to_limit=False, near=start.width)


def _importance(now: Iterate, pairs: Rows | PairList) -> Array:
    return np.asarray(now.point.gradient**2 + (LEAST_MULTIPLIER_SHARE * pairs.share) ** 2)


class _Ranks:
    """The ranks of the rough solves, up to one that is given or that leaves little to gain.

    ``to_last``: a rough solve costs more than the pivots that it may spare, so none is made where
    the last rank is near.
    """

    def __init__(self, max_rank: int, enough_gap: float | None, to_last: bool = False):
        self._max_rank, self._enough, self._to_last = max_rank, enough_gap, to_last
        self._before: tuple[int, float] | None = None
        self.foretold = False
        """Whether the rank that follows is the last: the gap is expected to be small enough there,
        or as small as may be."""

    def after(self, factor: GrowingFactor, now: Iterate, found: Result) -> int:
        """The rank after that of the factor, or the same if it is enough."""
        rank, following = factor.rank, self._plain(factor.rank)
        if self._enough is None:
            return following
        gap = _gap_over_kernel(factor, now, found)
        enough = min(self._enough, ENOUGH_SHARE * found.objective)
        if gap <= enough:
            return rank
        if self._before is not None and gap < self._before[1]:
            # What the gap fell by foretells where it will be small enough.
            steps = np.log(gap / enough) / np.log(self._before[1] / gap)
            fine = rank >= FINE_RANK
            if not fine:  # after the first ranks the gap falls less than it did
                steps *= SLOWER_FALL
            ahead = max(LEAST_GROWTH, float((rank / self._before[0]) ** steps))
            # A gap that hardly fell foretells a rank beyond all numbers, and a solve at a rank
            # just below the next one of the series spares nothing.
            if fine or ahead * rank <= WORTH_A_SOLVE * following:
                following = int(min(following, np.ceil(ahead * rank)))
            self.foretold = fine and ahead <= FORETOLD_GROWTH
            near = self._to_last and fine and NEAR_THE_LAST * following > self._max_rank
            if near and not self.foretold:
                following, self.foretold = self._max_rank, True
        self._before = rank, gap
        return following

    def _plain(self, rank: int) -> int:
        following = min(rank * FINE_GROWTH, FINE_RANK) if rank < FINE_RANK else rank * RANK_GROWTH
        return self._max_rank if NEAR_THE_LAST * following > self._max_rank else following


def _gap_over_kernel(factor: GrowingFactor, now: Iterate, found: Result) -> float:
    """About how much lower the objective may be over the whole of the kernel's space.

    With c the multipliers and R = K - G G', by the gap over the pivots' span and
    ``c'Rc / (2 alpha)``: some rows of R, drawn by their multipliers, tell the latter.
    """
    c, alpha = now.point.gradient, now.problem.quadratic.alpha
    size = np.abs(c)
    rows = np.random.default_rng(0).choice(c.size, GAP_ROWS, p=size / size.sum())
    counted, left = np.flatnonzero(c), -(factor.features[rows] @ now.pulled)

    def part(start: int, stop: int) -> None:
        values = factor.kernel.columns(counted, rows[start:stop])
        left[start:stop] += values @ c[counted]

    over_rows(part, rows.size, rows.size * counted.size * factor.kernel.X.shape[1])
    of_kernel = float(size.sum() * np.mean(np.sign(c[rows]) * left)) / (2 * alpha)
    return max(0.0, of_kernel) + found.distance * found.objective


def _by_sample(
    kernel: TrainingKernel,
    pairs: Rows,
    settings: _Settings,
    max_rank: int,
    tol: float,
    enough_gap: float | None,
) -> tuple[Result, LowRank]:
    """Pivots and a first solution from a sample of the rows, the last one from all of them."""
    rows = pairs.sample(sample_rows(max_rank))
    part = pairs.take(rows)
    factor, ranks = GrowingFactor(kernel.take(rows)), _Ranks(max_rank, enough_gap, to_last=True)
    rank, importance, start = min(FIRST_RANK, max_rank), part.share, _Start()
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        while True:
            complete = factor.grow(importance, rank, settings.kernel_tol)
            solver = choose_for_factor(factor.rank)
            if ranks.foretold:  # all rows are as near from here
                start = start.over(factor.rank)
                break
            now, found = _solved(factor, part, settings, start, solver, ROUGH_TOL, last=False)
            start, importance = _Start.of(now), _importance(now, part)
            if complete or factor.rank >= max_rank:
                break
            rank = ranks.after(factor, now, found)
            if rank == factor.rank:
                break
        double = kept_in_double(kernel.n_rows, factor.rank)
        by_middle = double and kernel.n_rows >= MIDDLE_SHARE * MIDDLE_ROWS
        if double and not by_middle and isinstance(solver, Newton) and solver.matrix is None:
            # It serves all rows at first.
            solver.make_matrix(_over_all_pivots(now, factor, start.w))
        basis, sample = factor.low_rank, FactorMatrix(factor.features).rough
        most_reach = _most_reach(now, found, factor.rank, tol)
        del factor, now
        of = kernel, rows[basis.pivots], basis.triangle
        X, basis = features_of_all_rows(*of, most_reach)

        def run(
            X: Matrix, pairs: Rows, solver: Solver, pace: Pace, tol: float, verbose: int = 0
        ) -> tuple[Iterate, Result]:
            problem = rounded_problem(X, pairs, L2(settings.alpha), tol)
            return _refined(problem, start, Progress(settings.max_iter, verbose), solver, pace)

        if not double:
            last: Solver = SampledNewton(sample, lambda now: _loss_of(now, part, rows))
        elif not by_middle:
            last = solver
        else:
            middle = pairs.sample(MIDDLE_ROWS)
            few, some = X.take(middle), pairs.take(middle)
            start = _Start.of(run(few, some, solver, BY_HESSIANS, MIDDLE_TOL)[0])
            matrix = solver.matrix if isinstance(solver, Newton) else None
            last = Newton(matrix, lambda now: (few, _loss_of(now, some, middle)))
        _, found = run(X, pairs, last, OF_A_FACTOR, tol, settings.verbose)
    return found, basis


def _over_all_pivots(now: Iterate, factor: GrowingFactor, start: Array) -> Iterate:
    """The point ``now`` in the coordinates of all pivots of the factor."""
    problem = replace(now.problem, X=FactorMatrix(factor.features))
    return problem.at(start, now.scores, now.loss, now.point.error)


def _loss_of(now: Iterate, some: Rows, rows: Index) -> Any:
    """The rounded hinge of ``some`` of the rows, by their numbers."""
    loss: Any = now.loss
    return rounded_hinge(some, loss.width, now.scores[rows], type(loss))


def _most_reach(now: Iterate, found: Result, rank: int, tol: float) -> float:
    """`Inverse.mean_reach` of a `ProductFactor` whose rounding, a bound of which counts as a gap,
    is a small share of the tolerance."""
    loss: Any = now.loss
    of_pairs = 4 * growth(rank) * length(now.w) * float(loss.mass_short(0.0))
    return ROUNDING_SHARE * tol * found.objective / of_pairs if of_pairs > 0 else 0.0


def minimise_over_list(
    X: Matrix, pairs: PairList, alpha: float, *, tol: float, max_iter: int, verbose: int = 0
) -> Result:
    """Minimise ``hinge(Xw) + alpha / 2 |w|^2`` over w, the hinge over the pairs of the list."""
    progress = Progress(max_iter, verbose)
    with np.errstate(over="ignore", invalid="ignore"):
        problem = rounded_problem(X, pairs, L2(alpha), tol)
        start = better_start(problem, np.zeros(X.shape[1]))
        _, found = hinge_by_continuation(start, progress, choose_for_list(X), to_limit=False)
    return found


def kernel_gap(
    kernel: TrainingKernel,
    pairs: Rows | PairList,
    alpha: float,
    scores: Array,
    objective: float,
    width: float,
) -> float:
    """Relative gap over all of the kernel's space, with the multipliers of this rounding.

    ``D = -sum_{i in P} c_i - c'Kc / (2 alpha)``, c the rounded loss' gradient in score space.
    """
    point = rounded_hinge(pairs, width, scores)
    c = point.gradient()
    rows = np.flatnonzero(c)
    expansion, norm = kernel.expansion(rows), 0.0
    step = max(1, BLOCK_ENTRIES // max(1, rows.size))
    for start in range(0, rows.size, step):
        some = rows[start : start + step]
        norm += float(c[some] @ expansion.scores(kernel.X[some], c[rows]))
    dual = -float(c[pairs.positives].sum()) - norm / (2 * alpha)
    return (objective - dual) / objective
