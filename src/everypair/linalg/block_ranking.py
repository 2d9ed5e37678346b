"""The area of scores in blocks, a range of scores at a time: no order of all rows is made.

Edges at quantiles of a sample cut the scores into ranges. The rows of a range come to this process
and are sorted there, by class; positives above a range win against all negatives in it.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_jobs import Job, followed_by
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.dense import read_only
from everypair.linalg.threads import over_rows, used_threads

Array = NDArray[np.float64]

RANGE_ROWS, MOST_RANGES = 2**21, 16
"""Rows of a range, and the number of ranges where they would be more. Each range looks at every
score, which takes a fiftieth of the time of its sort."""

SAMPLE_ROWS = 2**16


class ClassScores(NamedTuple):
    """The scores of one class in a range, and what each weighs; None: 1."""

    scores: Array
    weight: Array | None


class Range(NamedTuple):
    """Of the rows between two scores: the weight of both classes, and twice that of the pairs won
    inside, ties counted half. Whole numbers where every row weighs 1."""

    positive: float
    negative: float
    doubled_wins: float


def area_of(scores: BlockVector) -> float:
    """Exact area under the ROC curve: weighted share of pairs won, ties counted half."""
    with scores.blocks.one_at_a_time(scores):  # ranges of several fits at a time are much memory
        found = _ranges(scores)
    below: float = 0
    won: list[float] = []
    for of_range in found:
        won += [of_range.doubled_wins, 2 * of_range.positive * below]
        below += of_range.negative
    pairs = sum(of_range.positive for of_range in found) * below
    if all(isinstance(part, int) for part in won):
        return sum(won) / (2 * pairs)  # Python's integers are exact
    return float(min(1.0, fsum(won) / (2 * pairs)))


def _ranges(scores: BlockVector) -> list[Range]:
    """From the lowest scores to the highest."""
    blocks = scores.blocks
    n_ranges = -(-blocks.n_rows // RANGE_ROWS)
    if n_ranges == 1:
        return [_range(scores, -np.inf, np.inf)]
    step = max(1, blocks.n_rows // SAMPLE_ROWS)
    job = Job.of("score-sample", partial(_every, step), [scores], followed_by)
    sample = np.sort(np.concatenate(blocks.run(job)))
    n_ranges = min(n_ranges, max(MOST_RANGES, used_threads()))
    places = np.linspace(0, sample.size - 1, n_ranges + 1)[1:-1].astype(np.intp)
    ends = list(pairwise([-np.inf, *np.unique(sample[places]).tolist(), np.inf]))

    def work(start: int, stop: int) -> list[Range]:
        return [_range(scores, *ends[k]) for k in range(start, stop)]

    if not blocks.holds(scores):  # they come with a pass, which threads would ask for at once
        return work(0, len(ends))
    parts = over_rows(work, len(ends), len(ends) * blocks.n_rows)
    return [of_range for part in parts for of_range in part]


def _range(scores: BlockVector, low: float, high: float) -> Range:
    job = Job.of("scores-of-a-range", partial(_between, low, high), [scores], followed_by)
    parts = scores.blocks.run(job)
    of_classes = [_joined([both[k] for both in parts]) for k in (0, 1)]
    del parts
    return _won(*of_classes)


def _every(step: int, shard: Shard, scores: Array) -> list[Array]:
    return [scores[(-shard.start) % step :: step]]


def _between(
    low: float, high: float, shard: Shard, scores: Array
) -> list[tuple[ClassScores, ClassScores]]:
    from everypair._compiled import scores_between

    none = np.empty(0)
    weight = none if shard.weight is None else shard.weight.astype(np.float64, copy=False)
    found, weights = np.empty(scores.size), np.empty(weight.size)
    n_positive, n_negative = scores_between(
        scores, shard.positive, read_only(weight), low, high, found, weights
    )
    classes = slice(0, n_positive), slice(scores.size - n_negative, scores.size)
    # In a fold a row weighs 1 or is left out: counts are enough, and a sort without an order.
    positive, negative = (
        ClassScores(found[of].copy(), None if np.all(weights[of] == 1) else weights[of].copy())
        for of in classes
    )
    return [(positive, negative)]


def _joined(parts: list[ClassScores]) -> ClassScores:
    scores = np.concatenate([part.scores for part in parts])
    if all(part.weight is None for part in parts):
        return ClassScores(scores, None)
    weights = (np.ones(len(some)) if weight is None else weight for some, weight in parts)
    return ClassScores(scores, np.concatenate(list(weights)))


def _won(positives: ClassScores, negatives: ClassScores) -> Range:
    from everypair._compiled import doubled_wins, mass_below

    if positives.weight is None and negatives.weight is None:
        for part in (positives, negatives):
            part.scores.sort()
        wins = int(doubled_wins(positives.scores, negatives.scores))
        return Range(positives.scores.size, negatives.scores.size, wins)
    (x, a), (y, b) = (_in_order(part) for part in (positives, negatives))
    below = np.empty(x.size)
    cumulative = np.concatenate([[0.0], np.cumsum(b)])
    mass_below(x, y, cumulative, below)
    return Range(float(a.sum()), float(cumulative[-1]), 2 * float(a @ below))


def _in_order(part: ClassScores) -> tuple[Array, Any]:
    if part.weight is None:
        return np.sort(part.scores), np.ones(part.scores.size)
    order = np.argsort(part.scores)
    return part.scores[order], part.weight[order]
