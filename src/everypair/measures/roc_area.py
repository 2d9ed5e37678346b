"""Area under the ROC curve, whole or over a range of false positive rates.

A labelling here is a ranking: it says of each pair of a positive i and a negative j which of
the two comes first. Psi adds up ``+-(x_i - x_j)``, so a swapped pair changes the
coefficients of its rows by 2 (Joachims 2005, section 4.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from everypair.measures._base import Measure, Violation, checked_rows
from everypair.metrics.roc import auc_score
from everypair.metrics.thresholds import threshold_for


class ROCArea(Measure):
    """``1 - swapped pairs / (n+ n-)`` (eq. 13), ties counted half; the loss is swapped pairs.

    Each pair is labelled on its own: swapping it gains ``1 - 2 (s_i - s_j)``. So the slack is
    ``2 sum_ij max(0, 1/2 - (s_i - s_j))``, the ROC-SVM with margin 1/2.

    See Also
    --------
    PartialROCArea : Over a range of false positive rates.

    Examples
    --------
    >>> from everypair.measures import ROCArea
    >>> print(f"{ROCArea().value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    1.00
    """

    ranks = True

    def value(self, positive: ArrayLike, scores: ArrayLike) -> float:
        rows, scores = checked_rows(positive, scores)
        return auc_score(rows.positive, scores)

    def loss(self, positive: ArrayLike, scores: ArrayLike) -> float:
        rows, scores = checked_rows(positive, scores)
        return rows.n_pairs * (1 - self.value(rows.positive, scores))

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        from everypair.pairs.ranked_classes import SortedScores
        from everypair.pairs.sorted import POSITIVE_SHORTFALL

        rows, scores = checked_rows(positive, scores)
        change = np.empty(scores.size)
        swapped = 0.0
        order = SortedScores(rows, 2 * scores)
        for number in (0, 1):
            side, sign = order.side(number)
            counts = side.count_short(POSITIVE_SHORTFALL)
            change[side.targets.rows] = -2 * sign * counts
            swapped = float(counts.sum())
        return Violation(swapped, change)

    def threshold(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """The cut where true less false positive rate is largest: an area has no cut.

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        float
            The threshold.
        """
        return threshold_for(positive, scores, "balanced")


class PartialROCArea(Measure):
    """Mean true positive rate over false positive rates from ``low`` to ``high``.

    The loss is the number of swapped pairs inside the range: the negative of rank r counts
    with the share ``v_r`` of its step ``[r - 1, r] / n-`` that lies in the range. The slack
    is the tight bound of Narasimhan & Agarwal (2013): with ``u_r`` the share that lies below
    ``high``, and the negatives in descending order,

        slack = sum_i max_R sum_{r <= R} v_r - 2 u_r (s_i - s_(r)) .

    Negatives ranked beyond ``high`` never count. Those above ``low`` bring no loss, and count
    only as far as a positive must be put below them to reach the range (none where low = 0).
    With the range (0, 1) this is `ROCArea`.

    Parameters
    ----------
    fpr : tuple of float, default=(0.0, 0.1)
        The range ``(low, high)``, ``0 <= low < high <= 1``.

    See Also
    --------
    ROCArea : The whole area.

    Examples
    --------
    >>> from everypair.measures import PartialROCArea
    >>> print(f"{PartialROCArea((0.0, 0.5)).value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]):.2f}")
    1.00
    """

    ranks = True

    def __init__(self, fpr: tuple[float, float] = (0.0, 0.1)):
        try:
            low, high = (float(end) for end in fpr)
        except (TypeError, ValueError):
            low = high = np.nan
        if not 0 <= low < high <= 1:
            raise ValueError(f"fpr={fpr!r} must be a pair (low, high) with 0 <= low < high <= 1.")
        self.low, self.high = low, high

    def value(self, positive: ArrayLike, scores: ArrayLike) -> float:
        rows, scores = checked_rows(positive, scores)
        area = auc_score(
            rows.positive,
            scores,
            max_fpr=self.high,
            min_fpr=self.low,
            standardize=False,
        )
        return area / (self.high - self.low)

    def loss(self, positive: ArrayLike, scores: ArrayLike) -> float:
        rows, scores = checked_rows(positive, scores)
        pairs = rows.n_pairs * (self.high - self.low)
        return pairs * (1 - self.value(rows.positive, scores))

    def most_violated(self, positive: ArrayLike, scores: ArrayLike) -> Violation:
        rows, scores = checked_rows(positive, scores)
        positives, negatives = rows.classes
        n_negative = negatives.size
        end, begin = self.high * n_negative, self.low * n_negative
        first, last = int(np.floor(begin)), min(n_negative, int(np.ceil(end)))
        if last < n_negative:
            highest = np.argpartition(scores[negatives], n_negative - last)[n_negative - last :]
            negatives = negatives[highest]
        negatives = negatives[np.argsort(scores[negatives])[::-1]]
        s, t = scores[positives], scores[negatives]
        rank = np.arange(last)
        below_high = np.clip(end - rank, 0, 1)
        inside = below_high - np.clip(begin - rank, 0, 1)
        sums = [
            np.append(0.0, np.cumsum(terms)) for terms in (inside, below_high, 2 * below_high * t)
        ]

        # A further negative pays while s_(r) > s_i above the range and s_(r) > s_i - 1/2 inside
        # it: one candidate in each stretch. (Where the range begins inside a step, that
        # negative pays only if the second candidate reaches it anyway.)
        ascending = t[::-1]
        above = last - np.searchsorted(ascending, s, side="right")
        within = last - np.searchsorted(ascending, s - 0.5, side="right")
        before, after = np.minimum(above, first), np.maximum(within, first)
        gains = (sums[0][r] + sums[2][r] - 2 * sums[1][r] * s for r in (before, after))
        chosen = np.where(np.greater(*gains), before, after)

        change = np.zeros(scores.size)
        change[positives] = -2 * sums[1][chosen]
        put_below = np.bincount(chosen, minlength=last + 1)[::-1].cumsum()[::-1]
        change[negatives] = 2 * below_high * put_below[1:]
        return Violation(float(sums[0][chosen].sum()), change)

    def threshold(self, positive: ArrayLike, scores: ArrayLike) -> float:
        """The cut whose false positive rate is the highest that the range allows.

        Parameters
        ----------
        {positive}
        {scores}

        Returns
        -------
        float
            The threshold.
        """
        return threshold_for(positive, scores, fpr=self.high)
