"""The page of `boosting`, from the results that its JSON file keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.benchmarks.boosting import (
    COLLAPSE,
    MOST_ROWS,
    RARE_POSITIVES,
    RATE,
    ROUNDS,
    TEST_ROWS,
    models,
)
from lab.benchmarks.boosting_measures import MEASURES as MEASURES_OF_ROUNDS
from lab.benchmarks.boosting_measures import ROUNDS as MEASURED_ROUNDS
from lab.benchmarks.boosting_quotas import MEASURES, PLAIN, SHARPNESS
from lab.benchmarks.boosting_times import COLUMNS, GROUP_ROWS
from lab.harness import Page, markdown_table

INTRO = f"""\
Made by `python -m lab bench boosting`, which keeps finished splits in `boosting.json` and goes on
from there. {MOST_ROWS:,} training rows at most, {TEST_ROWS:,} test rows at most, drawn
from a fixed sample of at most 30,000 rows per task. Every booster has {ROUNDS} rounds at a rate of
{RATE:g} and the library's defaults otherwise, one thread. `own pairs` are LightGBM's `lambdarank`
and XGBoost's `rank:pairwise` with all rows as one group: at their defaults; with `all` pairs
(truncation at the number of rows, no normalisation); with ten partners `drawn` per row. `every
pair` is `pair_objective()`, `push 3` is `pair_objective(push=3)`: the power was not tuned. Partial
AUC is the mean recall up to a false positive rate of 5 %, `top 1 %` the precision among the first
1 % of the test rows. ± is the standard error of a mean over tasks. A fit has collapsed where its
test AUC is {COLLAPSE:g} below that of the best model on the same split, whichever that is."""

MEASURED = ("AUC", "partial AUC", "top 1 %")


def in_order(found: dict[str, Any]) -> list[str]:
    there = set.intersection(*(set(split) for split in found.values()))
    return [name for name in map("|".join, models(rare=False)) if name in there]


def by_task(found: dict[str, Any]) -> dict[str, list[dict[str, list[float]]]]:
    out: dict[str, list[Any]] = {}
    for key in sorted(found):
        out.setdefault(key.split("|")[0], []).append(found[key])
    return out


def means_of(tasks: dict[str, list[Any]], model: str) -> np.ndarray:
    """``[task, measure]``: means over splits."""
    return np.array([np.mean([split[model] for split in of], axis=0) for of in tasks.values()])


def judged(page: Page, heading: str, text: str, found: dict[str, Any]) -> None:
    tasks = by_task(found)
    known = in_order(found)
    splits = sorted({len(of) for of in tasks.values()})
    rows = []
    for model in known:
        library, name = model.split("|")
        values, base = means_of(tasks, model), means_of(tasks, f"{library}|logloss")
        gains = values - base
        error = gains.std(axis=0, ddof=1) / np.sqrt(len(tasks))
        fits = [
            (split[model][0], max(v[0] for v in split.values()))
            for of in tasks.values()
            for split in of
        ]
        collapsed = sum(area < best - COLLAPSE for area, best in fits)
        cells = [f"{v:.4f}" for v in values.mean(axis=0)]
        if name != "logloss":
            cells = [
                f"{v} ({g:+.4f} ± {e:.4f})"
                for v, g, e in zip(cells, gains.mean(axis=0), error, strict=True)
            ]
        ahead = [f"{(gains[:, k] > 0).sum()}" for k in range(2)] if name != "logloss" else ["", ""]
        rows.append([library, name, *cells, *ahead, f"{collapsed} of {len(fits)}"])
    header = ["library", "objective", *(f"{m} (− logloss)" for m in MEASURED),
              "tasks ahead, AUC", "partial AUC", "collapsed"]  # fmt: skip
    counted = f"{len(tasks)} tasks, {'–'.join(map(str, splits))} splits each. "
    page.add(heading, counted + text + "\n\n" + markdown_table(header, rows))


def task_by_task(page: Page, found: dict[str, Any]) -> None:
    tasks = by_task(found)
    some = [
        m for m in in_order(found)
        if m.split("|")[1] in ("logloss", "balanced", "own pairs", "every pair", "push 3")
    ]  # fmt: skip
    rows = [
        [name, *(f"{np.mean([split[m][0] for split in of]):.4f}" for m in some)]
        for name, of in tasks.items()
    ]
    page.add(
        "AUC, task by task", markdown_table(["task", *(m.replace("|", " ") for m in some)], rows)
    )


def ratios(found: dict[str, Any], heading: str) -> str:
    """A column per model: the time of a round over that with the log loss."""
    order = [f"{library}|{name}" for library, name in models(rare=False)]
    there = next(iter(found.values()))
    timed = [m for m in order if m in there and not m.endswith("logloss")]
    rows = []
    for key in sorted(found, key=int):
        of = found[key]
        cells = []
        for model in timed:
            base = of[f"{model.split('|')[0]}|logloss"]
            cells.append(
                f"{of[model] / base:.2f}" if isinstance(of.get(model), float) else "refused"
            )
        logs = [f"{1000 * of[f'{library}|logloss']:.1f}" for library in ("LightGBM", "XGBoost")]
        rows.append([f"{int(key):,}", *logs, *cells])
    header = [heading, "LightGBM logloss, ms", "XGBoost logloss, ms",
              *(m.replace("|", " ") for m in timed)]  # fmt: skip
    return markdown_table(header, rows)


def quotas(page: Page, found: dict[str, Any]) -> None:
    tasks = by_task(found)
    climbs = [f"{measure}, sharpness {sharp:g}" for measure in MEASURES for sharp in SHARPNESS]
    values = {
        model: np.array(
            [[np.mean([s[model][m] for s in of]) for m in MEASURES] for of in tasks.values()]
        )
        for model in (*PLAIN, *climbs)
    }
    rows, ahead = [], 0
    for model in (*PLAIN, *climbs):
        gains = values[model] - values["push 3"]
        error = gains.std(axis=0, ddof=1) / np.sqrt(len(tasks))
        own = [k for k, measure in enumerate(MEASURES) if model.startswith(measure)]
        ahead += bool(own) and gains[:, own[0]].mean() > error[own[0]]
        rows.append([
            model if model in PLAIN else f"half the rounds on {model}",
            *(f"{v:.4f} ({g:+.4f} ± {e:.4f})" for v, g, e in
              zip(values[model].mean(axis=0), gains.mean(axis=0), error, strict=True)),
        ])  # fmt: skip
    page.add(
        "Objectives with a quota: not shipped",
        "Would an objective that climbs a measure with a quota, as `MeasureOpt` does, help trees? "
        "LightGBM, half of the rounds over every pair, then half on the smooth measure, whose "
        "curvature is taken as the size of its gradient; `sharpness` multiplies the scores before "
        f"the soft cut. {len(tasks)} tasks that are not in the tables above, "
        f"{len(found) // len(tasks)} splits each; in parentheses the difference to `push 3`. Ahead "
        f"of `push 3` on their own measure by more than a standard error: {ahead} of "
        f"{len(climbs)}. None is in the library.\n\n"
        + markdown_table(["objective", *MEASURES], rows),
    )


def measures(page: Page, found: dict[str, Any]) -> None:
    """Rounds by AUC beside rounds by the measure, over the tasks that were measured."""
    rows = []
    for library in dict.fromkeys(key.split("|")[1] for key in found):
        of = [found[key] for key in sorted(found) if key.split("|")[1] == library]
        for measure in MEASURES_OF_ROUNDS:
            if measure == "AUC":
                continue
            by = {how: np.array([split[measure][how] for split in of])
                  for how in ("AUC", "measure")}  # fmt: skip
            gains = by["measure"][:, 1] - by["AUC"][:, 1]
            error = gains.std(ddof=1) / np.sqrt(gains.size)
            rows.append([
                library, measure, f"{len(of)}",
                *(f"{np.median(by[how][:, 0]):.0f}" for how in ("AUC", "measure")),
                *(f"{by[how][:, 1].mean():.4f}" for how in ("AUC", "measure")),
                f"{gains.mean():+.4f} ± {error:.4f}",
                f"{(gains > 0).sum()} / {(gains < 0).sum()}",
            ])  # fmt: skip
    header = ["library", "measure", "tasks", "rounds by AUC", "by the measure", "value by AUC",
              "by the measure", "difference", "ahead / behind"]  # fmt: skip
    page.add(
        "Rounds by a measure",
        "`AUCBoostingClassifier(measure=...)`: the measure on test rows where the rounds, up to "
        f"{MEASURED_ROUNDS}, are chosen by held-out AUC and where they are chosen by the measure "
        "itself; F1 at its best cut of the test rows. One split of each task; rounds are medians. "
        "Of the rounds within one standard error of the best mean of the measure, that with the "
        "largest AUC is taken. This rule was set on other tasks, those of the table of quotas, "
        "after the plain maximum had lost F1 on nine of these "
        "([notes](../../lab/notes/boosting.md)).\n\n" + markdown_table(header, rows),
    )


def show(known: dict[str, Any], write: bool) -> None:
    page = Page("boosting", "Every pair inside LightGBM and XGBoost", INTRO)
    if "tasks" in known:
        judged(page, "Held-out rows", "Classes as frequent as they are.", known["tasks"])
    if "rare" in known:
        judged(
            page,
            "Very rare positives",
            f"The same splits with {RARE_POSITIVES} positive training rows; test rows as before.",
            known["rare"],
        )
    if "tasks" in known:
        task_by_task(page, known["tasks"])
    if "rounds" in known:
        page.add(
            "Time of a round by rows",
            f"Processor time of a round of 31 leaves, {COLUMNS} columns, 5 % positives, over that "
            "of a round with the log loss in the same run. `refused`: LightGBM takes no more than "
            "10,000 rows in a group.\n\n" + ratios(known["rounds"], "rows"),
        )
    if "groups" in known:
        page.add(
            "Time of a round by groups",
            f"{GROUP_ROWS:,} rows in groups of equal size; `every pair` is the objective with "
            "`within`. Quality beside `rank:pairwise` and `lambdarank`: "
            "[groups](groups.md#search-by-example-handwritten-digits).\n\n"
            + ratios(known["groups"], "groups"),
        )
    if "metric" in known:
        metric(page, known["metric"])
    if "tree" in known:
        tree(page, known["tree"])
    if "measures" in known:
        measures(page, known["measures"])
    if "quotas" in known:
        quotas(page, known["quotas"])
    if write:
        page.write()


def metric(page: Page, found: dict[str, Any]) -> None:
    rows = []
    for key in sorted(found, key=int):
        of = found[key]
        booster = of["XGBoost"] - of["XGBoost, error rate"]
        rows.append([
            f"{int(key):,}", f"{1000 * of['ours']:.2f}", f"{booster / of['ours']:.1f}",
            f"{of['LightGBM'] / of['ours, scores of LightGBM']:.1f}",
            f"{of['scikit-learn'] / of['ours']:.1f}",
        ])  # fmt: skip
    page.add(
        "The AUC for early stopping",
        "Processor time of `auc_metric` on one vector of scores, and of the others over ours. "
        "XGBoost's is the time of an evaluation by `auc` less one by `error`; LightGBM's is an "
        "evaluation of its training rows beside ours on the same scores, which have many ties "
        "there.\n\n"
        + markdown_table(["rows", "ours, ms", "XGBoost", "LightGBM", "scikit-learn"], rows),
    )


def tree(page: Page, found: dict[str, Any]) -> None:
    rows = []
    for key in sorted(found, key=int):
        of = found[key]
        rows.append([
            f"{int(key):,}", f"{1e6 * of['AUCTree'] / int(key):.1f}",
            f"{of['AUCTree'] / of['scikit-learn']:.2f}", f"{of['pruned'] / of['AUCTree']:.2f}",
            f"{of['leaves']:,}", f"{of['leaves of scikit-learn']:,}",
        ])  # fmt: skip
    page.add(
        "One tree",
        f"`AUCTree`, {COLUMNS} columns, grown until leaves have five rows: microseconds per row, "
        "time over that of scikit-learn's `DecisionTreeClassifier` with such leaves, and the same "
        "tree pruned (`ccp_alpha=1e-5`) over the unpruned one. Columns are sorted once, a level is "
        "O(p n).\n\n"
        + markdown_table(
            ["rows", "µs per row", "/ scikit-learn", "pruned", "leaves", "scikit-learn"], rows
        ),
    )
