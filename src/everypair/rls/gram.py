"""The kernel matrix of the training rows, in float64, with X as it comes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

COLUMNS = 512
"""Columns of a dense X that are widened and centred at a time."""

SPARSE_ROWS = 2048


def linear_gram(X: Any) -> tuple[Array, Array]:
    """``(X - o)(X - o)'`` and the origin o: near the rows if dense, zero if sparse.

    Pairs do not see the origin; rounding does.
    """
    n_rows, n_columns = X.shape
    K = np.zeros((n_rows, n_rows))
    if sparse.issparse(X):
        rows = X.tocsr() if X.format != "csr" else X
        slices = [slice(b, b + SPARSE_ROWS) for b in range(0, n_rows, SPARSE_ROWS)]
        for left in slices:
            block = rows[left].astype(np.float64)
            for right in slices:
                if right.start <= left.start:
                    K[left, right] = (block @ rows[right].astype(np.float64).T).toarray()
                    K[right, left] = K[left, right].T
        return K, np.zeros(n_columns)
    origin = np.empty(n_columns)
    for begin in range(0, n_columns, COLUMNS):
        columns = slice(begin, begin + COLUMNS)
        origin[columns] = X[:, columns].mean(axis=0, dtype=np.float64)
        block = np.subtract(X[:, columns], origin[columns], dtype=np.float64, order="C")
        K += block @ block.T
    return K, origin
