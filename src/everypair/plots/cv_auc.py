"""The cross-validated area against the penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.plots._axes import chosen_axis, last_step, one_dimension, style
from everypair.plots._curves import Chart
from everypair.plots.coefficients import of_chosen_ratio
from everypair.rows import Array


class CVAUCDisplay(Chart):
    """Cross-validated AUC against alpha, with its spread over folds and the chosen alpha.

    Parameters
    ----------
    alphas : array of shape (n_candidates,)
        Values tried.
    mean : array of shape (n_candidates,)
        Cross-validated AUC of each.
    std : array of shape (n_candidates,), default=None
        Standard deviation over the folds.
    chosen : float, default=None
        The value chosen.
    symbol : str, default="alpha"
        What the axis is called.
    scale : {"log", "linear"}, default="log"
        Scale of the horizontal axis.

    See Also
    --------
    CoefficientPathDisplay : The coefficients along the same alphas.

    Examples
    --------
    >>> from everypair.plots import CVAUCDisplay
    >>> display = CVAUCDisplay.from_path([0.01, 0.1, 1], [0.8, 0.9, 0.7], chosen=0.1)
    >>> display.ax_.get_ylabel()
    'Cross-validated AUC'
    """

    def __init__(
        self,
        *,
        alphas: Array,
        mean: Array,
        std: Array | None = None,
        chosen: float | None = None,
        symbol: str = "alpha",
        scale: str = "log",
    ):
        self.alphas, self.mean, self.std = alphas, mean, std
        self.chosen, self.symbol, self.scale = chosen, symbol, scale

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what a fitted model has tried: alphas or saturations.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            `AUCClassifierCV` (of its chosen l1_ratio), `AUCRLSCV` or `RankOptCV`.
        {ax}

        {display}
        """
        model = last_step(estimator)
        if not hasattr(model, "cv_scores_"):
            raise ValueError(
                f"{type(model).__name__} has no cross-validated scores: "
                "use AUCClassifierCV, AUCRLSCV or RankOptCV, or from_path."
            )
        symbol = "saturation" if hasattr(model, "saturation_") else "alpha"
        tried, chosen = getattr(model, f"{symbol}s_"), getattr(model, f"{symbol}_")
        shown = of_chosen_ratio(model)
        # Pooled pairs have no mean over folds: the folds' spread belongs to another curve.
        folds = None if getattr(model, "average", "") == "pooled" else model.cv_fold_scores_[shown]
        return cls.from_path(
            tried[shown],
            model.cv_scores_[shown],
            None if folds is None or folds.shape[1] == 1 else folds.std(axis=1),
            chosen=float(chosen),
            symbol=symbol,
            scale="linear" if symbol == "saturation" else "log",
            ax=ax,
        )

    @classmethod
    def from_path(
        cls,
        alphas: ArrayLike,
        mean: ArrayLike,
        std: ArrayLike | None = None,
        *,
        chosen: float | None = None,
        symbol: str = "alpha",
        scale: str = "log",
        ax: Any = None,
    ) -> Self:
        """Draw arrays.

        Parameters
        ----------
        alphas : array of shape (n_candidates,)
            Values tried.
        mean : array of shape (n_candidates,)
            Cross-validated AUC of each.
        std : array of shape (n_candidates,), default=None
            Standard deviation over the folds.
        chosen : float, default=None
            The value chosen.
        symbol : str, default="alpha"
            What the axis is called.
        scale : {"log", "linear"}, default="log"
            Scale of the horizontal axis.
        {ax}

        {display}
        """
        values, heights = one_dimension(alphas, "alphas"), one_dimension(mean, "mean")
        spread = None if std is None else one_dimension(std, "std")
        for array, name in ((heights, "mean"), (spread, "std")):
            if array is not None and array.size != values.size:
                raise ValueError(
                    f"{name} has {array.size} values for {values.size} alphas: give one per alpha."
                )
        shown: dict[str, Any] = {"chosen": chosen, "symbol": symbol, "scale": scale}
        return cls(alphas=values, mean=heights, std=spread, **shown).plot(ax=ax)

    def _draw(self) -> None:
        order = np.argsort(self.alphas)
        alphas, mean = self.alphas[order], self.mean[order]
        look = style(0)
        if self.std is not None:
            std = self.std[order]
            self.ax_.fill_between(
                alphas, mean - std, mean + std, color=look["color"], alpha=0.18, linewidth=0,
                label="± one standard deviation over folds",
            )  # fmt: skip
        (self.line_,) = self.ax_.plot(alphas, mean, marker="o", markersize=4, label="mean", **look)
        chosen_axis(self.ax_, alphas, self.chosen, self.symbol, self.scale)
        self.ax_.set_ylabel("Cross-validated AUC")
