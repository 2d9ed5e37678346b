"""The page of the calibration: means over tasks, single fits, and each task by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from everypair.estimators._calibration import METHODS
from lab.benchmarks.calibration import (
    BASE,
    MODELS,
    N_SPLITS,
    REFERENCES,
    RULES,
    SIZES,
    chosen_on,
)
from lab.data.tasks import names
from lab.harness import Page, markdown_table

SINGLE = ("beta, out of fold", "isotonic, out of fold", "intercept, out of fold",
          "sigmoid, training", *REFERENCES)  # fmt: skip
"""Maps whose single fits are counted beside the base."""

OWN = ("beta", "isotonic", "intercept")
"""Maps of out-of-fold scores that are shown beside the sigmoid, task by task."""


def cells_of(
    cells: dict[str, Any], model: str, size: int, which: Callable[[str], bool]
) -> dict[str, list[Any]]:
    """The maps of each fit, by task."""
    by_task: dict[str, list[Any]] = {}
    for key, cell in cells.items():
        name, _, n, label = key.split("|")
        if label == model and int(n) == size and which(name):
            by_task.setdefault(name, []).append(cell["maps"])
    return by_task


def table_of_maps(cells: dict[str, Any], which: Callable[[str], bool], what: int) -> str:
    """Means over the tasks, each map's difference from the sigmoid with its 95 % interval."""
    maps = [f"{m}, {w}" for w in ("training", "out of fold") for m in METHODS]
    rows = []
    for model in MODELS:
        for size in SIZES:
            by_task = cells_of(cells, model, size, which)
            if len(by_task) < 3:
                continue
            line = [model, f"{size:,}", str(len(by_task))]
            of = {
                m: np.array(
                    [np.mean([c[m]["mean"][what] for c in found]) for found in by_task.values()]
                )
                for m in maps + (list(REFERENCES) if model == "AUCClassifier" else [])
            }
            base = of[BASE]
            for m in maps + list(REFERENCES):
                if m not in of:
                    line.append("")
                elif m == BASE:
                    line.append(f"{base.mean():.4f}")
                else:
                    line.append(_difference(of[m] - base))
            rows.append(line)
    return markdown_table(["model", "rows", "tasks", *maps, *REFERENCES], rows)


def _difference(gains: Any) -> str:
    """Mean and half the width of its 95 % interval over the tasks."""
    from scipy.stats import t

    half = t.ppf(0.975, gains.size - 1) * gains.std(ddof=1) / gains.size**0.5
    return f"{gains.mean():+.4f} ± {half:.4f}"


def table_of_cuts(cells: dict[str, Any], which: Callable[[str], bool]) -> str:
    """By rows per column: what was asked, what the cuts achieve on test rows."""
    rows = []
    for model in MODELS:
        for low, high in ((0, 10), (10, 30), (30, 100), (100, np.inf)):
            found = [
                cell["cuts"]
                for key, cell in cells.items()
                if key.endswith(f"|{model}")
                and which(key.split("|")[0])
                and low <= cell["n"] / cell["p"] < high
            ]
            if len(found) < 5:
                continue
            line = [model, f"{low} to {high:g}" if high < np.inf else f"over {low}",
                    str(len(found))]  # fmt: skip
            for rule in RULES:
                values = np.array([cell[rule] for cell in found])
                if "=" in rule:
                    spread = np.abs(values[:, :2] - float(rule.split("=")[1])).mean(axis=0)
                    line.append(
                        f"{values[:, 0].mean():.3f} (off by {spread[0]:.3f}), "
                        f"{values[:, 1].mean():.3f} (off by {spread[1]:.3f})"
                    )
                else:
                    means = values.mean(axis=0)
                    line.append(f"{means[3]:.3f}; {means[0]:.3f}, {means[1]:.3f} of {means[2]:.3f}")
            rows.append(line)
    header = ["model", "rows per column", "fits", *RULES]
    return markdown_table(header, rows)


def table_of_fits(cells: dict[str, Any], which: Callable[[str], bool]) -> str:
    """In how many fits a map is surely better or worse than the base, by log loss."""
    rows = []
    for model in MODELS:
        for size in SIZES:
            fits = [fit for found in cells_of(cells, model, size, which).values() for fit in found]
            if not fits:
                continue
            line = [model, f"{size:,}", str(len(fits))]
            for name in SINGLE:
                if name not in fits[0]:
                    line.append("")
                    continue
                gains = np.array([fit[name]["mean"][0] - fit[BASE]["mean"][0] for fit in fits])
                halves = np.array([fit[name]["half"][0] for fit in fits])
                better, worse = np.sum(gains < -halves), np.sum(gains > halves)
                line.append(f"{better} / {worse}")
            rows.append(line)
    return markdown_table(["model", "rows", "fits", *SINGLE], rows)


def table_of_tasks(cells: dict[str, Any], model: str, which: Callable[[str], bool]) -> str:
    """Each task: log loss and calibration error, with the intervals of one fit."""
    rows = []
    for size in SIZES:
        found = cells_of(cells, model, size, which)
        for name in sorted(found, key=names().index):
            fits = found[name]
            rows.append([name, f"{size:,}", str(len(fits)), *_line_of_task(fits)])
    own = [f"{name} - sigmoid" for name in OWN]
    errors = [f"ECE {name}" for name in ("sigmoid", *OWN)]
    return markdown_table(["task", "rows", "fits", "sigmoid", *own, *errors], rows)


def _line_of_task(fits: list[Any]) -> Iterator[str]:
    def mean(name: str, what: str, k: int) -> float:
        return float(np.mean([fit[name][what][k] for fit in fits]))

    base = mean(BASE, "mean", 0)
    yield f"{base:.4f} ± {mean(BASE, 'half', 0):.4f}"
    for name in (f"{method}, out of fold" for method in OWN):
        yield f"{mean(name, 'mean', 0) - base:+.4f} ± {mean(name, 'half', 0):.4f}"
    for name in (f"{method}, out of fold" for method in ("sigmoid", *OWN)):
        value, low, high = (mean(name, "error", k) for k in range(3))
        yield f"{value:.3f} [{low:.3f}, {high:.3f}]"


INTRO = """\
Made by `python -m lab bench calibration`. Models are fitted on 300, 1,000 and 4,000 rows of a task
({splits} splits; ROCSVM to 1,000 rows) and judged on other rows, 4,000 at most. Out-of-fold
scores are those of five stratified folds. All values of one line are from the same fits. What
`calibration="auto"` does was chosen on {n_chosen} tasks ({chosen}); the {n_other} tasks of other
data sets ({other}) come first.

A task is left out at a number of rows where the training rows or the test rows have fewer than 10
of a class in every split, or where it has no more rows than the number before.

On the tasks that nothing was chosen on isotonic regression is ahead at 4,000 rows, which the tasks
of the choice had not shown. The rule was not changed after that was seen."""

MAPS = """\
The column "sigmoid, out of fold" has the mean over the tasks. The others have the difference from
it, in the mean over the tasks, and its 95 % interval over tasks: above zero is worse."""

FITS = """\
Every fit by itself: the number of fits in which a map is significantly better / worse than the
sigmoid on out-of-fold scores. "Surely" is a 95 % interval of the difference in log loss over the
test rows of that fit which excludes zero. With maps that are level, 2.5 % of the fits on either
side would do so by chance."""

TASKS = """\
Maps of out-of-fold scores. Log loss of the sigmoid and the differences from it (above zero is
worse), then the expected calibration error over ten bins of equal size, without the bias of the
usual estimate. Each number is the mean over the fits of the task. Its interval is that of one fit
over its test rows (95 %, the mean of the ends over the fits)."""

CUTS = """\
For `f1` and `balanced` (TPR - FPR): what the training rows show at the training cut; what that cut
and the out-of-fold cut reach on test rows, of the best that any cut of the test rows reaches. For
`fpr=0.05` and `tpr=0.9`: the rate on test rows by the training cut, then by the out-of-fold cut,
and the mean absolute distance from the rate that was asked for."""


def show(cache: Path, write: bool) -> None:
    cells = json.loads(cache.read_text())
    tasks = sorted({key.split("|")[0] for key in cells}, key=names().index)
    chosen = [name for name in tasks if chosen_on(name)]
    other = [name for name in tasks if not chosen_on(name)]
    page = Page(
        "calibration", "Probabilities and cuts, by training and by out-of-fold scores",
        INTRO.format(
            splits=N_SPLITS, n_chosen=len(chosen), n_other=len(other),
            chosen=", ".join(dict.fromkeys(name.split(" ")[0] for name in chosen)),
            other=", ".join(dict.fromkeys(name.split(" ")[0] for name in other)),
        ),
    )  # fmt: skip
    for title, which in (
        ("tasks that nothing was chosen on", lambda name: not chosen_on(name)),
        ("the tasks of the choice", chosen_on),
    ):
        for what, label in enumerate(("Log loss", "Brier score", "Expected calibration error")):
            text = table_of_maps(cells, which, what)
            usual = "" if what < 2 else " This is the usual estimate, over ten bins of equal size."
            page.add(f"{label}, {title}", f"{MAPS}{usual}\n\n{text}")
        page.add(f"Single fits, {title}", f"{FITS}\n\n{table_of_fits(cells, which)}")
        page.add(f"Cuts, {title}", f"{CUTS}\n\n{table_of_cuts(cells, which)}")
    for model in MODELS:
        text = table_of_tasks(cells, model, lambda name: True)
        page.add(f"{model}, task by task", f"{TASKS}\n\n{text}")
    if write:
        page.write()
