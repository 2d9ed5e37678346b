"""The scorecard of a saved additive model, in the units of its table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from everypair.app.explain.column_features import MISSING, Block, blocks_of
from everypair.app.explain.curves import curve_panels
from everypair.app.explain.surfaces import surfaces_of
from everypair.estimators._scorecard import CONSTANT, Scorecard, ScorecardRow

ANY_OTHER = "(any other)"


def scorecard_of(estimator: Any, encoder: Any, names: list[str], cut: float) -> Scorecard:
    """Lines of column, bin, share and points; the points of a row's bins add up to its score.

    A missing number, and a category that was not seen, have lines of their own. Pairs of columns
    have a line per cell.
    """
    constant = float(estimator.intercept_[0]) - cut
    card = Scorecard([ScorecardRow(CONSTANT, "all", 1.0, constant)])
    for block in blocks_of(encoder):
        _add(card, block, names, estimator, encoder)
    for surface in surfaces_of(estimator, encoder, names):
        card.add(surface.name, surface.labels, surface.share, surface.points)
    return card


def _add(card: Scorecard, block: Block, names: list[str], estimator: Any, encoder: Any) -> None:
    panels = curve_panels(block, names, estimator, encoder)
    n_numbers = encoder.numbers_.size
    numbers = [k for k in block.features.tolist() if k < n_numbers]
    if not numbers:
        (panel,) = panels
        zeros = sum(float(estimator.curves_[k][0]) for k in block.features.tolist())
        card.add(block.name, [*panel.labels, ANY_OTHER], [*panel.share, 0.0], [*panel.y, zeros])
        return
    for k, panel in zip(numbers, panels, strict=True):
        mean, scale = float(encoder.mean_[k]), float(encoder.scale_[k])
        shape = estimator.shapes_[k]
        labels = replace(shape, edges=shape.edges * scale + mean).labels()[:-1]
        y, share = list(panel.y), list(panel.share)
        if panel.missing is not None:
            flag = next(f for f in block.features.tolist() if f >= n_numbers)
            gone = estimator.shapes_[flag].counts[:-1]
            part = float(gone[-1] / gone.sum())
            fill = shape.codes(np.array([(float(encoder.fill_[k]) - mean) / scale]))[0]
            share[fill] -= part  # those without a value were counted where they were filled in
            labels, y, share = [*labels, MISSING], [*y, panel.missing], [*share, part]
        card.add(panel.name, labels, share, y)
    if len(numbers) > 1:  # the parts of a date share their flags
        for flag in (f for f in block.features.tolist() if f >= n_numbers):
            curve, counts = estimator.curves_[flag], estimator.shapes_[flag].counts[:-1]
            points = [float(curve[0]), float(curve[counts.size - 1])]
            part = float(counts[-1] / counts.sum())
            card.add(names[flag], ["no", "yes"], [1 - part, part], points)
