"""Exact scores of rows by models that never saw them, without fitting these models.

See `spectrum` for the formulas. Scores are those of `dual` and `primal`,
eq. (8) and (11) of Pahikkala et al. 2008, trained on the other rows: zero at the midpoint of
the training classes' means. ``ridge`` is beside the mean over the training pairs, in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from everypair.linalg.matrix import Matrix
from everypair.rls.moments import PairMoments
from everypair.rls.pairs_won import pairs_won
from everypair.rls.primal import PrimalPath
from everypair.rls.spectrum import Smoothers, Spectrum, Totals, unmoved_block

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Decompose = Callable[[float], Spectrum]
"""From a ratio A / B to the spectrum of all rows under it."""

Run = Callable[[Sequence[Callable[[], Array]]], list[Array]]
"""Who does the folds: one after the other, or several at a time."""

MAX_DECOMPOSITIONS = 100
"""Distinct weights ask for a decomposition each; beyond this leave-pair-out is refused."""


# --- leave-pair-out -------------------------------------------------------------------


class PairsLeftOut:
    """Every positive–negative pair left out in turn."""

    def __init__(self, decompose: Decompose, positive: NDArray[np.bool_], weight: Array):
        self.weight = weight
        self.positives, self.negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
        for rows, name in ((self.positives, "positive"), (self.negatives, "negative")):
            if rows.size < 2:
                raise ValueError(
                    f"Leave-pair-out needs two rows of each class, but there is {rows.size} "
                    f"{name} row: give more rows, because without it no pair is left to train on."
                )
        self._decompose = decompose
        self._groups = list(self._by_totals())

    def _by_totals(self) -> Iterator[tuple[Totals, Index, Index]]:
        """Pairs that leave the same weights behind, as (totals, positives, negatives)."""
        high, low = self.weight[self.positives], self.weight[self.negatives]
        high_values, low_values = np.unique(high), np.unique(low)
        n_groups = high_values.size * low_values.size
        if n_groups > MAX_DECOMPOSITIONS:
            raise ValueError(
                "Leave-pair-out takes one decomposition for each combination of a positive's and "
                f"a negative's weight, here {high_values.size} x {low_values.size}; at most "
                f"{MAX_DECOMPOSITIONS} are done. Give few distinct sample weights, or a number "
                "of folds as cv."
            )
        for a in high_values:
            for b in low_values:
                totals = Totals(_sum_without(high, a), _sum_without(low, b))
                yield totals, np.flatnonzero(high == a), np.flatnonzero(low == b)

    def auc(self, ridges: Array) -> Array:
        """For each ridge the weighted share of pairs whose positive is ranked first."""
        won = np.zeros(ridges.size)
        for totals, rows, columns in self._groups:
            i, j = self.positives[rows], self.negatives[columns]
            smoothers = self._decompose(totals.ratio).at(ridges * totals.size)
            won += self.weight[i[0]] * self.weight[j[0]] * pairs_won(smoothers, i, j)
        total = self.weight[self.positives].sum() * self.weight[self.negatives].sum()
        return np.asarray(won / total)

    def differences(self, ridge: float) -> Array:
        """``f_i - f_j`` of each positive i (row) and negative j (column) left out together."""
        out = np.empty((self.positives.size, self.negatives.size))
        for totals, rows, columns in self._groups:
            i, j = self.positives[rows], self.negatives[columns]
            smoothers = self._decompose(totals.ratio).at(np.array([ridge * totals.size]))
            out[np.ix_(rows, columns)] = _differences(smoothers, i, j, totals)
        return out


def _sum_without(weights: Array, one: float) -> float:
    """The sum of all but one of this value; not by subtraction, as one may outweigh the others."""
    return float(np.delete(weights, np.argmax(weights == one)).sum())


def _differences(smoothers: Smoothers, i: Index, j: Index, totals: Totals) -> Array:
    """Two rows at a time: the 2 x 2 systems of all pairs, and the length of each solution."""
    y, root, T = smoothers.spectrum.y, smoothers.spectrum.root, smoothers.block(0, i, j)
    u, R, R_y, beta = (
        part[0] for part in (smoothers.u, smoothers.R_diagonal, smoothers.R_y, smoothers.beta)
    )
    R_ii, R_jj, R_ij = R[i][:, None], R[j], T - np.outer(u[i], u[j])
    right_i, right_j = beta[i][:, None] + T * y[j], beta[j] + T * y[i][:, None]
    determinant = R_ii * R_jj - R_ij**2
    f_i = (R_jj * right_i - R_ij * right_j) / determinant
    f_j = (R_ii * right_j - R_ij * right_i) / determinant
    moved = R_y[i][:, None] * (f_i - y[i][:, None]) + R_y[j] * (f_j - y[j])
    stretch = _stretch(smoothers.y_R_y[0] + moved, totals)
    return np.asarray(stretch * (f_i / root[i][:, None] - f_j / root[j]))


def _stretch(residual: Array | float, totals: Totals) -> Array | float:
    """``2 / (2 + t)`` of `dual`, where ``2 - t`` is the ridge part's residual over A B."""
    return 2 / (4 - residual / totals.size)


def one_by_one(tasks: Sequence[Callable[[], Array]]) -> list[Array]:
    return [task() for task in tasks]


# --- folds ------------------------------------------------------------------------------


def fold_scores_dual(
    decompose: Decompose,
    positive: NDArray[np.bool_],
    weight: Array,
    folds: Sequence[tuple[Index, Index]],
    ridges: Array,
    run: Run = one_by_one,
) -> list[Array]:
    """For each (train, test) the scores of the test rows, one column a ridge."""
    spectra: dict[float, Spectrum] = {}
    smoothers: dict[Totals, Smoothers] = {}
    tasks = []
    for train, test in folds:
        totals = Totals(
            float(weight[train[positive[train]]].sum()),
            float(weight[train[~positive[train]]].sum()),
        )
        if totals not in smoothers:
            if totals.ratio not in spectra:
                spectra[totals.ratio] = decompose(totals.ratio)
            smoothers[totals] = spectra[totals.ratio].at(ridges * totals.size)
        tasks.append(partial(_scores_of_one_fold, smoothers[totals], totals, train, test))
    return run(tasks)


def _scores_of_one_fold(smoothers: Smoothers, totals: Totals, train: Index, test: Index) -> Array:
    spectrum = smoothers.spectrum
    absent = np.ones(spectrum.root.size, dtype=bool)
    absent[train] = False
    H = np.flatnonzero(absent)
    wanted = np.searchsorted(H, test)
    V, y, root = spectrum.vectors[H], spectrum.y[H], spectrum.root[H]
    unmoved = None if spectrum.unmoved is None else unmoved_block(spectrum, H, H)
    scores = np.empty((test.size, smoothers.by_S.size))
    for k in range(smoothers.by_S.size):
        T, u, R_y = (V * smoothers.filters[k]) @ V.T, smoothers.u[k, H], smoothers.R_y[k, H]
        if unmoved is not None and not smoothers.by_S[k]:
            T += unmoved
        np.einsum("kk->k", T)[:] = 0.0
        right = smoothers.beta[k, H] + T @ y
        R = T - np.outer(u, u)
        np.einsum("kk->k", R)[:] = smoothers.R_diagonal[k, H]
        f = cho_solve(cho_factor(R, lower=True, overwrite_a=True, check_finite=False), right)
        stretch = _stretch(smoothers.y_R_y[k] + float(R_y @ (f - y)), totals)
        scores[:, k] = stretch * (f / root)[wanted]
    return scores


def fold_scores_primal(
    X: Matrix,
    positive: NDArray[np.bool_],
    weight: Array,
    folds: Sequence[tuple[Index, Index]],
    ridges: Array,
    run: Run = one_by_one,
) -> list[Array]:
    """The same from class moments: those of a training set are the sum of the other folds'."""
    every = _training_moments(X, positive, weight, folds)
    return run(
        [
            partial(_scores_by_moments, X, moments, test, ridges)
            for moments, (_, test) in zip(every, folds, strict=True)
        ]
    )


def _scores_by_moments(X: Matrix, moments: PairMoments, test: Index, ridges: Array) -> Array:
    return X.dot_rows(test, PrimalPath(moments).coefficients(ridges), moments.midpoint)


def _training_moments(
    X: Matrix, positive: NDArray[np.bool_], weight: Array, folds: Sequence[tuple[Index, Index]]
) -> Iterator[PairMoments]:
    def of(rows: Index) -> PairMoments:
        return PairMoments.of(X.take(rows), positive[rows], weight[rows])

    n_rows, n_columns = X.shape
    tested = np.bincount(np.concatenate([test for _, test in folds]), minlength=n_rows)
    whole = all(train.size + test.size == n_rows for train, test in folds)
    if not (whole and np.all(tested == 1)):
        yield from (of(train) for train, _ in folds)
        return
    parts = [of(test) for _, test in folds]
    none = PairMoments.none(n_columns)
    before = list(accumulate(parts, initial=none))
    after = list(accumulate(reversed(parts), initial=none))[::-1]
    yield from (before[k] + after[k + 1] for k in range(len(parts)))
