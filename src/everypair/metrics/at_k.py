"""Precision and recall of the k highest scores, and the break-even point between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.metrics._texts import described
from everypair.metrics.curve import Curve
from everypair.rows import Rows


@described
def precision_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int | float | str,
    *,
    within: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Share of positives among the k highest scores, ``tp(k) / k``; with ``within``, of each group.

    Parameters
    ----------
    {scores}
    k : int, float or str
        A count; a share of the rows, ``0 < k <= 1``, as a float; or a multiple of the positives,
        ``"p"``, ``"2p"``, ``"0.5p"`` (Rec@2p of Joachims 2005). Rounded to whole rows, at least 1.
    within : array of shape (n_rows,), default=None
        Labels of groups (a user, a query): the mean over groups of the precision of the k best
        rows of each. A group of fewer than k rows is taken whole; groups without both classes do
        not count. Shares and multiples are of the rows and of the positives of each group.
    {pos_label}

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    recall_at_k : Share of all positives that the k rows hold.
    prbep : With k the number of positives, where both are equal.

    Notes
    -----
    Where the k-th score is tied with others, the value is the mean over all ways to break the tie.
    Rows are counted: k is a number of rows, so there are no sample weights here.

    Examples
    --------
    >>> from everypair.metrics import precision_at_k
    >>> precision_at_k([0, 1, 0, 1, 1], [1, 2, 3, 4, 5], k=2)
    1.0
    >>> precision_at_k([0, 1, 0, 1, 1], [1, 2, 2, 4, 5], k="p")
    0.8333333333333334
    >>> precision_at_k([0, 1, 0, 1, 1], [1, 2, 3, 4, 5], k=1, within=list("aabbb"))
    1.0
    """
    if within is not None:
        top, hits_of_groups = _in_groups(y_true, y_score, k, within, pos_label)
        return float(np.mean(hits_of_groups / top.counts))
    hits, count, _ = _hits(y_true, y_score, k, pos_label)
    return hits / count


@described
def recall_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int | float | str,
    *,
    within: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Share of the positives that are among the k highest scores, ``tp(k) / n+``.

    Parameters
    ----------
    {scores}
    k : int, float or str
        As in `precision_at_k`.
    within : array of shape (n_rows,), default=None
        As in `precision_at_k`: the mean over groups of the recall of the k best rows of each.
    {pos_label}

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    precision_at_k : Share of positives among the k rows.

    Examples
    --------
    >>> from everypair.metrics import recall_at_k
    >>> recall_at_k([0, 1, 0, 1], [1, 2, 3, 4], k="p")
    0.5
    """
    if within is not None:
        top, hits_of_groups = _in_groups(y_true, y_score, k, within, pos_label)
        return float(np.mean(hits_of_groups / top.positives))
    hits, _, n_positive = _hits(y_true, y_score, k, pos_label)
    return hits / n_positive


@described
def prbep(y_true: ArrayLike, y_score: ArrayLike, *, pos_label: Any = None) -> float:
    """Precision–recall break-even point: `precision_at_k` with k the number of positives.

    Parameters
    ----------
    {scores}
    {pos_label}

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    precision_at_k : For any k.
    fbeta_max : The best F-beta over all cuts.

    Examples
    --------
    >>> from everypair.metrics import prbep
    >>> prbep([0, 1, 0, 1], [1, 2, 3, 4])
    0.5
    """
    return precision_at_k(y_true, y_score, "p", pos_label=pos_label)


def rows_at_k(k: Any, n_rows: int, n_positive: float) -> int:
    """The whole number of rows that ``k`` means; an error when there are not so many.

    ``n_positive`` may be an expected number.
    """
    count = int(_wanted(k, n_rows, n_positive))
    if not 1 <= count <= n_rows:
        raise ValueError(f"k={k!r} means {count} of {n_rows} rows: use 1 to {n_rows}.")
    return count


def _wanted(k: Any, n_rows: Any, n_positive: Any) -> Any:
    """The number of rows that k means, of ``n_rows`` rows or of each of several groups."""
    if isinstance(k, Integral) and not isinstance(k, (bool, np.bool_)):
        return int(k) + 0 * n_rows
    if isinstance(k, str) and (match := re.fullmatch(r"(\d+\.?\d*|\.\d+)?p", k.strip())):
        if (multiple := float(match[1] or 1)) > 0:
            return np.maximum(1, np.rint(multiple * n_positive))
    elif isinstance(k, Real) and not isinstance(k, (bool, np.bool_)) and 0 < float(k) <= 1:
        return np.maximum(1, np.rint(float(k) * n_rows))
    raise ValueError(
        f"k={k!r} is not a number of rows: use a count, a share 0 < k <= 1 as a float, "
        "or a multiple of the positives such as '2p'."
    )


@dataclass(frozen=True)
class TopOfGroups:
    """The number of best rows of each group that has rows of both classes."""

    rows: NDArray[np.intp]
    """Row numbers of these groups, group by group."""
    edges: NDArray[np.intp]
    counts: NDArray[np.intp]
    positives: NDArray[np.intp]
    positive: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Rows, k: Any) -> TopOfGroups:
        paired = rows.paired
        sizes = [np.diff(edges) for edges in paired.edges]
        codes = np.concatenate([np.repeat(np.arange(paired.n_groups), size) for size in sizes])
        members = np.concatenate(paired.classes)[np.argsort(codes, kind="stable")]
        whole = sizes[0] + sizes[1]
        counts = np.minimum(_wanted(k, whole, sizes[0]), whole).astype(np.intp)
        if counts.min() < 1:
            raise ValueError(f"k={k!r} means no row: use a count of at least 1.")
        edges = np.concatenate([[0], np.cumsum(whole)]).astype(np.intp)
        return cls(members, edges, counts, sizes[0].astype(np.intp), rows.positive)

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.diff(self.edges)

    def hits(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positives among the best rows of each group; a mean where ties straddle the cut."""
        group = np.repeat(np.arange(self.counts.size), self.sizes)
        of_rows, positive = scores[self.rows], self.positive[self.rows]
        descending = np.lexsort((-of_rows, group))
        last = of_rows[descending][self.edges[:-1] + self.counts - 1][group]
        above, tied = of_rows > last, of_rows == last

        def count(which: NDArray[np.bool_]) -> NDArray[np.intp]:
            return np.bincount(group[which], minlength=self.counts.size)

        left = (self.counts - count(above)) / count(tied)
        return count(above & positive) + left * count(tied & positive)


def _in_groups(
    y_true: ArrayLike, y_score: ArrayLike, k: Any, within: ArrayLike, pos_label: Any
) -> tuple[TopOfGroups, NDArray[np.float64]]:
    rows = Rows.of(y_true, None, pos_label, within)
    top = TopOfGroups.of(rows, k)
    return top, top.hits(rows.scores(y_score))


def _hits(y_true: ArrayLike, y_score: ArrayLike, k: Any, pos_label: Any) -> tuple[float, int, int]:
    """Positives among the k highest (a mean where ties straddle the cut), k, and all positives."""
    rows = Rows.of(y_true, None, pos_label)
    curve = Curve.of(rows, rows.scores(y_score))
    count = rows_at_k(k, rows.positive.size, rows.n_positive)
    # Between two levels the expected hits grow in a straight line: any row of the level is
    # as likely to come first.
    return float(np.interp(count, curve.tp + curve.fp, curve.tp)), count, rows.n_positive
