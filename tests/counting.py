"""Counts the work of a fit from outside: the library itself has no counters.

Work over some of the rows or columns counts as that share of a whole pass, so a first solve on a
sample costs little and a working set costs what it is.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import numpy as np
import pytest

from everypair.linalg.dense import DenseMatrix
from everypair.linalg.factor import FactorMatrix
from everypair.linalg.sparse import SparseMatrix
from everypair.measures import FBeta, ROCArea
from everypair.pairs import few, separable, smooth, sorted

PRODUCTS = ("dot", "pull_back", "pull_back_moments")
BLOCK_PRODUCTS = ("dot_each", "pull_back_each")
"""With several vectors at a time; one pass each."""
POINTS = (
    separable._SeparablePoint,
    separable.SquarePoint,
    separable.ExponentialPoint,
    smooth.SmoothPoint,
    sorted._SortedPoint,
    sorted.SquaredHingePoint,
    sorted.HingePoint,
    sorted.HuberHingePoint,
)
SUMS = ("value", "hinge_value", "gradient")


@contextmanager
def counted_work(n_rows: int, n_columns: int) -> Iterator[Counter[str]]:
    """Counts while the block runs, in whole passes over n_rows x n_columns.

    passes: products of X with a vector, or with several at once; hessians: X'HX, products: H v,
    pair_sums: losses and gradients over every pair; copies: of rows or columns; cuts: most violated
    labellings; moments: passes of the class moments; peak_per_row: bytes that numpy allocated, at
    the peak.
    """
    work: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:

        def count(home: type | object, name: str, what: str, share: Callable[..., float]) -> None:
            plain = getattr(home, name)

            @wraps(plain)
            def counting(*args, **kwargs):
                work[what] += share(*args)
                return plain(*args, **kwargs)

            patch.setattr(home, name, counting)

        def of_matrix(X, *_):
            # A factor of a kernel, or a matrix of products of rows, is not X.
            size = 0 if isinstance(X, FactorMatrix) else X.shape[0] * X.shape[1]
            return size / (n_rows * n_columns)

        def of_first_product(X, *_):
            is_dot = isinstance(X, SparseMatrix) and (not X.by_rows or "sizes" in vars(X))
            return 0.0 if is_dot else of_matrix(X)

        def of_point(point, *_):
            return point.pairs.n_rows / n_rows

        for matrix in (DenseMatrix, SparseMatrix):
            for name in PRODUCTS:
                count(matrix, name, "passes", of_matrix)
            for name in BLOCK_PRODUCTS:
                if name in vars(matrix):
                    count(matrix, name, "passes", of_matrix)
            # Of columns, and where the sizes are known, it is `dot`.
            count(matrix, "dot_and_sizes", "passes", of_first_product)
            count(matrix, "take", "copies", lambda X, rows: rows.size / n_rows)
            count(matrix, "columns", "copies", lambda X, columns: columns.size / n_columns)
        for point in POINTS:
            for name in SUMS:
                if name in vars(point):
                    count(point, name, "pair_sums", of_point)
            if "product" in vars(point):
                count(point, "product", "products", of_point)
            if "hessian" in vars(point):
                count(point, "hessian", "hessians", lambda p, X, *_: of_matrix(X))
        # The value and the gradient.
        count(few.FewPairs, "at", "pair_sums", lambda _, scores, *ends: 2 * scores.size / n_rows)
        for measure in (FBeta, ROCArea):
            count(measure, "most_violated", "cuts", lambda *_: 1)
        count(DenseMatrix, "class_moments", "moments", lambda X, rows, *_: rows.size / n_rows)
        yield work


def peak_per_row(fit: Callable[[], object], n_rows: int) -> float:
    """Bytes a row that a fit allocates beyond what is there, at the peak. A fit before it must have
    compiled the code and filled the tables that stay."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        fit()
        return (tracemalloc.get_traced_memory()[1] - before) / n_rows
    finally:
        tracemalloc.stop()


def rows(n_rows: int, n_columns: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """One row in ten is positive."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    signal = X @ rng.standard_normal(n_columns) / np.sqrt(n_columns)
    signal += noise * rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 0.9)
