"""The cross-validation of AUC-RLS: rows, pairs or whole groups left out of one decomposition."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.estimators._search import Fold, groups_with_pairs, side_by_side
from everypair.estimators.rls import TOO_SMALL
from everypair.linalg.matrix import canonical
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.estimators.rls_cv import AUCRLSCV
    from everypair.linalg.matrix import Matrix
    from everypair.rls.moments import PairMoments

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Search:
    """The data of one cross-validation, in the form that the estimator takes.

    Rows of weight zero teach nothing and count for nothing: they are left out.
    """

    def __init__(self, model: AUCRLSCV, X: Any, positive: NDArray[np.bool_], weight: Array | None):
        self._model = model
        self.gram = None if model._takes_primal(X) else model._gram(X, weight)
        self.K: Array | None = None if self.gram is None else self.gram.K
        weight = np.ones(positive.size) if weight is None else weight
        self.rows = np.flatnonzero(weight > 0)
        self._positive, self._weight = positive[self.rows], weight[self.rows]
        self._all = self.rows.size == positive.size
        self._X = X if self._all else X[self.rows]

    @property
    def scale(self) -> float:
        """Mean squared distance of the rows from the midpoint of the class means."""
        if self.K is None:
            moments = self._model._checked(self._moments(), self._X)
            spread = float(np.trace(moments.within) + moments.apart @ moments.apart / 2) / 2
        else:
            share = Rows.uncut(self._positive, self._weight).share / 2
            level = float(share @ self.K.diagonal())
            spread = level - float(share @ self.K @ share)
            spread = spread if spread > share.size * np.finfo(float).eps * level else 0.0
        return spread if spread > 0 else 1.0

    def _moments(self) -> PairMoments:
        from everypair.linalg.matrix import as_matrix
        from everypair.rls.moments import PairMoments

        return PairMoments.of(as_matrix(self._X), self._positive, self._weight)

    def train_score(self) -> float:
        """AUC of the training rows by the model that was fitted to all of them."""
        from everypair.pairs import auc

        rows = canonical(self._X if self.gram is None else self.gram.X)
        if self._model.kernel == "precomputed":
            support = np.searchsorted(self.rows, self._model.support_)
            scores = rows[:, support] @ self._model.dual_coef_[0]
        else:
            scores = self._model._scores(rows)
        return auc(self._pairs_of(np.arange(self.rows.size)), scores)

    def left_out(self) -> Any:
        """Every pair left out in turn."""
        from everypair.rls.leave_out import PairsLeftOut

        return PairsLeftOut(self._decompose(), self._positive, self._weight)

    def _decompose(self) -> Any:
        from everypair.rls.spectrum import Spectrum

        if self.K is None:
            return partial(Spectrum.of_rows, self._X, self._positive, self._weight)
        return partial(Spectrum.of_kernel, self.K, self._positive, self._weight)

    def numbered(self, folds: list[Fold]) -> list[Fold]:
        """The folds by the numbers of the rows here."""
        if self._all:
            return folds
        return [(self._renumbered(train), self._renumbered(test)) for train, test in folds]

    def scores_of_folds(self, folds: list[Fold], ridges: Array) -> list[Array]:
        """Scores of the rows that each fold tests, one column per ridge, less the fold's
        midpoint."""
        run = partial(side_by_side, n_jobs=self._model.n_jobs)
        scores = self._scores_of_folds(self.numbered(folds), ridges, run)
        if not all(np.all(np.isfinite(part)) for part in scores):
            raise ValueError(TOO_SMALL)
        return scores

    def _scores_of_folds(self, folds: list[Fold], ridges: Array, run: Any) -> list[Array]:
        from everypair.linalg.matrix import as_matrix
        from everypair.rls.leave_out import fold_scores_dual, fold_scores_primal

        positive, weight = self._positive, self._weight
        if self.K is None:
            return fold_scores_primal(as_matrix(self._X), positive, weight, folds, ridges, run)
        return fold_scores_dual(self._decompose(), positive, weight, folds, ridges, run)

    def auc_of_folds(self, folds: list[Fold], scores: list[Array]) -> tuple[Array, Array]:
        """The AUC that is selected by, one for each column of the scores, and that of each fold."""
        folds = self.numbered(folds)
        by_fold = [self._areas(test, part) for (_, test), part in zip(folds, scores, strict=True)]
        if self._model.average == "pooled":
            every_test = np.concatenate([test for _, test in folds])
            pooled = self._areas(every_test, np.concatenate(scores))
        else:
            pooled = np.asarray(np.mean(by_fold, axis=0))
        return pooled, np.array(by_fold).T

    def _areas(self, rows: Index, scores: Array) -> Array:
        """AUC of these rows for each column of scores; NaN where they have no pair."""
        from everypair.pairs import auc

        if not self._have_a_pair(rows):
            return np.full(scores.shape[1], np.nan)
        pairs = self._pairs_of(rows)
        return np.array([auc(pairs, np.ascontiguousarray(column)) for column in scores.T])

    def _have_a_pair(self, rows: Index) -> bool:
        return bool(0 < np.count_nonzero(self._positive[rows]) < rows.size)

    def _pairs_of(self, rows: Index) -> Rows:
        return Rows.uncut(self._positive[rows], self._weight[rows])

    def _renumbered(self, rows: Index) -> Index:
        kept = rows[np.isin(rows, self.rows)]
        return np.searchsorted(self.rows, kept)


class GroupSearch(Search):
    """The same over the pairs inside groups. A kernel matrix is taken as features: its factor."""

    def __init__(
        self,
        model: AUCRLSCV,
        X: Any,
        positive: NDArray[np.bool_],
        weight: Array | None,
        pairs: Rows,
    ):
        super().__init__(model, X, positive, weight)
        assert pairs.within is not None
        within = pairs.within if self._all else pairs.within.take(self.rows)
        self.pairs = Rows.uncut(self._positive, self._weight, within)

    @cached_property
    def _features(self) -> Matrix:
        from everypair.linalg.matrix import as_matrix
        from everypair.rls.dual import centre_kernel, scaled_eigenvectors

        if self.K is None:
            return as_matrix(self._X)
        even = np.ones(self.rows.size)
        centred = np.empty_like(self.K, order="C")
        centre_kernel(self.K, even, centred)
        size = float(np.max(np.abs(self.K.diagonal()), initial=0.0))
        values, vectors, _ = scaled_eigenvectors(centred, even, size)
        if values.size == 0:  # all rows are alike
            values, vectors = np.zeros(1), np.zeros((self.rows.size, 1))
        return as_matrix(np.ascontiguousarray(vectors * np.sqrt(values)))

    def _moments(self) -> PairMoments:
        from everypair.rls.moments import PairMoments

        return PairMoments.in_groups(self._features, self.pairs)

    @property
    def scale(self) -> float:
        """Half the mean squared distance of the two rows of a pair."""
        moments = self._model._checked(self._moments(), self._X)
        spread = float(np.trace(moments.within) + moments.apart @ moments.apart) / 2
        return spread if spread > 0 else 1.0

    def left_out(self) -> Any:
        """Every group left out in turn."""
        from everypair.rls.groups_left_out import GroupsLeftOut

        rows = np.flatnonzero(self.pairs.share)  # those with a pair
        return GroupsLeftOut(self._features.written_out(rows), self.pairs.take(rows))

    def _scores_of_folds(self, folds: list[Fold], ridges: Array, run: Any) -> list[Array]:
        from everypair.rls.groups_left_out import fold_scores_in_groups

        return fold_scores_in_groups(self._features, self.pairs, self._weight, folds, ridges, run)

    def _have_a_pair(self, rows: Index) -> bool:
        assert self.pairs.within is not None
        there = np.ones(rows.size, dtype=bool)
        return bool(
            groups_with_pairs(self.pairs.within.codes[rows], self._positive[rows], there).any()
        )

    def _pairs_of(self, rows: Index) -> Rows:
        return self.pairs.part(rows, self._weight)
