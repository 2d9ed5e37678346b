"""The area under the ROC curve with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, expit, logit, ndtri, stdtrit

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.bootstrap import Resampled
from everypair.metrics.curve import check_range
from everypair.metrics.placements import covariance, degrees_of_freedom, influence
from everypair.metrics.roc import area, check_whole
from everypair.rows import Array, Index, NoSpread, Rows

Method = Literal["delong", "bootstrap", "hanley-mcneil"]


@dataclass(frozen=True)
class AUCInterval:
    """An area with its standard error and confidence interval.

    Attributes
    ----------
    auc : float
        The area.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    se : float
        Standard error of the area.
    level : float
        Confidence level.
    method : str
        How the variance was estimated.
    df : float
        Degrees of freedom of Student's t; infinite for the normal distribution.

    See Also
    --------
    auc_confidence_interval : Returns it.
    """

    auc: float
    low: float
    high: float
    se: float
    level: float = 0.95
    method: str = "delong"
    df: float = np.inf

    def __str__(self) -> str:
        return f"{self.auc:.3f} [{self.low:.3f}, {self.high:.3f}]"


@described
def auc_confidence_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    method: Method = "delong",
    level: float = 0.95,
    logit: bool = True,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    within_weight: str = "pairs",
    max_fpr: float | None = None,
    min_fpr: float = 0.0,
    standardize: bool = True,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    pos_label: Any = None,
) -> AUCInterval:
    """AUC with a confidence interval.

        logit(AUC) +- t se' / (AUC (1 - AUC))   mapped back, or   AUC +- t se   with logit=False

    with Student's t for ``delong`` (Notes), and the normal distribution for ``hanley-mcneil``.

    Parameters
    ----------
    {scores}
    method : {"delong", "bootstrap", "hanley-mcneil"}, default="delong"
        ``delong``: the variance of DeLong et al. (1988), in O(n log n). ``bootstrap``:
        percentiles of the area over rows resampled within their class. ``hanley-mcneil``: the
        formula of Hanley & McNeil (1982), from the area and the class sizes alone; weights
        enter by Kish's effective sizes.
    {level}
    logit : bool, default=True
        Build the interval on the logit scale, where the area is closer to normal: it stays
        inside (0, 1) and covers better near 1. For ``delong`` se' is a little above se there
        (`area_interval`); False leaves the scale and se alone. Percentiles of the bootstrap are
        the same on either scale.
    {sample_weight}
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other (several of a patient): DeLong's variance by
        groups (Obuchowski 1997), or a bootstrap of whole groups. With ``within`` they must hold
        whole groups of it.
    {within}
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs: as its pairs, as its rows, or each the same. The groups are
        the independent units: ``delong`` is the delta method over them, ``bootstrap`` draws them.
    max_fpr : float, default=None
        Partial area, as in `auc_score`; bootstrap only.
    min_fpr : float, default=0.0
        Lower end of the partial area, as in `auc_score`.
    standardize : bool, default=True
        Rescale a partial area, as in `auc_score`.
    n_bootstrap : int, default=2000
        Replicates of the bootstrap.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap.
    {pos_label}

    Returns
    -------
    AUCInterval
        ``auc``, ``low``, ``high``, ``se`` (and ``level``, ``method``, ``df``).

    See Also
    --------
    compare_auc : The difference of two areas.
    cross_val_auc : The area of a procedure, by cross-validation.
    roc_band : A band of the whole curve.

    Notes
    -----
    Degrees of freedom ``df`` of ``delong``: those of a sum of two variances (Satterthwaite), n - 1
    for a class of n rows of equal weight. Weights lower them towards the effective number of rows
    that carry the class' variance, ``(sum u^2)^2 / sum u^4`` of their influences u
    (`everypair.metrics.placements.degrees_of_class`). With groups they are the effective number of
    groups less one. docs/benchmarks/intervals.md has the coverage for few rows, weights and groups.

    Where every positive is above every negative (or every one below), each of the methods says
    se = 0. The interval is then ``[((1 - level)/2)^(1/k), 1]`` with k = min(n+, n-): k
    independent pairs would all be won with probability AUC^k, whatever the distributions. The
    logit interval is never wider than what k such pairs say of an area below 1
    (`disjoint_pairs_interval`). Scores that are all equal have no interval, and a ValueError says
    so.

    Examples
    --------
    >>> from everypair.metrics import auc_confidence_interval
    >>> y_true = [0] * 6 + [1] * 4
    >>> print(auc_confidence_interval(y_true, [1, 2, 3, 4, 5, 6, 4, 5.5, 7, 8]))
    0.854 [0.312, 0.987]
    """
    level = check_level(level)
    if method not in ("delong", "bootstrap", "hanley-mcneil"):
        raise ValueError(
            f"method={method!r} is not known: use 'delong', 'bootstrap' or 'hanley-mcneil'."
        )
    low, high = check_range(min_fpr, max_fpr)
    partial = (low, high) != (0.0, 1.0)
    if partial and method != "bootstrap":
        raise ValueError(
            f"method={method!r} works for the whole area only: use method='bootstrap' with max_fpr."
        )
    if groups is not None and method == "hanley-mcneil":
        raise ValueError(
            "method='hanley-mcneil' assumes independent rows: use 'delong' or 'bootstrap' "
            "with groups."
        )
    rows = Rows.of(y_true, sample_weight, pos_label, within, within_weight)
    scores = rows.scores(y_score)
    check_not_tied(scores)
    if rows.within is not None:
        check_whole(low, high)
        settings = n_bootstrap, random_state
        return _interval_in_groups(rows, scores, groups, method, level, logit, settings)
    codes = None if groups is None else rows.groups(groups)
    sizes, separated, df = effective_sizes(rows, codes), separation(rows, scores), np.inf
    if separated is not None and not partial:
        auc, se = separated, 0.0
    elif method == "bootstrap":
        resampled = Resampled(rows, [scores], codes)
        areas = resampled.areas(n_bootstrap, random_state, low, high, standardize)[:, 0]
        auc, se = area(rows, scores, low, high, standardize), standard_error(areas.var(ddof=1))
        if se > 0:
            return AUCInterval(auc, *percentiles(areas, level), se, level, method)
        if partial:
            raise NoSpread(
                "Every bootstrap sample gives the same partial area, because the scores separate "
                "the classes there: use max_fpr=None for the interval of the whole area."
            )
    elif method == "delong":
        auc, influences = influence(rows, scores)
        se = standard_error(covariance(influences[:, None], rows, codes)[0, 0])
        df = degrees_of_freedom(influences, rows, codes)
    else:
        auc = area(rows, scores, 0.0, 1.0, standardize)
        se = hanley_mcneil(auc, *sizes)
    unseen = UNSEEN_ROWS if method == "delong" else 0.0
    pairs = independent_pairs(sizes, codes)
    ends = area_interval(auc, se, sizes, pairs, level, logit, unseen, df)
    return AUCInterval(auc, *ends, se, level, method, df)


def _interval_in_groups(
    rows: Rows,
    scores: Array,
    groups: ArrayLike | None,
    method: Method,
    level: float,
    on_logit: bool,
    settings: tuple[int, Any],
) -> AUCInterval:
    """Groups, or units that hold several, are drawn independently of each other."""
    from everypair.metrics.in_groups import ClusteredArea, areas_lost

    if method == "hanley-mcneil":
        raise ValueError(
            "method='hanley-mcneil' assumes independent rows: use 'delong' or 'bootstrap' "
            "with within."
        )
    lost = ClusteredArea.of(rows, areas_lost(rows, scores), groups)
    auc = 1 - lost.mean
    if method == "bootstrap":
        areas = 1 - lost.resampled(*settings)
        se = standard_error(areas.var(ddof=1))
        if se > 0:
            return AUCInterval(auc, *percentiles(areas, level), se, level, method)
    else:
        se = standard_error(lost.variance())
    units = lost.effective_units
    df = lost.df if method == "delong" else np.inf
    ends = area_interval(auc, se, (units, units), units, level, on_logit, UNSEEN_ROWS, df)
    return AUCInterval(auc, *ends, se, level, method, df)


UNSEEN_ROWS = 0.125
"""Rows of each class, placed at chance, that the logit interval of DeLong supposes unseen."""

LEAST_ERROR = 1e-14
"""A standard error below this is of rounding alone: the rows show no spread."""


def standard_error(variance: float) -> float:
    se = float(np.sqrt(variance))
    return se if se > LEAST_ERROR else 0.0


def area_interval(
    auc: float,
    se: float,
    sizes: tuple[float, float],
    pairs: float,
    level: float,
    on_logit: bool,
    unseen: float = UNSEEN_ROWS,
    df: float = np.inf,
) -> tuple[float, float]:
    """``AUC +- t se``, t of ``df`` degrees of freedom, or on the logit scale with the variance

        se^2 + unseen (1/2 - AUC)^2 (1/n+^2 + 1/n-^2)

    and cut to `disjoint_pairs_interval`, which alone is the interval where se = 0.

    Near 1 the variance rests on the few rows that are placed badly, and a sample without them
    says that it is sure. An eighth of such a row in each class, placed at 1/2, is what brings the
    coverage to its level there (lab/notes/metrics.md has the table); it vanishes like 1/n^2 and is
    nothing at AUC 1/2. Within a few pairs of 1 the logit stretches it over all of (0, 1): there
    the pairs that share no row say more.
    """
    low, high = disjoint_pairs_interval(auc, pairs, level)
    if se == 0 or auc in (0.0, 1.0):
        return low, high
    reach = quantile(level, df)
    if not on_logit:
        return max(0.0, auc - reach * se), min(1.0, auc + reach * se)
    se = float(np.sqrt(se**2 + unseen * (0.5 - auc) ** 2 * (sizes[0] ** -2 + sizes[1] ** -2)))
    middle, reach = float(logit(auc)), reach * se / (auc * (1 - auc))
    return max(low, float(expit(middle - reach))), min(high, float(expit(middle + reach)))


def quantile(level: float, df: float = np.inf) -> float:
    """Half the width of a two-sided interval in standard errors: normal, or Student's t."""
    tail = (1 + level) / 2
    return float(ndtri(tail) if np.isinf(df) else stdtrit(df, tail))


def disjoint_pairs_interval(auc: float, pairs: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share AUC of k pairs won:

        [ B(k AUC, k (1 - AUC) + 1) ,  1 - B(k (1 - AUC), k AUC + 1) ] ,

    B being the (1 - level)/2 quantile of the beta distribution.

    Pairs that share no row are independent, each won with probability AUC, whatever the
    distributions; the area is a mean over all pairings into such pairs, so it varies less than
    one of them (var AUC <= AUC (1 - AUC) / k). k AUC need not be whole (Korn & Graubard 1998).
    """
    tail = (1 - level) / 2
    low, high = (
        float(betaincinv(pairs * share, pairs * (1 - share) + 1, tail)) if share > 0 else 0.0
        for share in (auc, 1 - auc)
    )
    return low, 1 - high


def percentiles(values: Array, level: float) -> tuple[float, float]:
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(ends[0]), float(ends[1])


def hanley_mcneil(auc: float, n_positive: float, n_negative: float) -> float:
    """Standard error of Hanley & McNeil (1982), eq. 1: exponential scores of both classes.

    se^2 = ( A (1 - A) + (n+ - 1)(Q1 - A^2) + (n- - 1)(Q2 - A^2) ) / (n+ n-),
    Q1 = A / (2 - A),  Q2 = 2 A^2 / (1 + A).
    """
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (n_positive - 1) * (q1 - auc**2) + (n_negative - 1) * (q2 - auc**2)
    return float(np.sqrt(spread / (n_positive * n_negative)))


def effective_sizes(rows: Rows, groups: Index | None = None) -> tuple[float, float]:
    """Kish's ``(sum w)^2 / sum w^2`` of both classes, w summed in groups; else counts of rows."""
    if rows.weight is None and groups is None:
        return float(rows.n_positive), float(rows.n_negative)
    sizes = []
    for members in (rows.positive, ~rows.positive):
        shares = rows.share[members]
        each = shares if groups is None else np.bincount(groups[members], weights=shares)
        sizes.append(1 / float(np.sum(each**2)))
    return sizes[0], sizes[1]


def check_not_tied(scores: Array, name: str = "y_score") -> None:
    if scores.min() == scores.max():
        raise NoSpread(
            f"{name} has the single value {scores[0]:g}: equal scores rank nothing, and their AUC "
            "of 1/2 has no standard error."
        )


def separation(rows: Rows, scores: Array) -> float | None:
    """1.0 where every positive is above every negative, 0.0 where below, else None."""
    positives, negatives = scores[rows.positive], scores[~rows.positive]
    if positives.min() > negatives.max():
        return 1.0
    if positives.max() < negatives.min():
        return 0.0
    return None


def independent_pairs(sizes: tuple[float, float], groups: Index | None = None) -> float:
    """How many positive–negative pairs share no row, and no group, by the effective sizes."""
    return min(sizes) if groups is None else min(*sizes, np.unique(groups).size // 2)
