"""The curves of an additive model in the units of the table: what each range of values adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.explain.column_features import Block
from everypair.app.explain.weights import Line

Array = NDArray[np.float64]

RANGES = 8
"""Parts of a curve that are shown, with about as many rows each."""

ROUNDING = 1e-12
"""A share of the largest curve: what a range adds below it is nothing."""


def has_curves(estimator: Any) -> bool:
    return hasattr(estimator, "curves_")


def curve_lines(block: Block, names: Sequence[str], estimator: Any, encoder: Any) -> list[Line]:
    """Of numbers: ranges of values in their order, each with the mean of what it adds. Of other
    features: what a 1 adds over a 0. Means over the training rows are zero."""
    if block.complementary:
        first, second = (_rise(estimator, k) for k in block.features.tolist())
        name = f"{names[block.features[1]]} (not {block.levels[0]})"
        return [Line(name, second - first)]
    n_numbers = encoder.numbers_.size
    several = np.count_nonzero(block.features < n_numbers) > 1  # the parts of a date
    out, flags = [], []
    for k in block.features.tolist():
        if k < n_numbers:
            head = f"{names[k]} " if several else ""
            mean, scale = float(encoder.mean_[k]), float(encoder.scale_[k])
            out += [
                Line(head + label, points) for label, points in _ranges(estimator, k, mean, scale)
            ]
        else:
            flags.append(Line(names[k], _rise(estimator, k)))
    return out + sorted(flags, key=lambda line: -abs(line.weight or 0.0))


def _rise(estimator: Any, k: int) -> float:
    """From the lowest to the highest value of a feature of two."""
    held = estimator.curves_[k][: estimator.shapes_[k].n_bins - 1]
    return float(held[-1] - held[0])


def _ranges(estimator: Any, k: int, mean: float, scale: float) -> list[tuple[str, float]]:
    shape, curve = estimator.shapes_[k], estimator.curves_[k]
    counts = shape.counts[:-1]
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    _, group_of = np.unique((RANGES * middle).astype(np.intp), return_inverse=True)
    last = np.flatnonzero(np.diff(group_of))
    sizes = np.bincount(group_of, counts)
    points = np.bincount(group_of, counts * curve[: counts.size]) / sizes
    points[np.abs(points) <= ROUNDING * max(np.ptp(c) for c in estimator.curves_)] = 0.0
    edges = shape.edges[last] * scale + mean
    coarse = replace(shape, edges=edges, counts=np.append(sizes, 0.0))
    return [(label, float(p)) for label, p in zip(coarse.labels(), points, strict=False)]
