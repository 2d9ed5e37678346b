"""L1 logistic regression on signed points by proximal gradient: what CPAUC runs on its centres.

    min_b  sum_m v_m log(1 + exp(-c_m . b)) + alpha |b|_1        (Kim & Shin 2024, eq. 3.1)

The step of the paper (eq. 3.2) with Nesterov's momentum, restarted where it points uphill
(O'Donoghue & Candes 2015): the same limit in fewer steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from everypair.solvers.progress import Judgement, Progress

Array = NDArray[np.float64]

STEPS_A_CHECK = 10


class PointwisePoint:
    """Objective and relative duality gap at b, the multipliers scaled until feasible."""

    def __init__(self, points: Array, weights: Array, alpha: float, b: Array):
        margins = points @ b
        value = float(weights @ np.logaddexp(0, -margins)) + alpha * float(np.abs(b).sum())
        multipliers = expit(-margins)
        pull = float(np.abs(points.T @ (weights * multipliers)).max())
        multipliers *= min(1.0, alpha / pull) if pull > 0 else 1.0
        dual = float(weights @ (entr(multipliers) + entr(1 - multipliers)))
        self.b, self.judged = b, Judgement(value, max(value - dual, 0.0) / value)


def proximal_gradient(
    points: Array, weights: Array, alpha: float, tol: float, progress: Progress
) -> PointwisePoint:
    """From b = 0 until the relative gap is at most ``tol``, looked at every ten steps."""
    largest = float(np.linalg.norm(points * np.sqrt(weights)[:, None], 2)) ** 2 / 4
    now = PointwisePoint(points, weights, alpha, np.zeros(points.shape[1]))
    if largest == 0:
        return now
    length = 1 / largest
    b = ahead = now.b
    momentum = 1.0
    while now.judged.distance > tol and not progress.exhausted:
        for _ in range(STEPS_A_CHECK):
            slope = -points.T @ (weights * expit(-(points @ ahead)))
            moved = ahead - length * slope
            new = np.sign(moved) * np.maximum(0, np.abs(moved) - length * alpha)
            if (ahead - new) @ (new - b) > 0:
                momentum = 1.0
            grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / grown * (new - b)
            b, momentum = new, grown
        now = PointwisePoint(points, weights, alpha, b)
        progress.step(now)
    return now
