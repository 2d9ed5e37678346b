"""The order of many scores, faster than by `numpy.argsort`, and pairs counted along it.

NumPy sorts integers faster than it finds the order of floating-point numbers. So the leading bits
of each score and its row go into one integer; these are sorted, and where the bits left out matter,
which is rare, neighbours are put right afterwards. The scores are shared out to buckets first, as a
sample of them suggests: each bucket is sorted on its own, inside a core's cache, on any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import (
    count_buckets,
    doubled_wins,
    mend_order,
    scatter_keys,
    scatter_values,
    sort_groups,
)
from everypair.linalg.few_rows import FEW_ROWS, doubled_wins_of_few
from everypair.linalg.threads import over_rows, used_threads

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ROWS_FOR_KEYS = 10_000
"""Fewer are sorted directly."""

MOST_BITS = 28
"""Of a row's number. More would leave the scores too few, and most neighbours to be put right."""

MOST_MOVES = 1
"""Putting right may move each number of a bucket so often on average; beyond that it is sorted
directly, and the packing was for nothing."""

SAMPLED_VALUES = 1000
"""Values amid which the centre of all is looked for, and the ends of buckets."""

ROWS_OF_A_BUCKET, MOST_BUCKETS = 2**15, 2**8
"""About as many are sorted together; a bucket's number takes one byte."""

CELLS, SHARE_BEYOND = 2**12, 1 / 64
"""Of the even grid that buckets are made of, and the share of the values beyond either end."""

OPERATIONS_TO_SHARE_OUT, OPERATIONS_TO_SORT = 4, 40
"""Of a row, roughly."""


def descending(values: Array, rows: Index) -> tuple[Index, Array]:
    """These rows by their values, the largest first, and the values in that order.

    The rows are given ascending, their values must be finite; equal ones come in any order.
    """
    n = rows.size
    if n < ROWS_FOR_KEYS or (n_low := int(rows[-1]).bit_length()) > MOST_BITS:
        order = rows[np.argsort(values[rows])[::-1]]
        return order, values[order]
    seen = _sample(values, rows)
    # Distances from amid the values lose fewer bits than these; rounding keeps their order.
    centre = seen[seen.size // 2]
    keys, order, ranked = np.empty(n, np.uint64), np.empty(n, np.intp), np.empty(n)
    edges = _Shares(values, rows, _Buckets(seen, n)).scatter(
        lambda start, stop, buckets, places: scatter_keys(
            values, rows, buckets, start, stop, centre, n_low, places, keys
        )
    )

    def sort(first: int, last: int) -> None:
        for bucket in range(first, last):
            some = slice(edges[bucket], edges[bucket + 1])
            own = keys[some]
            own.sort()
            moves = MOST_MOVES * own.size
            if not mend_order(values, own, n_low, moves, order[some], ranked[some]):
                these = (own & np.uint64(2**n_low - 1)).astype(np.intp)
                order[some] = these[np.argsort(values[these])[::-1]]
                ranked[some] = values[order[some]]

    over_rows(sort, edges.size - 1, OPERATIONS_TO_SORT * n, finely=True)
    return order, ranked


def pairs_won_twice(scores: Array, positives: Index, negatives: Index) -> int:
    """Twice the pairs won plus the pairs tied; the rows of either class are given.

    Both classes are shared out to the same buckets: pairs of different ones are decided.
    """
    larger = max(positives, negatives, key=np.size)
    if _number_of_buckets(larger.size) == 1:
        own, others = np.sort(scores[positives]), np.sort(scores[negatives])
        few = own.size + others.size <= FEW_ROWS
        return doubled_wins_of_few(own, others) if few else int(doubled_wins(own, others))
    buckets = _Buckets(_sample(scores, larger), larger.size)
    values, edges = [], []
    for rows in (positives, negatives):
        out = np.empty(rows.size)
        values.append(out)
        edges.append(
            _Shares(scores, rows, buckets).scatter(
                lambda start, stop, own, places, rows=rows, out=out: scatter_values(
                    scores, rows, own, start, stop, places, out
                )
            )
        )

    def count(first: int, last: int) -> int:
        total = 0
        for bucket in range(first, last):
            own, others = (
                of_class[of_buckets[bucket] : of_buckets[bucket + 1]]
                for of_class, of_buckets in zip(values, edges, strict=True)
            )
            own.sort()
            others.sort()
            below = negatives.size - int(edges[1][bucket + 1])
            total += int(doubled_wins(own, others)) + 2 * own.size * below
        return total

    n_rows = positives.size + negatives.size
    return sum(over_rows(count, buckets.n_buckets, OPERATIONS_TO_SORT * n_rows, finely=True))


def _sample(values: Array, rows: Index) -> Array:
    """Some of the values, ascending."""
    return np.sort(values[rows[:: max(1, rows.size // SAMPLED_VALUES)]])


def _number_of_buckets(n_rows: int) -> int:
    # One thread alone sorts all in less time than it shares them out.
    wanted = n_rows // ROWS_OF_A_BUCKET
    return max(1, min(MOST_BUCKETS, wanted)) if wanted > 1 and used_threads() > 1 else 1


class _Buckets:
    """Cells of an even grid joined to buckets, each with about as many values of a sample."""

    def __init__(self, seen: Array, n_rows: int):
        self.n_buckets = _number_of_buckets(n_rows)
        if self.n_buckets == 1:
            return
        beyond = int(SHARE_BEYOND * seen.size)
        self.origin, end = float(seen[beyond]), float(seen[-1 - beyond])
        with np.errstate(over="ignore", divide="ignore"):
            per_unit = float(np.divide(CELLS, end - self.origin))
        self.per_unit = per_unit if np.isfinite(per_unit) else 0.0  # all in one cell
        lower_ends = self.origin + np.arange(CELLS) * ((end - self.origin) / CELLS)
        below = np.searchsorted(seen, lower_ends)
        below[0] = 0
        table = self.n_buckets - 1 - below * self.n_buckets // (seen.size + 1)
        self.table = table.astype(np.uint8)


class _Share(NamedTuple):
    """A block of the rows, and how many of it go to each bucket."""

    start: int
    stop: int
    counts: Index


class _Shares:
    """Rows shared out to buckets of values that descend, equal values to the same."""

    def __init__(self, values: Array, rows: Index, buckets: _Buckets):
        self._operations = OPERATIONS_TO_SHARE_OUT * rows.size
        self._buckets = np.zeros(rows.size, np.uint8)
        if buckets.n_buckets == 1:
            self._parts = [_Share(0, rows.size, np.array([rows.size]))]
            return
        grid = buckets.origin, buckets.per_unit, buckets.table

        def part(start: int, stop: int) -> _Share:
            counts = np.zeros(buckets.n_buckets, np.intp)
            count_buckets(values, rows, *grid, start, stop, self._buckets, counts)
            return _Share(start, stop, counts)

        self._parts = over_rows(part, rows.size, self._operations, finely=True)

    def scatter(self, place: Callable[..., Any]) -> Index:
        """Where each bucket begins, and the end, after ``place(start, stop, buckets, places)`` of
        each block: ``places`` has the next place of each bucket."""
        counts = np.stack([part.counts for part in self._parts], axis=1)
        ends = np.cumsum(counts.ravel()).reshape(counts.shape)
        places = np.ascontiguousarray((ends - counts).T)

        def part(first: int, last: int) -> None:
            for k in range(first, last):
                share = self._parts[k]
                place(share.start, share.stop, self._buckets, places[k])

        over_rows(part, len(self._parts), self._operations, finely=True)
        return np.concatenate([[0], ends[:, -1]])


def descending_in_groups(values: Array, rows: Index, edges: Index) -> tuple[Index, Array]:
    """The rows of each group by their values, the largest first, and the values in that order.

    Group g has the rows ``edges[g]:edges[g + 1]``, ascending. Large groups are sorted one by one.
    """
    order, ranked = rows.copy(), values[rows]
    sizes = np.diff(edges)
    for g in np.flatnonzero(sizes >= ROWS_FOR_KEYS):
        group = slice(edges[g], edges[g + 1])
        order[group], ranked[group] = descending(values, rows[group])

    def sort(first: int, last: int) -> None:
        sort_groups(ranked, order, edges[first : last + 1], ROWS_FOR_KEYS)

    over_rows(sort, sizes.size, OPERATIONS_TO_SORT * rows.size, finely=True)
    return order, ranked
