"""Several models on the same rows: all tested at once, and two by two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from everypair.checks import by_name, check_level
from everypair.metrics._texts import described
from everypair.metrics.auc_comparison import AUCComparison, _delong
from everypair.metrics.inference import (
    check_not_tied,
)
from everypair.metrics.placements import (
    covariance,
    degrees_of_freedom,
    influence,
)
from everypair.rows import Array, Rows


@dataclass(frozen=True)
class ModelComparison:
    """Every pair of several models, with Holm's correction, and the test of all at once.

    Attributes
    ----------
    names : tuple
        Names of the models.
    auc : array of shape (n_models,)
        Their areas.
    covariance : array of shape (n_models, n_models)
        Covariance of the areas.
    pairs : tuple of pairs of names
        The models of each of ``comparisons``.
    comparisons : tuple of AUCComparison
        One for each pair.
    p_holm : array of shape (n_pairs,)
        Their corrected p values.
    chi2 : float
        Statistic of the test that all areas are equal.
    df : int
        Its rank.
    p : float
        Its p value.

    See Also
    --------
    compare_models : Returns it.
    """

    names: tuple[Any, ...]
    auc: Array
    covariance: Array
    pairs: tuple[tuple[Any, Any], ...]
    comparisons: tuple[AUCComparison, ...]
    p_holm: Array
    chi2: float
    df: int
    p: float

    def __str__(self) -> str:
        lines = [f"all equal: chi2({self.df}) = {self.chi2:.2f}, p = {self.p:.3g}"]
        for (first, second), test, p in zip(self.pairs, self.comparisons, self.p_holm, strict=True):
            lines.append(f"{first} / {second}: {test}, Holm p = {p:.3g}")
        return "\n".join(lines)


@described
def compare_models(
    y_true: ArrayLike,
    y_scores: Any,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> ModelComparison:
    """Every pair of several models on the same rows, by DeLong, with Holm's correction.

        chi2 = (L A)' (L S L')^+ (L A)

    tests that all areas A are equal (DeLong et al. 1988, eq. 5): L takes the differences to the
    first model, S is the covariance of the areas. With k = rank S its p comes from Hotelling's

        F = (nu - k + 1) / (nu k) chi2   with k and nu - k + 1 degrees of freedom,

    since S is estimated; nu is that of Nel & van der Merwe (1986) for the two classes, each with
    its degrees of freedom as in `auc_confidence_interval`, or the effective number of groups less
    one. For two models p is that of the paired test. Where nu < k the rows are too few to test all
    models at once, and p = 1.

    Parameters
    ----------
    {y_true}
    y_scores : mapping or data frame
        The scores of each model by its name, or a column for each.
    level : float, default=0.95
        Confidence level of each interval, not corrected.
    {sample_weight}
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other (several of one patient).
    {pos_label}

    Returns
    -------
    ModelComparison
        ``comparisons`` of all ``pairs`` with ``p_holm``; ``chi2``, ``df`` and ``p`` of the test of
        all at once; ``auc``, ``covariance`` and ``names``.

    See Also
    --------
    compare_auc : Two models, also on different rows or by bootstrap.
    everypair.app.compare_methods : Fits and compares methods by cross-validation.

    Examples
    --------
    >>> from everypair.metrics import compare_models
    >>> y_true = [0, 0, 0, 0, 0, 1, 1, 1, 1]
    >>> result = compare_models(y_true, {
    ...     "a": [1, 2, 3, 4, 7, 5, 6, 8, 9],
    ...     "b": [3, 2, 6, 4, 8, 1, 5, 7, 9],
    ...     "c": [9, 2, 3, 5, 4, 1, 6, 7, 8],
    ... })
    >>> print(result.p_holm.round(3))
    [0.544 0.588 1.   ]
    """
    level = check_level(level)
    scores = by_name(y_scores, "y_scores")
    if len(scores) < 2:
        raise ValueError(f"y_scores has {len(scores)} model: give at least two models.")
    rows = Rows.of(y_true, sample_weight, pos_label)
    codes = None if groups is None else rows.groups(groups)
    aucs, columns, rankings = [], [], []
    for name, values in scores.items():
        rankings.append(rows.scores(values, f"y_scores[{name!r}]"))
        check_not_tied(rankings[-1], f"y_scores[{name!r}]")
        auc, influences = influence(rows, rankings[-1])
        aucs.append(auc)
        columns.append(influences)
    # The variance of a difference of influences, not a difference of variances: two models that
    # rank alike have exactly zero.
    tests = [
        _delong(
            [aucs[i], aucs[j]],
            covariance((columns[i] - columns[j])[:, None], rows, codes)[0, 0],
            level,
            [(rows, [rankings[i], rankings[j]], codes)],
            degrees_of_freedom(columns[i] - columns[j], rows, codes),
        )
        for i, j in combinations(range(len(aucs)), 2)
    ]
    contrasts = np.column_stack([columns[0] - column for column in columns[1:]])
    gaps = aucs[0] - np.array(aucs[1:])
    spread = covariance(contrasts, rows, codes)
    inverse: Array = np.linalg.pinv(spread, hermitian=True).astype(np.float64, copy=False)
    chi2 = float(gaps @ inverse @ gaps)
    df = int(np.linalg.matrix_rank(spread, hermitian=True))
    p = tests[0].p
    if len(aucs) > 2:
        p = _p_of_all(chi2, df, degrees_of_freedom(contrasts, rows, codes, inverse))
    return ModelComparison(
        names=tuple(scores),
        auc=np.array(aucs),
        covariance=covariance(np.column_stack(columns), rows, codes),
        pairs=tuple(combinations(scores, 2)),
        comparisons=tuple(tests),
        p_holm=holm([test.p for test in tests]),
        chi2=chi2,
        df=df,
        p=p,
    )


def holm(p: ArrayLike) -> Array:
    """Holm's (1979) step-down correction: ``max over k <= rank of (n - k + 1) p_(k)``, at most 1.

    Parameters
    ----------
    p : array of shape (n_tests,)
        P values.

    Returns
    -------
    array of shape (n_tests,)
        The corrected p values, in the same order.

    See Also
    --------
    compare_models : Corrects its pairs by it.

    Examples
    --------
    >>> from everypair.metrics import holm
    >>> print(holm([0.01, 0.04, 0.03]))
    [0.03 0.06 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError(f"p={p!r} is not a list of p values: use numbers between 0 and 1.")
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(values.size, 0, -1)
    out = np.empty_like(values)
    out[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return out


def _p_of_all(chi2: float, k: int, nu: float) -> float:
    if k == 0 or nu < k:
        return 1.0
    return float(fdtrc(k, nu - k + 1, chi2 * (nu - k + 1) / (nu * k)))
