"""What `everypair fit` was asked for, the plan that is made of it, and what is done in memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everypair.app.cli import options as opt
from everypair.app.cli.guard import naming
from everypair.app.cli.show import progress

if TYPE_CHECKING:
    from everypair.app import Check
    from everypair.app.cli.held_out_rows import DecisionOptions
    from everypair.app.cli.inputs import Labelled
    from everypair.app.comparison.budget import Budget
    from everypair.app.comparison.candidate import Candidate
    from everypair.app.comparison.own_cut import OwnCut
    from everypair.app.comparison.race import Choice
    from everypair.app.comparison.refits import Refits
    from everypair.app.comparison.rule import ChosenCut
    from everypair.app.comparison.search import Fitted
    from everypair.app.comparison.typed_measure import TypedMeasure
    from everypair.app.comparison.yardstick import Yardstick
    from everypair.app.files.readers import Source
    from everypair.app.model_file.store import SavedModel
    from everypair.rows import Rows

CHECKED_ROWS = 100
"""Training rows that the saved model must score as the fitted one does."""


@dataclass(frozen=True)
class FitRequest:
    """The options of the command, checked."""

    data: Path
    source: Source
    columns: opt.DirectedColumns
    method: str
    by: TypedMeasure | None
    fast: bool
    budget: Budget
    wanted: DecisionOptions
    told: Any
    """What --from brings; None without it."""
    seed: int
    show: opt.Show


@dataclass(frozen=True)
class Done:
    """What the command writes and says."""

    model: SavedModel
    plan: FitPlan
    refits: Refits | None
    cut: OwnCut | None
    chosen: ChosenCut | None
    check: Check
    some: Any
    """Rows of the table that the saved model must score as the fitted one does."""
    n_features: int
    spent: Sequence[float]


@dataclass(frozen=True)
class FitPlan:
    """What to fit, and how that was chosen."""

    candidate: Candidate
    settings: dict[str, Any] | None = None  # None: to be searched, by the yardstick
    by: Yardstick | None = None  # None: the AUC
    choice: Choice | None = None
    notes: Sequence[str] = ()

    def fit(self, X: Any, rows: Labelled, seed: int) -> Fitted:
        from everypair.app.comparison.search import fit_candidate
        from everypair.app.comparison.yardstick import AREA

        return fit_candidate(
            self.candidate, X, rows.y, rows.weight, rows.check.groups, seed, self.settings,
            rows.within, self.by or AREA,
        )  # fmt: skip

    def remarks(self, fitted: Fitted) -> list[str]:
        out = [*self.notes, *(f"{self.candidate.name} {remark}." for remark in fitted.remarks)]
        if getattr(fitted.model, "chose_start_", False):
            out.append("measure-opt is a logistic regression here: no climb was clearly better.")
        return out

    def cut(self, measure: TypedMeasure, refits: Refits, rows: Labelled, seed: int) -> OwnCut:
        from everypair.app.comparison.own_cut import own_cut

        return own_cut(measure, refits, rows.y, rows.weight, rows.check.groups, seed, rows.within)


def plan_of(
    method: str,
    by: TypedMeasure | None,
    known: dict[str, Candidate],
    fast: bool,
    budget: Budget,
    X: Any,
    rows: Labelled,
    seed: int,
    show: opt.Show,
) -> FitPlan:
    from everypair.app.comparison.models import fast_models
    from everypair.app.comparison.race import choose

    if method not in ("auto", *known):
        raise ValueError(
            f"--method {method} does not keep --increasing and --decreasing: use "
            f"{', '.join(known)} or auto."
        )
    yardstick = yardstick_of(by, rows)
    if method != "auto" and budget.seconds is None:
        return FitPlan(known[method], by=yardstick)
    names = (method,) if method != "auto" else fast_models(by) if fast else known
    candidates = [known[name] for name in names if name in known]
    with progress(None, show.silent) as advance:
        choice = choose(
            candidates, X, rows.y, rows.weight, rows.check.groups, seed, budget, advance,
            rows.within, yardstick,
        )  # fmt: skip
    return FitPlan(choice.candidate, choice.settings, yardstick, choice, choice.sentences(budget))


def yardstick_of(by: TypedMeasure | None, rows: Labelled) -> Yardstick:
    """What settings are searched by."""
    from everypair.app.comparison.yardstick import AREA, ByMeasure

    return AREA if by is None else ByMeasure.of(by, _rows_of(rows))


def _rows_of(rows: Labelled) -> Rows:
    from everypair.rows import Rows

    return Rows.of(rows.y, rows.weight, within=rows.within)


def fit_in_memory(asked: FitRequest) -> Done:
    """The model of a table that fits in memory."""
    from everypair.app.cli.inputs import load_labelled
    from everypair.app.comparison.models import catalogue
    from everypair.app.comparison.summary import column_names
    from everypair.app.encode import unused

    told, wanted, seed, show = asked.told, asked.wanted, asked.seed, asked.show
    clock = [time.perf_counter()]
    rows = load_labelled(asked.source, asked.columns, show)
    asked.columns.directions.checked(rows.X)
    if told is not None:
        told.check_fits(rows.y.size, int(rows.y.sum()), column_names(rows.X))
    clock.append(time.perf_counter())
    with naming(asked.data):
        encoder, X, some = _encoded(rows)
    rows.X = None  # the matrix is all that is needed from here on
    said, n_notes = unused(encoder), len(rows.notes)
    show.notes(said)
    clock.append(time.perf_counter())
    with naming(asked.data):
        by = None if asked.by is None else asked.by.as_share(_rows_of(rows))
        known = asked.columns.directions.keeping(catalogue(by), encoder)
        known = {name: asked.columns.additive.onto(found) for name, found in known.items()}
        plan = (
            plan_of(asked.method, by, known, asked.fast, asked.budget, X, rows, seed, show)
            if told is None
            else FitPlan(known[told.method], told.settings, yardstick_of(by, rows))
        )
        fitted = plan.fit(X, rows, seed)
        clock.append(time.perf_counter())
        refits = wanted.refits(plan.candidate, fitted, X, rows, by, seed)
        cut = None if by is None or refits is None else plan.cut(by, refits, rows, seed)
        rows.notes += [*said, *plan.remarks(fitted)]
        name = opt.name_of(asked.data)
        model = saved_model(rows, encoder, X, plan, fitted, name, by, cut)
        model, chosen = wanted.onto(model, refits, X, rows, seed)
    clock.append(time.perf_counter())
    show.notes([note for note in rows.notes[n_notes:] if note not in said])
    spent = [after - before for before, after in pairwise(clock)]
    return Done(model, plan, refits, cut, chosen, rows.check, some, int(X.shape[1]), spent)


def _encoded(rows: Labelled) -> tuple[Any, Any, Any]:
    """The encoder, the matrix, and some rows of the table to score once the model is saved."""
    import numpy as np

    from everypair.app.encode import encoder_for
    from everypair.app.tables import take_rows

    used = rows.check.used(rows.X)
    encoder = encoder_for(used).fit(used)
    some = take_rows(used, np.arange(min(len(rows.y), CHECKED_ROWS)))
    return encoder, encoder.transform(used), some


def saved_model(
    rows: Labelled,
    encoder: Any,
    X: Any,
    plan: FitPlan,
    fitted: Fitted,
    source: str,
    by: TypedMeasure | None,
    cut: OwnCut | None,
) -> SavedModel:
    from everypair.app.comparison.records import versions
    from everypair.app.model_file.store import SavedModel
    from everypair.metrics import auc_score

    return SavedModel(
        encoder=encoder,
        estimator=fitted.model,
        method=plan.candidate.name,
        settings=fitted.settings,
        target=rows.target,
        positive=rows.positive,
        negative=rows.negative,
        n_rows=int(rows.y.size),
        n_positive=int(rows.y.sum()),
        train_auc=float(
            auc_score(rows.y, fitted.scores(X), sample_weight=rows.weight, within=rows.within)
        ),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source,
        notes=rows.sentences(),
        measure="" if by is None else by.typed,
        cut=0.0 if cut is None else cut.cut,
    )
