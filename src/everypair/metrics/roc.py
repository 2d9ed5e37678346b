"""The area under the ROC curve, whole or between two false positive rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics._texts import described
from everypair.metrics.curve import Curve, area_between, check_range, mcclish
from everypair.rows import Array, Rows


@described
def auc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    max_fpr: float | None = None,
    min_fpr: float = 0.0,
    *,
    within: ArrayLike | None = None,
    within_weight: str = "pairs",
    standardize: bool = True,
    pos_label: Any = None,
) -> float:
    """Area under the ROC curve.

        AUC = sum_ij a_i b_j ( [s_i > s_j] + [s_i = s_j] / 2 )

    over every positive i and negative j, a and b being the sample weights, each class summing
    to one: the share of pairs in the right order, ties counted half.

    Parameters
    ----------
    {scores}
    {sample_weight}
    max_fpr : float, default=None
        Only the part of the curve up to this false positive rate; None is 1. The curve runs
        straight between its points, as in scikit-learn.
    min_fpr : float, default=0.0
        Only the part of the curve from this false positive rate on.
    {within}
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs: as its pairs, as its rows, or each the same.
    standardize : bool, default=True
        Rescale a partial area so that chance is 1/2 and perfect is 1 (McClish 1989); False gives
        the area itself, ``max_fpr - min_fpr`` at most. No effect on the whole area. A curve far
        below chance there has a rescaled area below 0.
    {pos_label}

    Returns
    -------
    float
        The area.

    See Also
    --------
    auc_confidence_interval : The area with its interval.
    cross_val_auc : Of a classifier, by cross-validation.
    auc_by_group : The area of each group.
    gini : ``2 AUC - 1``.

    Examples
    --------
    >>> from everypair.metrics import auc_score
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> auc_score(["no", "no", "yes"], [1, 2, 2])
    0.75
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], max_fpr=0.5, standardize=False)
    0.25
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], within=["a", "b", "b", "a"])
    0.5
    """
    low, high = check_range(min_fpr, max_fpr)
    rows = Rows.of(y_true, sample_weight, pos_label, within, within_weight)
    if rows.within is not None:
        from everypair.metrics.in_groups import area_in_groups

        check_whole(low, high)
        return area_in_groups(rows, rows.scores(y_score))
    return area(rows, rows.scores(y_score), low, high, standardize)


def check_whole(low: float, high: float) -> None:
    if (low, high) != (0.0, 1.0):
        raise ValueError("max_fpr and min_fpr cut a curve of all rows: leave them out with within.")


def area(rows: Rows, scores: Array, low: float, high: float, standardize: bool) -> float:
    if (low, high) == (0.0, 1.0):
        return whole_area(rows, scores)
    curve = Curve.of(rows, scores)
    part = area_between(curve.fpr, curve.tpr, low, high)
    return mcclish(part, low, high) if standardize else part


def whole_area(rows: Rows, scores: Array) -> float:
    if rows.weight is None:
        # The number of pairs is an integer; Python's division of integers rounds once.
        return int(doubled_wins(rows, scores)) / (2 * rows.n_positive * rows.n_negative)
    from everypair._compiled import auc_pairs

    positives, negatives = scores[rows.positive], scores[~rows.positive]
    a, b = rows.share[rows.positive], rows.share[~rows.positive]
    i, j = np.argsort(positives)[::-1], np.argsort(negatives)[::-1]
    # Rounding in the weights must not lift a perfect ranking above one.
    return float(min(1.0, auc_pairs(positives[i], negatives[j], a[i], b[j])))


def doubled_wins(rows: Rows, scores: Array) -> int:
    """Twice the pairs won plus the pairs tied, an integer. Weights are not looked at."""
    from everypair.linalg.order import pairs_won_twice

    return pairs_won_twice(scores, *rows.classes)


@described
def gini(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Any = None,
) -> float:
    """``2 AUC - 1``: 0 for chance, 1 for a perfect ranking (Somers' D).

    Parameters
    ----------
    {scores}
    {sample_weight}
    {pos_label}

    Returns
    -------
    float
        Between -1 and 1.

    See Also
    --------
    auc_score : The area itself.

    Examples
    --------
    >>> from everypair.metrics import gini
    >>> gini([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    return 2 * auc_score(y_true, y_score, sample_weight, pos_label=pos_label) - 1


@described
def swapped_pairs(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Any = None,
) -> float:
    """Pairs in the wrong order, ties counted half; a pair weighs the product of its rows.

        sum_ij w_i w_j ( [s_i < s_j] + [s_i = s_j] / 2 ) = (1 - AUC) W+ W-

    ``SwappedPairs`` of Joachims (2005), eq. 13; without weights a count.

    Parameters
    ----------
    {scores}
    {sample_weight}
    {pos_label}

    Returns
    -------
    float
        At least 0.

    See Also
    --------
    auc_score : The share of pairs in the right order.

    Examples
    --------
    >>> from everypair.metrics import swapped_pairs
    >>> swapped_pairs([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    1.0
    """
    rows = Rows.of(y_true, sample_weight, pos_label)
    scores = rows.scores(y_score)
    if sample_weight is None:
        pairs = rows.n_positive * rows.n_negative
        return (2 * pairs - doubled_wins(rows, scores)) / 2
    weight = np.asarray(sample_weight, dtype=np.float64).reshape(-1)
    weight = weight if rows.kept is None else weight[rows.kept]
    # The wrong share by itself, not 1 - AUC: a good ranking keeps its digits.
    wrong = whole_area(rows, -scores)
    if wrong == 0:
        return 0.0  # whatever the weights add up to
    with np.errstate(over="ignore"):
        return float(weight[rows.positive].sum() * wrong * weight[~rows.positive].sum())
