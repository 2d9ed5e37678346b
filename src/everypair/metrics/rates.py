"""Measures of one point of the ROC curve, from its rates and the skew of the classes.

Table 1 of Rakotomamonjy (2004), after Flach (2003): tp and fp are the true and false positive
rates, c = n- / n+ the skew. Every argument may be an array; they are broadcast together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics._texts import described
from everypair.rows import Array


@described
def accuracy_from_rates(tpr: ArrayLike, fpr: ArrayLike, skew: ArrayLike) -> Any:
    """``(tp + c (1 - fp)) / (1 + c)``.

    Parameters
    ----------
    {rates}

    {value_per_point}

    See Also
    --------
    precision_from_rates : Of the rows that are predicted positive.

    Examples
    --------
    >>> from everypair.metrics import accuracy_from_rates
    >>> accuracy_from_rates(0.8, 0.1, skew=3)
    0.875
    """
    tp, fp, c = _check(tpr, fpr, skew)
    return _like_input((tp + c * (1 - fp)) / (1 + c))


@described
def precision_from_rates(tpr: ArrayLike, fpr: ArrayLike, skew: ArrayLike) -> Any:
    """``tp / (tp + c fp)``; 0 where nothing is predicted positive.

    Parameters
    ----------
    {rates}

    {value_per_point}

    See Also
    --------
    f_from_rates : Its harmonic mean with the true positive rate.

    Examples
    --------
    >>> from everypair.metrics import precision_from_rates
    >>> precision_from_rates([0.0, 0.9], [0.0, 0.1], skew=9)
    array([0. , 0.5])
    """
    tp, fp, c = _check(tpr, fpr, skew)
    predicted = tp + c * fp
    return _like_input(np.divide(tp, predicted, out=np.zeros_like(predicted), where=predicted > 0))


@described
def f_from_rates(tpr: ArrayLike, fpr: ArrayLike, skew: ArrayLike) -> Any:
    """``2 tp / (tp + c fp + 1)``, the F1 measure.

    Parameters
    ----------
    {rates}

    {value_per_point}

    See Also
    --------
    fbeta_max : The best F-beta of a ranking.

    Examples
    --------
    >>> from everypair.metrics import f_from_rates
    >>> f_from_rates(1.0, 0.5, skew=2)
    0.6666666666666666
    """
    tp, fp, c = _check(tpr, fpr, skew)
    return _like_input(2 * tp / (tp + c * fp + 1))


@described
def wracc_from_rates(tpr: ArrayLike, fpr: ArrayLike, skew: ArrayLike) -> Any:
    """``4 c (tp - fp) / (1 + c)^2``: weighted relative accuracy, scaled to [-1, 1].

    Parameters
    ----------
    {rates}

    {value_per_point}

    See Also
    --------
    accuracy_from_rates : The share of rows that are right.

    Examples
    --------
    >>> from everypair.metrics import wracc_from_rates
    >>> wracc_from_rates(0.75, 0.25, skew=1)
    0.5
    """
    tp, fp, c = _check(tpr, fpr, skew)
    return _like_input(4 * c * (tp - fp) / (1 + c) ** 2)


def _check(tpr: ArrayLike, fpr: ArrayLike, skew: ArrayLike) -> tuple[Array, Array, Array]:
    tp, fp, c = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (tpr, fpr, skew)))
    for rate, name in ((tp, "tpr"), (fp, "fpr")):
        if not np.all((rate >= 0) & (rate <= 1)):
            wrong = rate[~((rate >= 0) & (rate <= 1))].flat[0]
            raise ValueError(f"{name} has the value {wrong:g}: use rates between 0 and 1.")
    if not np.all((c > 0) & np.isfinite(c)):
        wrong = c[~((c > 0) & np.isfinite(c))].flat[0]
        raise ValueError(f"skew has the value {wrong:g}: use finite numbers > 0.")
    return tp, fp, c


def _like_input(values: Array) -> Any:
    return float(values) if np.ndim(values) == 0 else values
