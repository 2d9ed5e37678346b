"""The order of many numbers by a sort of integers (`everypair.linalg.order`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled

SIGN_BIT = np.uint64(1 << 63)


@compiled
def order_keys(values, rows, centre, n_low, keys):
    """What the values of these rows sort by, the largest first: the leading bits of their distance
    from the centre, and the row's number in the ``n_low`` others.

    The bits of a float, read as an integer, ascend with it above zero and descend below; adding
    zero makes the two zeros one.
    """
    low = (np.uint64(1) << np.uint64(n_low)) - np.uint64(1)
    for k in range(rows.size):
        bits = np.float64(values[rows[k]] - centre + 0.0).view(np.uint64)
        descending = bits if bits & SIGN_BIT else ~(bits | SIGN_BIT)
        keys[k] = (descending & ~low) | np.uint64(rows[k])


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
