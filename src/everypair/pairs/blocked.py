"""Pair losses over rows in blocks: the part of a block, what combines the parts, the finish.

The sums of `smooth` and `separable` are sums over rows: box moments, class moments. Here each is
made block by block where the rows live (`linalg.blocks`); the small box-to-box product, or the
product of two class sums, is made once; what it gives goes back to the rows as an expression.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from everypair._compiled import COEFFICIENTS
from everypair.cached import cached_property
from everypair.linalg.block_jobs import Extent, Job, Summary, joined
from everypair.linalg.block_sample import BlockSample
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.blocks import Blocks
from everypair.linalg.few_rows import FEW_ROWS
from everypair.linalg.matrix import Matrix
from everypair.linalg.row_sums import BoxedRows
from everypair.pairs.boxes import PER_UNIT
from everypair.pairs.point import FULL_ACCURACY, extent, growth, margin_rounding, usable
from everypair.pairs.separable import _SeparablePoint
from everypair.pairs.smooth import (
    LOGISTIC_KERNELS,
    SIGMOID_KERNELS,
    BoxedScores,
    SmoothKernels,
    SmoothPoint,
    fits_grid,
)
from everypair.rows import Rows, sampled_ordinals

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


class BlockRows:
    """`Rows` in blocks: which rows are positive and what each weighs."""

    labels = (False, True)
    within = None
    """Rows of all groups are paired; `BlockGroups` pairs them inside groups."""
    n_groups_without_pairs = 0

    def __init__(self, blocks: Blocks, loss: str):
        self.blocks = blocks
        blocks.summary = SUMMARIES.get(loss, Extent())

    @property
    def n_rows(self) -> int:
        return self.blocks.n_rows

    def centred(self, values: Any) -> Any:
        """Less their mean: no pair sees it, but rounding does."""
        return values - values.mean()

    @property
    def positive(self) -> BlockVector:
        return self.blocks.positive

    @cached_property
    def share(self) -> BlockVector:
        return self.blocks.share

    @property
    def largest_share(self) -> float:
        return self.blocks.largest_share

    @cached_property
    def share_length(self) -> float:
        return self.share.length()

    @property
    def shares_by_class(self) -> list[BlockVector]:
        of_positives = self.share * self.positive
        return [of_positives, self.share - of_positives]

    def sum_of_positives(self, vector: BlockVector) -> float:
        return vector.statistics.of_positives

    def exponential(self, scores: BlockVector) -> float:
        """The exponential loss at these scores."""
        summary = ExponentialSummary()
        job = Job.of("exponential", summary.part, [scores], summary.combine)
        _, of_negatives, of_positives = self.blocks.run(job)
        with np.errstate(over="ignore"):
            return float(np.exp(of_negatives + of_positives))

    def sample(self, n_rows: int) -> Any:
        """As `Rows.sample`: the same rows, which X and these `take`."""
        n_negative, n_positive = np.sum(self.blocks.counts, axis=0).tolist()
        return BlockSample(self.blocks, *sampled_ordinals(n_positive, n_negative, n_rows))

    def take(self, rows: Any) -> Rows:
        """The rows of `sample`, with weights that sum to one in each class again."""
        sampled: BlockSample = rows
        return Rows.uncut(*sampled.found)

    def gathered(self) -> Rows:
        """All rows in this process."""
        weight = self.share.gather() if self.blocks.weighted else None
        return Rows.uncut(self.positive.gather(), weight)


# --- smooth losses -----------------------------------------------------------------------------


class BoxSummary:
    """Extent, boxes and their moments of both classes; the first moment is the weight."""

    name = "box-moments"

    @staticmethod
    def part(shard: Shard, scores: Array) -> tuple[tuple[float, float], Any, Any]:
        ends = extent(scores)
        if not usable(scores):
            return ends, np.empty(0), np.empty((2, 0, COEFFICIENTS))
        boxes = BoxedScores(shard, scores)
        return ends, boxes.ids, boxes.moments(shard.share)

    @staticmethod
    def combine(first: Any, second: Any) -> Any:
        ids = np.union1d(first[1], second[1])
        moments = np.zeros((2, ids.size, COEFFICIENTS))
        for _, some, of_these in (first, second):
            moments[:, np.searchsorted(ids, some)] += of_these
        return joined(first[0], second[0]), ids, moments

    @staticmethod
    def edges(found: Any, n: int) -> Array:
        """As if the rows of a box lay evenly in it."""
        _, ids, moments = found
        weight = np.cumsum(moments[:, :, 0].sum(axis=0))
        # Boxes that are not here are empty: the weight does not grow from one's end to the next.
        ends = np.column_stack([ids, ids + 1]).ravel() / PER_UNIT
        below = np.column_stack([np.append(0.0, weight[:-1]), weight]).ravel()
        return np.interp(np.linspace(0.0, weight[-1], n + 2)[1:-1], below, ends)


class BlockBoxes:
    """`BoxedScores` of scores in blocks."""

    def __init__(self, scores: BlockVector):
        self.scores = scores
        _, ids, self.of_shares = scores.summary
        self.ids = ids
        if ids.size < ids[-1] - ids[0] + 1 and fits_grid(ids[0], ids[-1], scores.size):
            self.ids = np.arange(ids[0], ids[-1] + 1)
            moments = np.zeros((2, self.ids.size, COEFFICIENTS))
            moments[:, np.searchsorted(self.ids, ids)] = self.of_shares
            self.of_shares = moments

    @property
    def chain(self) -> float:
        """Additions behind a moment: of a block's rows, in blocks of their own if they are not few,
        and of the blocks."""
        lengths = self.scores.blocks.lengths
        longest = max(lengths)
        of_rows = 2 * float(np.sqrt(longest)) + 8 * self.ids.size
        return max(min(longest, FEW_ROWS), of_rows) + len(lengths)

    def moments(self, weights: BlockVector, rough: bool = False) -> Array:
        work = partial(_moments, self.ids, rough)
        job = Job.of("box-moments", work, [self.scores, weights])
        return np.asarray(self.scores.blocks.run(job))

    def evaluate(self, on_negatives: Array, on_positives: Array) -> BlockVector:
        return self.scores.each(partial(_evaluated, self.ids, on_negatives, on_positives))


def _moments(ids: Array, rough: bool, shard: Shard, scores: Array, weights: Array) -> Array:
    return BoxedScores(shard, scores, ids).moments(weights, rough)


def _evaluated(
    ids: Array, on_negatives: Array, on_positives: Array, shard: Shard, scores: Array
) -> Array:
    return BoxedScores(shard, scores, ids).evaluate(on_negatives, on_positives)


def _boxed_rows(ids: Array, shard: Shard, scores: Array) -> BoxedRows:
    slots = BoxedScores(shard, scores, ids).slots
    return BoxedRows(scores, shard.share, shard.positive, slots, PER_UNIT, ids.size)


class BlockSmoothPoint(SmoothPoint):
    """`SmoothPoint` over blocks."""

    def __init__(self, kernels: SmoothKernels, pairs: BlockRows, scores: BlockVector):
        self.kernels, self.pairs, self.scores = kernels, pairs, scores  # type: ignore[assignment]
        self.boxes = BlockBoxes(scores)  # type: ignore[assignment]
        self.moments = self.boxes.of_shares  # type: ignore[attr-defined]
        self.with_negatives, self.with_positives = self.moments[:, :, 0] > 0

    def boxed_rows(self) -> Any:
        return self.scores, partial(_boxed_rows, self.boxes.ids)


# --- separable losses --------------------------------------------------------------------------


class ClassMean(NamedTuple):
    """Of the scores of one class: weight, mean and scatter."""

    weight: float
    mean: float
    scatter: float

    @classmethod
    def of(cls, scores: Array, share: Array) -> ClassMean:
        weight = float(share.sum())
        if weight == 0:
            return cls(0.0, 0.0, 0.0)
        mean = float(share @ (scores - scores[0])) / weight + float(scores[0])
        return cls(weight, mean, float(share @ (scores - mean) ** 2))

    def with_(self, other: ClassMean) -> ClassMean:
        """Chan, Golub & LeVeque 1983."""
        if self.weight == 0 or other.weight == 0:
            return other if self.weight == 0 else self
        weight, apart = self.weight + other.weight, other.mean - self.mean
        part = other.weight / weight
        scatter = self.scatter + other.scatter + self.weight * part * apart**2
        return ClassMean(weight, self.mean + part * apart, scatter)


class SquareSummary(Extent):
    """Extent, and weight, mean and scatter of both classes."""

    name = "class-means"

    @staticmethod
    def part(shard: Shard, scores: Array) -> Any:
        classes = (
            ClassMean.of(scores[members], shard.share[members])
            for members in (~shard.positive, shard.positive)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            return (extent(scores), *classes)

    @staticmethod
    def combine(first: Any, second: Any) -> Any:
        of_classes = (a.with_(b) for a, b in zip(first[1:], second[1:], strict=True))
        return (joined(first[0], second[0]), *of_classes)


class ExponentialSummary(Extent):
    """Extent, and the logarithms of ``sum_N b exp(s)`` and ``sum_P a exp(-s)``."""

    name = "class-exponentials"

    @staticmethod
    def part(shard: Shard, scores: Array) -> Any:
        logs = _logs(shard, scores)
        sums = (
            float(logsumexp(logs[members])) if members.any() else -np.inf
            for members in (~shard.positive, shard.positive)
        )
        return (extent(scores), *sums)

    @staticmethod
    def combine(first: Any, second: Any) -> Any:
        sums = (float(np.logaddexp(a, b)) for a, b in zip(first[1:], second[1:], strict=True))
        return (joined(first[0], second[0]), *sums)


def _logs(shard: Shard, scores: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(shard.positive, -scores, scores) + np.log(shard.share)


class _BlockSeparablePoint(_SeparablePoint):
    """The Hessian of both losses over blocks."""

    _class_weight: Any
    _scale: Any
    """One number: blocks have no groups."""
    scores: Any

    def __init__(self, pairs: BlockRows, scores: BlockVector):
        self.pairs, self.scores = pairs, scores  # type: ignore[assignment]

    def curvature(self) -> Any:
        return self._scale * self._class_weight

    def product(self, vector: Any) -> Any:
        c = self._class_weight
        weighted = c * (vector - vector.mean())
        sums = weighted.statistics
        others = sums.of_positives, sums.total - sums.of_positives
        return self._scale * (weighted - c * self._by_class(*others))

    def _by_class(self, of_negatives: float, of_positives: float) -> BlockVector:
        positive: Any = self.pairs.positive
        return positive.each(partial(_where, of_positives, of_negatives))

    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        c = self._class_weight
        gram, sums = X.gram_and_sums(c, [c * self._by_class(0.0, 1.0), c])
        of_positives, of_all = sums
        cross = np.outer(of_positives, of_all - of_positives)
        return self._scale * (gram - cross - cross.T)


def _where(of_positives: float, of_negatives: float, shard: Shard, positive: Bool) -> Array:
    return np.where(positive, of_positives, of_negatives)


class BlockSquarePoint(_BlockSeparablePoint):
    """`SquarePoint` over blocks."""

    def __init__(self, pairs: BlockRows, scores: BlockVector):
        super().__init__(pairs, scores)
        self._scale, self._class_weight = 2.0, pairs.share
        _, self._negatives, self._positives = scores.summary

    @property
    def _shortfall(self) -> float:
        return 1 - float(self._positives.mean - self._negatives.mean)

    def value(self) -> float:
        return float(self._positives.scatter + self._negatives.scatter + self._shortfall**2)

    def gradient(self) -> Any:
        means = self._negatives.mean, self._positives.mean
        return self.scores.each(partial(_square_slopes, *means))

    def gradient_row_errors(self, gradient: Any) -> Any:
        return self._relative * self.pairs.share

    @property
    def _relative(self) -> float:
        low, high = extent(self.scores)
        return growth(self.pairs.n_rows) * (1 + high - low) * self._scale

    def gradient_error(self, size: float) -> float:
        return self._relative * self.pairs.share_length

    def steepest(self) -> float:
        return self._scale * self.pairs.largest_share


def _square_slopes(of_negatives: float, of_positives: float, shard: Shard, s: Array) -> Array:
    """Pairs of row i: 1 - (s_i - mean of the others), and the mirror for negatives."""
    positive = shard.positive
    residual = np.where(positive, (s - of_negatives) - 1, 1 - (of_positives - s))
    return 2 * shard.share * residual


class BlockExponentialPoint(_BlockSeparablePoint):
    """`ExponentialPoint` over blocks."""

    def __init__(self, pairs: BlockRows, scores: BlockVector):
        super().__init__(pairs, scores)
        _, of_negatives, of_positives = scores.summary
        with np.errstate(over="ignore"):
            self._scale = float(np.exp(of_positives + of_negatives))
        self._class_weight = scores.each(partial(_exponentials, of_negatives, of_positives))

    def value(self) -> float:
        return self._scale

    def gradient(self) -> Any:
        return self._scale * (self._class_weight * self._by_class(1.0, -1.0))

    @property
    def _relative(self) -> float:
        return growth(self.pairs.n_rows) + 2 * margin_rounding(*extent(self.scores))

    def gradient_row_errors(self, gradient: Any) -> Any:
        return self._relative * abs(gradient)

    def gradient_error(self, size: float) -> float:
        return self._relative * size

    @cached_property
    def _largest(self) -> float:
        job = Job.of("largest", _largest, [self._class_weight], max)
        return float(self.scores.blocks.run(job))

    def steepest(self) -> float:
        return self._scale * self._largest


def _exponentials(of_negatives: float, of_positives: float, shard: Shard, s: Array) -> Array:
    return np.exp(_logs(shard, s) - np.where(shard.positive, of_positives, of_negatives))


def _largest(shard: Shard, values: Array) -> float:
    return float(values.max())


SUMMARIES: dict[str, Summary] = {
    "square": SquareSummary(),
    "exponential": ExponentialSummary(),
    "logistic": BoxSummary(),
    "sigmoid": BoxSummary(),
}

BLOCK_POINTS: dict[str, Any] = {
    "square": BlockSquarePoint,
    "exponential": BlockExponentialPoint,
    "logistic": partial(BlockSmoothPoint, LOGISTIC_KERNELS),
    "sigmoid": partial(BlockSmoothPoint, SIGMOID_KERNELS),
}
