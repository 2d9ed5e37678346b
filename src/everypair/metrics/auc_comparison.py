"""Tests between the areas of models: two of them, or all pairs of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr
from sklearn.utils import check_random_state

from everypair.checks import check_level
from everypair.metrics._texts import described
from everypair.metrics.bootstrap import Resampled
from everypair.metrics.curve import check_range
from everypair.metrics.inference import (
    LEAST_ERROR,
    check_not_tied,
    disjoint_pairs_interval,
    effective_sizes,
    independent_pairs,
    percentiles,
    quantile,
    standard_error,
)
from everypair.metrics.placements import (
    covariance,
    degrees_of_freedom,
    influence,
    satterthwaite,
)
from everypair.metrics.roc import area, check_whole
from everypair.rows import Array, Index, NoSpread, Rows


@dataclass(frozen=True)
class AUCComparison:
    """``auc1 - auc2`` with its interval and the test that it is zero.

    Attributes
    ----------
    auc1 : float
        First area.
    auc2 : float
        Second area.
    difference : float
        ``auc1 - auc2``.
    low : float
        Lower end of the difference's interval.
    high : float
        Upper end of the difference's interval.
    se : float
        Standard error of the difference.
    z : float
        ``difference / se``.
    p : float
        Two-sided p value.
    level : float
        Confidence level.
    method : str
        How the variance was estimated.
    df : float
        Degrees of freedom of Student's t; infinite for the normal distribution.

    See Also
    --------
    compare_auc : Returns it.
    """

    auc1: float
    auc2: float
    difference: float
    low: float
    high: float
    se: float
    z: float
    p: float
    level: float = 0.95
    method: str = "delong"
    df: float = np.inf

    def __str__(self) -> str:
        return (
            f"{self.auc1:.3f} - {self.auc2:.3f} = {self.difference:+.3f} "
            f"[{self.low:+.3f}, {self.high:+.3f}], p = {self.p:.3g}"
        )


@described
def compare_auc(
    y_true: Any,
    y_score1: ArrayLike,
    y_score2: ArrayLike,
    paired: bool = True,
    *,
    method: Literal["delong", "bootstrap"] = "delong",
    level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    within: Any = None,
    within_weight: str = "pairs",
    max_fpr: float | None = None,
    min_fpr: float = 0.0,
    standardize: bool = True,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    pos_label: Any = None,
) -> AUCComparison:
    """The difference of two AUCs, with its interval and the test that it is zero.

        z = (AUC1 - AUC2) / se,   se^2 = var1 + var2 - 2 cov

    with the covariance of DeLong et al. (1988) in O(n log n), or of a bootstrap. DeLong's p and
    interval come from Student's t with ``df`` degrees of freedom, as in
    `auc_confidence_interval`; those of the bootstrap from the normal distribution and percentiles.
    The normal distribution of the textbook, ``2 Phi(-|z|)``, rejects 8 to 11 % of true nulls at 5 %
    where a class has 5 to 10 rows (docs/benchmarks/intervals.md).

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        Two distinct labels. With ``paired=False`` a pair of arrays, and so for ``sample_weight``
        and ``groups``.
    y_score1 : array of shape (n_rows,)
        Scores of the first model.
    y_score2 : array of shape (n_rows,)
        Scores of the second model.
    paired : bool, default=True
        The two models scored the same rows. False: two independent sets of rows, no covariance.
        More than two models: `compare_models`.
    method : {"delong", "bootstrap"}, default="delong"
        ``bootstrap`` takes se and interval (percentiles) from replicates that draw the same rows
        for both models.
    level : float, default=0.95
        Confidence level of the interval of the difference.
    {sample_weight}
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other (several of one patient).
    {within}
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs: as its pairs, as its rows, or each the same. The groups are
        the independent units; ``paired=True`` only.
    max_fpr : float, default=None
        Compare partial areas, as in `auc_score`; bootstrap only.
    min_fpr : float, default=0.0
        Lower end of the partial areas, as in `auc_score`.
    standardize : bool, default=True
        Rescale partial areas, as in `auc_score`.
    n_bootstrap : int, default=2000
        Replicates of the bootstrap.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap.
    {pos_label}

    Returns
    -------
    AUCComparison
        ``difference``, ``low``, ``high``, ``se``, ``z``, ``p``, ``df``, ``auc1``, ``auc2``.

    See Also
    --------
    compare_models : More than two models on the same rows.
    auc_confidence_interval : The interval of one area.

    Notes
    -----
    Two models that rank all rows alike have difference, se and interval zero and p = 1. Two
    that rank differently but both separate the classes have se = 0 as well; their interval is
    then that of two areas each known by pairs that share no row, as in
    `auc_confidence_interval`.

    Examples
    --------
    >>> from everypair.metrics import compare_auc
    >>> y_true = [0, 0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = compare_auc(y_true, [1, 2, 3, 4, 7, 5, 6, 8, 9], [3, 2, 6, 4, 8, 1, 5, 7, 9])
    >>> print(test)
    0.900 - 0.600 = +0.300 [-0.230, +0.830], p = 0.181
    """
    level = check_level(level)
    if method not in ("delong", "bootstrap"):
        raise ValueError(f"method={method!r} is not known: use 'delong' or 'bootstrap'.")
    low, high = check_range(min_fpr, max_fpr)
    if (low, high) != (0.0, 1.0) and method == "delong":
        raise ValueError(
            "method='delong' works for the whole area only: use method='bootstrap' with max_fpr."
        )
    if not isinstance(paired, (bool, np.bool_)):
        raise ValueError(
            f"paired must be True or False, not a {type(paired).__name__}: compare more than two "
            "models with compare_models(y_true, {name: scores, ...})."
        )
    if within is not None:
        check_whole(low, high)
        return _in_groups(
            (y_true, y_score1, y_score2), paired, sample_weight, groups, within, within_weight,
            pos_label, method, level, (n_bootstrap, random_state),
        )  # fmt: skip
    samples = _samples(y_true, (y_score1, y_score2), paired, sample_weight, groups, pos_label)
    if method == "delong":
        aucs, variances, degrees = [], [], []
        for rows, rankings, codes in samples:
            parts = [influence(rows, scores) for scores in rankings]
            aucs += [auc for auc, _ in parts]
            gap = parts[0][1] - parts[1][1] if paired else parts[0][1]
            variances.append(covariance(gap[:, None], rows, codes)[0, 0])
            degrees.append(degrees_of_freedom(gap, rows, codes))
        df = satterthwaite(variances, degrees)
        return _delong(aucs, sum(variances), level, samples, df)
    random = check_random_state(random_state)
    replicates, aucs = [], []
    for rows, rankings, codes in samples:
        resampled = Resampled(rows, rankings, codes)
        replicates.append(resampled.areas(n_bootstrap, random, low, high, standardize))
        aucs += [area(rows, scores, low, high, standardize) for scores in rankings]
    first, second = np.hstack(replicates).T
    se = standard_error(np.var(first - second, ddof=1))
    if se == 0:
        ends = _ends_without_spread(aucs, level, samples, partial=(low, high) != (0.0, 1.0))
    else:
        ends = percentiles(first - second, level)
    return _comparison(aucs, ends, se, level, method)


def _in_groups(
    given: tuple[Any, Any, Any],
    paired: bool,
    sample_weight: Any,
    groups: Any,
    within: Any,
    within_weight: str,
    pos_label: Any,
    method: str,
    level: float,
    settings: tuple[int, Any],
) -> AUCComparison:
    """Groups are the independent units: the difference is a weighted mean over them."""
    from everypair.metrics.in_groups import ClusteredArea, areas_lost, mean_lost

    y, first, second = given
    if not paired:
        raise ValueError(
            "within compares two models on the same rows: use paired=True, or the intervals of "
            "auc_confidence_interval for separate rows."
        )
    rows = Rows.of(y, sample_weight, pos_label, within, within_weight)
    lost = []
    for scores, name in ((first, "y_score1"), (second, "y_score2")):
        ranking = rows.scores(scores, name)
        check_not_tied(ranking, name)
        lost.append(areas_lost(rows, ranking))
    aucs = [1 - mean_lost(rows, of_model) for of_model in lost]
    gap = ClusteredArea.of(rows, lost[1] - lost[0], groups)
    if method == "bootstrap":
        drawn = gap.resampled(*settings)
        se = standard_error(drawn.var(ddof=1))
        ends = percentiles(drawn, level) if se > 0 else (gap.mean, gap.mean)
        return _comparison(aucs, ends, se, level, method)
    se = standard_error(gap.variance())
    if se == 0 and abs(gap.mean) > LEAST_ERROR:
        raise NoSpread(
            f"The difference {gap.mean:g} is the same in every group, so it has no standard error: "
            "give more groups."
        )
    reach = quantile(level, gap.df) * se
    ends = max(-1.0, gap.mean - reach), min(1.0, gap.mean + reach)
    return _comparison(aucs, ends, se, level, "delong", gap.df)


Sample = tuple[Rows, list[Array], Index | None]


def _delong(
    aucs: list[float], variance: float, level: float, samples: list[Sample], df: float
) -> AUCComparison:
    difference, se = aucs[0] - aucs[1], standard_error(variance)
    if se == 0:
        ends = _ends_without_spread(aucs, level, samples)
    else:
        reach = quantile(level, df) * se
        ends = max(-1.0, difference - reach), min(1.0, difference + reach)
    return _comparison(aucs, ends, se, level, "delong", df)


def _comparison(
    aucs: list[float],
    ends: tuple[float, float],
    se: float,
    level: float,
    method: str,
    df: float = np.inf,
) -> AUCComparison:
    difference = aucs[0] - aucs[1] if se > 0 else 0.0
    z = difference / se if se > 0 else 0.0
    p = float(2 * (ndtr(-abs(z)) if np.isinf(df) else stdtr(df, -abs(z))))
    return AUCComparison(aucs[0], aucs[1], difference, *ends, se, z, p, level, method, df)


def _ends_without_spread(
    aucs: list[float], level: float, samples: list[Sample], partial: bool = False
) -> tuple[float, float]:
    """The interval where se = 0: the two rankings are equal, or the rows cannot tell them apart."""
    ranks = [np.unique(scores, return_inverse=True)[1] for scores in samples[0][1]]
    if len(ranks) == 2 and np.array_equal(ranks[0], ranks[1]):
        return 0.0, 0.0
    difference = aucs[0] - aucs[1]
    if partial or abs(difference) > LEAST_ERROR:
        raise NoSpread(
            f"The difference {difference:g} has no standard error on these rows, so it cannot be "
            "tested: give more rows or groups."
        )
    # Each area by pairs that share no row, at half the risk: together they keep the level.
    pairs = [independent_pairs(effective_sizes(rows, codes), codes) for rows, _, codes in samples]
    (low1, high1), (low2, high2) = (
        disjoint_pairs_interval(auc, count, (1 + level) / 2)
        for auc, count in zip(aucs, pairs * (2 // len(pairs)), strict=True)
    )
    return low1 - high2, high1 - low2


def _samples(
    y: Any, scores: tuple[Any, Any], paired: bool, sample_weight: Any, groups: Any, pos_label: Any
) -> list[Sample]:
    """One sample that both models ranked, or two samples with a ranking each."""
    parts: list[tuple[Any, ...]]
    if paired:
        parts = [(y, scores, ("y_score1", "y_score2"), sample_weight, groups)]
    else:
        (y1, y2), (weight1, weight2), (groups1, groups2) = (
            _pair(y, "y_true"),
            _pair(sample_weight, "sample_weight"),
            _pair(groups, "groups"),
        )
        parts = [
            (y1, scores[:1], ("y_score1",), weight1, groups1),
            (y2, scores[1:], ("y_score2",), weight2, groups2),
        ]
    samples: list[Sample] = []
    for labels, rankings, names, weight, group in parts:
        rows = Rows.of(labels, weight, pos_label)
        checked = [rows.scores(s, name) for s, name in zip(rankings, names, strict=True)]
        for ranking, name in zip(checked, names, strict=True):
            check_not_tied(ranking, name)
        samples.append((rows, checked, None if group is None else rows.groups(group)))
    return samples


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    if given is None and name != "y_true":
        return None, None
    if isinstance(given, (tuple, list)) and len(given) == 2 and np.ndim(given[0]) > 0:
        return given[0], given[1]
    raise ValueError(
        f"paired=False compares two sets of rows: give {name} as a pair, ({name}1, {name}2)."
    )
