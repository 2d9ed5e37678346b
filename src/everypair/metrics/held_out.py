"""The area over test folds: what it is, and how much it varies.

    A = mean_j A_j ,     A_j the area of test fold j alone, scored by the model of split j

Scores of models of different folds are never compared. A row r enters twice: it is tested, and
it trains the models of the other folds. To the second order

    A - E A = sum_r h(r) + sum_{r, s in different folds} a(s -> r) ,

a(s -> r) being what the training row s changes of the influence of the test row r. DeLong's
variance within the folds, V, is what A varies by with the training rows held fixed, and holds
each a once. But what s does to r as a training row is also what r does to s: a pair of rows
enters A twice with (nearly) one and the same term, so that

    var A = (1 + kappa) V ,     0 <= kappa <= 1 to this order,

kappa being the share of V that is due to the training rows. On noise nothing else is there and
kappa = 1 whatever n is: fold areas vary together. Where the models of all folds rank alike it is
nearly 0. It shows in how a test fold's influences change when a model of another fold takes the
place of the one that held it out: one fold of K - 1 is exchanged, and the correlation of both
influences is ``1 - kappa / (K - 1)`` to this order. What is used, K (1 - correlation), heeds also
that areas of models vary; it was chosen by simulation, as was what follows.

A weak signal that all models happen to agree on looks like a strong one: with one feature they
can only agree or disagree. kappa is therefore at least 1 where A is within 4 (1 + 1/K) standard
errors sqrt(V) of 1/2, falling to what is measured at 5/3 of that distance. Few folds leave few
rows to train on, and then the models' own areas vary, too, which V does not hold at all. And
averaging over R repeats of the folds lowers V more than what the folds share. kappa is therefore
multiplied by 1 + 0.3 / (K - 1)^2 + (1 - 1/R) / 2: 1.3 for two folds, 1.02 for five, and 1.27 for
five drawn twice. And by 1 - 18 / n, n the number of rows tested: on noise the variance is about
(2 - 18/n) V, as few rows leave little for two of them to do to each other.
lab/benchmarks/intervals.py has the coverage, lab/benchmarks/interval_rules.py the other rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from everypair.checks import finite_scores
from everypair.metrics.inference import (
    area_interval,
    effective_sizes,
    independent_pairs,
    quantile,
    standard_error,
)
from everypair.metrics.placements import (
    class_shares,
    degrees_of_class,
    effective_groups,
    influence,
    leverage,
    satterthwaite,
    summed,
)
from everypair.rows import Array, Index, NoSpread, Rows

CHANCE, CLEAR = 4.0, 5 / 3
"""Standard errors from 1/2, times 1 + 1/K, up to which an area may be chance; how many times as far
it is certainly not."""

FEW_FOLDS, REPEATED = 0.3, 0.5
"""What two folds, and very many repeats of the folds, add to kappa, relative to it."""

FEW_ROWS = 18.0
"""Over the number of rows: what few rows take from kappa, relative to it."""


@dataclass(frozen=True)
class HeldOutArea:
    """The mean area of the test folds, with what its variance is made of."""

    auc: float
    fold_auc: Array
    sums: Array
    """(units, 2): influences on ``auc``, summed over the positives and the negatives of each row
    or group."""
    dependence: float
    """kappa by the agreement of the models, before the area itself is looked at."""
    n_folds: float
    sizes: tuple[float, float]
    pairs: float
    shares: Array
    """(units, 2): shares of the positives and of the negatives that were tested."""
    lost: tuple[float, float]
    """Means subtracted within the positives and the negatives."""
    grouped: bool

    @property
    def kappa(self) -> float:
        """The share of V that is there twice; more with few folds and with repeats, less with few
        rows."""
        conditional = standard_error(float(np.sum(self.sums.sum(axis=1) ** 2)))
        if self.fold_auc.size < 2 or conditional == 0:
            return 0.0
        # Distances from 1/2 as multiples of what may be chance.
        away = abs(self.auc - 0.5) / conditional / (CHANCE * (1 + 1 / self.n_folds))
        unclear = min(1.0, max(0.0, (CLEAR - away) / (CLEAR - 1)))
        more = FEW_FOLDS / max(1.0, self.n_folds - 1) ** 2 + self.repeated
        of_rows = max(0.0, 1 - FEW_ROWS / sum(self.sizes))
        return of_rows * (1 + more) * max(self.dependence, unclear)

    @property
    def repeated(self) -> float:
        """What averaging over R repeats takes from V but not from the area: (1 - 1/R) / 2."""
        return REPEATED * (1 - 1 / max(1.0, self.fold_auc.size / self.n_folds))

    @property
    def se(self) -> float:
        return standard_error((1 + self.kappa) * float(np.sum(self.sums.sum(axis=1) ** 2)))

    @property
    def df(self) -> float:
        return _degrees_of_freedom(self, self.sums)

    def interval(self, level: float, logit: bool = True) -> tuple[float, float]:
        # Disjoint pairs bound V alone, so that they count for less where V is not all.
        pairs = self.pairs / (1 + self.kappa)
        return area_interval(self.auc, self.se, self.sizes, pairs, level, logit, df=self.df)


@dataclass(frozen=True)
class HeldOutDifference:
    """Difference of two areas over the same folds; 0 is outside (low, high) where p < 1 - level."""

    difference: float
    low: float
    high: float
    se: float
    p: float


def held_out_area(
    rows: Rows,
    groups: Index | None,
    tests: Sequence[Index],
    scores: Sequence[Array],
    seen: Sequence[Array],
    n_folds: float,
) -> HeldOutArea:
    """The area over the test folds.

    ``scores[j]`` are of the rows ``tests[j]`` by the model that did not train on them, ``seen[j]``
    by the model of another fold. ``n_folds`` is 1 + training rows / test rows. Row numbers, groups
    and scores are those of the kept rows of ``rows``.
    """
    units = np.arange(rows.positive.size) if groups is None else groups
    n_units = int(units.max()) + 1
    parts, fold_auc, shares_of = [], [], []
    for k, (test, own) in enumerate(zip(tests, scores, strict=True)):
        fold = _rows_of(rows, test)
        auc, influences = influence(
            fold, finite_scores(own, test.size, f"the decision function on test fold {k}")
        )
        fold_auc.append(auc)
        parts.append(influences)
        shares_of.append(class_shares(fold))
    auc = float(np.mean(fold_auc))
    used = np.unique(np.concatenate(tests))
    # Folds that hold every tested row once: K however often the folds are repeated.
    n_means = len(tests) * used.size / sum(test.size for test in tests)
    sums, lost = np.zeros((n_units, 2)), []
    for column, members in enumerate((rows.positive, ~rows.positive)):
        held = [units[test[members[test]]] for test in tests]
        n_held = np.unique(np.concatenate(held)).size
        alone = min(np.unique(of_fold).size for of_fold in held) < 2
        if alone and n_held < 2:
            name = ("positive", "negative")[column]
            raise NoSpread(
                f"There is only one {name} row or group: a standard error needs at least two."
            )
        for j, test in enumerate(tests):
            of_class = members[test]
            share, own = shares_of[j][of_class, column], parts[j][of_class]
            if alone:
                # One row of a class in a fold has no spread there: about the mean of all folds.
                own = (own + share * (fold_auc[j] - auc)) * np.sqrt(n_held / (n_held - 1))
            else:
                each = leverage(summed(held[j], share, n_units))
                own = own * each[held[j]]
            np.add.at(sums[:, column], held[j], own / len(tests))
        lost.append(1.0 if alone and groups is None else n_means)
    tested = _rows_of(rows, used)
    codes = None if groups is None else np.unique(groups[used], return_inverse=True)[1]
    sizes = effective_sizes(tested, codes)
    shares = np.column_stack(
        [summed(units[used], column, n_units) for column in class_shares(tested).T]
    )
    return HeldOutArea(
        auc,
        np.array(fold_auc),
        sums,
        _dependence(rows, units, tests, parts, seen, n_folds),
        n_folds,
        sizes,
        independent_pairs(sizes, codes),
        shares,
        (lost[0], lost[1]),
        groups is not None,
    )


def held_out_difference(
    one: HeldOutArea, other: HeldOutArea, level: float = 0.95, n_rivals: int = 1
) -> HeldOutDifference:
    """``one.auc - other.auc`` with its interval and p, by Student's t.

        se^2 = (2 + (1 - 1/R) / 2) V + D^2 (1/n+^2 + 1/n-^2)

    V is DeLong's variance of the difference D within the folds. Two equally good models differ by
    what they learnt of these training rows alone, so that kappa = 1 (see above, for repeats as
    well: with 2 V alone 5.6 to 6.6 % of true nulls were rejected on noise at R = 2). The second
    term is one row of each class that takes the difference away: it matters only for a handful of
    rows or where V = 0.

    ``other`` may have been chosen as the best of ``n_rivals`` on these folds. That makes it look
    better than it is, never worse: p of a difference below zero, and the upper end, are corrected
    for the number of rivals (Bonferroni).
    """
    from scipy.special import stdtr

    difference = one.auc - other.auc
    sums = one.sums - other.sums
    variance = float(np.sum(sums.sum(axis=1) ** 2))
    unseen = difference**2 * (one.sizes[0] ** -2 + one.sizes[1] ** -2)
    se = standard_error((2 + one.repeated) * variance + unseen)
    if se == 0:
        return HeldOutDifference(difference, difference, difference, 0.0, 1.0)
    df = _degrees_of_freedom(one, sums)
    tries = n_rivals if difference < 0 else 1
    p = min(1.0, tries * 2 * float(stdtr(df, -abs(difference) / se)))
    below = quantile(level, df) * se
    above = quantile(1 - (1 - level) / n_rivals, df) * se
    return HeldOutDifference(
        difference, max(-1.0, difference - below), min(1.0, difference + above), se, p
    )


def _degrees_of_freedom(area: HeldOutArea, sums: Array) -> float:
    """As in `everypair.metrics.placements.degrees_of_freedom`, of the rows or groups tested."""
    if area.grouped:
        units = np.arange(len(area.shares))
        return max(1.0, effective_groups(area.shares, units) - area.lost[0])
    degrees = []
    for squares, shares, lost in zip(sums.T**2, area.shares.T, area.lost, strict=True):
        held = shares > 0
        degrees.append(degrees_of_class(squares[held], shares[held], lost))
    return satterthwaite(np.sum(sums**2, axis=0), degrees)


def _dependence(
    rows: Rows,
    units: Index,
    tests: Sequence[Index],
    parts: Sequence[Array],
    seen: Sequence[Array],
    n_folds: float,
) -> float:
    """K (1 - correlation of a fold's influences by two models), between 0 and 1."""
    if len(tests) < 2:
        return 0.0
    products = np.zeros(3)
    for k, (test, own, scores) in enumerate(zip(tests, parts, seen, strict=True)):
        _, codes = np.unique(units[test], return_inverse=True)
        name = f"the decision function of another fold's model on test fold {k}"
        _, other = influence(_rows_of(rows, test), finite_scores(scores, test.size, name))
        a, b = np.bincount(codes, own), np.bincount(codes, other)
        products += a @ a, b @ b, a @ b
    size = np.sqrt(products[0] * products[1])
    agreement = products[2] / size if size > 0 else 0.0
    return float(min(1.0, max(0.0, n_folds * (1 - agreement))))


def _rows_of(rows: Rows, chosen: Index) -> Rows:
    """Some of the rows, with their weights."""
    weight = None if rows.weight is None else rows.weight[chosen]
    groups = None if rows.within is None else rows.within.take(chosen)
    return Rows(rows.positive[chosen], weight, None, rows.labels, rows.units, groups)
