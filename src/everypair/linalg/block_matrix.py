"""X in blocks as the solvers see it (`matrix.Matrix`): each product is a pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.block_folds import Folds
from everypair.linalg.block_jobs import Job, add, followed_by
from everypair.linalg.block_look import (
    look_at,
    refuse_missing,
    rows_of,
    scaled_squares,
    seen_both,
    taken_from,
)
from everypair.linalg.block_sample import BlockSample, Wanted
from everypair.linalg.block_shard import ALL, Expression, Kept, Shard
from everypair.linalg.block_vector import BlockVector, Statistics
from everypair.linalg.block_windows import (
    Part,
    WindowBoxes,
    gram_of_windows,
    sums_in_boxes,
    windows_of_blocks,
)
from everypair.linalg.blocks import Blocks
from everypair.linalg.class_moments import ClassMoments
from everypair.linalg.column_sizes import (
    CONSTANT_COLUMN_SPREAD,
    SAFE_SQUARES,
    ProductBounds,
    Sizes,
)
from everypair.linalg.dense import (
    COVARIANCE_COLUMNS,
    HESSIAN_COLUMNS_PER_PRODUCT,
    DenseMatrix,
)
from everypair.linalg.row_sums import CENTRE_ROWS, BoxedRows, Windows

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Frame(NamedTuple):
    """What is known of all rows before the first sum: how large the columns are, and where."""

    sizes: Sizes
    centre: Array
    unit: Array
    longest: float

    def of(self, shard: Shard, columns: Any) -> DenseMatrix:
        """The shard's rows, about the same centre as those of all others."""
        X = shard.matrix(columns)
        X.centre, X.unit, X.sizes = self.centre, self.unit, self.sizes
        return X

    def on(self, columns: Index) -> Frame:
        sizes = self.sizes.on(columns)
        return Frame(sizes, self.centre[columns], self.unit[columns], self.longest)


class BlockMatrix:
    """The rows of an engine. ``gathers``: scores are arrays in this process, not block vectors."""

    by_rows = True
    differences_pay = False
    sample_hessian_pays = False
    in_order_only = True

    def __init__(
        self,
        blocks: Blocks,
        columns: Any = ALL,
        gathers: bool = False,
        rough: bool = False,
    ):
        self.blocks, self._columns, self._gathers, self._rough = blocks, columns, gathers, rough
        self.keeps_products = not rough
        n_columns = blocks.n_columns if columns is ALL else columns.size
        self.shape: tuple[int, int] = blocks.n_rows, n_columns

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.blocks.itemsize

    @property
    def hessian_room(self) -> float:
        return self.nbytes

    @cached_property
    def rough(self) -> BlockMatrix:
        """The same, whose products are not kept: conjugate gradients use each one once."""
        if self._gathers:
            return self
        other = BlockMatrix(self.blocks, self._columns, rough=True)
        other._frame = self._frame
        return other

    def over(self, blocks: Blocks) -> BlockMatrix:
        """The same rows as another view of the engine weighs them."""
        other = BlockMatrix(blocks, self._columns, self._gathers, self._rough)
        other._frame = self._frame
        return other

    @property
    def products_per_hessian(self) -> float:
        return self.shape[1] / HESSIAN_COLUMNS_PER_PRODUCT

    @property
    def covariance_pays(self) -> bool:
        return self.shape[1] <= COVARIANCE_COLUMNS

    # --- the first look --------------------------------------------------------------------

    @cached_property
    def _frame(self) -> Frame:
        self._look(np.empty(0, dtype=np.intp))
        return self._frame

    def _look(self, rows: Index | BlockSample) -> NDArray[Any]:
        """One pass: the frame, and a copy of these rows."""
        step = max(1, self.shape[0] // CENTRE_ROWS)
        amid = np.arange(0, self.shape[0], step)
        work = partial(look_at, amid, rows.wanted if isinstance(rows, BlockSample) else rows)
        seen = self.blocks.run(Job.of("first-look", work, (), seen_both, ALL))
        largest, sums, squares, longest, amid_rows, taken = seen
        sizes = self._sizes(sums, squares, largest)
        near = np.concatenate(amid_rows)
        centre = np.median(near, axis=0).astype(np.float64)
        apart = np.max(np.abs(near - centre), axis=0)
        unit = np.where(apart > 0, np.exp2(np.frexp(apart)[1]), 1.0)
        vars(self)["_frame"] = Frame(sizes, centre, unit, longest)
        return rows_of(rows, taken)

    def _sizes(self, sums: Array, squares: Array, largest: Array) -> Sizes:
        """`Sizes.of`; sums of squares that left the range are made again in units of the largest
        value, in one more pass."""
        n_rows, (low, high) = self.shape[0], SAFE_SQUARES
        lengths = np.sqrt(squares)
        doubtful = ~((squares > low) & (squares < high))
        lengths[doubtful] = 0.0
        again = np.flatnonzero(doubtful & (largest > 0))
        if again.size:
            work = partial(scaled_squares, again, largest[again])
            shares = self.blocks.run(Job.of("column-lengths", work, (), reads=ALL))
            lengths[again] = largest[again] * np.sqrt(shares)
        return Sizes.of(sums, squares, n_rows, lengths=lengths)

    @property
    def centre(self) -> Array:
        return self._frame.centre

    @property
    def sizes(self) -> Sizes:
        return self._frame.sizes

    @property
    def rounding_bounds(self) -> ProductBounds | None:
        return None

    @property
    def longest(self) -> float:
        return self._frame.longest

    @property
    def chain(self) -> float:
        """Additions of one block's rows, in the worst order, and of the blocks."""
        return max(self.blocks.lengths) / 4 + len(self.blocks.lengths)

    # --- vectors ---------------------------------------------------------------------------

    @property
    def zero_scores(self) -> Any:
        return np.zeros(self.shape[0]) if self._gathers else self.blocks.zeros

    def dot(self, vector: Array) -> Any:
        product = Expression(partial(_dot, self._columns, vector), reads=self._columns)
        if self._gathers:
            return BlockVector(self.blocks, product).gather()
        known = float(self._frame.sizes.means @ vector)
        return BlockVector(self.blocks, product if self._rough else Kept(inner=product),
                           known if np.isfinite(known) else None)  # fmt: skip

    def dot_by_fold(self, folds: Folds, coefs: Array, levels: Array) -> BlockVector:
        """Of each row the product with the coefficients of its fold, less that fold's level."""
        work = partial(_dot_by_fold, self._columns, folds, coefs, levels)
        product = Expression(work, reads=self._columns)
        return BlockVector(self.blocks, Kept(inner=product))

    def weighted_means(self, weight: BlockVector) -> Array:
        """Of each column; from the first look where all rows weigh the same."""
        if not weight.blocks.weighted:
            return self._frame.sizes.means
        found, statistics = self._sum("column-means", partial(_pull_back, self._columns), weight)
        return np.asarray(found) / Statistics(*statistics).total

    def dot_and_sizes(self, vector: Array) -> Any:
        return self.dot(vector)

    def _in_blocks(self, weights: Any) -> BlockVector:
        return weights if isinstance(weights, BlockVector) else self.blocks.spread(weights)

    def _sum(self, name: str, work: Any, *vectors: Any) -> Any:
        operands = [self._in_blocks(vector) for vector in vectors]
        return self.blocks.run(Job.of(name, work, operands, reads=self._columns))

    def pull_back(self, weights: Any) -> Array:
        found, statistics = self._sum("pull-back", partial(_pull_back, self._columns), weights)
        if isinstance(weights, BlockVector):
            weights.statistics = Statistics(*statistics)  # of the same pass
        return np.asarray(found)

    def pull_back_moments(self, weights: Any) -> Array:
        work = partial(_pull_back_moments, self._columns)
        found, statistics = self._sum("pull-back-moments", work, weights)
        if isinstance(weights, BlockVector):
            weights.statistics = Statistics(*statistics)
        return np.asarray(found)

    def pull_back_distances(self, weights: Any) -> Array:
        work = partial(_pull_back_distances, self._frame, self._columns)
        return np.asarray(self._sum("pull-back-distances", work, weights))

    # --- matrices --------------------------------------------------------------------------

    def gram(self, weights: Any) -> Array:
        gram, _ = self.gram_and_sums(weights, [])
        return gram

    def gram_and_sums(self, weights: Any, others: Sequence[Any]) -> tuple[Array, Array]:
        work = partial(_gram_and_sums, self._frame, self._columns)
        gram, sums = self._sum("gram", work, weights, *others)
        return gram, sums

    def centred_moments(self, weights: Sequence[Any]) -> tuple[Array, Array]:
        work = partial(_centred_moments, self._frame, self._columns)
        sums, squares = self._sum("column-moments", work, *weights)
        return sums, squares

    def gram_and_boxes(
        self, weights: Any, boxed: Any, n_terms: int, rough: bool
    ) -> tuple[Array, Array]:
        """``boxed`` makes the `BoxedRows` of a shard from its scores: (scores, function)."""
        scores, in_boxes = boxed
        work = partial(_gram_and_boxes, self._frame, self._columns, in_boxes, n_terms, rough)
        gram, moments = self._sum("hessian", work, weights, scores)
        return gram, moments

    def pair_moments(self) -> tuple[ClassMoments, ClassMoments]:
        """Of the positives and of the negatives, in one pass; rows without weight are not seen."""
        return self.blocks.run(Job.of("class-moments", _pair_moments, (), add, self._columns))

    def sum_over_shards(self, name: str, work: Any, *vectors: Any) -> Any:
        """Of ``work(X of the shard, shard, *vectors)``."""
        return self._sum(name, partial(_with_matrix, self._frame, self._columns, work), *vectors)

    # --- rows ------------------------------------------------------------------------------

    def take(self, rows: Index | BlockSample) -> DenseMatrix:
        """A copy of these rows, which ascend; the first look comes with it where it is due."""
        if "_frame" not in vars(self) and self._columns is ALL:
            return DenseMatrix(self._look(rows))
        wanted = rows.wanted if isinstance(rows, BlockSample) else rows
        work = partial(_take, self._columns, wanted)
        taken = self.blocks.run(Job.of("take", work, (), followed_by, reads=self._columns))
        return DenseMatrix(rows_of(rows, taken))

    def columns(self, columns: Index) -> BlockMatrix:
        """No copy: the columns are read again at each pass."""
        numbers = columns if self._columns is ALL else self._columns[columns]
        few = BlockMatrix(self.blocks, numbers, self._gathers, self._rough)
        few._frame = self._frame.on(columns)
        return few

    def careful_spreads(self, weight: Any) -> Array:
        """Standard deviations about a point amid each column's values, for weights that sum to one.

        A constant column lies at that point, and has none.
        """
        (means,), (squares,) = self.centred_moments([weight])
        variances = squares - means**2
        size = np.abs(self.centre) + np.sqrt(squares)
        floor = (CONSTANT_COLUMN_SPREAD * size) ** 2
        return np.sqrt(np.where(variances > floor, variances, 0.0))

    def class_moments(self, members: Index, weights: Array | None) -> ClassMoments:
        raise NotImplementedError("Blocks have `pair_moments`.")

    def dot_rows(self, rows: Index, coefs: Array, origin: Array) -> Array:
        return self.take(rows).dot_rows(np.arange(rows.size), coefs, origin)

    def written_out(self, rows: Index) -> Array:
        return self.take(rows).X.astype(np.float64, order="C")

    def window_cross(self, windows: Windows) -> Array:
        raise NotImplementedError("Blocks have `gram_of_windows`.")

    def gram_of_windows(self, windows: Windows) -> Array:
        """``sum_k a_k sum_l b_l (x_k - x_l) (x_k - x_l)'``, l in the window of target k; about so
        where rows are many (`block_windows`)."""
        blocks, n_columns = self.blocks, self.shape[1]
        if blocks.grouped:  # a block holds whole groups
            of_blocks = blocks.place(windows_of_blocks(windows, blocks.starts))
            return np.asarray(self.sum_over_shards("hessian", _gram_of_windows, of_blocks))
        boxes = WindowBoxes(windows, n_columns)
        work = partial(_sums_in_boxes, boxes.factors)
        parts = blocks.place(boxes.parts(blocks.starts))
        gram, sums = self.sum_over_shards("hessian", work, parts)
        n_targets, n_sources = boxes.n_boxes
        cross = boxes.cross(sums[1, :n_targets], sums[0, :n_sources])
        return np.asarray(gram - cross - cross.T)

    def row_products(self, rows: Index, others: Index, unit: float | None = None) -> Array:
        left, right = (self.written_out(some) - self.sizes.means for some in (rows, others))
        out = np.asarray(left @ right.T)
        return out if unit is None else (out / unit**2).astype(np.float32)

    def gram_of_differences(self, first: Index, second: Index, weights: Array) -> Array:
        raise NotImplementedError("Rows in blocks cannot be paired.")


def _take(columns: Any, wanted: Index | Wanted, shard: Shard) -> list[Any]:
    return taken_from(shard.matrix(columns).X, wanted, shard)


def _dot(columns: Any, vector: Array, shard: Shard) -> Array:
    return shard.matrix(columns).dot(vector)


def _dot_by_fold(columns: Any, folds: Folds, coefs: Array, levels: Array, shard: Shard) -> Array:
    X, fold = shard.matrix(columns), folds.of(shard)
    out = np.zeros(shard.n_rows)
    for k in range(folds.n_folds):
        rows = np.flatnonzero(fold == k)
        if rows.size:
            out[rows] = (X.dot(coefs[k]) - levels[k])[rows]
    return out


def _pull_back(columns: Any, shard: Shard, weights: Array) -> tuple[Array, tuple[float, ...]]:
    found = shard.matrix(columns).pull_back(weights)
    return found, tuple(Statistics.part(shard, weights))


def _pull_back_moments(
    columns: Any, shard: Shard, weights: Array
) -> tuple[Array, tuple[float, ...]]:
    found = shard.matrix(columns).pull_back_moments(weights)
    return found, tuple(Statistics.part(shard, weights))


def _pull_back_distances(frame: Frame, columns: Any, shard: Shard, weights: Array) -> Array:
    return frame.of(shard, columns).pull_back_distances(weights)


def _gram_and_sums(
    frame: Frame, columns: Any, shard: Shard, weights: Array, *others: Array
) -> tuple[Array, Array]:
    return frame.of(shard, columns).gram_and_sums(weights, others)


def _centred_moments(
    frame: Frame, columns: Any, shard: Shard, *weights: Array
) -> tuple[Array, Array]:
    return frame.of(shard, columns).centred_moments(weights)


def _gram_and_boxes(
    frame: Frame,
    columns: Any,
    in_boxes: Any,
    n_terms: int,
    rough: bool,
    shard: Shard,
    weights: Array,
    scores: Array,
) -> tuple[Array, Array]:
    boxed: BoxedRows = in_boxes(shard, scores)
    return frame.of(shard, columns).gram_and_boxes(weights, boxed, n_terms, rough)


def _with_matrix(frame: Frame, columns: Any, work: Any, shard: Shard, *vectors: Array) -> Any:
    return work(frame.of(shard, columns), shard, *vectors)


def _sums_in_boxes(factors: Any, X: DenseMatrix, shard: Shard, part: Part) -> tuple[Array, Array]:
    return sums_in_boxes(factors, X, part)


def _gram_of_windows(X: DenseMatrix, shard: Shard, windows: Windows) -> Array:
    return gram_of_windows(X, windows)


def _pair_moments(shard: Shard) -> tuple[ClassMoments, ClassMoments]:
    X, weight = shard.matrix(), shard.weight
    there = True if weight is None else weight > 0
    wide = None if weight is None else weight.astype(np.float64, copy=False)
    positives, negatives = (
        X.class_moments(np.flatnonzero(rows & there), wide)
        for rows in (shard.positive, ~shard.positive)
    )
    if not np.all(np.isfinite(positives.mean + negatives.mean)):
        refuse_missing(shard, np.abs(X.X).max(axis=0))
    return positives, negatives
