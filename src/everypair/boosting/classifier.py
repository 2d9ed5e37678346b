"""Gradient-boosted trees over every pair, with rounds, threshold and probabilities from folds."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy as shallow
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.boosting.columns import has_categories, refuse_unusual_columns
from everypair.boosting.libraries import (
    LIBRARIES,
    Grown,
    Settings,
    Watch,
    refuse_missing,
    refuse_own_parameters,
)
from everypair.boosting.plain_trees import PlainTrees
from everypair.estimators._base import OWN_CUTS, WITHIN_WEIGHTS, BinaryRanker
from everypair.estimators._cross_fit import OutOfFold, default_folds, mean_score
from everypair.estimators._search import groups_with_pairs, with_progress
from everypair.rows import Rows
from everypair.within import Groups

Array = NDArray[np.float64]
Data = tuple[Any, NDArray[np.bool_], Array | None, Groups | None]
"""X, which rows are positive, their weights and their groups."""


class AUCBoostingClassifier(BinaryRanker):
    """Gradient-boosted trees for the logistic loss over every positive–negative pair.

    XGBoost or LightGBM grows the trees; `pair_objective` gives each round the exact gradient and
    curvature of

        L(s) = sum_ij a_i b_j log(1 + exp(s_j - s_i))     or, with a push, its p-norm .

    With ``within`` the pairs of the loss and of the AUC are those inside groups (a user, a query).

    The number of rounds is the one with the largest mean AUC over the folds of ``cv``; with another
    ``measure``, among the rounds that have the best mean of it within one standard error.
    Threshold and probabilities are made from the held-out scores of the same folds; then a
    booster of that many rounds is grown on all rows.

    Parameters
    ----------
    library : {"lightgbm", "xgboost"}, default="lightgbm"
        Which library grows the trees; `pip install 'everypair[boost]'` brings both.
    push : float, default=1
        Power p >= 1 that moves weight to the negatives at the top of the list. See
        `pair_objective`.
    learning_rate : float, default=0.05
        Step of each round, in (0, 1].
    max_rounds : int, default=1000
        Rounds at most.
    max_leaf_nodes : int, default=31
        Leaves of a tree at most.
    min_samples_leaf : int, default=20
        Rows of a leaf at least (LightGBM only; XGBoost bounds the curvature of a leaf from below).
    patience : int or None, default=50
        A fold stops when neither its AUC nor its ``measure`` has grown for this many rounds. None:
        no choice of rounds, all ``max_rounds`` are grown, and ``cv`` serves threshold and
        probabilities alone.
    measure : str, dict, ContingencyMeasure or callable, default="roc_area"
        By which the rounds are chosen, as in `everypair.MeasureOpt`: ``"roc_area"``,
        ``"average_precision"``, ``"f1"``; with its numbers as a dict, such as
        ``{"measure": "partial_roc_area", "fpr": 0.05}`` or ``{"measure": "precision_at_k",
        "k": 100}``. A measure with a free cut, such as F1, is taken at the best cut of a fold's
        held-out rows. With ``within``:
        ``"roc_area"``, or ``"precision_at_k"`` and ``"recall_at_k"`` of the k best rows of each
        group. The trees are grown by the same loss, whatever the measure.
    params : dict, default=None
        Further parameters of the library, by its own names; they take precedence. Those of
        ``max_rounds``, ``patience`` and the objective are refused.
    cv : int, splitter, iterable or None, default=None
        Folds that choose the number of rounds and give threshold and probabilities; None: five,
        stratified. With ``within`` and no ``groups``, None and a number keep each group of
        ``within`` whole, or, where there are fewer groups than folds, distribute its rows over the
        folds.
    {within_weight}
    {threshold}
        Here the default is None: ``"balanced"``, or the cut that the measure asks for.
    {calibration}
    n_jobs : int or None, default=None
        Threads of the library; None is 1, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the library, which matters where rows or columns are sampled.
    verbose : int, default=0
        1 shows a bar of the folds.

    Attributes
    ----------
    booster_ : xgboost.Booster, lightgbm.Booster or plain trees
        The trees of all rows; plain after `without_library`, and in a model that was loaded from
        a file of the command line.
    n_rounds_ : int
        Rounds chosen.
    cv_scores_ : array of shape (n_tried,)
        Mean of the held-out AUC, or of the ``measure``, after each round over the folds. A fold
        that has stopped counts with its last value. Only with ``patience``.
    best_score_ : float
        ``cv_scores_`` at ``n_rounds_``. Only with ``patience``.
    feature_importances_ : array of shape (n_features,)
        Share of each column in the gain of all splits; the shares sum to one.
    intercept_ : array of shape (1,)
        Minus the threshold.
    {train_score}
    {without_pairs}
    {fitted}

    See Also
    --------
    pair_objective : The objective alone, for the libraries' own estimators.
    everypair.AUCTree : One tree that splits by AUC.

    Notes
    -----
    In AUC, boosting by pairs ties with boosting by log loss. It does not collapse where positives
    are very rare, and a push improves the top of the list.

    Missing values (NaN) and the categories of a data frame go to the library as they are. With
    ``params`` that sample rows or columns, results differ between the libraries' versions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair.boosting import AUCBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCBoostingClassifier(max_rounds=50, calibration="auto").fit(X, y)  # doctest: +SKIP
    >>> model.predict_proba(X).shape  # doctest: +SKIP
    (569, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "library": [StrOptions(set(LIBRARIES))],
        "push": [Interval(Real, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "measure": "no_validation",  # type: ignore[dict-item]
        "params": [dict, None],
        "within_weight": WITHIN_WEIGHTS,
        **OWN_CUTS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        library: str = "lightgbm",
        push: float = 1,
        learning_rate: float = 0.05,
        max_rounds: int = 1000,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        patience: int | None = 50,
        measure: Any = "roc_area",
        params: dict[str, Any] | None = None,
        cv: Any = None,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.library = library
        self.push = push
        self.learning_rate = learning_rate
        self.max_rounds = max_rounds
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.patience = patience
        self.measure = measure
        self.params = params
        self.cv = cv
        self.within_weight = within_weight
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Choose the number of rounds by cross-validation, then fit on all rows.

        Parameters
        ----------
        {rows}
        {sample_weight}
        {groups}
        {within}

        {returns_self}
        """
        from everypair.boosting.objective import BOOSTED_LOSSES
        from everypair.boosting.rounds import chosen_measure, refuse_one_row
        from everypair.pairs import auc
        from everypair.pairs.pushed import check_push

        self._validate_params()
        refuse_missing(self.library)
        refuse_own_parameters(self.params or {})
        X, y = self._checked(X, y=y)
        positive = self._encode_labels(np.asarray(y))
        weight, kept = None, np.arange(positive.size)
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, positive, dtype=np.float64, ensure_non_negative=True
            )
            weight = weight / (weight.max() or 1.0)  # the libraries hold them in float32
            kept = np.flatnonzero(weight)  # the libraries count rows of weight zero in leaves
        check_push("logistic", self.push, BOOSTED_LOSSES, within)
        inside = self._pair_up(positive, weight, within).within
        searched = self.patience is not None
        if searched:
            refuse_one_row(positive[kept])
            folds = default_folds(self.cv, positive, weight, groups, within)
            folds = _among(kept, folds, positive.size)
        if weight is not None:
            X, positive, weight = _safe_indexing(X, kept), positive[kept], weight[kept]
            inside = None if inside is None else inside.take(kept)
            groups, within = (None if g is None else np.asarray(g)[kept] for g in (groups, within))
        library = self._library()
        data = (X, positive, weight, inside)
        rows = Rows.uncut(positive, weight, inside)
        measure = chosen_measure(self.measure, rows)
        self.n_rounds_ = int(self.max_rounds)
        for of_choice in ("cv_scores_", "best_score_"):
            self.__dict__.pop(of_choice, None)  # of an earlier fit
        if searched:
            grown = self._choose_rounds(library, data, folds, measure)
        self.booster_ = library.grow(_of_rows(data, None), self.n_rounds_).booster
        scores = library.scores(self.booster_, X, self.n_rounds_)
        self.train_score_ = auc(rows, scores)
        gains = library.importances(self.booster_, self.n_features_in_)
        self.feature_importances_ = gains / gains.sum() if gains.any() else gains
        own = "balanced" if measure.of_pairs else measure.best_cut
        if not searched:
            cut = self._cut(X, positive, scores, weight, groups, own, within)
        else:
            held_out = None
            if self._needs_held_out(own):
                held_out = self._held_out(library, X, weight, folds, grown)
            cut = self._choose_threshold(positive, scores, weight, held_out, own, groups)
        self.intercept_ = np.array([-cut])
        return self

    def _library(self) -> Any:
        from joblib import effective_n_jobs

        from everypair.boosting.objective import pair_objective

        seed = check_random_state(self.random_state).randint(2**31 - 1)
        settings = Settings(
            float(self.learning_rate), int(self.max_leaf_nodes), int(self.min_samples_leaf),
            effective_n_jobs(self.n_jobs), int(seed), dict(self.params or {}),
        )  # fmt: skip
        return LIBRARIES[self.library](pair_objective(push=float(self.push)), settings)

    def _choose_rounds(self, library: Any, data: Data, folds: Any, measure: Any) -> list[Grown]:
        """The boosters of the folds, and what their held-out rows say of the rounds."""
        from everypair.boosting.rounds import best_round, judges_of

        positive, inside = data[1], data[3]

        def one(train: Any, test: Any) -> Grown:
            codes = np.zeros(test.size, np.intp) if inside is None else inside.codes[test]
            if not groups_with_pairs(codes, positive[test], np.ones(test.size, bool)).any():
                raise ValueError(
                    "A fold of cv tests one class only: use stratified or fewer folds."
                    if inside is None
                    else "A fold of cv tests no pair inside a group of within: use fewer folds."
                )
            held_out = _of_rows(data, test)
            judges = judges_of(measure, Rows.uncut(positive[test], *held_out[2:]))
            watch = Watch(held_out, judges, int(self.patience or 0))
            return library.grow(_of_rows(data, train), int(self.max_rounds), watch)

        growing = (one(*fold) for fold in folds)
        grown = list(with_progress(growing, len(folds), "folds", int(self.verbose)))
        self.n_rounds_, means = best_round([fold.curves for fold in grown])
        self.cv_scores_ = measure.sign * means
        self.best_score_ = float(self.cv_scores_[self.n_rounds_ - 1])
        return grown

    def _held_out(
        self, library: Any, X: Any, weight: Array | None, folds: Any, grown: list[Grown]
    ) -> OutOfFold:
        found = []
        for (_, test), fold in zip(folds, grown, strict=True):
            scores = library.scores(fold.booster, X, min(self.n_rounds_, len(fold.curves)))
            found.append(scores[test] - mean_score(scores, weight))
        return OutOfFold.of(folds, found)

    def _checked(self, X: Any, **options: Any) -> Any:
        """X as the library takes it: a data frame with categories stays one."""
        refuse_unusual_columns(X, self.library)
        if has_categories(X):
            return validate_data(self, X, skip_check_array=True, **options)
        return validate_data(
            self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan", **options,
        )  # fmt: skip

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _scores(self, X: Any) -> Array:
        if isinstance(self.booster_, PlainTrees):
            from joblib import effective_n_jobs

            plain = getattr(X, "to_numpy", lambda: X)()
            return self.booster_.scores(plain, effective_n_jobs(self.n_jobs)) + self.intercept_[0]
        library = LIBRARIES[self.library]
        return library.scores(self.booster_, X, self.n_rounds_) + self.intercept_[0]

    def without_library(self) -> Self:
        """The fitted model with its trees as plain arrays: it predicts without the library.

        Returns
        -------
        AUCBoostingClassifier
            A copy with the same scores. Splits by the categories of a data frame, linear leaves
            and boosters of XGBoost other than ``gbtree`` are refused.
        """
        check_is_fitted(self)
        copy = shallow(self)
        if not isinstance(self.booster_, PlainTrees):
            copy.booster_ = PlainTrees.of(
                self.library, self.booster_, self.n_features_in_, self.n_rounds_
            )
        return copy


def _of_rows(data: Data, rows: NDArray[np.intp] | None) -> Any:
    """X, labels, weights and groups of some rows, or of all, as the libraries take them."""
    X, positive, weight, inside = data
    if rows is None:
        return X, positive.astype(float), weight, inside
    return (
        _safe_indexing(X, rows),
        positive[rows].astype(float),
        None if weight is None else weight[rows],
        None if inside is None else inside.take(rows),
    )


def _among(kept: NDArray[np.intp], folds: Any, n_rows: int) -> list[Any]:
    """The folds of these rows alone, by their new numbers."""
    number = np.full(n_rows, -1)
    number[kept] = np.arange(kept.size)
    return [tuple(number[rows][number[rows] >= 0] for rows in fold) for fold in folds]
