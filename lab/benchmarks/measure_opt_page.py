"""The page of `lab.benchmarks.measure_opt`: tables of its finished splits."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.benchmarks.measure_opt import (
    CHOSEN_ON,
    COMPETITORS,
    GROWTH,
    LARGE,
    MEASURES,
    MOST_ROWS,
    OURS,
    PARTS,
    SHARED,
    TARGETS,
    of_earlier_search,
)
from lab.benchmarks.rankopt_splits import corrected_resampled_t
from lab.data.tasks import names
from lab.harness import Page, markdown_table

BASE = "logistic"
LEVEL = 0.05
SMALL_LOSS = 0.01

Splits = dict[int, dict[str, Any]]
"""Of a task, by the number of the split: values, seconds and starts, by measure and model."""

INTRO = """\
Made by `python -m lab bench measure_opt`. Training rows: {rows} at most, drawn at random; the
values are those of other rows, means over the splits of a task. Every competitor is tuned on the
same five folds for the same measure, and its cut comes from its own out-of-fold scores: six
penalties of the logistic regressions and of `AUCClassifier`, three radii of `RankOpt`, four C of
`MeasureSVM`; LightGBM (200 trees) is a reference. `MeasureSVM` is trained on the measure or on the
nearest that it has: the partial area for recall at a false positive rate, the break-even point for
precision at n+, recall at a precision and average precision. `n+` is the number of positives.

A cell is a task and a measure. Wins and losses are cells in which `MeasureOptCV` differs from the
competitor at 5 % by the corrected resampled t test (the plain t test where the splits share no
row); chance alone gives 2.5 % of either. ± is the standard error of a mean over tasks. `time /
logistic` is the median of the processor seconds of a whole search over those of the tuned logistic
regression, one thread. `kept the start`: no climb was clearly better, and the model is the logistic
regression. Every measure and every competitor has ten splits of every task.
`measure_opt.json` beside the script has every value, and a run goes on from it.

How the search goes (radii, guard, what it goes by) was chosen on {chosen} tasks,
which are not in the first table. Two of these are letters: the other letters have other labels but
the same rows and columns, so they are not new data. Earlier settings had been run on all tasks
before. The aim was a mean gain of .02 in F1 and in recall at 1 % FPR over all tasks. Recall reaches
it, F1 does not. On the tasks of the choice, a choice among the climbs by rows that the search has
not seen gains no more F1 than the search itself ([notes](../../lab/notes/measures.md))."""


def renewals(known: dict[str, Any]) -> str:
    """How many searches are of before the last rule, and what it changed where they ran again."""
    cells = [cell for key, cell in known.items() if "|" in key and cell and cell["start"]]
    searches = sum(len(cell["start"]) for cell in cells)
    earlier = [cell for cell in cells if of_earlier_search(cell)]
    climbed = sum(not kept for cell in earlier for kept in cell["start"].values())
    changes = [by for cell in cells for by in cell.get("changed", {}).values()]
    other = [by for by in changes if by]
    text = (
        "A search whose climb ends below the logistic regression on the training rows keeps the "
        f"latter. This rule is the last one that was added. Of {searches} searches, {climbed} "
        "chose a climb before it and were not run again"
    )
    if changes:
        text += (
            f"; of {len(changes)} that were, {len(other)} changed, and the mean of all "
            f"{len(changes)} by {np.mean(changes):+.4f}"
        )
    return text + "."


class Results:
    """The finished splits, by measure."""

    def __init__(self, known: dict[str, Any]):
        self.splits: dict[str, dict[str, Splits]] = {label: {} for label in MEASURES}
        for key, cell in known.items():
            if key in (GROWTH, LARGE) or cell is None:
                continue
            name, k, part = key.split("|")
            if part not in PARTS:
                continue
            for label in cell["value"]:
                here = (
                    self.splits[label]
                    .setdefault(name, {})
                    .setdefault(int(k), {"value": {}, "seconds": {}, "overlap": cell["overlap"]})
                )
                here["value"] |= cell["value"][label]
                here["seconds"] |= cell["seconds"][label]
                if label in cell["start"]:
                    here["start"] = cell["start"][label]

    def tasks(self, label: str, *models: str) -> list[str]:
        """Those with a split that has all these models, in the order of the catalogue."""
        return [name for name in names(also=True) if self.of(label, name, *models)]

    def of(self, label: str, name: str, *models: str) -> list[dict[str, Any]]:
        """The splits of a task in which all these models are."""
        found = self.splits[label].get(name, {})
        return [
            cell for _, cell in sorted(found.items()) if all(m in cell["value"] for m in models)
        ]

    def mean(self, label: str, name: str, model: str, *beside: str) -> float:
        """Of the splits in which it is ``beside`` others."""
        found = self.of(label, name, model, *beside)
        return float(np.mean([cell["value"][model] for cell in found]))

    def tested(self, label: str, name: str, other: str = BASE) -> tuple[float, float]:
        """The mean gain on another model, and the p of its test over three splits or more."""
        found = self.of(label, name, OURS, other)
        gain = np.array([cell["value"][OURS] - cell["value"][other] for cell in found])
        overlap = found[0]["overlap"]
        p = corrected_resampled_t(gain, overlap / (1 + overlap)) if gain.size > 2 else 1.0
        return float(gain.mean()), p

    def gains(self, label: str, which: list[str], other: str = BASE) -> tuple[Any, Any]:
        """Of each task the mean gain, and whether it is significant."""
        found = [self.tested(label, name, other) for name in which]
        return np.array([gain for gain, _ in found]), np.array([p < LEVEL for _, p in found])


def mean_and_error(gain: Any) -> str:
    return f"{gain.mean():+.4f} ± {gain.std(ddof=1) / gain.size**0.5:.4f}"


def wins_and_losses(gain: Any, sure: Any) -> str:
    return f"{np.sum(sure & (gain > 0))} / {np.sum(sure & (gain < 0))}"


def n_splits(counts: list[int]) -> str:
    """From the fewest to the most, and how many tasks have the most."""
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high} ({counts.count(high)} with {high})"


def core_table(results: Results, leave_out: tuple[str, ...] = ()) -> str:
    """Means over the tasks, wins and losses, times; a row a measure."""
    rows = []
    for label in MEASURES:
        which = [n for n in results.tasks(label, BASE, OURS) if n not in leave_out]
        if not which:
            continue
        gain, sure = results.gains(label, which)
        cells = [cell for name in which for cell in results.of(label, name, BASE, OURS)]
        worst = int(np.argmin(gain))
        rows.append([
            label, str(len(which)),
            n_splits([len(results.of(label, name, BASE, OURS)) for name in which]),
            *(f"{np.mean([results.mean(label, n, m, BASE, OURS) for n in which]):.3f}"
              for m in (BASE, OURS)),
            mean_and_error(gain), wins_and_losses(gain, sure),
            f"{gain[worst]:+.3f} ({which[worst]})",
            f"{np.median([c['seconds'][OURS] / c['seconds'][BASE] for c in cells]):.1f}",
            f"{100 * np.mean([c['start'] for c in cells]):.0f} %",
        ])  # fmt: skip
    header = ["measure", "tasks", "splits", BASE, OURS, f"gain on {BASE}", "wins / losses",
              "lowest gain", f"time / {BASE}", "kept the start"]  # fmt: skip
    return markdown_table(header, rows)


def losses(results: Results) -> str:
    """Every significant loss against logistic regression, and their share of all cells."""
    n_cells, n_of_ten, n_wins, found = 0, 0, 0, []
    for label in MEASURES:
        which = [n for n in results.tasks(label, BASE, OURS)
                 if len(results.of(label, n, BASE, OURS)) > 2]  # fmt: skip
        for name in which:
            gain, p = results.tested(label, name)
            n_cells += 1
            n_of_ten += len(results.of(label, name, BASE, OURS)) >= 10
            n_wins += p < LEVEL and gain > 0
            if p < LEVEL and gain < 0:
                found.append((gain, p, name, label))
    if not n_cells:
        return "No task has three splits."
    large = [one for one in found if one[0] < -SMALL_LOSS]
    text = (
        f"Of {n_cells} cells with three splits or more ({n_of_ten} with ten), {n_wins} are won "
        f"and {len(found)} ({100 * len(found) / n_cells:.1f} %) lost at 5 %; {len(large)} of the "
        f"losses are larger than {SMALL_LOSS:g}."
    )
    if n_of_ten < n_cells:
        text += " Three splits leave the test little power."
    lines = [[name, label, f"{gain:+.4f}", f"{p:.3f}"] for gain, p, name, label in sorted(found)]
    return text + (
        "\n\n" + markdown_table(["task", "measure", "gain", "p"], lines) if lines else ""
    )


def competitor_table(results: Results, competitors: tuple[str, ...]) -> str:
    """Means of every model over the tasks and splits that all of them have."""
    models = (BASE, OURS, *competitors)
    rows = []
    for label in MEASURES:
        which = results.tasks(label, *models)
        if which:
            means = [np.mean([results.mean(label, n, m, *models) for n in which]) for m in models]
            counts = n_splits([len(results.of(label, n, *models)) for n in which])
            rows.append([label, str(len(which)), counts, *(f"{mean:.3f}" for mean in means)])
    return markdown_table(["measure", "tasks", "splits", *models], rows)


def beside_competitors(results: Results) -> str:
    """Wins and losses of `MeasureOptCV` against each, over the splits that both have."""
    rows = []
    for label in MEASURES:
        line = [label]
        for model in COMPETITORS:
            which = results.tasks(label, OURS, model)
            gain, sure = results.gains(label, which, model)
            line.append(f"{gain.mean():+.3f}, {wins_and_losses(gain, sure)}" if which else "")
        rows.append(line)
    return markdown_table(["measure", *COMPETITORS], rows)


def times(results: Results) -> str:
    """Median processor seconds of a whole search over those of logistic regression."""
    rows = []
    for model in (OURS, *COMPETITORS):
        line = [model]
        for label in MEASURES:
            ratios = [
                cell["seconds"][model] / cell["seconds"][BASE]
                for name in results.tasks(label, BASE, model)
                for cell in results.of(label, name, BASE, model)
            ]
            line.append(f"{np.median(ratios):.1f}" if ratios else "")
        rows.append(line)
    return markdown_table(["", *MEASURES], rows)


def by_data_set(results: Results) -> str:
    """Gains on logistic regression on the tasks that nothing was chosen on."""
    which = [name for name in results.tasks(TARGETS[0], BASE, OURS) if name not in CHOSEN_ON]
    sets: dict[str, list[str]] = {}
    for name in which:
        sets.setdefault(name.split(" ")[0], []).append(name)
    groups = {data: tasks for data, tasks in sets.items() if len(tasks) > 2}
    groups["all but letter"] = [name for name in which if not name.startswith("letter")]
    rows = []
    for data, tasks in groups.items():
        line = [data, str(len(tasks))]
        for label in TARGETS:
            gain, sure = results.gains(label, tasks)
            line += [mean_and_error(gain), wins_and_losses(gain, sure)]
        rows.append(line)
    header = ["data set", "tasks"]
    for label in TARGETS:
        header += [label, "wins / losses"]
    return markdown_table(header, rows)


def task_table(results: Results) -> str:
    """Both values of the targets."""
    rows = []
    for name in results.tasks(TARGETS[0], BASE, OURS):
        line = [name, str(len(results.of(TARGETS[0], name, BASE, OURS)))]
        for label in TARGETS:
            gain, p = results.tested(label, name)
            mark = ("**win**" if gain > 0 else "**loss**") if p < LEVEL else f"{p:.2f}"
            line += [
                *(f"{results.mean(label, name, m, BASE, OURS):.3f}" for m in (BASE, OURS)),
                f"{gain:+.3f}, {mark}",
            ]
        rows.append(line)
    header = ["task", "splits"]
    for label in TARGETS:
        header += [f"{label}: {BASE}", OURS, "gain, p"]
    return markdown_table(header, rows)


def gain_table(results: Results) -> str:
    """Gains of the other measures; those that are significant are bold."""
    labels = [label for label in MEASURES if label not in TARGETS]
    rows = []
    for name in results.tasks(labels[0], BASE, OURS):
        line = [name, str(len(results.of(labels[0], name, BASE, OURS)))]
        for label in labels:
            if not results.of(label, name, BASE, OURS):
                line.append("")
                continue
            gain, p = results.tested(label, name)
            line.append(f"**{gain:+.3f}**" if p < LEVEL else f"{gain:+.3f}")
        rows.append(line)
    return markdown_table(["task", "splits", *labels], rows)


def show(known: dict[str, Any], write: bool) -> None:
    results = Results(known)
    intro = INTRO.format(rows=f"{MOST_ROWS:,}", chosen=len(CHOSEN_ON))
    intro = f"{intro}\n\n{renewals(known)}"
    page = Page("measure_opt", "Climbing the measure itself", intro)
    page.add("Tasks whose labels nothing was chosen on", core_table(results, CHOSEN_ON))
    page.add("The same by data set", by_data_set(results))
    page.add("All tasks", core_table(results))
    page.add("Losses", losses(results))
    page.add("Competitors: means over the splits that all have", competitor_table(results, SHARED))
    page.add(
        "The same beside MeasureSVM, which has fewer splits",
        competitor_table(results, COMPETITORS),
    )
    page.add("Mean gain of MeasureOptCV on each, wins / losses", beside_competitors(results))
    page.add("Time of a whole search / that of the tuned logistic regression", times(results))
    page.add("Task by task", task_table(results))
    page.add("Task by task: gains of the other measures", gain_table(results))
    for title, name in (("Growth with the rows", GROWTH), ("A large table", LARGE)):
        if name in known:
            page.add(title, known[name])
    if write:
        page.write()
