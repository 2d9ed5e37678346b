"""The 2-norm SVM: Newton with the intercept always at its best, on features or a kernel matrix.

    P(w, b) = 1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (g_i . w + b))^2

With b minimised over, the multipliers ``2 c_i xi_i`` satisfy ``sum_i y_i alpha_i = 0``, so they
are dual feasible and certify w: ``P - D = |grad_w P|^2 / 2``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from everypair.linalg.low_rank import MOST_NEGATIVE, not_psd
from everypair.solvers.progress import Judgement, Progress
from everypair.solvers.result import Result

Array = NDArray[np.float64]

SHORTEST_STEP = 2.0**-40
EASY_C = 1.0
ROUGH_TOL = 1e-2


class TwoNormPoint(NamedTuple):
    """The objective at some coefficients, the intercept at its best."""

    w: Array
    intercept: float
    scores: Array
    slacks: Array
    judged: Judgement

    def result(self, progress: Progress) -> TwoNormResult:
        return TwoNormResult(
            self.w, self.scores, *self.judged[:2], progress.n_iter, progress.history,
            intercept=self.intercept, slacks=self.slacks,
        )  # fmt: skip


@dataclass(frozen=True)
class TwoNormResult(Result):
    """A coefficient per feature or row of the kernel matrix; scores without the intercept."""

    intercept: float = 0.0
    slacks: Array = field(default_factory=lambda: np.zeros(0))


def best_intercept(signs: Array, scores: Array, costs: Array) -> float:
    """The b that minimises ``sum_i c_i max(0, 1 - y_i (s_i + b))^2``.

    Its slope grows with b and is a line between the corners ``y_i - s_i``: sort them, find the
    two that it vanishes between, solve there. Past its corner a positive row falls out, a
    negative one comes in.
    """
    corners = signs - scores
    order = np.argsort(corners)
    changes = np.where(signs[order] > 0, -costs[order], costs[order])
    corners = corners[order]
    # Slope / 2 = sum of c_i (b - corner_i) over the rows that are in.
    mass = costs[signs > 0].sum() + np.concatenate([[0.0], np.cumsum(changes)])
    positives = signs[order] > 0
    first = -float(costs[order][positives] @ corners[positives])
    lever = first - np.concatenate([[0.0], np.cumsum(changes * corners)])
    at_corners = mass[1:] * corners + lever[1:]
    piece = int(np.searchsorted(np.maximum.accumulate(at_corners), 0.0))
    if piece == 0 or mass[piece] <= 0:
        return float(corners[min(piece, corners.size - 1)])
    return float(-lever[piece] / mass[piece])


def two_norm_svm(
    features: Array, signs: Array, costs: Array, tol: float, max_iter: int, verbose: int = 0
) -> TwoNormResult:
    """Newton steps on the rows that fall short, until the relative gap is at most ``tol``.

    Large costs are approached tenfold at a time: from far away their Newton steps are short.
    """
    n_rows, n_features = features.shape
    share = min(1.0, EASY_C / float(costs.max()))
    w, scores, progress = np.zeros(n_features), np.zeros(n_rows), Progress(max_iter, verbose)
    while True:
        accuracy = tol if share == 1 else max(tol, ROUGH_TOL)
        now = _descend(features, signs, share * costs, w, scores, accuracy, progress)
        if share == 1:
            return now.result(progress)
        w, scores, share = now.w, now.scores, min(1.0, 10 * share)


def _descend(
    features: Array,
    signs: Array,
    costs: Array,
    w: Array,
    scores: Array,
    tol: float,
    progress: Progress,
) -> TwoNormPoint:
    def at(w: Array, scores: Array) -> TwoNormPoint:
        b = best_intercept(signs, scores, costs)
        slacks = np.maximum(0.0, 1 - signs * (scores + b))
        value = float(w @ w) / 2 + float(costs @ slacks**2)
        slope = w - features.T @ (2 * costs * slacks * signs)
        return TwoNormPoint(w, b, scores, slacks, _judgement(value, float(slope @ slope) / 2))

    now = at(w, scores)
    # Zero is within any gap of the minimum where C is small, but ranks nothing.
    while (now.judged.distance > tol or not now.w.any()) and not progress.exhausted:
        short = (now.slacks > 0) & (costs > 0)
        weights = 2 * costs[short]
        # The intercept moves along: the Hessian is about the mean of the short rows.
        rows = features[short] - weights @ features[short] / weights.sum()
        rows *= np.sqrt(weights)[:, None]
        hessian = rows.T @ rows
        hessian[np.diag_indices_from(hessian)] += 1.0
        slope = now.w - features.T @ (2 * costs * now.slacks * signs)
        step = -cho_solve(_lifted_factor(hessian), slope)
        score_step, length, best = features @ step, 1.0, now
        while length >= SHORTEST_STEP:
            trial = at(now.w + length * step, now.scores + length * score_step)
            lower = trial.judged.objective < best.judged.objective
            if best is not now and not lower:
                break  # shorter was better until here
            if lower:
                best = trial
            length /= 2
        if best is now:
            break
        now = best
        progress.step(now)
    return now


def _lifted_factor(matrix: Array) -> tuple[Array, bool]:
    """Its Cholesky factor; what rounding leaves indefinite is lifted along the diagonal."""
    diagonal = np.einsum("jj->j", matrix)
    lift, largest = np.finfo(float).eps, float(diagonal.max(initial=0.0))
    if not np.isfinite(largest):
        raise ValueError("C times the squared features overflows float64: lower C or rescale X.")
    while True:
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            diagonal += lift * largest
            lift *= 10


def _judgement(value: float, gap: float) -> Judgement:
    """The gap as a share of the objective; infinite where float64 cannot say."""
    if value == 0:
        return Judgement(value, 0.0)
    return Judgement(value, gap / value if np.isfinite(gap / value) else np.inf)


def refuse_not_psd(K: Array) -> None:
    """Refuse a matrix with an eigenvalue below zero by more than rounding."""
    lifted = K.copy()
    lifted[np.diag_indices_from(lifted)] += MOST_NEGATIVE * max(float(K.diagonal().max()), 1e-300)
    try:
        cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise not_psd("its matrix has no Cholesky factor") from None


class NoFactorError(Exception):
    """Rounding has removed the ridge: the kernel matrix cannot be used to solve this."""


def two_norm_svm_matrix(
    K: Array, signs: Array, costs: Array, tol: float, max_iter: int, verbose: int = 0
) -> TwoNormResult:
    """The 2-norm SVM for ``f = K beta``: each Newton step is exact on the rows S that fall short,

        (K_SS + diag(1 / 2c)) beta_S + b = y_S,    sum beta_S = 0

    (Chapelle 2007). The hard-margin dual of k' (Rakotomamonjy 2004, eq. 15) tells S: scikit-learn's
    SVC solves it, but in single precision, so its solution is where the steps start, and counts
    as one.
    """
    ridge = 1 / (2 * costs)

    def at(beta: Array, scores: Array) -> TwoNormPoint:
        b = best_intercept(signs, scores, costs)
        slacks = np.maximum(0.0, 1 - signs * (scores + b))
        value = float(beta @ scores) / 2 + float(costs @ slacks**2)
        apart = beta - 2 * costs * slacks * signs
        # K has no negative eigenvalue (`refuse_not_psd`): below zero is rounding, of that size.
        judged = _judgement(value, abs(float(apart @ (K @ apart))) / 2)
        return TwoNormPoint(beta, b, scores, slacks, judged)

    start = _hard_margin(K, ridge, signs, float(costs.sum()))
    now = best = at(start, K @ start)
    progress = Progress(max_iter, verbose)
    progress.step(now)
    while best.judged.distance > tol and not progress.exhausted:
        short = np.flatnonzero(now.slacks)
        block = K[np.ix_(short, short)]
        block[np.diag_indices_from(block)] += ridge[short]
        try:
            factor = cho_factor(block, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise NoFactorError from None
        of_signs, of_ones = cho_solve(
            factor, np.column_stack([signs, np.ones_like(signs)])[short]
        ).T
        step = -now.w
        step[short] += of_signs - of_signs.sum() / of_ones.sum() * of_ones
        score_step, length, trial = K @ step, 1.0, now
        while trial is now or not _better(trial, now):
            if length < SHORTEST_STEP:
                return best.result(progress)
            trial = at(now.w + length * step, now.scores + length * score_step)
            length /= 2
        now = trial
        progress.step(now)
        if now.judged.distance < best.judged.distance:
            best = now
    return best.result(progress)


def _better(trial: TwoNormPoint, now: TwoNormPoint) -> bool:
    """Lower, or nearer by its gap."""
    (value, gap, _), (before, gap_before, _) = trial.judged, now.judged
    return value < before or gap < gap_before


def _hard_margin(K: Array, ridge: Array, signs: Array, total_cost: float) -> Array:
    diagonal = np.einsum("ii->i", K)
    kept = diagonal.copy()
    diagonal += ridge
    # At the solution sum(alpha) = 2 P <= 2 sum(c): no multiplier reaches this bound, so the box
    # of the SVC is none. Its number of steps is bounded because it may never end on rounding.
    svm = SVC(C=2 * total_cost, kernel="precomputed", max_iter=max(10**5, 100 * signs.size))
    beta = np.zeros_like(signs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            svm.fit(K, signs)
        except ValueError:  # a ridge beyond what it can hold; zero is a start as well
            return beta
        finally:
            diagonal[:] = kept
    beta[svm.support_] = svm.dual_coef_[0]
    return beta
