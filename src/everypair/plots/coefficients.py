"""The coefficient path of a penalised model against alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse

from everypair.plots._axes import (
    GREY,
    attribute,
    axes,
    chosen_axis,
    last_step,
    legend,
    one_dimension,
    short,
    style,
)
from everypair.plots._curves import Display
from everypair.rows import Array


class CoefficientPathDisplay(Display):
    """Coefficients against alpha; the strongest are named.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        Alphas of the path.
    coefs : array of shape (n_features, n_alphas)
        Coefficients at each.
    chosen : float, default=None
        The alpha that was chosen.
    feature_names : sequence of str, default=None
        Names of the features; None numbers them.

    See Also
    --------
    CVAUCDisplay : The cross-validated AUC along the same alphas.
    everypair.auc_path : The path itself.

    Examples
    --------
    >>> from everypair.plots import CoefficientPathDisplay
    >>> alphas, coefs = [1.0, 0.1, 0.01], [[0, 0.5, 0.8], [0, 0, -0.2]]
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
        """Draw ``coefs_`` of a fitted `AUCClassifierCV` over its alphas, with ``alpha_`` chosen.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
            `AUCClassifierCV`.
        {ax}
        n_named : int, default=8
            How many of the strongest coefficients get a name; the others are grey.

        {display}
        """
        model = last_step(estimator)
        remedy = "draw from_path(auc_path(X, y))"
        coefs = attribute(model, "coefs_", remedy)
        return cls.from_path(
            attribute(model, "alphas_", remedy)[of_chosen_ratio(model)],
            coefs,
            chosen=float(attribute(model, "alpha_", remedy)),
            feature_names=_feature_names(estimator, coefs.shape[0]),
            ax=ax,
            n_named=n_named,
        )

    @classmethod
    def from_path(
        cls,
        alphas: Any,
        coefs: Any = None,
        *,
        chosen: float | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        n_named: int = 8,
    ) -> Self:
        """Draw the result of `everypair.auc_path`, or your own alphas and coefs.

        Parameters
        ----------
        alphas : AUCPath or array of shape (n_alphas,)
            The result of `everypair.auc_path`, or alphas.
        coefs : array of shape (n_features, n_alphas), default=None
            A row for each feature and a column for each alpha.
        chosen : float, default=None
            The alpha that was chosen.
        feature_names : sequence of str, default=None
            Names of the features; None numbers them.
        {ax}
        n_named : int, default=8
            How many of the strongest coefficients get a name; the others are grey.

        {display}
        """
        if coefs is None:
            if not (hasattr(alphas, "alphas") and hasattr(alphas, "coefs")):
                raise ValueError("from_path needs the result of auc_path, or alphas and coefs.")
            alphas, coefs = alphas.alphas, alphas.coefs
        values = one_dimension(alphas, "alphas")
        table = np.asarray(coefs.toarray() if sparse.issparse(coefs) else coefs, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != values.size:
            raise ValueError(
                f"coefs has shape {table.shape} for {values.size} alphas: give one row for each "
                "feature, one column for each alpha."
            )
        if feature_names is not None and len(feature_names) != table.shape[0]:
            raise ValueError(
                f"There are {len(feature_names)} feature names for {table.shape[0]} coefficients: "
                "give one for each."
            )
        display = cls(alphas=values, coefs=table, chosen=chosen, feature_names=feature_names)
        return display.plot(ax=ax, n_named=n_named)

    def plot(self, ax: Any = None, *, n_named: int = 8) -> Self:
        """Draw on ``ax`` or on a new figure.

        Parameters
        ----------
        {ax}
        n_named : int, default=8
            How many of the strongest coefficients get a name; the others are grey.

        {display}
        """
        self.figure_, self.ax_ = axes(ax, 7.0, 4.5)
        order = np.argsort(self.alphas)
        alphas, coefs = self.alphas[order], self.coefs[:, order]
        # Strongest where the model was chosen, and over the whole path among those at zero there.
        at = 0 if self.chosen is None else np.argmin(np.abs(alphas - self.chosen))
        rank = np.lexsort((-np.abs(coefs).max(axis=1), -np.abs(coefs[:, at])))
        drawn = [f for f in rank if np.any(coefs[f] != 0)]
        strongest = drawn[: max(0, n_named)]
        self.lines_ = []
        for feature in drawn[len(strongest) :]:
            self.lines_ += self.ax_.plot(alphas, coefs[feature], color=GREY, linewidth=0.7)
        for number, feature in enumerate(strongest):
            names = self.feature_names
            name = f"feature {feature}" if names is None else short(names[feature])
            self.lines_ += self.ax_.plot(alphas, coefs[feature], label=name, **style(number))
        self.ax_.axhline(0, color="0.25", linewidth=0.8)
        chosen_axis(self.ax_, alphas, self.chosen, "alpha", "log")
        self.ax_.set_ylabel("Coefficient")
        if strongest or self.chosen is not None:
            legend(self.ax_, ax, beside=True)
        return self


def of_chosen_ratio(model: Any) -> Any:
    """Which candidates have the l1_ratio that was chosen; all of them where there is none."""
    if not hasattr(model, "l1_ratios_"):
        return slice(None)
    return model.l1_ratios_ == model.l1_ratio_


def _feature_names(estimator: Any, n_features: int) -> Sequence[str] | None:
    """What the last step's columns are called: what it saw, or what the steps before say."""
    names = getattr(last_step(estimator), "feature_names_in_", None)
    if names is None and hasattr(estimator, "steps"):
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):
            names = None  # a step that does not name what it makes
    return names if names is not None and len(names) == n_features else None
