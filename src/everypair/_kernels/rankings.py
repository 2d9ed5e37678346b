"""Counts over rankings (`metrics`)."""

from __future__ import annotations

from everypair._kernels._compiled import compiled


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
