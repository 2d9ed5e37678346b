"""Precision and recall of the k best rows of each group: "the five best for each user".

    M(s) = mean_g hits_g(k_g) / k_g     or, for recall,     mean_g hits_g(k_g) / n+_g

over the groups that have rows of both classes, each the same; k_g is k, or all rows of a group that
has no more. Rows are counted, not weighed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.measures.at_quota import PRECISION, RECALL, ROWS, AtQuota
from everypair.measures.operating_point import OperatingMeasure, Smooth
from everypair.metrics.at_k import TopOfGroups
from everypair.rows import Rows

Array = NDArray[np.float64]

IN_GROUPS = {"precision_at_k": PRECISION, "recall_at_k": RECALL}


@dataclass(frozen=True)
class TopOfEachGroup(OperatingMeasure):
    """Precision or recall (``what``) of the k best rows of each group.

    ``share`` of all rows are among them: new rows are called positive above the cut that so many
    training rows reach.
    """

    k: Any
    what: str
    share: float

    @classmethod
    def of(cls, measure: Any, k: Any, rows: Rows) -> TopOfEachGroup:
        if measure not in IN_GROUPS:
            raise ValueError(
                f"measure={measure!r} cannot be taken inside groups: use 'precision_at_k' or "
                "'recall_at_k' with within."
            )
        # Folds give each class a weight of its own: among rows of a class it changes nothing.
        by_class = [rows.relative_weight[members] for members in rows.classes]
        if not all(np.allclose(weight, weight[0]) for weight in by_class):
            raise ValueError(
                "k counts rows in each group, so with within all weights must be 0 or 1: leave "
                "sample_weight out."
            )
        top = TopOfGroups.of(rows, k)
        share = float(top.counts.sum() / top.sizes.sum())
        if share >= 1:
            raise ValueError(f"k={k!r} selects every row of every group: use a smaller k.")
        return cls(k, IN_GROUPS[measure], share)

    def value(self, rows: Rows, scores: Array, cut: float = 0.0) -> float:
        top = TopOfGroups.of(rows, self.k)
        return float(np.mean(top.hits(scores) / self.largest(top)))

    def largest(self, top: TopOfGroups) -> NDArray[np.intp]:
        """The denominator of each group's share of hits."""
        return top.counts if self.what == PRECISION else top.positives

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """One for all groups: as many rows lie above it as are the best of their groups."""
        return AtQuota(ROWS, self.share, self.what).best_cut(replace(rows, within=None), scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        """Not a function of the rates of all rows (`solvers.grouped_quota`); at best 1."""
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0)
