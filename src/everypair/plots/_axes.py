"""What the displays share: a figure, a legend that covers nothing, lines that print in grey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

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


def style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": 1.8,
    }


def legend_below(ax: Any, columns: int = 1) -> None:
    """Under the axis label, where no line runs: a fixed distance below, whatever the size."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0, -34 / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + below,
        ncols=columns,
        frameon=False,
        fontsize=9,
    )


def legend_beside(ax: Any) -> None:
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)


def square(ax: Any) -> None:
    """The unit square of rates, with the line of chance."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (2, 3)))
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), box_aspect=1)
    ax.set(xlabel="False positive rate", ylabel="True positive rate")


def alpha_axis(ax: Any, alphas: Any, chosen: float | None, symbol: str) -> None:
    if np.all(np.asarray(alphas) > 0):
        ax.set_xscale("log")
    ax.set_xlabel(symbol)
    if chosen is not None:
        ax.axvline(chosen, color="0.25", linewidth=1.2, linestyle=(0, (4, 2)))
        place = ax.transAxes.inverted().transform(ax.transData.transform((chosen, 0)))[0]
        # Near an edge the words lean inwards, so that they stay over their own axes.
        lean = "left" if place < 0.25 else "right" if place > 0.75 else "center"
        ax.annotate(
            f"chosen {symbol} = {chosen:.3g}",
            (chosen, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha=lean,
            va="bottom",
            fontsize=9,
        )


def one_dimension(values: Any, name: str) -> Any:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: give a list of numbers.")
    return array


def attribute(estimator: Any, *names: str) -> Any:
    """The first of the attributes that the estimator (or a pipeline's last step) has."""
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    for name in names:
        if hasattr(last, name):
            return getattr(last, name)
    raise ValueError(
        f"{type(last).__name__} has no {' or '.join(names)}: fit it first, or use a model "
        "that keeps this."
    )


def named(models: Any, what: str) -> dict[str, Any]:
    if not isinstance(models, Mapping) or not models:
        raise ValueError(f"Give {what} as a mapping from the names of the models.")
    return {str(name): model for name, model in models.items()}
