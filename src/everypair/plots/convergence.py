"""How fast a fit converged: the gap against time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from everypair.plots._axes import attribute, last_step, short, style
from everypair.plots._curves import Chart
from everypair.rows import Array

LEAST_GAP_DRAWN = 1e-16
"""A gap that has rounded to zero or below is drawn here: the axis is logarithmic."""


class ConvergenceDisplay(Chart):
    """Relative duality gap (gradient norm for the sigmoid) against seconds of fitting.

    The first fit of a process is slow to begin: its kernels are compiled, or read from the disk.

    Parameters
    ----------
    histories : mapping
        Arrays of rows (seconds, objective, distance) by name.
    tol : float, default=None
        The gap that was asked for.

    See Also
    --------
    ClimbDisplay : Of RankOpt, which has no gap.

    Examples
    --------
    >>> from everypair.plots import ConvergenceDisplay
    >>> history = [(0.1, 0.5, 1e-1), (0.2, 0.4, 1e-4), (0.3, 0.4, 1e-9)]
    >>> display = ConvergenceDisplay.from_history(history, tol=1e-6)
    >>> display.ax_.get_yscale()
    'log'
    """

    def __init__(self, *, histories: Mapping[str, Array], tol: float | None = None):
        self.histories, self.tol = dict(histories), tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``history_`` of one fitted model, or of several given by name.

        Parameters
        ----------
        estimator : fitted estimator or mapping
            One model or pipeline, or several by name.
        {ax}

        {display}
        """
        several = isinstance(estimator, Mapping)
        given = estimator if several else {type(estimator).__name__: estimator}
        models = {str(name): last_step(model) for name, model in given.items()}
        remedy = "a climb of RankOpt is drawn by ClimbDisplay, rows of your own by from_history"
        histories = {name: attribute(model, "history_", remedy) for name, model in models.items()}
        tols = {getattr(model, "tol", None) for model in models.values()}
        return cls.from_history(histories, tol=tols.pop() if len(tols) == 1 else None, ax=ax)

    @classmethod
    def from_history(cls, history: Any, *, tol: float | None = None, ax: Any = None) -> Self:
        """Draw rows (seconds, objective, distance), or several of them given by name.

        Parameters
        ----------
        history : array of shape (n_steps, 3) or mapping
            One history, or several by name.
        tol : float, default=None
            The gap that was asked for.
        {ax}

        {display}
        """
        given = history if isinstance(history, Mapping) else {"gap": history}
        histories = {}
        for name, rows in given.items():
            table = np.asarray(rows, dtype=np.float64)
            if table.ndim != 2 or table.shape[1] != 3 or table.shape[0] == 0:
                raise ValueError(
                    f"The history {name!r} has shape {table.shape}: "
                    "give rows (seconds, objective, distance)."
                )
            histories[str(name)] = table
        if not histories:
            raise ValueError("There is no history to draw: give at least one.")
        return cls(histories=histories, tol=tol).plot(ax=ax)

    def _draw(self) -> None:
        self.lines_ = []
        for number, (name, table) in enumerate(self.histories.items()):
            gaps = np.maximum(table[:, 2], LEAST_GAP_DRAWN)
            self.lines_ += self.ax_.plot(
                table[:, 0], gaps, marker="o", markersize=4, label=short(name), **style(number)
            )
        if self.tol is not None:
            self.ax_.axhline(
                self.tol, color="0.25", linewidth=1.2, linestyle=(0, (4, 2)),
                label=f"tol = {self.tol:g}",
            )  # fmt: skip
        self.ax_.set_yscale("log")
        self.ax_.set(xlabel="Seconds", ylabel="Relative distance to the optimum")
        if self.ax_.get_xscale() == "linear" and self.ax_.dataLim.x1 > 0:
            self.ax_.set_xlim(0, 1.04 * self.ax_.dataLim.x1)
