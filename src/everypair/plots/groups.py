"""How a ranking does inside each group, and how the groups differ."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.cross_val import scores_of
from everypair.metrics.in_groups import AUCByGroup, auc_by_group
from everypair.plots._axes import COLOURS
from everypair.plots._curves import Chart
from everypair.rows import Array

N_BINS = 20


class GroupAUCDisplay(Chart):
    """The areas of the groups as a histogram by weight, with their weighted mean.

    Parameters
    ----------
    auc : array of shape (n_groups,)
        The area inside each group that has a pair.
    weight : array of shape (n_groups,)
        What each group weighs; they sum to one.
    n_without_pairs : int, default=0
        Groups that lack one of the classes, for the legend.

    See Also
    --------
    everypair.metrics.auc_by_group : The table behind it.
    ROCDisplay : The curve over all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import GroupAUCDisplay
    >>> y, within = np.tile([0, 1, 1], 20), np.repeat(np.arange(20), 3)
    >>> display = GroupAUCDisplay.from_predictions(y, np.arange(60.0), within)
    >>> display.mean
    1.0
    """

    _inches = (6.0, 4.5)
    _legend_at = "upper left"

    def __init__(self, *, auc: Array, weight: Array, n_without_pairs: int = 0):
        self.auc, self.weight, self.n_without_pairs = auc, weight, n_without_pairs

    @property
    def mean(self) -> float:
        """The weighted mean: ``auc_score(..., within=within)``."""
        return min(float(self.weight @ self.auc), 1.0)  # the weights sum to one up to rounding

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, within: ArrayLike, *,
        sample_weight: ArrayLike | None = None, within_weight: str = "pairs",
        pos_label: Any = None, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the areas of a fitted classifier.

        Parameters
        ----------
        {fitted}
        within : array of shape (n_rows,)
            Labels of the groups.
        {sample_weight}
        within_weight : {"pairs", "rows", "equal"}, default="pairs"
            How much a group weighs.
        {pos_label}
        {ax}

        {display}
        """
        return cls.from_predictions(
            y, scores_of(estimator, X, pos_label), within, sample_weight=sample_weight,
            within_weight=within_weight, pos_label=pos_label, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_score: ArrayLike, within: ArrayLike, *,
        sample_weight: ArrayLike | None = None, within_weight: str = "pairs",
        pos_label: Any = None, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the areas of scores.

        Parameters
        ----------
        {scores}
        within : array of shape (n_rows,)
            Labels of the groups.
        {sample_weight}
        within_weight : {"pairs", "rows", "equal"}, default="pairs"
            How much a group weighs.
        {pos_label}
        {ax}

        {display}
        """
        areas = auc_by_group(
            y_true, y_score, within, sample_weight, within_weight=within_weight,
            pos_label=pos_label,
        )  # fmt: skip
        return cls.from_areas(areas, np.unique(np.asarray(within)).size, ax=ax)

    @classmethod
    def from_areas(cls, areas: AUCByGroup, n_groups: int | None = None, *, ax: Any = None) -> Self:
        """Draw what `everypair.metrics.auc_by_group` returns.

        Parameters
        ----------
        areas : AUCByGroup
            The table.
        n_groups : int, default=None
            All groups, those without a pair as well; None counts those of the table.
        {ax}

        {display}
        """
        without = 0 if n_groups is None else n_groups - areas.auc.size
        display = cls(auc=areas.auc, weight=areas.weight, n_without_pairs=without)
        return display.plot(ax=ax)

    def _draw(self) -> None:
        without = f", {self.n_without_pairs} more without a pair" if self.n_without_pairs else ""
        self.ax_.hist(
            self.auc, np.linspace(0, 1, N_BINS + 1), weights=self.weight, color="0.75",
            edgecolor="white", label=f"{self.auc.size} groups{without}",
        )  # fmt: skip
        self.ax_.axvline(
            self.mean, color=COLOURS[0], linewidth=1.8, label=f"weighted mean {self.mean:.3f}"
        )
        self.ax_.axvline(0.5, color="black", linewidth=1.0, linestyle=(0, (4, 2)), label="chance")
        self.ax_.set(xlabel="AUC inside the group", ylabel="Weight of the groups", xlim=(0, 1))
