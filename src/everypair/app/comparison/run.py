"""The comparison: every model on the same folds, judged on rows that it did not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.app.check.table import Check, check_table, truths
from everypair.app.comparison.additive_options import AdditiveOptions
from everypair.app.comparison.all_rows import BLOCKWISE, AllRows, FoldFits
from everypair.app.comparison.budget import Budget, Plan
from everypair.app.comparison.by_column import Gathered, with_columns
from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.directions import Directions
from everypair.app.comparison.headline import headline_of
from everypair.app.comparison.inside_groups import (
    in_groups,
    independent_units,
    spread_over_groups,
)
from everypair.app.comparison.judge import area_over_folds, verdict_of
from everypair.app.comparison.l1_path import path_summary
from everypair.app.comparison.model_results import against_baseline, recommended_of, result_of
from everypair.app.comparison.models import candidates_of
from everypair.app.comparison.probabilities import with_probabilities
from everypair.app.comparison.records import Comparison, versions
from everypair.app.comparison.search import splits_of
from everypair.app.comparison.standard import Standard
from everypair.app.comparison.summary import summarise
from everypair.app.comparison.tally import Tally, refit, run_split
from everypair.app.comparison.typed_measure import AUC, parse_measure
from everypair.app.comparison.yardstick import AREA, Yardstick
from everypair.app.encode import encoder_for, unused
from everypair.app.tables import as_table
from everypair.app.wording import counted
from everypair.metrics.held_out import HeldOutArea
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

SCALE = (
    "Scores are those of the model of each row's fold, less the mean and in units of the spread "
    "of its training scores. At the model's own threshold each row is classified by the model "
    "of its own fold. The threshold shown classifies the same number of rows as positive."
)


def compare_methods(
    X: Any,
    y: ArrayLike,
    *,
    models: Sequence[str] | None = None,
    n_folds: int = 5,
    n_repeats: int = 2,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    measure: str = AUC,
    increasing: Sequence[str] = (),
    decreasing: Sequence[str] = (),
    interactions: int | str = 0,
    sparsity: float | str = 0.0,
    budget: float | None = None,
    path: bool = False,
    columns: bool = False,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    all_rows: AllRows | None = None,
    check: Check | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Every method beside scikit-learn's, on the same folds.

    In each split the table is encoded (`everypair.app.encode`) and each model's settings are chosen
    on the training rows alone; the held-out rows are then scored. A model that fails becomes a
    line that says why.

    Parameters
    ----------
    X : Arrow table, pandas or polars frame, mapping of columns, array or CSR matrix
        Without the target.
    y : array of bool of shape (n_rows,)
        True where the row is positive.
    models : list of str, default=None
        Names of `everypair.app.comparison.models.CANDIDATES`; all when None. ``"everypair"`` and
        ``"baselines"`` name the two groups.
    n_folds : int, default=5
        Stratified folds of each repeat.
    n_repeats : int, default=2
        Repeats; folds are drawn anew for each.
    groups : array of shape (n_rows,), default=None
        Rows of one group are held out together.
    within : array of shape (n_rows,), default=None
        Labels of groups (a user, a query, a day): models are judged by the AUC inside them, and
        trained on the pairs inside them where the method can. Where there are at least ten, and no
        ``groups``, each is held out whole.
    sample_weight : array of shape (n_rows,), default=None
        Weights >= 0, used in every AUC, and in training where the method can.
    seed : int, default=0
        Of the folds and of what the methods draw.
    measure : str, default="auc"
        What models are judged by, such as ``"f1"``, ``"recall@fpr=0.01"`` or
        ``"precision@top=500"`` (`everypair.app.comparison.typed_measure.FORMS`). Settings are
        searched by it, with a cut from other folds; auc-l1, auc-rls, rankopt and additive search
        theirs by AUC. The model ``measure-opt`` is trained on the measure, and ``boosting-pairs``
        chooses its number of rounds by it. With ``within``, AUC or
        ``"precision@top=5"`` and ``"recall@top=5"``: of the five best rows of each group.
    increasing : list of str, default=()
        Columns of numbers in which the score of ``auc``, ``additive``, ``boosting`` and
        ``boosting-pairs`` may not fall. The other models do not keep this, and a note says so.
    decreasing : list of str, default=()
        Columns in which it may not rise.
    interactions : int or "auto", default=0
        Pairs of columns that ``additive`` tries, as in `everypair.AUCAdditiveCV`.
    sparsity : float or "auto", default=0.0
        From 0, where ``additive`` keeps every column, to below 1. Not with directions.
    budget : float, default=None
        Seconds. Work that will not fit is not begun: first the later repeats are left out, then
        the slowest models, which ``not_run`` names. The first model is measured in any case.
    path : bool, default=False
        Also fit the L1 path on the whole table.
    columns : bool, default=False
        Also measure on the held-out rows of the first repeat what each column of the table is
        worth to each model.
    labels : mapping, default=None
        ``source``, ``target``, ``positive`` and ``command`` for the record.
    notes : list of str, default=()
        Sentences to keep with the result.
    all_rows : AllRows, default=None
        The rows of the table that X is a sample of, in blocks. Methods that can are fitted on all
        of them; folds are by a hash of the row's number. None: X is the table.
    check : Check, default=None
        What `everypair.app.check_table` found with these groups; None runs it. Columns that it
        leaves out are not learnt from, and copies of a row stay in one fold.
    progress : callable, default=None
        Called with the name of each step as it begins.

    Returns
    -------
    Comparison
        ``models``, best first, each with its interval and its difference to the best
        baseline; ``recommended``, the simplest one within one standard error of the best; and
        what the report needs.

    See Also
    --------
    check_table : The data check that it begins with.
    everypair.metrics.compare_models : Tests between scores that are there already.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair.app import compare_methods
    >>> X, y = make_classification(200, 5, n_informative=3, n_redundant=0, shuffle=False,
    ...                            random_state=0)
    >>> found = compare_methods(X, y == 1, models=["auc", "logistic"], n_repeats=1)
    >>> sorted(model.name for model in found.models), found.best_baseline
    (['auc', 'logistic'], 'logistic')
    """
    table = as_table(X)
    y = truths(y, table.shape[0])
    directions = Directions(increasing, decreasing).checked(table)
    inside, check, group = _checked(table, y, within, groups, check, all_rows)
    X = check.used(table)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    standard = Standard.of(measure, Rows.of(y, weight, pos_label=True, within=inside))
    candidates = AdditiveOptions(interactions, sparsity).among(
        candidates_of(models, None if standard is None else standard.as_share), bool(directions)
    )
    searched_by = AREA if standard is None else standard.yardstick
    notify = progress or (lambda what: None)
    splits, fits = _folds(
        y, weight, group, n_folds, n_repeats, seed, searched_by, all_rows,
        # A budget leaves out models and repeats by how long others took.
        [c for c in candidates if c.name in BLOCKWISE and budget is None],
    )  # fmt: skip
    tallies = {c.name: Tally.of(y.size, n_repeats, seed if columns else None) for c in candidates}
    plan = Plan(Budget(budget), {name: tally.seconds for name, tally in tallies.items()}, n_folds)
    for repeat, folds in enumerate(splits):
        if not plan.has_time_for_repeat(repeat):
            for tally in tallies.values():
                del tally.scores[repeat:], tally.seen[repeat:]
            n_repeats = repeat
            break
        for k, split in enumerate(folds):
            where = f"fold {repeat * n_folds + k + 1} of {n_folds * len(splits)}"
            plan.begin_fold(repeat, k)
            run_split(
                candidates, plan, tallies, X, y, weight, group, inside, split, folds[k - 1][1],
                repeat, seed, partial(_notify, notify, where), directions, searched_by,
                fits, k,
            )  # fmt: skip
    candidates = [candidate for candidate in candidates if candidate.name not in plan.not_run]
    encoder = encoder_for(X).fit(X) if all_rows is None else all_rows.encoder
    whole = encoder.transform(X)
    names = [str(name) for name in encoder.get_feature_names_out()]
    results, areas, gathered = [], dict[str, HeldOutArea](), dict[str, Gathered]()
    for candidate in [directions.onto(candidate, encoder) for candidate in candidates]:
        tally = tallies[candidate.name]
        notify(f"all rows, {candidate.name}")
        final = refit(candidate, tally, whole, y, weight, group, inside, seed, searched_by, fits)
        if final is not None:
            areas[candidate.name] = area_over_folds(
                y, splits[:n_repeats], tally.scores, tally.seen, weight,
                independent_units(group, inside), inside,
            )  # fmt: skip
        results.append(result_of(candidate, tally, final, names, areas.get(candidate.name)))
        if final is not None and tally.permuted is not None:
            gathered[candidate.name] = Gathered(tally.permuted, final.coef, final.model)
    results = with_probabilities(results, splits[0], y, weight)
    if columns:
        results = with_columns(results, gathered, encoder, whole, y, weight, splits[0])
    if standard is not None:
        notify(f"intervals of {standard.measure.typed}")
        results = standard.judge(
            results, y, splits[:n_repeats], {name: tallies[name].scores for name in areas}, weight,
            independent_units(group, inside), seed, {name: tallies[name].seen for name in areas},
            {name: area.kappa for name, area in areas.items()}, inside,
        )  # fmt: skip
    results, best_baseline = against_baseline(results, areas, standard)
    remarks, summary = unused(encoder), None
    if path:
        summary = path_summary(whole, y, weight, group, seed, names, remarks)
    remarks += _remarks(
        {c.name: tallies[c.name].remarks + directions.ignored_by(c) for c in candidates}
    )
    remarks += spread_over_groups(results, y, inside, weight) + plan.notes(n_repeats, len(splits))
    remarks += [] if standard is None else standard.remarks()
    remarks += [] if all_rows is None else all_rows.remarks([r.name for r in results])
    said_labels, by = dict(labels or {}), None if standard is None else standard.measure
    best = recommended_of(results, by)
    return Comparison(
        source=said_labels.get("source", ""),
        target=said_labels.get("target", ""),
        positive=said_labels.get("positive", "True"),
        y=y,
        models=results,
        best_baseline=best_baseline,
        verdict=verdict_of(results, best_baseline, by),
        columns=summarise(table),
        folds=f"{n_folds} folds x {counted(n_repeats, 'repeat')}",
        seed=seed,
        command=said_labels.get("command", ""),
        versions=versions(),
        weights=weight,
        path=summary,
        scale=SCALE if standard is None else standard.scale,
        findings=check.findings,
        notes=(*notes, *remarks),
        recommended=best,
        not_run=plan.not_run,
        measure=by,
        headline=next(
            (headline_of(y, r.scores, weight, group) for r in results if r.name == best), None
        ),
        within=None if within is None else np.asarray(within),
    )


def _folds(
    y: Bool,
    weight: Array | None,
    group: NDArray[np.intp] | None,
    n_folds: int,
    n_repeats: int,
    seed: int,
    by: Yardstick,
    all_rows: AllRows | None,
    together: Sequence[Candidate],
) -> tuple[list[list[tuple[Index, Index]]], FoldFits | None]:
    """The folds of each repeat, and the fits on all rows outside them where X is a sample."""
    if all_rows is None:
        return [splits_of(y, group, n_folds, seed + r) for r in range(n_repeats)], None
    splits = [all_rows.splits(n_folds, seed + r) for r in range(n_repeats)]
    return splits, FoldFits(all_rows, y, weight, splits, seed, by, together)


def _remarks(said: Mapping[str, Sequence[str]]) -> list[str]:
    """The first remark of each kind per model: other folds say the same with other numbers."""
    out = []
    for name, remarks in said.items():
        kinds = {remark.split(":")[0]: remark for remark in reversed(remarks)}
        out += [f"{name} {remark}." for remark in reversed(kinds.values())]
    return out


def _notify(notify: Callable[[str], None], where: str, name: str) -> None:
    notify(f"{where}, {name}")


def n_steps(models: Sequence[str] | None, n_folds: int, n_repeats: int, measure: str = AUC) -> int:
    """How often `compare_methods` will call ``progress``."""
    by = parse_measure(measure)
    return len(candidates_of(models, by)) * (n_folds * n_repeats + 1) + (by is not None)


def _checked(
    table: Any,
    y: Bool,
    within: ArrayLike | None,
    groups: ArrayLike | None,
    check: Check | None,
    all_rows: AllRows | None,
) -> tuple[Index | None, Check, Index | None]:
    """The groups inside which rows are paired, the data check, and the rows that stay together.

    Folds by a hash of the row's number keep no rows together.
    """
    inside, groups = in_groups(y, within, groups)
    check = check_table(table, y, groups=groups) if check is None else check
    if check.groups is None or all_rows is not None:
        return inside, check, None
    return inside, check, np.unique(check.groups, return_inverse=True)[1]
