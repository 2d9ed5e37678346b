"""One problem at many alphas, whatever its penalty: what a path and its cross-validation need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.estimators._linear import check_penalty_weights
from everypair.estimators._search import positive_grid
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.estimators._training import TrainingFolds
    from everypair.linalg.matrix import Matrix
    from everypair.solvers.foretelling import KnownPath
    from everypair.solvers.result import Result
    from everypair.solvers.ridge_path import RidgeProblem

Array = NDArray[np.float64]

CONVEX_LOSSES = ("logistic", "squared_hinge", "hinge", "square", "exponential")

N_ALPHAS, EPS = (
    {"l2": 25, "l1": 100, "elasticnet": 100},
    {"l2": 1e-8, "l1": 1e-3, "elasticnet": 1e-3},
)
"""Default grids. L2 has no alpha at which features come and go: few alphas over many decades."""


FOLD_TOL, USUAL_TOL = 1e-4, 1e-6
"""Relative gap of the fits behind out-of-fold scores where ``tol`` is the usual one: the scores
move by less than a thousandth of their standard deviation on dense tables, and a fiftieth on wide
sparse ones. Who asks for a smaller gap gets it in the folds as well."""


LEAST_FOLD_TOL = 1e-12
"""No gap below it is asked for in folds: rounding would hide it."""


def fold_tol(tol: float) -> float:
    """The gap of fits whose scores on held-out rows count, and nothing else of them."""
    return tol if tol < USUAL_TOL else max(tol, FOLD_TOL)


class AlphaProblem(Protocol):
    """Minimise a loss and alpha times a penalty, each fit from where the last one ended."""

    @property
    def alpha_max(self) -> float:
        """Where a grid begins."""

    def start_at(self, w: Array) -> None:
        """The next fit begins there."""

    def fit(self, alpha: float, *, tol: float, max_iter: int) -> Result: ...

    def along(self, alphas: Array, *, tol: float, max_iter: int) -> Iterator[tuple[int, Result]]:
        """A fit at each of the alphas with its number, in the order in which they are done."""


def problem_of(
    X: Matrix,
    pairs: Rows,
    loss: str,
    l1_ratio: float,
    weights: Array,
    ahead: KnownPath | None = None,
) -> AlphaProblem:
    """An ``l1_ratio`` of 0 is the L2 penalty; ``ahead`` is its path on other rows."""
    from everypair.solvers.elastic_net import SparseProblem
    from everypair.solvers.ridge_path import RidgeProblem

    if l1_ratio == 0:
        return RidgeProblem(X, pairs, loss, ahead)
    return SparseProblem(X, pairs, loss, l1_ratio, weights)


def goes_ahead(problem: AlphaProblem) -> TypeGuard[RidgeProblem]:
    """Whether the paths of folds will go beside that of this problem, which is to come first."""
    from everypair.solvers.ridge_path import RidgeProblem

    return isinstance(problem, RidgeProblem) and problem.lead()


def whole_path(
    problem: AlphaProblem, alphas: Array, kept: int | None = None, *, tol: float, max_iter: int
) -> list[Result]:
    """The fits by alpha. They have no scores, which would take a number per row and alpha, but that
    of the number ``kept``."""
    found = {}
    for k, fit in problem.along(alphas, tol=tol, max_iter=max_iter):
        found[k] = fit if k == kept else replace(fit, scores=np.empty(0))
    return [found[k] for k in range(alphas.size)]


def scores_in_folds(
    problem: Callable[..., AlphaProblem],
    alpha: float,
    fit: Result,
    loss: str,
    folds: TrainingFolds,
    *,
    tol: float,
    max_iter: int,
    n_jobs: int | None = None,
) -> Any:
    """Out-of-fold scores at this alpha, each fold's fit from the one on all rows.

    ``problem(X, pairs)`` is that of a fold. Scores that make a cut need no gap below `FOLD_TOL`.
    But the fit on all rows has seen the held-out ones, and where little can be gained over w = 0,
    as at a large alpha, it may be within that gap. So the gap is also at most this share of the
    gain.
    """
    from everypair.pairs.losses import LOSSES

    at_zero = float(LOSSES[loss].value(np.zeros(1))[0])
    gain = at_zero / max(fit.objective, np.finfo(float).tiny) - 1
    rough = min(fold_tol(tol), max(FOLD_TOL * gain, LEAST_FOLD_TOL))

    def kept(k: int) -> Any:
        of_fold = problem(*folds.training(k))
        of_fold.start_at(fit.start)
        found = of_fold.fit(alpha, tol=rough, max_iter=max_iter)
        return folds.kept(k, found.scores, found.coef)

    tasks = [partial(kept, k) for k in range(len(folds))]
    return folds.held_out(folds.side_by_side(tasks, n_jobs))


def grid_of(
    alphas: ArrayLike | None, n_alphas: int | None, eps: float | None, penalty: str, top: float
) -> Array:
    """Descending: one's own alphas, or from ``top`` evenly in the logarithm."""
    from everypair.solvers.elastic_net import alpha_grid

    if alphas is not None:
        return np.sort(positive_grid(alphas, "alphas"))[::-1]
    return alpha_grid(
        top,
        N_ALPHAS[penalty] if n_alphas is None else int(n_alphas),
        EPS[penalty] if eps is None else float(eps),
    )


def check_ratios(penalty: str, l1_ratio: Any) -> Array:
    """One or more shares of the L1 norm: 0 for ``l2``, 1 for ``l1``."""
    if penalty != "elasticnet":
        return np.array([0.0 if penalty == "l2" else 1.0])
    ratios = np.atleast_1d(np.asarray(l1_ratio, dtype=np.float64))
    if ratios.size == 0 or not np.all((ratios > 0) & (ratios <= 1)):
        raise ValueError(f"l1_ratio={l1_ratio!r} must lie in (0, 1].")
    return ratios


def check_weights_of(penalty: str, weights: Any, n_features: int) -> Array:
    """``penalty_weights``, which the L2 penalty has not."""
    if penalty == "l2" and weights is not None:
        raise ValueError(
            "penalty_weights is not used with penalty='l2': "
            "use penalty='elasticnet' or 'l1', or leave it out."
        )
    return check_penalty_weights(weights, n_features)
