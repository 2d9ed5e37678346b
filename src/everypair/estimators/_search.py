"""What the cross-validated classifiers share: folds, grids, and folds side by side."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from everypair.within import Groups

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Fold = tuple[Index, Index]
Item = TypeVar("Item")

DEFAULT_FOLDS = 5


def folds_of(
    cv: Any,
    X: Any,
    positive: NDArray[np.bool_],
    sample_weight: Array | None,
    groups: ArrayLike | None,
    *,
    each_has_auc: bool,
    within: Groups | None = None,
) -> list[Fold]:
    """The (train, test) rows of each fold, sorted and plain; an integer cv is stratified.

    Every training set needs both classes, and every test set does where ``each_has_auc``; both in
    one group, where rows are paired ``within`` groups.
    """
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        cv = StratifiedGroupKFold(5 if cv is None else int(cv))
    there = np.ones(positive.size, dtype=bool) if sample_weight is None else sample_weight > 0
    folds = []
    if within is not None and groups is None and (cv is None or isinstance(cv, Integral)):
        n_folds = DEFAULT_FOLDS if cv is None else int(cv)
        splits = _splits_of_groups(n_folds, positive, there, within)
    else:
        splits = check_cv(cv, positive, classifier=True).split(X, positive, groups)
    for k, fold in enumerate(splits):
        train, test = (row_numbers(rows, positive.size, k) for rows in fold)
        trained = np.zeros(positive.size, dtype=bool)
        trained[train] = True
        if np.count_nonzero(trained) < train.size or trained[test].any():
            raise ValueError(
                f"Fold {k} of cv trains on a row twice or on a row that it tests: give folds "
                "whose rows are distinct, and sample_weight for repeated rows."
            )
        for rows, what in ((train, "trains"), (test, "tests")):
            among = positive[rows][there[rows]]
            if (what == "trains" or each_has_auc) and (among.all() or not among.any()):
                raise ValueError(
                    f"Fold {k} of cv {what} on one class only: use stratified or fewer folds."
                )
            if (
                within is not None
                and (what == "trains" or each_has_auc)
                and not groups_with_pairs(within.codes[rows], positive[rows], there[rows]).any()
            ):
                raise ValueError(
                    f"Fold {k} of cv {what} on no pair: no group of within has rows of both "
                    "classes there. Use fewer folds, or folds that keep groups whole."
                )
        folds.append((np.flatnonzero(trained), test))
    return folds


def _splits_of_groups(
    n_folds: int, positive: NDArray[np.bool_], there: NDArray[np.bool_], within: Groups
) -> Iterator[tuple[Index, Index]]:
    """Whole groups, where there are enough that have a pair; else rows of each group and class."""
    paired = groups_with_pairs(within.codes, positive, there)
    everything = np.arange(positive.size)
    fold = within.codes % n_folds  # of groups without a pair, which count nowhere
    if np.count_nonzero(paired) >= n_folds:
        rows = np.flatnonzero(paired[within.codes])
        splits, codes = GroupKFold(n_folds).split(rows, None, within.codes[rows]), rows
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cells of fewer rows than folds
            cells = 2 * within.codes + positive
            splits, codes = [*StratifiedKFold(n_folds).split(everything, cells)], everything
    for k, (_, test) in enumerate(splits):
        fold[codes[test]] = k
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def groups_with_pairs(
    codes: Index, positive: NDArray[np.bool_], there: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which groups have rows of both classes that are there."""
    n_groups = int(codes.max()) + 1
    held = [np.bincount(codes[there & side], minlength=n_groups) for side in (positive, ~positive)]
    return (held[0] > 0) & (held[1] > 0)


def row_numbers(rows: Any, n_rows: int, fold: int) -> Index:
    """Row numbers from 0 up, from a mask or from numbers that may count from the end."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.size == n_rows:
        return np.flatnonzero(rows)
    if rows.size and not (-n_rows <= rows.min() and rows.max() < n_rows):
        raise ValueError(
            f"Fold {fold} of cv has rows from {rows.min()} to {rows.max()}, but X has {n_rows} "
            "rows: number them from 0."
        )
    return np.where(rows < 0, rows + n_rows, rows).astype(np.intp)


def positive_grid(values: ArrayLike, name: str) -> Array:
    """One's own values of a penalty, as an array."""
    grid = np.array(values, dtype=np.float64)
    if grid.ndim != 1 or grid.size == 0 or not np.all(np.isfinite(grid)) or grid.min() <= 0:
        raise ValueError(f"{name}={values!r}: give a list of positive numbers, finite and above 0.")
    return grid


def side_by_side(
    tasks: Sequence[Callable[[], Item]],
    n_jobs: int | None,
    what: str = "cross-validation",
    verbose: int = 0,
) -> list[Item]:
    """The tasks' results, computed in ``n_jobs`` threads that share the cores."""
    from everypair.linalg.threads import available_threads, one_blas_thread, thread_limit

    n_jobs = min(effective_n_jobs(n_jobs), len(tasks))
    if n_jobs == 1:
        return list(with_progress((task() for task in tasks), len(tasks), what, verbose))
    n_threads = max(1, available_threads() // n_jobs)

    def limited(task: Callable[[], Item]) -> Item:
        with thread_limit(n_threads):
            return task()

    # BLAS keeps one thread while ours run side by side: its limit belongs to the process. A
    # thread has the caller's context, in which overflow may be expected (`np.errstate`).
    with one_blas_thread():
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        results = parallel(delayed(copy_context().run)(limited, task) for task in tasks)
        return list(with_progress(results, len(tasks), what, verbose))


def with_progress(items: Iterable[Item], total: int, what: str, verbose: int) -> Iterator[Item]:
    """The items, and a bar on stderr that grows with them."""
    for done, item in enumerate(items, start=1):
        if verbose:
            bar = "#" * (30 * done // total)
            end = "\n" if done == total else ""
            text = f"\r[everypair] {what} [{bar:<30}] {done}/{total}"
            print(text, end=end, file=sys.stderr, flush=True)
        yield item
