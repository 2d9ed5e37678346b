"""A measure on rows that were held out: its value, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.estimators._search import Fold
from everypair.measures.operating_point import OperatingMeasure
from everypair.metrics.held_out import FEW_FOLDS, REPEATED
from everypair.rows import Rows

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.intp]

DRAWS = 200
"""Of a bootstrap; a standard error is then known to a twentieth."""

FEWER_DRAWS = 50
"""Where a tenth will do."""


class _Ranked(NamedTuple):
    """The rows of a fold by falling score, and where equal scores end."""

    rows: Index
    ends: Index


Prepared = Bools | list[_Ranked]
"""What a bootstrap needs of a candidate: its predictions, or its rankings."""


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows by models that had not seen them, one model a fold.

    A free cut is chosen on the other folds' rows, never on those that are scored, and the counts
    of all folds make one table; a measure with a quota is averaged over the folds.
    """

    measure: OperatingMeasure
    positive: Bools
    weight: Array
    folds: list[Fold]
    scores: Array
    groups: NDArray[Any] | None = None
    """Rows of a group are drawn together: they tell the same more than once."""

    def predicted(self) -> Bools:
        """Of each row, by the cut that the rows outside its fold make best.

        One fold alone is cut by its own rows.
        """
        out = np.zeros(self.positive.size, dtype=bool)
        for _, test in self.folds:
            apart = [rows for _, rows in self.folds if rows is not test]
            others = np.concatenate(apart or [test])
            rows = Rows.of(self.positive[others], self.weight[others])
            cut = self.measure.best_cut(rows, rows.scores(self.scores[others]))
            out[test] = self.scores[test] > cut
        return out

    def ranked(self) -> list[_Ranked]:
        out = []
        for _, test in self.folds:
            order = test[np.argsort(-self.scores[test], kind="stable")]
            falling = self.scores[order]
            out.append(_Ranked(order, np.flatnonzero(np.append(falling[1:] < falling[:-1], True))))
        return out

    @cached_property
    def prepared(self) -> Prepared:
        return self.predicted() if self.measure.free_cut else self.ranked()

    def value(self, prepared: Prepared | None = None, weight: Array | None = None) -> float:
        """Of these predictions or rankings (its own), the rows weighing so much (as they do)."""
        prepared = self.prepared if prepared is None else prepared
        weight = self.weight if weight is None else weight
        if isinstance(prepared, np.ndarray):
            tested = np.concatenate([rows for _, rows in self.folds])
            w, y, above = weight[tested], self.positive[tested], prepared[tested]
            totals = float(w[y].sum()), float(w[~y].sum())
            found = float(w[above & y].sum()), float(w[above & ~y].sum())
            rates = found[0] / totals[0], found[1] / totals[1]
            return float(self.measure.of_rates(*rates, *totals))
        out = []
        for order, ends in prepared:
            w, y = weight[order], self.positive[order]
            tp, fp = np.cumsum(w * y)[ends], np.cumsum(w * ~y)[ends]
            if not (tp[-1] > 0 and fp[-1] > 0):
                continue  # a draw without one of the classes
            t, f = np.append(0.0, tp / tp[-1]), np.append(0.0, fp / fp[-1])
            out.append(self.measure.of_rates(t, f, float(tp[-1]), float(fp[-1])))
        return float(np.mean(out)) if out else 0.0

    def on(self, folds: list[Fold]) -> HeldOut:
        """Of these folds alone."""
        return replace(self, folds=folds)

    def by(self, measure: OperatingMeasure) -> HeldOut:
        """The same rows by another measure of this kind: cuts or rankings are kept."""
        out = replace(self, measure=measure)
        vars(out)["prepared"] = self.prepared
        return out

    def interval(self, own: Prepared, other: Prepared) -> tuple[float, float]:
        """A 95 % interval of the value of ``own``: its bootstrap, widened by the `dependence`.

        ``other`` is what the model of the next fold, which trained on them, says of the same rows.
        """
        value, drawn, by_other = self.value(own), [], []
        for k, counts in enumerate(samples(self.positive, self.weight, DRAWS, self.groups)):
            drawn.append(self.value(own, counts * self.weight))
            if k < FEWER_DRAWS:
                by_other.append(self.value(other, counts * self.weight))
        kappa = dependence(np.array(drawn[:FEWER_DRAWS]), np.array(by_other), len(self.folds))
        ends = widened(value, np.array(drawn), kappa)
        low, high = self.measure.bounds(*class_totals(self.positive, self.weight))
        return max(min(ends[0], value), low), min(max(ends[1], value), high)

    def draws(self, *ready: Prepared, seed: int = 0, n_draws: int = DRAWS) -> Array:
        """Values of bootstrap samples, a row for each of ``ready``, the same draws for all.

        Rows are drawn within each class (a stratified bootstrap), or whole groups; the cuts stay.
        """
        if self.groups is not None:
            whole = samples(self.positive, self.weight, n_draws, self.groups, seed)
            of_draws = [[self.value(one, n * self.weight) for one in ready] for n in whole]
            return np.array(of_draws).T
        rng = np.random.default_rng(seed)
        classes = [np.flatnonzero(self.positive), np.flatnonzero(~self.positive)]
        out = np.empty((len(ready), n_draws))
        counts = np.empty(self.positive.size)
        for k in range(n_draws):
            for members in classes:
                drawn = rng.integers(members.size, size=members.size)
                counts[members] = np.bincount(drawn, minlength=members.size)
            out[:, k] = [self.value(one, counts * self.weight) for one in ready]
        return out


def mixed(candidates: list[HeldOut], chosen: list[int]) -> Prepared:
    """What the candidate that was chosen for each fold says of its rows."""
    first = candidates[0].prepared
    if isinstance(first, np.ndarray):
        out = np.zeros_like(first)
        for (_, test), c in zip(candidates[0].folds, chosen, strict=True):
            out[test] = np.asarray(candidates[c].prepared)[test]
        return out
    return [candidates[c].prepared[k] for k, c in enumerate(chosen)]


def class_totals(positive: Bools, weight: Array) -> tuple[float, float]:
    return float(weight[positive].sum()), float(weight[~positive].sum())


def samples(
    positive: Bools,
    weight: Array,
    n_samples: int,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
) -> Iterator[Index]:
    """How often each row is drawn, in samples of rows or of whole groups with both classes.

    The share of positives varies, as it will among new rows.
    """
    rng = np.random.default_rng(seed)
    units = np.arange(positive.size)
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1]
    n_units = int(units.max()) + 1
    found = 0
    while found < n_samples:
        counts = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)[units]
        weighs = counts * weight > 0
        if np.any(weighs & positive) and np.any(weighs & ~positive):
            found += 1
            yield counts


def dependence(own: Array, other: Array, n_folds: int, n_repeats: int = 1) -> float:
    """kappa: the share of the variance of a value over folds that its samples hold only once.

    Rows that are tested also train the models of the other folds. To the second order the variance
    is (1 + kappa) times that of the samples with

        kappa = K (1 - correlation) , at most 1, times 1 + 0.3 / (K - 1)^2 + (1 - 1/R) / 2 ,

    the correlation being that of the values of samples by the model of the row's fold and by that
    of the next fold, which trained on the row. `everypair.metrics.held_out` derives it for the AUC,
    where the correlation is that of the rows' influences.
    """
    if n_folds < 2:
        return 0.0
    spread = float(own.std() * other.std())
    shared = float(np.mean((own - own.mean()) * (other - other.mean())))
    agreement = shared / spread if spread > 0 else float(np.array_equal(own, other))
    more = FEW_FOLDS / (n_folds - 1) ** 2 + REPEATED * (1 - 1 / n_repeats)
    return (1 + more) * min(1.0, max(0.0, n_folds * (1 - agreement)))


def widened(value: float, drawn: Array, kappa: float, level: float = 0.95) -> tuple[float, float]:
    """Quantiles of the samples about their mean, sqrt(1 + kappa) times as far from the value.

    Repeated rows raise some measures (average precision): the mean of the samples is not the value.
    """
    tail = (1 - level) / 2
    ends = np.quantile(drawn, [tail, 1 - tail]) - drawn.mean()
    low, high = value + np.sqrt(1 + kappa) * ends
    return float(low), float(high)
