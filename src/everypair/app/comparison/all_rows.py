"""Fits on all rows of a table larger than memory, of which a sample is at hand.

Folds are by a hash of the row's number, so that a row of the sample has the fold that it has among
all rows. A model is fitted block by block on all rows outside a fold, and judged on the rows of the
sample inside it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.search import Fitted, convergence_warnings, fit_candidate, take
from everypair.app.comparison.yardstick import AREA, Yardstick
from everypair.app.large_table import EncodedRows
from everypair.blocks.source import EngineRows
from everypair.cached import cached_property
from everypair.checks import finite_scores
from everypair.linalg.block_folds import HashedFolds, hashed, training

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

BLOCKWISE = ("auc", "auc-l1", "auc-rls", "auc-sigmoid", "auc-hinge", "rankopt")
"""Methods that are fitted block by block."""

BY_ITSELF = ("auc", "auc-l1", "auc-rls")
"""Those that are chosen from where nobody names others, which pass over the rows many times."""

GATHERING = ("auc-hinge", "rankopt")
"""Methods that hold the scores of all rows and their order: about 120 bytes per row."""

SIDE_BY_SIDE_BYTES = 2**27
"""Fits share their passes over the rows as long as their scores take no more memory than this
beside those of one fit."""


class AllRows:
    """The rows of a table in blocks, and the sample ``X`` of them; ``numbers``: its rows' among
    all."""

    def __init__(self, blocks: EncodedRows, numbers: Index, X: Any):
        self.blocks, self.numbers, self.X = blocks, numbers, X
        self.encoder, self.n_rows = blocks.encoder, blocks.table.n_rows

    @cached_property
    def _engine(self) -> tuple[Any, NDArray[Any]]:
        return self.blocks.engine("everypair")

    @property
    def n_passes(self) -> int:
        """How often the rows were read for fits."""
        return int(self._engine[0].n_passes)

    def splits(self, n_folds: int, seed: int) -> list[tuple[Index, Index]]:
        """The folds of the sample."""
        fold = hashed(self.numbers, seed) % np.uint64(n_folds)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]

    def at_once(self, name: str) -> int:
        """How many fits of this method there is memory for."""
        per_row = 120 if name in GATHERING else 24
        return 1 + SIDE_BY_SIDE_BYTES // (per_row * self.n_rows)

    def fit(
        self,
        candidate: Candidate,
        settings: Sequence[Mapping[str, Any]],
        parts: Sequence[tuple[HashedFolds, int] | None],
    ) -> list[Fitted]:
        """The method on all rows (None), or on those outside a fold, each with settings of its own.

        The fits share their passes over the rows.
        """
        engine, classes = self._engine
        folds = {part[0]: part[0].written_out(self.n_rows) for part in parts if part is not None}
        views = [
            engine if part is None else engine.only(training(folds[part[0]], part[1]))
            for part in parts
        ]
        tasks = [
            partial(candidate.at(given).fit, EngineRows(view, classes, None))
            for given, view in zip(settings, views, strict=True)
        ]
        with convergence_warnings() as troubles:
            models = engine.passes.share(tasks, self.at_once(candidate.name))
        remarks = ["stopped before its tolerance was reached"] if troubles else []
        return [
            self._fitted(model, given, part, remarks)
            for model, given, part in zip(models, settings, parts, strict=True)
        ]

    def _fitted(
        self,
        model: Any,
        settings: Mapping[str, Any],
        part: tuple[HashedFolds, int] | None,
        remarks: list[str],
    ) -> Fitted:
        X = self.X
        if part is not None:
            folds, k = part
            X = X[hashed(self.numbers, folds.seed) % np.uint64(folds.n_folds) != k]
        scores = finite_scores(model.decision_function(X), X.shape[0])
        spread = float(scores.std())
        scale = spread if spread > 0 else 1.0
        return Fitted(model, dict(settings), float(scores.mean()), scale, list(remarks))

    def remarks(self, names: Sequence[str]) -> list[str]:
        """Which of these models were trained on which rows."""
        whole = [name for name in names if name in BLOCKWISE]
        others = [name for name in names if name not in BLOCKWISE]
        said = []
        if whole:
            said.append(
                f"trained block by block on all {self.n_rows} rows outside each fold: "
                f"{', '.join(whole)}; the rows were read {self.n_passes} times."
            )
        if others:
            said.append(
                f"trained on the {self.numbers.size} rows of the sample outside each fold: "
                f"{', '.join(others)}."
            )
        return said


@dataclass
class FoldFits:
    """The fits of one repeat of the folds; those of one method are made together."""

    rows: AllRows
    y: Bool
    weight: Array | None
    splits: Sequence[tuple[Index, Index]]
    fold_seed: int
    seed: int
    by: Yardstick = AREA
    _found: dict[str, tuple[list[Fitted], float]] = field(default_factory=dict)

    def of(self, candidate: Candidate, k: int) -> tuple[Fitted, float]:
        """The model of fold k and the seconds that it took."""
        if candidate.name not in self._found:
            began = time.perf_counter()
            n_folds = len(self.splits)
            settings, remarks = self._settings(candidate, [train for train, _ in self.splits])
            folds = HashedFolds(n_folds, self.fold_seed)
            fits = self.rows.fit(candidate, settings, [(folds, k) for k in range(n_folds)])
            for fitted in fits:
                fitted.remarks += remarks
            self._found[candidate.name] = fits, (time.perf_counter() - began) / n_folds
        fits, seconds = self._found[candidate.name]
        return fits[k], seconds

    def final(self, candidate: Candidate) -> Fitted:
        """The model of all rows."""
        settings, remarks = self._settings(candidate, [np.arange(self.y.size)])
        (fitted,) = self.rows.fit(candidate, settings, [None])
        fitted.remarks += remarks
        return fitted

    def _settings(
        self, candidate: Candidate, parts: Sequence[Index]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Of each of these parts of the sample, by a search among them; and what it remarks."""
        found = [
            fit_candidate(
                candidate, *take(part, self.rows.X, self.y, self.weight, None), self.seed,
                by=self.by,
            )
            for part in parts
        ]  # fmt: skip
        return [fitted.settings for fitted in found], found[0].remarks
