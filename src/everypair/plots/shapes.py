"""The curves of an additive model, one panel per column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from everypair.plots._axes import COLOURS, GREY, attribute, axes, last_step, short
from everypair.plots._curves import Display

PANEL_WIDTH, PANEL_HEIGHT = 3.2, 2.6
MOST_BARS = 12
"""Categories of a panel; of more, those with the most rows are drawn."""


class ShapeDisplay(Display):
    """What each column adds to the score of an additive model.

    A column of numbers is a curve with the number of its training rows below it, a column of
    categories a bar for each. All panels have one scale, so that heights compare. A dot at the
    right is the value of missing rows. Pairs of columns are maps: blue adds to the score, orange
    takes from it.

    Parameters
    ----------
    shapes : list of Shape
        The bins of the columns.
    curves : list of arrays
        The value of each bin.
    pairs : list of PairShape
        The pairs of columns.
    pair_values : list of arrays
        The value of each cell.
    importances : array
        Standard deviation of each curve and pair over the training rows.
    bands : ShapeBands, default=None
        Of `everypair.shape_inference`: each curve has its pointwise band, darker, and the band of
        the whole curve, paler.
    auc_lost : array, default=None
        The AUC that the score loses without each curve and pair, of `AUCAdditive.auc_lost`: then
        panels are chosen and named by it.

    See Also
    --------
    everypair.AUCAdditive : The model.
    everypair.shape_inference : The bands.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair import AUCAdditive
    >>> from everypair.plots import ShapeDisplay
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = AUCAdditive().fit(X, X[:, 0] ** 2 > 1)
    >>> display = ShapeDisplay.from_estimator(model, n_panels=2)
    >>> display.axes_[0].get_title()
    'x0'
    """

    def __init__(
        self,
        *,
        shapes: Any,
        curves: Any,
        pairs: Any,
        pair_values: Any,
        importances: Any,
        bands: Any = None,
        auc_lost: Any = None,
    ):
        self.shapes, self.curves = shapes, curves
        self.pairs, self.pair_values = pairs, pair_values
        self.importances, self.bands, self.auc_lost = importances, bands, auc_lost

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        columns: Sequence[str] | None = None,
        n_panels: int = 6,
        bands: Any = None,
        auc_lost: Any = None,
    ) -> Self:
        """Draw the curves of a fitted `AUCAdditive` or `AUCAdditiveCV`.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            `AUCAdditive` or `AUCAdditiveCV`.
        columns : sequence of str, default=None
            Names of the columns to draw; None: those whose curves move the score the most.
        n_panels : int, default=6
            How many panels at most, where ``columns`` is None.
        bands : ShapeBands, default=None
            Of `everypair.shape_inference`, to draw around the curves.
        auc_lost : array, default=None
            Of `AUCAdditive.auc_lost`, to choose and name the panels by.

        {display}
        """
        model = last_step(estimator)
        remedy = "fit AUCAdditive or AUCAdditiveCV"
        display = cls(
            shapes=attribute(model, "shapes_", remedy), curves=model.curves_, pairs=model.pairs_,
            pair_values=model.pair_values_, importances=model.importances_, bands=bands,
            auc_lost=auc_lost,
        )  # fmt: skip
        return display.plot(columns=columns, n_panels=n_panels)

    def plot(
        self, ax: Any = None, *, columns: Sequence[str] | None = None, n_panels: int = 6
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw one panel; None makes a figure of several.
        columns : sequence of str, default=None
            Names of the columns to draw; None: those whose curves move the score the most.
        n_panels : int, default=6
            How many panels at most, where ``columns`` is None.

        Returns
        -------
        ShapeDisplay
            The display, with ``axes_`` and ``figure_``.
        """
        chosen = self._chosen(columns, 1 if ax is not None else n_panels)
        if ax is not None:
            self.figure_, panels = ax.figure, [ax]
        else:
            width = min(3, len(chosen))
            height = -(-len(chosen) // width)
            self.figure_, first = axes(None, PANEL_WIDTH * width, PANEL_HEIGHT * height)
            first.remove()
            panels = list(self.figure_.subplots(height, width, squeeze=False).ravel())
        low = min(float(np.min(self._reach(k, "all_low"))) for k in chosen)
        top = max(float(np.max(self._reach(k, "all_high"))) for k in chosen)
        high = top - low or 1.0
        for panel, number in zip(panels, chosen, strict=False):
            if number < len(self.shapes):
                self._curve(panel, number)
                panel.set_ylim(low - 0.08 * high, top + 0.08 * high)
            else:
                self._map(panel, number - len(self.shapes), max(abs(low), abs(top)))
            panel.set_title(self._title(number), fontsize=9)
            panel.tick_params(labelsize=8)
        for panel in panels[len(chosen) :]:
            panel.remove()
        self.axes_ = panels[: len(chosen)]
        return self

    def _name(self, number: int) -> str:
        if number < len(self.shapes):
            return str(self.shapes[number].name)
        pair = self.pairs[number - len(self.shapes)]
        return f"{self.shapes[pair.first].name} x {self.shapes[pair.second].name}"

    def _title(self, number: int) -> str:
        name = short(self._name(number))
        if self.auc_lost is None:
            return name
        return f"{name} (AUC lost {self.auc_lost[number]:.3f})"

    def _reach(self, number: int, end: str) -> Any:
        """The values of a curve or surface, or one side of the band around a curve."""
        if self.bands is None or number >= len(self.shapes):
            return self._values(number)
        return getattr(self.bands[number], end)

    def _values(self, number: int) -> Any:
        n = len(self.shapes)
        return self.curves[number] if number < n else self.pair_values[number - n]

    def _chosen(self, columns: Sequence[str] | None, n_panels: int) -> list[int]:
        if columns is None:
            size = self.importances if self.auc_lost is None else self.auc_lost
            return np.argsort(-np.asarray(size), kind="stable")[:n_panels].tolist()
        names = [self._name(k) for k in range(len(self.shapes) + len(self.pairs))]
        for name in columns:
            if name not in names:
                raise ValueError(
                    f"{name!r} is not a column of the model: use one of {', '.join(names)}."
                )
        return [names.index(name) for name in columns]

    def _curve(self, ax: Any, number: int) -> None:
        shape, curve = self.shapes[number], np.asarray(self.curves[number])
        ax.axhline(0, color=GREY, linewidth=0.8)
        if shape.kind == "category":
            order = np.argsort(-shape.counts[:-1], kind="stable")[:MOST_BARS]
            names = [short(shape.categories[k]) for k in order]
            values = curve[order]
            if shape.counts[-1] > 0:
                names, values = [*names, "(missing)"], np.append(values, curve[-1])
            ax.bar(range(len(names)), values, color=COLOURS[0], width=0.7)
            if self.bands is not None:
                band = self.bands[number]
                ends = [
                    np.append(end[order], end[-1]) if shape.counts[-1] > 0 else end[order]
                    for end in (band.all_low, band.all_high)
                ]
                ax.vlines(range(len(names)), *ends, color=GREY, linewidth=1.5)
            ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
            return
        held = np.flatnonzero(shape.counts[:-1] > 0)
        x, counts = shape.centres[held], shape.counts[:-1][held]
        if self.bands is not None:
            band = self.bands[number]
            for low, high, alpha in (
                (band.all_low, band.all_high, 0.15), (band.low, band.high, 0.25)
            ):  # fmt: skip
                ax.fill_between(
                    x, low[held], high[held], step="mid", color=COLOURS[0], alpha=alpha, linewidth=0
                )
        ax.plot(x, curve[held], color=COLOURS[0], linewidth=1.8, drawstyle="steps-mid")
        below = ax.inset_axes([0, 0, 1, 0.18], sharex=ax)
        inner = np.linspace(x[0], x[-1], 31) if x.size > 1 else np.array([x[0] - 1, x[0] + 1])
        below.hist(x, bins=inner, weights=counts, color=GREY, alpha=0.45)
        below.axis("off")
        if shape.counts[-1] > 0:
            ax.plot(
                [1.02], [curve[-1]], marker="o", markersize=5, color=COLOURS[1], clip_on=False,
                transform=ax.get_yaxis_transform(),
            )  # fmt: skip

    def _map(self, ax: Any, number: int, limit: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        pair = self.pairs[number]
        colours = LinearSegmentedColormap.from_list("everypair", ["#D55E00", "white", "#0072B2"])
        values = np.reshape(self.pair_values[number], pair.sides)
        ax.imshow(
            values.T, origin="lower", cmap=colours, vmin=-limit, vmax=limit, aspect="auto"
        )  # fmt: skip
        ax.set_xlabel(f"{short(self.shapes[pair.first].name)}, low to high", fontsize=8)
        ax.set_ylabel(f"{short(self.shapes[pair.second].name)}, low to high", fontsize=8)
        ax.set_xticks([])
        ax.set_yticks([])
