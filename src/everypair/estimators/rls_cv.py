"""AUC-RLS with alpha chosen by exact cross-validation: one decomposition for every alpha."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, StrOptions

from everypair.estimators._cross_fit import OutOfFold, cross_fit, default_folds
from everypair.estimators._rls_search import GroupSearch, Search
from everypair.estimators._search import DEFAULT_FOLDS, folds_of, positive_grid
from everypair.estimators.rls import AUCRLS
from everypair.linalg.kernels import KernelFunction
from everypair.linalg.matrix import canonical
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ONE_THREAD_OPERATIONS = 6e10
"""So many operations take one core some seconds, and small products in between would wait for the
threads of BLAS: on two cores shared with other work, cv=3 on 2000 sparse rows took 120 s with two
BLAS threads and 9 s with one."""

LEAVE_PAIR_OUT, LEAVE_GROUP_OUT = "leave-pair-out", "leave-group-out"

RELATIVE_ALPHAS = 2 * np.logspace(-8, 2, 41)
"""Default grid, in units of the rows' mean squared distance from the midpoint of the classes."""


class AUCRLSCV(AUCRLS):
    """`AUCRLS` with the ``alpha`` of the best cross-validated AUC, exactly and without refitting.

    Leave-pair-out takes each pair of a positive and a negative row out of the training rows in
    turn and asks whether the model of the others ranks the two correctly: an almost unbiased
    estimate of the AUC. With R = I - u u' - S of `everypair.rls.spectrum`, for a left-out set H,

        R_HH f_H = S_HR y_R ,

    so after one decomposition each alpha costs one product of eigenvectors and a 2 x 2
    system per pair. Folds use the same formula with larger H, or the sums of the other folds'
    class moments in the primal form.

    With ``within`` the pairs are those inside groups, and each group is left out in turn: does the
    model of the other groups rank its rows correctly? This is exact as well, from one decomposition
    for all groups and alphas.

    Parameters
    ----------
    alphas : array of shape (n_alphas,), default=None
        Values > 0 to choose from. None: 41 values over ten decades around the features'
        variance.
    cv : "leave-pair-out", "leave-group-out", int, splitter or iterable, default=None
        An integer is a number of stratified folds; an iterable gives (train, test) rows. None is
        ``"leave-pair-out"``; with ``within`` it is ``"leave-group-out"``, or five folds where fewer
        than five groups have a pair. Numbers of folds keep each group of ``within`` whole, as in
        `AUCClassifierCV`.
    average : {"pooled", "folds"}, default="pooled"
        Of folds: the AUC of all held-out scores together, by which the paper selects, or the
        mean of the folds' AUCs. Scores are pooled as `decision_function` gives them with the
        threshold ``"midpoint"``. With leave-pair-out every pair is a fold and both are the same.
    store_predictions : bool, default=False
        Leave-pair-out only: keep ``leave_pair_out_predictions_``.
    {kernel}
    form : {"auto", "primal", "dual"}, default="auto"
        As in `AUCRLS`.
    {within_weight}
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
        Where pairs or groups are left out there are no folds and no ``cv_fold_scores_``; a fold
        that tests no pair has NaN.
    leave_pair_out_predictions_ : array of shape (n_positives, n_negatives)
        ``f(x_i) - f(x_j)`` at ``alpha_`` by the model that saw neither row, in the order of the
        rows. Rows of weight zero are left out.
    {train_score}
    {expansion}
    objective_ : float
        Of `AUCRLS` at ``alpha_`` on all rows.
    dual_gap_ : float
        Likewise.
    {without_pairs}
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
    max_rank = None  # rows are left out of the whole kernel matrix
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            k: v for k, v in AUCRLS._parameter_constraints.items() if k not in ("alpha", "max_rank")
        },
        "alphas": ["array-like", None],
        "cv": [StrOptions({LEAVE_PAIR_OUT, LEAVE_GROUP_OUT}), "cv_object", HasMethods(["split"])],
        "average": [StrOptions({"pooled", "folds"})],
        "store_predictions": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alphas: ArrayLike | None = None,
        cv: Any = None,
        average: str = "pooled",
        store_predictions: bool = False,
        kernel: str | KernelFunction = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        form: str = "auto",
        within_weight: str = "pairs",
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
        self.within_weight = within_weight
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.n_jobs = n_jobs

    def fit(  # type: ignore[override]  # not rows in blocks
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Choose ``alpha_`` by cross-validation, then fit on all rows.

        Parameters
        ----------
        {kernel_rows}
        {sample_weight}
        {groups}
        {within}

        {returns_self}
        """
        from everypair.linalg.threads import own_threads, thread_limit

        self._validate_params()
        self._check_cv(groups, within)
        for stale in {"leave_pair_out_predictions_", "cv_fold_scores_"} & vars(self).keys():
            delattr(self, stale)
        X, positive, weight = self._validate_rows(X, y, sample_weight)
        pairs = self._pair_up(positive, weight, within)
        cv = self._folds_or_scheme(pairs)
        self._check_finite(X)
        little = _operations(X, self._takes_primal(X)) <= ONE_THREAD_OPERATIONS
        with own_threads() if little else thread_limit():
            if within is None:
                search = Search(self, X, positive, weight)
            else:
                search = GroupSearch(self, X, positive, weight, pairs)
            grid = RELATIVE_ALPHAS * search.scale
            self.alphas_ = grid if self.alphas is None else positive_grid(self.alphas, "alphas")
            if isinstance(cv, str):
                left_out = search.left_out()
                self.cv_scores_ = left_out.auc(self.alphas_ / 2)
            else:
                folds = folds_of(
                    cv, X, positive, weight, groups, each_has_auc=self.average == "folds",
                    within=pairs.within,
                )  # fmt: skip
                scores = search.scores_of_folds(folds, self.alphas_ / 2)
                self.cv_scores_, self.cv_fold_scores_ = search.auc_of_folds(folds, scores)
            self.best_score_ = float(self.cv_scores_.max())
            self.alpha_ = float(self.alphas_[self.cv_scores_ == self.best_score_].max())
            if self.store_predictions:
                self.leave_pair_out_predictions_ = left_out.differences(self.alpha_ / 2)
        by_scheme = isinstance(cv, str)
        cuts = self.threshold != "midpoint" and not self._held_out(by_scheme)
        if within is None:
            self._fit_validated(X, positive, weight, self.alpha_, search.gram, cuts)
        else:
            self._fit_in_groups(X, pairs, weight, self.alpha_, cuts)
        self.train_score_ = search.train_score()
        if self._held_out(by_scheme):
            midpoint = -float(self.intercept_[0])
            if by_scheme:
                plain = self._plain_at(self.alpha_)
                folds = default_folds(None, positive, weight, groups, within)
                held_out = cross_fit(plain, X, positive, weight, folds, within)
            else:
                chosen = int(np.flatnonzero(self.alphas_ == self.alpha_)[0])
                of_folds = [of_fold[:, chosen] for of_fold in scores]
                held_out = OutOfFold.of(search.numbered(folds), of_folds, midpoint)
                held_out = held_out._replace(rows=search.rows[held_out.rows])
            of_training = self._scores(canonical(X)) + midpoint
            cut = self._choose_threshold(positive, of_training, weight, held_out, groups=groups)
            self.intercept_ = np.array([-cut])
        return self

    def _check_cv(self, groups: ArrayLike | None, within: ArrayLike | None) -> None:
        """Refuse what does not go together, before any work."""
        if isinstance(self.cv, str) and self.cv not in (LEAVE_PAIR_OUT, LEAVE_GROUP_OUT):
            raise ValueError(
                f"cv={self.cv!r} is not understood: use 'leave-pair-out', 'leave-group-out', a "
                "number of folds, or a splitter."
            )
        if self.cv == LEAVE_GROUP_OUT and within is None:
            raise ValueError(
                "cv='leave-group-out' leaves out the groups of within: give within, or a splitter "
                "such as LeaveOneGroupOut with groups."
            )
        if self.cv == LEAVE_PAIR_OUT and within is not None:
            raise ValueError(
                "cv='leave-pair-out' takes the pairs of all rows: with within use "
                "cv='leave-group-out' or a number of folds."
            )
        if groups is not None and (self.cv is None or isinstance(self.cv, str)):
            name = self.cv or (LEAVE_PAIR_OUT if within is None else LEAVE_GROUP_OUT)
            raise ValueError(
                f"cv={name!r} does not keep groups together: give a splitter such as GroupKFold as "
                "cv."
            )
        by_pairs = self.cv == LEAVE_PAIR_OUT or (self.cv is None and within is None)
        if self.store_predictions and not by_pairs:
            raise ValueError(
                "store_predictions=True keeps leave-pair-out predictions: set "
                "cv='leave-pair-out', or use sklearn.model_selection.cross_val_predict."
            )

    def _folds_or_scheme(self, pairs: Rows) -> Any:
        """What ``cv`` is for these rows: the name of what is left out, or folds."""
        if self.cv is not None:
            return self.cv
        if pairs.within is None:
            return LEAVE_PAIR_OUT
        return LEAVE_GROUP_OUT if pairs.paired.n_groups >= DEFAULT_FOLDS else DEFAULT_FOLDS

    def _held_out(self, by_scheme: bool) -> bool:
        """Folds have scores of their own; pairs and groups left out need some for a rule."""
        by_moments = isinstance(self.threshold, Real) or self.threshold == "midpoint"
        return self.calibration is not None or not by_moments or not by_scheme

    def _plain_at(self, alpha: float) -> AUCRLS:
        names = ("kernel", "gamma", "degree", "coef0", "form", "within_weight")
        return AUCRLS(alpha, **{name: getattr(self, name) for name in names}, threshold=0.0)


def _operations(X: Any, primal: bool) -> int:
    """About how many operations the products and the decomposition take."""
    n_rows, n_columns = X.shape
    if primal:
        return n_columns**2 * (n_rows + n_columns)
    entries = X.nnz if hasattr(X, "nnz") else X.size
    return n_rows * (n_rows**2 + entries)
