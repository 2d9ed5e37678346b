"""Rankings inside groups: a user's items, a query's documents, a day's transactions.

    AUC = sum_g omega_g AUC_g ,   omega_g by pairs, by rows or equal, summing to one

over the groups that have a pair (`everypair.within`). The groups are the independent units: AUC is
a ratio of two sums over them, so by the delta method

    u_g = omega_g (AUC_g - AUC) ,   var = sum_g u_g^2 / (1 - omega_g) ,

the divisor (HC2) counting how much of AUC is the group's own. Equal weights make it the variance of
a mean, ``sum_g (AUC_g - AUC)^2 / (G (G - 1))``.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from everypair.metrics._texts import described
from everypair.rows import Array, Index, NoSpread, Rows


@dataclass(frozen=True)
class AUCByGroup:
    """The area of each group that has a pair; ``pandas.DataFrame(vars(areas))`` is a table.

    Attributes
    ----------
    group : array of shape (n_groups,)
        Labels of the groups, sorted.
    auc : array of shape (n_groups,)
        The area inside each group.
    weight : array of shape (n_groups,)
        The weights of the groups, which sum to one.
    n_positive : array of shape (n_groups,)
        Positive rows of the group that weigh anything.
    n_negative : array of shape (n_groups,)
        Likewise the negative rows.

    See Also
    --------
    auc_by_group : Returns it.
    """

    group: NDArray[Any]
    auc: Array
    weight: Array
    n_positive: NDArray[np.intp]
    n_negative: NDArray[np.intp]


@described
def auc_by_group(
    y_true: ArrayLike,
    y_score: ArrayLike,
    within: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    within_weight: str = "pairs",
    pos_label: Any = None,
) -> AUCByGroup:
    """The area under the ROC curve inside each group.

    ``weight @ auc`` is ``auc_score(y_true, y_score, within=within)``.

    Parameters
    ----------
    {scores}
    within : array of shape (n_rows,)
        Labels of the groups. A group without both classes has no area and is left out.
    {sample_weight}
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs.
    {pos_label}

    Returns
    -------
    AUCByGroup
        Arrays: ``group``, ``auc``, ``weight``, ``n_positive``, ``n_negative``.

    See Also
    --------
    auc_score : Their weighted mean.
    everypair.plots.GroupAUCDisplay : Draws them.

    Examples
    --------
    >>> from everypair.metrics import auc_by_group
    >>> areas = auc_by_group([0, 1, 0, 1, 1], [1, 2, 4, 3, 5], within=list("aabbb"))
    >>> areas.group.tolist(), areas.auc.tolist()
    (['a', 'b'], [1.0, 0.5])
    """
    rows = Rows.of(y_true, sample_weight, pos_label, within, within_weight)
    assert rows.within is not None
    paired = rows.paired
    positives, negatives = (np.diff(edges) for edges in paired.edges)
    names = rows.within.names[paired.numbers]
    lost = areas_lost(rows, rows.scores(y_score))
    return AUCByGroup(names, 1 - lost, paired.weight, positives, negatives)


def areas_lost(rows: Rows, scores: Array) -> Array:
    """``1 - AUC`` of each group that has a pair."""
    from everypair._compiled import group_areas_lost
    from everypair.linalg.order import descending_in_groups

    paired = rows.paired
    ranked, inside = [], []
    for members, edges in zip(paired.classes, paired.edges, strict=True):
        order, values = descending_in_groups(scores, members, edges)
        ranked.append(values)
        inside.append(rows.inside[order])
    lost = np.empty(paired.n_groups)
    group_areas_lost(*ranked, *inside, *paired.edges, lost)
    return lost


def area_in_groups(rows: Rows, scores: Array) -> float:
    return 1 - mean_lost(rows, areas_lost(rows, scores))


def mean_lost(rows: Rows, lost: Array) -> float:
    """Rounding in the weights must not lift it above one."""
    return min(1.0, float(rows.paired.weight @ lost))


@dataclass(frozen=True)
class ClusteredArea:
    """Areas of groups, or differences of them, and the independent units that the groups form."""

    values: Array
    weight: Array
    units: Index
    """The unit of each group, numbered from 0."""

    @classmethod
    def of(cls, rows: Rows, values: Array, groups: ArrayLike | None) -> ClusteredArea:
        """Units are the groups themselves, or larger ones: several queries of a user."""
        paired = rows.paired
        if groups is None:
            return cls(values, paired.weight, np.arange(paired.n_groups))
        codes = rows.groups(groups)
        first = codes[paired.classes[0][paired.edges[0][:-1]]]
        for members, edges in zip(paired.classes, paired.edges, strict=True):
            if np.any(codes[members] != np.repeat(first, np.diff(edges))):
                raise ValueError(
                    "A group of within lies in several groups: give groups that hold whole groups "
                    "of within, or leave groups out."
                )
        return cls(values, paired.weight, np.unique(first, return_inverse=True)[1])

    @property
    def mean(self) -> float:
        return float(np.clip(self.weight @ self.values, -1.0, 1.0))

    @property
    def _unit_weight(self) -> Array:
        return np.bincount(self.units, self.weight).astype(np.float64, copy=False)

    @property
    def effective_units(self) -> float:
        """Kish's ``1 / sum omega^2``."""
        return 1 / float(np.sum(self._unit_weight**2))

    @property
    def df(self) -> float:
        """``(sum omega^2)^2 / sum omega^4 - 1``, at least 1."""
        squares = self._unit_weight**2
        return max(1.0, float(squares.sum() ** 2 / np.sum(squares**2)) - 1)

    def variance(self) -> float:
        """By the delta method."""
        share = self._unit_weight
        if share.size < 2:
            raise NoSpread("There is only one group with a pair: a standard error needs two.")
        u = np.bincount(self.units, self.weight * (self.values - self.mean))
        return float(np.sum(u**2 / np.maximum(1 - share, np.finfo(float).eps)))

    def resampled(self, n_bootstrap: int, random_state: Any) -> Array:
        """The mean over units that are drawn again, as often as asked for."""
        if not isinstance(n_bootstrap, Integral) or n_bootstrap < 2:
            raise ValueError(f"n_bootstrap={n_bootstrap!r}: use a whole number of at least 2.")
        self.variance()  # refuses a single unit
        random, share = check_random_state(random_state), self._unit_weight
        sums = np.bincount(self.units, self.weight * self.values)
        out = np.empty(n_bootstrap)
        for b in range(n_bootstrap):
            drawn = np.bincount(random.randint(share.size, size=share.size), minlength=share.size)
            out[b] = (drawn @ sums) / (drawn @ share)
        return out


@described
def ndcg_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    within: ArrayLike,
    k: int | None = None,
    *,
    pos_label: Any = None,
) -> float:
    """Normalised discounted cumulative gain of the best k rows, a mean over groups.

    A positive row at rank r gains ``1 / log2(1 + r)``; the sum is divided by the largest that the
    group can have. By `sklearn.metrics.ndcg_score`, which averages over ties.

    Parameters
    ----------
    {scores}
    within : array of shape (n_rows,)
        Labels of the groups. Groups of one row and groups without a positive row are left out.
    k : int, default=None
        Ranks that count; None counts all.
    {pos_label}

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    mean_reciprocal_rank : The rank of the first positive row.
    auc_by_group : The areas of the groups.

    Examples
    --------
    >>> from everypair.metrics import ndcg_at_k
    >>> round(ndcg_at_k([1, 0, 0, 1, 0], [3, 2, 1, 1, 2], within=list("aaabb"), k=2), 3)
    0.815
    """
    from sklearn.metrics import ndcg_score

    if k is not None and (not isinstance(k, Integral) or k < 1):
        raise ValueError(f"k={k!r} is not a number of rows: use a whole number of at least 1.")
    total, count = 0.0, 0
    for labels, scores in _by_size(y_true, y_score, within, pos_label):
        if labels.shape[1] > 1:
            total += ndcg_score(labels, scores, k=k) * labels.shape[0]
            count += labels.shape[0]
    return total / _groups_there(count)


@described
def mean_reciprocal_rank(
    y_true: ArrayLike, y_score: ArrayLike, within: ArrayLike, *, pos_label: Any = None
) -> float:
    """``1 / rank`` of the best positive row, a mean over groups.

    Rows of equal score share the last of their ranks, as in scikit-learn's
    `label_ranking_average_precision_score`.

    Parameters
    ----------
    {scores}
    within : array of shape (n_rows,)
        Labels of the groups. Groups without a positive row are left out.
    {pos_label}

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    ndcg_at_k : Every positive row counts.

    Examples
    --------
    >>> from everypair.metrics import mean_reciprocal_rank
    >>> mean_reciprocal_rank([1, 0, 0, 1, 0], [3, 2, 1, 1, 2], within=list("aaabb"))
    0.75
    """
    total, count = 0.0, 0
    for labels, scores in _by_size(y_true, y_score, within, pos_label):
        best = np.max(scores, axis=1, where=labels, initial=-np.inf)
        total += float(np.sum(1 / np.sum(scores >= best[:, None], axis=1)))
        count += labels.shape[0]
    return total / _groups_there(count)


def _by_size(  # type: ignore[no-untyped-def]
    y_true: ArrayLike, y_score: ArrayLike, within: ArrayLike, pos_label: Any
):
    """Labels and scores of the groups with a positive row, those of one size as one array."""
    rows = Rows.of(y_true, None, pos_label, within)
    assert rows.within is not None
    scores, codes = rows.scores(y_score), rows.within.codes
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    wanted = np.bincount(codes, rows.positive) > 0
    for size in np.unique(sizes[wanted]):
        first = begins[wanted & (sizes == size)]
        places = order[first[:, None] + np.arange(size)]
        yield rows.positive[places], scores[places]


def _groups_there(count: int) -> int:
    if count == 0:
        raise ValueError("No group of within has several rows and a positive one among them.")
    return count
