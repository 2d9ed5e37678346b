"""The curves of an additive model in the units of the table: what each range of values adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.app.explain.column_features import Block
from everypair.app.explain.weights import Line

Array = NDArray[np.float64]

RANGES = 8
"""Parts of a curve that are shown, with about as many rows each."""

ROUNDING = 1e-12
"""A share of the largest curve: what a range adds below it is nothing."""


class Panel(NamedTuple):
    """The curve of one feature of numbers, or what each category of a column adds."""

    name: str
    x: list[float]
    """The mean value of each bin, in the units of the table; empty for categories."""
    labels: list[str]
    """The categories; empty for numbers."""
    y: list[float]
    share: list[float]
    """Of the training rows in each bin or category."""
    missing: float | None
    """What a missing number adds; None where there were none."""


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


def curve_panels(block: Block, names: Sequence[str], estimator: Any, encoder: Any) -> list[Panel]:
    """What to draw of one column: a curve for each feature of numbers, bars for categories."""
    numbers = [k for k in block.features.tolist() if k < encoder.numbers_.size]
    if not numbers:
        labels = [str(names[k]).removeprefix(f"{block.name}=") for k in block.features.tolist()]
        kept = [(estimator.shapes_[k], estimator.curves_[k]) for k in block.features.tolist()]
        # A category has the 1 of its own feature and the 0 of all others.
        zeros = sum(float(curve[0]) for _, curve in kept)
        y = [zeros + float(curve[_last(shape)] - curve[0]) for shape, curve in kept]
        share = [_share(shape)[-1] if _last(shape) else 0.0 for shape, _ in kept]
        return [Panel(block.name, [], labels, y, share, None)]
    flags = [k for k in block.features.tolist() if k >= encoder.numbers_.size]
    out = []
    for k in numbers:
        shape, curve = estimator.shapes_[k], estimator.curves_[k]
        x = shape.centres * float(encoder.scale_[k]) + float(encoder.mean_[k])
        level, missing = 0.0, None
        if flags and len(numbers) == 1:
            level = float(estimator.curves_[flags[0]][0])
            fill = (float(encoder.fill_[k]) - float(encoder.mean_[k])) / float(encoder.scale_[k])
            of_fill = float(curve[shape.codes(np.array([fill]))[0]])
            missing = of_fill + level + _rise(estimator, flags[0])
        y = [float(value) + level for value in curve[: shape.n_bins - 1]]
        out.append(Panel(str(names[k]), x.tolist(), [], y, _share(shape), missing))
    return out


def _last(shape: Any) -> int:
    """The bin of the highest value."""
    return int(shape.n_bins) - 2


def _share(shape: Any) -> list[float]:
    held = shape.counts[:-1]
    return [float(part) for part in held / held.sum()]
