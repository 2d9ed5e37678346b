"""Measures of an operating point, as people pay for them: exact on scores, smooth for a climb.

A measure is a function of the contingency table at a cut that is free to choose (F-beta, Matthews'
correlation, a cost), or it fixes its cut by a quota: a number of rows, a rate of false alarms, a
recall. Partial area and average precision are means over quotas.

>>> from everypair.measures.operating import operating_measure
>>> from everypair.rows import Rows
>>> rows, scores = Rows.of([0, 0, 1, 0, 1, 1]), np.array([1.0, 2, 3, 4, 5, 6])
>>> operating_measure("f1", rows).best_cut(rows, scores)
2.5
>>> print(f"{operating_measure('tpr_at_fpr', rows, fpr=0.1).value(rows, scores):.3f}")
0.667
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from everypair.measures.at_quota import (
    FALSE_ALARMS,
    NEGATIVES,
    POSITIVES,
    PRECISION,
    RECALL,
    ROWS,
    AtQuota,
    RecallAtPrecision,
)
from everypair.measures.contingency import (
    ContingencyMeasure,
    Cost,
    FBeta,
    GMean,
    Informedness,
    Jaccard,
    Matthews,
    TableMeasure,
)
from everypair.measures.curve_means import AveragePrecision, PartialArea, WholeArea
from everypair.measures.fixed_count import (
    BreakEven,
    FixedCount,
    PrecisionAtK,
    RecallAtK,
    RecallAtMostK,
)
from everypair.measures.free_cut import OfTable
from everypair.measures.grouped import TopOfEachGroup
from everypair.measures.operating_point import OperatingMeasure
from everypair.metrics.at_k import rows_at_k
from everypair.rows import Rows

TABLES: dict[str, Callable[[float, Any], ContingencyMeasure]] = {
    "f1": lambda beta, cost: FBeta(1.0),
    "fbeta": lambda beta, cost: FBeta(beta),
    "jaccard": lambda beta, cost: Jaccard(),
    "gmean": lambda beta, cost: GMean(),
    "mcc": lambda beta, cost: Matthews(),
    "informedness": lambda beta, cost: Informedness(),
    "cost": lambda beta, cost: Cost(*cost),
}
QUOTAS = {
    "precision_at_k": (ROWS, "k", PRECISION),
    "recall_at_k": (ROWS, "k", RECALL),
    "tpr_at_fpr": (NEGATIVES, "fpr", RECALL),
    "fpr_at_tpr": (POSITIVES, "tpr", FALSE_ALARMS),
    "precision_at_recall": (POSITIVES, "recall", PRECISION),
}
OF_K: dict[type, str] = {
    PrecisionAtK: "precision_at_k",
    BreakEven: "precision_at_k",
    RecallAtK: "recall_at_k",
    RecallAtMostK: "recall_at_k",
}
OTHERS: dict[str, Callable[[dict[str, Any]], OperatingMeasure]] = {
    "recall_at_precision": lambda given: RecallAtPrecision(
        _share("recall_at_precision", "precision", given["precision"])
    ),
    "partial_roc_area": lambda given: PartialArea(*_range(given["fpr"])),
    "average_precision": lambda given: AveragePrecision(),
    "roc_area": lambda given: WholeArea(),
}
NAMES = (*TABLES, *QUOTAS, *OTHERS)
NUMBERS = ("beta", "k", "fpr", "tpr", "recall", "precision", "cost")


def operating_measure(
    measure: Any,
    rows: Rows,
    *,
    beta: float = 1.0,
    k: int | float | str | None = None,
    fpr: float | tuple[float, float] | None = None,
    tpr: float | None = None,
    recall: float | None = None,
    precision: float | None = None,
    cost: tuple[float, float] = (1.0, 1.0),
) -> OperatingMeasure:
    """The measure of that name, of a `ContingencyMeasure`, or of a function of (a, b, c, d).

    ``k`` becomes a share of the rows, by weight. Of rows in groups it is what each group has. A
    measure that has a k of its own is taken at that.
    """
    if isinstance(measure, FixedCount):
        if type(measure) not in OF_K:
            raise ValueError(
                f"measure={type(measure).__name__}({measure.k!r}) is not available here: use "
                f"measure='precision_at_k', k={measure.k!r}, or 'recall_at_k'."
            )
        measure, k = OF_K[type(measure)], measure.k
    if rows.within is not None:
        return TopOfEachGroup.of(measure, k, rows)
    if isinstance(measure, ContingencyMeasure) or callable(measure):
        table = measure if isinstance(measure, ContingencyMeasure) else TableMeasure(measure)
        return OfTable(table)
    if measure in TABLES:
        if len(cost) != 2:
            raise ValueError(
                f"cost={cost!r}: give two costs, of a false positive and a false negative."
            )
        return OfTable(TABLES[measure](beta, cost))
    shares = {"fpr": fpr, "tpr": tpr, "recall": recall, "precision": precision}
    if measure in QUOTAS:
        of, name, what = QUOTAS[measure]
        if name == "k":
            return AtQuota(of, _share_of_rows(k, rows), what)
        return AtQuota(of, _share(measure, name, shares[name]), what)
    if measure not in OTHERS:
        raise ValueError(
            f"measure={measure!r} is not known: use one of {', '.join(map(repr, NAMES))}, a "
            "function of (a, b, c, d) or a ContingencyMeasure."
        )
    return OTHERS[measure](shares)


def measure_with_numbers(given: Any, rows: Rows, parameter: str) -> OperatingMeasure:
    """The measure that one parameter of an estimator names, alone or with its numbers.

    ``"f1"``, or ``{"measure": "tpr_at_fpr", "fpr": 0.05}``.
    """
    if not isinstance(given, Mapping):
        return operating_measure(given, rows)
    numbers = dict(given)
    if "measure" not in numbers:
        raise ValueError(
            f"{parameter}={given!r} lacks the name of its measure: give it as "
            "{'measure': 'tpr_at_fpr', 'fpr': 0.05}."
        )
    measure = numbers.pop("measure")
    for name in numbers:
        if name not in NUMBERS:
            raise ValueError(
                f"{parameter} has the key {name!r}: use 'measure', and the numbers that it "
                f"needs among {', '.join(NUMBERS)}."
            )
    return operating_measure(measure, rows, **numbers)


def _share_of_rows(k: Any, rows: Rows) -> float:
    """A count is of rows as they are; a share and a multiple of the positives are of weight."""
    n_rows = rows.positive.size
    count = rows_at_k(k, n_rows, rows.n_positive)
    share = count / n_rows if isinstance(k, Integral) else k
    if isinstance(k, str):
        positive, negative = rows.totals
        share = float(k.strip()[:-1] or 1) * positive / (positive + negative)
    if share >= 1:
        raise ValueError(f"k={k!r} selects every row: use a smaller k.")
    return float(share)


def _share(measure: str, name: str, value: Any) -> float:
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    raise ValueError(f"measure={measure!r} needs {name}= between 0 and 1, but {name}={value!r}.")


def _range(fpr: Any) -> tuple[float, float]:
    try:
        low, high = (0.0, float(fpr)) if isinstance(fpr, Real) else (float(end) for end in fpr)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 <= low < high <= 1:
        raise ValueError(
            f"measure='partial_roc_area' needs fpr=(low, high) with 0 <= low < high <= 1, but "
            f"fpr={fpr!r}."
        )
    return low, high
