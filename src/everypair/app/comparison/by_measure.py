"""Models judged by a measure of the operating point, on rows that they did not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.estimators._held_out import HeldOut, class_totals, dependence, samples, widened
from everypair.estimators._held_out_groups import held_out
from everypair.measures.operating_point import OperatingMeasure

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]
Splits = Sequence[Sequence[tuple[Index, Index]]]

LEVEL = 0.95
DRAWS = 400
"""Bootstrap samples."""

AGREEMENT_DRAWS = 100
"""Of them, those in which the models of two folds are compared."""


@dataclass(frozen=True)
class Judged:
    """The measure of one model over the folds of all repeats; higher is better."""

    value: float
    by_fold: Array  # (repeats * folds,)
    drawn: Array  # (DRAWS,), the same samples for all models
    called: Bool  # in the first repeat, by the cut that is best on the other folds
    bounds: tuple[float, float]  # of the measure
    kappa: float = 0.0
    """The share of the variance that is there twice, because rows that are tested also train the
    models of the other folds (`everypair.metrics.held_out`)."""

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval of the bootstrap, widened by kappa.

        NaN where every sample has the same value, which does not mean certainty.
        """
        if self.drawn.min() == self.drawn.max():
            return np.nan, np.nan
        low, high = widened(self.value, self.drawn, self.kappa, level)
        least, most = self.bounds
        return max(min(low, self.value), least), min(max(high, self.value), most)


@dataclass(frozen=True)
class _CutAt(HeldOut):
    """Scores with a cut that is given."""

    cut: float = 0.0

    def predicted(self) -> Bool:
        return self.scores > self.cut


@dataclass(frozen=True)
class Difference:
    """The difference between the measures of two models, with its interval and p."""

    difference: float
    low: float
    high: float
    p: float


def judge(
    measure: OperatingMeasure,
    y: Bool,
    splits: Splits,
    scores: Mapping[str, Sequence[Array]],
    weight: Array | None = None,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
    cut: float | None = None,
    seen: Mapping[str, Sequence[Array]] | None = None,
    kappas: Mapping[str, float] | None = None,
    within: NDArray[Any] | None = None,
) -> dict[str, Judged]:
    """``scores[name][r]`` are the standardised held-out scores of repeat r.

    A free cut comes from the other folds of the same repeat, unless it is given; a quota is met on
    each fold. The value is the mean over the repeats. Rows or whole groups are drawn, so that the
    share of positives varies as well; the cuts stay as they are.

    ``seen`` are scores of the same rows, each by the model of another fold, which trained on it:
    where the values of samples by both agree, the training rows matter little. ``kappas`` are what
    the dependence is at least, by model, as the AUC shows it. ``within`` are groups of rows, for a
    measure of the best rows of each; whole ones are drawn, or whole ``groups``, which hold them.
    """
    mass = np.ones(y.size) if weight is None else weight
    groups = within if groups is None else groups
    kind: Any = partial(held_out, within=within)
    if cut is not None and within is None:
        kind = partial(_CutAt, cut=cut)
    held = {
        name: [
            kind(measure, y, mass, list(folds), of_repeat)
            for folds, of_repeat in zip(splits, each, strict=True)
        ]
        for name, each in scores.items()
    }

    def values(counts: Any) -> list[float]:
        return [
            float(np.mean([one.value(weight=counts * mass) for one in each]))
            for each in held.values()
        ]

    drawn = np.array([values(counts) for counts in samples(y, mass, DRAWS, groups, seed)])
    kappa = dict.fromkeys(held, 0.0) | dict(kappas or {})
    for name, others in (seen or {}).items():
        by_others = [
            held_out(measure, y, mass, list(folds), of_repeat, within)
            for folds, of_repeat in zip(splits, others, strict=True)
        ]
        found = [
            np.mean([one.value(weight=counts * mass) for one in by_others])
            for counts in samples(y, mass, AGREEMENT_DRAWS, groups, seed)
        ]
        own = drawn[:AGREEMENT_DRAWS, list(held).index(name)]
        measured = dependence(own, np.array(found), len(splits[0]), len(splits))
        kappa[name] = max(kappa[name], measured)
    bounds = measure.bounds(*class_totals(y, mass))
    return {
        name: Judged(
            value, _by_fold(each), drawn[:, place], each[0].predicted(), bounds, kappa[name]
        )
        for place, ((name, each), value) in enumerate(zip(held.items(), values(1.0), strict=True))
    }


def _by_fold(repeats: Sequence[HeldOut]) -> Array:
    out = []
    for held in repeats:
        for k, fold in enumerate(held.folds):
            ready = held.prepared
            of_fold = ready if isinstance(ready, np.ndarray) else [ready[k]]
            out.append(held.on([fold]).value(of_fold))
    return np.array(out)


def difference(
    one: Judged, other: Judged, n_repeats: int, n_units: int, n_rivals: int = 1
) -> Difference:
    """``one.value - other.value``, by Student's t on the bootstrap's standard error.

        se^2 = (2 + (1 - 1/R) / 2) var(drawn difference) + D^2 / n_units^2

    The bootstrap draws test rows and keeps the models. Equally good models differ by their
    training rows, too, and these are as many rows again: the factor is that of
    `everypair.metrics.held_out.held_out_difference`, whose correction for the choice of the best
    of ``n_rivals`` baselines is used as well. The last term is one row that takes the difference D
    away: it matters where all samples are alike.

    Parameters
    ----------
    n_units : int
        Rows of the rarer class, or groups.
    """
    from scipy.special import stdtr, stdtrit

    gap = one.value - other.value
    spread = float(np.var(one.drawn - other.drawn, ddof=1))
    error = float(np.sqrt((2 + (1 - 1 / n_repeats) / 2) * spread + (gap / n_units) ** 2))
    if error == 0:
        return Difference(gap, gap, gap, 1.0)
    freedom = max(1, n_units - 1)
    tries = n_rivals if gap < 0 else 1
    p = min(1.0, tries * 2 * float(stdtr(freedom, -abs(gap) / error)))
    tail = (1 - LEVEL) / 2
    below, above = (error * float(stdtrit(freedom, 1 - t)) for t in (tail, tail / n_rivals))
    return Difference(gap, gap - below, gap + above, p)
