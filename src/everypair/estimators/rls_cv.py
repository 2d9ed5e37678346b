"""AUC-RLS with alpha chosen by exact cross-validation: one decomposition for every alpha."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions

from everypair.estimators._cross_fit import OutOfFold, cross_fit, default_folds
from everypair.estimators._search import Fold, folds_of, positive_grid, side_by_side
from everypair.estimators.rls import AUCRLS, TOO_SMALL
from everypair.linalg.kernels import KernelFunction
from everypair.linalg.matrix import canonical
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ONE_THREAD_OPERATIONS = 6e10
"""So many operations take one core some seconds, and small products in between would wait for the
threads of BLAS: on two cores shared with other work, cv=3 on 2000 sparse rows took 120 s with two
BLAS threads and 9 s with one."""

LEAVE_PAIR_OUT = "leave-pair-out"

RELATIVE_ALPHAS = 2 * np.logspace(-8, 2, 41)
"""Default grid, in units of the rows' mean squared distance from the midpoint of the classes."""


class AUCRLSCV(AUCRLS):
    """`AUCRLS` with the ``alpha`` of the best cross-validated AUC, exactly and without refitting.

    Leave-pair-out takes each pair of a positive and a negative row out of the training rows in
    turn and asks whether the model of the others ranks the two rightly: an almost unbiased
    estimate of the AUC. With R = I - u u' - S of `everypair.rls.spectrum`, for a left-out set H,

        R_HH f_H = S_HR y_R ,

    so that after one decomposition each alpha costs one product of eigenvectors and a 2 x 2
    system per pair. Folds use the same formula with larger H, or the sums of the other folds'
    class moments in the primal form.

    Parameters
    ----------
    alphas : array of shape (n_alphas,), default=None
        Values > 0 to choose from. None: 41 values over ten decades around the features'
        variance.
    cv : "leave-pair-out", int, splitter or iterable, default="leave-pair-out"
        An integer is a number of stratified folds; an iterable gives (train, test) rows.
    average : {"pooled", "folds"}, default="pooled"
        Of folds: the AUC of all held-out scores together, by which the paper selects, or the
        mean of the folds' AUCs. Scores are pooled as `decision_function` gives them with the
        threshold ``"midpoint"``. With leave-pair-out every pair is a fold and both are the same.
    store_predictions : bool, default=False
        Leave-pair-out only: keep ``leave_pair_out_predictions_``.
    {kernel}
    form : {"auto", "primal", "dual"}, default="auto"
        As in `AUCRLS`.
    {threshold}
    {calibration}
    n_jobs : int or None, default=None
        Threads that share the folds; None is 1, -1 all cores. Leave-pair-out uses every core
        by itself. The result does not depend on it.

    Attributes
    ----------
    alpha_ : float
        The value with the highest ``cv_scores_``; among equals the largest.
    alphas_ : array of shape (n_candidates,)
        The values tried.
    {cv_scores}
        With leave-pair-out there are no folds and no ``cv_fold_scores_``; a fold that tests one
        class only has NaN.
    leave_pair_out_predictions_ : array of shape (n_positives, n_negatives)
        ``f(x_i) - f(x_j)`` at ``alpha_`` by the model that saw neither row, in the order of the
        rows. Rows of weight zero are left out.
    {train_score}
    {expansion}
    objective_ : float
        Of `AUCRLS` at ``alpha_`` on all rows.
    dual_gap_ : float
        Likewise.
    {fitted}

    See Also
    --------
    AUCRLS : The same with a given alpha.
    AUCClassifierCV : Other losses and penalties, alpha chosen by folds.

    Notes
    -----
    Leave-pair-out removes rows, and with them weights: rows of different weight need a
    decomposition each. At most 100 combinations are taken; use folds otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import AUCRLSCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AUCRLSCV()).fit(X, y)
    >>> print(f"{model[-1].best_score_:.4f}")
    0.9943
    """

    _streams = False  # a chunk has no cross-validation

    _takes_blocks = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in AUCRLS._parameter_constraints.items() if k != "alpha"},
        "alphas": ["array-like", None],
        "cv": [StrOptions({LEAVE_PAIR_OUT}), "cv_object", HasMethods(["split"])],
        "average": [StrOptions({"pooled", "folds"})],
        "store_predictions": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alphas: ArrayLike | None = None,
        cv: Any = LEAVE_PAIR_OUT,
        average: str = "pooled",
        store_predictions: bool = False,
        kernel: str | KernelFunction = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        form: str = "auto",
        threshold: str | float | Mapping[str, Any] = "midpoint",
        calibration: str | None = None,
        prior: float | None = None,
        n_jobs: int | None = None,
    ):
        self.alphas = alphas
        self.cv = cv
        self.average = average
        self.store_predictions = store_predictions
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.form = form
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.n_jobs = n_jobs

    def fit(  # type: ignore[override]  # neither within nor rows in blocks
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose ``alpha_`` by cross-validation, then fit on all rows.

        Parameters
        ----------
        {kernel_rows}
        {sample_weight}
        {groups}

        {returns_self}
        """
        from everypair.linalg.threads import own_threads, thread_limit

        self._validate_params()
        if isinstance(self.cv, str) and self.cv != LEAVE_PAIR_OUT:
            raise ValueError(
                f"cv={self.cv!r} is not understood: use 'leave-pair-out', a number of folds, or "
                "a splitter."
            )
        if groups is not None and isinstance(self.cv, str):
            raise ValueError(
                "cv='leave-pair-out' does not keep groups together: give a splitter such as "
                "GroupKFold as cv."
            )
        if self.store_predictions and self.cv != LEAVE_PAIR_OUT:
            raise ValueError(
                "store_predictions=True keeps leave-pair-out predictions: set "
                "cv='leave-pair-out', or use sklearn.model_selection.cross_val_predict."
            )
        for stale in {"leave_pair_out_predictions_", "cv_fold_scores_"} & vars(self).keys():
            delattr(self, stale)
        X, positive, weight = self._validate_rows(X, y, sample_weight)
        self._check_finite(X)
        little = _operations(X, self._takes_primal(X)) <= ONE_THREAD_OPERATIONS
        with own_threads() if little else thread_limit():
            search = _Search(self, X, positive, weight)
            grid = RELATIVE_ALPHAS * search.scale
            self.alphas_ = grid if self.alphas is None else positive_grid(self.alphas, "alphas")
            if isinstance(self.cv, str):
                pairs = search.pairs_left_out()
                self.cv_scores_ = pairs.auc(self.alphas_ / 2)
            else:
                by_fold = self.average == "folds"
                folds = folds_of(self.cv, X, positive, weight, groups, each_has_auc=by_fold)
                scores = search.scores_of_folds(folds, self.alphas_ / 2)
                self.cv_scores_, self.cv_fold_scores_ = search.auc_of_folds(folds, scores)
            self.best_score_ = float(self.cv_scores_.max())
            self.alpha_ = float(self.alphas_[self.cv_scores_ == self.best_score_].max())
            if self.store_predictions:
                self.leave_pair_out_predictions_ = pairs.differences(self.alpha_ / 2)
        cuts = self.threshold != "midpoint" and not self._held_out
        self._fit_validated(X, positive, weight, self.alpha_, search.gram, cuts)
        self.train_score_ = search.train_score()
        if self._held_out:
            midpoint = -float(self.intercept_[0])
            if isinstance(self.cv, str):
                plain = self._plain_at(self.alpha_)
                folds = default_folds(None, positive, weight, groups)
                held_out = cross_fit(plain, X, positive, weight, folds)
            else:
                chosen = int(np.flatnonzero(self.alphas_ == self.alpha_)[0])
                of_folds = [of_fold[:, chosen] for of_fold in scores]
                held_out = OutOfFold.of(search.numbered(folds), of_folds, midpoint)
                held_out = held_out._replace(rows=search.rows[held_out.rows])
            of_training = self._scores(canonical(X)) + midpoint
            cut = self._choose_threshold(positive, of_training, weight, held_out, groups=groups)
            self.intercept_ = np.array([-cut])
        return self

    @property
    def _held_out(self) -> bool:
        """Folds have scores of their own; leave-pair-out needs some for a rule."""
        by_moments = isinstance(self.threshold, Real) or self.threshold == "midpoint"
        return self.calibration is not None or not by_moments or not isinstance(self.cv, str)

    def _plain_at(self, alpha: float) -> AUCRLS:
        names = ("kernel", "gamma", "degree", "coef0", "form")
        return AUCRLS(alpha, **{name: getattr(self, name) for name in names}, threshold=0.0)


def _operations(X: Any, primal: bool) -> int:
    """About how many operations the products and the decomposition take."""
    n_rows, n_columns = X.shape
    if primal:
        return n_columns**2 * (n_rows + n_columns)
    entries = X.nnz if hasattr(X, "nnz") else X.size
    return n_rows * (n_rows**2 + entries)


class _Search:
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
        from everypair.linalg.matrix import as_matrix
        from everypair.rls.moments import PairMoments

        if self.K is None:
            moments = PairMoments.of(as_matrix(self._X), self._positive, self._weight)
            self._model._checked(moments, self._X)
            spread = float(np.trace(moments.within) + moments.apart @ moments.apart / 2) / 2
        else:
            share = Rows.uncut(self._positive, self._weight).share / 2
            level = float(share @ self.K.diagonal())
            spread = level - float(share @ self.K @ share)
            spread = spread if spread > share.size * np.finfo(float).eps * level else 0.0
        return spread if spread > 0 else 1.0

    def train_score(self) -> float:
        """AUC of the training rows by the model that was fitted to all of them."""
        from everypair.pairs import auc

        rows = canonical(self._X if self.gram is None else self.gram.X)
        if self._model.kernel == "precomputed":
            scores = rows @ self._model.dual_coef_[0]
        else:
            scores = self._model._scores(rows)
        return auc(Rows.uncut(self._positive, self._weight), scores)

    def pairs_left_out(self) -> Any:
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
        from everypair.linalg.matrix import as_matrix
        from everypair.rls.leave_out import fold_scores_dual, fold_scores_primal

        folds = self.numbered(folds)
        positive, weight = self._positive, self._weight
        run = partial(side_by_side, n_jobs=self._model.n_jobs)
        if self.K is None:
            scores = fold_scores_primal(as_matrix(self._X), positive, weight, folds, ridges, run)
        else:
            scores = fold_scores_dual(self._decompose(), positive, weight, folds, ridges, run)

        if not all(np.all(np.isfinite(part)) for part in scores):
            raise ValueError(TOO_SMALL)
        return scores

    def auc_of_folds(self, folds: list[Fold], scores: list[Array]) -> tuple[Array, Array]:
        """The AUC that is selected by, one for each column of the scores, and that of each fold."""
        from everypair.pairs import auc

        folds = self.numbered(folds)
        positive, weight = self._positive, self._weight

        def of(rows: Index, columns: Array) -> Array:
            pairs = Rows.uncut(positive[rows], weight[rows])
            return np.array([auc(pairs, np.ascontiguousarray(column)) for column in columns.T])

        by_fold = [
            of(test, part) if 0 < np.count_nonzero(positive[test]) < test.size
            else np.full(part.shape[1], np.nan)
            for (_, test), part in zip(folds, scores, strict=True)
        ]  # fmt: skip
        if self._model.average == "pooled":
            every_test = np.concatenate([test for _, test in folds])
            pooled = of(every_test, np.concatenate(scores))
        else:
            pooled = np.asarray(np.mean(by_fold, axis=0))
        return pooled, np.array(by_fold).T

    def _renumbered(self, rows: Index) -> Index:
        kept = rows[np.isin(rows, self.rows)]
        return np.searchsorted(self.rows, kept)
