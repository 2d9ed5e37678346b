"""A candidate fitted on training rows: settings chosen by cross-validation among them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.yardstick import AREA, Yardstick
from everypair.app.wording import counted
from everypair.metrics.cross_val import scores_of

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Bool = NDArray[np.bool_]

SEARCH_ROWS = 10_000
"""Rows that the search for settings looks at; the fit itself takes all."""

SEARCH_FOLDS = 3

ENTRIES_FOR_THREADS = 2_000_000
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

    def standard_scores(self, X: Any) -> Array:
        return self.standardised(self.scores(X))

    @property
    def coef(self) -> Array | None:
        """The weights of a linear model."""
        coef = getattr(self.model, "coef_", None)
        return None if coef is None else np.ravel(coef)

    @property
    def standard_coef(self) -> Array | None:
        """On the scale of the standardised scores."""
        return None if self.coef is None else self.coef / self.score_scale


def fit_candidate(
    candidate: Candidate,
    X: Any,
    y: Bool,
    weight: Array | None = None,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    within: Index | None = None,
    by: Yardstick = AREA,
) -> Fitted:
    """Fit on these rows, with the settings given or searched on (a sample of) these rows.

    A search goes ``by`` the AUC or by a measure, with the model's own cut. A model that searches
    its settings itself goes by AUC, or by the measure that it was built with. The AUC is that
    inside the groups ``within``, and methods that can pair rows inside them do.
    """
    check_takes(candidate, X)
    remarks = []
    if candidate.max_rows is not None and y.size > candidate.max_rows:
        rows = sample_of(y, candidate.max_rows, seed, within)
        X, y, weight, groups = take(rows, X, y, weight, groups)
        within = None if within is None else within[rows]
        remarks.append(f"trained on {candidate.max_rows} rows drawn at random")
    if weight is not None and not candidate.weights:
        weight = None
        remarks.append("ignores the weights")
    with convergence_warnings() as troubles, threads_for(X):
        if settings is None and candidate.own is not None:
            model = candidate.build(cv=inner_splits(y, groups, seed))
            if by is not AREA and not candidate.own.by_measure:
                remarks.append("chooses its settings by AUC, not by the measure")
        else:
            if settings is None:
                settings = _search(candidate, X, y, weight, groups, seed, within, by)
            troubles.clear()  # a grid point that does not converge is judged all the same
            folds = {"cv": inner_splits(y, groups, seed)} if candidate.takes_folds else {}
            model = candidate.at(settings, **folds)
        model.fit(X, y, **_weighing(weight), **_pairing(model, within))
        if within is not None and not _pairing(model, within):
            remarks.append("is trained without regard to the groups of --within")
        training = scores_of(model, X[: 10 * SEARCH_ROWS])
    if candidate.own is not None and (settings is None or candidate.takes_folds):
        model.set_params(cv=SEARCH_FOLDS)  # row numbers of the training data are not a setting
        settings = candidate.own.chosen(model) if settings is None else settings
    if troubles and not np.any(getattr(model, "coef_", 1)):  # its own words say what to do
        remarks.append(f"ranks nothing: {troubles[0].rstrip('.')}")
    elif troubles:
        remarks.append("stopped before its tolerance was reached")
    spread = float(training.std())
    return Fitted(
        model, dict(settings or {}), float(training.mean()), spread if spread > 0 else 1.0, remarks
    )


_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@contextmanager
def heard_apart() -> Iterator[list[str]]:
    """Inside `convergence_warnings`: what this fit says about convergence, and no other thread's.

    Filters of warnings belong to the whole process, so that each thread cannot have its own.
    """
    said: list[str] = []
    before = _heard.set(said)
    try:
        yield said
    finally:
        _heard.reset(before)


@contextmanager
def convergence_warnings() -> Iterator[list[str]]:
    """What is said inside about convergence; other warnings go on to whoever listens outside."""
    from sklearn.exceptions import ConvergenceWarning

    said: list[str] = []
    outer = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, ConvergenceWarning):
            (said if (own := _heard.get()) is None else own).append(str(message))
        else:
            outer(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.showwarning = show
        yield said


def check_takes(candidate: Candidate, X: Any) -> None:
    """Refuse sparse rows where the method would have to write them out."""
    from scipy import sparse

    if sparse.issparse(X) and not candidate.sparse:
        raise ValueError("it takes dense rows only, and these are sparse.")


def _weighing(weight: Array | None) -> dict[str, Array]:
    return {} if weight is None else {"sample_weight": weight}


def _pairing(model: Any, within: Index | None) -> dict[str, Index]:
    """``within``, where the model can pair rows inside groups."""
    from inspect import signature

    takes = within is not None and "within" in signature(model.fit).parameters
    return {"within": within} if takes and within is not None else {}


def threads_for(X: Any) -> AbstractContextManager[Any]:
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1) if X.shape[0] * X.shape[1] < ENTRIES_FOR_THREADS else nullcontext()


class Tried(NamedTuple):
    """Settings, and how good they are on a fold's held-out rows."""

    settings: dict[str, Any]
    value: float
    scores: Array | None = None  # of the held-out rows, where they are at hand


def _without_cut(model: Any) -> Any:
    """The model with a cut that costs nothing: settings are judged by its scores."""
    if "threshold" in model.get_params(deep=False):
        model.set_params(threshold=0.0)
    return model


def values_of_fold(
    candidate: Candidate,
    X: Any,
    y: Bool,
    weight: Array | None,
    fold: tuple[Index, Index],
    wanted: Sequence[Mapping[str, Any]] | None = None,
    seed: int = 0,
    within: Index | None = None,
    by: Yardstick = AREA,
    groups: NDArray[Any] | None = None,
) -> list[Tried]:
    """Settings (those ``wanted``, or all), each with its value on the fold's held-out rows.

    A model that searches one setting itself goes by AUC, or by the measure that it was built with.
    For another yardstick than AUC, or with several settings, it searches among the training rows,
    and has one value.
    """
    train, test = fold
    heeded = weight if candidate.weights else None
    weight_test = None if weight is None else weight[test]
    if candidate.own is not None and candidate.own.one_setting and by is AREA:
        model = candidate.build(cv=[fold])
        model.fit(X, y, **_weighing(heeded), **_pairing(model, within))
        values, areas = candidate.own.areas(model)
        return [
            Tried({candidate.own.setting: float(v)}, float(a))
            for v, a in zip(values, areas, strict=True)
        ]
    if candidate.own is not None:
        of_train, of_test = (None if within is None else within[rows] for rows in (train, test))
        fitted = fit_candidate(
            candidate, *take(train, X, y, weight, groups), seed, within=of_train, by=by
        )
        scores = fitted.scores(X[test])
        return [Tried({}, by.value(y[test], scores, weight_test, of_test), scores)]
    if candidate.max_rows is not None:
        # The share that a fold of `max_rows` rows would train on.
        most = round(candidate.max_rows * (SEARCH_FOLDS - 1) / SEARCH_FOLDS)
        of_train = None if within is None else within[train]
        train = train if train.size <= most else train[sample_of(y[train], most, seed, of_train)]
    X_train, y_train, weight_train, _ = take(train, X, y, heeded, None)
    held_out = X[test]
    found = []
    for settings in candidate.settings() if wanted is None else wanted:
        model = _without_cut(candidate.at(settings))
        pairing = _pairing(model, None if within is None else within[train])
        model.fit(X_train, y_train, **_weighing(weight_train), **pairing)
        scores = scores_of(model, held_out)
        value = by.value(y[test], scores, weight_test, None if within is None else within[test])
        found.append(Tried(dict(settings), value, scores))
    return found


def _search(
    candidate: Candidate,
    X: Any,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
    within: Index | None,
    by: Yardstick,
) -> dict[str, Any]:
    grid = list(candidate.settings())
    if len(grid) == 1:
        return grid[0]
    X, y, weight, groups, within = search_sample(X, y, weight, groups, seed, within)
    folds = inner_splits(y, groups, seed)
    found = [values_of_fold(candidate, X, y, weight, f, grid, seed, within, by) for f in folds]
    values = [
        by.over_folds(
            y, weight, folds, [one.value for one in of], [one.scores for one in of], within
        )
        for of in zip(*found, strict=True)
    ]
    return grid[int(np.argmax(values))]


def search_sample(
    X: Any,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
    within: Index | None = None,
) -> tuple[Any, Bool, Array | None, NDArray[Any] | None, Index | None]:
    """At most `SEARCH_ROWS` of the rows."""
    if y.size <= SEARCH_ROWS:
        return X, y, weight, groups, within
    rows = sample_of(y, SEARCH_ROWS, seed, within)
    return *take(rows, X, y, weight, groups), None if within is None else within[rows]


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


def sample_of(y: Bool, n_rows: int, seed: int, within: Index | None) -> Index:
    """`stratified_sample`, or about as many rows in whole groups, drawn among those with a pair."""
    if within is None:
        return stratified_sample(y, n_rows, seed)
    from everypair.rows import Rows

    paired = Rows.uncut(y, None, within).paired
    sizes = np.diff(paired.edges[0]) + np.diff(paired.edges[1])
    order = np.random.default_rng(seed).permutation(paired.n_groups)
    first = max(1, int(np.searchsorted(np.cumsum(sizes[order]), n_rows, side="right")))
    rows = np.flatnonzero(np.isin(paired.cells // 2, order[:first]))
    if rows.size > 2 * n_rows:  # one group of most rows
        rows = rows[stratified_sample(y[rows], n_rows, seed)]
    return rows


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


def take(
    rows: Index, X: Any, y: Bool, weight: Array | None, groups: NDArray[Any] | None
) -> tuple[Any, Bool, Array | None, NDArray[Any] | None]:
    return (
        X[rows],
        y[rows],
        None if weight is None else weight[rows],
        None if groups is None else groups[rows],
    )
