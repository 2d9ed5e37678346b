"""The hinge by coordinate ascent on its dual, for sparse rows: one row is read at a time.

    max_c  -sum_{i in P} c_i - |X'c|^2 / (2 alpha)    over the c that multipliers of pairs make

(`pairs.projected`); ``w = -X'c / alpha``. At the solution the rows at the margin are in a few ties.
While these stay as they are, the multiplier of each tied row has bounds of its own, those of a tie
sum to what they must, and every other multiplier is known. That is the dual of a support vector
machine with an intercept for each tie, and coordinate ascent solves it as it does those (Hsieh et
al. 2008): a multiplier goes where its row's score is at the level of its tie. The level follows the
sum of its rows, which makes an augmented Lagrangian of the condition on the sum.

A round is some sweeps over the tied rows, the scores of all rows, and the feasible c nearest to
``c + d (s - [positive])``: it has ties again, other rows in them, and certifies the hinge. The
first round has all rows in one tie. Rows are short and few at the margin, so that a sweep costs a
sixth of a product with X on text, and no pass has to tell a direction to all coefficients at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import ascend_rows
from everypair.pairs.point import usable
from everypair.pairs.projected import Projected, all_tied, project
from everypair.pairs.sorted import HingePoint, SortedScores
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.corner import Corner
from everypair.solvers.hinge import Limit
from everypair.solvers.problem import Iterate
from everypair.solvers.progress import Progress
from everypair.solvers.result import Result

Array = NDArray[np.float64]

SHARE, MOST_SWEEPS, FIRST_SWEEPS = 0.1, 20, 5
"""Sweeps of a round end where the largest distance from a level is this share of the first, or
after so many: the first rounds tell no more than which rows are tied."""

STIFFNESS = 0.1
"""Of a level, in units of a row's product with itself over alpha."""

REACH = 1.5
"""The d of a round, in units of alpha over a row's product with itself. With less of it ties hold
rows for longer that do not belong to them, and with much more c moves too far."""

MOST_ROUNDS, MOST_READ = 60, 60
"""The latter in readings of all rows. Where that is not enough, columns are badly scaled or alpha
is tiny, and Newton's method goes on from there."""

LAGGING, LEAST_GAIN = 5, 0.5
"""So many rounds have to take off this share of the gap."""


class _Found(NamedTuple):
    """The best primal and dual points so far, and what they are worth."""

    w: Array
    scores: Array
    value: float
    gradient: Array
    dual: float

    @property
    def gap(self) -> float:
        return (self.value - self.dual) / self.value if self.value > 0 else np.inf


def hinge_by_ascent(start: Iterate, progress: Progress) -> tuple[Iterate, Result | None]:
    """The solution from ``start``, which is zero; without one, where to go on from."""
    X, pairs = start.problem.X, start.loss.pairs
    arrays = getattr(X, "compressed_rows", None)
    if arrays is None or start.w.any() or pairs.within is not None:
        return start, None
    if not isinstance(start.problem.penalty, L2):
        return start, None
    squares: Array = X.squared_rows  # type: ignore[attr-defined]
    size = float(squares.mean())
    if not 0 < size < np.inf:
        return start, None
    ascent = _Ascent(start, arrays, squares, size)
    limit, gaps, tol = Limit(start), [], start.problem.tol
    while not progress.exhausted and len(gaps) < MOST_ROUNDS:
        if not ascent.round():
            break
        found = ascent.found
        gaps.append(found.gap)
        progress.record(found.value, found.gap)
        if found.gap <= tol:
            limit.take(Corner(found.w, found.scores, found.gradient))
            if limit.judged.done(tol):
                limit.settle()
            if limit.judged.done(tol):
                return start, replace(limit.result(progress), rounded=None)
        lags = len(gaps) > LAGGING and gaps[-1] > LEAST_GAIN * gaps[-1 - LAGGING]
        if lags or ascent.n_read > MOST_READ * pairs.n_rows:
            break
    if ascent.found.value < start.judged.objective:
        start = start.problem.at(ascent.found.w)
    return start, None


class _Ascent:
    def __init__(self, start: Iterate, arrays: tuple[Array, ...], squares: Array, size: float):
        self._problem, self._pairs = start.problem, start.loss.pairs
        self._arrays, self._squares = arrays, squares
        self._alpha = start.problem.quadratic.alpha
        pairs = self._pairs
        self._margin = pairs.positive.astype(np.float64)
        self._level_stiffness = STIFFNESS * size / self._alpha
        # Shares sum to one in each class.
        of_class = [np.count_nonzero(pairs.share[rows]) for rows in pairs.classes]
        self._stiffness = tuple(REACH * self._alpha / size * n for n in of_class)
        self._inverse = _inverse(pairs, self._stiffness)
        self._random = np.ones(1, dtype=np.uint64)
        self._held = all_tied(pairs)
        self._pulled = np.zeros(start.w.size)
        self.found = _Found(start.w, start.scores, start.value, self._held.gradient, -np.inf)
        self.n_read, self._n_rounds = 0, 0

    def round(self) -> bool:
        """False where the scores overflow."""
        held, problem, alpha = self._held, self._problem, self._alpha
        rows = np.flatnonzero(held.lower < held.upper)
        gradient, pulled = held.gradient.copy(), self._pulled
        self.n_read += ascend_rows(
            *self._arrays, self._squares, self._margin, alpha, self._level_stiffness,
            held.tie, held.lower, held.upper,
            FIRST_SWEEPS if self._n_rounds < 2 else MOST_SWEEPS, SHARE,
            rows, self._random, held.levels.copy(), pulled, gradient,
        )  # fmt: skip
        self._n_rounds += 1
        w = pulled / -alpha
        scores = problem.X.dot(w)
        if not usable(scores):
            return False
        value = HingePoint(SortedScores(self._pairs, scores)).value() + problem.penalty.value(w)
        ahead = scores - self._margin + gradient * self._inverse
        held = self._held = project(self._pairs, ahead, self._stiffness)
        pulled = self._pulled = problem.X.pull_back(held.gradient)
        multipliers = -float(held.gradient[self._pairs.positives].sum())
        dual = multipliers - float(pulled @ pulled) / (2 * alpha)
        found = self.found
        if value < found.value:
            found = found._replace(w=w, scores=scores, value=value)
        if dual > found.dual:
            found = found._replace(gradient=held.gradient, dual=dual)
        self.found = found
        return True


def _inverse(pairs: Rows, stiffness: tuple[float, ...]) -> Array:
    """1 / d, by row; zero for a row without weight."""
    d = pairs.share * np.where(pairs.positive, *stiffness)
    return np.divide(1.0, d, out=np.zeros(d.size), where=d > 0)
