"""Columns that tell the target alone: by their values, as categories, or by being missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.app.check.profiles import FEWEST_ROWS, Profile, areas_of

Bool = NDArray[np.bool_]
Codes = NDArray[np.intp]

LEAK_AUC = 0.99
"""A column that ranks the rows so well alone, or the other way round, tells the target."""


def leaks_of(profiles: Mapping[str, Profile]) -> Iterator[tuple[str, str]]:
    """Columns that tell the target alone, and how."""
    for name, found in profiles.items():
        if _is_leak(auc := found.missing_area):
            known = "missing" if auc > 0.5 else "known"
            yield name, f"tells the target by being {known} (AUC {max(auc, 1 - auc):.3f})"
        elif _is_leak(found.area):
            yield name, f"alone tells the target (AUC {found.area:.3f})"
        elif _is_leak(found.rate_area):
            yield name, f"alone tells the target (AUC {found.rate_area:.3f} by its values)"


def _is_leak(auc: float) -> bool:
    return auc >= LEAK_AUC or auc <= 1 - LEAK_AUC


def leaks_of_sparse(X: Any, y: Bool, rows: Codes) -> Iterator[tuple[str, str]]:
    """Columns that tell the target by being there, or, where mostly there, by their values.

    Values are ranked on the rows given, which have both classes.
    """
    n_positive, n_negative = np.count_nonzero(y), np.count_nonzero(~y)
    if min(n_positive, n_negative) < FEWEST_ROWS:
        return
    held = sparse.csr_matrix(((X.data != 0).astype(float), X.indices, X.indptr), shape=X.shape)
    by_presence = 0.5 + (held.T @ (y / n_positive) - held.T @ (~y / n_negative)) / 2
    filled = np.flatnonzero(held.T @ np.ones(y.size) > y.size / 2)
    areas = by_presence
    if filled.size:
        columns = X[rows][:, filled].tocsc()
        for k, j in enumerate(filled):
            values = columns[:, [k]].toarray().T
            areas[j] = areas_of(np.where(np.isfinite(values), values, np.nan), y[rows])[0]
    for j in np.flatnonzero((areas >= LEAK_AUC) | (areas <= 1 - LEAK_AUC)):
        yield str(j), f"alone tells the target (AUC {areas[j]:.3f})"
