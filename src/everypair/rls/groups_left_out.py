"""Exact scores of groups by models that never saw them, from one decomposition.

Inside a group, with the mean scores m+ and m- of its classes,

    sum_ij a_i b_j (f_i - f_j - 1)^2 = sum_P a_i (f_i - m+)^2 + sum_N b_j (f_j - m-)^2
                                       + (m+ - m- - 1)^2 ,

so the mean over the pairs inside groups is ``|C f - t|^2``: C has an entry for each row and one for
each group, and t is ``sqrt(omega_g)`` at the groups. Without group g the other groups only gain the
factor ``1 / (1 - omega_g)``. For ``f = B w`` with ``C B = U diag(sqrt(l))`` the model of the others
has, with H the entries of the group and ``ridge' = ridge (1 - omega_g)``,

    (I - S_HH) (C f)_H = S t|_H - S_HH t_H ,    S = U diag(l / (l + ridge')) U' ,

as in `spectrum`; a group of more rows than columns solves for the coefficients instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix, as_matrix
from everypair.rls.moments import PairMoments
from everypair.rls.primal import PrimalPath
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Fold = tuple[Index, Index]
Run = Callable[[Sequence[Callable[[], Array]]], list[Array]]

STRIPE_ENTRIES, BATCH_ENTRIES = 2**22, 2**20
"""Scores that are kept at a time, and entries of the systems that are solved at a time."""

LEAST_LEFT, LEAST_RIDGE = 1e-4, 1e-12
"""The share of the weight that the other groups have, and their ridge in units of the largest
curvature. Below either they are fitted by themselves: a difference would be mostly rounding."""

EQUAL_SCORES = 2.0**-36
"""Scores are kept to this share of the largest: what is nearer than that is rounding."""


class GroupsLeftOut:
    """Every group left out in turn.

    ``features`` are the rows of X, or of any B with ``B B'`` the kernel matrix. All rows have a
    pair.
    """

    def __init__(self, features: Array, rows: Rows):
        paired = rows.paired
        if paired.n_groups < 2:
            raise ValueError(
                "cv='leave-group-out' needs two groups of within that have a pair, and there is "
                "one: give a number of folds as cv."
            )
        self._rows, self._omega = rows, paired.weight
        self._features = features = features - features.mean(axis=0)
        entries, codes, numbers = _entries(features, rows)
        order = np.argsort(codes, kind="stable")  # a group's entry comes after those of its rows
        entries, self._numbers = entries[order], numbers[order]
        self._sizes = np.bincount(codes, minlength=paired.n_groups)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        triangle = np.linalg.qr(entries, mode="r")
        _, roots, vectors = np.linalg.svd(triangle, full_matrices=False)
        least = float(np.sqrt(np.finfo(float).tiny))
        kept = roots > max(max(entries.shape) * np.finfo(float).eps * float(roots[0]), least)
        kept[rows.n_rows - paired.n_groups :] = False  # no more are free
        self._full = np.count_nonzero(kept) == rows.n_rows - paired.n_groups
        self._values = roots[kept] ** 2
        basis = vectors[kept].T / roots[kept]
        self._U = entries @ basis
        self._B = np.zeros_like(self._U)
        self._B[self._numbers >= 0] = (features @ basis)[self._numbers[self._numbers >= 0]]
        self._t = np.where(self._numbers < 0, np.sqrt(np.repeat(self._omega, self._sizes)), 0.0)
        self._along = self._t @ self._U
        self._free = self._t - self._U @ self._along
        self._root = np.zeros(self._t.size)
        of_rows = self._numbers[self._numbers >= 0]
        self._root[self._numbers >= 0] = np.sqrt(rows.inside[of_rows])

    def auc(self, ridges: Array) -> Array:
        """For each ridge the AUC inside the groups, each scored by the model of the others."""
        from everypair.pairs import auc

        won = np.zeros(ridges.size)
        for groups in self._stripes(ridges.size):
            numbers, scores = self.scores(groups, ridges)
            part = self._rows.take(numbers)
            areas = [auc(part, np.ascontiguousarray(column)) for column in scores.T]
            won += float(self._omega[groups].sum()) * np.array(areas)
        return won

    def scores(self, groups: Index, ridges: Array) -> tuple[Index, Array]:
        """The rows of these groups, and their scores by the models of the others, a column for
        each ridge. The level of the scores of a group means nothing."""
        numbers, scores = [], []
        for some in self._batches(groups):
            at = self._starts[some][:, None] + np.arange(self._sizes[some[0]])
            numbers.append(self._numbers[at[:, :-1]].ravel())
            found = np.stack([self._of_batch(some, at, ridge) for ridge in ridges], axis=-1)
            scores.append(_without_rounding(found, axis=1).reshape(-1, ridges.size))
        return np.concatenate(numbers), np.concatenate(scores)

    def _stripes(self, n_ridges: int) -> Iterator[Index]:
        """The groups by size, as many at a time as have a given number of scores."""
        order = np.argsort(self._sizes, kind="stable")
        stripe = np.cumsum(self._sizes[order]) * n_ridges // STRIPE_ENTRIES
        yield from np.split(order, np.flatnonzero(np.diff(stripe)) + 1)

    def _batches(self, groups: Index) -> Iterator[Index]:
        """Groups of one size, as many at a time as have systems of a given size."""
        heavy = self._leaves_little(groups)
        yield from groups[heavy][:, None]
        groups = groups[~heavy]
        sizes = self._sizes[groups]
        for size in np.unique(sizes):
            members = groups[sizes == size]
            step = max(1, BATCH_ENTRIES // int(size * max(size, self._values.size)))
            yield from np.split(members, np.arange(step, members.size, step))

    def _of_batch(self, groups: Index, at: Index, ridge: float) -> Array:
        """Scores of groups of one size, a line each."""
        rest = ridge * (1 - self._omega[groups])[:, None]
        many = at.shape[1] > self._values.size
        tiny = not many and rest.min() < LEAST_RIDGE * self._values.max(initial=0.0)
        if tiny or self._leaves_little(groups).any():
            return np.stack([self._refitted(rows, ridge) for rows in self._numbers[at[:, :-1]]])
        kept, shrunk = self._values / (self._values + rest), rest / (self._values + rest)
        U, t = self._U[at], self._t[at]
        if many:
            root = np.sqrt(kept)
            # The others' curvature is a difference: what this group has is taken off.
            inner = U * root[:, None, :]
            matrix = np.eye(self._values.size) - np.swapaxes(inner, 1, 2) @ inner
            right = root * (self._along - _times(np.swapaxes(U, 1, 2), t))
            v = root * _solve(matrix, right)
        else:
            if ridge >= self._values.max(initial=0.0):
                S = (U * kept[:, None, :]) @ np.swapaxes(U, 1, 2)
                matrix = np.eye(at.shape[1]) - S
                right = _times(U, kept * self._along) - _times(S, t)
            else:
                matrix = self._unmoved(at, U) + (U * shrunk[:, None, :]) @ np.swapaxes(U, 1, 2)
                right = _times(matrix, t) - _times(U, shrunk * self._along)
                if not self._full:
                    right -= self._free[at]
            f = _solve(matrix, right)
            v = kept * (self._along - _times(np.swapaxes(U, 1, 2), t - f))
        return _times(self._B[at[:, :-1]], v)

    def _leaves_little(self, groups: Index) -> NDArray[np.bool_]:
        """One group at most has nearly all weight."""
        return np.asarray(self._omega[groups] > 1 - LEAST_LEFT)

    def _refitted(self, test: Index, ridge: float) -> Array:
        """Scores of a group's rows by a model of the others that is fitted by itself."""
        train = np.delete(np.arange(self._rows.n_rows), test)
        others = as_matrix(np.ascontiguousarray(self._features[train]))
        moments = PairMoments.in_groups(others, self._rows.take(train))
        coef = PrimalPath(moments).coefficients(np.array([ridge]))
        return np.asarray(self._features[test] @ coef[:, 0])

    def _unmoved(self, at: Index, U: Array) -> Array:
        """``(I - U U')_HH``: where every score is free, what C itself leaves out."""
        if not self._full:
            return np.eye(at.shape[1]) - U @ np.swapaxes(U, 1, 2)
        out = np.zeros((*at.shape, at.shape[1]))
        positive = self._rows.positive[self._numbers[at]]  # the group's own entry has no root
        for members in (positive, ~positive):
            root = np.where(members, self._root[at], 0.0)
            out += root[:, :, None] * root[:, None, :]
        return out


class _Entries(NamedTuple):
    of_features: Array
    codes: Index
    """Their groups."""
    numbers: Index
    """Their rows; -1 at the entry of a group."""


def _entries(features: Array, rows: Rows) -> _Entries:
    """``C B``: the entries of the positives, of the negatives, and of the groups."""
    paired = rows.paired
    parts, codes, means = [], [], []
    for k in (0, 1):
        of_class = features[paired.classes[k]]
        share, edges = paired.inside_of_class[k], paired.edges[k]
        group = np.repeat(np.arange(paired.n_groups), np.diff(edges))
        means.append(np.add.reduceat(of_class * share[:, None], edges[:-1], axis=0))
        root = np.sqrt(paired.weight_of(k) * share)
        parts.append((of_class - means[k][group]) * root[:, None])
        codes.append(group)
    parts.append(np.sqrt(paired.weight)[:, None] * (means[0] - means[1]))
    codes.append(np.arange(paired.n_groups))
    numbers = np.concatenate([*paired.classes, np.full(paired.n_groups, -1)])
    return _Entries(np.concatenate(parts), np.concatenate(codes), numbers)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _solve(matrices: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0])


def fold_scores_in_groups(
    X: Matrix, rows: Rows, weight: Array, folds: Sequence[Fold], ridges: Array, run: Run
) -> list[Array]:
    """For each (train, test) the scores of the test rows, one column a ridge: the pairs of a fold
    are those inside the groups of its training rows."""
    return run([partial(_scores_of_fold, X, rows, weight, fold, ridges) for fold in folds])


def _scores_of_fold(X: Matrix, rows: Rows, weight: Array, fold: Fold, ridges: Array) -> Array:
    train, test = fold
    of_fold = np.zeros(rows.n_rows)
    of_fold[train] = weight[train]
    moments = PairMoments.in_groups(X, rows.weighing(of_fold))
    scores = X.dot_rows(test, PrimalPath(moments).coefficients(ridges), moments.midpoint)
    return _without_rounding(scores, axis=0)


def _without_rounding(scores: Array, axis: int) -> Array:
    """Rows that are alike have equal scores, and ties count half."""
    unit = EQUAL_SCORES * np.abs(scores).max(axis=axis, keepdims=True)
    return np.asarray(np.rint(scores / np.where(unit > 0, unit, 1.0)) * unit)
