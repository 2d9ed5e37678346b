"""Fits on all rows of a table larger than memory, of which a sample is at hand.

Folds are by a hash of the row's number, so that a row of the sample has the fold that it has among
all rows. A model is fitted block by block on all rows outside a fold, and judged on the rows of the
sample inside it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.search import (
    Fitted,
    convergence_warnings,
    fit_candidate,
    heard_apart,
    take,
)
from everypair.app.comparison.yardstick import AREA, Yardstick
from everypair.app.large_table import EncodedRows
from everypair.app.wording import counted
from everypair.blocks.source import EngineRows
from everypair.cached import cached_property
from everypair.checks import finite_scores
from everypair.linalg.block_folds import HashedFolds, hashed, training
from everypair.linalg.blocks import MOST_KEPT

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

BLOCKWISE = ("auc", "auc-l1", "auc-rls", "auc-sigmoid", "auc-hinge", "rankopt")
"""Methods that are fitted block by block."""

BY_ITSELF = ("auc", "auc-l1", "auc-rls")
"""Those that are chosen from where nobody names others, which pass over the rows many times."""

GATHERING = ("auc-hinge", "rankopt")
"""Methods that hold the scores of all rows and their order: about 120 bytes per row."""

CLOSED_FORM = ("auc-rls",)
"""Methods that need one pass and no scores."""

SIDE_BY_SIDE_BYTES = 2**27
"""Fits share their passes over the rows as long as their scores take no more memory than this and
24 bytes per row."""


class WantedFit(NamedTuple):
    """A fit: the method with its settings on all rows (None), or on those outside a fold."""

    candidate: Candidate
    settings: Mapping[str, Any]
    part: tuple[HashedFolds, int] | None


@dataclass
class Outcome:
    """What became of a fit. Its seconds are a share of those of the fits that ran beside it."""

    fitted: Fitted | None = None
    trouble: Exception | None = None
    seconds: float = 0.0

    def found(self) -> Fitted:
        """The model; or the error is raised."""
        if self.fitted is None:
            assert self.trouble is not None
            raise self.trouble
        return self.fitted


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

    def _side_by_side(self, wanted: Sequence[WantedFit]) -> list[list[int]]:
        """Numbers of the fits that run together, as few times as there is memory for."""
        sizes = [self.n_rows * _bytes_per_row(one.candidate.name) for one in wanted]
        groups = _filled(sizes, 24 * self.n_rows + SIDE_BY_SIDE_BYTES)
        # As many passes with less memory, where the last group would be a small one.
        even = _filled(sizes, max(sum(sizes) / len(groups), *sizes))
        return even if len(even) == len(groups) else groups

    def fit(self, wanted: Sequence[WantedFit]) -> list[Outcome]:
        """The fits, which share their passes over the rows; the trouble of one is its own."""
        engine, _ = self._engine
        seeds = {one.part[0] for one in wanted if one.part is not None}
        folds = {of: of.written_out(self.n_rows) for of in seeds}
        out = [Outcome() for _ in wanted]
        with convergence_warnings():
            for group in self._side_by_side(wanted):
                began = time.perf_counter()
                tasks = [partial(self._one, wanted[k], folds, out[k]) for k in group]
                engine.passes.share(tasks, len(tasks))
                share = (time.perf_counter() - began) / sum(out[k].seconds for k in group)
                for k in group:
                    out[k].seconds *= share
        return out

    def _one(self, one: WantedFit, folds: Mapping[HashedFolds, Any], out: Outcome) -> None:
        engine, classes = self._engine
        began = time.perf_counter()
        try:
            view = engine.for_a_fit()
            if one.part is not None:
                view = view.only(training(folds[one.part[0]], one.part[1]))
            with heard_apart() as troubles:
                model = one.candidate.at(one.settings).fit(EngineRows(view, classes, None))
            remarks = ["stopped before its tolerance was reached"] if troubles else []
            out.fitted = self._fitted(model, one.settings, one.part, remarks)
        except Exception as trouble:  # any failure of one model is that model's alone
            out.trouble = trouble
        finally:
            out.seconds = time.perf_counter() - began

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
                f"{', '.join(whole)}; the rows were read "
                f"{counted(self.n_passes, 'time')}."
            )
        if others:
            said.append(
                f"trained on the {self.numbers.size} rows of the sample outside each fold: "
                f"{', '.join(others)}."
            )
        return said


def _bytes_per_row(name: str) -> int:
    """Of what a fit of this method keeps."""
    return 120 if name in GATHERING else 0 if name in CLOSED_FORM else 8 * MOST_KEPT


def _filled(sizes: Sequence[int], most: float) -> list[list[int]]:
    """Numbers of the sizes in groups, in order; the sum of one is at most ``most``, or one size."""
    groups: list[list[int]] = [[]]
    room = most
    for k in sorted(range(len(sizes)), key=lambda k: sizes[k]):
        if groups[-1] and sizes[k] > room:
            groups.append([])
            room = most
        groups[-1].append(k)
        room -= sizes[k]
    return groups


@dataclass
class FoldFits:
    """The fits of all folds: those of the methods in ``together`` are made at once, with the models
    of all rows; those of another method by themselves, one repeat at a time."""

    rows: AllRows
    y: Bool
    weight: Array | None
    repeats: Sequence[Sequence[tuple[Index, Index]]]
    seed: int
    by: Yardstick = AREA
    together: Sequence[Candidate] = ()
    _found: dict[tuple[str, int | None, int], tuple[Outcome, list[str]]] = field(
        default_factory=dict
    )

    def of(self, candidate: Candidate, repeat: int, k: int) -> tuple[Fitted, float]:
        """The model of fold k and the seconds that it took."""
        return self._get(candidate, repeat, k)

    def final(self, candidate: Candidate) -> Fitted:
        """The model of all rows."""
        return self._get(candidate, None, 0)[0]

    def _get(self, candidate: Candidate, repeat: int | None, k: int) -> tuple[Fitted, float]:
        if (candidate.name, repeat, k) not in self._found:
            if any(candidate.name == other.name for other in self.together):
                self._make(self.together, [*range(len(self.repeats)), None])
            else:
                self._make([candidate], [repeat])
        outcome, remarks = self._found[candidate.name, repeat, k]
        fitted = outcome.found()
        return replace(fitted, remarks=[*fitted.remarks, *remarks]), outcome.seconds

    def _make(self, candidates: Sequence[Candidate], repeats: Sequence[int | None]) -> None:
        """The fits of these methods on all rows (None) and on those outside each fold."""
        names: list[tuple[tuple[str, int | None, int], list[str]]] = []
        wanted, searching = [], []
        for candidate in candidates:
            for repeat in repeats:
                parts = self._parts(repeat)
                began = time.perf_counter()
                try:
                    settings, remarks = self._settings(candidate, [rows for rows, _ in parts])
                except Exception as trouble:
                    for k in range(len(parts)):
                        self._found[candidate.name, repeat, k] = Outcome(trouble=trouble), []
                    continue
                seconds = (time.perf_counter() - began) / len(parts)
                for k, (given, (_, part)) in enumerate(zip(settings, parts, strict=True)):
                    names.append(((candidate.name, repeat, k), remarks))
                    wanted.append(WantedFit(candidate, given, part))
                    searching.append(seconds)
        try:
            outcomes = self.rows.fit(wanted) if wanted else []
        except Exception as trouble:  # rows that cannot be read: no method can
            outcomes = [Outcome(trouble=trouble) for _ in wanted]
        for (name, remarks), outcome, seconds in zip(names, outcomes, searching, strict=True):
            outcome.seconds += seconds
            self._found[name] = outcome, remarks

    def _parts(self, repeat: int | None) -> list[tuple[Index, tuple[HashedFolds, int] | None]]:
        """Rows of the sample, and of all rows the part that they are drawn from."""
        if repeat is None:
            return [(np.arange(self.y.size), None)]
        splits = self.repeats[repeat]
        folds = HashedFolds(len(splits), self.seed + repeat)
        return [(train, (folds, k)) for k, (train, _) in enumerate(splits)]

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
