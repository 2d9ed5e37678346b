"""Which pairs a ROC-SVM has satisfied, holds on the margin, or violates.

Proposition 3.2.1 of Rakotomamonjy (2004): at the solution the multiplier of a pair with margin
z = f(x_i) - f(x_j) is 0 where z > rho, C where z < rho, and anything between where z = rho. A
fit rounds the corner at rho over a narrow width, and its multipliers

    alpha_ij = C clip((rho - z) / width, 0, 1)

certify it. Read off them, a pair is *satisfied* (alpha = 0, z >= rho), *on the margin*
(0 < alpha < C) or *violated* (alpha = C, z <= rho - width).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.metrics._texts import described
from everypair.rows import Array, Rows

SATISFIED, ON_MARGIN, VIOLATED = "satisfied", "on_margin", "violated"


class PairCounts(NamedTuple):
    """How many pairs have each status."""

    satisfied: int
    on_margin: int
    violated: int


def pair_multipliers(
    positive_scores: ArrayLike, negative_scores: ArrayLike, margin: float, width: float, C: float
) -> Array:
    """``C clip((rho - z) / width, 0, 1)`` of the pairs; scores are broadcast.

    Parameters
    ----------
    positive_scores : array
        Scores of the pairs' positive rows, or one of them.
    negative_scores : array
        Scores of the pairs' negative rows, or one of them.
    margin : float
        The rho of `everypair.ROCSVM`.
    width : float
        How far below the margin a pair counts as on it, > 0.
    C : float
        Weight of a pair in the objective.

    Returns
    -------
    array
        One multiplier per pair, between 0 and C.

    See Also
    --------
    pair_status : The status that a multiplier stands for.

    Examples
    --------
    >>> from everypair.metrics import pair_multipliers
    >>> pair_multipliers([2.0, 0.75, 0.0], 0.0, margin=1.0, width=0.5, C=3.0).tolist()
    [0.0, 1.5, 3.0]
    """
    z = _margins(positive_scores, negative_scores)
    return np.asarray(C * np.clip((margin - z) / _positive_width(width), 0.0, 1.0))


def pair_status(
    positive_scores: ArrayLike, negative_scores: ArrayLike, margin: float, width: float
) -> NDArray[Any]:
    """``"satisfied"``, ``"on_margin"`` or ``"violated"`` for each pair; scores are broadcast.

    Parameters
    ----------
    positive_scores : array
        Scores of the pairs' positive rows, or one of them.
    negative_scores : array
        Scores of the pairs' negative rows, or one of them.
    margin : float
        The rho of `everypair.ROCSVM`.
    width : float
        How far below the margin a pair counts as on it, > 0.

    Returns
    -------
    array of str
        One status per pair.

    See Also
    --------
    count_pair_statuses : How many of all pairs have each status.
    everypair.ROCSVM : Has the margin and the width as ``margin_range_``.

    Examples
    --------
    >>> from everypair.metrics import pair_status
    >>> pair_status([2.0, 0.999, 0.0], [0.0, 0.0, 0.0], margin=1.0, width=0.01).tolist()
    ['satisfied', 'on_margin', 'violated']
    """
    z = _margins(positive_scores, negative_scores)
    held = z > margin - _positive_width(width)
    return np.where(z >= margin, SATISFIED, np.where(held, ON_MARGIN, VIOLATED))


@described
def count_pair_statuses(
    y_true: ArrayLike,
    y_score: ArrayLike,
    margin: float,
    width: float,
    *,
    within: ArrayLike | None = None,
    pos_label: Any = None,
) -> PairCounts:
    """How many of all n+ n- pairs have each status: one sort, two searches, O(n log n).

    Parameters
    ----------
    {scores}
    margin : float
        The rho of `everypair.ROCSVM`.
    width : float
        How far below the margin a pair counts as on it, > 0.
    within : array of shape (n_rows,), default=None
        Labels of groups: only pairs inside a group are counted.
    {pos_label}

    Returns
    -------
    PairCounts
        Named tuple ``(satisfied, on_margin, violated)``.

    See Also
    --------
    pair_status : The status of given pairs.

    Examples
    --------
    >>> from everypair.metrics import count_pair_statuses
    >>> count_pair_statuses([1, 1, 0], [2.0, 0.999, 0.0], margin=1.0, width=0.01)
    PairCounts(satisfied=1, on_margin=1, violated=0)
    """
    rows = Rows.of(y_true, None, pos_label, within)
    values = rows.scores(y_score)
    low = margin - _positive_width(width)
    if rows.within is None:
        positives, negatives = values[rows.positive], np.sort(values[~rows.positive])
        ends = np.zeros(1, dtype=np.intp), np.full(1, negatives.size)
    else:
        from everypair.linalg.order import descending_in_groups

        of_positives, of_negatives = rows.paired.edges
        positives = values[rows.paired.classes[0]]
        _, falling = descending_in_groups(-values, rows.paired.classes[1], of_negatives)
        negatives = -falling
        sizes = np.diff(of_positives)
        ends = np.repeat(of_negatives[:-1], sizes), np.repeat(of_negatives[1:], sizes)
    satisfied = _count(positives, negatives, ends, lambda z: z >= margin)
    held = _count(positives, negatives, ends, lambda z: (z > low) | (z >= margin))
    return PairCounts(satisfied, held - satisfied, rows.n_pairs - held)


def _count(
    positives: Array,
    negatives: Array,
    ends: tuple[NDArray[np.intp], NDArray[np.intp]],
    holds: Callable[[Array], NDArray[np.bool_]],
) -> int:
    """Pairs whose margin ``holds``, negatives ascending: the lowest of them, for each positive.

    Each positive is paired with the negatives between its ``ends``.

    The margin itself is compared, as `pair_status` does it: subtracting the margin from the
    scores first would round otherwise.
    """
    low, high = (np.broadcast_to(end, positives.size) for end in ends)
    while np.any(open_ := low < high):
        middle = np.where(open_, (low + high) // 2, 0)
        yes = holds(positives - negatives[middle])
        low, high = np.where(open_ & yes, middle + 1, low), np.where(open_ & ~yes, middle, high)
    return int((low - ends[0]).sum())


def _margins(positive_scores: ArrayLike, negative_scores: ArrayLike) -> Array:
    z = np.subtract(positive_scores, negative_scores, dtype=np.float64)
    if not np.all(np.isfinite(z)):
        raise ValueError("The scores have NaN or infinite values: give finite numbers.")
    return np.asarray(z)


def _positive_width(width: float) -> float:
    if not width > 0:
        raise ValueError(
            f"width={width!r} must be > 0: pairs closer to the margin than this count as on it."
        )
    return float(width)
