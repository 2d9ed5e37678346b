"""A sample of the rows in blocks, by what numbers they have in their classes.

Where these rows lie is known to the blocks alone. So the first job that takes them, as a rule the
first look at X, finds that too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.block_jobs import Job, followed_by
from everypair.linalg.block_shard import Shard

if TYPE_CHECKING:
    from everypair.linalg.blocks import Blocks

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


class Wanted(NamedTuple):
    """Rows by their numbers among the positives and among the negatives with weight."""

    positives: Index
    negatives: Index
    before: Index
    """Of each block: negatives and positives with weight in the blocks before it."""
    starts: Index

    def here(self, shard: Shard) -> Index:
        """Those of a shard by their numbers there, ascending."""
        block = int(np.searchsorted(self.starts, shard.start, side="right")) - 1
        found = []
        for side, ordinals in ((1, self.positives), (0, self.negatives)):
            first, last = self.before[block, side], self.before[block + 1, side]
            here = ordinals[(ordinals >= first) & (ordinals < last)] - first
            members = shard.positive if side else ~shard.positive
            if shard.weight is not None:
                members = members & (shard.weight > 0)
            found.append(np.flatnonzero(members)[here])
        return np.sort(np.concatenate(found))


class BlockSample:
    """The wanted rows, and their classes and shares once a job has met them."""

    def __init__(self, blocks: Blocks, positives: Index, negatives: Index):
        counts = np.array(blocks.counts).reshape(-1, 2)
        before = np.concatenate([np.zeros((1, 2), dtype=np.intp), np.cumsum(counts, axis=0)])
        self.blocks, self.wanted = blocks, Wanted(positives, negatives, before, blocks.starts)
        self._found: tuple[Bool, Array] | None = None

    @property
    def found(self) -> tuple[Bool, Array]:
        """Which of the rows are positive, and the share of each."""
        if self._found is None:
            job = Job.of("sample", partial(classes_in, self.wanted), (), followed_by)
            self.keep(self.blocks.run(job))
        assert self._found is not None
        return self._found

    def keep(self, parts: list[Any]) -> None:
        positive, share = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._found = positive, share


def classes_in(wanted: Wanted, shard: Shard) -> list[tuple[Bool, Array]]:
    here = wanted.here(shard)
    return [(shard.positive[here], shard.share[here])]
