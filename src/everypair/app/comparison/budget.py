"""Seconds that may be spent: work that will not fit is not begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence


class Budget:
    """Counts from when it is made; None is without bound.

    >>> from everypair.app.comparison.budget import Budget
    >>> Budget(None).fits(1e9), Budget(10).fits(11), Budget(10).fits(1)
    (True, False, True)
    """

    def __init__(
        self, seconds: float | None = None, clock: Callable[[], float] = time.perf_counter
    ):
        self.seconds, self._clock = seconds, clock
        self._began = clock()

    @property
    def spent(self) -> float:
        return self._clock() - self._began

    def fits(self, expected: float) -> bool:
        """Would work that takes this many seconds end in time?"""
        return self.seconds is None or self.spent + expected <= self.seconds


class Plan:
    """Which models and repeats of a comparison there is time for, by the seconds seen so far.

    Parameters
    ----------
    budget : Budget
    seconds : mapping from a model's name to the seconds of its folds, which grow as it runs
    n_folds : int
    """

    def __init__(self, budget: Budget, seconds: Mapping[str, Sequence[float]], n_folds: int):
        self._budget, self._seconds, self._n_folds = budget, seconds, n_folds
        self._folds_done = 0
        self.not_run: list[str] = []

    def _to_come(self, folds_done: int) -> dict[str, float]:
        """Expected seconds of each model: its folds of this repeat, and the fit on all rows."""
        n_fits = self._n_folds - folds_done + 1
        return {
            name: n_fits * max(seen)
            for name, seen in self._seconds.items()
            if seen and name not in self.not_run
        }

    def has_time_for_repeat(self, repeat: int) -> bool:
        """All models or none: those that have some of the folds alone cannot be compared."""
        return repeat == 0 or self._budget.fits(sum(self._to_come(0).values()))

    def begin_fold(self, repeat: int, folds_done: int) -> None:
        """In the first repeat, leave out the slowest models until the others will end in time."""
        self._folds_done = folds_done
        if repeat == 0:
            self._leave_out_the_slowest()

    def may_start(self, name: str) -> bool:
        """Has this model time to begin? It has where the models begun leave some."""
        if not self._seconds[name] and name not in self.not_run and self._to_come(0):
            self._leave_out_the_slowest()
            if not self._budget.fits(sum(self._to_come(self._folds_done).values())):
                self.not_run.append(name)
        return name not in self.not_run

    def _leave_out_the_slowest(self) -> None:
        left = self._to_come(self._folds_done)
        for name in sorted(left, key=left.__getitem__, reverse=True):
            if len(left) == 1 or self._budget.fits(sum(left.values())):
                break
            del left[name]
            self.not_run.append(name)

    def notes(self, n_repeats: int, wanted: int) -> list[str]:
        """What was left out, in sentences."""
        out = []
        if self.not_run:
            out.append(
                f"not run within the budget of {self._budget.seconds:g} s: "
                f"{', '.join(self.not_run)}."
            )
        if n_repeats < wanted:
            out.append(
                f"the budget of {self._budget.seconds:g} s had time for {n_repeats} of {wanted} "
                "repeats of the folds."
            )
        return out
