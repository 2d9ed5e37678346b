"""RankOpt's climb: the statistic against the share of saturated pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from everypair.plots._axes import GREY, RING, attribute, last_step, style
from everypair.plots._curves import Chart
from everypair.rows import Array


class ClimbDisplay(Chart):
    """Training and validation values of RankOpt while the radius grows, one climb per subfold.

    A radius is given by the share of pairs that it saturates, which means the same in each
    subfold. Single climbs are thin, their means over subfolds thick; the circle is the
    saturation with the best mean validation value.

    Parameters
    ----------
    columns : mapping
        Arrays of one length by ``subfold``, ``saturation``, ``training`` and ``validation``.

    See Also
    --------
    ConvergenceDisplay : Of the convex fits.
    CVAUCDisplay : The cross-validated AUC of `RankOptCV`.

    Examples
    --------
    >>> from everypair.plots import ClimbDisplay
    >>> path = {"subfold": [0, 0, 1, 1], "saturation": [0.5, 0.9, 0.5, 0.9],
    ...         "training": [0.7, 0.8, 0.7, 0.9], "validation": [0.6, 0.7, 0.7, 0.8]}
    >>> ClimbDisplay.from_climb(path).best_saturation
    0.9
    """

    def __init__(self, *, columns: dict[str, Array]):
        self.columns = columns

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``path_`` of a fitted `RankOpt` or `RankOptCV`.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            `RankOpt` or `RankOptCV`.
        {ax}

        {display}
        """
        model = last_step(estimator)
        return cls.from_climb(attribute(model, "path_", "use RankOpt or RankOptCV"), ax=ax)

    @classmethod
    def from_climb(cls, path: Any, *, ax: Any = None) -> Self:
        """Draw rows of ``path_``, or a data frame, structured array or mapping of its columns.

        Used are subfold, saturation, training and validation; a value of NaN is left out.

        Parameters
        ----------
        path : list of named tuples, data frame, structured array or mapping
            The path.
        {ax}

        {display}
        """
        columns = {}
        for name in ("subfold", "saturation", "training", "validation"):
            try:
                # A list is one of named tuples.
                values = [getattr(row, name) for row in path] if _is_rows(path) else path[name]
                columns[name] = np.asarray(values, dtype=np.float64)
            except (AttributeError, KeyError, ValueError, IndexError, TypeError) as error:
                raise ValueError(
                    f"The path has no column {name!r}: "
                    "it needs subfold, saturation, training and validation."
                ) from error
        if len({column.shape for column in columns.values()}) != 1 or columns["subfold"].ndim != 1:
            raise ValueError(
                "The columns of the path differ in length: give a value per step in each."
            )
        if columns["subfold"].size == 0:
            raise ValueError("The path is empty: there is no climb to draw.")
        return cls(columns=columns).plot(ax=ax)

    def mean(self, name: str) -> tuple[Array, Array]:
        """Saturations and the mean of a column over the subfolds that reached them.

        Parameters
        ----------
        name : {"training", "validation"}
            Which column.

        Returns
        -------
        tuple of two arrays
            Saturations and means.
        """
        saturation, values = self.columns["saturation"], self.columns[name]
        known = np.isfinite(values)
        shares = np.unique(saturation[known])
        return shares, np.array([values[known & (saturation == s)].mean() for s in shares])

    @property
    def best_saturation(self) -> float:
        """The saturation with the highest mean validation value."""
        shares, validation = self.mean("validation")
        if shares.size == 0:
            raise ValueError("No validation value is known: there is no best saturation.")
        return float(shares[np.argmax(validation)])

    def _draw(self) -> None:
        subfold, saturation = self.columns["subfold"], self.columns["saturation"]
        folds = np.unique(subfold)
        of_all = ", mean over subfolds" if folds.size > 1 else ""
        for number, name in enumerate(("training", "validation")):
            look = style(number)
            for fold in folds if folds.size > 1 else []:
                rows = np.flatnonzero((subfold == fold) & np.isfinite(self.columns[name]))
                rows = rows[np.argsort(saturation[rows], kind="stable")]
                self.ax_.plot(
                    saturation[rows],
                    self.columns[name][rows],
                    **{**look, "linewidth": 0.7, "color": GREY},
                )
            shares, means = self.mean(name)
            if shares.size:
                look["linewidth"] = 2.2
                self.ax_.plot(shares, means, marker="o", markersize=4, label=name + of_all, **look)
        shares, validation = self.mean("validation")
        if shares.size:
            best = self.best_saturation
            self.ax_.plot(
                best, validation.max(), **RING, markeredgecolor="black",
                label=f"best saturation {best:.3g}",
            )  # fmt: skip
        self.ax_.set(xlabel="Share of saturated pairs", ylabel="Share of pairs ranked right")
        if self.ax_.get_xscale() == "linear":
            self.ax_.set_xlim(0, 1.01)


def _is_rows(path: Any) -> bool:
    return isinstance(path, (list, tuple))
