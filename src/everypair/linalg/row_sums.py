"""Sums over the rows of X that the pair losses ask for, and the blocks that they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.few_rows import FewInBoxes, few_rows
from everypair.linalg.threads import one_blas_thread, over_rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SMALL_IN_SINGLE = 1e-11
"""Beside it, single precision has no digit below 9e-19."""

BLOCK_BYTES = 2**20
"""A block of widened or centred rows: small enough to stay in a core's own cache."""

CENTRE_ROWS = 300
"""Rows whose median serves as the centre: any point amid the data removes cancellation, but a
mean may be dragged away from them by one outlier."""


class Windows(NamedTuple):
    """For target k, the sources ``low[k]:high[k]``, both given by the numbers of their rows."""

    targets: Index
    target_weights: Array
    sources: Index
    source_weights: Array
    low: Index
    high: Index


class BoxedRows(NamedTuple):
    """The class, the box and the weight of each row.

    A row lies inside its box at ``t = 2 frac(score * per_unit) - 1``.
    """

    scores: Array
    weights: Array
    positive: NDArray[np.bool_]
    slots: NDArray[np.int32]
    per_unit: float
    n_boxes: int
    few: FewInBoxes | None = None
    """The same rows, if they are few."""


def slices(start: int, stop: int, step: int) -> Iterator[slice]:
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


def add_weighted_gram(out: Array, rows: Array, weights: Array) -> None:
    """``out += rows' diag(weights) rows``; the rows are used up."""
    if weights.min() >= 0:
        rows *= np.sqrt(weights).astype(rows.dtype)[:, None]
        out += rows.T @ rows  # one operand twice: BLAS does half the work
    else:
        out += rows.T @ (rows * weights[:, None])


def without_subnormals(block: NDArray[Any]) -> NDArray[Any]:
    """In single precision, the numbers rounded in place to multiples of 9e-19.

    Products of smaller ones are subnormal, and processors take a hundred times as long for these:
    one entry in 200 made a Gram matrix take four times as long.
    """
    if block.dtype == np.float32:
        block += SMALL_IN_SINGLE
        block -= SMALL_IN_SINGLE
    return block


def add_boxed_rows(
    rows: slice, block: NDArray[Any], boxed: BoxedRows, few: bool, out: Array
) -> None:
    """Add ``w_i T_k(t_i) x_i`` to ``out[class, box, k]``; ``block`` holds these rows of X."""
    from everypair._compiled import box_row_moments

    if few and boxed.few is not None:
        boxed.few.add_row_moments(rows, block, boxed.weights, out)
    else:
        box_row_moments(block, rows.start, *boxed[:5], out)


def add_rows(X: NDArray[Any], weights: Array, block: int) -> Array:
    """``X.T @ weights``: by BLAS for few rows. The compiled loop for more is as fast as BLAS, and
    its threads do not meet between blocks to hand the GIL on."""
    from everypair._compiled import dense_add_rows_in_blocks

    if few_rows(X.shape):
        return np.asarray(weights @ X)

    def part(start: int, stop: int) -> Array:
        out = np.zeros(X.shape[1])
        dense_add_rows_in_blocks(X, weights, start, stop, block, out)
        return out

    parts = over_rows(part, X.shape[0], X.size, finely=True)
    return np.asarray(sum(parts[1:], parts[0]))


def add_chosen_rows(X: NDArray[Any], weights: Array, rows: Index, block: int) -> Array:
    """`add_rows` over these rows, the others having no weight."""
    from everypair._compiled import dense_add_chosen_rows

    def part(start: int, stop: int) -> Array:
        out = np.zeros(X.shape[1])
        # Four rows are one addition, and fewer blocks follow: no more than `DenseMatrix.chain`.
        dense_add_chosen_rows(X, weights, rows, start, stop, 2 * block, out)
        return out

    parts = over_rows(part, rows.size, rows.size * X.shape[1])
    return np.asarray(sum(parts[1:], parts[0]))


def add_narrow_rows(X: NDArray[Any], weights: Array, by_rows: bool) -> Array:
    """`add_rows` of single precision, widened as it is read; X is in the order of its columns
    unless ``by_rows``."""
    from everypair._compiled import columns_add_rows, dense_add_rows

    def part(start: int, stop: int) -> Array:
        out = np.zeros(X.shape[1])
        if by_rows:
            dense_add_rows(X, weights, start, stop, out)
        else:
            columns_add_rows(X.T, weights, start, stop, out)
        return out

    parts = over_rows(part, X.shape[0], X.size)
    return np.asarray(sum(parts[1:], parts[0]))


def cross_of_windows(
    X: NDArray[Any], centre: Array, windows: Windows, block: int, dtype: np.dtype[Any]
) -> Array:
    """``sum_k w_k (x_k - centre) (sum over its window of w_j (x_j - centre))'`` over the targets,
    products in ``dtype``."""
    from everypair._compiled import window_rows

    n_columns = centre.size

    def part(start: int, stop: int) -> Array:
        cross = np.zeros((n_columns, n_columns))
        running, state = np.zeros(n_columns), np.zeros(2, dtype=np.intp)
        for some in slices(start, stop, block):
            rows = windows.targets[some]
            sums = np.empty((rows.size, n_columns))
            window_rows(
                X, centre, windows.sources, windows.source_weights,
                windows.low, windows.high, some.start, running, state, sums,
            )  # fmt: skip
            targets = np.subtract(X[rows], centre, dtype=np.float64)
            targets *= windows.target_weights[some, None]
            targets, sums = (
                without_subnormals(of.astype(dtype, copy=False)) for of in (targets, sums)
            )
            cross += targets.T @ sums
        return cross

    # Each thread adds up its own first window, and every other moves with the targets.
    with one_blas_thread():
        parts = over_rows(part, windows.targets.size, windows.targets.size * n_columns**2)
    return np.asarray(sum(parts[1:], parts[0]))
