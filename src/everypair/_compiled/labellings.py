"""Most violated labellings (`measures`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def best_f_beta_table(positive_gain, negative_gain, negatives, scale, floor):
    """The a and b with the largest ``gains - scale a / (floor + a + b)``.

    ``negatives`` descend. For fixed a the sum is concave in b, so b moves while a step pays,
    from where the last a left it.
    """
    best, best_a, best_b = -np.inf, 0, 0
    b = 0
    for a in range(positive_gain.size):
        share = scale * a
        size = floor + a
        while b < negatives.size and (
            share / ((size + b) * (size + b + 1.0)) + 2.0 * negatives[b] > 0.0
        ):
            b += 1
        while b > 0 and share / ((size + b - 1.0) * (size + b)) + 2.0 * negatives[b - 1] <= 0.0:
            b -= 1
        total = positive_gain[a] + negative_gain[b] - share / (size + b)
        if total > best:
            best, best_a, best_b = total, a, b
    return best_a, best_b
