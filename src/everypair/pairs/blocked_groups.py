"""Pair losses inside groups over rows in blocks: every block holds whole groups.

Then a sum over the pairs inside groups is a sum over blocks of what `separable` and `smooth_groups`
compute for the rows of one block, whose groups weigh one together there and ``factor`` among all.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.block_jobs import Extent, Job, followed_by
from everypair.linalg.block_shard import Expression, Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.blocks import Blocks
from everypair.pairs.blocked import BlockRows
from everypair.pairs.in_arrays import area_in_arrays, point_in_arrays
from everypair.pairs.point import FULL_ACCURACY, gram_bytes
from everypair.rows import Rows
from everypair.within import NO_PAIR, Groups

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


class Found(NamedTuple):
    """Of the groups of one block."""

    start: int
    weight: float
    """Of its groups that have a pair, before all weigh one: its logarithm."""
    n_groups: int
    n_paired: int
    largest_share: float
    """Where these groups weigh one together."""


class Inside(NamedTuple):
    """How the groups weigh: the rule, and the factor of each block by its first row."""

    rule: str
    factors: dict[int, float]

    def rows(self, shard: Shard) -> tuple[Rows | None, float]:
        """The rows of a block in their groups, and its factor; None where it has no pair."""
        factor = self.factors[shard.start]
        if factor == 0:
            return None, 0.0
        known: Rows | None = vars(shard).get("_rows_in_groups")
        if known is None:
            known = vars(shard)["_rows_in_groups"] = rows_of(shard, self.rule)
        return known, factor


def rows_of(shard: Shard, rule: str) -> Rows:
    assert shard.groups is not None
    names = np.arange(int(shard.groups.max()) + 1)
    return Rows.uncut(shard.positive, shard.weight, Groups(shard.groups, names, rule))


class BlockGroups(BlockRows):
    """`BlockRows` whose rows are paired inside groups."""

    def __init__(self, blocks: Blocks, rule: str):
        self.blocks = blocks
        blocks.summary = Extent()
        found: list[Found] = blocks.run(Job.of("groups", partial(_found, rule), (), followed_by))
        n_groups = sum(of.n_groups for of in found)
        logs = np.array([of.weight for of in found])
        if logs.max() == -np.inf:
            raise ValueError(NO_PAIR.format(n_groups))
        weights = np.exp(logs - logs.max())
        factors = {
            of.start: float(weight)
            for of, weight in zip(found, weights / weights.sum(), strict=True)
        }
        self.within: Any = Inside(rule, factors)
        self.n_paired = sum(of.n_paired for of in found)
        self.n_groups_without_pairs = n_groups - self.n_paired
        self._largest = max(factors[of.start] * of.largest_share for of in found)

    @property
    def largest_share(self) -> float:
        return self._largest

    @cached_property
    def share(self) -> BlockVector:
        return BlockVector(self.blocks, Expression(partial(_share, self.within)))

    def centred(self, values: Any) -> Any:
        return values.each(partial(_centred, self.within))

    def area(self, scores: BlockVector) -> float:
        """The exact AUC inside the groups."""
        return float(self.blocks.run(Job.of("areas", partial(_area, self.within), [scores])))

    def sample(self, n_rows: int) -> Index:
        """Whole groups, as `Rows.sample` takes them, of each block its part."""
        work = partial(_sampled, self.within, n_rows / self.n_rows)
        return np.concatenate(self.blocks.run(Job.of("sample", work, (), followed_by)))

    def take(self, rows: Index) -> Rows:
        """These rows, which ascend; each group weighs what it weighs here."""
        work = partial(_taken, self.within, rows)
        found = self.blocks.run(Job.of("sample-classes", work, (), followed_by))
        positive, inside, codes, omega = (np.concatenate(each) for each in zip(*found, strict=True))
        names, first, place = np.unique(codes, return_index=True, return_inverse=True)
        groups = Groups(place.astype(np.intp, copy=False), names, omega[first])
        return Rows.uncut(positive, inside, groups)

    @cached_property
    def groups_here(self) -> Groups:
        """The group of each row, in this process."""
        codes = BlockVector(self.blocks, Expression(_codes)).gather()
        names, place = np.unique(codes, return_inverse=True)
        return Groups(place.astype(np.intp, copy=False), names, self.within.rule)

    def gathered(self) -> Rows:
        weight = self.blocks.weight.gather() if self.blocks.weighted else None
        return Rows.uncut(self.positive.gather(), weight, self.groups_here)


class BlockGroupPoint:
    """A loss at scores in blocks, summed over the pairs inside groups."""

    def __init__(self, loss: str, pairs: BlockGroups, scores: BlockVector):
        self.loss, self.pairs, self.scores = loss, pairs, scores

    def _total(self, method: str, *given: Any) -> float:
        work = partial(_number, self.pairs.within, self.loss, method, given)
        job = Job.of(f"{self.loss}-{method}", work, [self.scores])
        return float(self.pairs.blocks.run(job))

    def _each(self, method: str, *others: BlockVector) -> BlockVector:
        return self.scores.each(partial(_vector, self.pairs.within, self.loss, method), *others)

    def value(self) -> float:
        return self._total("value")

    def gradient(self) -> Any:
        return self._each("gradient")

    def curvature(self) -> Any:
        return self._each("curvature")

    def product(self, vector: Any) -> Any:
        return self._each("product", vector)

    def hessian(self, X: Any, accuracy: float = FULL_ACCURACY) -> Array:
        work = partial(_hessian, self.pairs.within, self.loss, accuracy)
        return np.asarray(X.sum_over_shards("hessian", work, self.scores))

    def hessian_bytes(self, n_columns: int) -> int:
        return gram_bytes(n_columns)

    def dual_value(self) -> float:
        return self._total("dual_value")

    def gradient_error(self, size: float) -> float:
        """Blocks have rows of their own: the squares of their bounds add up."""
        work = partial(_squared_error, self.pairs.within, self.loss)
        job = Job.of("gradient-error", work, [self.scores])
        return float(np.sqrt(self.pairs.blocks.run(job)))

    def gradient_row_errors(self, gradient: Any) -> Any:
        return self.scores.each(partial(_row_errors, self.pairs.within, self.loss))

    def steepest(self) -> float:
        work = partial(_number, self.pairs.within, self.loss, "steepest", ())
        return float(self.pairs.blocks.run(Job.of("steepest", work, [self.scores], max)))


# --- of one block ------------------------------------------------------------------------------


def _found(rule: str, shard: Shard) -> list[Found]:
    assert shard.groups is not None
    codes, positive = shard.groups, shard.positive
    weight = np.ones(codes.size) if shard.weight is None else shard.weight
    n_groups = np.unique(codes).size
    sides = [
        np.bincount(codes[rows], weight[rows], int(codes.max()) + 1)
        for rows in (positive, ~positive)
    ]
    held = (sides[0] > 0) & (sides[1] > 0)
    if not held.any():
        return [Found(shard.start, -np.inf, n_groups, 0, 0.0)]
    # By logarithms: products of weights may leave the range of float64.
    logs = np.log(np.array(sides)[:, held])
    of_groups = {"pairs": logs[0] + logs[1], "rows": np.logaddexp(logs[0], logs[1])}
    total = float(np.logaddexp.reduce(of_groups.get(rule, np.zeros(logs.shape[1]))))
    largest = float(rows_of(shard, rule).share.max())
    return [Found(shard.start, total, n_groups, int(held.sum()), largest)]


def _share(inside: Inside, shard: Shard) -> Array:
    rows, factor = inside.rows(shard)
    return np.zeros(shard.n_rows) if rows is None else factor * rows.share


def _centred(inside: Inside, shard: Shard, values: Array) -> Array:
    rows, _ = inside.rows(shard)
    return np.zeros(shard.n_rows) if rows is None else rows.centred(values)


def _codes(shard: Shard) -> Index:
    assert shard.groups is not None
    return shard.start + shard.groups  # fewer than its rows: no other block has these


def _sampled(inside: Inside, part: float, shard: Shard) -> list[Index]:
    rows, _ = inside.rows(shard)
    if rows is None:
        return [np.empty(0, dtype=np.intp)]
    return [shard.start + rows.sample(max(1, round(part * shard.n_rows)))]


def _taken(inside: Inside, numbers: Index, shard: Shard) -> list[tuple[NDArray[Any], ...]]:
    low, high = np.searchsorted(numbers, [shard.start, shard.start + shard.n_rows])
    here = numbers[low:high] - shard.start
    rows, factor = inside.rows(shard)
    if rows is None or here.size == 0:
        return [(np.empty(0, dtype=bool), np.empty(0), np.empty(0, dtype=np.intp), np.empty(0))]
    paired = rows.paired
    omega = factor * np.append(np.repeat(paired.weight, 2), 0.0)[paired.cells]
    return [(rows.positive[here], rows.inside[here], _codes(shard)[here], omega[here])]


def _point(inside: Inside, loss: str, shard: Shard, scores: Array) -> tuple[Any, float]:
    """The loss at the scores of one block; None where it has no pair."""
    rows, factor = inside.rows(shard)
    return (None, 0.0) if rows is None else (point_in_arrays(loss, rows, scores), factor)


def _area(inside: Inside, shard: Shard, scores: Array) -> float:
    rows, factor = inside.rows(shard)
    return 0.0 if rows is None else factor * area_in_arrays(rows, scores)


def _number(
    inside: Inside, loss: str, method: str, given: tuple[Any, ...], shard: Shard, scores: Array
) -> float:
    point, factor = _point(inside, loss, shard, scores)
    return 0.0 if point is None else factor * float(getattr(point, method)(*given))


def _vector(
    inside: Inside, loss: str, method: str, shard: Shard, scores: Array, *others: Array
) -> Array:
    point, factor = _point(inside, loss, shard, scores)
    if point is None:
        return np.zeros(shard.n_rows)
    return np.asarray(factor * getattr(point, method)(*others))


def _hessian(
    inside: Inside, loss: str, accuracy: float, X: Any, shard: Shard, scores: Array
) -> Array:
    point, factor = _point(inside, loss, shard, scores)
    if point is None:
        return np.zeros((X.shape[1], X.shape[1]))
    return np.asarray(factor * point.hessian(X, accuracy))


def _squared_error(inside: Inside, loss: str, shard: Shard, scores: Array) -> float:
    point, factor = _point(inside, loss, shard, scores)
    if point is None:
        return 0.0
    size = float(np.linalg.norm(point.gradient()))
    return float((factor * point.gradient_error(size)) ** 2)


def _row_errors(inside: Inside, loss: str, shard: Shard, scores: Array) -> Array:
    point, factor = _point(inside, loss, shard, scores)
    if point is None:
        return np.zeros(shard.n_rows)
    return np.asarray(factor * point.gradient_row_errors(point.gradient()))
