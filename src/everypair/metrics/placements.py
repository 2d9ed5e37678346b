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

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from everypair.rows import Array, Index, NoSpread, Rows


def influence(rows: Rows, scores: Array) -> tuple[float, Array]:
    """The AUC and every row's influence u on it.

    Inside groups u_g = omega_g (AUC_g - AUC) of each group, half of it with the positives and half
    with the negatives: such influences mean something in sums over whole groups.
    """
    if rows.within is not None:
        from everypair.metrics.in_groups import areas_lost, mean_lost

        lost, paired = areas_lost(rows, scores), rows.paired
        mean = mean_lost(rows, lost)
        above = np.append(np.repeat(mean - lost, 2), 0.0)[paired.cells]
        return 1 - mean, rows.share * above / 2
    from everypair._compiled import mass_below

    members = (rows.positive, ~rows.positive)
    classes = [scores[which] for which in members]
    shares = [rows.share[which] for which in members]
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
            each *= leverage(summed(codes, rows.share[members], n_groups))[:, None]
            scales[-1] = 1.0
        sums.append(each)
    cross: Array = sums[0].T @ sums[1]
    total = (bessel(n_groups, "group") if rows.weight is None else 1.0) * (cross + cross.T)
    for own, scale in zip(sums, scales, strict=True):
        total += scale * (own.T @ own)
    return total


def class_covariances(influences: Array, rows: Rows) -> list[Array]:
    """The parts of the variance from positives and from negatives, for independent rows."""
    parts = []
    for members, name in ((rows.positive, "positive"), (~rows.positive, "negative")):
        own = influences[members]
        scale = bessel(own.shape[0], f"{name} row")
        if rows.weight is not None:
            own, scale = own * leverage(rows.share[members])[:, None], 1.0
        parts.append(scale * (own.T @ own))
    return parts


def summed(codes: Index, values: Array, n_codes: int) -> Array:
    """Sums of the values of each code."""
    return np.bincount(codes, values, n_codes).astype(np.float64, copy=False)


def leverage(shares: Array) -> Array:
    """``1 / sqrt(1 - share)``; where one row is all, its influence is zero anyway."""
    return 1 / np.sqrt(np.maximum(1 - shares, np.finfo(np.float64).eps))


def degrees_of_freedom(
    influences: Array, rows: Rows, groups: Index | None = None, inverse: Array | None = None
) -> float:
    """Of Student's t for one area, or one difference of areas, over its standard error.

    Both classes by `satterthwaite`, each with the degrees of `degrees_of_class`. Rows in groups:
    `effective_groups` less one. Several columns of influences need the ``inverse`` of their
    covariance, and the degrees are those of Hotelling's test.
    """
    if groups is not None and np.unique(groups).size < groups.size:
        return max(1.0, effective_groups(class_shares(rows), groups) - 1)
    columns = influences.reshape(rows.positive.size, -1)
    scale = np.eye(1) if inverse is None else inverse
    degrees = []
    for members in (rows.positive, ~rows.positive):
        if rows.weight is None:
            degrees.append(max(1.0, np.count_nonzero(members) - 1.0))
            continue
        own = columns[members]
        squares = np.einsum("ij,jk,ik->i", own, scale, own)
        degrees.append(degrees_of_class(squares, rows.share[members]))
    parts = [part @ scale for part in class_covariances(columns, rows)]
    return satterthwaite(parts, degrees)


def satterthwaite(parts: Sequence[ArrayLike], degrees: Sequence[float]) -> float:
    """``size(sum of parts) / sum(size(part) / degrees)``, size(M) = tr M^2 + (tr M)^2.

    Degrees of freedom of a sum of independent variances, each estimated with its own (Satterthwaite
    1946); for covariance matrices, times the inverse of their sum, Nel & van der Merwe (1986).
    """
    matrices = [np.atleast_2d(np.asarray(part, dtype=np.float64)) for part in parts]

    def size(matrix: Array) -> float:
        return float(np.trace(matrix @ matrix) + np.trace(matrix) ** 2)

    doubt = sum(size(part) / df for part, df in zip(matrices, degrees, strict=True))
    return size(sum(matrices[1:], matrices[0])) / doubt if doubt > 0 else np.inf


def degrees_of_class(squares: Array, shares: Array, lost: float = 1.0) -> float:
    """Of one class' part of the variance, from its rows' squared influences q and shares a:

        1/df = 1/(n - lost) + max(0, C(q) - C(q / a^2)) ,    C(q) = sum q^2 / (sum q)^2

    and at least 1. ``lost`` means were subtracted. 1/C counts the rows that carry the variance:
    df is n - 1 for equal weights, and about 1/C(q) where few rows have most of the weight.
    """
    equal = squares / shares**2
    sums = squares.sum(), equal.sum()
    rest = 1 / max(1.0, squares.size - lost)
    if min(sums) > 0:
        rest += max(0.0, np.sum((squares / sums[0]) ** 2) - np.sum((equal / sums[1]) ** 2))
    return max(1.0, float(1 / rest))


def class_shares(rows: Rows) -> Array:
    """(rows, 2): each row's share of the positives and of the negatives."""
    shares = np.zeros((rows.positive.size, 2))
    for column, members in enumerate((rows.positive, ~rows.positive)):
        shares[members, column] = rows.share[members]
    return shares


def effective_groups(shares: Array, groups: Index) -> float:
    """``(sum_g s_g^2)^2 / sum_g s_g^4``, s_g the larger of a group's shares of the two classes."""
    parts = [summed(groups, column, int(groups.max()) + 1) for column in shares.T]
    squares = np.maximum(*parts) ** 2
    return float(squares.sum() ** 2 / np.sum(squares**2))


def bessel(count: int, what: str) -> float:
    """``n / (n - 1)``."""
    if count < 2:
        raise NoSpread(f"There is only one {what}: a standard error needs at least two.")
    return count / (count - 1)
