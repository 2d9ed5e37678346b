"""Measures of the contingency table (Joachims 2005, section 4.1).

                 y = 1   y = -1
    y' =  1        a       b
    y' = -1        c       d

Psi(y') = sum_i y'_i x_i, so a row that y' labels wrongly changes its coefficient by 2. With a
and b given, the best labelling has the a highest positives and the b highest negatives on top
(Lemma 1); a measure only has to find the best a and b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.measures._base import (
    PERCENT,
    Array,
    Bools,
    Measure,
    Violation,
    checked_rows,
)
from everypair.measures.ranked import LossRows, Ranked, TableFunction, checked
from everypair.rows import Rows

Search = Callable[[Ranked], tuple[int, int]]


BETA_RANGE = 1e-6, 1e6


class ContingencyMeasure(Measure):
    """A measure of the table: a subclass gives `of_table`, and `search` if it knows a faster one.

    The loss is ``100 (best - value)``, best being the value of the true labelling: the
    paper's ``100 (1 - value)`` wherever a perfect table is worth 1.

    See Also
    --------
    TableMeasure : The same from a function.
    everypair.MeasureSVM : Trains on it.

    Examples
    --------
    >>> from everypair.measures import ContingencyMeasure
    >>> class Informedness(ContingencyMeasure):
    ...     def of_table(self, a, b, c, d):
    ...         return a / (a + c) - b / (b + d)
    >>> Informedness().value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0])
    0.5
    """

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The measure's value, entry by entry where the counts are arrays.

        Parameters
        ----------
        {counts}

        Returns
        -------
        float or array
            The value; higher is better.
        """
        raise NotImplementedError

    def loss_of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Delta of the table.

        Parameters
        ----------
        {counts}

        Returns
        -------
        float or array
            The loss, 0 for the right labelling.
        """
        return PERCENT * (self.of_table(a + c, 0 * b, 0 * c, b + d) - self.of_table(a, b, c, d))

    def search(self, ranked: Ranked) -> tuple[int, int]:
        """The a and b with the largest ``Delta + positive_gain[a] + negative_gain[b]``.

        Here every table counts: O(n^2) time at worst, O(n) memory (`ranked.LossRows`).

        Parameters
        ----------
        ranked : Ranked
            Both classes in the order of the scores.

        Returns
        -------
        tuple of int
            The counts a and b.
        """
        return LossRows(self.loss_of_table, ranked.n_positive, ranked.n_negative).search(ranked)

    def predicted(self, rows: Rows, scores: Array) -> Bools:
        """The labelling with the largest ``sum_i y'_i s_i`` (eq. 5).

        Parameters
        ----------
        rows : Rows
            Which rows are positive.
        scores : array of shape (n_rows,)
            Scores of the rows.

        Returns
        -------
        array of bool, shape (n_rows,)
            The rows that are classified as positive.
        """
        return scores > 0

    def _table(self, positive: ArrayLike, scores: ArrayLike) -> tuple[int, int, int, int]:
        rows, scores = checked_rows(positive, scores)
        above = self.predicted(rows, scores)
        a = int(np.count_nonzero(above & rows.positive))
        b = int(np.count_nonzero(above)) - a
        return a, b, rows.n_positive - a, rows.n_negative - b

    def value(self, positive: ArrayLike, scores: ArrayLike) -> float:
        return float(self.of_table(*self._table(positive, scores)))

    def loss(self, positive: ArrayLike, scores: ArrayLike) -> float:
        return float(self.loss_of_table(*self._table(positive, scores)))

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        return self._violation(Ranked(positive, scores), self.search)

    def _violation(self, ranked: Ranked, search: Search) -> Violation:
        a, b = search(ranked)
        table = a, b, ranked.n_positive - a, ranked.n_negative - b
        return Violation(float(self.loss_of_table(*table)), ranked.change(a, b))

    def searcher(self, positive: ArrayLike) -> Callable[[Array], Violation]:
        mine, full = type(self), ContingencyMeasure
        if mine.most_violated is not full.most_violated:
            return super().searcher(positive)
        rows, search = Rows.uncut(positive), self.search
        if mine.search is full.search:  # every table is looked at once, not at each search
            search = LossRows(self.loss_of_table, rows.n_positive, rows.n_negative).search
        return lambda scores: self._violation(Ranked(rows, scores), search)


class ErrorRate(ContingencyMeasure):
    """``1 - (b + c) / n``, with the loss ``2 (b + c)`` of Theorem 3: the ordinary hinge SVM.

    See Also
    --------
    FBeta : For rare positives.

    Examples
    --------
    >>> from everypair.measures import ErrorRate
    >>> print(f"{ErrorRate().value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    0.75
    """

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return (a + d) / (a + b + c + d)

    def loss_of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return 2.0 * (b + c)

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        # Each row on its own: a wrong label gains 2 - 2 y_i s_i.
        rows, scores = checked_rows(positive, scores)
        sign = np.where(rows.positive, 1.0, -1.0)
        wrong = sign * scores < 1
        return Violation(2.0 * np.count_nonzero(wrong), np.where(wrong, -2 * sign, 0.0))


class FBeta(ContingencyMeasure):
    """``(1 + beta^2) a / ((1 + beta^2) a + b + beta^2 c)`` (eq. 11).

    For fixed a the loss is concave in b, and so is the gain: the best b(a) is where one more
    false positive stops paying. As a grows, b(a) rises to a peak and falls again (beyond
    beta = 1 it only rises), so walking along it costs O(n) after the sort.

    Parameters
    ----------
    beta : float, default=1.0
        Above 1 recall counts more, below 1 precision does.

    See Also
    --------
    measure_of : A measure by its name.

    Examples
    --------
    >>> from everypair.measures import FBeta
    >>> print(f"{FBeta(2.0).value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    0.91
    """

    def __init__(self, beta: float = 1.0):
        if not BETA_RANGE[0] <= beta <= BETA_RANGE[1]:
            raise ValueError(
                f"beta={beta!r} must be a number from {BETA_RANGE[0]:g} to {BETA_RANGE[1]:g}: "
                "outside, F-beta is precision or recall."
            )
        self.beta = float(beta)

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        more = 1 + self.beta**2
        return more * a / (more * a + b + self.beta**2 * c)

    def search(self, ranked: Ranked) -> tuple[int, int]:
        from everypair._compiled import best_f_beta_table

        return best_f_beta_table(
            ranked.positive_gain,
            ranked.negative_gain,
            ranked.negative_scores,
            PERCENT * (1 + self.beta**2),
            self.beta**2 * ranked.n_positive,
        )


class Jaccard(ContingencyMeasure):
    """``a / (a + b + c)``: right positives among all that are or are called positive."""

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return a / (a + b + c)


class GMean(ContingencyMeasure):
    """The geometric mean of the true positive and the true negative rate."""

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return np.sqrt(np.maximum(a / (a + c) * (d / (b + d)), 0.0))


class Matthews(ContingencyMeasure):
    """Matthews' correlation of prediction and label; 0 where all rows get one label."""

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        a, b, c, d = (np.asarray(count, dtype=np.float64) for count in (a, b, c, d))
        square = (a + b) * (a + c) * (b + d) * (c + d)
        return (a * d - b * c) / np.sqrt(np.where(square > 0, square, np.inf))


class Informedness(ContingencyMeasure):
    """Youden's index: true positive rate less false positive rate."""

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return a / (a + c) - b / (b + d)


class Cost(ContingencyMeasure):
    """The mean cost of a row with its sign turned, ``-(c_fp b + c_fn c) / n``."""

    def __init__(self, c_fp: float = 1.0, c_fn: float = 1.0):
        if not (0 <= c_fp < np.inf and 0 <= c_fn < np.inf and c_fp + c_fn > 0):
            raise ValueError(
                f"cost=({c_fp!r}, {c_fn!r}) must be two costs >= 0, not both zero: of a false "
                "positive and of a false negative."
            )
        self.c_fp, self.c_fn = float(c_fp), float(c_fn)

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return -(self.c_fp * b + self.c_fn * c) / (a + b + c + d)


class TableMeasure(ContingencyMeasure):
    """Any function of the counts (a, b, c, d), higher being better: Algorithm 2, pruned.

    Parameters
    ----------
    function : callable
        Takes arrays of counts and answers entry by entry.

    See Also
    --------
    ContingencyMeasure : The same from a class, which may search faster.

    Examples
    --------
    >>> from everypair.measures import TableMeasure
    >>> accuracy = TableMeasure(lambda a, b, c, d: (a + d) / (a + b + c + d))
    >>> accuracy.value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0])
    0.75
    """

    def __init__(self, function: TableFunction):
        if not callable(function):
            raise ValueError(
                f"measure={function!r} is not a function: give one of the counts (a, b, c, d)."
            )
        self.function = function

    def of_table(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        return checked(self.function, a, b, c, d)
