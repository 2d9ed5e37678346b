"""The order of many scores, faster than by `numpy.argsort`.

NumPy sorts integers faster than it finds the order of floating-point numbers. So the leading bits
of each score and its row go into one integer; these are sorted, and where the bits left out matter,
which is rare, neighbours are put right afterwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import mend_order, order_keys, sort_groups

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ROWS_FOR_KEYS = 10_000
"""Fewer are sorted directly."""

MOST_BITS = 28
"""Of a row's number. More would leave the scores too few, and most neighbours to be put right."""

MOST_MOVES = 1
"""Putting right may move each number so often on average; beyond that all are sorted directly, and
the packing was for nothing."""

CENTRE_VALUES = 1000
"""Values amid which the centre of all is looked for."""


def descending(values: Array, rows: Index) -> tuple[Index, Array]:
    """These rows by their values, the largest first, and the values in that order.

    The rows are given ascending, their values must be finite; equal ones come in any order.
    """
    n = rows.size
    if n >= ROWS_FOR_KEYS and (n_low := int(rows[-1]).bit_length()) <= MOST_BITS:
        # Distances from amid the values lose fewer bits than these; rounding keeps their order.
        seen = np.sort(values[rows[:: n // CENTRE_VALUES]])
        keys, order, ranked = np.empty(n, np.uint64), np.empty(n, np.intp), np.empty(n)
        order_keys(values, rows, seen[seen.size // 2], n_low, keys)
        keys.sort()
        if mend_order(values, keys, n_low, MOST_MOVES * n, order, ranked):
            return order, ranked
    order = rows[np.argsort(values[rows])[::-1]]
    return order, values[order]


def descending_in_groups(values: Array, rows: Index, edges: Index) -> tuple[Index, Array]:
    """The rows of each group by their values, the largest first, and the values in that order.

    Group g has the rows ``edges[g]:edges[g + 1]``, ascending. Large groups are sorted one by one.
    """
    order, ranked = rows.copy(), values[rows]
    sizes = np.diff(edges)
    for g in np.flatnonzero(sizes >= ROWS_FOR_KEYS):
        group = slice(edges[g], edges[g + 1])
        order[group], ranked[group] = descending(values, rows[group])
    sort_groups(ranked, order, edges, ROWS_FOR_KEYS)
    return order, ranked
