"""The comparison: every model on the same folds, judged on rows that it did not see."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.app.check.table import Check, check_table, truths
from everypair.app.comparison.budget import Budget, Plan
from everypair.app.comparison.by_column import Gathered, with_columns
from everypair.app.comparison.by_measure import Difference
from everypair.app.comparison.headline import headline_of
from everypair.app.comparison.judge import LEVEL, area_over_folds, cut_calling, verdict_of
from everypair.app.comparison.l1_path import l1_path
from everypair.app.comparison.measure import AUC, Measure, measure_of
from everypair.app.comparison.models import Candidate, candidates_of
from everypair.app.comparison.probabilities import with_probabilities
from everypair.app.comparison.recommend import recommended
from everypair.app.comparison.result import Comparison, ModelResult, PathSummary
from everypair.app.comparison.search import Fitted, TooFewRows, fit_candidate, splits_of
from everypair.app.comparison.sentences import what_is
from everypair.app.comparison.standard import Standard
from everypair.app.encode import as_table, encoder_for, take_rows, unused
from everypair.app.explain.blocks import blocks_of
from everypair.app.explain.worth import Permuted
from everypair.app.wording import counted
from everypair.metrics.held_out import HeldOutArea, HeldOutDifference, held_out_difference
from everypair.rows import Rows, finite_scores

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

MOST_WEIGHTS = 1000
"""Coefficients kept for the record: the largest of a wide model."""

PATH_STEPS, PATH_FEATURES = 40, 50

PATH_RULE = (
    "It is the largest alpha whose AUC over three folds is within one standard error of the best; "
    "auc-l1 in the table takes the best alpha of a longer path, so that it may keep more features."
)

SCALE = (
    "Scores are those of the model of each row's fold, less the mean and in units of the spread of "
    "its training scores. At the model's own threshold each row is called as the model of its fold "
    "calls it; the threshold shown calls as many."
)


@dataclass
class _Tally:
    """What one model has done so far."""

    scores: list[Array]  # standardised, a list for each repeat
    seen: list[Array]  # by the model of the next fold, which trained on the row
    called: Bool  # in the first repeat, by the model of the row's fold
    seconds: list[float] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failure: str | None = None
    permuted: Permuted | None = None  # what columns are worth, where that is asked for

    @classmethod
    def of(cls, n_rows: int, n_repeats: int, seed: int | None) -> _Tally:
        """Nothing yet; with a seed, columns are permuted."""
        unknown = [np.full(n_rows, np.nan) for _ in range(2 * n_repeats)]
        none = np.zeros(n_rows, dtype=bool)
        permuted = None if seed is None else Permuted(seed)
        return cls(unknown[:n_repeats], unknown[n_repeats:], none, permuted=permuted)


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
    budget: float | None = None,
    path: bool = False,
    columns: bool = False,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
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
        ``"precision@top=500"`` (`everypair.app.comparison.measure.FORMS`). Settings are searched
        by AUC; the model ``measure-opt`` is trained on the measure.
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
    inside, check = _checked(table, y, within, groups, check, measure)
    X = check.used(table)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    group = None if check.groups is None else np.unique(check.groups, return_inverse=True)[1]
    standard = Standard.of(measure, Rows.of(y, weight, pos_label=True))
    candidates = candidates_of(models, None if standard is None else standard.as_share)
    notify = progress or (lambda what: None)
    splits = [splits_of(y, group, n_folds, seed + r) for r in range(n_repeats)]
    tallies = {c.name: _Tally.of(y.size, n_repeats, seed if columns else None) for c in candidates}
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
            _one_split(
                candidates, plan, tallies, X, y, weight, group, inside, split, folds[k - 1][1],
                repeat, seed, partial(_notify, notify, where),
            )  # fmt: skip
    candidates = [candidate for candidate in candidates if candidate.name not in plan.not_run]
    encoder = encoder_for(X).fit(X)
    whole = encoder.transform(X)
    names = [str(name) for name in encoder.get_feature_names_out()]
    results, areas, gathered = [], dict[str, HeldOutArea](), dict[str, Gathered]()
    for candidate in candidates:
        tally = tallies[candidate.name]
        notify(f"all rows, {candidate.name}")
        final = _refit(candidate, tally, whole, y, weight, group, inside, seed)
        if final is not None:
            areas[candidate.name] = area_over_folds(
                y, splits[:n_repeats], tally.scores, tally.seen, weight, _units(group, inside),
                inside,
            )  # fmt: skip
        results.append(_result(candidate, tally, final, names, areas.get(candidate.name)))
        if final is not None and tally.permuted is not None:
            gathered[candidate.name] = Gathered(tally.permuted, final.coef)
    results = with_probabilities(results, splits[0], y, weight)
    if columns:
        results = with_columns(results, gathered, encoder, whole, y, weight, splits[0])
    if standard is not None:
        notify(f"intervals of {standard.measure.typed}")
        results = standard.judge(
            results, y, splits[:n_repeats], {name: tallies[name].scores for name in areas}, weight,
            group, seed, {name: tallies[name].seen for name in areas},
            {name: area.kappa for name, area in areas.items()},
        )  # fmt: skip
    results, best_baseline = _against_baseline(results, areas, standard)
    remarks, summary = unused(encoder), None
    if path:
        summary = _path_summary(whole, y, weight, group, seed, names, remarks)
    remarks += _remarks({c.name: tallies[c.name].remarks for c in candidates})
    remarks += _spread(results, y, inside, weight) + plan.notes(n_repeats, len(splits))
    remarks += [] if standard is None else standard.remarks()
    said_labels, by = dict(labels or {}), None if standard is None else standard.measure
    best = _recommended(results, by)
    return Comparison(
        source=said_labels.get("source", ""),
        target=said_labels.get("target", ""),
        positive=said_labels.get("positive", "True"),
        y=y,
        models=results,
        best_baseline=best_baseline,
        verdict=verdict_of(results, best_baseline, by),
        columns=_columns(table),
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
    )


def _remarks(said: Mapping[str, Sequence[str]]) -> list[str]:
    """Of each model the first of each kind: folds say the same with other numbers."""
    out = []
    for name, remarks in said.items():
        kinds = {remark.split(":")[0]: remark for remark in reversed(remarks)}
        out += [f"{name} {remark}." for remark in reversed(kinds.values())]
    return out


def _notify(notify: Callable[[str], None], where: str, name: str) -> None:
    notify(f"{where}, {name}")


def n_steps(models: Sequence[str] | None, n_folds: int, n_repeats: int, measure: str = AUC) -> int:
    """How often `compare_methods` will call ``progress``."""
    by = measure_of(measure)
    return len(candidates_of(models, by)) * (n_folds * n_repeats + 1) + (by is not None)


def _one_split(
    candidates: Sequence[Candidate],
    plan: Plan,
    tallies: Mapping[str, _Tally],
    X: Any,
    y: Bool,
    weight: Array | None,
    group: NDArray[Any] | None,
    within: NDArray[np.intp] | None,
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    before: NDArray[np.intp],
    repeat: int,
    seed: int,
    notify: Callable[[str], None],
) -> None:
    """Every model on one split; it also scores the fold ``before``, which it trained on."""
    train, test = split
    X_train = take_rows(X, train)
    encoder = encoder_for(X).fit(X_train)
    encoded, held_out = encoder.transform(X_train), encoder.transform(take_rows(X, test))
    weight_train = None if weight is None else weight[train]
    trained_before = encoded[np.searchsorted(train, before)]
    group_train = None if group is None else group[train]
    for candidate in candidates:
        tally = tallies[candidate.name]
        notify(candidate.name)
        if tally.failure is not None or not plan.may_start(candidate.name):
            continue
        began = time.perf_counter()
        try:
            fitted = fit_candidate(
                candidate, encoded, y[train], weight_train, group_train, seed,
                within=None if within is None else within[train],
            )  # fmt: skip
            tally.seconds.append(time.perf_counter() - began)
            scores = finite_scores(fitted.scores(held_out), test.size)
            tally.scores[repeat][test] = fitted.standardised(scores)
            tally.seen[repeat][before] = fitted.standardised(fitted.scores(trained_before))
            tally.remarks += fitted.remarks
            if repeat == 0:
                tally.called[test] = scores > 0
            if repeat == 0 and tally.permuted is not None:
                tally.permuted.add(
                    blocks_of(encoder), fitted.standard_scores, fitted.standard_coef, held_out,
                    y[test], None if weight is None else weight[test],
                )  # fmt: skip
        except Exception as trouble:  # any failure of one model is that model's alone
            tally.failure = _sentence(trouble)


FOLD_GROUPS = 10
"""So many groups of ``within`` stay whole in the folds; the rows of fewer are dealt over them."""


def in_groups(
    y: Bool, within: ArrayLike | None, groups: ArrayLike | None
) -> tuple[NDArray[np.intp] | None, ArrayLike | None]:
    """The groups inside which rows are paired, numbered, and those that stay in one fold."""
    if within is None:
        return None, groups
    rows = Rows.uncut(y, None, within)
    assert rows.within is not None
    codes = rows.within.codes
    if groups is None and rows.paired.n_groups >= FOLD_GROUPS:
        groups = codes
    return codes, groups


def _units(group: NDArray[Any] | None, within: NDArray[np.intp] | None) -> NDArray[Any] | None:
    """What is independent of the rest: the groups of the folds, or those that rows are paired in.

    Where the former cut the latter, a row's influence is only known with its whole group.
    """
    if within is None or group is None:
        return group if within is None else within
    together = np.unique(within.astype(np.int64) * (int(group.max()) + 1) + group)
    return group if together.size == np.unique(within).size else within


def _checked(
    table: Any,
    y: Bool,
    within: ArrayLike | None,
    groups: ArrayLike | None,
    check: Check | None,
    measure: str,
) -> tuple[NDArray[np.intp] | None, Check]:
    """The groups inside which rows are paired, and the data check."""
    inside, groups = in_groups(y, within, groups)
    if inside is not None and measure != AUC:
        raise ValueError("within is judged by AUC: leave out the measure.")
    return inside, check_table(table, y, groups=groups) if check is None else check


def _spread(
    results: Sequence[ModelResult],
    y: Bool,
    within: NDArray[np.intp] | None,
    weight: Array | None,
) -> list[str]:
    """How the groups differ under the best model, in one sentence."""
    from everypair.metrics import auc_by_group

    best = next((result for result in results if result.failure is None), None)
    if within is None or best is None:
        return []
    areas = auc_by_group(y, best.scores, within, weight)
    low, middle, high = np.quantile(areas.auc, [0.25, 0.5, 0.75])
    below = float(np.mean(areas.auc < 0.5))
    without = int(np.unique(within).size) - areas.auc.size
    return [
        f"inside groups: {counted(areas.auc.size, 'group')} with a pair, {without} without; AUC of "
        f"{best.name} in half of the groups from {low:.3f} to {high:.3f}, median {middle:.3f}, "
        f"below 1/2 in {100 * below:.0f} %."
    ]


def _sentence(trouble: Exception) -> str:
    text = " ".join(str(trouble).split()) or type(trouble).__name__
    return text[:300]


def _refit(
    candidate: Candidate,
    tally: _Tally,
    X: Any,
    y: Bool,
    weight: Array | None,
    group: NDArray[Any] | None,
    within: NDArray[np.intp] | None,
    seed: int,
) -> Fitted | None:
    if tally.failure is not None:
        return None
    try:
        return fit_candidate(candidate, X, y, weight, group, seed, within=within)
    except Exception as trouble:
        tally.failure = _sentence(trouble)
        return None


def _result(
    candidate: Candidate,
    tally: _Tally,
    final: Fitted | None,
    names: Sequence[str],
    area: HeldOutArea | None,
) -> ModelResult:
    if final is None or area is None:
        nothing = np.full(tally.called.size, np.nan)
        return ModelResult(
            candidate.name, candidate.kind, np.nan, np.nan, np.nan, np.array([]), np.nan,
            nothing, 0.0, {}, failure=tally.failure,
        )  # fmt: skip
    low, high = area.interval(LEVEL)
    weights = coefficients_of(final.model, names)
    used = None if weights is None else int(np.count_nonzero(final.model.coef_))
    return ModelResult(
        name=candidate.name,
        kind=candidate.kind,
        auc=area.auc,
        low=low,
        high=high,
        fold_auc=area.fold_auc,
        fit_seconds=float(np.median(tally.seconds)),
        scores=tally.scores[0],
        threshold=cut_calling(int(np.count_nonzero(tally.called)), tally.scores[0]),
        settings=final.settings,
        n_features=used,
        coefficients=weights,
        called=tally.called,
        what=what_is(candidate.name),
    )


def coefficients_of(model: Any, names: Sequence[str]) -> dict[str, float] | None:
    """Weight of each feature, largest first; None for a model that has none."""
    coef = getattr(model, "coef_", None)
    if coef is None:
        return None
    coef = np.ravel(coef)
    order = np.argsort(-np.abs(coef), kind="stable")[:MOST_WEIGHTS]
    return {names[k]: float(coef[k]) for k in order}


def _against_baseline(
    results: list[ModelResult], areas: Mapping[str, HeldOutArea], standard: Standard | None
) -> tuple[list[ModelResult], str]:
    """Best first, failures last, each beside the best baseline."""
    sign = 1.0 if standard is None else standard.measure.sign
    results = sorted(
        results, key=lambda r: (r.failure is not None, -np.nan_to_num(sign * r.judged))
    )
    baselines = [r for r in results if r.kind == "baseline" and r.failure is None]
    if not baselines:
        return results, ""
    base = baselines[0]
    compared = []
    for result in results:
        if result.failure is None and result.name != base.name:
            # The best baseline is chosen on these folds, among those that the model is not.
            n_rivals = len(baselines) - (result.kind == "baseline")
            found: HeldOutDifference | Difference = (
                held_out_difference(areas[result.name], areas[base.name], LEVEL, n_rivals)
                if standard is None
                else standard.difference(result.name, base.name, n_rivals)
            )
            low, high = sorted((sign * found.low, sign * found.high))
            result = replace(  # noqa: PLW2901
                result,
                difference=sign * found.difference,
                difference_low=low,
                difference_high=high,
                p_value=found.p,
            )
        compared.append(result)
    return compared, base.name


def _recommended(results: Sequence[ModelResult], measure: Measure | None) -> str:
    sign = 1.0 if measure is None else measure.sign
    measured = {r.name: sign * r.judged_folds for r in results if r.failure is None}
    return recommended(measured) if measured else ""


def _path_summary(
    X: Any,
    y: Bool,
    weight: Array | None,
    group: NDArray[Any] | None,
    seed: int,
    names: Sequence[str],
    remarks: list[str],
) -> PathSummary | None:
    """Where each feature enters as the penalty falls; the first ones of a wide table."""
    try:
        found = l1_path(X, y, weight, group, seed, PATH_STEPS)
    except TooFewRows as trouble:
        remarks.append(f"the L1 path is left out: {trouble}")
        return None
    entered = np.where(found.coefs.any(axis=1), (found.coefs != 0).argmax(axis=1), PATH_STEPS)
    first = np.sort(np.argsort(entered, kind="stable")[:PATH_FEATURES])
    chosen = float(found.alphas[found.chosen])
    features = [names[k] for k in first]
    return PathSummary(found.alphas, found.coefs[first].T, features, chosen, PATH_RULE)


def _columns(X: Any) -> list[Any]:
    from everypair.app.comparison.summary import summarise

    return summarise(X)


def versions() -> dict[str, str]:
    import everypair

    found = {"everypair": everypair.__version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "numba", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
