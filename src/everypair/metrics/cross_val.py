"""Cross-validated area, with an interval that never compares scores of different folds."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from everypair.checks import check_level, finite_scores
from everypair.metrics._texts import described
from everypair.metrics.held_out import held_out_area
from everypair.metrics.inference import AUCInterval, auc_confidence_interval, check_not_tied
from everypair.rows import Array, Rows


@dataclass(frozen=True)
class CrossValAUC:
    """Mean area over the test folds with its interval; each fold; and all scores pooled.

    Attributes
    ----------
    auc : float
        Mean area over the folds.
    low : float
        Lower end of its interval.
    high : float
        Upper end of its interval.
    se : float
        Its standard error.
    level : float
        Confidence level.
    fold_auc : array of shape (n_folds,)
        Area of each fold.
    pooled : AUCInterval
        Of all test scores in one list.
    kappa : float
        Share of DeLong's variance within the folds that was added to it.
    df : float
        Degrees of freedom of Student's t.

    See Also
    --------
    cross_val_auc : Returns it.
    """

    auc: float
    low: float
    high: float
    se: float
    level: float
    fold_auc: Array
    pooled: AUCInterval
    kappa: float
    df: float

    def __str__(self) -> str:
        return (
            f"{self.auc:.3f} [{self.low:.3f}, {self.high:.3f}] over {self.fold_auc.size} folds; "
            f"pooled {self.pooled}"
        )


@described
def cross_val_auc(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    logit: bool = True,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    pos_label: Any = None,
) -> CrossValAUC:
    """Cross-validated AUC with a confidence interval.

        AUC = mean_k AUC_k ,   se^2 = (1 + kappa) V

    AUC_k is the area of test fold k alone: scores of models of different folds are on different
    scales and are never compared. V is DeLong's variance within the folds: with every row tested
    once the mean of the folds' variances over K (LeDell, Petersen & van der Laan 2015). With
    repeated folds a row's influences are added before squaring: repeating does not make new rows.
    With ``groups`` they are added over the group.

    The interval is for the expected area of the procedure: of models fitted on newly drawn rows, as
    many as the training folds have. V alone is too small for that (and excludes 1/2 on noise in 9
    to 18 % of all data sets, however many rows there are): a row tests one model and trains the
    others, and kappa, between 0 and about 1, is the share of V that counts twice by that
    (`everypair.metrics.held_out` has the derivation). It is measured by how much a test fold's
    influences change under the model of another fold; each model therefore scores two folds. It has
    its largest value, (1 - 18/n) (1 + 0.3 / (K - 1)^2 + (1 - 1/R) / 2) for K folds of n rows drawn
    R times, while the area is within 4 (1 + 1/K) standard errors sqrt(V) of 1/2. On a logit scale,
    with Student's t. One hold-out fold has kappa = 0 and the interval of its rows.

    How often the 95 % interval covers, by simulation of logistic regression on noise and with AUC
    0.64 to 0.91 (docs/benchmarks/intervals.md):

    ===================  ===============  =======================================
    folds                rows             covers
    ===================  ===============  =======================================
    2                    200              95.9 to 98.3 %
    3                    200              96.2 to 96.8 %
    5                    60               96.5 to 98.9 %
    5                    150 to 1000      94.0 to 99.7 %; on noise 95.2 to 97.5 %
    5, drawn twice       200              95.3 to 97.3 %
    10                   200              94.8 to 98.8 %
    ===================  ===============  =======================================

    Trees and nearest neighbours on 200 rows and five folds: 96.0 to 97.8 %. Coverage above 97 %
    comes from few rows and from areas near 1: see the page.

    Parameters
    ----------
    estimator : classifier
        With `decision_function` or `predict_proba`.
    X : array, data frame or sparse matrix of shape (n_rows, n_features)
        Rows.
    y : array of shape (n_rows,)
        Two distinct labels.
    cv : int, splitter or iterable, default=None
        As in scikit-learn; every test fold needs two rows of each class. A number (None: 5)
        means stratified folds, which keep groups whole where there are groups.
    groups : array of shape (n_rows,), default=None
        Passed to the splitter, and rows of one group are taken as dependent.
    {level}
    logit : bool, default=True
        As in `auc_confidence_interval`.
    params : dict, default=None
        Passed to `sklearn.model_selection.cross_validate` (such as ``sample_weight`` for `fit`).
    n_jobs : int or None, default=None
        Processes of `sklearn.model_selection.cross_validate`.
    {pos_label}

    Returns
    -------
    CrossValAUC
        ``auc``, ``low``, ``high``, ``se``, ``kappa``, ``df`` of the mean over folds; ``fold_auc``;
        ``pooled``, the `AUCInterval` of all test scores in one list as if one model had made
        them. It is lower than the mean where the folds' models score on different scales, and its
        interval leaves kappa out.

    See Also
    --------
    auc_confidence_interval : The area of given scores.
    everypair.app.compare_methods : Several methods on the same folds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair.metrics import cross_val_auc
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = cross_val_auc(make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=5)
    >>> print(result)
    0.995 [0.983, 0.999] over 5 folds; pooled 0.994 [0.985, 0.998]
    """
    from sklearn.model_selection import StratifiedGroupKFold, check_cv, cross_validate
    from sklearn.utils import indexable
    from sklearn.utils.metaestimators import _safe_split

    level = check_level(level)
    rows = Rows.of(y, None, pos_label)
    codes = np.arange(rows.positive.size) if groups is None else rows.groups(groups)
    X, y, groups = indexable(X, y, groups)
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        cv = StratifiedGroupKFold(5 if cv is None else int(cv))
    # Split here: under metadata routing `cross_validate` would not hand groups on.
    folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    fits = cross_validate(
        estimator,
        X,
        y,
        cv=folds,
        params=params,
        n_jobs=n_jobs,
        scoring=_no_score,
        return_estimator=True,
        error_score="raise",
    )
    tested = [np.arange(rows.positive.size)[test] for _, test in folds]  # masks become numbers
    scores, seen = [], []
    for k, (model, (train, _)) in enumerate(zip(fits["estimator"], folds, strict=True)):
        positive = rows.positive[tested[k]]
        for members, name in ((positive, "positive"), (~positive, "negative")):
            if np.count_nonzero(members) < 2:
                raise ValueError(
                    f"Test fold {k} has fewer than two {name} rows: use fewer folds, "
                    "or StratifiedKFold."
                )
        # A precomputed kernel is cut on both sides: rows of the test by columns of the training.
        scores.append(scores_of(model, _safe_split(model, X, y, tested[k], train)[0], pos_label))
        finite_scores(scores[k], tested[k].size, f"the decision function on test fold {k}")
        check_not_tied(scores[k], f"the decision function on test fold {k}")
        before = _safe_split(model, X, y, tested[k - 1], train)[0]
        seen.append(scores_of(model, before, pos_label))
    n_trained = sum(np.arange(rows.positive.size)[train].size for train, _ in folds)
    area = held_out_area(
        rows,
        None if groups is None else codes,
        tested,
        scores,
        [*seen[1:], seen[0]],
        1 + n_trained / sum(test.size for test in tested),
    )
    every = np.concatenate(tested)
    copied = groups is not None or np.unique(every).size < every.size
    pooled = auc_confidence_interval(
        rows.positive[every],
        np.concatenate(scores),
        level=level,
        logit=logit,
        groups=codes[every] if copied else None,
    )
    ends = area.interval(level, logit)
    return CrossValAUC(area.auc, *ends, area.se, level, area.fold_auc, pooled, area.kappa, area.df)


def scores_of(estimator: Any, X: Any, pos_label: Any = None) -> Array:
    """`decision_function`, or the probability of the positive class where there is none."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "classes_"):
        raise ValueError(f"{type(estimator).__name__} has no classes_: give a fitted classifier.")
    classes = estimator.classes_
    if len(classes) != 2:
        raise ValueError(f"The estimator has {len(classes)} classes, but AUC needs two.")
    if pos_label is not None and pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not one of the classes {list(classes)}.")
    second = pos_label is None or pos_label == classes[1]
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        return scores if second else -scores
    return np.asarray(estimator.predict_proba(X)[:, int(second)], dtype=np.float64)


def cut_of(estimator: Any, X: Any, scores: Array, pos_label: Any = None) -> float | None:
    """The threshold that `predict` uses: 0 or 1/2 where that is it, else one found by looking.

    None if no cut of the scores gives the predicted labels.
    """
    label = estimator.classes_[1] if pos_label is None else pos_label
    called = np.asarray(estimator.predict(X)) == label
    lowest = scores[called].min(initial=np.inf)
    highest = scores[~called].max(initial=-np.inf)
    own = 0.0 if hasattr(estimator, "decision_function") else 0.5
    if highest <= own < lowest:
        return own
    if not highest < lowest:
        return None
    if not np.isfinite(lowest):
        return float(highest)
    below = highest if np.isfinite(highest) else np.nextafter(lowest, -np.inf)
    halfway = below / 2 + lowest / 2
    return float(halfway if halfway < lowest else below)


def _no_score(estimator: Any, X: Any, y: Any) -> float:
    """`cross_validate` wants a scorer; the test folds are scored here instead."""
    return 0.0
