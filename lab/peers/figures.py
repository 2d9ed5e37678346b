"""Gap against time, and time against size, drawn from the file of measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import plan
from .peer_page import CLOSE
from .results import Results
from .solvers import every_peer
from .solvers.ours import LOSSES, name

LEAST_GAP = 1e-9


def draw(results: Results, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # No date and fixed names inside, so that the same measurements give the same file.
    plt.rcParams.update({"svg.hashsalt": "everypair", "font.size": 9})
    folder.mkdir(parents=True, exist_ok=True)
    for figure, file in ((gaps(results, plt), "peers-gap"), (growth(results, plt), "peers-growth")):
        figure.savefig(folder / f"{file}.svg", metadata={"Date": None})
        plt.close(figure)


def gaps(results: Results, plt):
    task = next((t for t in ("covtype", "dense 200000x50") if results.of_task(t)), plan.TASKS[0])
    figure, axes = plt.subplots(
        1, len(LOSSES), figsize=(12, 4.6), sharey=True, layout="constrained"
    )
    for ax, loss in zip(axes, LOSSES, strict=True):
        shown = [key for key in results.of_task(task) if _loss_of(key) == loss]
        shown.sort(key=lambda key: key != name(loss))  # ours first, in one colour
        for key in shown:
            curve = [(s, max(gap, LEAST_GAP)) for s, gap in results.curve(task, key)]
            if curve:
                _line(ax, *zip(*sorted(curve), strict=True), key)
        ax.axhline(CLOSE, color="0.6", linewidth=0.8, linestyle=":")
        ax.set(xscale="log", yscale="log", xlabel="seconds", title=loss.replace("_", " "))
        _plain_ticks(ax, plt)
        if ax.lines[:-1]:  # the last is the dotted line of the gap asked for
            ax.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    axes[0].set_ylabel("relative gap of its own problem")
    figure.suptitle(f"Each point is one fit to another tolerance ({task})")
    return figure


def _plain_ticks(ax, plt) -> None:
    """Powers of ten alone, two of them at least: the marks between them write over each other."""
    ax.xaxis.set_minor_formatter(plt.NullFormatter())
    ends = np.log10(ax.get_xlim())
    if np.floor(ends[1]) <= np.ceil(ends[0]):
        ax.set_xlim(10.0 ** np.floor(ends[0]), 10.0 ** np.ceil(ends[1]))


def _loss_of(key: str) -> str:
    words = every_peer()[key].problem.split()
    return words[1] if len(words) > 1 else ""


def growth(results: Results, plt):
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    sides = ((plan.ROWS, "rows, 10 columns"), (plan.COLUMNS, "columns, 10,000 rows"))
    for axis, (ax, (tasks, what)) in enumerate(zip(axes, sides, strict=True)):
        for peer in plan.GROWTH_PEERS:
            known = [
                (int(task.split()[1].split("x")[axis]), seconds)
                for task in tasks
                if (seconds := results.seconds_to(task, peer, CLOSE)) is not None
            ]
            if known:
                _line(ax, *zip(*known, strict=True), peer)
        ax.set(xscale="log", yscale="log", xlabel=what)
    axes[0].set_ylabel(f"seconds to relative gap {CLOSE:.0e}")
    axes[1].legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _line(ax, x, y, key: str) -> None:
    ours = key in {name(loss) for loss in LOSSES}
    ax.plot(x, y, marker="o", markersize=5 if ours else 3, linewidth=2.5 if ours else 1, label=key)
