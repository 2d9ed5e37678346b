"""A candidate fitted on training rows: settings chosen by cross-validated AUC among them."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.comparison.models import CANDIDATES, Candidate
from everypair.metrics.cross_val import scores_of
from everypair.wording import counted

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Bool = NDArray[np.bool_]

SEARCH_ROWS = 20_000
"""Rows that the search for settings looks at; the fit itself takes all."""

SEARCH_FOLDS = 3

SMALL = 2_000_000
"""Entries of X below which threads wait for each other longer than they work."""


class TooFewRows(ValueError):
    """Rows or groups of a class that do not go round the folds."""


@dataclass
class Fitted:
    """The model, what it was set to, and what it complained of."""

    model: Any
    settings: dict[str, Any]
    score_mean: float
    score_scale: float
    remarks: list[str] = field(default_factory=list)

    def scores(self, X: Any) -> Array:
        """The model's own: it calls positive what is above zero."""
        return scores_of(self.model, X)

    def standardised(self, scores: Array) -> Array:
        """Less the training scores' mean, in units of their spread.

        A model's zero and scale are its own; so that the held-out scores of different folds
        can stand in one list, each fold's are put on the scale of its training rows.
        """
        return (scores - self.score_mean) / self.score_scale


def fit_candidate(
    candidate: Candidate,
    X: Any,
    y: Bool,
    weight: Array | None = None,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
) -> Fitted:
    """Search the grid on (a sample of) these rows, then fit on them."""
    from scipy import sparse

    if sparse.issparse(X) and not candidate.sparse:
        raise ValueError("it takes dense rows only, and these are sparse.")
    remarks = []
    if candidate.max_rows is not None and y.size > candidate.max_rows:
        rows = stratified_sample(y, candidate.max_rows, seed)
        X, y, weight, groups = _take(rows, X, y, weight, groups)
        remarks.append(f"trained on {candidate.max_rows} rows drawn at random")
    if weight is not None and not candidate.weights:
        weight = None
        remarks.append("ignores the weights")
    with warnings.catch_warnings(record=True) as caught, _threads_for(X):
        warnings.simplefilter("always")
        settings = _search(candidate, X, y, weight, groups, seed)
        caught.clear()  # a grid point that does not converge is judged by its AUC
        model = candidate.build(**settings)
        _fit(model, X, y, weight, groups, seed)
        training = scores_of(model, X[: 10 * SEARCH_ROWS])
    troubles = [str(w.message) for w in caught if "Convergence" in w.category.__name__]
    if troubles and not np.any(getattr(model, "coef_", 1)):  # its own words say what to do
        remarks.append(f"ranks nothing: {troubles[0].rstrip('.')}")
    elif troubles:
        remarks.append("stopped before its tolerance was reached")
    shown = dict(settings)
    for name in candidate.chosen:
        shown[name.rstrip("_")] = float(getattr(model, name))
    spread = float(training.std())
    return Fitted(model, shown, float(training.mean()), spread if spread > 0 else 1.0, remarks)


def choose_method(
    X: Any, y: Bool, weight: Array | None, groups: NDArray[Any] | None, seed: int
) -> str:
    """``auc``, or ``auc-rls-rbf`` where a Gaussian kernel ranks better by a standard error.

    Above `SEARCH_ROWS` rows the linear model it is: the kernel would see a small part of them.
    """
    from everypair.metrics import auc_score

    linear, kernel = CANDIDATES["auc"], CANDIDATES["auc-rls-rbf"]
    if y.size > SEARCH_ROWS or min(np.count_nonzero(y), np.count_nonzero(~y)) < 2 * SEARCH_FOLDS:
        return linear.name
    gains = []
    for train, test in inner_splits(y, groups, seed):
        X_train, y_train, weight_train, groups_train = _take(train, X, y, weight, groups)
        weight_test = None if weight is None else weight[test]
        areas = [
            auc_score(
                y[test],
                fit_candidate(c, X_train, y_train, weight_train, groups_train, seed).scores(
                    X[test]
                ),
                sample_weight=weight_test,
            )
            for c in (linear, kernel)
        ]
        gains.append(areas[1] - areas[0])
    clear = np.mean(gains) > np.std(gains, ddof=1) / np.sqrt(len(gains))
    return kernel.name if clear else linear.name


def _threads_for(X: Any) -> AbstractContextManager[Any]:
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1) if X.shape[0] * X.shape[1] < SMALL else nullcontext()


def _search(
    candidate: Candidate,
    X: Any,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
) -> dict[str, Any]:
    from everypair.metrics import auc_score

    grid = list(candidate.settings())
    if len(grid) == 1:
        return grid[0]
    if y.size > SEARCH_ROWS:
        rows = stratified_sample(y, SEARCH_ROWS, seed)
        X, y, weight, groups = _take(rows, X, y, weight, groups)
    splits = inner_splits(y, groups, seed)
    totals = np.zeros(len(grid))
    for train, test in splits:
        X_train, y_train, weight_train, _ = _take(train, X, y, weight, None)
        weight_test = None if weight is None else weight[test]
        for k, settings in enumerate(grid):
            model = candidate.build(**settings)
            _fit(model, X_train, y_train, weight_train, None, seed)
            totals[k] += auc_score(y[test], scores_of(model, X[test]), sample_weight=weight_test)
    return grid[int(np.argmax(totals))]


def _fit(
    model: Any,
    X: Any,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
) -> None:
    folds = model.get_params().get("cv")
    if folds is not None:
        model.set_params(cv=inner_splits(y, groups, seed))
    model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
    if folds is not None:
        model.set_params(cv=folds)  # row numbers of the training data are no setting


def inner_splits(y: Bool, groups: NDArray[Any] | None, seed: int) -> list[tuple[Index, Index]]:
    """Folds of training rows to choose settings on."""
    of = f"the {SEARCH_FOLDS} folds of the training rows on which settings are chosen"
    return splits_of(y, groups, SEARCH_FOLDS, seed, of)


def splits_of(
    y: Bool, groups: NDArray[Any] | None, n_folds: int, seed: int, which: str = ""
) -> list[tuple[Index, Index]]:
    """Stratified folds; a group is never on both sides. Both classes are in every part."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    which = which or f"{n_folds} folds (--cv sets them)"
    rarer = int(min(np.count_nonzero(y), np.count_nonzero(~y)))
    if rarer < n_folds:
        raise TooFewRows(f"the rarer class has {counted(rarer, 'row')}, too few for {which}.")
    n_groups = n_folds if groups is None else np.unique(groups).size
    if n_groups < n_folds:
        raise TooFewRows(f"there are {counted(n_groups, 'group')}, too few for {which}.")
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = kind(n_folds, shuffle=True, random_state=seed)
    splits = list(folds.split(np.zeros((y.size, 0)), y, groups))
    for part in (rows for split in splits for rows in split):
        if not (np.any(y[part]) and np.any(~y[part])):
            raise TooFewRows(
                f"the groups leave one of {which} with one class only: more groups are needed."
            )
    return splits


def stratified_sample(y: Bool, n_rows: int, seed: int) -> Index:
    """Rows drawn at random, of each class its share but at least half the sample's room.

    The rarer class is kept whole up to half of the sample: pairs are made of both.
    """
    rng = np.random.default_rng(seed)
    positives, negatives = np.flatnonzero(y), np.flatnonzero(~y)
    rare, common = sorted((positives, negatives), key=lambda rows: rows.size)
    n_rare = min(rare.size, n_rows // 2)
    drawn = (
        rng.choice(rare, n_rare, replace=False),
        rng.choice(common, min(common.size, n_rows - n_rare), replace=False),
    )
    return np.sort(np.concatenate(drawn))


def _take(
    rows: Index, X: Any, y: Bool, weight: Array | None, groups: NDArray[Any] | None
) -> tuple[Any, Bool, Array | None, NDArray[Any] | None]:
    return (
        X[rows],
        y[rows],
        None if weight is None else weight[rows],
        None if groups is None else groups[rows],
    )
