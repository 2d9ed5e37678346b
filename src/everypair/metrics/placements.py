"""DeLong's components in O(n log n), and the covariance they give (DeLong et al. 1988).

With psi = 1, 1/2, 0 for a pair won, tied, lost, and shares a, b of the rows in their class,

    V_i = sum_j b_j psi(s_i, s_j)    a positive's placement among the negatives
    V_j = sum_i a_i psi(s_i, s_j)    a negative's placement among the positives
    u_i = a_i (V_i - AUC),  u_j = b_j (V_j - AUC)              influence of a row

    cov(AUC, AUC') = m/(m-1) sum_i u_i u'_i + n/(n-1) sum_j u_j u'_j ,

m positives and n negatives: DeLong's S10/m + S01/n. With weights it is the linearised variance of
survey statistics, weights being taken as given and fixed, and each u is divided by the root of
1 - a (HC2): the more a row weighs the more of the area is its own. Equal weights give DeLong back.

Rows in groups (Obuchowski 1997): the influences are first added up in each group, U_g over
its positives and W_g over its negatives; of I groups, I+ have positives and I- negatives:

    I+/(I+ - 1) sum_g U_g U'_g + I-/(I- - 1) sum_g W_g W'_g + I/(I-1) sum_g (U_g W'_g + W_g U'_g)

It is never negative: I+, I- <= I, so it is at least I/(I-1) sum_g (U_g + W_g)^2. With weights
U_g and W_g are divided by the root of 1 less the group's share of the class instead.
Sorting instead of the quadratic sum: Sun & Xu (2014).
"""

from __future__ import annotations

import numpy as np

from everypair.rows import Array, Index, NoSpread, Rows


def influence(rows: Rows, scores: Array) -> tuple[float, Array]:
    """The AUC and every row's influence u on it."""
    from everypair._compiled import mass_below

    members = (rows.positive, ~rows.positive)
    classes = [scores[which] for which in members]
    shares = [rows.shares(which) for which in members]
    orders = [np.argsort(values) for values in classes]
    ranked = [values[order] for values, order in zip(classes, orders, strict=True)]
    placed = []
    for own, other in ((0, 1), (1, 0)):
        if rows.weight is None:
            # k / n rounds once; a running sum of 1 / n would drift.
            cumulative = np.arange(classes[other].size + 1) / classes[other].size
        else:
            cumulative = np.concatenate([[0.0], np.cumsum(shares[other][orders[other]])])
        below = np.empty(classes[own].size)
        mass_below(ranked[own], ranked[other], cumulative, below)
        placement = np.empty_like(below)
        placement[orders[own]] = below
        placed.append(placement)
    placed[1] = 1 - placed[1]
    # A mean, not a sum of shares: a perfect ranking has exactly 1.
    auc = float(placed[0].mean() if rows.weight is None else shares[0] @ placed[0])
    out = np.empty(scores.size)
    for which, share, placement in zip(members, shares, placed, strict=True):
        out[which] = share * (placement - auc)
    return auc, out


def covariance(influences: Array, rows: Rows, groups: Index | None = None) -> Array:
    """Covariance matrix of several AUCs, one column of ``influences`` each."""
    positive = rows.positive
    if groups is None:
        return sum(class_covariances(influences, rows), np.zeros((influences.shape[1],) * 2))
    n_groups = int(groups.max()) + 1
    sums: list[Array] = []
    scales: list[float] = []
    for members, name in ((positive, "positives"), (~positive, "negatives")):
        codes = groups[members]
        each = np.column_stack(
            [summed(codes, column, n_groups) for column in influences[members].T]
        )
        held = np.unique(codes).size
        scales.append(bessel(held, f"group with {name}"))
        if rows.weight is not None:
            each *= leverage(summed(codes, rows.shares(members), n_groups))[:, None]
            scales[-1] = 1.0
        sums.append(each)
    cross: Array = sums[0].T @ sums[1]
    total = (bessel(n_groups, "group") if rows.weight is None else 1.0) * (cross + cross.T)
    for own, scale in zip(sums, scales, strict=True):
        total += scale * (own.T @ own)
    return total


def class_covariances(influences: Array, rows: Rows) -> list[Array]:
    """What the positives and what the negatives contribute, rows being independent."""
    parts = []
    for members, name in ((rows.positive, "positive"), (~rows.positive, "negative")):
        own = influences[members]
        scale = bessel(own.shape[0], f"{name} row")
        if rows.weight is not None:
            own, scale = own * leverage(rows.shares(members))[:, None], 1.0
        parts.append(scale * (own.T @ own))
    return parts


def summed(codes: Index, values: Array, n_codes: int) -> Array:
    """Sums of the values of each code."""
    return np.bincount(codes, values, n_codes).astype(np.float64, copy=False)


def leverage(shares: Array) -> Array:
    """``1 / sqrt(1 - share)``; where one row is all, its influence is zero anyway."""
    return 1 / np.sqrt(np.maximum(1 - shares, np.finfo(np.float64).eps))


def degrees_of_freedom(influences: Array, rows: Rows, groups: Index | None = None) -> float:
    """Of Student's t for one area, or one difference of areas, over its standard error.

    Infinite for equal, independent rows, where the normal distribution holds its level. With
    weights ``(sum u^2)^2 / sum u^4``: how many rows carry the variance. With groups
    ``(sum_g s_g^2)^2 / sum_g s_g^4 - 1``, s_g being the larger of a group's shares of the two
    classes: the number of groups less one where all are alike.
    """
    if groups is not None and np.unique(groups).size < groups.size:
        return max(1.0, effective_groups(rows, groups) - 1)
    if rows.weight is None or all(
        np.ptp(rows.weight[members]) == 0 for members in (rows.positive, ~rows.positive)
    ):
        return np.inf
    squares = influences**2
    total = float(squares.sum())
    return max(1.0, total**2 / float(np.sum(squares**2))) if total > 0 else np.inf


def effective_groups(rows: Rows, groups: Index) -> float:
    parts = [
        summed(groups[members], rows.shares(members), int(groups.max()) + 1)
        for members in (rows.positive, ~rows.positive)
    ]
    squares = np.maximum(*parts) ** 2
    return float(squares.sum() ** 2 / np.sum(squares**2))


def bessel(count: int, what: str) -> float:
    """``n / (n - 1)``."""
    if count < 2:
        raise NoSpread(f"There is only one {what}: an error bar needs at least two.")
    return count / (count - 1)
