"""Measures of an operating point, as people pay for them: exact on scores, smooth for a climb.

A measure is a function of the contingency table at a cut that is free to choose (F-beta, Matthews'
correlation, a cost), or it fixes its cut by a quota: so many rows, so many false alarms, so much
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

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from everypair.metrics.at_k import rows_at_k
from everypair.metrics.curve import Curve, area_between
from everypair.rows import Rows

Array = NDArray[np.float64]

Worth = Callable[[float, float], tuple[float, float, float]]
"""A measure at the true and false positive rates (t, f): its value and both derivatives."""

NODES = 5
"""Gauss-Legendre nodes of a mean over quotas."""

STEP = 1e-6
"""Of a rate, for derivatives by differences."""

SLACK = 1e-12
"""A share such as 0.05 of 20 rows is met by one row whatever its last bit is."""


class Quota(NamedTuple):
    """``of_positives t + of_negatives f = amount`` fixes the cut; its ``weight`` in a mean.

    With a negative coefficient the quota is a precision: its cut is the lowest that meets it.
    """

    of_positives: float
    of_negatives: float
    amount: float
    weight: float = 1.0


class Smooth(NamedTuple):
    """What a climb needs: the measure of two rates, its largest value, the quotas of its cuts."""

    worth: Worth
    best: float
    quotas: tuple[Quota, ...] = ()


class OperatingMeasure:
    """What a climb, a search and a user ask of a measure. Higher values are better."""

    free_cut = False
    """Whether the cut is chosen with the coefficients; otherwise a quota fixes it."""
    of_pairs = False
    """Whether it is a mean over pairs of rows, of which no cut and no quota knows."""
    sign = 1.0
    """Times the value: what people call the measure (a rate of false alarms is to be low)."""

    def of_rates(self, t: Any, f: Any, positive: float, negative: float) -> Any:
        """From rates, the classes weighing so much.

        With a free cut: at each pair of rates. With a quota: of the whole curve, whose points
        ``t`` and ``f`` are, from (0, 0) on.
        """
        raise NotImplementedError

    def value(self, rows: Rows, scores: Array, cut: float = 0.0) -> float:
        """Of these scores, exactly; a measure with a quota does not look at ``cut``."""
        curve = Curve.of(rows, scores)
        return float(self.of_rates(curve.tpr, curve.fpr, *rows.totals))

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """Where these scores are to be cut; positive is ``score > cut``."""
        raise NotImplementedError

    def deciding_rows(self, n_positive: int, n_negative: int) -> float:
        """Rows on the rarer side of its cut, about: what the measure rests on."""
        return float(n_positive)

    def bounds(self, positive: float, negative: float) -> tuple[float, float]:
        """The lowest and the highest value, the classes weighing so much."""
        return (0.0, 1.0) if self.sign > 0 else (-1.0, 0.0)

    def nearby(self) -> OperatingMeasure:
        """What models are told apart by: the same about its quota, which fewer rows decide alone.

        Recall at 1 % false positives of 500 negatives rests on five rows. The mean of recalls at
        0.5 % to 2 % varies less, and the model that has it highest is nearly always the same.
        """
        return self

    def smooth(self, positive: float, negative: float) -> Smooth:
        """As a function of the rates, the classes weighing so much."""
        raise NotImplementedError


@dataclass(frozen=True)
class OfTable(OperatingMeasure):
    """A measure of the contingency table at the cut that is best for it."""

    table: ContingencyMeasure
    free_cut = True

    def value(self, rows: Rows, scores: Array, cut: float = 0.0) -> float:
        t, f = rates_above(rows, scores > cut)
        return float(self.of_rates(t, f, *rows.totals))

    def of_rates(self, t: Any, f: Any, positive: float, negative: float) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.table.of_table(
                positive * t, negative * f, positive * (1 - t), negative * (1 - f)
            )
        # Nothing predicted positive and nothing found: 0 / 0 is no success.
        return np.where(np.isfinite(value), value, 0.0)

    def bounds(self, positive: float, negative: float) -> tuple[float, float]:
        worst, best = (float(self.of_rates(t, 1 - t, positive, negative)) for t in (0.0, 1.0))
        return worst, best

    def best_cut(self, rows: Rows, scores: Array) -> float:
        curve = Curve.of(rows, scores)
        return curve.cut(int(np.argmax(self.of_rates(curve.tpr, curve.fpr, *rows.totals))))

    def smooth(self, positive: float, negative: float) -> Smooth:
        def value(t: float, f: float) -> float:
            return float(self.of_rates(t, f, positive, negative))

        return Smooth(_by_differences(value), value(1.0, 0.0))


def _by_differences(value: Callable[[float, float], float]) -> Worth:
    """Central where the rates leave room, else from within."""

    def worth(t: float, f: float) -> tuple[float, float, float]:
        slopes = []
        for at, x in ((0, t), (1, f)):
            low, high = max(x - STEP, 0.0), min(x + STEP, 1.0)
            rise = [value(end, f) if at == 0 else value(t, end) for end in (low, high)]
            slopes.append((rise[1] - rise[0]) / (high - low))
        return value(t, f), slopes[0], slopes[1]

    return worth


def rates_above(rows: Rows, above: NDArray[np.bool_]) -> tuple[float, float]:
    """True and false positive rate of a prediction, by weight."""
    weight = np.ones(above.size) if rows.weight is None else rows.weight
    positive, negative = rows.positive, ~rows.positive
    t, f = (
        float(weight[above & members].sum() / weight[members].sum())
        for members in (positive, negative)
    )
    return t, f


RECALL, FALSE_ALARMS, PRECISION = "recall", "false alarms", "precision"
ROWS, NEGATIVES, POSITIVES = "rows", "negatives", "positives"


@dataclass(frozen=True)
class AtQuota(OperatingMeasure):
    """Recall, precision or false alarms (``what``) where a share of the rows, of the negatives or
    of the positives (``of``) lies above the cut."""

    of: str
    amount: float
    what: str

    @property
    def sign(self) -> float:  # type: ignore[override]
        return -1.0 if self.what == FALSE_ALARMS else 1.0

    def quota(self, positive: float, negative: float, weight: float = 1.0) -> Quota:
        if self.of == ROWS:
            share = positive / (positive + negative)
            return Quota(share, 1 - share, self.amount, weight)
        return Quota(float(self.of == POSITIVES), float(self.of == NEGATIVES), self.amount, weight)

    def nearby(self) -> OperatingMeasure:
        return MeanOf(tuple(replace(self, amount=share) for share in shares_about(self.amount)))

    def deciding_rows(self, n_positive: int, n_negative: int) -> float:
        counted = {ROWS: n_positive + n_negative, NEGATIVES: n_negative, POSITIVES: n_positive}
        return min(self.amount, 1 - self.amount) * counted[self.of]

    def worth(self, positive: float, negative: float) -> Worth:
        if self.what == RECALL:
            return lambda t, f: (t, 1.0, 0.0)
        if self.what == FALSE_ALARMS:
            return lambda t, f: (-f, 0.0, -1.0)
        return precision_worth(positive, negative)

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        at = self._point(t, f, self.quota(positive, negative))
        return self.worth(positive, negative)(*at)[0]

    def _point(self, t: Array, f: Array, quota: Quota) -> tuple[float, float]:
        """On the straight lines between the points of the curve, at its best where it is steep:
        the most positives within a quota, the fewest negatives for a recall."""
        held = quota.of_positives * t + quota.of_negatives * f
        if self.of == POSITIVES:
            after = int(np.searchsorted(held, quota.amount * (1 - SLACK)))
            before = max(after - 1, 0)
        else:
            before = int(np.searchsorted(held, quota.amount * (1 + SLACK), side="right")) - 1
            after = min(before + 1, held.size - 1)
        run = held[after] - held[before]
        part = np.clip((quota.amount - held[before]) / run, 0.0, 1.0) if run > 0 else 0.0
        return (
            float(t[before] + part * (t[after] - t[before])),
            float(f[before] + part * (f[after] - f[before])),
        )

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """The lowest cut within the quota; of a recall, the highest that reaches it."""
        curve, quota = Curve.of(rows, scores), self.quota(*rows.totals)
        held = quota.of_positives * curve.tpr + quota.of_negatives * curve.fpr
        if self.of == POSITIVES:
            return curve.cut(int(np.flatnonzero(held >= quota.amount * (1 - SLACK))[0]))
        return curve.cut(int(np.flatnonzero(held <= quota.amount * (1 + SLACK))[-1]))

    def smooth(self, positive: float, negative: float) -> Smooth:
        best = 0.0 if self.what == FALSE_ALARMS else 1.0
        if self.of == ROWS:  # more rows than positives, or fewer
            positives_a_row = positive / (positive + negative) / self.amount
            best = min(1.0, positives_a_row if self.what == PRECISION else 1 / positives_a_row)
        return Smooth(self.worth(positive, negative), best, (self.quota(positive, negative),))


def precision_worth(positive: float, negative: float) -> Worth:
    """``P t / (P t + N f)``."""

    def worth(t: float, f: float) -> tuple[float, float, float]:
        hits, alarms = positive * t, negative * f
        whole = hits + alarms
        if whole <= 0:
            return 1.0, 0.0, 0.0
        return hits / whole, positive * alarms / whole**2, -negative * hits / whole**2

    return worth


@dataclass(frozen=True)
class RecallAtPrecision(OperatingMeasure):
    """The largest recall of a cut with at least this precision; 0 where no cut has it."""

    precision: float

    def _meets(self, t: Array, f: Array, positive: float, negative: float) -> NDArray[np.intp]:
        hits, alarms = positive * t, negative * f
        above = (1 - self.precision) * hits - self.precision * alarms
        return np.flatnonzero((above >= -SLACK * hits) & (hits > 0))

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        meets = self._meets(t, f, positive, negative)
        return float(t[meets[-1]]) if meets.size else 0.0

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """Where no cut has the precision: above all scores."""
        curve = Curve.of(rows, scores)
        meets = self._meets(curve.tpr, curve.fpr, *rows.totals)
        return curve.cut(int(meets[-1]) if meets.size else 0)

    def nearby(self) -> OperatingMeasure:
        return MeanOf(tuple(RecallAtPrecision(share) for share in shares_about(self.precision)))

    def smooth(self, positive: float, negative: float) -> Smooth:
        quota = Quota((1 - self.precision) * positive, -self.precision * negative, 0.0)
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0, (quota,))


@dataclass(frozen=True)
class MeanOf(OperatingMeasure):
    """The mean of measures with a quota, to tell models apart by."""

    parts: tuple[OperatingMeasure, ...]

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        return float(np.mean([part.of_rates(t, f, positive, negative) for part in self.parts]))


def shares_about(share: float) -> list[float]:
    """Shares whose odds are half to twice these, evenly spaced on their logarithm."""
    odds = share / (1 - share) * 2.0 ** np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    return [float(each / (1 + each)) for each in odds]


@dataclass(frozen=True)
class PartialArea(OperatingMeasure):
    """The mean recall over a range of false positive rates."""

    low: float
    high: float

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        return area_between(f, t, self.low, self.high) / (self.high - self.low)

    def deciding_rows(self, n_positive: int, n_negative: int) -> float:
        return min(float(n_positive), self.high * n_negative)

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """At the largest false positive rate of the range."""
        return AtQuota(NEGATIVES, self.high, RECALL).best_cut(rows, scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        quotas = tuple(
            AtQuota(NEGATIVES, rate, RECALL).quota(positive, negative, weight)
            for rate, weight in nodes(self.low, self.high)
        )
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0, quotas)


@dataclass(frozen=True)
class WholeArea(OperatingMeasure):
    """The area under the whole ROC curve: pairs have no cut, and a climb sums over them."""

    of_pairs = True

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        return float(np.trapezoid(t, f))

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """The area asks for no cut: the one of the largest informedness, as in `MeasureSVM`."""
        return OfTable(Informedness()).best_cut(rows, scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        return Smooth(lambda t, f: (t, 1.0, 0.0), 1.0)


@dataclass(frozen=True)
class AveragePrecision(OperatingMeasure):
    """The mean precision over all recalls, ``sum (R_n - R_(n-1)) P_n``."""

    def of_rates(self, t: Array, f: Array, positive: float, negative: float) -> float:
        hits, alarms = positive * t[1:], negative * f[1:]
        return float(np.diff(t) @ (hits / np.maximum(hits + alarms, np.finfo(np.float64).tiny)))

    def best_cut(self, rows: Rows, scores: Array) -> float:
        """Average precision asks for no cut: the one of the largest F1."""
        return OfTable(FBeta(1.0)).best_cut(rows, scores)

    def smooth(self, positive: float, negative: float) -> Smooth:
        quotas = tuple(
            AtQuota(POSITIVES, recall, PRECISION).quota(positive, negative, weight)
            for recall, weight in nodes(0.0, 1.0)
        )
        return Smooth(precision_worth(positive, negative), 1.0, quotas)


def nodes(low: float, high: float) -> list[tuple[float, float]]:
    """Gauss-Legendre nodes of a mean over the range, and their weights."""
    at, weight = np.polynomial.legendre.leggauss(NODES)
    return [(low + (high - low) * (x + 1) / 2, w / 2) for x, w in zip(at, weight, strict=True)]


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
OTHERS: dict[str, Callable[[dict[str, Any]], OperatingMeasure]] = {
    "recall_at_precision": lambda given: RecallAtPrecision(
        _share("recall_at_precision", "precision", given["precision"])
    ),
    "partial_roc_area": lambda given: PartialArea(*_range(given["fpr"])),
    "average_precision": lambda given: AveragePrecision(),
    "roc_area": lambda given: WholeArea(),
}
NAMES = (*TABLES, *QUOTAS, *OTHERS)


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

    ``k`` becomes a share of the rows, by weight.
    """
    if isinstance(measure, ContingencyMeasure):
        return OfTable(measure)
    if callable(measure) and not isinstance(measure, str):
        return OfTable(TableMeasure(measure))
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


def _share_of_rows(k: Any, rows: Rows) -> float:
    """A count is of rows as they are; a share and a multiple of the positives are of weight."""
    n_rows = rows.positive.size
    count = rows_at_k(k, n_rows, rows.n_positive)
    share = count / n_rows if isinstance(k, Integral) else k
    if isinstance(k, str):
        positive, negative = rows.totals
        share = float(k.strip()[:-1] or 1) * positive / (positive + negative)
    if share >= 1:
        raise ValueError(f"k={k!r} means every row: use fewer, or there is nothing to choose.")
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
