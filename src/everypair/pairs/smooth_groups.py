"""Smooth losses over the pairs inside groups: one compiled loop over groups, threads over groups.

Each group is summed by the definition, by one Chebyshev series or by boxes of its own, whichever
costs least (`_compiled.smooth_groups`). A group so large that a thread should not be alone with it
is summed as `smooth.SmoothPoint` sums all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import (
    COEFFICIENTS,
    SERIES_COEFFICIENTS,
    WIDE_COEFFICIENTS,
    add_row_moments,
    evaluate_rows,
    lay_boxes,
    smooth_group_curvatures,
    smooth_group_rows,
    smooth_group_slopes,
)
from everypair.cached import cached_property
from everypair.linalg.group_blocks import GroupBlocks, rows_in_a_block, sums_over_groups
from everypair.linalg.matrix import Matrix
from everypair.linalg.row_sums import add_weighted_gram
from everypair.linalg.threads import over_rows
from everypair.pairs.boxes import PER_UNIT, WIDTH, BoxGrid, BoxKernel, exponentials
from everypair.pairs.point import (
    FULL_ACCURACY,
    UNIT_ROUNDOFF,
    fenchel_dual,
    gram_bytes,
    growth,
)
from everypair.pairs.smooth import (
    LOGISTIC_KERNELS,
    ROUGH_ACCURACY,
    ROUGH_COEFFICIENTS,
    SLOPE_ACCURACY,
    SmoothKernels,
    SmoothPoint,
)
from everypair.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

LARGE_GROUP = 100_000
"""Rows of a group that is summed like all rows."""

OPERATIONS_A_ROW = 40

Gathered = Iterator[tuple[slice, Array, Array]]
"""Places of positive rows, the rows, and the sums of the negatives of each."""


WIDE = BoxGrid(width=2.0, coefficients=WIDE_COEFFICIENTS, reach_boxes=5)
"""A group has some hundred rows more often than a million: few boxes of many coefficients. The ends
of the kernels hold from 3 boxes on; their tables cost less than they do up to 5."""


@cache
def _exponentials() -> tuple[Array, Array]:
    return WIDE.exponentials(+1), WIDE.exponentials(-1)


def _scaled_loss(u: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    return np.exp(u / 2) * np.logaddexp(0, -u)


def _scaled_slope(u: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    return -0.5 / np.cosh(u / 2)


@cache
def _series(kernels: SmoothKernels) -> tuple[Array, Array, Array]:
    """How far scores may reach at each level of `_compiled.group_series`, and the tables of the
    loss and of ``-phi'``: of the sigmoid to 3e-16, of the logistic, less its exponentials, to 2e-13
    of itself."""
    loss, slope = kernels.value.function, kernels.slope.function
    widths = (4.0, 5.5, 6.75, 8.25, 9.5, 11.0)
    if kernels is LOGISTIC_KERNELS:
        loss, slope, widths = _scaled_loss, _scaled_slope, (5.0, 7.0, 8.5, 10.0, 11.5, 12.0)
    most = SERIES_COEFFICIENTS[-1]
    losses = np.zeros((len(widths), most, most))
    slopes = np.zeros((len(widths), 2, most // 2, most // 2))
    for level, (width, count) in enumerate(zip(widths, SERIES_COEFFICIENTS, strict=True)):
        grid, half = BoxGrid(width, count, reach_boxes=0), count // 2
        losses[level, :count, :count] = grid.table(loss)[0]
        table = -grid.table(slope)[0]
        slopes[level, :, :half, :half] = table[0::2, 0::2], table[1::2, 1::2]
    return np.array(widths), losses, slopes


@cache
def _tables(targets: tuple[BoxKernel, ...], back: BoxKernel) -> tuple[Array, ...]:
    """Of kernels that the positives see, side by side, and of one that the negatives see."""
    near = np.concatenate([WIDE.table(kernel.function) for kernel in targets], axis=2)
    far = (kernel.far for kernel in (*targets, back))
    return np.ascontiguousarray(near), WIDE.table(back.function), *far, *_exponentials()


class GroupedSmoothPoint:
    """A smooth pair loss at one vector of scores, summed inside groups."""

    def __init__(self, kernels: SmoothKernels, pairs: Rows, scores: Array):
        self.kernels, self.pairs, self.scores = kernels, pairs, scores
        self._kind = 0 if kernels is LOGISTIC_KERNELS else 1
        self._paired = pairs.paired

    def _over_groups(self, work: Callable[[int, int], None]) -> None:
        """``work(first, last)`` on groups of about as many rows for each thread."""
        sizes = self._paired.edges[0] + self._paired.edges[1]

        def part(start: int, stop: int) -> None:
            first, last = np.searchsorted(sizes[:-1], [start, stop])
            if first < last:
                work(int(first), int(last))

        over_rows(part, int(sizes[-1]), OPERATIONS_A_ROW * int(sizes[-1]))

    @cached_property
    def _large(self) -> list[tuple[int, Index, SmoothPoint]]:
        """The groups that are summed by themselves: number, rows, point."""
        return [
            (group, rows, SmoothPoint(self.kernels, of_group, self.scores[rows]))
            for group, rows, of_group in self.pairs.large_groups(LARGE_GROUP)
        ]

    @property
    def _layout(self) -> tuple[Any, ...]:
        paired = self._paired
        return (
            self._kind, self.scores, *paired.classes, *paired.inside_of_class, paired.weight,
            *paired.edges,
        )  # fmt: skip

    @cached_property
    def _value_and_gradient(self) -> tuple[float, Array]:
        """In one pass: a group's pairs or boxes serve both."""
        paired, kernels = self._paired, self.kernels
        gradient, values = np.zeros(self.pairs.n_rows), np.empty(paired.n_groups)
        tables = _tables((kernels.value, kernels.slope), kernels.slope_from_negatives)
        self._over_groups(
            lambda first, last: smooth_group_slopes(
                *self._layout,
                first,
                last,
                LARGE_GROUP,
                1 / WIDE.width,
                *tables,
                *_series(kernels),
                values,
                gradient,
            )
        )
        for g, rows, point in self._large:
            values[g] = point.value()
            gradient[rows] = paired.weight[g] * point.gradient()
        return float(np.sum(paired.weight * values)), gradient

    def value(self) -> float:
        return self._value_and_gradient[0]

    def gradient(self) -> Array:
        return self._value_and_gradient[1]

    def _curvatures(self, vector: Array, known: Array | None) -> Array:
        """``sum b phi''`` of each row, or of ``b phi'' (v_i - v_j)`` where the former is known."""
        out, kernels = np.zeros(self.pairs.n_rows), self.kernels
        tables = _tables((kernels.curvature,), kernels.curvature_from_negatives)
        differ, curvature = known is not None, out if known is None else known
        self._over_groups(
            lambda first, last: smooth_group_curvatures(
                *self._layout, vector, curvature, differ, first, last, LARGE_GROUP,
                1 / WIDE.width, *tables, out,
            )
        )  # fmt: skip
        for g, rows, point in self._large:
            of_group = point.product(vector[rows]) if differ else point.curvature()
            out[rows] = self._paired.weight[g] * of_group
        return out

    @cached_property
    def _curvature(self) -> Array:
        return self._curvatures(np.ones(self.pairs.n_rows), None)

    def curvature(self) -> Array:
        return self._curvature

    def product(self, vector: Array) -> Array:
        return self._curvatures(self.pairs.centred(vector), self._curvature)

    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        """``sum_g X_g' diag(d) X_g - C_g - C_g'``, C gathered at the positives of each group."""
        n_coef = ROUGH_COEFFICIENTS if accuracy >= ROUGH_ACCURACY else COEFFICIENTS
        paired, n_columns = self._paired, X.shape[1]
        curvature, weights = self._curvature, self.pairs.share
        at_once = rows_in_a_block(X)

        def add(groups: GroupBlocks, hessian: Array) -> None:
            parts = [groups.part(k) for k in (0, 1)]
            small = all(part.stop - part.start <= 2 * at_once for part in parts)
            gathered = self._gathered(groups, n_coef) if small else self._boxed(groups, n_coef)
            for some, block, others in gathered:
                rows = paired.classes[0][some]
                cross = (block * weights[rows, None]).T @ others
                hessian -= cross + cross.T
                add_weighted_gram(hessian, block, curvature[rows])
            for some, block in groups.blocks(1):
                add_weighted_gram(hessian, block, curvature[paired.classes[1][some]])

        (hessian,) = sums_over_groups(X, paired, [(n_columns, n_columns)], add)
        return hessian

    def _gathered(self, groups: GroupBlocks, n_coef: int) -> Gathered:
        """The positives of some small groups, and ``sum_j b_j phi'' x_j`` of each."""
        kernel = self.kernels.curvature
        parts = [groups.part(k) for k in (0, 1)]
        x, y = (self.scores[self._paired.classes[k][parts[k]]] for k in (0, 1))
        # Row by row in memory: the loop reads them so, and one kind of array is compiled for.
        positives, negatives = (np.ascontiguousarray(groups.rows(k, parts[k])) for k in (0, 1))
        others = np.empty_like(positives)
        smooth_group_rows(
            self._kind, x, y,
            self._paired.inside_of_class[1][parts[1]], groups.edges(0), groups.edges(1), negatives,
            PER_UNIT, WIDTH, np.ascontiguousarray(kernel.near[:, :n_coef, :n_coef]), kernel.far,
            *exponentials(n_coef), others,
        )  # fmt: skip
        yield parts[0], positives, others

    def _boxed(self, groups: GroupBlocks, n_coef: int) -> Gathered:
        """The same for one group of many rows, a block at a time."""
        parts = [groups.part(k) for k in (0, 1)]
        x, y = (self.scores[self._paired.classes[k][parts[k]]] for k in (0, 1))
        slots = [np.empty(scores.size, np.int32) for scores in (x, y)]
        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        ids = lay_boxes(x, y, low, high, PER_UNIT, *slots)
        held, wanted = np.zeros((2, ids.size), dtype=bool)
        held[slots[1]] = wanted[slots[0]] = True
        moments: Array | None = None
        for some, block in groups.blocks(1):
            own = slice(some.start - parts[1].start, some.stop - parts[1].start)
            if moments is None:
                moments = np.zeros((ids.size, n_coef, block.shape[1]))
            inside = self._paired.inside_of_class[1][some]
            add_row_moments(block, y[own], inside, slots[1][own], PER_UNIT, moments)
        assert moments is not None
        fields = self.kernels.curvature.row_fields(ids, held, wanted, moments)
        for some, block in groups.blocks(0):
            own = slice(some.start - parts[0].start, some.stop - parts[0].start)
            others = np.empty_like(block)
            evaluate_rows(x[own], slots[0][own], PER_UNIT, fields, others)
            yield some, block, others

    def hessian_bytes(self, n_columns: int) -> int:
        return gram_bytes(n_columns)

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.pairs, self.scores, self.gradient())

    def gradient_error(self, size: float) -> float:
        """As of `SmoothPoint`: every pair pulls the same way, and sums of equal terms round so."""
        longest = max(int(np.diff(edges).max()) for edges in self._paired.edges)
        chain = 2 * np.sqrt(longest) + 1000
        sums = growth(self.pairs.n_rows) + UNIT_ROUNDOFF * chain
        return (SLOPE_ACCURACY + sums) * size

    def gradient_row_errors(self, gradient: Array) -> Array:
        return self.gradient_error(1.0) * np.abs(gradient)

    def steepest(self) -> float:
        return 0.25 * float(self.pairs.share.max())
