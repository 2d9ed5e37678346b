"""How `MeasureOptCV` may choose and guard its climbs: gains of each way on the tasks chosen on.

    python -m lab bench measure_opt_choices [--splits 2] [--tasks "letter H" ...] [--only degrees]

Every climb of every way runs on the folds and on all rows once. A way is then only a choice among
them by held-out rows; its gain is that on other rows, beside the logistic regression that the
search starts from. No task but those of `measure_opt.CHOSEN_ON` may be looked at here.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from everypair.estimators._climb_problem import ClimbProblem
from everypair.estimators._held_out import FEWER_DRAWS, HeldOut
from everypair.estimators.measure_opt_cv import DECIDING_ROWS, PENALTIES
from everypair.linalg.matrix import as_matrix
from everypair.measures.operating import operating_measure
from everypair.rows import Rows
from lab.benchmarks.measure_opt import CHOSEN_ON, MEASURES, MOST_ROWS, TARGETS
from lab.benchmarks.rankopt_splits import prepared
from lab.data.tasks import task
from lab.harness import markdown_table

Key = tuple[tuple[float, ...], float]
"""A series of radii, and its share in a mean with the start; above 1, the degrees from the start to
which a climb that ended farther is drawn back."""

CLIMBS = (
    (0.2,), (0.35,), (0.5,), (0.7,), (0.9,), (0.98,),
    (0.35, 0.7), (0.35, 0.8), (0.35, 0.9), (0.35, 0.8, 0.9), (0.5, 0.9), (0.2, 0.8),
    (0.5, 0.8), (0.2, 0.5, 0.8),
)  # fmt: skip
"""Series of radii: of several, each is climbed from where the last one ended."""

SHARES = (1.0, 0.75, 0.5, 15.0, 30.0)
"""Of the climb's direction in a mean with the start's, and degrees, as in `Key`."""

STEPS, TOL = 200, 1e-2
START: Key = ((), 0.0)
APART = ((0.5,), (0.7,), (0.9,))
LED = ((0.35,), (0.35, 0.8), (0.35, 0.8, 0.9))


class Way(NamedTuple):
    """Which climbs, by what they are told apart, and the guard in standard errors."""

    climbs: tuple[tuple[float, ...], ...] = (*LED, (0.9,))
    nearby: bool = True
    guard: float = 0.5
    shares: tuple[float, ...] = (1.0,)
    """Means of the start's and a climb's direction that are candidates."""
    bagged: bool = False
    """Whether the model is the mean direction of all climbs, of folds and of all rows."""
    mean: bool = False
    """Whether the mean of the climbs, each over the spread of its scores, is the one candidate."""
    oracle: str = ""
    """Which test rows choose, start included: "all" of them, which judge it as well, or one
    "half", and the other half judges. No search knows them."""


WAYS = {
    ".35, .8 and .9 led by it, .9 alone; 0.5 errors (kept)": Way(),
    "each from the start: .5 .7 .9": Way(APART),
    ".35, .8 and .9 led by it": Way(LED),
    ".35, .7 and .9 led by .35": Way(((0.35,), (0.35, 0.7), (0.35, 0.9))),
    ".5, .9 led by it": Way(((0.5,), (0.5, 0.9))),
    "each from the start: .35 .5 .7 .9": Way(((0.35,), *APART)),
    "each from the start: .7 .9 .98": Way(((0.7,), (0.9,), (0.98,))),
    "kept, no guard": Way(guard=0.0),
    "kept, 1 error": Way(guard=1.0),
    "kept, the quota alone": Way(nearby=False),
    "kept, and three quarters of the way from the start": Way(shares=(1.0, 0.75)),
    "kept, and halfway": Way(shares=(1.0, 0.5)),
    "kept, at most 15 degrees from the start": Way(shares=(15.0,)),
    "kept, at most 30 degrees from the start": Way(shares=(30.0,)),
    "kept, means of the folds' climbs": Way(bagged=True),
    "kept, chosen by the test rows that judge it": Way(oracle="all"),
    "kept, chosen by one half of the test rows, judged by the other": Way(oracle="half"),
    "the mean of the kept climbs": Way(mean=True),
    "the same, no guard": Way(mean=True, guard=0.0),
    ".2 > .5 > .8, and .9 alone": Way(((0.2, 0.5, 0.8), (0.9,))),
    "the mean of these two": Way(((0.2, 0.5, 0.8), (0.9,)), mean=True),
    ".2 > .5 > .8, .5 > .8, and .9 alone": Way(((0.2, 0.5, 0.8), (0.5, 0.8), (0.9,))),
    "of all climbs, chosen by the test rows that judge it": Way(CLIMBS, oracle="all"),
    "of all climbs, chosen by one half, judged by the other": Way(CLIMBS, oracle="half"),
    **{
        f"always {' > '.join(f'{r:g}' for r in climb)}": Way((climb,), guard=-np.inf)
        for climb in CLIMBS
    },
}


@dataclass
class Cell:
    """All candidates of a split: held-out scores, and values of the test rows."""

    enough: bool
    """Rows at the cut for a climb."""
    held: dict[Key, HeldOut] = field(default_factory=dict)
    on_all: dict[Key, float] = field(default_factory=dict)
    bagged: dict[Key, float] = field(default_factory=dict)
    tested: dict[Key, Any] = field(default_factory=dict)
    """Scores of the test rows."""
    spread: dict[Key, float] = field(default_factory=dict)
    """Of the scores of the training rows."""
    positive: Any = None
    """Of the test rows."""

    def add_mean(self, climbs: tuple[tuple[float, ...], ...]) -> Key:
        """The mean of climbs as one candidate."""
        held = [self.held[climb, 1.0] for climb in climbs]
        scores = np.mean([one.scores / np.std(one.scores) for one in held], axis=0)
        key: Key = (sum(climbs, ()), 1.0)
        self.held[key] = replace(held[0], scores=scores)
        tested = [self.tested[climb, 1.0] / self.spread[climb, 1.0] for climb in climbs]
        self.tested[key] = np.mean(tested, axis=0)
        self.on_all[key] = self.on(key, np.arange(self.positive.size))
        return key

    def on(self, key: Key, rows: Any) -> float:
        """The value of these test rows, at the cut of the held-out scores."""
        held = self.held[key]
        cut = held.measure.best_cut(Rows.of(held.positive), held.scores)
        return held.measure.value(Rows.of(self.positive[rows]), self.tested[key][rows], cut)

    def by_oracle(self, keys: list[Key], by_half: bool) -> float:
        rows = np.random.default_rng(0).permutation(self.positive.size)
        choosing = np.array_split(rows, 2) if by_half else [rows]
        gains = []
        for judging, chooses in zip(choosing[::-1], choosing, strict=True):
            best = max(keys, key=lambda key: self.on(key, chooses))
            gains.append(self.on(best, judging) - self.on(START, judging))
        return float(np.mean(gains))

    def gain(self, way: Way) -> float:
        if not self.enough:
            return 0.0
        keys = [(climb, share) for climb in way.climbs for share in way.shares]
        if way.oracle:
            return self.by_oracle([START, *keys], way.oracle == "half")
        if way.mean:
            keys = [self.add_mean(way.climbs)]
        measure = self.held[START].measure
        by = measure.nearby() if way.nearby else measure
        start, others = self.held[START].by(by), {key: self.held[key].by(by) for key in keys}
        values = {key: held.value() for key, held in others.items()}
        best = max(values, key=values.__getitem__)
        drawn = start.draws(start.prepared, others[best].prepared, n_draws=FEWER_DRAWS)
        if not values[best] - start.value() > way.guard * np.std(drawn[1] - drawn[0]):
            return 0.0
        return (self.bagged if way.bagged else self.on_all)[best] - self.on_all[START]


def unit(direction: Any) -> Any:
    return direction / max(float(np.linalg.norm(direction)), 1e-300)


def parts_of(end: Any, start: Any, share: float) -> tuple[float, float]:
    """How much of the end and of the start, unit directions, is in their mean or drawn back."""
    if share <= 1:
        return share, 1 - share
    cosine, most = float(np.clip(end @ start, -1.0, 1.0)), np.deg2rad(share)
    if np.arccos(cosine) <= most:
        return 1.0, 0.0
    of_end = np.sin(most) / np.sqrt(1 - cosine**2)
    return float(of_end), float(np.cos(most) - of_end * cosine)


def cell_of(X: Any, y: Any, train: Any, test: Any, label: str, climbs: Any = CLIMBS) -> Cell:
    A, B = (part if sparse.issparse(part) else np.ascontiguousarray(part)
            for part in prepared(X, train, test))  # fmt: skip
    own, rows = y[train], Rows.of(y[test])
    name, options = MEASURES[label]
    measure = operating_measure(name, Rows.of(own), **options)
    folds = list(StratifiedKFold(5).split(np.zeros(own.size), own))
    problem, fresh = ClimbProblem.of(as_matrix(A), own, None, measure), as_matrix(B)
    parts = [problem.without(rows_out) for _, rows_out in folds]
    alphas = PENALTIES / problem.total
    starts = [part.starts(alphas, STEPS, TOL) for part in (*parts, problem)]

    def held_out(scores: list[Any]) -> HeldOut:
        out = np.zeros(own.size)
        for (_, rows_out), of_fold in zip(folds, scores, strict=True):
            out[rows_out] = of_fold[rows_out]
        return HeldOut(measure, own, np.ones(own.size), folds, out)

    def fresh_scores(direction: Any) -> Any:
        coef = problem.sphere.scale * direction
        return fresh.dot(coef) - float(problem.centre @ coef)

    def on_test(direction: Any, held: HeldOut) -> float:
        cut = measure.best_cut(Rows.of(own), held.scores)
        return measure.value(rows, fresh_scores(direction), cut)

    of_starts = [held_out([each[a].scores + each[a].intercept for each in starts[:-1]])
                 for a in range(alphas.size)]  # fmt: skip
    best = int(np.argmax([held.value() for held in of_starts]))
    chosen = [each[best] for each in starts]
    enough = measure.deciding_rows(int(own.sum()), int((~own).sum())) >= DECIDING_ROWS
    cell = Cell(enough and all(np.any(start.coef) for start in chosen), positive=y[test])
    cell.held[START] = of_starts[best]
    cell.tested[START] = fresh_scores(chosen[-1].coef) + chosen[-1].intercept
    cell.on_all[START] = cell.on(START, np.arange(test.size))
    if not cell.enough:
        return cell
    found: dict[tuple[float, ...], list[Any]] = {(): chosen}
    for climb in climbs:
        for n in range(1, len(climb) + 1):
            if climb[:n] in found:
                continue
            steps = [
                part.climbs(begin, climb[n - 1 : n], STEPS, TOL)
                for part, begin in zip((*parts, problem), found[climb[: n - 1]], strict=True)
            ]
            found[climb[:n]] = [
                replace(start, coef=step[0].climb.direction, scores=step[0].climb.scores)
                for start, step in zip(chosen, steps, strict=True)
            ]
    begins = [(unit(start.coef), start.scores / np.linalg.norm(start.coef)) for start in chosen]
    for climb in climbs:
        for share in SHARES:
            mixed, scores = [], []
            for end, (direction, of_start) in zip(found[climb], begins, strict=True):
                of_end, rest = parts_of(end.coef, direction, share)
                mixed.append(of_end * end.coef + rest * direction)
                scores.append(of_end * end.scores + rest * of_start)
            held = held_out(scores[:-1])
            cell.held[climb, share] = held
            cell.tested[climb, share] = fresh_scores(mixed[-1])
            cell.spread[climb, share] = float(np.std(problem.sphere.scores(mixed[-1])))
            cell.on_all[climb, share] = cell.on((climb, share), np.arange(test.size))
            size = float(np.mean([np.linalg.norm(one) for one in mixed]))
            cell.bagged[climb, share] = on_test(unit(np.mean(mixed, axis=0)) * size, held)
    return cell


def other_splits(y: Any, n_splits: int) -> list[Any]:
    """Not those of the benchmark."""
    n_train = min(MOST_ROWS, 2 * y.size // 3)
    n_test = min(y.size - n_train, 20_000 if y.size > 60_000 else n_train // 2)
    split = StratifiedShuffleSplit(10, train_size=n_train, test_size=n_test, random_state=7)
    return list(split.split(np.zeros(y.size), y))[:n_splits]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", nargs="*", default=list(CHOSEN_ON))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--only", default="", help="ways with this text, beside the kept one")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = {title: way for title, way in WAYS.items() if options.only in title or way == Way()}
    climbs = tuple({climb: None for way in ways.values() for climb in way.climbs})
    gains: dict[tuple[str, str], list[Any]] = {}
    with threadpool_limits(1):
        for name in options.tasks:
            if name not in CHOSEN_ON:
                raise ValueError(f"{name!r} is not among the tasks to choose on.")
            found = task(name)
            for label in TARGETS:
                cells = [
                    cell_of(found.X, found.positive, *split, label, climbs)
                    for split in other_splits(found.positive, options.splits)
                ]
                for title, way in ways.items():
                    mean = float(np.mean([cell.gain(way) for cell in cells]))
                    gains.setdefault((title, label), []).append(mean)
            print(name, flush=True)
    lines = []
    for title in ways:
        line = [title]
        for label in TARGETS:
            each = np.array(gains[title, label])
            line += [f"{each.mean():+.4f}", f"{each.min():+.3f}"]
        lines.append(line)
    print(markdown_table(["way", "F1", "lowest", "recall at 1 % FPR", "lowest"], lines))


if __name__ == "__main__":
    main()
