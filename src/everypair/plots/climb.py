"""RankOpt's climb: the statistic against the radius of the sphere."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from everypair.metrics._rows import Array
from everypair.plots._axes import GREY, attribute, axes, legend_below, style


class ClimbDisplay:
    """Training and validation values of RankOpt against the radius, one climb for each subfold.

    Single climbs are thin, their means over subfolds thick; the circle is the radius with the
    best mean validation value.

    Parameters
    ----------
    columns : mapping of ``subfold``, ``radius``, ``train`` and ``valid`` to arrays of one length

    Examples
    --------
    >>> from everypair.plots import ClimbDisplay
    >>> path = {"subfold": [0, 0, 1, 1], "radius": [1, 2, 1, 2],
    ...         "train": [0.7, 0.8, 0.7, 0.9], "valid": [0.6, 0.7, 0.7, 0.8]}
    >>> ClimbDisplay.from_climb(path).best_radius
    2.0
    """

    def __init__(self, *, columns: dict[str, Array]):
        self.columns = columns

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``path_`` of a fitted RankOpt: one row a radius and subfold."""
        return cls.from_climb(attribute(estimator, "path_"), ax=ax)

    @classmethod
    def from_climb(cls, path: Any, *, ax: Any = None) -> Self:
        """Draw a structured array, data frame or mapping with the columns of ``path_``.

        Used are subfold, radius, train and valid; a valid value of NaN is left out.
        """
        columns = {}
        for name in ("subfold", "radius", "train", "valid"):
            try:
                columns[name] = np.asarray(path[name], dtype=np.float64)
            except (KeyError, ValueError, IndexError, TypeError) as error:
                raise ValueError(
                    f"The path has no column {name!r}: it needs subfold, radius, train and valid."
                ) from error
        if len({column.shape for column in columns.values()}) != 1 or columns["radius"].ndim != 1:
            raise ValueError("The columns of the path differ in length: give one row a step.")
        if columns["radius"].size == 0:
            raise ValueError("The path is empty: there is no climb to draw.")
        return cls(columns=columns).plot(ax=ax)

    def mean(self, name: str) -> tuple[Array, Array]:
        """Radii and the mean of a column over the subfolds that reached them."""
        radius, values = self.columns["radius"], self.columns[name]
        known = np.isfinite(values)
        radii = np.unique(radius[known])
        return radii, np.array([values[known & (radius == r)].mean() for r in radii])

    @property
    def best_radius(self) -> float:
        radii, valid = self.mean("valid")
        if radii.size == 0:
            raise ValueError("No validation value is known: there is no best radius.")
        return float(radii[np.argmax(valid)])

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on a new figure."""
        self.figure_, self.ax_ = axes(ax, 6.0, 4.8)
        subfold, radius = self.columns["subfold"], self.columns["radius"]
        for number, (name, label) in enumerate((("train", "training"), ("valid", "validation"))):
            look = style(number)
            for fold in np.unique(subfold):
                rows = np.flatnonzero((subfold == fold) & np.isfinite(self.columns[name]))
                rows = rows[np.argsort(radius[rows], kind="stable")]
                self.ax_.plot(
                    radius[rows],
                    self.columns[name][rows],
                    **{**look, "linewidth": 0.7, "color": GREY},
                )
            radii, means = self.mean(name)
            if radii.size:
                look["linewidth"] = 2.2
                self.ax_.plot(radii, means, label=f"{label}, mean over subfolds", **look)
        radii, valid = self.mean("valid")
        if radii.size:
            self.ax_.plot(
                self.best_radius, valid.max(), marker="o", markersize=8, markerfacecolor="white",
                markeredgecolor="black", markeredgewidth=1.6, linestyle="none",
                label=f"best radius {self.best_radius:.3g}",
            )  # fmt: skip
        if np.all(radius > 0):
            self.ax_.set_xscale("log")
        self.ax_.set(xlabel="Radius of the sphere", ylabel="Rank statistic")
        legend_below(self.ax_, columns=2)
        return self
