"""Tables as they come (frames, mappings, arrays, CSR), as one Arrow table or CSR matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.app.files.kinds import canonical, was_read
from everypair.app.files.problems import DataError
from everypair.app.files.table_file import check_names
from everypair.linalg.matrix import canonical as canonical_matrix

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_table(X: Any) -> pa.Table:
    """A pandas or polars frame, a mapping of columns, or an Arrow table, as an Arrow table."""
    import pyarrow as pa

    if isinstance(X, pa.Table):
        return X
    try:
        return pa.table(X)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, OverflowError):
        if not hasattr(X, "items"):
            raise
    # A column of several types, which Python's lists and pandas' objects may have, is text.
    return pa.table({str(name): _array(str(name), values) for name, values in X.items()})


def _array(name: str, values: Any) -> Any:
    import pyarrow as pa

    kind = str(getattr(values, "dtype", ""))
    if kind.startswith(("Sparse", "complex")):
        raise DataError(
            f"a column of type {kind} cannot be used: convert it to plain numbers.",
            column=name,
        )
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # NaN is the value that differs from itself.
        return pa.array([None if v is None or v != v else str(v) for v in values])  # noqa: PLR0124


def canonical_table(X: Any) -> pa.Table:
    """`arrow_table` with each column as what it means, as if it had been read from a file."""
    table = arrow_table(X)
    if was_read(table):
        return table
    table = canonical(table)
    check_names(table.column_names)
    return table


def as_table(X: Any) -> Any:
    """`canonical_table`, or a CSR matrix where X is sparse; an array has columns x0, x1, ..."""
    if sparse.issparse(X):
        return canonical_matrix(X.tocsr())
    if isinstance(X, np.ndarray):
        X = {f"x{k}": column for k, column in enumerate(X.T)}
    return canonical_table(X)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X[rows] if sparse.issparse(X) else X.take(rows)
