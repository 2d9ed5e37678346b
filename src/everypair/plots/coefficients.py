"""The coefficient path of a penalised model against alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics._rows import Array
from everypair.plots._axes import (
    GREY,
    alpha_axis,
    attribute,
    axes,
    legend_beside,
    one_dimension,
    style,
)


class CoefficientPathDisplay:
    """Coefficients against alpha; the strongest are named.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
    coefs : array of shape (n_alphas, n_features)
    chosen : float, optional
        The alpha that was chosen.
    feature_names : sequence of str, optional

    Examples
    --------
    >>> from everypair.plots import CoefficientPathDisplay
    >>> alphas, coefs = [1.0, 0.1, 0.01], [[0, 0], [0.5, 0], [0.8, -0.2]]
    >>> display = CoefficientPathDisplay.from_path(alphas, coefs, chosen=0.1)
    >>> display.ax_.get_xlabel()
    'alpha'
    """

    def __init__(
        self,
        *,
        alphas: Array,
        coefs: Array,
        chosen: float | None = None,
        feature_names: Sequence[str] | None = None,
    ):
        self.alphas, self.coefs = alphas, coefs
        self.chosen, self.feature_names = chosen, feature_names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, n_named: int = 8) -> Self:
        """Draw ``coefs_`` (n_alphas, n_features) over ``alphas_``, with ``alpha_`` chosen."""
        return cls.from_path(
            attribute(estimator, "alphas_"),
            attribute(estimator, "coefs_"),
            chosen=float(attribute(estimator, "alpha_")),
            feature_names=getattr(estimator, "feature_names_in_", None),
            ax=ax,
            n_named=n_named,
        )

    @classmethod
    def from_path(
        cls,
        alphas: ArrayLike,
        coefs: ArrayLike,
        *,
        chosen: float | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        n_named: int = 8,
    ) -> Self:
        """Draw arrays; the ``n_named`` strongest coefficients get a name, the others are grey."""
        values, table = one_dimension(alphas, "alphas"), np.asarray(coefs, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != values.size:
            raise ValueError(
                f"coefs has shape {table.shape} for {values.size} alphas: one row for each alpha."
            )
        if feature_names is not None and len(feature_names) != table.shape[1]:
            raise ValueError(
                f"There are {len(feature_names)} feature names for {table.shape[1]} coefficients."
            )
        display = cls(alphas=values, coefs=table, chosen=chosen, feature_names=feature_names)
        return display.plot(ax=ax, n_named=n_named)

    def plot(self, ax: Any = None, *, n_named: int = 8) -> Self:
        """Draw on ``ax`` or on a new figure."""
        self.figure_, self.ax_ = axes(ax, 7.0, 4.5)
        order = np.argsort(self.alphas)
        alphas, coefs = self.alphas[order], self.coefs[order]
        # Strongest where the model was chosen, and over the whole path among those at zero there.
        at = coefs[0] if self.chosen is None else coefs[np.argmin(np.abs(alphas - self.chosen))]
        rank = np.lexsort((-np.abs(coefs).max(axis=0), -np.abs(at)))
        strongest = [f for f in rank if np.any(coefs[:, f] != 0)][: max(0, n_named)]
        self.lines_ = []
        for feature in set(range(coefs.shape[1])) - set(strongest):
            self.lines_ += self.ax_.plot(alphas, coefs[:, feature], color=GREY, linewidth=0.7)
        for number, feature in enumerate(strongest):
            names = self.feature_names
            name = f"feature {feature}" if names is None else str(names[feature])
            self.lines_ += self.ax_.plot(alphas, coefs[:, feature], label=name, **style(number))
        self.ax_.axhline(0, color="0.25", linewidth=0.8)
        alpha_axis(self.ax_, alphas, self.chosen, "alpha")
        self.ax_.set_ylabel("Coefficient")
        if strongest:
            legend_beside(self.ax_)
        return self
