"""Scores of the training rows by models that have not seen them: what cuts and calibration need."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from everypair.estimators._search import Fold, folds_of
from everypair.linalg.matrix import canonical
from everypair.rows import Rows

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.intp]

N_FOLDS = 5

ROWS_PER_COLUMN = 50
"""Rows of the rarer class per column from which training scores of a linear model make the cut.
A recall of 0.9 asked of them is then 0.885 to 0.90 on new rows (docs/benchmarks/cuts.md)."""


class OutOfFold(NamedTuple):
    """Scores of rows by models that had not seen them, one model a fold.

    A pairwise loss leaves the level of the scores open, so models of different folds have
    different ones. The scores here are less a level that each model has by itself, such as the mean
    score of all training rows.
    """

    rows: Index
    """Those that some fold tests."""
    scores: Array
    """One a row: the mean where several folds test it."""
    level: float | None = None
    """That of the model of all rows; None: the mean of its scores."""

    @classmethod
    def of(
        cls, folds: Sequence[Fold], scores: Sequence[Array], level: float | None = None
    ) -> OutOfFold:
        """``scores[k]`` are those of the rows that fold k tests, less its level."""
        tested = np.concatenate([test for _, test in folds])
        rows, place = np.unique(tested, return_inverse=True)
        sums = np.bincount(place, np.concatenate(scores))
        return cls(rows, sums / np.bincount(place), level)

    def level_beside(self, scores: Array, weight: Array | None) -> float:
        """What the model of all rows, which gives these scores, has above the ones here."""
        return mean_score(scores, weight) if self.level is None else self.level


def mean_score(scores: Array, weight: Array | None) -> float:
    """The level of these scores of all training rows."""
    if weight is None:
        return float(np.full(scores.size, 1 / scores.size) @ scores)
    share = weight / weight.max()
    return float((share / share.sum()) @ scores)


def rarer_rows(positive: Bools, weight: Array | None) -> float:
    """Rows of the rarer class; the effective number (Kish) where they have weights."""
    if weight is None:
        return float(min(np.count_nonzero(positive), np.count_nonzero(~positive)))
    sizes = []
    for members in (positive, ~positive):
        relative = weight[members] / max(float(weight[members].max(initial=0.0)), 1e-300)
        sizes.append(float(relative.sum()) ** 2 / max(float(relative @ relative), 1e-300))
    return min(sizes)


def folds_for(
    model: Any,
    positive: Bools,
    weight: Array | None,
    groups: ArrayLike | None,
    within: ArrayLike | None,
) -> list[Fold] | None:
    """The folds of a model's cut. None where nobody asked for folds and the rows have none: two
    rows of each class are needed, and as many groups; the training scores are all there is then."""
    asked = model.cv is not None or model.calibration is not None or model._guarantees
    if groups is not None:
        check_consistent_length(positive, groups)
    try:
        return default_folds(model.cv, positive, weight, groups, within)
    except ValueError:
        if asked:
            raise
        return None


def default_folds(
    cv: Any,
    positive: Bools,
    weight: Array | None,
    groups: ArrayLike | None,
    within: Any = None,
) -> list[Fold]:
    """The folds of `folds_of`; None means five folds, or fewer if the rarer class has fewer rows.

    A number of folds shares out the rows that have weight.
    """
    pairs = None if within is None else Rows.uncut(positive, weight, within).within
    rows_alone = np.broadcast_to(0.0, (positive.size, 1))
    if not (cv is None or isinstance(cv, Integral)):
        return folds_of(cv, rows_alone, positive, weight, groups, each_has_auc=False, within=pairs)
    kept = np.arange(positive.size) if weight is None else np.flatnonzero(weight > 0)
    among = positive[kept]
    rarer = min(np.count_nonzero(among), np.count_nonzero(~among))
    if rarer < 2:
        raise ValueError(
            f"Out-of-fold scores need two rows of each class, and one class has {rarer}: "
            "set calibration=None and cv=None, or give more rows."
        )
    cv = min(N_FOLDS, rarer) if cv is None else cv
    groups = None if groups is None else np.asarray(groups)[kept]
    pairs = None if pairs is None else pairs.take(kept)
    folds = folds_of(
        cv, rows_alone[: kept.size], among, None, groups, each_has_auc=False, within=pairs
    )
    return [(kept[train], kept[test]) for train, test in folds]


def cross_fit(
    model: Any,
    X: Any,
    positive: Bools,
    weight: Array | None,
    folds: Sequence[Fold],
    within: ArrayLike | None = None,
) -> OutOfFold:
    """Out-of-fold scores of ``model``, which takes part as its parameters alone."""
    found = []
    for train, test in folds:
        fold = clone(model)
        scores = _of_fold(fold, X, positive, weight, train, within)
        found.append(scores[test] - mean_score(scores, weight))
    return OutOfFold.of(folds, found)


def _of_fold(
    model: Any,
    X: Any,
    positive: Bools,
    weight: Array | None,
    train: Index,
    within: ArrayLike | None,
) -> Array:
    """Scores of all rows by the model of these rows.

    Where there are weights, rows outside the fold have none, and X is not copied. The rows that are
    left weigh as much as all rows of their class did: C keeps its meaning.
    """
    if has_fit_parameter(model, "sample_weight"):
        given = np.ones(positive.size) if weight is None else weight
        of_fold = np.zeros(positive.size)
        for members in (positive, ~positive):
            rows = train[members[train]]
            largest = given[members].max()
            all_weigh = (given[members] / largest).sum()
            of_fold[rows] = given[rows] * (all_weigh / (given[rows] / largest).sum())
        inside = {} if within is None else {"within": within}
        model.fit(X, positive, sample_weight=of_fold, **inside)
        return np.asarray(model._scores(canonical(X)))
    pairwise = model.__sklearn_tags__().input_tags.pairwise
    model.fit(X[train][:, train] if pairwise else X[train], positive[train])
    return np.asarray(model._scores(canonical(X[:, train] if pairwise else X)))
