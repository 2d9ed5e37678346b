"""The pairs of columns of an additive model in the units of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.app.explain.column_features import blocks_of
from everypair.estimators._scorecard import group_labels

Array = NDArray[np.float64]


class Surface(NamedTuple):
    """What the cells of two features add to the score, beside the curves of both."""

    name: str
    labels: list[str]
    """Of each cell: a range of the first feature, "and", a range of the second."""
    share: Array
    """Of the training rows in each cell."""
    points: Array
    spread: float
    """The standard deviation of the points over the training rows."""


def surfaces_of(estimator: Any, encoder: Any, names: Sequence[str]) -> Iterator[Surface]:
    """In the order of the model's pairs; none of a model without pairs.

    A number that is missing counts as the one that the encoder fills in for it, so a pair has no
    group of missing values.
    """
    pairs = getattr(estimator, "pairs_", [])
    filled = _filled(encoder) if pairs else set()
    spreads = estimator.importances_[-len(pairs) :] if pairs else []
    for pair, values, spread in zip(pairs, estimator.pair_values_, spreads, strict=True):
        of_first, of_second = (
            _labels(estimator.shapes_[k], group_of, k, encoder, k in filled)
            for k, group_of in (
                (pair.first, pair.group_of_first),
                (pair.second, pair.group_of_second),
            )
        )
        labels = [f"{one} and {other}" for one in of_first for other in of_second]
        cells = np.arange(pair.counts.size).reshape(pair.sides)
        kept = cells[:-1, :-1].ravel()
        yield Surface(
            f"{names[pair.first]} x {names[pair.second]}",
            [labels[k] for k in kept],
            pair.counts[kept] / pair.counts.sum(),
            values[kept],
            float(spread),
        )


def _filled(encoder: Any) -> set[int]:
    """Features of numbers whose missing values are filled in, and have a feature of their own."""
    out: set[int] = set()
    for block in blocks_of(encoder):
        features = block.features.tolist()
        numbers = [k for k in features if k < encoder.numbers_.size]
        if numbers and len(numbers) < len(features):
            out.update(numbers)
    return out


def _labels(
    shape: Any, group_of: NDArray[np.intp], k: int, encoder: Any, filled: bool
) -> list[str]:
    if k >= encoder.numbers_.size:
        labels = group_labels(shape, group_of)
        return ["no", "yes", labels[-1]] if len(labels) == 3 else labels
    mean, scale = float(encoder.mean_[k]), float(encoder.scale_[k])
    labels = group_labels(replace(shape, edges=shape.edges * scale + mean), group_of)
    if filled:
        fill = shape.codes(np.array([(float(encoder.fill_[k]) - mean) / scale]))[0]
        labels[group_of[fill]] += " or missing"
    return labels
