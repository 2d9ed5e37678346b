"""Chebyshev boxes: sums of a smooth kernel k(x - y) over many x and y in linear time.

The score axis is cut into boxes of width 1/4. Inside two boxes at distance d the kernel is
a bivariate Chebyshev polynomial of the two positions, whose coefficients depend on d alone:
a small table, computed once per kernel. The sums then go through box moments
(`box_moments`), box-to-box products (`box_near`, `box_far`) and evaluation at the targets
(`box_evaluate`). The logistic function's poles lie at +-i pi, so each further coefficient
gains a factor of about 50 in boxes this narrow.

Past `REACH` the kernel is a constant, a line and a few exponentials, to 1e-15 of its size
there; exponentials of a difference split into factors, so running sums serve every box
beyond. Tails therefore keep *relative* accuracy: a gradient of 1e-200 is right as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import COEFFICIENTS, add_windows, box_far, box_near, box_near_rows
from everypair.cached import cached_property
from everypair.linalg.row_sums import slices

Array = NDArray[np.float64]
Function = Callable[[NDArray[np.longdouble]], NDArray[np.longdouble]]

REACH = 6.0
TERMS = 6
"""Past the reach ``exp(-|u|) ... exp(-6|u|)`` are enough: the next is below 1e-15 of the first."""

WINDOWS_AT_ONCE = 64
"""Windows of boxes that are written out for one product: they stay in a core's own cache."""


@dataclass(frozen=True)
class BoxGrid:
    """Boxes of a width, a power of two, with so many coefficients each, and how many boxes beside
    its own each one meets by a table."""

    width: float
    coefficients: int
    reach_boxes: int

    # Extended precision, so that the tables carry no rounding of their own.
    @property
    def _angles(self) -> NDArray[np.longdouble]:
        n = self.coefficients
        return (np.arange(n, dtype=np.longdouble) + 0.5) * (np.arccos(np.longdouble(-1)) / n)

    @property
    def _to_coefficients(self) -> NDArray[np.longdouble]:
        """The map from values at the nodes ``cos(angles)`` to coefficients."""
        degrees = np.arange(self.coefficients, dtype=np.longdouble)
        out = (2 / np.longdouble(self.coefficients)) * np.cos(degrees[:, None] * self._angles)
        out[0] /= 2
        return out

    def exponentials(self, sign: int) -> Array:
        """``[m - 1, k]``: the coefficients of ``exp(sign m width t / 2)``."""
        nodes = np.cos(self._angles)
        values = [np.exp(sign * m * self.width / 2 * nodes) for m in range(1, TERMS + 1)]
        return np.array([self._to_coefficients @ v for v in values], dtype=np.float64)

    def table(self, function: Function) -> Array:
        """``[d + reach_boxes, l, k]``: coefficient of T_k(target) T_l(source), d boxes below."""
        nodes = np.cos(self._angles)
        inside = (nodes[:, None] - nodes[None, :]) / 2
        distances = np.arange(-self.reach_boxes, self.reach_boxes + 1, dtype=np.longdouble)
        values = function(self.width * (distances[:, None, None] + inside))
        table = self._to_coefficients @ values @ self._to_coefficients.T
        return np.ascontiguousarray(table.transpose(0, 2, 1), dtype=np.float64)


WIDTH = 0.25
PER_UNIT = 1 / WIDTH
REACH_BOXES = round(REACH / WIDTH)
NARROW = BoxGrid(WIDTH, COEFFICIENTS, REACH_BOXES)


MERGED = 4
MERGED_GRID = BoxGrid(MERGED * WIDTH, 14, REACH_BOXES // MERGED)
"""Where boxes are many, so many at a time are merged into one: a fifth of the products serve as
well. The poles are further off than the wider boxes are wide, so 14 coefficients lose nothing."""

BOXES_TO_MERGE = 80
"""From so many on, merging saves more than it takes: of 96 boxes almost a half."""


WHOLE_BOXES = 64
"""On a grid of up to this many boxes one product, with a matrix for all boxes, is faster than the
near and far sums."""

WHOLE_GRID = BoxGrid(WIDTH, COEFFICIENTS, WHOLE_BOXES - 1)


@cache
def _merging() -> Array:
    """``[(box, k), l]``: the coefficients of T_l of a merged box in each of its boxes."""
    nodes, degrees = np.cos(NARROW._angles), np.arange(MERGED_GRID.coefficients)
    places = [(nodes + 2 * box + 1 - MERGED) / MERGED for box in range(MERGED)]
    values = [np.cos(degrees * np.arccos(place)[:, None]) for place in places]
    return np.concatenate([NARROW._to_coefficients @ v for v in values]).astype(np.float64)


@cache
def _merged_exponentials() -> tuple[Array, Array]:
    return MERGED_GRID.exponentials(+1), MERGED_GRID.exponentials(-1)


@cache
def exponentials(n_coef: int) -> tuple[Array, Array]:
    """The first coefficients of growing and of falling exponentials."""
    up, down = (NARROW.exponentials(sign)[:, :n_coef].copy() for sign in (+1, -1))
    return up, down


def _windows(padded: Array, n: int, size: int) -> Array:
    """``size`` numbers from the beginning of each row on: a view with overlaps; `as_strided` takes
    four times as long to make one."""
    return np.ndarray((n, size), np.float64, padded, strides=padded.strides)


def _as_windows(near: Array) -> tuple[Array, Array]:
    """A table as it meets the sources of ascending boxes, the farthest below first; and as a source
    meets the targets of ascending boxes, side by side."""
    n_coef = near.shape[1]
    return (
        np.ascontiguousarray(near[::-1]).reshape(-1, n_coef),
        np.ascontiguousarray(near.transpose(1, 0, 2)).reshape(n_coef, -1),
    )


def _near_on_grid(moments: Array, wanted: NDArray[np.bool_], table: Array, spread: Array) -> Array:
    """`box_near` on a grid without gaps: a box's neighbours lie one after the other, so each
    field is the product of a window of the moments with the whole table. Where fewer boxes
    hold a source than are wanted, each source fills a window of the fields instead."""
    n_boxes, n_coef = moments.shape
    reach = table.shape[0] // n_coef // 2
    padded = np.zeros((n_boxes + 2 * reach, n_coef))
    inside = slice(reach, reach + n_boxes)
    if n_boxes <= WINDOWS_AT_ONCE:
        padded[inside] = moments
        return np.asarray(_windows(padded, n_boxes, table.shape[0]).copy() @ table)
    targets, sources = np.flatnonzero(wanted), np.flatnonzero(np.any(moments != 0, axis=1))
    if sources.size < targets.size:
        flat = padded.reshape(-1)
        for some in slices(0, sources.size, WINDOWS_AT_ONCE):
            add_windows(n_coef * sources[some], moments[sources[some]] @ spread, flat)
        return padded[inside]
    padded[inside] = moments
    windows, out = _windows(padded, n_boxes, table.shape[0]), np.zeros(moments.shape)
    for some in slices(0, targets.size, WINDOWS_AT_ONCE):
        out[targets[some]] = windows[targets[some]] @ table
    return out


@dataclass(frozen=True)
class BoxKernel:
    """A kernel k(u) of ``u = target - source`` with its behaviour at both ends.

    ``above = (constant, linear, e1, e2, ...)`` describes u -> +inf as
    ``constant + linear u + sum_m e_m exp(-m |u|)`` with `TERMS` terms, ``below`` u -> -inf.
    """

    function: Function
    above: tuple[float, ...]
    below: tuple[float, ...]
    mirror: BoxKernel | None = None
    """The kernel that this one is the reflection of."""

    @cached_property
    def near(self) -> Array:
        """``near[d + REACH_BOXES, l, k]``: coefficient of T_k(target) T_l(source)."""
        return NARROW.table(self.function)

    @cached_property
    def _whole(self) -> Array:
        """``[(a, k), (b, l)]``: from the moments of boxes that follow each other to their fields.
        The first rows and columns serve fewer boxes."""
        if self.mirror is not None:
            return self.mirror._whole.T
        table = WHOLE_GRID.table(self.function)
        by_box, by_source, by_target = table.strides
        boxes, n_coef = WHOLE_BOXES, COEFFICIENTS
        every = np.ndarray(
            (boxes, n_coef, boxes, n_coef), np.float64, table, offset=(boxes - 1) * by_box,
            strides=(by_box, by_target, -by_box, by_source),
        )  # fmt: skip
        return every.reshape(boxes * n_coef, -1)

    @cached_property
    def _own_windows(self) -> tuple[Array, Array]:
        return _as_windows(self.near)

    @cached_property
    def _merged_windows(self) -> tuple[Array, Array]:
        return _as_windows(MERGED_GRID.table(self.function))

    @cached_property
    def far(self) -> Array:
        return np.array([self.above, self.below])

    def fields(self, ids: Array, moments: Array, wanted: NDArray[np.bool_] | None = None) -> Array:
        """Coefficients in each box of the sum over the sources that ``moments`` describes.

        Only boxes ``wanted`` by a target are sure to be filled (all, when None): where targets
        are rare and boxes many, the others would be most of the work.
        """
        if wanted is None:
            wanted = np.ones(ids.size, dtype=bool)
        if ids[-1] - ids[0] == ids.size - 1:
            if ids.size <= WHOLE_BOXES:
                size = moments.size
                return np.asarray(self._whole[:size, :size] @ moments.ravel()).reshape(
                    -1, COEFFICIENTS
                )
            if ids.size >= BOXES_TO_MERGE:
                return self._merged_fields(ids, moments, wanted)
            out = _near_on_grid(moments, wanted, *self._own_windows)
        else:
            out = np.zeros(moments.shape)
            box_near(ids, np.any(moments != 0, axis=1), wanted, moments, self.near, out)
        self._add_far(ids, wanted, moments[:, :, None], out[:, :, None])
        return out

    def _merged_fields(self, ids: Array, moments: Array, wanted: NDArray[np.bool_]) -> Array:
        """`fields` on a grid without gaps, through boxes of `MERGED` of its own."""
        n_boxes, n_coef = moments.shape
        first = np.floor(ids[0] / MERGED)
        skipped = int(ids[0] - MERGED * first)
        n_merged = -(-(skipped + n_boxes) // MERGED)
        own = slice(skipped, skipped + n_boxes)
        padded, asked = np.zeros((MERGED * n_merged, n_coef)), np.zeros(MERGED * n_merged, bool)
        padded[own], asked[own] = moments, wanted
        merged = padded.reshape(n_merged, -1) @ _merging()
        held = np.logical_or.reduce(asked.reshape(n_merged, -1), axis=1)
        out = _near_on_grid(merged, held, *self._merged_windows)
        if n_merged > MERGED_GRID.reach_boxes + 1:
            up, down = _merged_exponentials()
            box_far(
                first + np.arange(n_merged), held, merged[:, :, None], MERGED_GRID.reach_boxes,
                MERGED_GRID.width, self.far, up, down, out[:, :, None],
            )  # fmt: skip
        return np.asarray((out @ _merging().T).reshape(-1, n_coef)[own])

    def row_fields(
        self, ids: Array, held: NDArray[np.bool_], wanted: NDArray[np.bool_], moments: Array
    ) -> Array:
        """The same for many columns of ``moments[box, l, column]``.

        ``held``: boxes with a source; ``wanted``: boxes where the fields are needed.
        Fewer moments than `COEFFICIENTS` give a rougher sum: 4 are right to about 1e-5.
        """
        n_boxes, n_coef, n_columns = moments.shape
        if n_boxes <= WHOLE_BOXES and ids[-1] - ids[0] == n_boxes - 1:
            size, every = n_boxes * n_coef, (WHOLE_BOXES, COEFFICIENTS)
            some = self._whole.reshape(*every, *every)[:n_boxes, :n_coef, :n_boxes, :n_coef]
            return (some.reshape(size, size) @ moments.reshape(size, n_columns)).reshape(
                moments.shape
            )
        near = np.ascontiguousarray(self.near[:, :n_coef, :n_coef])
        out = np.zeros_like(moments)
        box_near_rows(ids, held, wanted, moments, near, out)
        self._add_far(ids, wanted, moments, out)
        return out

    def _add_far(self, ids: Array, wanted: NDArray[np.bool_], moments: Array, out: Array) -> None:
        if ids[-1] - ids[0] > REACH_BOXES:
            up, down = exponentials(moments.shape[1])
            box_far(ids, wanted, moments, REACH_BOXES, WIDTH, self.far, up, down, out)

    def reflected(self) -> BoxKernel:
        """k(-u): the same pair kernel seen from the sources."""

        def mirror(end: tuple[float, ...]) -> tuple[float, ...]:
            constant, linear, *exponentials = end
            return constant, -linear, *exponentials

        function = self.function
        return BoxKernel(
            lambda u: function(-u), mirror(self.below), mirror(self.above), mirror=self
        )
