"""What each model has done so far: its scores of every split, its time, its failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.all_rows import BLOCKWISE, FoldFits
from everypair.app.comparison.budget import Plan
from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.directions import Directions
from everypair.app.comparison.search import Fitted, fit_candidate
from everypair.app.comparison.yardstick import AREA, Yardstick
from everypair.app.encode import encoder_for
from everypair.app.explain.column_features import blocks_of
from everypair.app.explain.worth import Permuted
from everypair.app.tables import take_rows
from everypair.checks import finite_scores

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass
class Tally:
    """What one model has done so far."""

    scores: list[Array]  # standardised, a list for each repeat
    seen: list[Array]  # by the model of the next fold, which trained on the row
    called: Bool  # in the first repeat, by the model of the row's fold
    seconds: list[float] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failure: str | None = None
    permuted: Permuted | None = None  # what columns are worth, where that is asked for

    @classmethod
    def of(cls, n_rows: int, n_repeats: int, seed: int | None) -> Tally:
        """Nothing yet; with a seed, columns are permuted."""
        unknown = [np.full(n_rows, np.nan) for _ in range(2 * n_repeats)]
        none = np.zeros(n_rows, dtype=bool)
        permuted = None if seed is None else Permuted(seed)
        return cls(unknown[:n_repeats], unknown[n_repeats:], none, permuted=permuted)


def run_split(
    candidates: Sequence[Candidate],
    plan: Plan,
    tallies: Mapping[str, Tally],
    X: Any,
    y: Bool,
    weight: Array | None,
    group: NDArray[Any] | None,
    within: NDArray[np.intp] | None,
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    before: NDArray[np.intp],
    repeat: int,
    seed: int,
    notify: Callable[[str], None],
    directions: Directions,
    by: Yardstick = AREA,
    fits: FoldFits | None = None,
    number: int = 0,
) -> None:
    """Every model on one split; it also scores the fold ``before``, which it trained on.

    ``fits``: the models that are fitted block by block on all rows of a table that X is a sample
    of; ``number``: of the split among its repeat's.
    """
    train, test = split
    X_train = take_rows(X, train)
    encoder = encoder_for(X).fit(X_train) if fits is None else fits.rows.encoder
    encoded, held_out = encoder.transform(X_train), encoder.transform(take_rows(X, test))
    weight_train = None if weight is None else weight[train]
    trained_before = encoded[np.searchsorted(train, before)]
    group_train = None if group is None else group[train]
    for candidate in [directions.onto(candidate, encoder) for candidate in candidates]:
        tally = tallies[candidate.name]
        notify(candidate.name)
        if tally.failure is not None or not plan.may_start(candidate.name):
            continue
        began = time.perf_counter()
        try:
            if fits is not None and candidate.name in BLOCKWISE:
                fitted, seconds = fits.of(candidate, repeat, number)
            else:
                fitted = fit_candidate(
                    candidate, encoded, y[train], weight_train, group_train, seed,
                    within=None if within is None else within[train], by=by,
                )  # fmt: skip
                seconds = time.perf_counter() - began
            tally.seconds.append(seconds)
            scores = finite_scores(fitted.scores(held_out), test.size)
            tally.scores[repeat][test] = fitted.standardised(scores)
            tally.seen[repeat][before] = fitted.standardised(fitted.scores(trained_before))
            tally.remarks += fitted.remarks
            if repeat == 0:
                tally.called[test] = scores > 0
            if repeat == 0 and tally.permuted is not None:
                tally.permuted.add(
                    blocks_of(encoder), fitted.standard_scores, fitted.standard_coef, held_out,
                    y[test], None if weight is None else weight[test],
                )  # fmt: skip
        except Exception as trouble:  # any failure of one model is that model's alone
            tally.failure = _sentence(trouble)


def refit(
    candidate: Candidate,
    tally: Tally,
    X: Any,
    y: Bool,
    weight: Array | None,
    group: NDArray[Any] | None,
    within: NDArray[np.intp] | None,
    seed: int,
    by: Yardstick = AREA,
    fits: FoldFits | None = None,
) -> Fitted | None:
    """The model of all rows; None where one of its fits has failed."""
    if tally.failure is not None:
        return None
    try:
        if fits is not None and candidate.name in BLOCKWISE:
            return fits.final(candidate)
        return fit_candidate(candidate, X, y, weight, group, seed, within=within, by=by)
    except Exception as trouble:
        tally.failure = _sentence(trouble)
        return None


def _sentence(trouble: Exception) -> str:
    text = " ".join(str(trouble).split()) or type(trouble).__name__
    return text[:300]
