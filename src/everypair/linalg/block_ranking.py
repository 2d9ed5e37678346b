"""The ranking of scores in blocks, a range of scores at a time: no order of all rows is made.

Edges at quantiles of a sample cut the scores into ranges of about `RANGE_ROWS` rows. The rows of
one range after the other, from the top, come to this process and are sorted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_jobs import Job, followed_by
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector

Array = NDArray[np.float64]

RANGE_ROWS = 2**21
SAMPLE_ROWS = 2**16


class Levels(NamedTuple):
    """Distinct scores, descending, and the weight of both classes at each."""

    scores: Array
    positive: Array
    negative: Array


def levels_of(scores: BlockVector) -> Iterator[Levels]:
    """Every distinct score, descending, range by range; rows of weight zero are left out."""
    blocks = scores.blocks
    n_ranges = -(-blocks.n_rows // RANGE_ROWS)
    edges = [-np.inf, np.inf]
    if n_ranges > 1:
        step = max(1, blocks.n_rows // SAMPLE_ROWS)
        job = Job.of("score-sample", partial(_every, step), [scores], followed_by)
        sample = np.sort(np.concatenate(blocks.run(job)))
        places = np.linspace(0, sample.size - 1, n_ranges + 1)[1:-1].astype(np.intp)
        edges = [-np.inf, *np.unique(sample[places]), np.inf]
    for k in range(len(edges) - 1, 0, -1):
        work = partial(_between, edges[k - 1], edges[k])
        parts = blocks.run(Job.of("scores-of-a-range", work, [scores], followed_by))
        positive, negative = (_sorted(of_class) for of_class in zip(*parts, strict=True))
        # Few distinct values of many: each class is counted by itself, then both are merged.
        both = np.union1d(positive[0], negative[0])[::-1]
        if both.size:
            yield Levels(both, *(_laid_out(both, *of_class) for of_class in (positive, negative)))


def _every(step: int, shard: Shard, scores: Array) -> list[Array]:
    return [scores[(-shard.start) % step :: step]]


def _between(low: float, high: float, shard: Shard, scores: Array) -> list[Any]:
    inside = (scores >= low) & (scores < high)
    if shard.weight is not None:
        inside &= shard.weight > 0
    out = []
    for members in (shard.positive, ~shard.positive):
        rows = np.flatnonzero(inside & members)
        weight = None if shard.weight is None else shard.weight[rows]
        # In a fold a row weighs 1 or is left out: counts are enough, and a sort without an order.
        out.append((scores[rows], None if weight is None or np.all(weight == 1) else weight))
    return [tuple(out)]


def _sorted(parts: Any) -> tuple[Array, Array]:
    """Distinct scores, ascending, and their weights."""
    scores = np.concatenate([part[0] for part in parts])
    if all(weight is None for _, weight in parts):
        scores.sort()
        first = np.flatnonzero(np.append(True, scores[1:] != scores[:-1])[: scores.size])
        return scores[first], np.diff(np.append(first, scores.size)).astype(np.float64)
    given = (np.ones(len(some)) if weight is None else weight for some, weight in parts)
    weight = np.concatenate(list(given)).astype(np.float64)
    distinct, places = np.unique(scores, return_inverse=True)
    counts: Array = np.bincount(places, weight, distinct.size).astype(np.float64)
    return distinct, counts


def _laid_out(both: Array, distinct: Array, weight: Array) -> Array:
    """The weights of one class at the levels of both, which descend."""
    out = np.zeros(both.size)
    out[both.size - 1 - np.searchsorted(both[::-1], distinct)] = weight
    return out


def area_of(scores: BlockVector) -> float:
    """Exact area under the ROC curve: weighted share of pairs won, ties counted half."""
    with scores.blocks.one_at_a_time(scores):  # sorts take ten times the memory of a range
        return _area_of(scores)


def _area_of(scores: BlockVector) -> float:
    won, below, totals = 0.0, 0.0, np.zeros(2)
    whole = not scores.blocks.weighted
    pieces = [0]  # whole numbers of pairs: Python's integers are exact
    for levels in levels_of(scores):
        above = below + np.cumsum(levels.negative)
        doubled = levels.positive * (2 * above - levels.negative)
        totals += levels.positive.sum(), levels.negative.sum()
        below = float(totals[1])
        if whole:
            pieces.append(int(doubled.astype(np.int64).sum()))
        else:
            won += float(doubled.sum())
    if whole:
        n_pairs = int(totals[0]) * int(totals[1])
        return (2 * n_pairs - sum(pieces)) / (2 * n_pairs)
    return float(min(1.0, max(0.0, 1 - won / (2 * totals[0] * totals[1]))))
