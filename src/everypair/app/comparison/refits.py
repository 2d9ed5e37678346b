"""A fitted model's settings on three folds: scores of rows that were held out.

What a fit says of new rows comes from here and never from its training scores: the threshold, the
probabilities, and what each column is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.judge import area_over_folds
from everypair.app.comparison.probabilities import calibrator_of
from everypair.app.comparison.search import Fitted, fit_candidate, inner_splits, take
from everypair.app.explain.column_features import alike, blocks_of
from everypair.app.explain.worth import Permuted, alone
from everypair.app.model_file.evidence import MOST_ROWS, Evidence
from everypair.checks import finite_scores
from everypair.metrics.held_out import HeldOutArea

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Refits:
    """The models of the folds, and the scores of the rows that each had not seen."""

    folds: Sequence[tuple[Index, Index]]
    parts: Sequence[Fitted]
    scores: Array  # standardised: each fold on the scale of its training scores
    seen: Array  # the same by the model of the next fold, which trained on the row
    area: HeldOutArea
    final: Fitted

    @classmethod
    def of(
        cls,
        candidate: Candidate,
        fitted: Fitted,
        X: Any,
        y: Bool,
        weight: Array | None,
        groups: NDArray[Any] | None,
        seed: int,
        within: Index | None = None,
    ) -> Refits:
        folds = inner_splits(y, groups, seed)
        scores, seen, parts = np.empty(y.size), np.empty(y.size), []
        for k, (train, test) in enumerate(folds):
            part = fit_candidate(
                candidate, *take(train, X, y, weight, groups), seed, fitted.settings,
                None if within is None else within[train],
            )  # fmt: skip
            scores[test] = part.standardised(finite_scores(part.scores(X[test]), test.size))
            seen[folds[k - 1][1]] = part.standardised(part.scores(X[folds[k - 1][1]]))
            parts.append(part)
        units = groups if within is None else within
        area = area_over_folds(y, [folds], [scores], [seen], weight, units, within)
        return cls(folds, parts, scores, seen, area, fitted)

    def on_scale(self, values: Any) -> Any:
        """From standardised scores to those of the model of all rows."""
        return self.final.score_mean + self.final.score_scale * values

    def worth(
        self, encoder: Any, X: Any, y: Bool, weight: Array | None, seed: int
    ) -> dict[str, list[Any]]:
        """What each column is worth, as `Evidence` keeps it."""
        permuted, blocks = Permuted(seed), blocks_of(encoder)
        for part, (_, test) in zip(self.parts, self.folds, strict=True):
            permuted.add(
                blocks, part.standard_scores, part.standard_coef, X[test], y[test],
                None if weight is None else weight[test],
            )  # fmt: skip
        worths = permuted.worths(lambda block: alone(block, X, y, weight, self.folds))
        return {w.name: [w.alone, w.lost, w.spread, w.direction] for w in worths}

    def calibrator(
        self, y: Bool, weight: Array | None, cut: float, prior: float | None = None
    ) -> Any:
        """From the model's scores less the cut to probabilities."""
        return calibrator_of(self.on_scale(self.scores) - cut, y, weight, prior)

    def evidence(
        self, encoder: Any, X: Any, y: Bool, weight: Array | None, groups: Any, seed: int
    ) -> Evidence:
        """What the model file keeps of all this."""
        rows = np.arange(y.size)
        if y.size > MOST_ROWS:
            rows = np.sort(np.random.default_rng(seed).choice(y.size, MOST_ROWS, replace=False))
        return Evidence(
            scores=self.on_scale(self.scores[rows]),
            positive=y[rows],
            weight=None if weight is None else weight[rows],
            means=np.asarray(X.mean(axis=0), dtype=np.float64).ravel(),
            alike=alike(X) if hasattr(encoder, "categories_") else [],
            worth=self.worth(encoder, X, y, weight, seed),
            groups=None if groups is None else np.unique(groups[rows], return_inverse=True)[1],
        )
