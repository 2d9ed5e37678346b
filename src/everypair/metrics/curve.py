"""The ROC curve as counts: the weight of both classes above every cut of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.rows import Array, Rows

COMPILED_ROWS = 20_000
"""Rows from which on compiled code is worth its loading."""


@dataclass(frozen=True)
class Curve:
    """For each distinct score, descending: weight of both classes at or above it.

    ``tp`` and ``fp`` begin with 0 (nothing above the cut), so they are one longer than
    ``levels``. Without weights they are counts, exact in floating point. With weights each is
    in units of its class (`Rows`), and one unit of ``fp`` weighs as much as ``skew`` of ``tp``.
    """

    levels: Array
    tp: Array
    fp: Array
    skew: float = 1.0

    @classmethod
    def of(cls, rows: Rows, scores: Array) -> Curve:
        if rows.weight is None and scores.size >= COMPILED_ROWS:
            return cls._of_many(rows, scores)
        order = np.argsort(scores)[::-1]
        ranked = scores[order]
        ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        of_positives = rows.positive[order].astype(np.float64)
        of_negatives = 1 - of_positives
        if rows.weight is not None:
            weight = rows.weight[order]
            of_positives *= weight
            of_negatives *= weight
        tp = np.concatenate([[0.0], np.cumsum(of_positives)[ends]])
        fp = np.concatenate([[0.0], np.cumsum(of_negatives)[ends]])
        return cls(ranked[ends], tp, fp, rows.skew)

    @classmethod
    def _of_many(cls, rows: Rows, scores: Array) -> Curve:
        """Without weights, from the sorted scores of each class, which take less than an order."""
        from everypair._compiled import merge_levels

        levels, tp, fp = (np.empty(scores.size + more) for more in (0, 1, 1))
        positives, negatives = np.sort(scores[rows.positive]), np.sort(scores[~rows.positive])
        n_levels = merge_levels(positives, negatives, levels, tp, fp)
        return cls(levels[:n_levels], tp[: n_levels + 1], fp[: n_levels + 1], rows.skew)

    @property
    def tpr(self) -> Array:
        return self.tp / self.tp[-1]

    @property
    def fpr(self) -> Array:
        return self.fp / self.fp[-1]

    def cuts(self, dtype: Any = np.float64) -> Array:
        """Thresholds t, for ``score > t``, halfway between neighbouring scores, descending.

        They are numbers of the scores' own ``dtype``: NumPy rounds a threshold to float32 before
        it compares float32 scores with it. The outermost lie a little outside the scores, so that
        a score computed again, and rounded otherwise, falls on the same side.
        """
        return _cuts(self.levels, dtype)

    def cut(self, number: int, dtype: Any = np.float64) -> float:
        """One of the `cuts`."""
        if 0 < number < self.levels.size:
            return float(_cuts(self.levels[number - 1 : number + 1], dtype)[1])
        return float(_cuts(self.levels[[0, -1]], dtype)[-1 if number else 0])


def _cuts(exact: Array, dtype: Any) -> Array:
    levels = exact.astype(dtype)
    between = levels[1:] / 2 + levels[:-1] / 2
    # Halfway may round up to the higher score, which would then fall below the cut.
    between = np.where(between < levels[:-1], between, levels[1:])
    top, bottom = exact[0], exact[-1]
    margin = 1e-9 * top - 1e-9 * bottom + 1e-9 * max(abs(top), abs(bottom))
    with np.errstate(over="ignore"):
        outside = np.array([top + margin, bottom - margin]).astype(dtype)
        highest = max(outside[0], np.nextafter(levels[0], levels.dtype.type(np.inf)))
        lowest = min(outside[1], np.nextafter(levels[-1], levels.dtype.type(-np.inf)))
    return np.concatenate([[highest], between, [lowest]]).astype(np.float64)


def precision_of(y_score: ArrayLike) -> Any:
    """The type in which these scores are compared with a number."""
    given = np.asarray(y_score).dtype
    return given if given.kind == "f" and given.itemsize < 8 else np.float64


def tpr_at(fpr: Array, tpr: Array, wanted: Array) -> Array:
    """Height of the curve, straight between its points; the top of a vertical step counts."""
    last = np.searchsorted(fpr, wanted, side="right") - 1
    after = np.minimum(last + 1, fpr.size - 1)
    run = fpr[after] - fpr[last]
    part = np.where(run > 0, (wanted - fpr[last]) / np.where(run > 0, run, 1), 0)
    return np.asarray(tpr[last] + part * (tpr[after] - tpr[last]))


def area_between(fpr: Array, tpr: Array, low: float, high: float) -> float:
    """Area under the curve from ``low`` to ``high``: trapezoids, cut at the two ends."""
    left, right = np.maximum(fpr[:-1], low), np.minimum(fpr[1:], high)
    inside = right > left
    left, right = left[inside], right[inside]
    start, foot, rise = fpr[:-1][inside], tpr[:-1][inside], np.diff(tpr)[inside]
    slope = rise / (fpr[1:][inside] - start)
    middle = foot + slope * ((left + right) / 2 - start)
    return float(np.sum((right - left) * middle))


def mcclish(area: float, low: float, high: float) -> float:
    """``(1 + (A - A_chance) / (A_max - A_chance)) / 2`` (McClish 1989): chance 1/2, perfect 1."""
    chance, best = (high**2 - low**2) / 2, high - low
    return (1 + (area - chance) / (best - chance)) / 2


def check_range(min_fpr: float, max_fpr: float | None) -> tuple[float, float]:
    high = 1.0 if max_fpr is None else max_fpr
    if not (isinstance(min_fpr, Real) and isinstance(high, Real) and 0 <= min_fpr < high <= 1):
        raise ValueError(
            f"min_fpr={min_fpr!r}, max_fpr={max_fpr!r} is not a range of false positive rates: "
            "use 0 <= min_fpr < max_fpr <= 1."
        )
    return float(min_fpr), float(high)
