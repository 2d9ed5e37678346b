"""Models judged by a measure of the operating point, on rows that they did not see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.estimators._held_out import HeldOut
from everypair.measures.operating import OperatingMeasure

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]
Splits = Sequence[Sequence[tuple[Index, Index]]]

LEVEL = 0.95
DRAWS = 400
"""Bootstrap samples."""


@dataclass(frozen=True)
class Judged:
    """The measure of one model over the folds of all repeats; higher is better."""

    value: float
    by_fold: Array  # (repeats * folds,)
    drawn: Array  # (DRAWS,), the same samples for all models
    called: Bool  # in the first repeat, by the cut that is best on the other folds

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """NaN where every sample has the same value: that is no certainty."""
        if self.drawn.min() == self.drawn.max():
            return np.nan, np.nan
        tail = (1 - level) / 2
        low, high = np.quantile(self.drawn, [tail, 1 - tail])
        return min(float(low), self.value), max(float(high), self.value)


@dataclass(frozen=True)
class _CutAt(HeldOut):
    """Scores with a cut that is given."""

    cut: float = 0.0

    def predicted(self) -> Bool:
        return self.scores > self.cut


@dataclass(frozen=True)
class Difference:
    """Of two models' measures, with its interval and p."""

    difference: float
    low: float
    high: float
    p: float


def judge(
    measure: OperatingMeasure,
    y: Bool,
    splits: Splits,
    scores: Mapping[str, Sequence[Array]],
    weight: Array | None = None,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
    cut: float | None = None,
) -> dict[str, Judged]:
    """``scores[name][r]`` are the standardised held-out scores of repeat r.

    A free cut comes from the other folds of the same repeat, unless it is given; a quota is met on
    each fold. The value is the mean over the repeats. Rows are drawn within their class, or whole
    groups; the cuts stay as they are.
    """
    mass = np.ones(y.size) if weight is None else weight
    kind = HeldOut if cut is None else partial(_CutAt, cut=cut)
    held = {
        name: [
            kind(measure, y, mass, list(folds), of_repeat)
            for folds, of_repeat in zip(splits, each, strict=True)
        ]
        for name, each in scores.items()
    }

    def values(counts: Any) -> list[float]:
        return [
            float(np.mean([one.value(weight=counts * mass) for one in each]))
            for each in held.values()
        ]

    drawn = np.array([values(counts) for counts in _samples(y, mass, groups, seed)])
    return {
        name: Judged(value, _by_fold(each), drawn[:, place], each[0].predicted())
        for place, ((name, each), value) in enumerate(zip(held.items(), values(1.0), strict=True))
    }


def _by_fold(repeats: Sequence[HeldOut]) -> Array:
    out = []
    for held in repeats:
        for k, fold in enumerate(held.folds):
            ready = held.prepared
            of_fold = ready if isinstance(ready, np.ndarray) else [ready[k]]
            out.append(held.on([fold]).value(of_fold))
    return np.array(out)


def _samples(
    y: Bool, mass: Array, groups: NDArray[Any] | None, seed: int
) -> Iterator[NDArray[np.intp]]:
    """How often each row is drawn, in samples with both classes."""
    rng = np.random.default_rng(seed)
    if groups is None:
        units, parts = np.arange(y.size), [np.flatnonzero(y), np.flatnonzero(~y)]
    else:
        units = np.unique(groups, return_inverse=True)[1]
        parts = [np.arange(units.max() + 1)]
    n_drawn = 0
    while n_drawn < DRAWS:
        counts = np.zeros(units.max() + 1, dtype=np.intp)
        for members in parts:
            drawn = rng.integers(members.size, size=members.size)
            counts[members] = np.bincount(drawn, minlength=members.size)
        of_rows = counts[units]
        weighs = of_rows * mass > 0
        if np.any(weighs & y) and np.any(weighs & ~y):
            n_drawn += 1
            yield of_rows


def difference(
    one: Judged, other: Judged, n_repeats: int, n_units: int, n_rivals: int = 1
) -> Difference:
    """``one.value - other.value``, by Student's t on the bootstrap's standard error.

        se^2 = (2 + (1 - 1/R) / 2) var(drawn difference) + D^2 / n_units^2

    The bootstrap draws test rows and keeps the models. Equally good models differ by their
    training rows, too, and these are as many rows again: the factor is that of
    `everypair.metrics.held_out.held_out_difference`, whose correction for the choice of the best
    of ``n_rivals`` baselines is used as well. The last term is one row that takes the difference D
    away: it matters where all samples are alike.

    Parameters
    ----------
    n_units : int
        Rows of the rarer class, or groups.
    """
    from scipy.special import stdtr, stdtrit

    gap = one.value - other.value
    spread = float(np.var(one.drawn - other.drawn, ddof=1))
    error = float(np.sqrt((2 + (1 - 1 / n_repeats) / 2) * spread + (gap / n_units) ** 2))
    if error == 0:
        return Difference(gap, gap, gap, 1.0)
    freedom = max(1, n_units - 1)
    tries = n_rivals if gap < 0 else 1
    p = min(1.0, tries * 2 * float(stdtr(freedom, -abs(gap) / error)))
    tail = (1 - LEVEL) / 2
    below, above = (error * float(stdtrit(freedom, 1 - t)) for t in (tail, tail / n_rivals))
    return Difference(gap, gap - below, gap + above, p)
