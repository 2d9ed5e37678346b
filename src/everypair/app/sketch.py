"""What a pass keeps of a column: moments and a median of numbers, counts of words.

All of them can be merged: a part per piece, in any order.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everypair.app.column_kinds import not_too_large

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]

KEPT = 2**15
"""Values of a sketch that are kept at each weight; as many are kept exactly."""

MOST_WORDS = 2**18
"""Different words whose counts are kept; of more, the rarest are forgotten."""


class Quantiles:
    """A sketch of quantiles that can be merged: Karnin, Lang & Liberty 2016, not at random.

    Where a level is full, every second of its sorted values goes up with twice the weight. Up to
    `KEPT` values it is exact. A rank is off by at most ``levels / KEPT`` of the rows, and there are
    ``log2(n / KEPT)`` levels: less than one in a thousand for 10^9 rows.
    """

    def __init__(self) -> None:
        self._levels: list[Array] = [np.empty(0)]
        self._second = False

    def add(self, values: Array) -> None:
        self._levels[0] = np.concatenate([self._levels[0], values])
        self._settle()

    def merge(self, other: Quantiles) -> None:
        self._levels += [np.empty(0)] * (len(other._levels) - len(self._levels))
        for k, values in enumerate(other._levels):
            self._levels[k] = np.concatenate([self._levels[k], values])
        self._settle()

    def _settle(self) -> None:
        level = 0
        while level < len(self._levels):
            values = self._levels[level]
            if values.size > KEPT:
                values = np.sort(values)
                even = values.size // 2 * 2
                up = values[self._second : even : 2]
                self._second = not self._second
                self._levels[level] = values[even:]
                if level + 1 == len(self._levels):
                    self._levels.append(np.empty(0))
                self._levels[level + 1] = np.concatenate([self._levels[level + 1], up])
            level += 1

    def median(self) -> float:
        if len(self._levels) == 1:
            return float(np.median(self._levels[0]))
        values = np.concatenate(self._levels)
        weight = np.repeat(2.0 ** np.arange(len(self._levels)), [len(v) for v in self._levels])
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(weight[order])
        return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


class Moments:
    """Of numbers, NaN where missing: how many, mean, scatter, extent and median."""

    def __init__(self) -> None:
        self.n = self.n_missing = 0
        self.mean = self.scatter = 0.0
        self.low, self.high = np.inf, -np.inf
        self.quantiles = Quantiles()

    def add(self, values: Array) -> None:
        missing = np.isnan(values)
        known = values[~missing]
        self.n_missing += values.size - known.size
        if known.size:
            mean = float(known.mean())
            self._join(known.size, mean, float(np.sum((known - mean) ** 2)))
            self.low = min(self.low, float(known.min()))
            self.high = max(self.high, float(known.max()))
            self.quantiles.add(known)

    def merge(self, other: Moments) -> None:
        self.n_missing += other.n_missing
        if other.n:
            self._join(other.n, other.mean, other.scatter)
            self.low, self.high = min(self.low, other.low), max(self.high, other.high)
            self.quantiles.merge(other.quantiles)

    def _join(self, n: int, mean: float, scatter: float) -> None:
        """Chan, Golub & LeVeque 1983."""
        apart, whole = mean - self.mean, self.n + n
        self.scatter += scatter + apart**2 * (self.n * n / whole)
        self.mean += apart * (n / whole)
        self.n = whole

    @property
    def varies(self) -> bool:
        return self.n > 0 and (self.n_missing > 0 or self.low < self.high)

    def centre(self, name: str) -> tuple[float, float, float, bool]:
        """As `column_kinds.centre`: with the median filled in for what is missing."""
        with not_too_large(name):
            fill = self.quantiles.median()
            n = self.n + self.n_missing
            apart = fill - self.mean
            mean = self.mean + apart * (self.n_missing / n)
            scatter = self.scatter + apart**2 * (self.n * self.n_missing / n)
            scale = float(np.sqrt(np.float64(scatter) / n))
        return fill, mean, scale if scale > 0 else 1.0, self.n_missing > 0


class Values:
    """How often each word occurs."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self.n_rows = self.n_missing = 0
        self.forgot = False

    def add(self, column: pa.ChunkedArray) -> None:
        import pyarrow.compute as pc

        self.n_rows += len(column)
        self.n_missing += column.null_count
        found = pc.value_counts(column)
        words, counts = found.field("values").to_pylist(), found.field("counts").to_pylist()
        for word, count in zip(words, counts, strict=True):
            if word is not None:
                self._counts[word] += count
        self._settle()

    def merge(self, other: Values) -> None:
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        self.forgot |= other.forgot
        self._counts.update(other._counts)
        self._settle()

    def _settle(self) -> None:
        if len(self._counts) > MOST_WORDS:
            self.forgot = True
            self._counts = Counter(dict(self._counts.most_common(MOST_WORDS // 2)))

    @property
    def n_words(self) -> int:
        """Different words; where some were forgotten, at least so many."""
        return max(len(self._counts), MOST_WORDS) if self.forgot else len(self._counts)

    def known(self) -> list[tuple[int, str]]:
        return [(count, word) for word, count in self._counts.items()]
