"""Cuts at which a requirement holds with a given confidence where rows come in groups.

The groups (patients, users, days) are a sample of independent groups; rows inside a group may
depend on each other in any way. Each group counts the same, however many rows it has: the
requirement is about the mean over groups of the share r_g inside a group. For ``fpr``, ``recall``
and ``top`` that is the share of the group's negatives, positives, rows above the cut, among groups
that have some; for ``precision`` the share of positives among its rows above the cut, for ``npv``
of negatives among those below it, among groups that have rows there.

At a cut t a group wins ``w_g = r_g - asked``, or ``asked - r_g`` for ``fpr`` and ``top``, and the
requirement holds where E w >= 0. A gambler who bets on it, and stakes the same share of the capital
on each group, has

    K(t) = mean_b  prod_g (1 + b w_g / c) ,      w_g >= -c ,   b in `STAKES` .

Where the requirement fails the factors are independent with means of at most one, so that K(t)
reaches 1 / risk with a probability of at most the risk (Markov's inequality; Waudby-Smith & Ramdas
2024). No distribution is assumed, and no effective size is estimated.

For ``fpr``, ``recall`` and ``top`` K(t) is monotone in t: a cut that is chosen and breaks the
requirement has K >= 1 / risk at the boundary, a point that does not depend on the sample. The
promise is exact. For ``precision`` and ``npv`` the cuts are tested in the order of `guarantees`,
with 1 / K(t) in place of the binomial p. These cuts depend on the sample:
docs/benchmarks/guarantees.md has simulations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.rows import Array, Bool, Index

AT_MOST = ("fpr", "top")
STAKES = np.array([0.9, 0.5, 0.25, 0.12, 0.06])
"""Shares of the capital that are staked, as shares of what one group could lose. Few: each one is
paid for in the mean."""

GROUPS_PER_WIN = 1.7
"""About how many groups a bet needs where a binomial test needs one row, if all rows are hits."""


@dataclass(frozen=True)
class ScoredGroups:
    """The group of each row, numbered from 0, with the score and the class of the row."""

    codes: Index
    scores: Array
    positive: Bool

    @property
    def mean_size(self) -> float:
        return self.codes.size / (int(self.codes.max()) + 1)

    def shares_at(self, cut: float, requirement: str) -> Array:
        """The rate that is required, in each group that has rows for it."""
        above = self.scores > cut
        among, hit = {
            "fpr": (~self.positive, above),
            "recall": (self.positive, above),
            "top": (np.ones_like(above), above),
            "precision": (above, self.positive),
            "npv": (~above, ~self.positive),
        }[requirement]
        return self.shares(among, hit)

    def evidence(self, cut: float, requirement: str, asked: float) -> float:
        """K of this cut."""
        shares = self.shares_at(cut, requirement)
        if requirement in AT_MOST:
            return capital(asked - shares, 1 - asked)
        return capital(shares - asked, asked)

    def shares(self, among: Bool, hit: Bool) -> Array:
        """The share of hits among such rows, for each group that has any."""
        n_rows = np.bincount(self.codes[among])
        n_hits = np.bincount(self.codes[among & hit], minlength=n_rows.size)
        return n_hits[n_rows > 0] / n_rows[n_rows > 0]


def capital(wins: Array, worst: float) -> float:
    """K of these wins, none of which is below ``-worst``; infinite where nothing can be lost."""
    if worst <= 0:
        return np.inf
    with np.errstate(over="ignore"):
        logs = np.log1p(np.outer(STAKES, wins / worst)).sum(axis=1)
        return float(np.exp(logs).mean())


def best_share(n_groups: int, risk: float, at_least: bool) -> float:
    """The highest (or lowest) share that groups without a single loss can prove."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2  # how far from perfect
        known = capital(np.full(n_groups, middle), 1 - middle) * risk >= 1
        low, high = (low, middle) if known else (middle, high)
    return 1 - high if at_least else high
