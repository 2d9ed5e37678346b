"""`everypair fit` on a table larger than memory: a folder of Parquet files, or a large one.

One pass learns the encoder and draws a sample of rows. The data check, the method and its settings
come from the sample, as they do for a table in memory. The model and those of three folds are then
fitted on all rows, block by block; they share each pass. What the folds say of held-out rows comes
from the rows of the sample.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from everypair.app.cli.fit_plan import CHECKED_ROWS, Done, FitPlan, FitRequest, saved_model
from everypair.app.cli.guard import naming
from everypair.app.cli.inputs import Labelled
from everypair.app.cli.large_inputs import load_large
from everypair.app.cli.show import progress
from everypair.app.comparison.all_rows import BLOCKWISE, BY_ITSELF, AllRows, WantedFit
from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.judge import area_over_folds
from everypair.app.comparison.models import catalogue
from everypair.app.comparison.race import choose
from everypair.app.comparison.refits import Refits
from everypair.app.comparison.search import SEARCH_FOLDS, Fitted
from everypair.app.comparison.yardstick import AREA
from everypair.app.encode import unused
from everypair.app.files.problems import DataError
from everypair.app.large_table import EncodedRows
from everypair.app.tables import take_rows
from everypair.app.wording import counted
from everypair.checks import finite_scores
from everypair.linalg.block_folds import HashedFolds


def fit_large(asked: FitRequest) -> Done:
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
        all_rows = AllRows(EncodedRows(table, encoder, positive), numbers, X)
        fits = _fits(all_rows, plan.candidate, settings, seed, wanted.held_out)
        fitted, refits = fits[0], _refits(all_rows, fits, rows, seed)
        clock.append(time.perf_counter())
        cut = None if by is None or refits is None else plan.cut(by, refits, rows, seed)
        rows.notes += [*said, *plan.remarks(fitted)]
        rows.notes.append(f"the rows were read {counted(all_rows.n_passes, 'time')} for the fits.")
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


def _check_options(asked: FitRequest) -> None:
    source, columns, method = asked.source, asked.columns, asked.method
    if columns.target is None:
        raise DataError("say which column is the target: --target COLUMN.", source.path)
    in_memory = "needs the table in memory, but this table is read in pieces"
    refused = {
        "--group": columns.group, "--within": columns.within, "--from": asked.told,
        "--increasing": columns.increasing, "--decreasing": columns.decreasing,
        "--interactions": columns.interactions, "--sparsity": columns.sparsity,
    }  # fmt: skip
    for option, given in refused.items():
        if given is not None:
            raise DataError(f"{option} {in_memory}: leave it out.", source.path)
    if method not in ("auto", *BLOCKWISE):
        raise DataError(
            f"--method {method} {in_memory}: use {', '.join(BLOCKWISE)}, or a sample of the rows.",
            source.path,
        )


def _plan(asked: FitRequest, X: Any, rows: Labelled) -> FitPlan:
    known, budget, seed = catalogue(asked.by), asked.budget, asked.seed
    if asked.method != "auto":
        return FitPlan(known[asked.method])
    if asked.fast:
        return FitPlan(known["auc"])
    candidates = [known[name] for name in BY_ITSELF]
    with progress(None, asked.show.silent) as advance:
        choice = choose(
            candidates, X, rows.y, rows.weight, rows.check.groups, seed, budget, advance, None, AREA
        )
    return FitPlan(choice.candidate, choice.settings, AREA, choice, choice.sentences(budget))


def _fits(
    rows: AllRows, candidate: Candidate, settings: dict[str, Any], seed: int, held_out: bool
) -> list[Fitted]:
    """The model of all rows, and those of the folds."""
    folds = HashedFolds(SEARCH_FOLDS, seed)
    parts: list[tuple[HashedFolds, int] | None] = [None]
    if held_out:
        parts += [(folds, k) for k in range(SEARCH_FOLDS)]
    return [of.found() for of in rows.fit([WantedFit(candidate, settings, part) for part in parts])]


def _refits(all_rows: AllRows, fits: list[Fitted], rows: Labelled, seed: int) -> Refits | None:
    """As `Refits.of`, on the rows of the sample."""
    fitted, *parts = fits
    if not parts:
        return None
    X, folds = all_rows.X, all_rows.splits(len(parts), seed)
    scores, seen = np.empty(rows.y.size), np.empty(rows.y.size)
    for k, (part, (_, test)) in enumerate(zip(parts, folds, strict=True)):
        scores[test] = part.standardised(finite_scores(part.scores(X[test]), test.size))
        before = folds[k - 1][1]
        seen[before] = part.standardised(part.scores(X[before]))
    area = area_over_folds(rows.y, [folds], [scores], [seen], rows.weight, None)
    return Refits(folds, parts, scores, seen, area, fitted)
