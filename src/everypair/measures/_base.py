"""What every measure answers: its value, its loss, and the labelling a given w gets most wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.rows import Rows

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

PERCENT = 100.0
"""The paper's losses of F-beta, precision, recall and break-even point are in percent."""


class Violation(NamedTuple):
    """A labelling y' as the cutting plane sees it: ``slack >= loss + change @ scores``."""

    loss: float
    """Delta(y', y)."""
    change: Array
    """``c' - c``, one entry a row, where Psi(y') = sum_i c'_i x_i and c belongs to the true y."""

    def slack(self, scores: Array) -> float:
        """The violation of this labelling at these scores."""
        return self.loss + float(self.change @ scores)


class Measure:
    """A performance measure of a whole sample, with the loss of its structural SVM.

    For scores ``s = X w`` the structural SVM (Joachims 2005, Optimization Problem 2) pays

        slack(s) = max(0, max_y' Delta(y', y) + sum_i (c'_i - c_i) s_i) ,

    the maximum over all admissible labellings y'. `most_violated` finds the one that attains
    it. A measure knows rows by their class and score only, never X.

    ``positive`` says which rows are positive, as booleans or 0 and 1; ``scores`` are finite.
    """

    ranks: bool = False
    """True where the measure sees the order of the scores only, not where zero lies: no
    constant feature is fitted then, and `threshold` says where `predict` cuts."""

    def value(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """The measure of the prediction that the scores make; higher is better."""
        raise NotImplementedError

    def loss(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """Delta of the prediction that the scores make, in the units of the slack."""
        raise NotImplementedError

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        """The labelling that maximises ``Delta(y', y) + sum_i c'_i s_i`` (eq. 7)."""
        raise NotImplementedError

    def searcher(self, positive: ArrayLike) -> Callable[[Array], Violation]:
        """`most_violated` of these rows, for scores that change: a fit searches many times."""
        return partial(self.most_violated, positive)

    def threshold(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """The rule for new rows, given training scores: positive where the score is above it."""
        return 0.0


def checked_rows(positive: ArrayLike | Rows, scores: ArrayLike) -> tuple[Rows, Array]:
    """The rows as a measure gets them, and their scores, which are finite."""
    rows = positive if isinstance(positive, Rows) else Rows.uncut(positive)
    return rows, rows.scores(scores, "scores")
