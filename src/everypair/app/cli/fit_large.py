"""`everypair fit` on a table larger than memory: a folder of Parquet files, or a large one.

One pass learns the encoder and draws a sample of rows. The data check, the method and its settings
come from the sample, as they do for a table in memory. The model and those of three folds are then
fitted on all rows, block by block; they share each pass. What the folds say of held-out rows comes
from the rows of the sample.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from everypair.app.cli.fit_plan import CHECKED_ROWS, Asked, Done, Plan, saved_model
from everypair.app.cli.guard import naming
from everypair.app.cli.inputs import Labelled
from everypair.app.cli.large_inputs import load_large
from everypair.app.cli.show import progress
from everypair.app.comparison.judge import area_over_folds
from everypair.app.comparison.models import Candidate, catalogue
from everypair.app.comparison.race import choose
from everypair.app.comparison.refits import Refits
from everypair.app.comparison.search import SEARCH_FOLDS, Fitted, convergence_warnings
from everypair.app.comparison.yardstick import AREA
from everypair.app.encode import unused
from everypair.app.files.problems import DataError
from everypair.app.large_table import EncodedRows
from everypair.app.tables import take_rows
from everypair.app.wording import counted
from everypair.blocks.source import EngineRows
from everypair.checks import finite_scores
from everypair.linalg.block_folds import HashedFolds, hashed, training

if TYPE_CHECKING:
    pass

BLOCKWISE = ("auc", "auc-l1", "auc-rls", "auc-sigmoid", "auc-hinge", "rankopt")
"""Methods that are fitted block by block."""

BY_ITSELF = ("auc", "auc-l1", "auc-rls")
"""Those that ``auto`` chooses from: the others pass over the rows many times."""


def fit_large(asked: Asked) -> Done:
    """The model of all rows, with what the sample says of it."""
    _check_options(asked)
    source, wanted, seed, show, by = asked.source, asked.wanted, asked.seed, asked.show, asked.by
    clock = [time.perf_counter()]
    table, rows, numbers, positive = load_large(source, asked.columns, show)
    clock.append(time.perf_counter())
    with naming(source.path):
        encoder = table.encoder(rows.check.left_out)
        used = rows.check.used(rows.X)
        X = encoder.transform(used)
        some = take_rows(used, np.arange(min(rows.y.size, CHECKED_ROWS)))
        said, n_notes = unused(encoder), len(rows.notes)
        show.notes(said)
        rows.X = None
        clock.append(time.perf_counter())
        plan = _plan(asked, X, rows)
        settings = plan.fit(X, rows, seed).settings
        blocks = EncodedRows(table, encoder, positive)
        fits = _Fits(plan.candidate, settings, blocks, X, rows, numbers, seed)
        fitted, refits, n_passes = fits.all(wanted.held_out)
        clock.append(time.perf_counter())
        cut = None if by is None or refits is None else plan.cut(by, refits, rows, seed)
        rows.notes += [*said, *plan.remarks(fitted)]
        rows.notes.append(f"the rows were read {counted(n_passes, 'time')} for the fits.")
        model = saved_model(rows, encoder, X, plan, fitted, source.path.name, by, cut)
        model = replace(
            model, n_rows=table.n_rows, n_positive=sum(table.labels[text] for text in positive),
            train_auc=float(getattr(fitted.model, "train_score_", model.train_auc)),
        )  # fmt: skip
        model, chosen = wanted.onto(model, refits, X, rows, seed)
    clock.append(time.perf_counter())
    show.notes([note for note in rows.notes[n_notes:] if note not in said])
    spent = [after - before for before, after in pairwise(clock)]
    return Done(model, plan, refits, cut, chosen, rows.check, some, int(X.shape[1]), spent)


def _check_options(asked: Asked) -> None:
    source, columns, method = asked.source, asked.columns, asked.method
    if columns.target is None:
        raise DataError("say which column is the target: --target COLUMN.", source.path)
    in_memory = "needs the table in memory, and this one is read a piece at a time"
    refused = {
        "--group": columns.group, "--within": columns.within, "--from": asked.told,
        "--increasing": columns.increasing, "--decreasing": columns.decreasing,
    }  # fmt: skip
    for option, given in refused.items():
        if given is not None:
            raise DataError(f"{option} {in_memory}: leave it out.", source.path)
    if method not in ("auto", *BLOCKWISE):
        raise DataError(
            f"--method {method} {in_memory}: use {', '.join(BLOCKWISE)}, or a sample of the rows.",
            source.path,
        )


def _plan(asked: Asked, X: Any, rows: Labelled) -> Plan:
    known, budget, seed = catalogue(asked.by), asked.budget, asked.seed
    if asked.method != "auto":
        return Plan(known[asked.method])
    if asked.fast:
        return Plan(known["auc"])
    candidates = [known[name] for name in BY_ITSELF]
    with progress(None, asked.show.silent) as advance:
        choice = choose(
            candidates, X, rows.y, rows.weight, rows.check.groups, seed, budget, advance, None, AREA
        )
    return Plan(choice.candidate, choice.settings, AREA, choice, choice.sentences(budget))


@dataclass(frozen=True)
class _Fits:
    """The fits on all rows: of the model, and of its folds."""

    candidate: Candidate
    settings: dict[str, Any]
    blocks: EncodedRows
    X: Any
    """Of the sample."""
    rows: Labelled
    numbers: Any
    seed: int

    def all(self, held_out: bool) -> tuple[Fitted, Refits | None, int]:
        """The model, the folds, and how often the rows were read."""
        engine, classes = self.blocks.engine(self.candidate.name)
        views: list[Any] = [engine]
        folds = HashedFolds(SEARCH_FOLDS, self.seed)
        if held_out:
            views += [engine.only(training(folds, k)) for k in range(SEARCH_FOLDS)]
        tasks = [partial(self._fit, EngineRows(view, classes, None)) for view in views]
        final, *parts = engine.passes.share(tasks, len(tasks))
        fold = hashed(self.numbers, self.seed) % np.uint64(SEARCH_FOLDS)
        fitted = self._fitted(*final, np.ones(fold.size, dtype=bool))
        refits = None
        if held_out:
            fits = [self._fitted(*part, fold != k) for k, part in enumerate(parts)]
            refits = self._refits(fitted, fits, fold)
        return fitted, refits, engine.n_passes

    def _fit(self, rows: EngineRows) -> tuple[Any, list[str]]:
        with convergence_warnings() as troubles:
            model = self.candidate.at(self.settings).fit(rows)
        return model, list(troubles)

    def _fitted(self, model: Any, troubles: list[str], among: Any) -> Fitted:
        training_scores = finite_scores(model.decision_function(self.X[among]), int(among.sum()))
        remarks = ["stopped before its tolerance was reached"] if troubles else []
        spread = float(training_scores.std())
        return Fitted(
            model, self.settings, float(training_scores.mean()), spread if spread > 0 else 1.0,
            remarks,
        )  # fmt: skip

    def _refits(self, fitted: Fitted, parts: list[Fitted], fold: Any) -> Refits:
        """As `Refits.of`, on the rows of the sample."""
        folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(len(parts))]
        y, weight = self.rows.y, self.rows.weight
        scores, seen = np.empty(y.size), np.empty(y.size)
        for k, (part, (_, test)) in enumerate(zip(parts, folds, strict=True)):
            scores[test] = part.standardised(finite_scores(part.scores(self.X[test]), test.size))
            before = folds[k - 1][1]
            seen[before] = part.standardised(part.scores(self.X[before]))
        area = area_over_folds(y, [folds], [scores], [seen], weight, None)
        return Refits(folds, parts, scores, seen, area, fitted)
