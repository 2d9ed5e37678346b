"""The rows of a fit as solvers see them, wherever they live: in arrays or in blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.blocks.source import MOST_GATHERED_BYTES
from everypair.linalg.block_histogram import Ranking
from everypair.linalg.block_matrix import BlockMatrix
from everypair.linalg.blocks import Blocks, BlockVector, Job, Shard
from everypair.linalg.matrix import Matrix, as_matrix
from everypair.metrics.streamed import cut_of_ranking, refuse_rule
from everypair.pairs.blocked import BLOCK_POINTS, BlockRows

Array = NDArray[np.float64]

GATHERED_BYTES_PER_ROW = 120
"""Of a fit that needs all scores at once: scores, their order, and what the steps are made of."""


class Training(NamedTuple):
    """X, the classes and weights of its rows, and what a fit asks of them at its end."""

    X: Matrix
    pairs: Any
    positive_share: float
    """Weight of the positives beside all."""
    cut: Callable[..., float]
    """The threshold at these scores, or by those that were held out."""
    blocks: Blocks | None = None


def in_memory(
    model: Any,
    X: Any,
    positive: NDArray[np.bool_],
    sample_weight: Array | None,
    groups: Any,
    within: Any,
) -> Training:
    pairs = model._pair_up(positive, sample_weight, within)

    def cut(scores: Array, held_out: Any = None) -> float:
        if held_out is None:
            return model._cut(X, positive, scores, sample_weight, groups, within=within)
        return model._choose_threshold(positive, scores, sample_weight, held_out)

    # Relative to the largest, so that huge weights do not overflow in their sum.
    relative = None if sample_weight is None else sample_weight / sample_weight.max()
    share = float(np.average(positive, weights=relative))
    return Training(as_matrix(X), pairs, share, cut)


def in_blocks(blocks: Blocks, loss: str, rule: Any) -> Training:
    """For this loss; one that needs the order of all scores gathers them."""
    refuse_rule(rule)
    pairs: Any = BlockRows(blocks, loss)
    gathers = loss not in BLOCK_POINTS
    if gathers:
        needed = GATHERED_BYTES_PER_ROW * blocks.n_rows
        if needed > MOST_GATHERED_BYTES:
            raise ValueError(
                f"loss={loss!r} needs the scores of all {blocks.n_rows} rows in one process, about "
                f"{needed / 2**30:.1f} GiB, and the limit is {MOST_GATHERED_BYTES / 2**30:g} GiB: "
                "use loss='logistic', or raise everypair.blocks.source.MOST_GATHERED_BYTES."
            )
        pairs = pairs.gathered()
    totals = tuple(1 / share for share in blocks.shares)
    cut_of = partial(_cut, blocks, rule, (totals[1], totals[0]))
    share = totals[1] / (totals[0] + totals[1])
    return Training(BlockMatrix(blocks, gathers=gathers), pairs, share, cut_of, blocks)


def _cut(
    blocks: Blocks, rule: Any, totals: tuple[float, float], scores: Any, held_out: None = None
) -> float:
    if isinstance(rule, Real):
        return float(rule)
    scores = scores if isinstance(scores, BlockVector) else blocks.spread(scores)
    if rule == "midpoint":
        of_positives, of_negatives = blocks.run(Job.of("class-means", _means, [scores]))
        return float(of_negatives + (of_positives - of_negatives) / 2)
    return cut_of_ranking(rule, Ranking.of(scores), totals)


def _means(shard: Shard, scores: Array) -> tuple[float, float]:
    positive, share = shard.positive, shard.share
    return float(share[positive] @ scores[positive]), float(share[~positive] @ scores[~positive])
