"""Resampled areas: rows drawn again within their class, or whole groups of rows.

A ranking is sorted once; a replicate only counts how often each row was drawn and adds the
counts up along the sorted levels, O(n) each.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from everypair.metrics.curve import area_between, mcclish
from everypair.metrics.placements import bessel
from everypair.rows import Array, Index, Rows


class Resampled:
    """Replicates of several rankings of the same rows: the same rows drawn for each."""

    def __init__(self, rows: Rows, rankings: list[Array], groups: Index | None = None):
        self.rows, self.groups = rows, groups
        self.members = (np.flatnonzero(rows.positive), np.flatnonzero(~rows.positive))
        for members, name in zip(self.members, ("positive", "negative"), strict=True):
            # One unit drawn again is itself: its class would seem to have no spread.
            if groups is None:
                bessel(members.size, f"{name} row")
            else:
                bessel(np.unique(groups[members]).size, f"group with {name}s")
        # np.unique ascends; negated, level 0 is the highest score.
        self.levels = [np.unique(-scores, return_inverse=True)[1] for scores in rankings]

    def draws(self, n_bootstrap: int, random_state: Any) -> Iterator[tuple[Array, Array]]:
        """How often each positive and each negative was drawn, times its weight."""
        if not isinstance(n_bootstrap, Integral) or n_bootstrap < 2:
            raise ValueError(f"n_bootstrap={n_bootstrap!r}: use a whole number of at least 2.")
        random = check_random_state(random_state)
        weight = self.rows.weight
        done = 0
        while done < n_bootstrap:
            if self.groups is None:
                times = [self._within(random, m) for m in self.members]
            else:
                n_groups = int(self.groups.max()) + 1
                drawn = np.bincount(random.randint(n_groups, size=n_groups), minlength=n_groups)
                times = [drawn[self.groups[m]].astype(float) for m in self.members]
            if weight is not None:
                times = [t * weight[m] for t, m in zip(times, self.members, strict=True)]
            if not (times[0].any() and times[1].any()):
                continue  # groups of one class only: no area to compute
            done += 1
            yield times[0], times[1]

    @staticmethod
    def _within(random: Any, members: Index) -> Array:
        n = members.size
        return np.bincount(random.randint(n, size=n), minlength=n).astype(float)

    def curve(self, ranking: int, draw: tuple[Array, Array]) -> tuple[Array, Array]:
        """``fpr, tpr`` of one replicate of one ranking."""
        levels = self.levels[ranking]
        n_levels = int(levels.max()) + 1
        rates = []
        for times, members in zip(draw, self.members, strict=True):
            at_level = np.bincount(levels[members], weights=times, minlength=n_levels)
            reached = np.concatenate([[0.0], np.cumsum(at_level)])
            rates.append(reached / reached[-1])
        return rates[1], rates[0]

    def areas(
        self, n_bootstrap: int, random_state: Any, low: float, high: float, standardize: bool
    ) -> Array:
        """One row a replicate, one column a ranking."""
        out = np.empty((n_bootstrap, len(self.levels)))
        for b, draw in enumerate(self.draws(n_bootstrap, random_state)):
            for k in range(len(self.levels)):
                part = area_between(*self.curve(k, draw), low, high)
                out[b, k] = mcclish(part, low, high) if standardize else part
        return out
