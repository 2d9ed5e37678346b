"""The best decision stump of a round of RankBoost (`solvers.boosted_stumps`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def best_stump(order, ends, positive, weight, start, stop, margin):
    """``(Z, feature, position, upper positives, upper negatives)`` of the least Z.

    Over the features ``start:stop`` and the cuts after each last row of a value (``ends``);
    ``order[f]`` are the rows by growing value of feature f. The rows' weights sum to one in each
    class. With P and N the shares of the positives and of the negatives above the cut, the pairs
    that the stump ranks rightly, wrongly and not at all weigh P (1 - N), (1 - P) N and the rest:
    Z of Freund et al. (2003, eq. 5) is O(1) a cut. Among cuts whose Z differ by rounding only
    (``margin``, relative) the first one is taken, whatever the order of the sums.
    """
    n_rows = order.shape[1]
    best, feature, position = 1.0, -1, -1
    upper_positives, upper_negatives = 0.0, 0.0
    for f in range(start, stop):
        below_p, below_n = 0.0, 0.0
        for k in range(n_rows - 1):
            i = order[f, k]
            if positive[i]:
                below_p += weight[i]
            else:
                below_n += weight[i]
            if not ends[f, k]:
                continue
            P = min(max(1.0 - below_p, 0.0), 1.0)
            N = min(max(1.0 - below_n, 0.0), 1.0)
            right, wrong = P * (1.0 - N), (1.0 - P) * N
            Z = 1.0 - right - wrong + 2.0 * np.sqrt(right * wrong)
            if best - margin > Z:
                best, feature, position = Z, f, k
                upper_positives, upper_negatives = P, N
    return best, feature, position, upper_positives, upper_negatives
