"""What every measure answers: its value, its loss, and the labelling a given w gets most wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.described import fill_in_class
from everypair.rows import Rows

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

PERCENT = 100.0
"""The paper's losses of F-beta, precision, recall and break-even point are in percent."""


TEXTS = {
    "positive": """
positive : array of shape (n_rows,)
    Which rows are positive, as booleans or as 0 and 1.
""",
    "scores": """
scores : array of shape (n_rows,)
    Scores, finite: the higher, the more likely positive.
""",
    "counts": """
a, b, c, d : int or array
    True positives, false positives, missed positives and the other negatives.
""",
    "k": """
k : int, float or str
    How many rows: a count, a share of the rows, or a multiple of the positives such as ``"2p"``.
""",
}


class Violation(NamedTuple):
    """A labelling y' as the cutting plane sees it: ``slack >= loss + change @ scores``.

    Attributes
    ----------
    loss : float
        Delta(y', y).
    change : array of shape (n_rows,)
        ``c' - c``, where Psi(y') = sum_i c'_i x_i and c belongs to the true y.

    See Also
    --------
    Measure.most_violated : Returns it.
    """

    loss: float
    change: Array

    def slack(self, scores: Array) -> float:
        """The violation of this labelling at these scores.

        Parameters
        ----------
        scores : array of shape (n_rows,)
            Scores of the rows.

        Returns
        -------
        float
            ``loss + change @ scores``.
        """
        return self.loss + float(self.change @ scores)


class Measure:
    """A performance measure of a whole sample, with the loss of its structural SVM.

    For scores ``s = X w`` the structural SVM (Joachims 2005, Optimization Problem 2) pays

        slack(s) = max(0, max_y' Delta(y', y) + sum_i (c'_i - c_i) s_i) ,

    the maximum over all admissible labellings y'. `most_violated` finds the one that attains
    it. A measure knows rows by their class and score only, never X.

    See Also
    --------
    ContingencyMeasure : What to subclass for a measure of the contingency table.
    measure_of : A measure by its name.

    Examples
    --------
    >>> from everypair.measures import FBeta
    >>> f1 = FBeta()
    >>> print(f"{f1.value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    0.80
    """

    ranks: bool = False
    """True where the measure sees the order of the scores only, not where zero lies: no
    constant feature is fitted then, and `threshold` says where `predict` cuts."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fill_in_class(cls, TEXTS)

    def value(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """The measure of the prediction that the scores make; higher is better.

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        float
            The value.
        """
        raise NotImplementedError

    def loss(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """Delta of the prediction that the scores make, in the units of the slack.

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        float
            The loss, 0 for the right prediction.
        """
        raise NotImplementedError

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        """The labelling that maximises ``Delta(y', y) + sum_i c'_i s_i`` (eq. 7).

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        Violation
            Its loss, and how it changes the coefficient of each row.
        """
        raise NotImplementedError

    def searcher(self, positive: ArrayLike) -> Callable[[Array], Violation]:
        """`most_violated` of these rows, for scores that change: a fit searches many times.

        Parameters
        ----------
        {positive}

        Returns
        -------
        callable
            From scores to a `Violation`.
        """
        return partial(self.most_violated, positive)

    def threshold(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """The rule for new rows, given training scores: positive where the score is above it.

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        float
            The threshold.
        """
        return 0.0


fill_in_class(Measure, TEXTS)


def checked_rows(positive: ArrayLike | Rows, scores: ArrayLike) -> tuple[Rows, Array]:
    """The rows as a measure gets them, and their scores, which are finite."""
    rows = positive if isinstance(positive, Rows) else Rows.uncut(positive)
    return rows, rows.scores(scores, "scores")
