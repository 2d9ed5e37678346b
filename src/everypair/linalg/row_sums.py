"""Sums over the rows of X that the pair losses ask for, and the blocks that they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

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
