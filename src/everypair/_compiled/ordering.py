"""The order of many numbers by a sort of integers (`everypair.linalg.order`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled

SIGN_BIT = np.uint64(1 << 63)


@compiled
def grid_cell(value, origin, per_unit, n_cells):
    """Of an even grid; it never falls as the value grows. The ends hold what is beyond them."""
    place = (value - origin) * per_unit
    if not place > 0:  # NaN too, where the grid is one cell
        return 0
    return n_cells - 1 if place >= n_cells - 1 else int(place)


@compiled
def count_buckets(values, rows, origin, per_unit, table, start, stop, buckets, counts):
    """In ``buckets[k]`` the bucket of the value of ``rows[k]``: what the table says of its cell on
    an even grid. ``counts``: how many are in each."""
    for k in range(start, stop):
        bucket = table[grid_cell(values[rows[k]], origin, per_unit, table.size)]
        buckets[k] = bucket
        counts[bucket] += 1


@compiled
def scatter_values(values, rows, buckets, start, stop, places, out):
    """Each value to the next place of its bucket."""
    for k in range(start, stop):
        place = places[buckets[k]]
        places[buckets[k]] = place + 1
        out[place] = values[rows[k]]


@compiled
def scatter_keys(values, rows, buckets, start, stop, centre, n_low, places, keys):
    """To the next place of its bucket what the value of each row sorts by, the largest first: the
    leading bits of its distance from the centre, and the row's number in the ``n_low`` others.

    The bits of a float, read as an integer, ascend with it above zero and descend below; adding
    zero makes the two zeros one.
    """
    low = (np.uint64(1) << np.uint64(n_low)) - np.uint64(1)
    for k in range(start, stop):
        place = places[buckets[k]]
        places[buckets[k]] = place + 1
        bits = np.float64(values[rows[k]] - centre + 0.0).view(np.uint64)
        descending = bits if bits & SIGN_BIT else ~(bits | SIGN_BIT)
        keys[place] = (descending & ~low) | np.uint64(rows[k])


@compiled
def mend_order(values, keys, n_low, most_moves, order, ranked):
    """The rows in sorted keys and their values, mended where the bits left out matter.

    False when that takes more than ``most_moves`` moves.
    """
    low = (np.uint64(1) << np.uint64(n_low)) - np.uint64(1)
    for k in range(keys.size):
        row = np.intp(keys[k] & low)
        x = values[row]
        j = k
        while j > 0 and ranked[j - 1] < x:
            ranked[j] = ranked[j - 1]
            order[j] = order[j - 1]
            j -= 1
            most_moves -= 1
            if most_moves < 0:
                return False
        ranked[j] = x
        order[j] = row
    return True
