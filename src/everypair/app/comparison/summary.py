"""The columns of a table in a line each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from everypair.app.column_kinds import kind_of
from everypair.app.comparison.records import ColumnSummary

MOST_COLUMNS = 1000


def column_names(X: Any) -> list[str]:
    """Names of the columns that `summarise` lists."""
    names = range(X.shape[1]) if sparse.issparse(X) else X.column_names
    return [str(name) for name in names][:MOST_COLUMNS]


def summarise(X: Any) -> list[ColumnSummary]:
    """Kind, missing and distinct values of each column; the first ones of a very wide table."""
    if sparse.issparse(X):
        return _of_sparse(X)
    import pyarrow.compute as pc

    out = []
    for name, column in list(zip(X.column_names, X.columns, strict=True))[:MOST_COLUMNS]:
        known = pc.drop_null(column.unify_dictionaries())
        kind = kind_of(column)
        if kind == "other":
            out.append(ColumnSummary(name, "text", column.null_count, 0, str(column.type)))
            continue
        distinct = len(pc.unique(known))
        example = str(known[0].as_py()) if len(known) else ""
        if distinct <= 1:
            kind = "constant"
        out.append(ColumnSummary(name, kind, column.null_count, distinct, example))  # type: ignore[arg-type]
    return out


def _of_sparse(X: Any) -> list[ColumnSummary]:
    columns = X.tocsc()[:, :MOST_COLUMNS]
    out = []
    for k in range(columns.shape[1]):
        values = columns.data[columns.indptr[k] : columns.indptr[k + 1]]
        some_zero = values.size < X.shape[0]
        distinct = int(np.union1d(values, [0.0] if some_zero else []).size)
        example = f"{values[0]:g}" if values.size else "0"
        kind = "number" if distinct > 1 else "constant"
        out.append(ColumnSummary(str(k), kind, 0, distinct, example))  # type: ignore[arg-type]
    return out
