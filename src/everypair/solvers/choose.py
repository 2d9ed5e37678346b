"""Which solver runs, where it starts and how it is judged: decided here and nowhere else."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.linalg.vectors import scaled
from everypair.pairs import pair_point
from everypair.pairs.point import usable
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HuberHingePoint, SquaredHingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.dual_ascent import hinge_by_ascent
from everypair.solvers.hinge import (
    BY_HESSIANS,
    BY_PRODUCTS,
    FIRST_WIDTH,
    CloseForItsRounding,
    hinge_by_continuation,
    result_at,
    rounded_problem,
    smooth_result,
)
from everypair.solvers.hinge_newton import HingeNewton, plain_hinge
from everypair.solvers.newton import Newton, ProductsFirst
from everypair.solvers.newton_cg import newton_cg
from everypair.solvers.problem import (
    CloseEnough,
    Iterate,
    Problem,
    Solver,
    better_start,
    run_settled,
)
from everypair.solvers.progress import Judgement, Progress
from everypair.solvers.result import Result
from everypair.solvers.row_grams import RowGrams
from everypair.solvers.working_rows import solution_by_rows

Array = NDArray[np.float64]

HESSIAN_COLUMNS = 300
"""Columns up to which a whole Hessian is cheaper than its products."""

FACTOR_COLUMNS = 1024
"""Of a kernel's factor. With more, products come first: with a large alpha a few make a step. With
a small one hundreds do not, and the Hessian follows."""

RADII = 2.0 ** np.arange(-2, 9)
"""Lengths tried for the sigmoid, in lengths of the logistic solution."""

SAMPLE_ROWS, LEAST_SAMPLE, LEAST_HINGE_SAMPLE = 20_000, 3_000, 10_000
SAMPLE_SHARE = 0.2
SAMPLE_TOL = 1e-4
"""A first solve on this share of the rows, at most `SAMPLE_ROWS`, saves most of the steps on all
rows. A sample below the least size saves none, least of all for the roundings of the hinge, whose
last steps it does not see. Below this gap the noise of the sample is larger than what is left."""

FINE_SAMPLE = 18_000
"""Steps on the hinge itself end earlier by the square of this over the rows of a smaller sample:
each costs more than its share of the rows there, and the last ones meet corners that all rows do
not have. Beside 1e-4, 30 fits of letter, a9a, w8a, adult and made-up tables of 16,000 to 60,000
rows take .42 to 1.42 times as long, .94 in the geometric mean."""


def choose_solver(X: Matrix, loss: str, solver: str) -> Solver:
    """A solver by its name, with nothing kept of earlier problems; refused where it cannot run."""
    if solver == "newton-cg" or (solver == "auto" and loss == "sigmoid"):
        return newton_cg
    if loss == "sigmoid":
        raise ValueError(
            "solver='newton' cannot be used because the sigmoid loss is not convex: "
            "use 'newton-cg' or 'auto'."
        )
    # A Hessian takes X by rows; products do without a copy of a CSC matrix while they are enough.
    few = X.by_rows and X.shape[1] <= HESSIAN_COLUMNS
    if solver == "newton" or few or X.sample_hessian_pays:
        return Newton()
    return ProductsFirst()


def choose_for_list(X: Matrix) -> Solver:
    """For the hinge over a list of pairs, whose Hessian is made of differences of rows."""
    return choose_solver(X, "hinge", "auto" if X.differences_pay else "newton-cg")


def choose_for_factor(rank: int) -> Solver:
    """For the hinge on a factor of a kernel matrix."""
    return Newton() if rank <= FACTOR_COLUMNS else ProductsFirst()


def minimise(
    X: Matrix,
    pairs: Rows,
    loss: str,
    alpha: float,
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    start: Array | None = None,
    verbose: int = 0,
    to_limit: bool = True,
    hinge_newton: HingeNewton | None = None,
    ascends: bool = False,
) -> Result:
    """Minimise ``L(Xw) + alpha / 2 |w|^2`` over w; ``to_limit``: see `hinge_by_continuation`.

    ``hinge_newton``: the solver of the hinge with many rows, which keeps its matrix from fit to
    fit. ``ascends``: the hinge on sparse rows is tried by ascent from zero, even with a start.
    """
    # Overflow is looked for and named where it matters (`Iterate`, `NewtonMatrix`).
    with np.errstate(over="ignore", invalid="ignore"):
        return _minimise(
            X, pairs, loss, alpha, solver, tol, max_iter, start, verbose, to_limit,
            hinge_newton or HingeNewton(), ascends or start is None,
        )  # fmt: skip


def _minimise(
    X: Matrix,
    pairs: Rows,
    loss: str,
    alpha: float,
    solver: str,
    tol: float,
    max_iter: int,
    start: Array | None,
    verbose: int,
    to_limit: bool,
    hinge_newton: HingeNewton,
    ascends: bool,
) -> Result:
    if loss == "sigmoid":
        progress = Progress(max_iter, verbose, distance="relative gradient")
        choose_solver(X, loss, solver)
        if start is None:
            start = minimise(
                X, pairs, "logistic", alpha, solver=solver, max_iter=max_iter, verbose=verbose
            ).coef
        return result_at(_descend_sigmoid(X, pairs, alpha, start, tol, progress), progress)
    progress, run = Progress(max_iter, verbose), choose_solver(X, loss, solver)
    many = sample_size(pairs.n_rows, loss, smooth=True) > 0
    if loss == "hinge" and many and to_limit and isinstance(run, Newton):
        return _descend_smooth_hinge(X, pairs, alpha, start, tol, progress, hinge_newton)
    if loss == "hinge" and ascends and to_limit and isinstance(run, ProductsFirst):
        # Steps of an ascent that a start makes needless do not count.
        of_ascent = progress if start is None else Progress(max_iter, verbose)
        found, reached = _ascended(X, pairs, alpha, tol, of_ascent)
        if found is not None:
            return found
        start = reached if start is None else start
    if start is None:
        start = _solution_of_sample(X, pairs, loss, alpha, max_iter, run)
    if loss == "hinge":
        now = better_start(rounded_problem(X, pairs, L2(alpha), tol), start)
        return _continue_hinge(now, progress, run, to_limit)
    return result_at(_descend(X, pairs, loss, alpha, start, tol, progress, run), progress)


def _solution_of_sample(
    X: Matrix, pairs: Rows, loss: str, alpha: float, max_iter: int, run: Solver
) -> Array:
    """Where to begin; zero where a sample does not pay.

    The copy of the sample's rows ends with this function; a matrix that ``run`` keeps does not.
    """
    start = np.zeros(X.shape[1])
    size = sample_size(pairs.n_rows, loss, isinstance(run, HingeNewton))
    if size == 0:
        return start
    rows = pairs.sample(size)
    few, part = X.take(rows), pairs.take(rows)
    progress = Progress(max_iter)
    if isinstance(run, HingeNewton):
        tol = SAMPLE_TOL * max(1.0, FINE_SAMPLE / size) ** 2
        begin = better_start(plain_hinge(few, part, alpha, tol), start)
        return run_settled(run, begin, CloseEnough(tol), progress).w
    if loss == "hinge":  # its matrices wear out with the rounding
        now = better_start(rounded_problem(few, part, L2(alpha), SAMPLE_TOL), start)
        return _continue_hinge(now, progress, run).start
    rough = _descend(few, part, loss, alpha, start, SAMPLE_TOL, progress, run)
    if isinstance(run, Newton | ProductsFirst):
        run.renew(rough, pairs.n_rows)
    return rough.w


def _descend(
    X: Matrix,
    pairs: Rows,
    loss: str,
    alpha: float,
    start: Array,
    tol: float,
    progress: Progress,
    run: Solver,
) -> Iterate:
    problem = Problem(X, partial(pair_point, loss, pairs), L2(alpha), tol=tol)
    now, stop = better_start(problem, start), CloseEnough(tol)
    if loss == "squared_hinge" and not isinstance(run, Newton):
        known = RowGrams(X, single=True)
        losses = partial(partial, _squared_hinge)
        now = solution_by_rows(now, pairs, losses, stop, progress, known)
    return run_settled(run, now, stop, progress)


def _descend_smooth_hinge(
    X: Matrix,
    pairs: Rows,
    alpha: float,
    start: Array | None,
    tol: float,
    progress: Progress,
    smooth: HingeNewton,
) -> Result:
    """By steps on the hinge itself; by its roundings from where these end at a corner, or from the
    solution of the sample where it is one."""
    sampled = start is None
    if start is None:
        start = _solution_of_sample(X, pairs, "hinge", alpha, progress.max_iter, smooth)
    now = better_start(plain_hinge(X, pairs, alpha, tol), start)
    if not (sampled and smooth.at_corner):
        now = run_settled(smooth, now, CloseEnough(tol), progress)
    return finish_hinge(now, progress)


def finish_hinge(now: Iterate, progress: Progress) -> Result:
    """Where steps on the hinge itself have ended: there, or, at a corner, by roundings from
    there."""
    X, tol = now.problem.X, now.problem.tol
    if now.judged.done(tol):
        return smooth_result(now, progress)
    rounded = rounded_problem(X, now.loss.pairs, now.problem.penalty, tol)
    start = rounded.at(now.w, now.scores, error=now.point.error)
    return _continue_hinge(start, progress, Newton())


def _ascended(
    X: Matrix, pairs: Rows, alpha: float, tol: float, progress: Progress
) -> tuple[Result | None, Array | None]:
    """The solution by ascent, or where to begin another way, if that is known.

    What the ascent held of the rows ends with this function.
    """
    zero = rounded_problem(X, pairs, L2(alpha), tol).at(
        np.zeros(X.shape[1]), X.zero_scores, error=0.0
    )
    now, found = hinge_by_ascent(zero, progress)
    return found, now.w if now.w.any() else None


def _continue_hinge(now: Iterate, progress: Progress, run: Solver, to_limit: bool = True) -> Result:
    pace = BY_PRODUCTS if isinstance(run, ProductsFirst) else BY_HESSIANS
    known = RowGrams(now.problem.X)
    if not isinstance(run, Newton):
        stop = CloseForItsRounding(now.problem.tol, pace.share)
        losses = partial(partial, _rounded_first)
        now = solution_by_rows(now, now.loss.pairs, losses, stop, progress, known)
    return hinge_by_continuation(now, progress, run, pace, to_limit=to_limit, known=known)[1]


def _squared_hinge(pairs: Rows, scores: Array) -> SquaredHingePoint:
    return SquaredHingePoint(SortedScores(pairs, scores))


def _rounded_first(pairs: Rows, scores: Array) -> HuberHingePoint:
    return HuberHingePoint(SortedScores(pairs, scores), FIRST_WIDTH)


def _descend_sigmoid(
    X: Matrix, pairs: Rows, alpha: float, start: Array, tol: float, progress: Progress
) -> Iterate:
    """A local minimum of the sigmoid objective in the basin of the starting direction.

    First the radius: along the start's direction the objective is tried at growing lengths,
    a pair sum each. Then descent from the best of them.
    """
    problem = Problem(
        X,
        partial(pair_point, "sigmoid", pairs),
        L2(alpha),
        judge=lambda now: Judgement(now.value, now.relative_gradient),
    )
    scores = X.dot(start)
    along = [(r * start, scaled(scores, r)) for r in RADII]
    tried = [problem.at(w, reached) for w, reached in along if usable(reached)]
    best = min(tried, key=lambda now: now.value) if tried else better_start(problem, start)
    return run_settled(newton_cg, best, CloseEnough(tol, by_gap=False), progress)


def sample_size(n_rows: int, loss: str, smooth: bool = False) -> int:
    """Rows of a first solve; 0 where it does not pay. ``smooth``: the hinge by `HingeNewton`."""
    if loss == "square":  # one step solves it
        return 0
    size = min(SAMPLE_ROWS, int(SAMPLE_SHARE * n_rows))
    least = LEAST_HINGE_SAMPLE if loss == "hinge" and not smooth else LEAST_SAMPLE
    return size if size >= least else 0
