"""The solution of the hinge itself, from the rows that a rounded solution has at the margin.

At the solution, pairs at the margin tie their rows together: the positives of a tie have one score,
its *level*, and the negatives have that score less one. Every other pair is satisfied or violated,
and its multiplier is 0 or 1. With c0 the gradient of these pairs in score space, S the tied rows
and M[i, k] = 1 for row i of tie k, what is left of the optimality conditions is linear:

    alpha w = -X'c0 + X_S'q ,    X_S w = M level - [negative] ,    M'q = 0 .

q_i is what the pairs of the tie add to the multipliers of row i, with its sign. A row that would
need a q of the wrong sign, or more than its pairs can give, leaves its tie; a row that crosses a
level joins it (a primal-dual active set: Hintermuller, Ito & Kunisch 2002). Where nothing changes
any more, the multipliers of every row are within its bounds, and in most cases those of all rows
together are feasible, which `out_of_reach` measures: then w and the multipliers certify each other.
The price is a few factorisations of a matrix of the tied rows, which are known long before a
rounding is narrow enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from everypair.linalg.matrix import Matrix
from everypair.pairs.point import growth, usable
from everypair.pairs.ranked_classes import SortedScores
from everypair.pairs.sorted import HingePoint, HuberHingePoint, SquaredHingePoint
from everypair.penalties import L2
from everypair.rows import Rows
from everypair.solvers.problem import Iterate
from everypair.solvers.rounding import pulled
from everypair.solvers.row_grams import RowGrams

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_ROUNDS = 8
"""Changes of the ties: near the solution it takes two or three."""

MOST_GROWTH = 1.2
"""Of the number of tied rows: where it grows by more, the rounding is still too wide to tell."""

MOST_FAILURES = 2
"""Searches that end without a corner before no more are begun."""

GRAMS, GRAM_BYTES = 3, 2**25
"""Matrices of the tied rows that are held at a time, and what they may take; or as much as X."""

WORTH_OF_A_ROUND = 2000
"""A round may take as many multiplications as this many products with X. They stay in the cache and
run twenty times as fast, and hundreds of products are spared."""

APART = 1e-9
"""Between a level and the scores beside it, when the multipliers of all other pairs are counted:
no rounding then moves a pair to the wrong side of the margin."""

JITTER = 1e-13
"""Added to the diagonal in units of it: copies of a row share what they need."""


class Corner(NamedTuple):
    """A point with multipliers of its own."""

    w: Array
    scores: Array
    gradient: Array
    """In score space, of these multipliers."""


class CornerSearch:
    """Corners next to the solutions of narrower and narrower roundings of one problem."""

    def __init__(self, known: RowGrams):
        self._known = known
        self._failures = 0

    def beside(self, now: Iterate) -> Corner | None:
        """The corner next to the solution of a rounded hinge; None where none is found."""
        loss, penalty, X = now.loss, now.problem.penalty, now.problem.X
        if not isinstance(loss, HuberHingePoint) or not isinstance(penalty, L2):
            return None
        # Two rows or more make a tie, and each row beyond the first of its tie an equation.
        most, (low, high) = 2 * X.shape[1], loss.window(0)
        held = high > low
        many = np.count_nonzero(held) > most or loss.in_window.rows.size > most
        if many or not held.any() or loss.pairs.within is not None:
            return None
        return self._settled(_Ties.of(now, loss), penalty.alpha)

    def _settled(self, ties: _Ties, alpha: float) -> Corner | None:
        """The point at which these ties, or those that they lead to, stay as they are."""
        most = MOST_GROWTH * ties.n_rows
        after: _Ties | None = ties
        for k in range(MOST_ROUNDS):
            if after is None or after.n_rows > most or not after.may_pay(self._known.X):
                break
            if k == 0 and self._failures == MOST_FAILURES:
                break
            found = after.solved(self._known, alpha)
            if found is None:
                break
            corner, added = found
            before, after = after, after.after(corner.scores, added)
            if after is before:
                return corner
        self._failures += after is not ties
        return None


@dataclass(frozen=True)
class _Ties:
    """Which rows are tied, and on which side of the ties the others are."""

    pairs: Rows
    sign: Array
    """1 for positives, -1 for negatives."""
    raised: Array
    """Scores, those of negatives raised by one: a tie is where both have the same."""
    tie: Index
    """Of each row; -1 without one. Those with higher levels come first."""
    above: Index
    """How many levels are above a row that is not tied."""
    levels: Array

    @classmethod
    def of(cls, now: Iterate, loss: HuberHingePoint) -> _Ties:
        pairs, tie = loss.pairs, ties_of(loss)
        sign = np.full(pairs.n_rows, -1.0)
        sign[pairs.positives] = 1.0
        raised = now.scores + (sign < 0)
        levels = _means(raised, tie)
        return cls(pairs, sign, raised, tie, np.searchsorted(-levels, -raised), levels)

    @property
    def n_rows(self) -> int:
        return int(np.count_nonzero(self.tie >= 0))

    def may_pay(self, X: Matrix) -> bool:
        """Whether a solution may exist and does not cost too much."""
        n_rows, entries = self.n_rows, X.nbytes / 8
        multiplications = n_rows**2 * (entries / X.shape[0] + n_rows / 3)
        exists = n_rows - self.levels.size <= X.shape[1]
        small = GRAMS * 8 * n_rows**2 <= max(GRAM_BYTES, X.nbytes)
        return exists and small and multiplications <= WORTH_OF_A_ROUND * entries

    def solved(self, known: RowGrams, alpha: float) -> tuple[Corner, Array] | None:
        """The point where these rows are tied, and what is added to each tied row's multipliers;
        None where rounding or the rank of the rows leaves none."""
        rows = np.flatnonzero(self.tie >= 0)
        tie, negative = self.tie[rows], self.sign[rows] < 0
        fixed = HingePoint(SortedScores(self.pairs, self._apart())).gradient()
        X, gram = known.X, known.of(rows)
        slope = pulled(X, fixed)
        # Sums over a tie are zero, so this changes nothing but the rank.
        np.add(gram, np.trace(gram) / rows.size, out=gram, where=tie[:, None] == tie)
        gram[np.diag_indices_from(gram)] *= 1 + JITTER
        member = (tie[:, None] == np.arange(self.levels.size)).astype(float)
        try:
            factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
            of_right = X.dot(slope)[rows] - alpha * negative
            solved = cho_solve(factor, np.column_stack([member, of_right]), check_finite=False)
            inner = member.T @ solved[:, :-1]
            shifts = np.linalg.solve(inner, -(member.T @ solved[:, -1]))
        except LinAlgError:
            return None
        added = solved[:, :-1] @ shifts + solved[:, -1]
        gradient = fixed
        gradient[rows] -= added
        w = -pulled(X, gradient) / alpha
        scores = X.dot(w)
        if not usable(scores):
            return None
        return Corner(w, scores, gradient), self.sign[rows] * added

    def _apart(self) -> Array:
        """Scores on which exactly the ties are at the margin, `APART` on the satisfied side."""
        bounds = np.concatenate([[np.inf], self.levels, [-np.inf]])
        raised = np.clip(
            self.raised, bounds[self.above + 1] + 2 * APART, bounds[self.above] - 2 * APART
        )
        inside = self.tie >= 0
        raised[inside] = self.levels[self.tie[inside]] + APART * (self.sign[inside] > 0)
        return np.asarray(raised - (self.sign < 0))

    def after(self, scores: Array, added: Array) -> _Ties | None:
        """The ties that this solution asks for: these, others, or none that it could be."""
        share, n_ties = self.pairs.share, self.levels.size
        rows = np.flatnonzero(self.tie >= 0)
        tie, positive = self.tie[rows], self.sign[rows] > 0
        others = [
            np.bincount(tie[side], share[rows[side]], minlength=n_ties)
            for side in (~positive, positive)
        ]
        most = share[rows] * np.where(positive, others[0][tie], others[1][tie])
        satisfied, violated = added < 0, added > most
        raised = scores + (self.sign < 0)
        levels = _means(raised, self.tie)
        if not np.all(np.diff(levels) < 0):
            return None
        above, of_row = self.above.copy(), self.tie.copy()
        crossed = np.searchsorted(-levels, -raised)
        outside = (self.tie < 0) & (share > 0)
        up, down = outside & (crossed < above), outside & (crossed > above)
        if not (satisfied.any() or violated.any() or up.any() or down.any()):
            return self
        of_row[up], of_row[down] = above[up] - 1, above[down]
        # A positive that needs less than nothing is above its level; so is a negative that needs
        # more than there is.
        left = satisfied | violated
        of_row[rows[left]] = -1
        above[rows[left]] = tie[left] + (positive == violated)[left]
        both = [np.bincount(of_row[(of_row >= 0) & (self.sign == s)], minlength=n_ties)
                for s in (1, -1)]  # fmt: skip
        if not np.all(np.minimum(*both)):
            return None
        return replace(self, raised=raised, tie=of_row, above=above, levels=levels)


def ties_of(loss: SquaredHingePoint | HuberHingePoint) -> Index:
    """One tie for each run of windows that share rows: its number, by row; -1 without one.

    Those with higher levels come first.
    """
    (targets, sources), _ = loss.order.side(0)
    low, high = loss.window(0)
    held = np.flatnonzero(high > low)
    low, high = low[held], high[held]
    of_targets = np.cumsum(np.concatenate([[0], low[1:] >= high[:-1]]))
    windows = np.bincount(low, minlength=sources.rows.size + 1)
    windows -= np.bincount(high, minlength=sources.rows.size + 1)
    reached = np.flatnonzero(np.cumsum(windows)[:-1] > 0)
    of_sources = of_targets[np.searchsorted(high, reached, side="right")]
    tie = np.full(loss.pairs.n_rows, -1)
    tie[targets.rows[held]] = of_targets
    tie[sources.rows[reached]] = of_sources
    return tie


def _means(values: Array, tie: Index) -> Array:
    """Of the rows of each tie."""
    inside = tie >= 0
    return np.bincount(tie[inside], values[inside]) / np.bincount(tie[inside])


def out_of_reach(pairs: Rows, gradient: Array) -> float:
    """How much of the multipliers behind ``gradient`` no pairs can give: 0 where they are feasible.

    Row sums u_i and column sums v_j of ``a_i b_j theta_ij``, 0 <= theta <= 1, are those with equal
    totals and, for every k, ``sum_{i <= k} u_i <= sum_j min(v_j, b_j sum_{i <= k} a_i)``, where
    ``u_i / a_i`` descends (the theorem of Gale and Ryser 1957, with weights). The largest flow
    misses the total by the largest excess.
    """
    positives, negatives = pairs.positives, pairs.negatives
    u, v = -gradient[positives], gradient[negatives]
    a, b = pairs.share[positives], pairs.share[negatives]
    below = -(np.minimum(u, 0).sum() + np.minimum(v, 0).sum())
    without = u[a == 0].sum() + v[b == 0].sum()
    u, a, v, b = np.maximum(u[a > 0], 0), a[a > 0], np.maximum(v[b > 0], 0), b[b > 0]
    first, then = np.argsort(-u / a, kind="stable"), np.argsort(v / b, kind="stable")
    taken, room = np.cumsum(u[first]), np.cumsum(a[first])
    full = np.searchsorted((v / b)[then], room, side="right")
    of_full = np.concatenate([[0.0], np.cumsum(v[then])])[full]
    # From the far end: a difference of sums would lose the small ones.
    width = np.concatenate([np.cumsum(b[then][::-1])[::-1], [0.0]])[full]
    excess = float(np.max(taken - of_full - room * width, initial=0.0))
    unequal = abs(float(u.sum() - v.sum()))
    largest = float(np.max(room * width, initial=0.0) + u.sum() + v.sum())
    rounding = growth(u.size + v.size) * largest
    return float(below + abs(without) + excess + unequal + rounding)
