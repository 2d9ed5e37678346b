"""The cuts of a ranking that a slider stops at: few, and exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from everypair.app.comparison.headline import TOP_SHARE
from everypair.measures.operating_point import OperatingMeasure
from everypair.metrics.curve import Curve
from everypair.metrics.thresholds import RULES, cut_by
from everypair.rows import Array, Index, Rows

N_ALONG = 220
"""Cuts at even steps along the ROC curve."""

N_HEAD = 80
"""Cuts at growing steps down the list: whoever calls the first hundred rows needs these."""


@dataclass(frozen=True)
class Cuts:
    """Thresholds, highest first, with the weight of both classes above each.

    Positive is predicted where ``score > threshold``. ``standard`` says where the cuts of the
    rules are: ``own`` (the model's), ``f1``, ``balanced``, ``top`` (the share of the headline,
    where it has a row) and, where models are judged by one, ``measure``. Every corner of the convex
    hull of the ROC curve is among the cuts, and the least of ``c_fp FP + c_fn FN`` lies on such a
    corner whatever the costs are, so it is found exactly without the other cuts.
    """

    threshold: Array
    tp: Array
    fp: Array
    standard: dict[str, int]

    @classmethod
    def of(
        cls, rows: Rows, scores: Array, own: float, measure: OperatingMeasure | None = None
    ) -> Cuts:
        curve = Curve.of(rows, scores)
        all_tp, all_fp = rows.units[0] * curve.tp, rows.units[1] * curve.fp
        rules = {name: int(np.argmax(RULES[name](curve))) for name in ("f1", "balanced")}
        top = int(np.searchsorted(-curve.levels, -cut_by({"top": TOP_SHARE}, rows, scores)))
        if top > 0:
            rules["top"] = top
        if measure is not None:
            best = measure.best_cut(rows, scores)
            rules["measure"] = int(np.searchsorted(-curve.levels, -best))
        corners = hull(all_tp, all_fp)
        kept = np.unique(np.concatenate([list(rules.values()), corners, _sample(curve)]))
        threshold, tp, fp = curve.cuts()[kept], all_tp[kept], all_fp[kept]
        standard = {name: int(np.searchsorted(kept, at)) for name, at in rules.items()}
        if np.isfinite(own):
            place = int(np.searchsorted(-threshold, -own))
            above = int(np.searchsorted(-curve.levels, -own))
            threshold = np.insert(threshold, place, own)
            tp, fp = np.insert(tp, place, all_tp[above]), np.insert(fp, place, all_fp[above])
            standard = {name: at + (at >= place) for name, at in standard.items()}
            standard["own"] = place
        return cls(threshold, tp, fp, standard)


def hull(tp: Array, fp: Array) -> Index:
    """Corners of the upper convex hull of the ROC curve, as places in ``tp``.

    They are the ends of the blocks of the isotonic regression of the label on the score
    (Fawcett & Niculescu-Mizil 2007).
    """
    positive, negative = np.diff(tp), np.diff(fp)
    mass = positive + negative
    return isotonic_regression(positive / mass, weights=mass, increasing=False).blocks


def _sample(curve: Curve) -> NDArray[np.intp]:
    n_cuts = curve.tp.size
    if n_cuts <= N_ALONG + N_HEAD:
        return np.arange(n_cuts)
    along = curve.tpr + curve.fpr
    even = np.searchsorted(along, np.linspace(0, 2, N_ALONG))
    head = np.geomspace(1, n_cuts - 1, N_HEAD).astype(np.intp)
    return np.minimum(np.concatenate([even, head]), n_cuts - 1)
