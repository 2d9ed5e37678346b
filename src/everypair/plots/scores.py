"""Where the scores of the two classes lie, and the threshold between them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.cross_val import cut_of, scores_of
from everypair.plots._axes import COLOURS, short
from everypair.plots._curves import Chart
from everypair.rows import Array, Rows


class ScoreDisplay(Chart):
    """Histograms of the scores of both classes, each of area one, with the threshold.

    Parameters
    ----------
    positives : array of shape (n_positives,)
        Scores of the positive rows.
    negatives : array of shape (n_negatives,)
        Scores of the negative rows.
    weights : tuple of two arrays, default=None
        Weights of the positives and of the negatives.
    threshold : float, default=None
        The cut to draw.
    labels : tuple (negative, positive), default=("negative", "positive")
        Names of the classes.

    See Also
    --------
    ROCDisplay : The curve that all cuts make.
    everypair.metrics.threshold_for : A threshold by a rule.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.plots import ScoreDisplay
    >>> y = np.repeat(["fine", "sick"], 50)
    >>> display = ScoreDisplay.from_predictions(y, np.arange(100.0), threshold=49.5)
    >>> display.labels
    ('fine', 'sick')
    """

    _inches = (6.0, 4.5)

    def __init__(
        self,
        *,
        positives: Array,
        negatives: Array,
        weights: tuple[Array, Array] | None = None,
        threshold: float | None = None,
        labels: tuple[str, str] = ("negative", "positive"),
    ):
        self.positives, self.negatives, self.weights = positives, negatives, weights
        self.threshold, self.labels = threshold, labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None,
        pos_label: Any = None, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the scores of a fitted classifier; the threshold is where `predict` cuts.

        Parameters
        ----------
        {fitted}
        {sample_weight}
        {pos_label}
        {ax}

        {display}
        """
        scores = scores_of(estimator, X, pos_label)
        return cls.from_predictions(
            y,
            scores,
            threshold=cut_of(estimator, X, scores, pos_label),
            sample_weight=sample_weight,
            pos_label=pos_label,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw scores; `everypair.metrics.threshold_for` gives a threshold by a rule.

        Parameters
        ----------
        {scores}
        threshold : float, default=None
            The cut to draw.
        {sample_weight}
        {pos_label}
        {ax}

        {display}
        """
        rows = Rows.of(y_true, sample_weight, pos_label)
        scores = rows.scores(y_score)
        members = (rows.positive, ~rows.positive)
        weights = None
        if rows.weight is not None:
            weights = rows.weight[members[0]], rows.weight[members[1]]
        display = cls(
            positives=scores[members[0]],
            negatives=scores[members[1]],
            weights=weights,
            threshold=threshold,
            labels=(str(rows.labels[0]), str(rows.labels[1])),
        )
        return display.plot(ax=ax)

    def _draw(self) -> None:
        both = np.concatenate([self.positives, self.negatives])
        edges = np.histogram_bin_edges(both, bins=min(60, max(10, int(2 * np.cbrt(both.size)))))
        weights = self.weights if self.weights is not None else (None, None)
        # Filled against outlined with hatching: the two are told apart without colour.
        self.ax_.hist(
            self.negatives, edges, weights=weights[1], density=True, color="0.75",
            label=f"{short(self.labels[0])} ({self.negatives.size})",
        )  # fmt: skip
        self.ax_.hist(
            self.positives, edges, weights=weights[0], density=True, histtype="stepfilled",
            facecolor="none", edgecolor=COLOURS[0], linewidth=1.6, hatch="///",
            label=f"{short(self.labels[1])} ({self.positives.size})",
        )  # fmt: skip
        if self.threshold is not None:
            self.ax_.axvline(
                self.threshold, color="black", linewidth=1.6, linestyle=(0, (4, 2)),
                label=f"threshold {self.threshold:.3g}",
            )  # fmt: skip
        self.ax_.set(xlabel="Score", ylabel="Density within the class")
