"""Counts over rankings (`metrics`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled
from everypair._compiled.ordering import grid_cell


@compiled
def doubled_wins(positives, negatives):
    """Twice the pairs won plus the pairs tied, as an integer; both ascend."""
    total = 0
    below, not_above = 0, 0
    for i in range(positives.size):
        x = positives[i]
        while below < negatives.size and negatives[below] < x:
            below += 1
        not_above = max(not_above, below)
        while not_above < negatives.size and negatives[not_above] <= x:
            not_above += 1
        total += below + not_above
    return total


@compiled
def mass_below(targets, sources, cumulative, out):
    """Weight of the sources below each target plus half of those level; both ascend.

    ``cumulative[k]``: weight of the k lowest sources.
    """
    below, not_above = 0, 0
    for i in range(targets.size):
        x = targets[i]
        while below < sources.size and sources[below] < x:
            below += 1
        not_above = max(not_above, below)
        while not_above < sources.size and sources[not_above] <= x:
            not_above += 1
        out[i] = 0.5 * (cumulative[below] + cumulative[not_above])


@compiled
def merge_levels(positives, negatives, levels, tp, fp):
    """Distinct scores from the highest on, and how many of either class are not below each.

    Both lists ascend. ``tp`` and ``fp`` begin with 0. Returns the number of levels.
    """
    i, j = positives.size, negatives.size
    tp[0] = fp[0] = 0.0
    n_levels = 0
    while i > 0 or j > 0:
        if i > 0 and (j == 0 or positives[i - 1] >= negatives[j - 1]):
            i -= 1
            level = positives[i]
        else:
            j -= 1
            level = negatives[j]
        while i > 0 and positives[i - 1] == level:
            i -= 1
        while j > 0 and negatives[j - 1] == level:
            j -= 1
        levels[n_levels] = level
        n_levels += 1
        tp[n_levels] = positives.size - i
        fp[n_levels] = negatives.size - j
    return n_levels


@compiled
def scores_between(scores, positive, weight, low, high, out, weight_out):
    """Copy the scores from ``low`` to below ``high`` of rows with weight, and their weights.

    Positives fill ``out`` from its begin on, negatives from its end back. ``weight`` is empty where
    every row weighs 1. Returns the number of positives and of negatives.
    """
    n_positive, n_negative = 0, 0
    for i in range(scores.size):
        s = scores[i]
        if s < low or s >= high or (weight.size and not weight[i] > 0):
            continue
        if positive[i]:
            place = n_positive
            n_positive += 1
        else:
            n_negative += 1
            place = out.size - n_negative
        out[place] = s
        if weight.size:
            weight_out[place] = weight[i]
    return n_positive, n_negative


@compiled
def count_in_boxes(scores, positive, weight, edges, from_score, to_score, counts, low, high):
    """Add each row's weight to ``counts[class, box]``, and widen ``low`` and ``high`` to it.

    Box k has the scores from ``edges[k - 1]`` up to ``edges[k]``; only rows between the two scores
    count, and only those with weight. ``weight`` is empty where every row weighs 1. A grid over the
    edges says among which few of them a score lies.
    """
    n_cells = 4 * edges.size + 1
    origin, per_unit = 0.0, 0.0
    if edges.size > 1:
        origin, span = edges[0], edges[-1] - edges[0]
        if span > 0 and np.isfinite(n_cells / span):
            per_unit = n_cells / span
    first = np.zeros(n_cells + 1, dtype=np.intp)
    for k in range(edges.size):
        first[grid_cell(edges[k], origin, per_unit, n_cells) + 1] += 1
    for cell in range(n_cells):
        first[cell + 1] += first[cell]
    for i in range(scores.size):
        s = scores[i]
        w = weight[i] if weight.size else 1.0
        if s < from_score or s > to_score or not w > 0:
            continue
        cell = grid_cell(s, origin, per_unit, n_cells)
        k, end = first[cell], first[cell + 1]
        while k < end:  # the first edge above s
            middle = (k + end) // 2
            if edges[middle] <= s:
                k = middle + 1
            else:
                end = middle
        counts[np.uint8(positive[i]), k] += w
        low[k] = min(low[k], s)
        high[k] = max(high[k], s)
