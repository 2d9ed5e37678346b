"""The ROC curve as counts: the weight of both classes above every cut of a ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.metrics._rows import Array, Rows


@dataclass(frozen=True)
class Curve:
    """For each distinct score, descending: weight of both classes at or above it.

    ``tp`` and ``fp`` begin with 0 (nothing above the cut), so they are one longer than
    ``levels``. Without weights they are counts, exact in floating point.
    """

    levels: Array
    tp: Array
    fp: Array

    @classmethod
    def of(cls, rows: Rows, scores: Array) -> Curve:
        order = np.argsort(scores)[::-1]
        ranked = scores[order]
        ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        of_positives = rows.positive[order].astype(np.float64)
        of_negatives = 1 - of_positives
        if rows.weight is not None:
            weight = rows.weight[order] / rows.weight.max()  # no sum of them overflows
            of_positives *= weight
            of_negatives *= weight
        tp = np.concatenate([[0.0], np.cumsum(of_positives)[ends]])
        fp = np.concatenate([[0.0], np.cumsum(of_negatives)[ends]])
        return cls(ranked[ends], tp, fp)

    @property
    def tpr(self) -> Array:
        return self.tp / self.tp[-1]

    @property
    def fpr(self) -> Array:
        return self.fp / self.fp[-1]

    def cuts(self) -> Array:
        """Thresholds t, for ``score > t``, halfway between neighbouring scores, descending.

        The outermost lie a little outside the scores, so that a score computed again, and
        rounded otherwise, falls on the same side.
        """
        levels = self.levels
        between = levels[1:] / 2 + levels[:-1] / 2
        # Halfway may round up to the higher score, which would then fall below the cut.
        between = np.where(between < levels[:-1], between, levels[1:])
        margin = 1e-9 * (levels[0] - levels[-1] + max(abs(levels[0]), abs(levels[-1])))
        highest = max(levels[0] + margin, np.nextafter(levels[0], np.inf))
        lowest = min(levels[-1] - margin, np.nextafter(levels[-1], -np.inf))
        return np.concatenate([[highest], between, [lowest]])


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
    if not 0 <= min_fpr < high <= 1:
        raise ValueError(
            f"min_fpr={min_fpr!r}, max_fpr={max_fpr!r} is not a range of false positive rates: "
            "use 0 <= min_fpr < max_fpr <= 1."
        )
    return float(min_fpr), float(high)
