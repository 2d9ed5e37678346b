"""The pairs of near neighbours (Rakotomamonjy 2004, section 3.3).

N+ holds the positives that are among the m nearest positives of some negative; each of them is
paired with its m nearest negatives:

    { (i, j) : i in N+, j in B(i, m) } ,        at most m |N+| pairs.

Rows as far as the m-th count as well, so the list does not hang on the order of the rows. A row
of weight 2 counts for two: it is a neighbour where the nearer rows weigh less than m.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from everypair.pairs.listed import PairList

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK_ENTRIES = 2**22
SAME_DISTANCE = 1e-9
"""Squared distances that differ by less, relative to the rows' squared lengths, are one: equal
rows must stay neighbours together whatever their products' rounding."""


def neighbor_pairs(
    X: Any,
    positive: NDArray[np.bool_],
    n_neighbors: int,
    sample_weight: Array | None = None,
    precomputed: bool = False,
) -> PairList:
    """The list for rows X, or for the kernel matrix X (``k(x,x) - 2 k(x,z) + k(z,z)``)."""
    weight = np.ones(positive.size) if sample_weight is None else sample_weight
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    positives, negatives = positives[weight[positives] > 0], negatives[weight[negatives] > 0]
    near = np.zeros(positives.size, dtype=bool)
    for _, chosen in _nearest(X, negatives, positives, n_neighbors, weight, precomputed):
        near |= chosen.any(axis=0)
    first, second = [], []
    for rows, chosen in _nearest(X, positives[near], negatives, n_neighbors, weight, precomputed):
        of_rows, of_sources = np.nonzero(chosen)
        first.append(rows[of_rows])
        second.append(negatives[of_sources])
    i, j = np.concatenate(first), np.concatenate(second)
    return PairList.of(i, j, weight[i] * weight[j], positive.size)


def _nearest(
    X: Any, targets: Index, sources: Index, n_neighbors: int, weight: Array, precomputed: bool
) -> Iterator[tuple[Index, NDArray[np.bool_]]]:
    """For blocks of targets: which of the sources are among the nearest of each."""
    step = max(1, BLOCK_ENTRIES // sources.size)
    for start in range(0, targets.size, step):
        rows = targets[start : start + step]
        distances, lengths = _squared_distances(X, rows, sources, precomputed)
        order = np.argsort(distances, axis=1)
        nearer = np.cumsum(weight[sources][order], axis=1)
        last = np.argmax(nearer >= min(n_neighbors, nearer[0, -1]), axis=1)
        farthest = np.take_along_axis(distances, order, axis=1)[np.arange(rows.size), last]
        yield rows, distances <= farthest[:, None] + SAME_DISTANCE * lengths


def _squared_distances(
    X: Any, rows: Index, sources: Index, precomputed: bool
) -> tuple[Array, Array]:
    """Squared distances, and the squared lengths whose rounding they carry."""
    if precomputed:
        diagonal = np.asarray(X.diagonal(), dtype=np.float64)
        values = X[rows][:, sources]
        values = values.toarray() if hasattr(values, "toarray") else values
        lengths = diagonal[rows][:, None] + diagonal[sources]
        return lengths - 2 * np.asarray(values, dtype=np.float64), lengths
    A, B = X[rows].astype(np.float64), X[sources].astype(np.float64)
    # Moved to a common centre, the lengths are those of the data, not of its offset.
    if not hasattr(A, "toarray"):
        centre = B.mean(axis=0)
        A, B = A - centre, B - centre
    squares = [np.asarray(M.multiply(M).sum(axis=1)).ravel() if hasattr(M, "toarray")
               else np.einsum("ij,ij->i", M, M) for M in (A, B)]  # fmt: skip
    return euclidean_distances(A, B, squared=True), squares[0][:, None] + squares[1]
