"""A measure against the cut: its value at each, and where its quota is met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.typed_measure import TypedMeasure
from everypair.app.report.cuts import Cuts
from everypair.measures.at_quota import (
    FALSE_ALARMS,
    NEGATIVES,
    POSITIVES,
    PRECISION,
    QUOTA_TOLERANCE,
    RECALL,
    ROWS,
    AtQuota,
    RecallAtPrecision,
)
from everypair.measures.curve_means import AveragePrecision, PartialArea
from everypair.measures.operating_point import OperatingMeasure, precision_worth
from everypair.rows import Array, Rows

Met = NDArray[np.bool_]

QUOTAS = {
    ROWS: ("at most", "of the rows"),
    NEGATIVES: ("at most", "false positives"),
    POSITIVES: ("at least", "recall"),
}


def what_is_drawn(measure: TypedMeasure, exact: OperatingMeasure) -> dict[str, Any]:
    """The measure, the value on the axis and the condition of the quota, in words."""
    axis, condition = measure.label, ""
    if isinstance(exact, AtQuota):
        axis = {FALSE_ALARMS: "false positive rate"}.get(exact.what, exact.what)
        side, of = QUOTAS[exact.of]
        condition = f"{side} {100 * exact.amount:.3g}% {of}"
    elif isinstance(exact, RecallAtPrecision):
        axis, condition = RECALL, f"at least {100 * exact.precision:.3g}% precision"
    elif isinstance(exact, PartialArea):
        axis, condition = RECALL, f"at most {100 * exact.high:.3g}% false positives"
    elif isinstance(exact, AveragePrecision):
        axis = PRECISION
    return {
        "label": measure.label,
        "axis": f"{axis[0].upper()}{axis[1:]}",
        "condition": condition,
        "free": exact.free_cut,
        "lower_is_better": measure.lower_is_better,
    }


def at_cuts(
    measure: TypedMeasure, exact: OperatingMeasure, rows: Rows, cuts: Cuts
) -> dict[str, Any]:
    """``value`` at each cut, as people call it; ``met`` says where the quota is kept."""
    t, f = cuts.tp / cuts.tp[-1], cuts.fp / cuts.fp[-1]
    positive, negative = rows.totals
    worth = precision_worth(positive, negative)
    precision = np.array([worth(*at)[0] for at in zip(t, f, strict=True)])
    value, met = _drawn(exact, t, f, precision, positive, negative)
    if exact.free_cut:
        value = measure.sign * value
    return {"value": np.round(value, 5).tolist(), "met": met.tolist()}


def _drawn(
    exact: OperatingMeasure, t: Array, f: Array, precision: Array, positive: float, negative: float
) -> tuple[Array, Met]:
    everywhere = np.ones(t.size, dtype=bool)
    if exact.free_cut:
        return exact.of_rates(t, f, positive, negative), everywhere
    if isinstance(exact, AtQuota):
        quota = exact.quota(positive, negative)
        held = quota.of_positives * t + quota.of_negatives * f
        value = {RECALL: t, FALSE_ALARMS: f}.get(exact.what, precision)
        if exact.of == POSITIVES:
            return value, held >= quota.amount * (1 - QUOTA_TOLERANCE)
        return value, held <= quota.amount * (1 + QUOTA_TOLERANCE)
    if isinstance(exact, RecallAtPrecision):
        return t, (precision >= exact.precision - QUOTA_TOLERANCE) & (t > 0)
    if isinstance(exact, PartialArea):
        return t, (exact.low <= f) & (f <= exact.high * (1 + QUOTA_TOLERANCE))
    return precision, everywhere
