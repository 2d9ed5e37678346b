"""Losses whose pair sum splits into class sums: square and exponential, O(n).

In both, the Hessian is a diagonal less two outer products of class vectors,
``H = diag(d) - p q' - q p'`` with p on the positives and q on the negatives. With groups these are
sums over the classes of each group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import (
    cell_largest,
    cell_sums,
    class_totals,
    largest_exponents,
    square_slopes,
    times_by_class,
    weighted_exponentials,
    weighted_squares,
)
from everypair.cached import cached_property
from everypair.linalg.group_blocks import GroupBlocks, sums_over_groups
from everypair.linalg.matrix import Matrix
from everypair.linalg.row_sums import add_weighted_gram
from everypair.linalg.threads import over_rows
from everypair.linalg.vectors import shifted
from everypair.pairs.point import (
    FULL_ACCURACY,
    extent,
    fenchel_dual,
    growth,
    margin_rounding,
)
from everypair.rows import Rows

Array = NDArray[np.float64]
Result = TypeVar("Result")

LEAST_SUM, LIFT = 1e-280, 2.0**900
"""A sum of weighted exponentials below this has lost digits, unless the weights are lifted."""


class ClassSums:
    """Sums over the two classes: ``[negatives, positives]``."""

    weight = np.ones(1)

    def __init__(self, pairs: Rows):
        self._positive = pairs.positive

    def _over_rows(self, work: Callable[[int, int], Result], operations: int) -> list[Result]:
        n_rows = self._positive.size
        return over_rows(work, n_rows, operations * n_rows, finely=True)

    def sums(self, values: Array) -> Array:
        def part(start: int, stop: int) -> Array:
            sums = np.zeros(4)
            class_totals(values, self._positive, start, stop, sums)
            return sums

        sums = np.sum(self._over_rows(part, 2), axis=0)
        return np.asarray(sums[:2] + sums[2:])

    def largest(self, scores: Array, weight: Array) -> Array:
        """The largest exponents of both classes, of rows with weight."""

        def part(start: int, stop: int) -> Array:
            largest = np.full(2, -np.inf)
            largest_exponents(scores, weight, self._positive, start, stop, largest)
            return largest

        return np.asarray(np.max(self._over_rows(part, 2), axis=0))

    def exponentials(self, scores: Array, weight: Array) -> tuple[Array, Array]:
        """``w exp(s)`` of the negatives and ``w exp(-s)`` of the positives over the sums of their
        classes, and the logarithms of these sums."""
        largest, out = self.largest(scores, weight), np.empty(scores.size)
        self._over_rows(
            lambda start, stop: weighted_exponentials(
                scores, weight, self._positive, largest, start, stop, out
            ),
            10,
        )
        sums = self.sums(out)
        if sums.min() < LEAST_SUM:  # the largest exponents are those of tiny weights
            out, sums = self.exponentials(scores, weight * LIFT)
            return out, sums - np.log(LIFT)
        self.times(out, 1 / sums, out)
        return out, np.log(sums) + largest

    def times(self, values: Array, factors: Array, out: Array) -> Array:
        """Each value times the factor of its class, ``[negatives, positives]``."""
        self._over_rows(
            lambda start, stop: times_by_class(
                values, self._positive, factors[0], factors[1], start, stop, out
            ),
            1,
        )
        return out

    def square_slopes(self, scores: Array, share: Array, means: Array) -> Array:
        """The gradient of the square loss, from the class means."""
        out = np.empty(scores.size)
        self._over_rows(
            lambda start, stop: square_slopes(
                scores, share, self._positive, means[0], means[1], start, stop, out
            ),
            2,
        )
        return out

    def variances(self, scores: Array, share: Array, means: Array) -> float:
        """The weighted squares of the distances from the mean of the own class, added up."""
        parts = self._over_rows(
            lambda start, stop: weighted_squares(
                scores, share, self._positive, means[0], means[1], start, stop
            ),
            2,
        )
        return float(sum(parts))

    def other(self, sums: Array) -> Array:
        return np.where(self._positive, sums[0], sums[1])

    def of_group(self, values: Array) -> Array | float:
        """The sum of each row's group; without groups there is one."""
        return float(values[0])

    def cross(self, X: Matrix, weight: Array, curvature: Array, scale: Array) -> Array:
        """The Hessian, from the class weights and the curvatures of the rows."""
        of_these = np.where(self._positive, weight, 0.0)
        gram, (of_positives, of_all) = X.gram_and_sums(weight, [of_these, weight])
        cross = np.outer(of_positives, of_all - of_positives)
        return np.asarray(scale[0] * (gram - cross - cross.T))


class _Cells:
    """Sums over the two classes of every group: ``[negatives, positives, negatives, ...]``."""

    def __init__(self, pairs: Rows):
        self._paired, self._positive = pairs.paired, pairs.positive
        self.weight = self._paired.weight
        self._cells, self._n_cells = self._paired.cells, 2 * self._paired.n_groups

    def sums(self, values: Array) -> Array:
        sums, left = np.zeros((2, self._n_cells + 1))
        cell_sums(values, self._cells, sums, left)
        return sums[:-1]

    def exponentials(self, scores: Array, weight: Array) -> tuple[Array, Array]:
        signed = np.where(self._positive, -scores, scores)
        with np.errstate(divide="ignore"):
            logs = signed + np.log(weight)
        largest = np.full(self._n_cells + 1, -np.inf)
        cell_largest(logs, self._cells, largest)
        largest[-1] = 0.0
        sums = np.log(self.sums(np.exp(logs - largest[self._cells]))) + largest[:-1]
        return np.exp(logs - self.own(sums)), np.asarray(sums)

    def square_slopes(self, scores: Array, share: Array, means: Array) -> Array:
        # Pairs of row i: 1 - (s_i - mean of the others), and the mirror for negatives.
        sign = np.where(self._positive, -1.0, 1.0)
        return np.asarray(2 * share * (sign + (scores - self.other(means))))

    def variances(self, scores: Array, share: Array, means: Array) -> float:
        return float(share @ (scores - self.own(means)) ** 2)

    def own(self, sums: Array) -> Array:
        return np.append(sums, 0.0)[self._cells]

    def other(self, sums: Array) -> Array:
        swapped = sums.reshape(-1, 2)[:, ::-1].ravel()
        return np.append(swapped, 0.0)[self._cells]

    def of_group(self, values: Array) -> Array:
        return np.append(np.repeat(values, 2), 0.0)[self._cells]

    def cross(self, X: Matrix, weight: Array, curvature: Array, scale: Array) -> Array:
        paired, n_columns = self._paired, X.shape[1]

        def add(groups: GroupBlocks, hessian: Array) -> None:
            sums = np.zeros((2, groups.last - groups.first, n_columns))
            for number in (0, 1):
                for some, block in groups.blocks(number):
                    rows = paired.classes[number][some]
                    weighted = block * weight[rows, None]
                    groups.add_sums(number, some, weighted, sums[number])
                    add_weighted_gram(hessian, block, curvature[rows])
            cross = (scale[groups.first : groups.last, None] * sums[0]).T @ sums[1]
            hessian -= cross + cross.T

        (hessian,) = sums_over_groups(X, paired, [(n_columns, n_columns)], add)
        return hessian


class _SeparablePoint:
    """The Hessian shared by both losses.

    ``scale_g c_i`` is the diagonal and ``scale_g c_i c_j`` the weight of a pair in the Hessian,
    where c sums to one over each class of each group g.
    """

    _scale: Array
    """Of each group."""
    _class_weight: Array

    def __init__(self, pairs: Rows, scores: Array, cells: ClassSums | None = None):
        """``cells``: what adds up over more rows than these, whose scores are near zero."""
        # Relative to a point among the scores: pairs do not see a common offset, rounding does.
        self.pairs = pairs
        self._cells: ClassSums | _Cells
        if cells is not None:
            self.scores, self._cells = scores, cells
        elif pairs.within is None:
            self.scores, self._cells = shifted(scores, -scores[0]), ClassSums(pairs)
        else:
            self.scores, self._cells = pairs.centred(scores), _Cells(pairs)

    def value(self) -> float:
        raise NotImplementedError

    def gradient(self) -> Array:
        raise NotImplementedError

    @property
    def _row_scale(self) -> Array | float:
        return self._cells.of_group(self._scale)

    def curvature(self) -> Array:
        return self._row_scale * self._class_weight

    def product(self, vector: Array) -> Array:
        c = self._class_weight
        weighted = c * self.pairs.centred(vector)
        others = self._cells.other(self._cells.sums(weighted))
        return np.asarray(self._row_scale * (weighted - c * others))

    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        return self._cells.cross(X, self._class_weight, self.curvature(), self._scale)

    def hessian_bytes(self, n_columns: int) -> int:
        return 16 * n_columns**2

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.pairs, self.scores, self.gradient())

    def gradient_error(self, size: float) -> float:
        raise NotImplementedError

    def gradient_row_errors(self, gradient: Array) -> Array:
        raise NotImplementedError

    def steepest(self) -> float:
        return float(self.curvature().max())


class SquarePoint(_SeparablePoint):
    """``(1 - z)^2``: the class variances plus the squared shortfall of the means, in each group."""

    def __init__(self, pairs: Rows, scores: Array, cells: ClassSums | None = None):
        super().__init__(pairs, scores, cells)
        self._scale, self._class_weight = 2 * self._cells.weight, pairs.inside
        self._means = self._cells.sums(pairs.inside * self.scores)
        self._shortfalls = 1 - (self._means[1::2] - self._means[::2])

    def value(self) -> float:
        variances = self._cells.variances(self.scores, self.pairs.share, self._means)
        return variances + float(self._cells.weight @ self._shortfalls**2)

    def gradient(self) -> Array:
        return self._cells.square_slopes(self.scores, self.pairs.share, self._means)

    @cached_property
    def _share_error(self) -> float:
        """The class means are sums over rows, however small a residual is left of them."""
        low, high = extent(self.scores)
        return growth(self.pairs.n_rows) * (1 + high - low) * 2

    def gradient_error(self, size: float) -> float:
        return self._share_error * self.pairs.share_length

    def gradient_row_errors(self, gradient: Array) -> Array:
        return self._share_error * self.pairs.share


class ExponentialPoint(_SeparablePoint):
    """``exp(-z)``: a product of two class sums, kept as logarithms until the end.

    Overflows to infinity, never to NaN; a line search steps back from there.
    """

    def __init__(self, pairs: Rows, scores: Array, cells: ClassSums | None = None):
        super().__init__(pairs, scores, cells)
        self._class_weight, sums = self._cells.exponentials(self.scores, pairs.inside)
        with np.errstate(over="ignore"):
            self._scale = self._cells.weight * np.exp(sums[1::2] + sums[::2])

    def value(self) -> float:
        return float(self._scale.sum())

    def gradient(self) -> Array:
        if isinstance(self._cells, ClassSums):
            factors = self._scale[0] * np.array([1.0, -1.0])
            return self._cells.times(self._class_weight, factors, np.empty(self.scores.size))
        size = self.curvature()
        return np.where(self.pairs.positive, -size, size)

    def gradient_error(self, size: float) -> float:
        """An error of a margin is a relative one of its loss."""
        return (growth(self.pairs.n_rows) + 2 * margin_rounding(*extent(self.scores))) * size

    def gradient_row_errors(self, gradient: Array) -> Array:
        return self.gradient_error(1.0) * np.abs(gradient)
