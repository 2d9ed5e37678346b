"""Measures of a whole sample: value, loss, and the labelling that scores get most wrong.

>>> from everypair.measures import measure_of
>>> measure = measure_of("f1")
>>> positive, scores = [1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0]
>>> print(f"{measure.value(positive, scores):.2f}, {measure.loss(positive, scores):.2f}")
0.80, 20.00
>>> worst = measure.most_violated(positive, scores)  # Violation(loss, change)
>>> worst.loss, worst.change.tolist()
(100.0, [-2.0, 0.0, 2.0, -2.0])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from everypair.measures._base import Measure, Violation
from everypair.measures.contingency import ContingencyMeasure, ErrorRate, FBeta, TableMeasure
from everypair.measures.fixed_count import (
    BreakEven,
    FixedCount,
    PrecisionAtK,
    RecallAtK,
    RecallAtMostK,
)
from everypair.measures.ranked import Ranked
from everypair.measures.roc_area import PartialROCArea, ROCArea

__all__ = [
    "MEASURES",
    "BreakEven",
    "ContingencyMeasure",
    "ErrorRate",
    "FBeta",
    "FixedCount",
    "Measure",
    "PartialROCArea",
    "PrecisionAtK",
    "ROCArea",
    "Ranked",
    "RecallAtK",
    "RecallAtMostK",
    "TableMeasure",
    "Violation",
    "measure_of",
]

MEASURES: dict[str, Callable[[float, Any, Any], Measure]] = {
    "error": lambda beta, k, fpr: ErrorRate(),
    "f1": lambda beta, k, fpr: FBeta(1.0),
    "fbeta": lambda beta, k, fpr: FBeta(beta),
    "precision_at_k": lambda beta, k, fpr: PrecisionAtK(k),
    "recall_at_k": lambda beta, k, fpr: RecallAtK(k),
    "recall_at_most_k": lambda beta, k, fpr: RecallAtMostK(k),
    "prbep": lambda beta, k, fpr: BreakEven(),
    "roc_area": lambda beta, k, fpr: ROCArea(),
    "partial_roc_area": lambda beta, k, fpr: PartialROCArea(fpr),
}


def measure_of(
    measure: str | Measure | Callable[..., Any],
    *,
    beta: float = 1.0,
    k: int | float | str | None = None,
    fpr: tuple[float, float] = (0.0, 0.1),
) -> Measure:
    """The measure of that name, a `Measure` as it is, or a function of (a, b, c, d).

    Parameters
    ----------
    measure : str, Measure or callable
        A name of `MEASURES`, a measure, or a function of the counts of the contingency table.
    beta : float, default=1.0
        Of ``"fbeta"``.
    k : int, float or str, default=None
        Of the measures at k.
    fpr : tuple of float, default=(0.0, 0.1)
        Of ``"partial_roc_area"``.

    Returns
    -------
    Measure
        The measure.

    See Also
    --------
    everypair.MeasureSVM : Trains on it.

    Examples
    --------
    >>> from everypair.measures import measure_of
    >>> measure_of("precision_at_k", k=1).value([1, 0, 0, 1], [0.3, -1.0, 0.2, 2.0])
    1.0
    """
    if isinstance(measure, Measure):
        return measure
    if not isinstance(measure, str):
        return TableMeasure(measure)
    if measure not in MEASURES:
        raise ValueError(
            f"measure={measure!r} is not known: use one of {', '.join(map(repr, MEASURES))}, "
            "a function of (a, b, c, d) or a Measure."
        )
    return MEASURES[measure](beta, k, fpr)
