"""AUC-RLS with lam chosen by exact cross-validation: one decomposition for every lam."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions

from everypair.estimators._search import folds_of, positive_grid
from everypair.estimators.rls import AUCRLS, TOO_SMALL
from everypair.kernels import KernelFunction

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LITTLE_WORK = 6e10
"""So many operations take one core some seconds, and small products in between would wait for the
threads of BLAS: on two cores shared with other work, cv=3 on 2000 sparse rows took 120 s with two
BLAS threads and 9 s with one."""

LEAVE_PAIR_OUT = "leave-pair-out"

RELATIVE_LAMS = np.logspace(-8, 2, 41)
"""Default grid, in units of the pairs' weight times the rows' mean squared distance."""


class AUCRLSCV(AUCRLS):
    """`AUCRLS` with the ``lam`` of the best cross-validated AUC, exactly and without refitting.

    Leave-pair-out takes each pair of a positive and a negative row out of the training rows in
    turn and asks whether the model of the others ranks the two rightly: an almost unbiased
    estimate of the AUC. With R = I - u u' - S of `everypair.rls.spectrum`, for a left-out set H,

        R_HH f_H = S_HR y_R ,

    so that after one decomposition each lam costs one product of eigenvectors and a 2 x 2 system
    a pair. Folds use the same formula with larger H, or the sums of the other folds' class
    moments in the primal form.

    Parameters
    ----------
    lams : array of positive numbers, optional
        By default 41 values over ten decades around the scale of the data.
    cv : "leave-pair-out", int, splitter or iterable of (train, test)
        An integer is a number of stratified folds.
    average : {"pooled", "folds"}
        AUC of all held-out scores together, by which the paper selects, or the mean of the
        folds' AUCs. Scores are pooled as `decision_function` gives them with the threshold
        "midpoint". With leave-pair-out every pair is a fold and both are the same.
    store_predictions : bool
        Leave-pair-out only: keep ``leave_pair_out_predictions_``.
    kernel, gamma, degree, coef0, form, threshold
        As in `AUCRLS`.

    Attributes
    ----------
    lam_ : float
        The value with the highest ``cv_auc_``; among equals the largest.
    lams_ : array of shape (n_lams,)
    cv_auc_ : array of shape (n_lams,)
        Held-out AUC of each value, ties counted half.
    best_auc_ : float
    leave_pair_out_predictions_ : array of shape (n_positives, n_negatives)
        ``f(x_i) - f(x_j)`` at ``lam_`` by the model that saw neither row, in the order of the rows.
        Rows of weight zero are left out.
    coef_, dual_coef_, intercept_, ...
        Of `AUCRLS` fitted on all rows with ``lam_``.

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
    >>> print(f"{model[-1].best_auc_:.4f}")
    0.9943
    """

    _streams = False  # a chunk has no cross-validation

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in AUCRLS._parameter_constraints.items() if k != "lam"},
        "lams": ["array-like", None],
        "cv": [StrOptions({LEAVE_PAIR_OUT}), "cv_object", HasMethods(["split"])],
        "average": [StrOptions({"pooled", "folds"})],
        "store_predictions": ["boolean"],
    }

    def __init__(
        self,
        lams: ArrayLike | None = None,
        cv: Any = LEAVE_PAIR_OUT,
        average: str = "pooled",
        store_predictions: bool = False,
        kernel: str | KernelFunction = "linear",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1,
        form: str = "auto",
        threshold: str | float | Mapping[str, float] = "midpoint",
    ):
        self.lams = lams
        self.cv = cv
        self.average = average
        self.store_predictions = store_predictions
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.form = form
        self.threshold = threshold

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose ``lam_`` and fit on all rows; arguments as in `AUCRLS.fit`.

        ``groups`` go to the splitter, for example `sklearn.model_selection.GroupKFold`.
        """
        from everypair.threads import own_threads, thread_limit

        self._validate_params()
        if isinstance(self.cv, str) and self.cv != LEAVE_PAIR_OUT:
            raise ValueError(f"cv={self.cv!r}: use 'leave-pair-out', a number of folds or folds.")
        if groups is not None and isinstance(self.cv, str):
            raise ValueError(
                "groups are kept together by folds, not by cv='leave-pair-out': give a splitter "
                "such as GroupKFold as cv."
            )
        if self.store_predictions and self.cv != LEAVE_PAIR_OUT:
            raise ValueError(
                "store_predictions=True keeps leave-pair-out predictions: set "
                "cv='leave-pair-out', or use sklearn.model_selection.cross_val_predict."
            )
        if hasattr(self, "leave_pair_out_predictions_"):
            delattr(self, "leave_pair_out_predictions_")
        X, positive, weight = self._validate_rows(X, y, sample_weight)
        self._check_finite(X)
        little = _operations(X, self._takes_primal(X)) <= LITTLE_WORK
        with own_threads() if little else thread_limit():
            search = _Search(self, X, positive, weight)
            grid = RELATIVE_LAMS * search.scale
            self.lams_ = grid if self.lams is None else positive_grid(self.lams, "lams")
            if isinstance(self.cv, str):
                pairs = search.pairs_left_out()
                self.cv_auc_ = pairs.auc(self.lams_)
            else:
                by_fold = self.average == "folds"
                folds = folds_of(self.cv, X, positive, weight, groups, each_has_auc=by_fold)
                self.cv_auc_ = search.auc_of_folds(folds, self.lams_)
            best = np.flatnonzero(self.cv_auc_ == self.cv_auc_.max())
            self.lam_ = float(self.lams_[best].max())
            self.best_auc_ = float(self.cv_auc_.max())
            if self.store_predictions:
                self.leave_pair_out_predictions_ = pairs.differences(self.lam_)
        return self._fit_validated(X, positive, weight, self.lam_, search.gram)


def _operations(X: Any, primal: bool) -> int:
    """Of the products and the decomposition, about."""
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
        self._rows = np.flatnonzero(weight > 0)
        self._positive, self._weight = positive[self._rows], weight[self._rows]
        self._all = self._rows.size == positive.size
        self._X = X if self._all else X[self._rows]

    @property
    def scale(self) -> float:
        """``A B`` times the mean squared distance from the midpoint of the class means."""
        from everypair.matrix import as_matrix
        from everypair.rls.dual import PairWeights
        from everypair.rls.moments import PairMoments

        if self.K is None:
            moments = PairMoments.of(as_matrix(self._X), self._positive, self._weight)
            self._model._checked(moments, self._X)
            spread = float(np.trace(moments.within) + moments.apart @ moments.apart / 2) / 2
            pair_weight = moments.pair_weight
        else:
            weights = PairWeights(self._positive, self._weight)
            share = weights.share / 2
            level = float(share @ self.K.diagonal())
            spread = level - float(share @ self.K @ share)
            spread = spread if spread > share.size * np.finfo(float).eps * level else 0.0
            pair_weight = weights.of_pairs
        return pair_weight * spread if spread > 0 else pair_weight

    def pairs_left_out(self) -> Any:
        from everypair.rls.held_out import PairsLeftOut

        return PairsLeftOut(self._decompose(), self._positive, self._weight)

    def _decompose(self) -> Any:
        from everypair.rls.spectrum import Spectrum

        if self.K is None:
            return partial(Spectrum.of_rows, self._X, self._positive, self._weight)
        return partial(Spectrum.of_kernel, self.K, self._positive, self._weight)

    def auc_of_folds(self, folds: list[tuple[Index, Index]], lams: Array) -> Array:
        from everypair.matrix import as_matrix
        from everypair.pairs import Pairs, auc
        from everypair.rls.held_out import fold_scores_dual, fold_scores_primal

        if not self._all:
            folds = [(self._renumbered(train), self._renumbered(test)) for train, test in folds]
        positive, weight = self._positive, self._weight
        if self.K is None:
            scores = fold_scores_primal(as_matrix(self._X), positive, weight, folds, lams)
        else:
            scores = fold_scores_dual(self._decompose(), positive, weight, folds, lams)

        if not all(np.all(np.isfinite(part)) for part in scores):
            raise ValueError(TOO_SMALL)

        def of(rows: Index, columns: Array) -> Array:
            pairs = Pairs.of(positive[rows], weight[rows])
            return np.array([auc(pairs, np.ascontiguousarray(column)) for column in columns.T])

        if self._model.average == "pooled":
            return of(np.concatenate([test for _, test in folds]), np.concatenate(scores))
        of_folds = [of(test, part) for (_, test), part in zip(folds, scores, strict=True)]
        return np.asarray(np.mean(of_folds, axis=0))

    def _renumbered(self, rows: Index) -> Index:
        kept = rows[np.isin(rows, self._rows)]
        return np.searchsorted(self._rows, kept)
