"""The columns of the table in each model of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.records import ModelResult
from everypair.app.explain.column_features import Block, alike, blocks_of
from everypair.app.explain.curves import Panel, curve_panels, has_curves
from everypair.app.explain.weights import lines_of
from everypair.app.explain.worth import Permuted, alone

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

MOST_LISTED = 100
"""Columns of a model whose features are kept for the record."""


class Gathered(NamedTuple):
    """What is known of one model's columns: permuted on held-out rows, and weights on the whole
    table."""

    permuted: Permuted
    coef: Array | None
    estimator: Any = None


def with_columns(
    results: Sequence[ModelResult],
    gathered: Mapping[str, Gathered],
    encoder: Any,
    X: Any,
    y: Bool,
    weight: Array | None,
    folds: Folds,
) -> list[ModelResult]:
    """What each column is worth to each model, and the weights of its features."""
    blocks = {block.name: block for block in blocks_of(encoder)}
    names = [str(name) for name in encoder.get_feature_names_out()]
    same = alike(X) if hasattr(encoder, "categories_") else []

    @cache
    def area(name: str) -> float:
        return alone(blocks[name], X, y, weight, folds) if name in blocks else np.nan

    def told(result: ModelResult) -> ModelResult:
        permuted, coef, estimator = gathered[result.name]
        worth = permuted.worths(lambda block: area(block.name))
        lines = None if coef is None else _lines(blocks, worth, names, coef, same)
        panels = panels_of([w.name for w in worth], blocks, names, estimator, encoder)
        return replace(result, worth=worth, lines=lines, panels=panels)

    return [result if result.failure is not None else told(result) for result in results]


def _lines(
    blocks: Mapping[str, Block], worth: Any, names: Sequence[str], coef: Array, same: Any
) -> dict[str, Any]:
    listed = [w.name for w in worth if w.name in blocks][:MOST_LISTED]
    return {name: lines_of(blocks[name], names, coef, same) for name in listed}


def panels_of(
    listed: Sequence[str],
    blocks: Mapping[str, Block],
    names: Sequence[str],
    estimator: Any,
    encoder: Any,
) -> list[Panel]:
    """The curves of an additive model, in the order of the columns listed; none of another."""
    if not has_curves(estimator) or not hasattr(encoder, "numbers_"):
        return []
    kept = [blocks[name] for name in listed if name in blocks][:MOST_LISTED]
    return [panel for b in kept for panel in curve_panels(b, names, estimator, encoder)]
