"""The k best rows of each group, made smooth (`solvers.grouped_quota`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled

MOST_TRIALS = 200
"""Of a cut: bisection alone would need no more."""

ROUNDING = 1e-10
"""A quota is met to this share of itself."""


@compiled
def count_above(scores, rows, start, stop, cut):
    """``sum sigma(s - c)`` over the rows of a group, and the sum of sigma'."""
    above = slope = 0.0
    for k in range(start, stop):
        z = scores[rows[k]] - cut
        small = np.exp(-abs(z))
        high = 1.0 / (1.0 + small)
        above += high if z >= 0 else small * high
        slope += small * high * high
    return above, slope


@compiled
def top_of_groups(scores, positive, rows, edges, quotas, scales, values, gradient):
    """Of each group: ``scale sum_P sigma(s - c)`` with the cut c at which the group's rows sum to
    its quota, and the gradient at its rows, which follows the cut.

    A group of no more rows than its quota is taken whole: its value does not depend on scores.
    """
    for g in range(edges.size - 1):
        start, stop = edges[g], edges[g + 1]
        size, quota, scale = stop - start, quotas[g], scales[g]
        if quota >= size:
            hits = 0.0
            for k in range(start, stop):
                hits += 1.0 if positive[rows[k]] else 0.0
            values[g] = scale * hits
            continue
        low = high = scores[rows[start]]
        for k in range(start, stop):
            low, high = min(low, scores[rows[k]]), max(high, scores[rows[k]])
        shift = np.log(quota) - np.log(size - quota)
        low, high = low - shift, high - shift
        cut = low + (high - low) / 2
        for _ in range(MOST_TRIALS):
            above, slope = count_above(scores, rows, start, stop, cut)
            off = above - quota
            if abs(off) <= ROUNDING * min(quota, size - quota) or not low < high:
                break
            if off > 0:
                low = cut
            else:
                high = cut
            ahead = cut + off / slope if slope > 0 else low
            if not low < ahead < high:
                ahead = low + (high - low) / 2
                if ahead in (low, high):
                    break
            cut = ahead
        hits = slope_hits = slope = 0.0
        for k in range(start, stop):
            row = rows[k]
            z = scores[row] - cut
            small = np.exp(-abs(z))
            part = 1.0 / (1.0 + small)
            own = small * part * part
            slope += own
            gradient[row] = own
            if positive[row]:
                hits += part if z >= 0 else small * part
                slope_hits += own
        values[g] = scale * hits
        lost = slope_hits / slope if slope > 0 else 0.0
        for k in range(start, stop):
            row = rows[k]
            gradient[row] *= scale * ((1.0 if positive[row] else 0.0) - lost)
