"""Measures of the k highest scores: labellings with exactly k positives, or at most k."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.measures._base import PERCENT, Array, Bools, Violation, checked_rows
from everypair.measures.contingency import ContingencyMeasure
from everypair.measures.ranked import Ranked
from everypair.metrics.at_k import rows_at_k
from everypair.rows import Rows

Share = int | float | str


class FixedCount(ContingencyMeasure):
    """Measures whose labellings have exactly k positives; the rule takes the k highest scores.

    Their losses fall by the same amount for each true positive, so the most violated
    labelling takes the k highest scores after the positives' are lowered by half of that: a
    selection in O(n), no sort.

    Parameters
    ----------
    {k}

    See Also
    --------
    PrecisionAtK : The share of positives among them.
    RecallAtK : The share of the positives that is among them.

    Examples
    --------
    >>> from everypair.measures import PrecisionAtK
    >>> PrecisionAtK("1p").count(n_rows=100, n_positive=7)
    7
    """

    ranks = True

    def __init__(self, k: Share):
        self.k = k

    def count(self, n_rows: int, n_positive: int) -> int:
        """The number k for a sample of this size.

        Parameters
        ----------
        n_rows : int
            Rows of the sample.
        n_positive : int
            Positive rows of it.

        Returns
        -------
        int
            From 1 to ``n_rows``.
        """
        return rows_at_k(self.k, n_rows, n_positive)

    def loss_of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return PERCENT * (1 - self.of_table(a, b, c, d))

    def predicted(self, rows: Rows, scores: Array) -> Bools:
        return top(scores, self.count(rows.n_rows, rows.n_positive))

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        rows, scores = checked_rows(positive, scores)
        n_positive, n_negative = rows.n_positive, rows.n_negative
        k = self.count(scores.size, n_positive)
        one_more = self.loss_of_table(0, k, n_positive, n_negative - k)
        one_more -= self.loss_of_table(1, k - 1, n_positive - 1, n_negative - k + 1)
        chosen = top(scores - np.where(rows.positive, one_more / 2, 0.0), k)
        a = int(np.count_nonzero(chosen & rows.positive))
        loss = self.loss_of_table(a, k - a, n_positive - a, n_negative - k + a)
        return Violation(float(loss), 2.0 * (chosen.astype(np.float64) - rows.positive))

    def threshold(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """Halfway between the k-th and the next training score.

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        float
            The threshold.
        """
        rows, scores = checked_rows(positive, scores)
        k = self.count(rows.n_rows, rows.n_positive)
        if k == scores.size:
            return float(np.nextafter(scores.min(), -np.inf))
        inside, outside = np.partition(scores, (-k - 1, -k))[[-k, -k - 1]]
        between = outside / 2 + inside / 2
        return float(between if between < inside else outside)


class PrecisionAtK(FixedCount):
    """``a / (a + b)`` with ``a + b = k`` (eq. 12).

    Parameters
    ----------
    {k}

    See Also
    --------
    RecallAtK : The share of the positives that is among the k.

    Examples
    --------
    >>> from everypair.measures import PrecisionAtK
    >>> print(f"{PrecisionAtK(3).value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    0.67
    """

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return a / (a + b)


class RecallAtK(FixedCount):
    """``a / (a + c)`` with ``a + b = k`` (eq. 12, whose denominator is misprinted as b + d).

    Parameters
    ----------
    {k}

    See Also
    --------
    PrecisionAtK : The share of positives among the k.
    RecallAtMostK : Trained against labellings of at most k positives.

    Examples
    --------
    >>> from everypair.measures import RecallAtK
    >>> print(f"{RecallAtK(1).value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    0.50
    """

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return a / (a + c)


class RecallAtMostK(RecallAtK):
    """Recall of the k highest scores, trained against labellings of at most k positives.

    The paper's labellings have exactly k, which leaves out the true one where k is more than the
    positives. With a true positives fixed, further negatives pay as long as their score is above
    zero and there is room: b = min(k - a, number of those).

    Parameters
    ----------
    {k}

    See Also
    --------
    RecallAtK : The paper's.

    Examples
    --------
    >>> from everypair.measures import RecallAtMostK
    >>> print(f"{RecallAtMostK(1).value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    0.50
    """

    ranks = False

    def search(self, ranked: Ranked) -> tuple[int, int]:
        n_positive, n_negative = ranked.n_positive, ranked.n_negative
        k = self.count(n_positive + n_negative, n_positive)
        a = np.arange(min(n_positive, k) + 1)
        b = np.minimum(k - a, int(np.argmax(ranked.negative_gain)))
        loss = self.loss_of_table(a, b, n_positive - a, n_negative - b)
        best = int(np.argmax(loss + ranked.positive_gain[a] + ranked.negative_gain[b]))
        return int(a[best]), int(b[best])

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        return self._violation(Ranked(positive, scores), self.search)


class BreakEven(PrecisionAtK):
    """Precision where it equals recall: ``a / (a + b)`` with ``a + b = a + c`` (PRBEP).

    See Also
    --------
    PrecisionAtK : With any k.

    Examples
    --------
    >>> from everypair.measures import BreakEven
    >>> print(f"{BreakEven().value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    1.00
    """

    def __init__(self) -> None:
        super().__init__("1p")


def top(scores: Array, k: int) -> Bools:
    """Which are the k highest scores; among equal ones any."""
    chosen = np.zeros(scores.size, dtype=bool)
    chosen[np.argpartition(scores, scores.size - k)[scores.size - k :]] = True
    return chosen
