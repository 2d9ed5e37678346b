"""Sums over pairs in windows, of rows in blocks: the two rows of a pair may lie in two blocks.

    H = sum_k a_k sum_l b_l (x_k - x_l) (x_k - x_l)',   l in the window of target k

Targets and sources come in the order of their scores. Neighbours go into a box, and what the pairs
of two boxes weigh together is shared out evenly among them. So H stays a sum of squares, one pass
over the rows makes it, and it is exact where every row has a box of its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.linalg.dense import DenseMatrix
from everypair.linalg.row_sums import BoxedRows, Windows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BOX_NUMBERS, LEAST_BOXES = 2**16, 256
"""Numbers that the boxes of a class may hold, half a megabyte, and boxes that it has at least."""


class Part(NamedTuple):
    """Of the rows of one block: what each weighs, and its box."""

    weights: Array
    boxes: NDArray[np.int32]
    """A target in box k has k, a source ``-1 - k``; a row in no window weighs nothing."""


class WindowBoxes:
    """The boxes of targets and sources, and what their pairs weigh."""

    def __init__(self, windows: Windows, n_columns: int):
        most = max(LEAST_BOXES, BOX_NUMBERS // max(1, n_columns))
        targets, low, high = windows.targets, windows.low, windows.high
        first, last = (int(low.min()), int(high.max())) if low.size else (0, 0)
        self._targets, self._sources = targets, windows.sources[first:last]
        self._a, self._b = windows.target_weights, windows.source_weights[first:last]
        self.of_targets = _boxes(targets.size, most)
        self.of_sources = _boxes(last - first, most)
        # The sources of a window: all that come before its end, less all before its begin.
        n_targets, n_sources = self.n_boxes
        ends = np.append(np.searchsorted(self.of_sources, np.arange(n_sources)), last - first)
        reached = np.append(0.0, np.cumsum(self._b))
        in_box = np.diff(reached[ends])
        rows, places, shares, signs = [], [], [], []
        for at, sign in ((high - first, 1.0), (low - first, -1.0)):
            box = np.clip(np.searchsorted(ends, at, side="right") - 1, 0, max(0, n_sources - 1))
            inside = reached[at] - reached[ends[box]]
            share = np.divide(inside, in_box[box], out=np.zeros(at.size), where=in_box[box] > 0)
            rows.append(self.of_targets)
            places.append(box)
            signs.append(sign * self._a)
            shares.append(sign * self._a * share)
        where = np.concatenate(rows), np.concatenate(places)
        shape = n_targets, n_sources
        self._before = sparse.csr_array((np.concatenate(signs), where), shape)
        self._amid = sparse.csr_array((np.concatenate(shares), where), shape)
        self._weight = np.bincount(self.of_targets, self._a, n_targets)
        of_targets = self._means(self._in_windows(in_box[:, None]))[:, 0]
        ahead = np.asarray(self._before.sum(axis=0))
        of_sources = np.cumsum(ahead[::-1])[::-1] - ahead + np.asarray(self._amid.sum(axis=0))
        self.factors = of_targets, of_sources

    @property
    def n_boxes(self) -> tuple[int, int]:
        """Of the targets and of the sources."""
        n_targets, n_sources = (
            int(of[-1]) + 1 if of.size else 0 for of in (self.of_targets, self.of_sources)
        )
        return n_targets, n_sources

    def _in_windows(self, of_boxes: Array) -> Array:
        """Of each box of targets the sum of ``of_boxes`` over the windows."""
        before = np.cumsum(of_boxes, axis=0) - of_boxes
        found: Array = self._before @ before + self._amid @ of_boxes
        return found

    def _means(self, sums: Array) -> Array:
        weight = self._weight[:, None]
        return np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)

    def parts(self, starts: Index) -> list[Part]:
        """Of each block, whose first rows are ``starts``."""
        weights, boxes = np.zeros(starts[-1]), np.zeros(starts[-1], dtype=np.int32)
        weights[self._targets], boxes[self._targets] = self._a, self.of_targets
        weights[self._sources], boxes[self._sources] = self._b, -1 - self.of_sources
        inner = starts[1:-1]
        return list(map(Part, np.split(weights, inner), np.split(boxes, inner)))

    def cross(self, of_targets: Array, of_sources: Array) -> Array:
        """``sum_k a_k x_k (sum_l b_l x_l)'`` from the sums of ``a x`` and ``b x`` in boxes."""
        return np.asarray(self._means(of_targets).T @ self._in_windows(of_sources))


def _boxes(n_rows: int, most: int) -> Index:
    """The box of each of so many rows in order: equally many in each, but for one."""
    n_boxes = min(n_rows, most)
    return np.arange(n_rows) * n_boxes // max(1, n_rows)


def sums_in_boxes(factors: tuple[Array, Array], X: DenseMatrix, part: Part) -> tuple[Array, Array]:
    """The Gram matrix of a block under the curvature, and the sums of its rows in boxes."""
    is_target = part.boxes >= 0
    boxes = np.where(is_target, part.boxes, -1 - part.boxes)
    n_boxes = max(1, *(of.size for of in factors))
    of_targets, of_sources = (np.append(of, np.zeros(n_boxes - of.size)) for of in factors)
    curvature = part.weights * np.where(is_target, of_targets[boxes], of_sources[boxes])
    # One term: where a row lies in its box does not matter, so that any score will do.
    boxed = BoxedRows(part.weights, part.weights, is_target, boxes, 1.0, n_boxes)
    gram, sums = X.gram_and_boxes(curvature, boxed, 1, rough=False)
    return gram, sums[:, :, 0]


def windows_of_blocks(windows: Windows, starts: Index) -> list[Windows]:
    """Of each block, where every window lies in the block of its target.

    Targets and sources come block by block.
    """
    found = []
    for begin, end in pairwise(starts.tolist()):
        mine = np.flatnonzero((windows.targets >= begin) & (windows.targets < end))
        theirs = np.flatnonzero((windows.sources >= begin) & (windows.sources < end))
        first = int(theirs[0]) if theirs.size else 0
        found.append(
            Windows(
                windows.targets[mine] - begin, windows.target_weights[mine],
                windows.sources[theirs] - begin, windows.source_weights[theirs],
                windows.low[mine] - first, windows.high[mine] - first,
            )
        )  # fmt: skip
    return found


def gram_of_windows(X: DenseMatrix, windows: Windows) -> Array:
    """H of one block that holds both rows of every pair."""
    reached = np.append(0.0, np.cumsum(windows.source_weights))
    curvature = np.zeros(X.shape[0])
    of_targets = reached[windows.high] - reached[windows.low]
    np.add.at(curvature, windows.targets, windows.target_weights * of_targets)
    steps = np.zeros(windows.sources.size + 1)
    np.add.at(steps, windows.low, windows.target_weights)
    np.subtract.at(steps, windows.high, windows.target_weights)
    curvature[windows.sources] += windows.source_weights * np.cumsum(steps)[:-1]
    cross = X.window_cross(windows)
    return np.asarray(X.gram(np.maximum(curvature, 0.0)) - cross - cross.T)
