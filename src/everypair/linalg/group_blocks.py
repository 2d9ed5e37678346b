"""Rows of X group by group, written out a block at a time, for Hessians over groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from everypair.linalg.matrix import Matrix
from everypair.linalg.row_sums import BLOCK_BYTES, slices
from everypair.linalg.threads import one_blas_thread, over_rows
from everypair.within import PairedGroups

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class GroupBlocks:
    """The rows of some groups ``first:last`` of X, each less one row of its own group.

    No pair sees that row, but rounding does: a column that is constant inside the groups, such as
    the age of a user, is exactly zero here.
    """

    def __init__(self, X: Matrix, paired: PairedGroups, first: int, last: int):
        self._X, self._paired, self.first, self.last = X, paired, first, last
        self._origins = X.written_out(paired.classes[0][paired.edges[0][first:last]])

    def part(self, number: int) -> slice:
        """The places of the rows of a class in ``paired.classes[number]``."""
        edges = self._paired.edges[number]
        return slice(int(edges[self.first]), int(edges[self.last]))

    def edges(self, number: int) -> Index:
        """Where each group begins in a class, counted from the first."""
        edges = self._paired.edges[number][self.first : self.last + 1]
        return edges - edges[0]

    def rows(self, number: int, part: slice) -> Array:
        """These rows of a class, less the origin of their group."""
        edges = self._paired.edges[number]
        block = self._X.written_out(self._paired.classes[number][part])
        if self.last - self.first == 1:
            block -= self._origins
        else:
            places = np.arange(part.start, part.stop)
            groups = np.searchsorted(edges, places, side="right") - 1 - self.first
            block -= self._origins[groups]
        return block

    def blocks(self, number: int) -> Iterator[tuple[slice, Array]]:
        """The rows of a class in pieces that stay in the cache, with their places."""
        part = self.part(number)
        for some in slices(part.start, part.stop, rows_in_a_block(self._X)):
            yield some, self.rows(number, some)

    def add_sums(self, number: int, some: slice, block: Array, out: Array) -> None:
        """Add the rows of each group to ``out[group]``; ``some`` are the places of the block."""
        edges = self._paired.edges[number]
        begins = np.searchsorted(edges, [some.start, some.stop - 1], side="right") - 1
        inner = edges[begins[0] + 1 : begins[1] + 1] - some.start
        sums = np.add.reduceat(block, np.concatenate([[0], inner]), axis=0)
        out[begins[0] - self.first : begins[1] - self.first + 1] += sums


def rows_in_a_block(X: Matrix) -> int:
    return max(64, BLOCK_BYTES // (8 * max(1, X.shape[1])))


def sums_over_groups(
    X: Matrix, paired: PairedGroups, shapes: list[tuple[int, ...]], add: Callable[..., None]
) -> list[Array]:
    """Arrays of these shapes after ``add(blocks, *arrays)`` on some groups at a time.

    The groups are shared out over threads, each with arrays of its own, which are added up.
    """
    sizes = paired.edges[0] + paired.edges[1]
    most = rows_in_a_block(X)

    def part(start: int, stop: int) -> list[Array]:
        sums = [np.zeros(shape) for shape in shapes]
        # By rows, not by groups: one group may have most of them.
        first, end = np.searchsorted(sizes[:-1], [start, stop])
        while first < end:
            last = int(np.searchsorted(sizes, sizes[first] + most, side="right")) - 1
            last = min(max(last, first + 1), end)
            add(GroupBlocks(X, paired, int(first), int(last)), *sums)
            first = last
        return sums

    n_rows = int(sizes[-1])
    with one_blas_thread():
        parts = over_rows(part, n_rows, n_rows * X.shape[1] ** 2)
    return [sum(arrays[1:], arrays[0]) for arrays in zip(*parts, strict=True)]
