"""What the displays share: a figure, a legend that covers nothing, lines that print in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from everypair.checks import by_name
from everypair.metrics.curve import area_between
from everypair.metrics.inference import AUCInterval
from everypair.rows import NoSpread

Result = TypeVar("Result")

# Okabe & Ito's colours, ordered so that neighbours differ in lightness too.
COLOURS = ("#0072B2", "#D55E00", "#000000", "#56B4E9", "#009E73", "#CC79A7", "#E69F00")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
)
GREY = "0.55"


def axes(ax: Any, width: float = 6.0, height: float = 4.5) -> tuple[Any, Any]:
    """``figure, ax``: the one given, or a new one that makes room for what stands outside."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'everypair[plot]'.") from error
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(figsize=(width, height), layout="constrained")


def shade(ax: Any, x: Any, low: Any, high: Any, colour: str, label: str) -> None:
    """A band between two curves."""
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0, label=label)


def style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": 1.8,
    }


def line_options(number: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """`style` with what the user said instead, matplotlib's short names (``c``, ``ls``) too."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**style(number), **normalize_kwargs(dict(given), Line2D)}


RING: dict[str, Any] = {
    "marker": "o", "markersize": 8, "markerfacecolor": "white", "markeredgewidth": 1.6,
    "linestyle": "none",
}  # fmt: skip
"""A chosen point."""

LINE_INCHES, GAP_INCHES = 0.15, 0.065
"""Height of a line of the legend, and between two entries."""


def legend(ax: Any, given: Any, inside: str = "best", beside: bool = False) -> None:
    """Outside the axes of our own figure, below or beside them; inside axes that were ``given``.

    One column of wrapped lines: a long name is never cut off. Axes of our own keep their height,
    as the figure grows by what stands below.
    """
    handles, labels = ax.get_legend_handles_labels()
    if given is not None:
        lines = [textwrap.fill(label, 40) for label in labels]
        ax.legend(handles, lines, loc=inside, framealpha=0.8, fontsize=7, borderpad=0.3)
    elif beside:
        lines = [textwrap.fill(label, 30) for label in labels]
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        ax.legend(handles, lines, **place, frameon=False, fontsize=9)
    else:
        from matplotlib.transforms import ScaledTranslation

        figure = ax.figure
        lines = [textwrap.fill(label, int(11 * figure.get_figwidth())) for label in labels]
        n_lines = sum(line.count("\n") + 1 for line in lines)
        height = LINE_INCHES * n_lines + GAP_INCHES * len(lines)
        figure.set_figheight(figure.get_figheight() + height)
        # A fixed distance below the axis label, whatever the size.
        below = ScaledTranslation(0, -34 / 72, figure.dpi_scale_trans)
        ax.legend(
            handles, lines, loc="upper center", bbox_to_anchor=(0.5, 0.0),
            bbox_transform=ax.transAxes + below, frameon=False, fontsize=9,
        )  # fmt: skip
        # The layout is done at each drawing and settles at the second where axes are square.
        figure.draw_without_rendering()


def short(name: Any) -> str:
    """A name of at most 90 letters; cut in the middle, as long names differ at their ends."""
    text = str(name)
    return text if len(text) <= 90 else f"{text[:60]} … {text[-27:]}"


ROC_CURVE, CHANCE = "everypair: ROC curve", "everypair: chance"


def roc_square(ax: Any) -> int:
    """Makes ``ax`` the unit square with the line of chance; counts the curves already there."""
    marks = [line.get_gid() for line in ax.lines]
    if CHANCE not in marks:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (2, 3)), gid=CHANCE)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), box_aspect=1)
    ax.set(xlabel="False positive rate", ylabel="True positive rate")
    return marks.count(ROC_CURVE)


def roc_label(name: str, fpr: Any, tpr: Any, interval: AUCInterval | None) -> str:
    """The name with the interval, or with the area alone where there is none."""
    value = f"{area_between(fpr, tpr, 0.0, 1.0):.3f}" if interval is None else str(interval)
    return f"{short(name)}: AUC {value}"


def if_any(bound: Callable[..., Result], *data: Any, **options: Any) -> Result | None:
    """An interval or band; None where the scores have none, so that the curve is drawn still."""
    try:
        return bound(*data, **options)
    except NoSpread:
        return None


def chosen_axis(ax: Any, values: Any, chosen: float | None, symbol: str, scale: str) -> None:
    if scale == "log" and np.all(np.asarray(values) > 0):
        ax.set_xscale("log")
    ax.set_xlabel(symbol)
    if chosen is not None:
        ax.axvline(
            chosen, color="0.25", linewidth=1.2, linestyle=(0, (4, 2)),
            label=f"chosen {symbol} = {chosen:.3g}",
        )  # fmt: skip


def one_dimension(values: Any, name: str) -> Any:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: give a list of numbers.")
    return array


def last_step(estimator: Any) -> Any:
    """The fitted estimator itself, or the last step of a pipeline."""
    check_is_fitted(estimator)
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def attribute(model: Any, name: str, remedy: str) -> Any:
    if not hasattr(model, name):
        raise ValueError(f"{type(model).__name__} has no {name}: {remedy}.")
    return getattr(model, name)


def named(models: Any, what: str) -> dict[str, Any]:
    return {str(name): model for name, model in by_name(models, what).items()}
