"""Trust-region Newton-CG: Hessian products only, for sparse or wide X and non-convex losses.

Each step minimises the quadratic model inside a trust region by preconditioned conjugate
gradients (Steihaug 1983), which stop at its edge or where the curvature turns negative. A step
that does not pay is shortened along itself before the region is asked again (Nocedal & Yuan
1998), and one that ends on a slope goes on (`search_line`): the scores along it are known, so a
trial costs one pair sum.

A hinge is curved at the rows that have a pair in its window, and products read no others
(`CurvedRows`): near the solution of a wide problem they are a small share of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import rows_that_count, too_large
from everypair.linalg.vectors import moved, sizes
from everypair.pairs.sorted import HuberHingePoint
from everypair.solvers.falling_alpha import through_alphas
from everypair.solvers.line_search import search_line
from everypair.solvers.problem import Iterate, Stop
from everypair.solvers.progress import Progress

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LARGEST_FORCING, FORCING_APART = 0.1, 0.03
COPIED_SHARE_FOR_MANY = 0.4
"""Where the classes come apart a third of the rows is left in the window, and as many under a
rounded hinge; each step takes many products there."""

ROUGH_FORCING = 0.3
"""Of a step whose end tells which rows count, and no more than that."""

PROMISED_GAP_SHARE = 0.5
"""Conjugate gradients end where they promise this share of the gap that would do."""

MAX_CG_STEPS = 500

PRODUCTS_A_STEP = 5
"""A step costs about as much beside its products: a gradient, a preconditioner, trial points. A
small region makes steps of a single product, and any number of them would not end patience."""


@dataclass
class Patience:
    """Products left before another way may be cheaper."""

    products: float

    @property
    def is_over(self) -> bool:
        return self.products < 0


def newton_cg(
    now: Iterate, stop: Stop, progress: Progress, patience: Patience | None = None
) -> Iterate:
    """Steps from ``now`` until ``stop``, no way down, or the end of patience."""
    begin = through_alphas(now, progress, partial(_descend, apart=True))
    return _descend(begin, stop, progress, patience, apart=begin is not now)


def _descend(
    now: Iterate,
    stop: Stop,
    progress: Progress,
    patience: Patience | None = None,
    apart: bool = False,
) -> Iterate:
    """``apart``: without a region, by finer solutions of the model. The line search shortens what
    is too long, and a region would keep later steps as short as that."""
    radius = np.inf
    first_norm: float | None = None
    while not stop(now) and not progress.exhausted:
        many = apart or isinstance(now.loss, HuberHingePoint)
        curved = CurvedRows(now, COPIED_SHARE_FOR_MANY if many else None)
        preconditioner = _diagonal(now, curved)
        residual_norm = _norm(now.gradient, 1 / preconditioner)
        first_norm = first_norm or residual_norm
        if residual_norm == 0:
            break
        # Quadratic convergence near the end, no more work than that needs before it.
        forcing = min(
            FORCING_APART if apart else LARGEST_FORCING, np.sqrt(residual_norm / first_norm)
        )
        enough = np.sqrt(
            2 * now.problem.quadratic.alpha * PROMISED_GAP_SHARE * stop.gap_wanted(now)
        )
        step, score_step, predicted, at_edge, n_products = _steihaug(
            now, curved, preconditioner, radius, forcing * residual_norm, enough
        )
        after = search_line(now, step, score_step)
        if after is None:
            break
        length = _norm(after.w - now.w, preconditioner)
        ratio = (now.value - after.value) / predicted if predicted > 0 else 0.0
        if ratio > 0.75 and at_edge:
            radius = 3 * length
        elif ratio < 0.25 and not apart:
            radius = length / 4
        now = after
        progress.step(now)
        if patience is not None:
            patience.products -= n_products + PRODUCTS_A_STEP
            if patience.is_over:
                break
    return now


def rough_step(now: Iterate) -> Iterate | None:
    """Where a step of a product or a few leads; None where there is no way down.

    All rows are read, and the columns' own spreads precondition: they are known.
    """
    X, loss = now.problem.X, now.loss
    of_rows = float(loss.curvature().sum()) / X.shape[0]
    preconditioner = of_rows * X.sizes.spreads**2 + now.problem.quadratic.alpha
    tolerance = ROUGH_FORCING * _norm(now.gradient, 1 / preconditioner)
    step, score_step, *_ = _steihaug(
        now, CurvedRows(now, 0.0), preconditioner, np.inf, tolerance, 0.0
    )
    return search_line(now, step, score_step)


class CurvedRows:
    """``X'HX`` at one point, by the rows where H is not zero.

    A row without curvature has no pair in the window of the loss: its row and column of H are
    zero.
    """

    def __init__(self, now: Iterate, most: float | None = None):
        """``most``: the share of the rows up to which they are copied."""
        self._loss, self.X = now.loss, now.problem.X
        self._rows: Index | None = None
        few = rows_that_count(self.X, now.loss.curvature(), most)
        if few is not None:
            self.X, self._rows = few
        # Inside groups a mean of all rows does not keep the digits of each group.
        alone = few is not None and getattr(now.loss.pairs, "within", None) is None
        self._in_window = getattr(now.loss, "in_window", None) if alone else None

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return self._rows is None

    @property
    def curvature(self) -> Array:
        """Of these rows, without its sign."""
        of_all = self._loss.curvature()
        rows: Array = sizes(of_all if self._rows is None else of_all[self._rows])
        return rows

    def product(self, along: Array) -> Array:
        """``H`` times the change of these rows' scores."""
        if self._rows is None:
            return self._loss.product(along)
        if self._in_window is not None:
            return self._in_window.product(along)
        # A value amid them for the others, which count for nothing: it is taken off again.
        whole = np.full(self._loss.pairs.n_rows, along.mean() if along.size else 0.0)
        whole[self._rows] = along
        return self._loss.product(whole)[self._rows]


def _diagonal(now: Iterate, curved: CurvedRows) -> Array:
    """Jacobi preconditioner: the Hessian's diagonal without the cross terms of the pairs.

    Pairs do not see a shift of a column, so neither may its scale: the squares are taken
    about the column's mean, ``sum d x^2 - (sum d x)^2 / sum d``.
    """
    curvature = curved.curvature
    sums, spread = curved.X.pull_back_moments(curvature)
    total = curvature.sum()
    if total > 0:
        spread = np.maximum(spread - sums**2 / total, 1e-12 * spread)
    diagonal = spread + now.problem.quadratic.alpha
    if not np.all(np.isfinite(diagonal)):
        raise too_large("their squares overflow")
    return diagonal


def _norm(vector: Array, weights: Array) -> float:
    return float(np.sqrt(vector @ (weights * vector)))


def _steihaug(
    now: Iterate,
    curved_rows: CurvedRows,
    preconditioner: Array,
    radius: float,
    tolerance: float,
    enough: float,
) -> tuple[Array, Array, float, bool, int]:
    """``(step, X @ step, predicted decrease, at the edge, products)`` of the quadratic model.

    The residual is the gradient that the model promises: it ends below ``tolerance`` in the
    preconditioner's norm, or below ``enough`` in the plain one, which makes the gap.
    """
    X, alpha = now.problem.X, now.problem.quadratic.alpha
    rough = curved_rows.X.rough  # a direction needs no more
    keeps_scores = rough.keeps_products and curved_rows.whole
    step, score_step = np.zeros_like(now.w), X.zero_scores
    residual = -now.gradient
    conditioned = residual / preconditioner
    direction = conditioned.copy()
    reduction = float(residual @ conditioned)
    decrease, outside, n_products = 0.0, False, 0
    while n_products < MAX_CG_STEPS:
        n_products += 1
        along = rough.dot(direction)
        curved = rough.pull_back(curved_rows.product(along)) + alpha * direction
        curvature = float(direction @ curved)
        length = reduction / curvature if curvature > 0 else np.inf
        to_edge = _distance_to_edge(step, direction, preconditioner, radius)
        outside = length >= to_edge
        if outside:
            # Without a region yet, negative curvature gives a direction but no length.
            length = to_edge if np.isfinite(to_edge) else 1.0
        step += length * direction
        if keeps_scores:
            score_step = moved(score_step, length, along)
        decrease += length * (float(residual @ direction) - length / 2 * curvature)
        if outside:
            break
        residual -= length * curved
        conditioned = residual / preconditioner
        before, reduction = reduction, float(residual @ conditioned)
        if np.sqrt(reduction) <= tolerance or np.linalg.norm(residual) <= enough:
            break
        direction = conditioned + (reduction / before) * direction
    if not keeps_scores:
        score_step = X.dot(step)
    return step, score_step, decrease, outside, n_products


def _distance_to_edge(step: Array, direction: Array, weights: Array, radius: float) -> float:
    """How far along ``direction`` the step may go before its norm reaches ``radius``."""
    if not np.isfinite(radius):
        return np.inf
    a = float(direction @ (weights * direction))
    b = float(step @ (weights * direction))
    c = max(0.0, radius**2 - float(step @ (weights * step)))
    return c / (b + np.sqrt(b * b + a * c)) if b > 0 else (np.sqrt(b * b + a * c) - b) / a
