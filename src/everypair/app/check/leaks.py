"""Columns that tell the target alone: by their values, as categories, or by being missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.app.check.row_hashes import codes_of
from everypair.metrics import auc_score

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Codes = NDArray[np.intp]

LEAK_AUC = 0.99
"""A column that ranks the rows so well alone, or the other way round, tells the target."""

LEAK_ROWS = 10
"""Rows of each class that must have a value: fewer can be parted by chance."""

LEAK_LEVELS = 50
"""Numbers with at most so many values are also looked at as categories."""


def leaks_of(X: pa.Table, kinds: Mapping[str, str], y: Bool) -> Iterator[tuple[str, str]]:
    """Columns that tell the target alone, and how."""
    for name, column in zip(X.column_names, X.columns, strict=True):
        missing = column.is_null(nan_is_null=True).to_numpy()
        if _is_leak(auc := _area(y, missing.astype(float))):
            known = "missing" if auc > 0.5 else "known"
            yield name, f"tells the target by being {known} (AUC {max(auc, 1 - auc):.3f})"
            continue
        if kinds[name] in ("number", "date", "boolean"):
            values = numbers_of(column)[~missing]
            if _is_leak(auc := _area(y[~missing], values)):
                yield name, f"alone tells the target (AUC {auc:.3f})"
                continue
            if np.unique(values).size > LEAK_LEVELS:
                continue
        codes = np.unique(codes_of(column), return_inverse=True)[1]
        if _is_leak(auc := _area(y, _rates_of_the_other_half(codes, y))):
            yield name, f"alone tells the target (AUC {auc:.3f} by its values)"


def numbers_of(column: pa.ChunkedArray) -> Array:
    import pyarrow as pa

    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def _area(y: Bool, values: Array) -> float:
    finite = np.isfinite(values)
    y, values = y[finite], values[finite]
    if min(np.count_nonzero(y), np.count_nonzero(~y)) < LEAK_ROWS:
        return 0.5
    return auc_score(y, values)


def _is_leak(auc: float) -> bool:
    return auc >= LEAK_AUC or auc <= 1 - LEAK_AUC


def _rates_of_the_other_half(codes: Codes, y: Bool) -> Array:
    """Share of positives among rows of the same value in the half that the row is not in.

    A value that is not in the other half has the share of all: many values say nothing.
    """
    half = np.zeros(y.size, dtype=bool)
    for members in (np.flatnonzero(y), np.flatnonzero(~y)):
        half[np.random.default_rng(0).permutation(members)[::2]] = True
    rates = np.empty(y.size)
    for here in (half, ~half):
        n_rows = np.bincount(codes[~here], minlength=codes.max() + 1)
        n_positive = np.bincount(codes[~here], y[~here], minlength=codes.max() + 1)
        of_level = np.where(n_rows > 0, n_positive / np.maximum(n_rows, 1), y.mean())
        rates[here] = of_level[codes[here]]
    return rates


def leaks_of_sparse(X: Any, y: Bool, rows: Codes) -> Iterator[tuple[str, str]]:
    """Columns that tell the target by being there, or, where mostly there, by their values.

    Values are ranked on the rows given, which have both classes.
    """
    n_positive, n_negative = np.count_nonzero(y), np.count_nonzero(~y)
    if min(n_positive, n_negative) < LEAK_ROWS:
        return
    held = sparse.csr_matrix(((X.data != 0).astype(float), X.indices, X.indptr), shape=X.shape)
    by_presence = 0.5 + (held.T @ (y / n_positive) - held.T @ (~y / n_negative)) / 2
    filled = np.flatnonzero(held.T @ np.ones(y.size) > y.size / 2)
    areas = by_presence
    if filled.size:
        columns = X[rows][:, filled].tocsc()
        for k, j in enumerate(filled):
            areas[j] = _area(y[rows], columns[:, [k]].toarray().ravel())
    for j in np.flatnonzero((areas >= LEAK_AUC) | (areas <= 1 - LEAK_AUC)):
        yield str(j), f"alone tells the target (AUC {areas[j]:.3f})"
