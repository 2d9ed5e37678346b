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
from everypair.pairs.projected import all_tied, project
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.corner import Corner
from everypair.solvers.hinge import Limit
from everypair.solvers.problem import Iterate
from everypair.solvers.progress import Progress
from everypair.solvers.result import Result

Array = NDArray[np.float64]

SHARE, MOST_SWEEPS, FIRST_SWEEPS = 0.1, 20, 2
"""Sweeps of a round end where the largest distance from a level is this share of the first, or
after so many. The first round has few, and each has twice as many as the last while the dual value
rises: early ties are not yet those of the solution."""

STIFFNESS = 0.1
"""Of a level, in units of a row's product with itself over alpha."""

REACH, STIFFEST = 1.5, 3.0
"""The d of a round, in units of alpha over a row's product with itself, and in units of the share
of a row. With less of it ties hold rows for longer that do not belong to them, and with much more c
moves too far."""

MOST_SHORTER, SHORTER, LONGER = 3, 2.0, 1.2
"""Where the dual value falls less reach is tried, so often and by so much; it comes back slowly."""

FEWER, LEAST_REACH, FINER = 4, 0.1, 0.5
"""Where it falls nevertheless and is far from the solution, the new ties are taken all the same,
and the next round has fewer sweeps by the first factor and at least the second share of the reach.
Near the solution the best ties are tried once more, by sweeps that end at a finer share from then
on."""

MOST_ROUNDS, MOST_READ = 40, 60
"""The latter in readings of all rows. Reuters "acq" with alpha 1e-5 takes 57."""

LEAST_ALPHA = 3e-6
"""In units of a row's product with itself. Reuters topics converge at 1e-5 and not at 1e-6."""

LAGGING, LEFT, NEAR = 5, 0.25, 1e-2
"""So many rounds have to leave at most this share of a gap that is not near zero. Where they do
not, few rows are tied or columns are badly scaled, and Newton's method is faster from there. From
near the solution it is not: it would begin with a rounding that is narrow and far from solved."""


class _Best(NamedTuple):
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
    arrays, tol = getattr(X, "compressed_rows", None), start.problem.tol
    plain = isinstance(start.problem.penalty, L2) and pairs.within is None
    if arrays is None or not plain or start.w.any() or start.judged.done(tol):
        return start, None
    size = float(arrays[-1].mean())
    if not 0 < LEAST_ALPHA * size <= start.problem.quadratic.alpha:
        return start, None
    ascent, limit = _Ascent(start, arrays, size), Limit(start)
    gaps: list[float] = []
    n_before = progress.n_iter
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
        lags = len(gaps) > LAGGING and gaps[-1] > max(NEAR, LEFT * gaps[-1 - LAGGING])
        if lags or ascent.n_read > MOST_READ * pairs.n_rows:
            break
    found = ascent.found
    if found.value < start.judged.objective and (found.gap > NEAR or progress.exhausted):
        return start.problem.at(found.w), None
    if not progress.exhausted:  # what follows begins anew
        del progress.history[len(progress.history) - (progress.n_iter - n_before) :]
        progress.n_iter = n_before
    return start, None


class _Ascent:
    """Rounds from c = 0, where all rows are in one tie."""

    def __init__(self, start: Iterate, arrays: tuple[Array, ...], size: float):
        self._problem, self._pairs = start.problem, start.loss.pairs
        self._arrays = arrays
        self._alpha = start.problem.quadratic.alpha
        pairs = self._pairs
        self._margin = pairs.positive.astype(np.float64)
        self._level_stiffness = STIFFNESS * size / self._alpha
        # Shares sum to one in each class.
        of_class = [np.count_nonzero(pairs.share[rows]) for rows in pairs.classes]
        self._stiffness = self._alpha / size * np.array(of_class, dtype=np.float64)
        self._inverse = _inverse(pairs, self._stiffness)
        self._most_reach = min(REACH, STIFFEST / float(self._stiffness.max()))
        self._reach, self._sweeps = self._most_reach, FIRST_SWEEPS
        self._share, self._dual, self._again = SHARE, 0.0, False
        self._random = np.ones(1, dtype=np.uint64)
        self._held = self._best = all_tied(pairs)
        self._pulled = np.zeros(start.w.size)
        self.found = _Best(start.w, start.scores, start.judged.objective, self._held.gradient, 0.0)
        self.n_read = 0

    def round(self) -> bool:
        """False where the scores overflow."""
        held, problem, alpha = self._held, self._problem, self._alpha
        rows = np.flatnonzero(held.lower < held.upper)
        gradient, pulled = held.gradient.copy(), self._pulled
        self.n_read += ascend_rows(
            *self._arrays, self._margin, alpha, self._level_stiffness,
            held.tie, held.lower, held.upper, self._sweeps, self._share,
            rows, self._random, held.levels.copy(), pulled, gradient,
        )  # fmt: skip
        w = pulled / -alpha
        scores = problem.X.dot(w)
        if not usable(scores):
            return False
        value = HingePoint(SortedScores(self._pairs, scores)).value() + problem.penalty.value(w)
        found = self.found
        if value < found.value:
            found = found._replace(w=w, scores=scores, value=value)
        dual = self._project(scores - self._margin, gradient)
        for _ in range(MOST_SHORTER):
            if dual >= self._dual:
                break
            self._reach /= SHORTER
            dual = self._project(scores - self._margin, gradient)
        if dual >= self._dual:
            self._reach = min(LONGER * self._reach, self._most_reach)
            self._sweeps = min(2 * self._sweeps, MOST_SWEEPS)
            self._again = False
        elif found.gap > NEAR or self._again:
            self._again = False
            self._reach = max(self._reach, LEAST_REACH * self._most_reach)
            self._sweeps = max(1, self._sweeps // FEWER)
        else:
            self._reach, self._share = self._most_reach, self._share * FINER
            self._held, dual, self._again = self._best, found.dual, True
            self._pulled = problem.X.pull_back(self._held.gradient)
        self._dual = dual
        if dual > found.dual:
            found, self._best = found._replace(gradient=self._held.gradient, dual=dual), self._held
        self.found = found
        return True

    def _project(self, ahead: Array, gradient: Array) -> float:
        """The dual value of the new c, within reach."""
        stiffness = self._reach * self._stiffness
        ahead = ahead + gradient * (self._inverse / self._reach)
        held = self._held = project(self._pairs, ahead, stiffness)
        pulled = self._pulled = self._problem.X.pull_back(held.gradient)
        multipliers = -float(held.gradient[self._pairs.positives].sum())
        return multipliers - float(pulled @ pulled) / (2 * self._alpha)


def _inverse(pairs: Rows, stiffness: Array) -> Array:
    """1 / d, by row; zero for a row without weight."""
    d = pairs.share * np.where(pairs.positive, *stiffness)
    return np.divide(1.0, d, out=np.zeros(d.size), where=d > 0)
