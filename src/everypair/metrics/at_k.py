"""Precision and recall of the k highest scores, and the break-even point between them."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.curve import Curve
from everypair.rows import Rows


def precision_at_k(
    y_true: ArrayLike, y_score: ArrayLike, k: int | float | str, *, pos_label: Any = None
) -> float:
    """Share of positives among the k highest scores, ``tp(k) / k``.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        Two distinct labels; the second of the sorted ones is positive unless ``pos_label`` says
        otherwise.
    y_score : array of shape (n_rows,)
        Scores, finite: the higher, the more likely positive.
    k : int, float or str
        A count; a share of the rows, ``0 < k <= 1``, as a float; or a multiple of the positives,
        ``"p"``, ``"2p"``, ``"0.5p"`` (Rec@2p of Joachims 2005). Rounded to whole rows, at least 1.
    pos_label : label, default=None
        The positive label; None means the second of the sorted ones.

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
    """
    hits, count, _ = _hits(y_true, y_score, k, pos_label)
    return hits / count


def recall_at_k(
    y_true: ArrayLike, y_score: ArrayLike, k: int | float | str, *, pos_label: Any = None
) -> float:
    """Share of the positives that are among the k highest scores, ``tp(k) / n+``.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        Two distinct labels; the second of the sorted ones is positive unless ``pos_label`` says
        otherwise.
    y_score : array of shape (n_rows,)
        Scores, finite: the higher, the more likely positive.
    k : int, float or str
        As in `precision_at_k`.
    pos_label : label, default=None
        The positive label; None means the second of the sorted ones.

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
    hits, _, n_positive = _hits(y_true, y_score, k, pos_label)
    return hits / n_positive


def prbep(y_true: ArrayLike, y_score: ArrayLike, *, pos_label: Any = None) -> float:
    """Precision–recall break-even point: `precision_at_k` with k the number of positives.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        Two distinct labels; the second of the sorted ones is positive unless ``pos_label`` says
        otherwise.
    y_score : array of shape (n_rows,)
        Scores, finite: the higher, the more likely positive.
    pos_label : label, default=None
        The positive label; None means the second of the sorted ones.

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
    count: int | None = None
    if isinstance(k, Integral) and not isinstance(k, (bool, np.bool_)):
        count = int(k)
    elif isinstance(k, str) and (match := re.fullmatch(r"(\d+\.?\d*|\.\d+)?p", k.strip())):
        if (multiple := float(match[1] or 1)) > 0:
            count = max(1, round(multiple * n_positive))
    elif isinstance(k, Real) and not isinstance(k, (bool, np.bool_)) and 0 < float(k) <= 1:
        count = max(1, round(float(k) * n_rows))
    if count is None:
        raise ValueError(
            f"k={k!r} is not a number of rows: use a count, a share 0 < k <= 1 as a float, "
            "or a multiple of the positives such as '2p'."
        )
    if not 1 <= count <= n_rows:
        raise ValueError(f"k={k!r} means {count} of {n_rows} rows: use 1 to {n_rows}.")
    return count


def _hits(y_true: ArrayLike, y_score: ArrayLike, k: Any, pos_label: Any) -> tuple[float, int, int]:
    """Positives among the k highest (a mean where ties straddle the cut), k, and all positives."""
    rows = Rows.of(y_true, None, pos_label)
    curve = Curve.of(rows, rows.scores(y_score))
    count = rows_at_k(k, rows.positive.size, rows.n_positive)
    # Between two levels the expected hits grow in a straight line: any row of the level is
    # as likely to come first.
    return float(np.interp(count, curve.tp + curve.fp, curve.tp)), count, rows.n_positive
