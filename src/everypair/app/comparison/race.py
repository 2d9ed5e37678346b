"""Method and settings chosen together: every candidate on the same folds, laggards dropped early.

The candidates run in three rounds: on a small sample, on the first of three folds, on the other
two. After a round only those go on that may still be the best. The folds that choose a setting
also say how well it ranks, so that nothing is searched inside the folds once more. Small tables do
without the sample.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.budget import Budget
from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.recommend import recommended
from everypair.app.comparison.search import (
    check_takes,
    convergence_warnings,
    inner_splits,
    sample_of,
    search_sample,
    take,
    threads_for,
    values_of_fold,
)
from everypair.app.comparison.yardstick import AREA, Yardstick
from everypair.app.wording import counted

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]
Key = tuple[tuple[str, Any], ...]
Rows = tuple[Any, Bool, Array | None, NDArray[Any] | None, Index | None]

SCREEN_ROWS = 1000
"""Rows of the first round. Tables of up to twice as many do without it."""


@dataclass(frozen=True)
class Choice:
    """The method and settings to fit, and what was measured on the way."""

    candidate: Candidate
    settings: dict[str, Any] | None  # None: to be searched on all rows
    fold_values: Mapping[str, Array]
    """AUC, or the measure (higher is better), of each candidate that went all the way, at its best
    settings."""
    by: Yardstick = AREA
    not_run: Sequence[str] = ()  # for want of time

    def sentences(self, budget: Budget) -> list[str]:
        """How the choice was made, for people."""
        falling = sorted(self.fold_values.items(), key=lambda pair: -pair[1].mean())
        listed = ", ".join(f"{name} {self.by.sign * of.mean():.3f}" for name, of in falling)
        n_folds = falling[0][1].size
        out = []
        if len(falling) > 1:
            out.append(
                f"{self.candidate.name} is the simplest model within one standard error of the "
                f"best. {self.by.label} over {counted(n_folds, 'fold')}: {listed}."
            )
        if self.not_run:
            names = ", ".join(self.not_run)
            out.append(f"not measured within the budget of {budget.seconds:g} s: {names}.")
        return out


@dataclass
class _Runner:
    """One candidate in the race."""

    candidate: Candidate
    by: Yardstick
    values: dict[Key, list[float]] = field(default_factory=dict)  # by settings, one for each fold
    scores: dict[Key, Array | None] = field(default_factory=dict)  # of the last fold
    seconds: float = 0.0  # of the last fold
    n_rows: int = 0  # that it had
    failure: Exception | None = None

    def run(self, rows: Rows, fold: Any, seed: int, anew: bool) -> None:
        """One fold more, or ``anew`` the first of other rows."""
        X, y, weight, groups, within = rows
        wanted = [dict(key) for key in self.values] if self.candidate.own is None else []
        began = time.perf_counter()
        try:
            check_takes(self.candidate, X)
            found = values_of_fold(
                self.candidate, X, y, weight, fold, wanted or None, seed, within, self.by, groups
            )
        except Exception as trouble:  # a failure of one candidate is that candidate's alone
            self.failure = trouble
            return
        self.seconds, self.n_rows = time.perf_counter() - began, y.size
        fresh = {tuple(one.settings.items()): one.value for one in found}
        self.scores = {tuple(one.settings.items()): one.scores for one in found}
        if anew or not self.values:
            common = {key: [value] for key, value in fresh.items()}
        else:  # a path may end earlier on one fold than on another
            common = {k: [*v, fresh[k]] for k, v in self.values.items() if k in fresh}
        if common:
            self.values = common
        else:
            self.failure = ValueError("no setting of it was measured on every fold.")

    def best(self) -> Key:
        return max(self.values, key=lambda key: float(np.mean(self.values[key])))

    @property
    def value(self) -> float:
        return float(np.mean(self.values[self.best()]))

    def error(self, y: Bool, weight: Array | None, within: Index | None) -> float:
        """The standard error of its value on these held-out rows."""
        return self.by.error(self.value, y, self.scores[self.best()], weight, within)

    def expected(self, n_rows: int) -> float:
        """Expected seconds of a fold with this many rows; zero before the first fold."""
        most = self.candidate.max_rows or n_rows
        return self.seconds * min(n_rows, most) / max(1, min(self.n_rows, most))


def choose(
    candidates: Sequence[Candidate],
    X: Any,
    y: Bool,
    weight: Array | None = None,
    groups: NDArray[Any] | None = None,
    seed: int = 0,
    budget: Budget | None = None,
    notify: Callable[[str], None] = lambda what: None,
    within: Index | None = None,
    by: Yardstick = AREA,
) -> Choice:
    """The candidate and the settings to fit, by the rule of `recommended` on three folds.

    Above `SEARCH_ROWS` rows a sample of them is looked at. With ``within`` the AUC is that inside
    its groups.
    """
    race = _Race([_Runner(c, by) for c in candidates], budget or Budget(), seed, notify)
    n_all = y.size
    X, y, weight, groups, within = search_sample(X, y, weight, groups, seed, within)
    with convergence_warnings(), threads_for(X):  # what does not converge is judged all the same
        large = y.size > 2 * SCREEN_ROWS and len(race.alive) > 1
        folds = inner_splits(y, groups, seed)
        if large:
            drawn, fold = _sample_of(folds[0], X, y, weight, groups, seed, within)
            race.round("sample", drawn, fold, anew=True)
            race.drop(drawn, fold, errors=1, of_a_form=2)
        for k, fold in enumerate(folds):
            if k > 0 and (race.decided or not race.has_time_for(y.size)):
                break
            rows = X, y, weight, groups, within
            race.round(f"fold {k + 1} of {len(folds)}", rows, fold, anew=k == 0)
            if k == 0:
                race.drop(rows, fold, errors=0.5 if large else 1.0, of_a_form=1 if large else 2)
    found = {r.candidate.name: np.array(r.values[r.best()]) for r in race.alive}
    name = recommended(found)
    runner = next(r for r in race.alive if r.candidate.name == name)
    own = runner.candidate.own
    whole = own is None or (own.one_setting and n_all == y.size and by is AREA)
    settings = dict(runner.best()) if whole else None
    return Choice(runner.candidate, settings, found, by, race.not_run)


def _sample_of(
    fold: tuple[Index, Index],
    X: Any,
    y: Bool,
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
    within: Index | None = None,
) -> tuple[Rows, tuple[Index, Index]]:
    """`SCREEN_ROWS` rows of a fold, each on its side: groups stay apart, and classes are there."""
    train, test = (
        rows[
            sample_of(
                y[rows], share * SCREEN_ROWS // 3, seed, None if within is None else within[rows]
            )
        ]
        for rows, share in zip(fold, (2, 1), strict=True)
    )
    both = np.concatenate([train, test])
    drawn = take(both, X, y, weight, groups)
    at = np.arange(both.size)
    in_groups = None if within is None else within[both]
    return (*drawn, in_groups), (at[: train.size], at[train.size :])


@dataclass
class _Race:
    alive: list[_Runner]
    budget: Budget
    seed: int
    notify: Callable[[str], None]
    not_run: list[str] = field(default_factory=list)

    def round(self, what: str, rows: Rows, fold: Any, anew: bool) -> None:
        """Who is in the race runs one fold more; who has no time for it stays out."""
        ran: list[_Runner] = []
        late: list[_Runner] = []
        for runner in self.alive:
            # After the first there is something to fit, which takes about a fold's time.
            begun = ran or runner.values
            if begun and not self.budget.fits(2 * runner.expected(rows[1].size)):
                late.append(runner)
                continue
            self.notify(f"{what}, {runner.candidate.name}")
            runner.run(rows, fold, self.seed, anew)
            if runner.failure is None:
                ran.append(runner)
        if ran:
            self.not_run += [runner.candidate.name for runner in late]
        elif not late:
            raise next(r.failure for r in self.alive if r.failure is not None)
        self.alive = ran or late  # of these, what was measured before

    @property
    def decided(self) -> bool:
        """Is one candidate with one setting left?"""
        return len(self.alive) == 1 and len(self.alive[0].values) == 1

    def has_time_for(self, n_rows: int) -> bool:
        each = [runner.expected(n_rows) for runner in self.alive]
        return self.budget.fits(sum(each) + max(each))

    def drop(self, rows: Rows, fold: Any, errors: float, of_a_form: int) -> None:
        """Drop all but the best ``of_a_form`` of each form, and what is ``errors`` standard errors
        behind.

        That goes for the settings of a candidate as well, except on a path, which is walked whole
        and may end before the best of them on another fold. The standard error is that of the best
        value. Two AUCs of the same rows vary together: their difference has a smaller one.
        """
        _, y, weight, _, within = rows
        test = fold[1]
        held_out = (
            y[test],
            None if weight is None else weight[test],
            None if within is None else within[test],
        )
        falling = sorted(self.alive, key=lambda runner: -runner.value)
        least = falling[0].value - errors * falling[0].error(*held_out)
        count: Counter[str] = Counter()
        kept = []
        for runner in falling:
            count[runner.candidate.form] += 1
            if runner.value >= least and count[runner.candidate.form] <= of_a_form:
                if runner.candidate.own is None:
                    runner.values = {k: v for k, v in runner.values.items() if np.mean(v) >= least}
                kept.append(runner)
        self.alive = [runner for runner in self.alive if runner in kept]
