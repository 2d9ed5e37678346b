"""The best cut of a tree's node by the AUC of its two leaves (`solvers.tree_growth`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def best_split(X, order, features, start, stop, gain, weight, least, margin):
    """``(distance, feature, position, missing left)`` of the largest distance between leaves.

    ``order[f, start:stop]`` are the rows of the node by growing value of feature f, missing values
    last; ``gain[i]`` is a row's share of the node's positives, or minus its share of the
    negatives. The sum of the gains on one side of a cut, in absolute value, is the difference
    of the shares of both classes on that side: twice what the AUC of the two leaves has above
    one half. Each leaf must weigh ``least`` in ``weight``. Among distances that differ by
    rounding only (``margin``) the first one is taken.
    """
    best, feature, position, missing_left = 0.0, -1, -1, False
    for f in features:
        end = stop
        missing, missing_weight = 0.0, 0.0
        while end > start and np.isnan(X[order[f, end - 1], f]):
            end -= 1
            missing += gain[order[f, end]]
            missing_weight += weight[order[f, end]]
        total_weight = missing_weight
        for k in range(start, end):
            total_weight += weight[order[f, k]]
        below, below_weight = 0.0, 0.0
        for k in range(start, end):
            i = order[f, k]
            below += gain[i]
            below_weight += weight[i]
            if k + 1 < end:
                if X[order[f, k + 1], f] == X[i, f]:
                    continue
            elif end == stop:
                continue  # every row of the node lies below
            for left in range(2):
                if left and (end == stop or k + 1 == end):
                    continue
                weight_left = below_weight + (missing_weight if left else 0.0)
                if weight_left < least or total_weight - weight_left < least:
                    continue
                distance = abs(below + (missing if left else 0.0))
                if distance > best + margin:
                    best, feature, position, missing_left = distance, f, k, left == 1
    return best, feature, position, missing_left


@compiled
def part_orders(order, start, stop, goes_left, scratch):
    """Put the rows that go left first in each feature's order of a node; their number."""
    n_left = 0
    for f in range(order.shape[0]):
        n_left, n_right = start, 0
        for k in range(start, stop):
            i = order[f, k]
            if goes_left[i]:
                order[f, n_left] = i
                n_left += 1
            else:
                scratch[n_right] = i
                n_right += 1
        order[f, n_left:stop] = scratch[:n_right]
    return n_left
