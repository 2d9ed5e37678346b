"""Rows that are copies of others, and the groups that keep them on one side of the folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.app.check.row_hashes import Hash, mixed

Bool = NDArray[np.bool_]
Codes = NDArray[np.intp]

SETS_OF_COPIES = 10
"""Sets of equal rows that each class needs to go round the folds; fewer if no two of its rows are
equal."""


def kept_together(
    hashes: Hash, y: Bool, groups: NDArray[Any] | None
) -> tuple[NDArray[Any] | None, str]:
    """Groups to keep in one fold, those given joined by copies; and a sentence where there are any.

    Rows with equal features stay together whatever their labels; as copies count those that are
    equal in the label too.
    """
    distinct, sets = np.unique(hashes, return_inverse=True)
    if distinct.size == y.size:
        return groups, ""
    n_copies = y.size - np.unique(mixed(hashes) ^ y).size
    share = f"{n_copies} of {y.size} rows are copies of other rows"
    joined = sets if groups is None else _joined(sets, groups)
    apart = groups is not None and np.unique(joined).size == np.unique(groups).size
    if apart or all(_go_round(joined[members]) for members in (y, ~y)):
        text = (
            f"{share}, equal in all columns: copies are kept in one fold, so that no model is "
            "tested on a row that it was trained on."
        )
        return joined, text if n_copies else ""
    why = "too few rows differ" if groups is None else "the groups share too many of them"
    text = (
        f"{share}, and {why} to keep copies in one fold: if they are mistakes, remove them from "
        "the file, because the held-out AUCs are too high."
    )
    return groups, text if n_copies else ""


def _go_round(sets: Codes) -> bool:
    """Are there enough sets of about equal size for every fold to have one?"""
    sizes = np.unique(sets, return_counts=True)[1].astype(np.float64)
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    return bool(effective >= min(SETS_OF_COPIES, sets.size))


def _joined(sets: Codes, groups: NDArray[Any]) -> Codes:
    """Groups that share a copied row as one."""
    from scipy.sparse.csgraph import connected_components

    given = np.unique(groups, return_inverse=True)[1]
    n_nodes = int(sets.max() + given.max()) + 2
    links = sparse.coo_matrix(
        (np.ones(given.size, dtype=bool), (sets, given + sets.max() + 1)), shape=(n_nodes, n_nodes)
    )
    joined: Codes = connected_components(links, directed=False)[1][sets]
    return joined
