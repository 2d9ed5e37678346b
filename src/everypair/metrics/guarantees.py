"""Cuts at which a requirement holds on new rows with a given confidence.

The rows are a sample of independent rows. A promise fails where the cut it chose breaks the
requirement in the population; that happens in at most ``risk = 1 - guarantee`` of all samples.

**Rates of known denominator** (`most`, `fewest`). The negatives above the (k + 1)-th highest
negative are a share of at most Beta(k + 1, n - k) of all negatives, whatever their distribution,
ties included. The largest k with

    P(Binomial(n, fpr) <= k)  <=  risk

is known before any score is seen, so no correction is needed: the umbrella algorithm of Tong, Feng
& Li (2018). The bound of Clopper & Pearson (1934) at k is the one reported. Recall and the share of
all rows go alike.

**Precision** (`precise`). Of the m rows above a cut a binomial number is positive. The cuts are
tested in an order that m alone decides, from few rows to many, each by

    p(m) = P(Binomial(m, precision) >= tp)

against a part of the risk. Some cuts have a part of their own (`STARTS`). A cut that passes
hands its part on to the next, one that fails loses it: the fallback procedure of Wiens (2003), a
fixed sequence as in learn-then-test (Angelopoulos et al. 2021) with several starts. Let K rows lie
above the lowest cut that has the precision. Given K, the first cut tested below it is fixed. Above
it hits are binomial; if P(positive | score) is below the precision from there on, as it is where
higher scores mean positive, no cut below has more hits than a binomial has. So

    P(a cut without the precision passes)  <=  risk (its part and all before)  +  risk (the others)

which is the risk. docs/benchmarks/guarantees.md has simulations, also of scores that do not rise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, betaincinv

from everypair.rows import Array, Bool

STARTS = ((1.5, 0.3), (4.0, 0.5))
"""Cuts with a part of the risk of their own: how many times the fewest rows that could pass, if all
of them were positive, and which part. What is left starts again at four times the rows, and again,
half of the rest each time: scores whose top is spoilt by a few odd rows still get a cut."""

GROWTH_OF_TESTED_ROWS = 1.05
"""Each cut that is tested has this many times the rows of the one before, and one more at least."""


def most(n_rows: int, share: float, risk: float) -> int:
    """The largest k with ``P(Binomial(n, share) <= k) <= risk``; -1 where there is none."""
    return last(lambda k: _at_most(k, n_rows, share) <= risk, n_rows)


def fewest(n_rows: int, share: float, risk: float) -> int:
    """The smallest k with ``P(Binomial(n, share) >= k) <= risk``; n + 1 where there is none."""
    return n_rows - most(n_rows, 1 - share, risk)


def highest_share(k: int, n_rows: int, risk: float) -> float:
    """Upper bound of Clopper and Pearson of a share seen in k of n rows, one-sided."""
    return 1.0 if k >= n_rows else float(betaincinv(k + 1, n_rows - k, 1 - risk))


def lowest_share(k: int, n_rows: int, risk: float) -> float:
    """Lower bound of Clopper and Pearson of a share seen in k of n rows, one-sided."""
    return 1 - highest_share(n_rows - k, n_rows, risk)


Test = Callable[[int, float], float]
"""p of the cut of this number and of this precision."""


def binomial_test(above: Array, hits: Array) -> Test:
    """``P(Binomial(m, precision) >= tp)`` of the m rows above a cut."""

    def p(cut: int, precision: float) -> float:
        if hits[cut] == 0:
            return 1.0
        return float(betainc(hits[cut], above[cut] - hits[cut] + 1, precision))

    return p


def precise(
    above: Array, test: Test, precision: float, risk: float, rows_per_win: float = 1.0
) -> Bool:
    """Which cuts have the precision, with confidence ``1 - risk`` for all of them together.

    ``above`` counts the rows above each cut, ascending. A test that is not binomial may need
    ``rows_per_win`` times as many rows to pass.
    """
    passed = np.zeros(above.size, dtype=bool)
    sizes, parts = _sequence(int(above[-1]), precision, risk, rows_per_win)
    if sizes.size == 0:
        return passed
    # Ties: a number of rows that no cut has means the next cut that has more.
    cuts, which = np.unique(np.searchsorted(above, sizes), return_inverse=True)
    held = 0.0
    for cut, part in zip(cuts, np.bincount(which, parts), strict=True):
        held += part
        passed[cut] = held > 0 and test(int(cut), precision) <= held
        held = held if passed[cut] else 0.0
    return passed


def best_precision(above: Array, test: Test, risk: float, rows_per_win: float = 1.0) -> float:
    """The highest precision for which `precise` finds a cut, to three digits.

    The sizes depend on the precision, so that it may pass again a little above one that fails: a
    bisection, and then some steps up.
    """

    def passes(thousandths: int) -> bool:
        return bool(precise(above, test, thousandths / 1000, risk, rows_per_win).any())

    best = last(lambda k: passes(k + 1), 999) + 1
    while higher := next((k for k in range(best + 1, min(best + 6, 1000)) if passes(k)), 0):
        best = higher
    return best / 1000


def _sequence(
    n_rows: int, precision: float, risk: float, rows_per_win: float = 1.0
) -> tuple[Array, Array]:
    """How many rows the cuts have that are tested, ascending, and their parts of the risk."""
    fewest_rows = 0.0 if precision == 0 else np.inf
    if 0 < precision < 1:
        fewest_rows = rows_per_win * float(np.log(risk) / np.log(precision))
    if fewest_rows > n_rows:
        return np.empty(0), np.empty(0)
    size = max(1, int(np.ceil(max(fewest_rows, min(STARTS[0][0] * fewest_rows, n_rows / 4)))))
    sizes = []
    while size <= n_rows:
        sizes.append(size)
        size = max(size + 1, int(np.ceil(GROWTH_OF_TESTED_ROWS * size)))
    starts, left = list(STARTS), 1 - sum(part for _, part in STARTS)
    while starts[-1][0] * fewest_rows <= n_rows and len(starts) < 20:
        left /= 2
        starts.append((4 * starts[-1][0], left))
    parts = np.zeros(len(sizes))
    for times, part in starts:
        # In units of the first size, which is less than its start says where rows are few.
        place = np.searchsorted(sizes, times / STARTS[0][0] * sizes[0])
        if place < len(sizes):
            parts[place] += part
    return np.array(sizes, dtype=np.float64), risk * parts / parts.sum()


def _at_most(k: int, n_rows: int, share: float) -> float:
    """``P(Binomial(n, share) <= k)``."""
    return 1.0 if k >= n_rows else float(betainc(n_rows - k, k + 1, 1 - share))


def last(holds: Callable[[int], bool], stop: int) -> int:
    """The last of 0, ..., stop - 1 up to which it holds, by bisection; -1 where it never does."""
    low, high = -1, stop
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
