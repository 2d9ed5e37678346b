"""Search over contingency tables: the rows in order of score, and Algorithm 2 with pruning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.measures._base import Array, checked_rows
from everypair.rows import Rows

LOSS_ROUNDING = 1e-12
"""Share of the largest loss: rounding may make the right labelling lose up to this much."""

TableFunction = Callable[[Any, Any, Any, Any], Any]


class Ranked:
    """Both classes in descending order of score, and what each choice of a and b gains.

    ``positive_gain[a]`` and ``negative_gain[b]`` add up to ``sum_i (c'_i - c_i) s_i`` of the
    labelling with the a highest positives and the b highest negatives on top. Both are
    concave: each further row brings twice its score.

    Parameters
    ----------
    positive : array of shape (n_rows,)
        Which rows are positive, as booleans or as 0 and 1.
    scores : array of shape (n_rows,)
        Scores, finite.

    See Also
    --------
    ContingencyMeasure.search : Takes it.

    Examples
    --------
    >>> from everypair.measures import Ranked
    >>> Ranked([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]).negative_gain.tolist()
    [0.0, 0.4, -1.6]
    """

    def __init__(self, positive: ArrayLike | Rows, scores: ArrayLike):
        from everypair.linalg.order import descending

        rows, scores = checked_rows(positive, scores)
        self.n_positive, self.n_negative = rows.n_positive, rows.n_negative
        self.positives, positive_scores = descending(scores, rows.positives)
        self.negatives, self.negative_scores = descending(scores, rows.negatives)
        # Summed up from the rows that are labelled wrongly, so that a right labelling is 0.
        missed = np.cumsum(positive_scores[::-1])[::-1]
        self.positive_gain = np.append(-2 * missed, 0.0)
        self.negative_gain = np.concatenate([[0.0], 2 * np.cumsum(self.negative_scores)])

    def change(self, a: int, b: int) -> Array:
        """How a labelling changes the coefficients of the rows.

        Parameters
        ----------
        a, b : int
            The highest positives and negatives that it classifies as positive.

        Returns
        -------
        array of shape (n_rows,)
            -2 for missed positives, 2 for false positives, else 0.
        """
        out = np.zeros(self.n_positive + self.n_negative)
        out[self.positives[a:]] = -2.0
        out[self.negatives[:b]] = 2.0
        return out


class LossRows:
    """Delta of every table with these class counts, a row of the tables at a time.

    A row fixes how many of the smaller class are on top; its columns are the counts of the
    larger one. Every table is looked at once, for the largest loss of each row. A search then
    visits the rows in the order of what they promise, and of each row only the stretch of
    columns whose gain could still win.
    """

    def __init__(self, loss_of_table: TableFunction, n_positive: int, n_negative: int):
        self.counts = n_positive, n_negative
        self._loss_of_table = loss_of_table
        self._by_positives = n_positive <= n_negative
        columns = np.arange(max(self.counts) + 1)
        ends = [
            (losses.min(), losses.max())
            for losses in (self._losses(row, columns) for row in range(min(self.counts) + 1))
        ]
        least, self.largest = np.array(ends).T
        if least.min() < -LOSS_ROUNDING * np.abs(ends).max():
            raise ValueError(
                "The measure is higher for a wrong labelling than for the right one "
                f"(a={n_positive}, b=0, c=0, d={n_negative}): return one that is highest there."
            )

    def _losses(self, row: int, columns: NDArray[np.intp]) -> Array:
        n_positive, n_negative = self.counts
        a, b = (row, columns) if self._by_positives else (columns, row)
        return checked(self._loss_of_table, a, b, n_positive - a, n_negative - b)

    def search(self, ranked: Ranked) -> tuple[int, int]:
        """The a and b with the largest ``Delta + positive_gain[a] + negative_gain[b]``."""
        outer, inner = ranked.positive_gain, ranked.negative_gain
        if not self._by_positives:
            outer, inner = inner, outer
        peak = int(np.argmax(inner))
        promise = self.largest + outer + inner[peak]
        best, found = -np.inf, (0, 0)
        for row in np.argsort(promise)[::-1]:
            if promise[row] <= best:
                break
            # Gains are concave: up to the peak they rise, after it they fall.
            least = best - outer[row] - self.largest[row]
            low = int(np.searchsorted(inner[: peak + 1], least))
            high = inner.size - int(np.searchsorted(inner[:peak:-1], least))
            if low >= high:
                continue
            totals = self._losses(int(row), np.arange(low, high)) + inner[low:high] + outer[row]
            at = int(np.argmax(totals))
            if totals[at] > best:
                best, found = float(totals[at]), (int(row), low + at)
        return found if self._by_positives else (found[1], found[0])


def checked(function: TableFunction, a: Any, b: Any, c: Any, d: Any) -> Array:
    """``function(a, b, c, d)`` on arrays of counts, every entry finite."""
    counts = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in (a, b, c, d)))
    try:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = np.asarray(function(*counts))
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and "truth value" not in str(error):
            raise
        raise ValueError(
            f"The measure does not work on arrays of counts ({error}): the counts come as arrays; "
            "use np.where instead of if, and numpy's functions."
        ) from error
    if values.dtype.kind not in "biuf":
        raise ValueError(f"The measure returned values of dtype {values.dtype}: return numbers.")
    values = values.astype(np.float64)
    if values.shape not in ((), counts[0].shape):
        raise ValueError(
            f"The measure returned shape {values.shape} for tables of shape {counts[0].shape}: "
            "it must work on arrays of counts, entry by entry."
        )
    values = np.broadcast_to(values, counts[0].shape)
    if not np.all(np.isfinite(values)):
        worst = np.flatnonzero(~np.isfinite(values.ravel()))[0]
        table = ", ".join(
            f"{name}={count.ravel()[worst]:g}" for name, count in zip("abcd", counts, strict=True)
        )
        raise ValueError(
            f"The measure is {values.ravel()[worst]} for the table {table}: "
            "return a finite number for every table."
        )
    return values
