"""Smooth losses over the pairs inside groups: one compiled loop over groups, threads over groups.

Each group is summed by the definition or by Chebyshev boxes of its own, whichever costs less
(`_compiled.smooth_groups`). A group so large that a thread should not be alone with it is summed as
`smooth.SmoothPoint` sums all rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import (
    COEFFICIENTS,
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
from everypair.pairs.boxes import EXP_DOWN, EXP_UP, PER_UNIT, WIDTH
from everypair.pairs.point import (
    EXACT,
    UNIT_ROUNDOFF,
    fenchel_dual,
    gram_bytes,
    growth,
    length,
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

LARGE_GROUP = 100_000
"""Rows of a group that is summed like all rows."""

OPERATIONS_A_ROW = 40


class GroupedSmoothPoint:
    """A smooth pair loss at one vector of scores, summed inside groups."""

    def __init__(self, kernels: SmoothKernels, pairs: Rows, scores: Array):
        self.kernels, self.pairs, self.scores = kernels, pairs, scores
        self._kind = 0 if kernels is LOGISTIC_KERNELS else 1
        self._paired = pairs.paired
        self._x, self._y = (scores[rows] for rows in self._paired.classes)

    def _over_groups(self, work: Callable[[int, int], None]) -> None:
        """``work(first, last)`` on groups of about as many rows for each thread."""
        sizes = self._paired.edges[0] + self._paired.edges[1]

        def part(start: int, stop: int) -> None:
            first, last = np.searchsorted(sizes[:-1], [start, stop])
            if first < last:
                work(int(first), int(last))

        over_rows(part, int(sizes[-1]), OPERATIONS_A_ROW * int(sizes[-1]))

    @cached_property
    def _large(self) -> list[tuple[int, list[slice], SmoothPoint]]:
        """The groups that are summed by themselves: number, places of the classes, point."""
        paired, out = self._paired, []
        sizes = np.diff(paired.edges[0]) + np.diff(paired.edges[1])
        for g in np.flatnonzero(sizes >= LARGE_GROUP):
            places = [slice(int(edges[g]), int(edges[g + 1])) for edges in paired.edges]
            x, y = self._x[places[0]], self._y[places[1]]
            positive = np.arange(x.size + y.size) < x.size
            inside = [paired.inside_of_class[k][places[k]] for k in (0, 1)]
            rows = Rows.uncut(positive, np.concatenate(inside))
            point = SmoothPoint(self.kernels, rows, np.concatenate([x, y]))
            out.append((int(g), places, point))
        return out

    def _put_large(
        self, of: Callable[[SmoothPoint, list[slice]], Array], of_x: Array, of_y: Array
    ) -> None:
        """What the large groups' points say of their rows, per weight of a row."""
        for _, places, point in self._large:
            per_weight = of(point, places) / point.pairs.share
            n = places[0].stop - places[0].start
            of_x[places[0]], of_y[places[1]] = per_weight[:n], per_weight[n:]

    def _to_rows(self, of_x: Array, of_y: Array, sign: float = 1.0) -> Array:
        """By rows, each times what its pairs weigh."""
        of_x *= sign * self._weights[0]
        of_y *= self._weights[1]
        return self._paired.to_rows(of_x, of_y)

    @property
    def _weights(self) -> tuple[Array, Array]:
        """What the pairs of each row weigh, class by class."""
        first, second = (self.pairs.share[rows] for rows in self._paired.classes)
        return first, second

    @cached_property
    def _value_and_gradient(self) -> tuple[float, Array]:
        """In one pass: a group's pairs or boxes serve both."""
        paired, kernels = self._paired, self.kernels
        of_x, of_y = np.empty(self._x.size), np.empty(self._y.size)
        values = np.empty(paired.n_groups)
        tables = [
            table
            for kernel in (kernels.value, kernels.slope, kernels.slope_from_negatives)
            for table in (kernel.near, kernel.far)
        ]
        self._over_groups(
            lambda first, last: smooth_group_slopes(
                self._kind, self._x, self._y, *paired.inside_of_class, *paired.edges, first, last,
                LARGE_GROUP, PER_UNIT, WIDTH, *tables, EXP_UP, EXP_DOWN, of_x, of_y, values,
            )
        )  # fmt: skip
        for g, _, point in self._large:
            values[g] = point.value()
        # Gradients are minus for the positives; the loop gives sizes.
        self._put_large(lambda point, _: np.abs(point.gradient()), of_x, of_y)
        return float(paired.weight @ values), self._to_rows(of_x, of_y, sign=-1.0)

    def value(self) -> float:
        return self._value_and_gradient[0]

    def gradient(self) -> Array:
        return self._value_and_gradient[1]

    def _curvatures(self, vector: Array | None) -> tuple[Array, Array]:
        """Per weight of a row, class by class; ``sum b phi'' (v_i - v_j)`` of a vector."""
        paired, kernels = self._paired, self.kernels
        of_x, of_y = np.empty(self._x.size), np.empty(self._y.size)
        differ = vector is not None
        if vector is None:
            v, d = [np.ones(self._x.size), np.ones(self._y.size)], (of_x, of_y)
        else:
            v, d = [vector[rows] for rows in paired.classes], self._curvature_per_weight
        tables = [
            table
            for kernel in (kernels.curvature, kernels.curvature_from_negatives)
            for table in (kernel.near, kernel.far)
        ]
        self._over_groups(
            lambda first, last: smooth_group_curvatures(
                self._kind, self._x, self._y, *paired.inside_of_class, *paired.edges, *v, *d,
                differ, first, last, LARGE_GROUP, PER_UNIT, WIDTH, *tables, EXP_UP, EXP_DOWN,
                of_x, of_y,
            )
        )  # fmt: skip

        def of_large(point: SmoothPoint, places: list[slice]) -> Array:
            if vector is None:
                return point.curvature()
            return point.product(np.concatenate([v[k][places[k]] for k in (0, 1)]))

        self._put_large(of_large, of_x, of_y)
        return of_x, of_y

    @cached_property
    def _curvature_per_weight(self) -> tuple[Array, Array]:
        return self._curvatures(None)

    @cached_property
    def _curvature(self) -> Array:
        of_x, of_y = self._curvature_per_weight
        return self._to_rows(of_x.copy(), of_y.copy())

    def curvature(self) -> Array:
        return self._curvature

    def product(self, vector: Array) -> Array:
        return self._to_rows(*self._curvatures(self.pairs.centred(vector)))

    def hessian(self, X: Matrix, accuracy: float = EXACT) -> Array:
        """``sum_g X_g' diag(d) X_g - C_g - C_g'``, C gathered at the positives of each group."""
        n_coef = ROUGH_COEFFICIENTS if accuracy >= ROUGH_ACCURACY else COEFFICIENTS
        paired, n_columns = self._paired, X.shape[1]
        curvature, weights = self._curvature, self._weights[0]
        at_once = rows_in_a_block(X)

        def add(groups: GroupBlocks, hessian: Array) -> None:
            parts = [groups.part(k) for k in (0, 1)]
            small = all(part.stop - part.start <= 2 * at_once for part in parts)
            gathered = self._gathered(groups, n_coef) if small else self._boxed(groups, n_coef)
            for some, block, others in gathered:
                cross = (block * weights[some, None]).T @ others
                hessian -= cross + cross.T
                add_weighted_gram(hessian, block, curvature[paired.classes[0][some]])
            for some, block in groups.blocks(1):
                add_weighted_gram(hessian, block, curvature[paired.classes[1][some]])

        (hessian,) = sums_over_groups(X, paired, [(n_columns, n_columns)], add)
        return hessian

    def _gathered(self, groups: GroupBlocks, n_coef: int):  # type: ignore[no-untyped-def]
        """The positives of some small groups, and ``sum_j b_j phi'' x_j`` of each."""
        kernel = self.kernels.curvature
        parts = [groups.part(k) for k in (0, 1)]
        positives, negatives = (groups.rows(k, parts[k]) for k in (0, 1))
        others = np.empty_like(positives)
        smooth_group_rows(
            self._kind, self._x[parts[0]], self._y[parts[1]],
            self._paired.inside_of_class[1][parts[1]], groups.edges(0), groups.edges(1), negatives,
            PER_UNIT, WIDTH, np.ascontiguousarray(kernel.near[:, :n_coef, :n_coef]), kernel.far,
            EXP_UP[:, :n_coef].copy(), EXP_DOWN[:, :n_coef].copy(), others,
        )  # fmt: skip
        yield parts[0], positives, others

    def _boxed(self, groups: GroupBlocks, n_coef: int):  # type: ignore[no-untyped-def]
        """The same for one group of many rows, a block at a time."""
        parts = [groups.part(k) for k in (0, 1)]
        x, y = self._x[parts[0]], self._y[parts[1]]
        slots = [np.empty(scores.size, np.int32) for scores in (x, y)]
        ids = lay_boxes(x, y, PER_UNIT, *slots)
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

    def gradient_error(self, gradient: Array) -> float:
        return length(self.gradient_row_errors(gradient))

    def gradient_row_errors(self, gradient: Array) -> Array:
        """As of `SmoothPoint`: every pair pulls the same way, and sums of equal terms round so."""
        longest = max(int(np.diff(edges).max()) for edges in self._paired.edges)
        chain = 2 * np.sqrt(longest) + 1000
        sums = growth(self.pairs.n_rows) + UNIT_ROUNDOFF * chain
        return (SLOPE_ACCURACY + sums) * np.abs(gradient)

    def steepest(self) -> float:
        return 0.25 * float(self.pairs.share.max())
