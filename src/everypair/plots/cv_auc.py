"""The cross-validated area against the penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics._rows import Array
from everypair.plots._axes import alpha_axis, attribute, axes, legend_below, one_dimension, style


class CVAUCDisplay:
    """Cross-validated AUC against alpha, with its spread over folds and the chosen alpha.

    Parameters
    ----------
    alphas, mean : arrays of shape (n_alphas,)
    std : array of shape (n_alphas,), optional
    chosen : float, optional
    symbol : str
        What the axis is called.

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
    ):
        self.alphas, self.mean, self.std = alphas, mean, std
        self.chosen, self.symbol = chosen, symbol

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``cv_auc_`` over ``alphas_`` with ``alpha_`` (or ``lams_`` with ``lam_``).

        ``cv_auc_`` holds the mean for each alpha, or two columns, mean and standard deviation
        over folds.
        """
        table = np.asarray(attribute(estimator, "cv_auc_"), dtype=np.float64)
        mean, std = (table, None) if table.ndim == 1 else (table[:, 0], table[:, 1])
        return cls.from_path(
            attribute(estimator, "alphas_", "lams_"),
            mean,
            std,
            chosen=float(attribute(estimator, "alpha_", "lam_")),
            symbol="alpha" if _has(estimator, "alphas_") else "lambda",
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
        ax: Any = None,
    ) -> Self:
        """Draw arrays."""
        values, heights = one_dimension(alphas, "alphas"), one_dimension(mean, "mean")
        spread = None if std is None else one_dimension(std, "std")
        for array, name in ((heights, "mean"), (spread, "std")):
            if array is not None and array.size != values.size:
                raise ValueError(f"{name} has {array.size} values for {values.size} alphas.")
        display = cls(alphas=values, mean=heights, std=spread, chosen=chosen, symbol=symbol)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax`` or on a new figure."""
        self.figure_, self.ax_ = axes(ax, 6.0, 4.6)
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
        alpha_axis(self.ax_, alphas, self.chosen, self.symbol)
        self.ax_.set_ylabel("Cross-validated AUC")
        if self.std is not None:
            legend_below(self.ax_, columns=2)
        return self


def _has(estimator: Any, name: str) -> bool:
    steps = getattr(estimator, "steps", None)
    return hasattr(steps[-1][1] if steps else estimator, name)
