"""DeLong's components in O(n log n), and the covariance they give (DeLong et al. 1988).

With psi = 1, 1/2, 0 for a pair won, tied, lost, and shares a, b of the rows in their class,

    V_i = sum_j b_j psi(s_i, s_j)    a positive's placement among the negatives
    V_j = sum_i a_i psi(s_i, s_j)    a negative's placement among the positives
    u_i = a_i (V_i - AUC),  u_j = b_j (V_j - AUC)              influence of a row

    cov(AUC, AUC') = m/(m-1) sum_i u_i u'_i + n/(n-1) sum_j u_j u'_j ,

m positives and n negatives: without weights DeLong's S10/m + S01/n. With weights it is the
linearised variance of survey statistics: weights are taken as given and fixed.

Rows in groups (Obuchowski 1997): the influences are first added up in each group, U_g over
its positives and W_g over its negatives; of I groups, I+ have positives and I- negatives:

    I+/(I+ - 1) sum_g U_g U'_g + I-/(I- - 1) sum_g W_g W'_g + I/(I-1) sum_g (U_g W'_g + W_g U'_g)

It is never negative: I+, I- <= I, so it is at least I/(I-1) sum_g (U_g + W_g)^2.
Sorting instead of the quadratic sum: Sun & Xu (2014).
"""

from __future__ import annotations

import numpy as np

from everypair.metrics._rows import Array, Bool, Index, NoSpread, Rows


def influence(rows: Rows, scores: Array) -> tuple[float, Array]:
    """The AUC and every row's influence u on it."""
    from everypair._kernels import mass_below

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


def covariance(influences: Array, positive: Bool, groups: Index | None = None) -> Array:
    """Covariance matrix of several AUCs, one column of ``influences`` each."""
    if groups is None:
        total = np.zeros((influences.shape[1],) * 2)
        for members, name in ((positive, "positive"), (~positive, "negative")):
            own = influences[members]
            total += bessel(own.shape[0], f"{name} row") * (own.T @ own)
        return total
    n_groups = int(groups.max()) + 1
    sums: list[Array] = []
    held: list[int] = []
    for members in (positive, ~positive):
        codes = groups[members]
        sums.append(np.empty((n_groups, influences.shape[1])))
        for k, column in enumerate(influences[members].T):
            sums[-1][:, k] = np.bincount(codes, column, n_groups)
        held.append(int(np.count_nonzero(np.bincount(codes, minlength=n_groups))))
    cross: Array = sums[0].T @ sums[1]
    total = bessel(n_groups, "group") * (cross + cross.T)
    for own, n_held, name in zip(sums, held, ("positives", "negatives"), strict=True):
        total += bessel(n_held, f"group with {name}") * (own.T @ own)
    return total


def bessel(count: int, what: str) -> float:
    """``n / (n - 1)``."""
    if count < 2:
        raise NoSpread(f"There is only one {what}: an error bar needs at least two.")
    return count / (count - 1)
