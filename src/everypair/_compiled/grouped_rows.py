"""Rows in groups: laid side by side, sorted, ranked (`everypair.within`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled
from everypair._compiled.walks import auc_pairs, two_sum

INSERTION_ROWS = 16
"""So many are sorted by insertion before runs are merged."""


@compiled
def group_rows(codes, rows, places, ordered):
    """The rows group by group, in their order inside each; ``places`` is where each begins."""
    for k in range(rows.size):
        place = places[codes[k]]
        ordered[place] = rows[k]
        places[codes[k]] = place + 1


@compiled
def sort_groups(values, rows, edges, most):
    """Sort the values of each group with fewer than ``most`` of them, the largest first, and the
    rows along with them."""
    longest = 0
    for g in range(edges.size - 1):
        size = edges[g + 1] - edges[g]
        if size < most:
            longest = max(longest, size)
    value_buffer, row_buffer = np.empty(longest), np.empty(longest, rows.dtype)
    for g in range(edges.size - 1):
        start, stop = edges[g], edges[g + 1]
        if stop - start >= most:
            continue
        for begin in range(start, stop, INSERTION_ROWS):
            for k in range(begin + 1, min(begin + INSERTION_ROWS, stop)):
                value, row = values[k], rows[k]
                j = k
                while j > begin and values[j - 1] < value:
                    values[j], rows[j] = values[j - 1], rows[j - 1]
                    j -= 1
                values[j], rows[j] = value, row
        width = INSERTION_ROWS
        while width < stop - start:
            for begin in range(start, stop - width, 2 * width):
                merge(values, rows, begin, begin + width, min(begin + 2 * width, stop),
                      value_buffer, row_buffer)  # fmt: skip
            width *= 2


@compiled
def merge(values, rows, start, middle, stop, value_buffer, row_buffer):
    """Merge two runs that descend."""
    if values[middle - 1] >= values[middle]:
        return
    n_first = middle - start
    for k in range(n_first):
        value_buffer[k], row_buffer[k] = values[start + k], rows[start + k]
    i, j, out = 0, middle, start
    while i < n_first and j < stop:
        if value_buffer[i] >= values[j]:
            values[out], rows[out] = value_buffer[i], row_buffer[i]
            i += 1
        else:
            values[out], rows[out] = values[j], rows[j]
            j += 1
        out += 1
    while i < n_first:
        values[out], rows[out] = value_buffer[i], row_buffer[i]
        i += 1
        out += 1


@compiled
def group_areas_lost(positives, negatives, a, b, positive_edges, negative_edges, lost):
    """``1 - AUC`` of each group; scores descend inside the groups.

    By the negated classes in turn: the share that is lost keeps its digits.
    """
    for g in range(positive_edges.size - 1):
        p = slice(positive_edges[g], positive_edges[g + 1])
        n = slice(negative_edges[g], negative_edges[g + 1])
        lost[g] = auc_pairs(negatives[n], positives[p], b[n], a[p])


@compiled
def cell_sums(values, cells, sums, left):
    """Add each value to the sum of its cell; ``left`` holds what rounding took off (`two_sum`)."""
    for i in range(values.size):
        c = cells[i]
        sums[c], rounded = two_sum(sums[c], values[i])
        left[c] += rounded
    for c in range(sums.size):
        sums[c] += left[c]


@compiled
def cell_largest(values, cells, largest):
    """The largest value of each cell, at least what is there."""
    for i in range(values.size):
        c = cells[i]
        largest[c] = max(largest[c], values[i])
