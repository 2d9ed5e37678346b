"""The 2-norm SVM on given features: Newton with the intercept always at its best.

    P(w, b) = 1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (g_i . w + b))^2

With b minimised over, the multipliers ``2 c_i xi_i`` satisfy ``sum_i y_i alpha_i = 0``, so they
are dual feasible and certify w: ``P - D = |grad_w P|^2 / 2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]

SHORTEST_STEP = 2.0**-40


@dataclass(frozen=True)
class TwoNormFit:
    coef: Array
    intercept: float
    scores: Array
    """Without the intercept."""
    slacks: Array
    objective: float
    gap: float
    """Relative."""
    n_iter: int


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
    features: Array, signs: Array, costs: Array, tol: float, max_iter: int
) -> TwoNormFit:
    """Newton steps on the rows that fall short, until the relative gap is at most ``tol``."""

    def at(w: Array, scores: Array, n_iter: int) -> TwoNormFit:
        b = best_intercept(signs, scores, costs)
        slacks = np.maximum(0.0, 1 - signs * (scores + b))
        value = float(w @ w) / 2 + float(costs @ slacks**2)
        slope = w - features.T @ (2 * costs * slacks * signs)
        gap = float(slope @ slope) / 2 / value if value > 0 else 0.0
        return TwoNormFit(w, b, scores, slacks, value, gap, n_iter)

    now = at(np.zeros(features.shape[1]), np.zeros(features.shape[0]), 0)
    while now.gap > tol and now.n_iter < max_iter:
        short = now.slacks > 0
        weights = 2 * costs[short]
        # The intercept moves along: the Hessian is about the mean of the short rows.
        rows = features[short] - weights @ features[short] / weights.sum()
        rows *= np.sqrt(weights)[:, None]
        hessian = rows.T @ rows
        hessian[np.diag_indices_from(hessian)] += 1.0
        slope = now.coef - features.T @ (2 * costs * now.slacks * signs)
        step = -cho_solve(cho_factor(hessian, lower=True), slope)
        score_step, length = features @ step, 1.0
        while True:
            trial = at(now.coef + length * step, now.scores + length * score_step, now.n_iter + 1)
            if trial.objective < now.objective:
                now = trial
                break
            length /= 2
            if length < SHORTEST_STEP:
                return now
    return now
