"""Piecewise polynomial losses: sort each class, then walk both lists once, O(n log n).

Hinge by sorting: Joachims 2006, Airola et al. 2011; squared hinge: Lee & Lin 2014. The walks
here never subtract prefix sums (`_compiled.growing_sum`, `_compiled.window_sum`), so scores
of any size and offset keep their digits. Only the Hessian's window of rows adds and subtracts.

Everything is written for targets of one class against sources of the other, both descending,
with shortfall ``u = 1 - (x - y)``. Seen from the negatives the same pairs have targets
``-s_j`` and sources ``-s_i``: the reversed lists, negated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import hinge_total, rounded_hinge_walk, scatter_products
from everypair.cached import cached_property
from everypair.linalg.matrix import Matrix, rows_that_count
from everypair.linalg.row_sums import Windows
from everypair.linalg.threads import over_rows
from everypair.linalg.vectors import length
from everypair.pairs.in_window import PLACES, InWindow, WindowSide
from everypair.pairs.point import (
    FULL_ACCURACY,
    fenchel_dual,
    gram_bytes,
    growth,
    margin_rounding,
)
from everypair.pairs.ranked_classes import OPERATIONS_OF_A_WALK, RankedClass, SortedScores

Array = NDArray[np.float64]
Index = NDArray[np.intp]

POSITIVE_SHORTFALL = np.nextafter(0.0, 1.0)
"""The least u that counts as u > 0."""


class _SortedPoint:
    """Losses that are a polynomial in u between corners.

    The second derivative is ``_height`` inside the window ``_corner > u > 0`` and zero
    outside; a loss names the two and gets products and Hessian from here.
    """

    _height: float
    _corner: float

    def __init__(self, order: SortedScores):
        self.order, self.pairs = order, order.pairs
        self._windows: dict[int, tuple[Index, Index]] = {}
        self._ends: dict[int, Index] = {}

    def ends(self, number: int) -> Index:
        """Past the last source with ``u > 0`` of each target of a side."""
        if number not in self._ends:
            self._ends[number] = self.order.side(number)[0].count_short(POSITIVE_SHORTFALL)
        return self._ends[number]

    def window(self, number: int) -> tuple[Index, Index]:
        """First and last source inside the window of each target of a side."""
        if number not in self._windows:
            side, _ = self.order.side(number)
            past = side.count_short(self._corner) if self._corner < np.inf else side.begin()
            self._windows[number] = past, self.ends(number)
        return self._windows[number]

    def value(self) -> float:
        raise NotImplementedError

    def _multipliers(self, number: int) -> Array:
        """``sum_j b_j phi'(u)`` of each target, b the weights of its sources."""
        raise NotImplementedError

    def gradient(self) -> Array:
        return self._by_rows(self._multipliers, -1.0, 1.0)

    def _by_rows(
        self, of_targets: Callable[[int], Array], of_positives: float, of_negatives: float
    ) -> Array:
        """What the targets of either side have times their weights, and times the side's factor."""
        out = np.zeros(self.pairs.n_rows)  # a row without a weighted pair has none
        # The larger class first: its threads share the first touch of the pages.
        sides = [(0, of_positives), (1, of_negatives)]
        sides.sort(key=lambda side: -self.pairs.classes[side[0]].size)
        for number, factor in sides:
            (targets, _), _ = self.order.side(number)
            over_rows(
                partial(_scatter, of_targets(number), targets, factor, out),
                targets.rows.size,
                OPERATIONS_OF_A_WALK * targets.rows.size,
            )
        return out

    @cached_property
    def _curvature(self) -> Array:
        return self._by_rows(self._window_mass, self._height, self._height)

    def _window_mass(self, number: int) -> Array:
        """What the sources in the window of each target weigh."""
        side, _ = self.order.side(number)
        return side.window_sum(*self.window(number), moment=0)

    def curvature(self) -> Array:
        return self._curvature

    @cached_property
    def in_window(self) -> InWindow:
        rows = np.flatnonzero(self._curvature)
        place = np.full(self.pairs.n_rows, -1, dtype=PLACES)
        place[rows] = np.arange(rows.size)

        def side(number: int) -> WindowSide:
            (targets, sources), _ = self.order.side(number)
            low, high = self.window(number)
            held = np.flatnonzero((high > low) & (place[targets.rows] >= 0))
            kept = place[sources.rows] >= 0
            before = np.concatenate([[0], np.cumsum(kept)]).astype(PLACES)
            return WindowSide(
                place[targets.rows[held]], self._height * targets.weights[held],
                place[sources.rows[kept]], sources.inside[kept],
                before[low[held]], before[high[held]],
            )  # fmt: skip

        return InWindow(rows, self._curvature[rows], [side(0), side(1)])

    def product(self, vector: Array) -> Array:
        out, rows = np.zeros(self.pairs.n_rows), self.in_window.rows
        out[rows] = self.in_window.product(self.pairs.centred(vector)[rows])
        return out

    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        """``X' diag(d) X - C - C'``, C gathered from the side with the fewer targets.

        The gathering takes rows of X in the order of their scores. Rows without a pair in the
        window are not read.
        """
        number = int(self.pairs.negatives.size < self.pairs.positives.size)
        (targets, sources), _ = self.order.side(number)
        low, high = self.window(number)
        held = np.flatnonzero(high > low)
        windows = Windows(
            targets.rows[held], targets.weights[held], sources.rows, sources.inside,
            low[held], high[held],
        )  # fmt: skip
        if X.in_order_only:
            of_blocks: Any = X
            return np.asarray(self._height * of_blocks.gram_of_windows(windows))
        cross = X.window_cross(windows)
        few = rows_that_count(X, self._curvature)
        out = X.gram(self._curvature) if few is None else few[0].gram(self._curvature[few[1]])
        cross *= self._height
        out -= cross
        out -= cross.T
        return out

    def hessian_bytes(self, n_columns: int) -> int:
        return gram_bytes(n_columns)

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.pairs, self.order.scores, self.gradient())

    @property
    def _margin_error(self) -> float:
        return margin_rounding(*self.order.extent, self._corner)

    def gradient_error(self, size: float) -> float:
        """The error of the sums, and of the margins where the slope changes with them."""
        of_margin = self._margin_error
        curvature = self._height * self.pairs.share_length  # at most
        if of_margin * curvature > FULL_ACCURACY * size:
            curvature = length(self._curvature)
        return growth(self.pairs.n_rows) * size + of_margin * curvature

    def gradient_row_errors(self, gradient: Array) -> Array:
        """A sum over pairs may be a difference of sums as large as the largest."""
        weight = self.pairs.share
        held = weight > 0
        largest = float(np.max(np.abs(gradient[held]) / weight[held], initial=0.0))
        return growth(self.pairs.n_rows) * largest * weight + self._margin_error * self._curvature

    def steepest(self) -> float:
        return self._height * float(self.pairs.share.max())

    def mass_short(self, least: float) -> float:
        """What the pairs with ``u >= least`` weigh together."""
        side = self.order.from_positives
        return self._over_positives(side.growing_sum(side.count_short(least), 0))

    def _over_positives(self, per_target: Array) -> float:
        return float(self.order.positives.weights @ per_target)


def _scatter(
    values: Array, targets: RankedClass, factor: float, out: Array, start: int, stop: int
) -> None:
    scatter_products(values, targets.weights, factor, targets.rows, start, stop, out)


class SquaredHingePoint(_SortedPoint):
    """``max(0, u)^2``."""

    _height, _corner = 2.0, np.inf

    def value(self) -> float:
        high = self.ends(0)
        return self._over_positives(self.order.from_positives.growing_sum(high, 2))

    def _multipliers(self, number: int) -> Array:
        side, _ = self.order.side(number)
        return 2 * side.growing_sum(self.ends(number), 1)


class HingePoint(_SortedPoint):
    """``max(0, u)``; the slope at the corner counts as zero."""

    _height, _corner = 0.0, np.inf

    def value(self) -> float:
        high = self.ends(0)
        return self._over_positives(self.order.from_positives.growing_sum(high, 1))

    def _multipliers(self, number: int) -> Array:
        side, _ = self.order.side(number)
        return side.growing_sum(self.ends(number), 0)

    def dual_value(self) -> float:
        """The dual term is the multiplier itself: the pairs' mass in violation."""
        return self._over_positives(self._multipliers(0))


class HuberHingePoint(_SortedPoint):
    """The hinge rounded over ``0 < u < width`` (`losses.huber_hinge`)."""

    def __init__(self, order: SortedScores, width: float):
        super().__init__(order)
        self.width = width
        self._height, self._corner = 1 / width, width
        self._sums: dict[int, Array] = {}

    def rounded(self, width: float) -> HuberHingePoint:
        """Another rounding at the same scores."""
        return HuberHingePoint(self.order, width)

    def _walked(self, number: int) -> Array:
        """Loss, slope and mass of the window of each target of a side; its windows are kept."""
        if number not in self._sums:
            (targets, sources), _ = self.order.side(number)
            sums = np.empty((3, targets.rows.size))
            low, high = np.empty((2, targets.rows.size), dtype=np.intp)
            rounded_hinge_walk(
                targets.scores, sources.scores, sources.inside, targets.edges, sources.edges,
                self.width, low, high, np.empty((sources.rows.size + 1, 3)), sums,
            )  # fmt: skip
            self._sums[number], self._windows[number] = sums, (low, high)
        return self._sums[number]

    def window(self, number: int) -> tuple[Index, Index]:
        self._walked(number)
        return self._windows[number]

    def value(self) -> float:
        return self._over_positives(self._walked(0)[0])

    def _multipliers(self, number: int) -> Array:
        return self._walked(number)[1].copy()

    def _window_mass(self, number: int) -> Array:
        return self._walked(number)[2]

    @property
    def outermost(self) -> float:
        """The largest margin of a pair inside the rounding."""
        return 1.0

    def largest_shortfall(self) -> float:
        positives, negatives = self.order.positives, self.order.negatives
        lowest, highest = (
            positives.scores[positives.edges[1:] - 1],
            negatives.scores[negatives.edges[:-1]],
        )
        return 1.0 - float(np.min(lowest - highest))

    def unrounded(self, stretch: float = 1.0) -> HingePoint:
        """The hinge itself at ``stretch`` times these scores."""
        return HingePoint(self.order.stretched(stretch))

    def hinge_value(self, stretch: float = 1.0) -> float:
        targets, sources = self.order.from_positives
        return hinge_total(
            targets.scores, sources.scores, targets.weights, sources.inside, targets.edges,
            sources.edges, stretch,
        )  # fmt: skip


class CentredHingePoint(HuberHingePoint):
    """The hinge rounded over ``|u| < width / 2``, to either side of its corner.

    Its multipliers theta are feasible for the hinge, and at the same point the gap of a pair is
    ``max(0, u) - theta u``. Where margins lie with a density rho around the corner, this costs
    ``rho width^2 / 24``, a quarter of what a rounding over ``0 < u < width`` costs.
    """

    def __init__(self, order: SortedScores, width: float):
        super().__init__(order.lowered(width / 2), width)
        self._own = order

    @classmethod
    def at(cls, loss: HingePoint | HuberHingePoint, width: float) -> CentredHingePoint:
        """At the scores of another point of the hinge, rounded or not."""
        return cls(loss._own if isinstance(loss, CentredHingePoint) else loss.order, width)

    def rounded(self, width: float) -> HuberHingePoint:
        return CentredHingePoint(self._own, width)

    @property
    def outermost(self) -> float:
        return 1 + self.width / 2

    def largest_shortfall(self) -> float:
        return super().largest_shortfall() - self.width / 2

    def unrounded(self, stretch: float = 1.0) -> HingePoint:
        return HingePoint(self._own.stretched(stretch))

    def hinge_value(self, stretch: float = 1.0) -> float:
        return HuberHingePoint(self._own, self.width).hinge_value(stretch)

    def mass_short(self, least: float) -> float:
        return super().mass_short(least + self.width / 2)
