"""How `MeasureOptCV` may choose and guard its climbs: gains of each way on the tasks chosen on.

    python -m lab bench measure_opt_choices [--splits 2] [--tasks "letter H" ...]

Every climb of every way runs on the folds and on all rows once. A way is then only a choice among
them by held-out rows; its gain is that on other rows, beside the logistic regression that the
search starts from. No task but those of `measure_opt.CHOSEN_ON` may be looked at here.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from everypair.estimators._held_out import FEWER_DRAWS, HeldOut
from everypair.estimators.measure_opt import _Problem
from everypair.estimators.measure_opt_cv import DECIDING_ROWS, PENALTIES
from everypair.linalg.matrix import as_matrix
from everypair.measures.operating import operating_measure
from everypair.rows import Rows
from lab.benchmarks.measure_opt import CHOSEN_ON, MEASURES, MOST_ROWS, TARGETS
from lab.benchmarks.rankopt_splits import cuts, prepared
from lab.data.tasks import task
from lab.harness import markdown_table

APART = (0.5, 0.7, 0.9, 0.98)
SERIES = (0.5, 0.9, 0.98)
STEPS, TOL = 200, 1e-2
START = ("start", 0.0)
Key = tuple[Any, ...]


class Way(NamedTuple):
    """Which climbs, by what they are told apart, and the guard in standard errors."""

    kind: str = "apart"
    radii: tuple[float, ...] = (0.5, 0.7, 0.9)
    nearby: bool = True
    guard: float = 0.5
    halfway: bool = False
    """Whether means of the start's and a climb's direction are candidates as well."""
    bagged: bool = False
    """Whether the model is the mean direction of the folds' climbs, not a climb on all rows."""


WAYS = {
    "each radius from the start, .5 .7 .9; quotas nearby; 0.5 errors": Way(),
    "no guard": Way(guard=0.0),
    "1 error": Way(guard=1.0),
    "1.5 errors": Way(guard=1.5),
    "the quota alone": Way(nearby=False),
    "radii .7 .9 .98": Way(radii=(0.7, 0.9, 0.98)),
    "a series .5 .9 .98, each from the last": Way("series", SERIES),
    "the same by the quota alone": Way("series", SERIES, nearby=False),
    "means of the folds' climbs": Way(bagged=True),
    "and halfway to the start": Way(halfway=True),
    "always .7": Way(radii=(0.7,), guard=-np.inf),
    "always .9": Way(radii=(0.9,), guard=-np.inf),
}


@dataclass
class Cell:
    """All candidates of a split: held-out scores, and values of the test rows."""

    enough: bool
    """Rows at the cut for a climb."""
    held: dict[Key, HeldOut] = field(default_factory=dict)
    on_all: dict[Key, float] = field(default_factory=dict)
    bagged: dict[Key, float] = field(default_factory=dict)

    def gain(self, way: Way) -> float:
        if not self.enough:
            return 0.0
        keys = [(way.kind, r) for r in way.radii]
        keys += [(*key, "halfway") for key in keys] if way.halfway else []
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


def cell_of(X: Any, y: Any, train: Any, test: Any, label: str) -> Cell:
    A, B = (part if sparse.issparse(part) else np.ascontiguousarray(part)
            for part in prepared(X, train, test))  # fmt: skip
    own, rows = y[train], Rows.of(y[test])
    name, options = MEASURES[label]
    measure = operating_measure(name, Rows.of(own), **options)
    folds = list(StratifiedKFold(5).split(np.zeros(own.size), own))
    problem, fresh = _Problem.of(as_matrix(A), own, None, measure), as_matrix(B)
    parts = [problem.without(rows_out) for _, rows_out in folds]
    alphas = PENALTIES / problem.total
    starts = [part.starts(alphas, STEPS, TOL) for part in (*parts, problem)]

    def held_out(scores: list[Any]) -> HeldOut:
        out = np.zeros(own.size)
        for (_, rows_out), of_fold in zip(folds, scores, strict=True):
            out[rows_out] = of_fold[rows_out]
        return HeldOut(measure, own, np.ones(own.size), folds, out)

    def on_test(direction: Any, held: HeldOut, shift: float = 0.0) -> float:
        coef = problem.sphere.scale * direction
        scores = fresh.dot(coef) - float(problem.centre @ coef) + shift
        return measure.value(rows, scores, measure.best_cut(Rows.of(own), held.scores))

    of_starts = [held_out([each[a].scores + each[a].intercept for each in starts[:-1]])
                 for a in range(alphas.size)]  # fmt: skip
    best = int(np.argmax([held.value() for held in of_starts]))
    chosen = [each[best] for each in starts]
    enough = measure.deciding_rows(int(own.sum()), int((~own).sum())) >= DECIDING_ROWS
    cell = Cell(enough and all(np.any(start.coef) for start in chosen))
    cell.held[START] = of_starts[best]
    cell.on_all[START] = on_test(chosen[-1].coef, of_starts[best], chosen[-1].intercept)
    if not cell.enough:
        return cell
    for kind, series in (*(("apart", (r,)) for r in APART), ("series", SERIES)):
        found = [part.climbs(start, series, STEPS, TOL)
                 for part, start in zip((*parts, problem), chosen, strict=True)]  # fmt: skip
        for k, radius in enumerate(series):
            climbs = [each[k].climb for each in found]
            for key, share in (((kind, radius), 1.0), ((kind, radius, "halfway"), 0.5)):
                length = [max(float(np.linalg.norm(start.coef)), 1e-300) for start in chosen]
                held = held_out([
                    share * climb.scores + (1 - share) * start.scores / size
                    for climb, start, size in zip(climbs[:-1], chosen, length, strict=False)
                ])  # fmt: skip
                mixed = [share * climb.direction + (1 - share) * unit(start.coef)
                         for climb, start in zip(climbs, chosen, strict=True)]  # fmt: skip
                cell.held[key] = held
                cell.on_all[key] = on_test(mixed[-1], held)
                cell.bagged[key] = on_test(
                    unit(np.mean(mixed[:-1], axis=0)) * np.linalg.norm(mixed[-1]), held
                )
    return cell


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", nargs="*", default=list(CHOSEN_ON))
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    gains: dict[tuple[str, str], list[Any]] = {}
    with threadpool_limits(1):
        for name in options.tasks:
            if name not in CHOSEN_ON:
                raise ValueError(f"{name!r} is not among the tasks to choose on.")
            found = task(name)
            for label in TARGETS:
                cells = [
                    cell_of(found.X, found.positive, *split, label)
                    for split in cuts(found.positive, 10, MOST_ROWS)[0][: options.splits]
                ]
                for title, way in WAYS.items():
                    mean = float(np.mean([cell.gain(way) for cell in cells]))
                    gains.setdefault((title, label), []).append(mean)
            print(name, flush=True)
    lines = []
    for title in WAYS:
        line = [title]
        for label in TARGETS:
            each = np.array(gains[title, label])
            line += [f"{each.mean():+.4f}", f"{each.min():+.3f}"]
        lines.append(line)
    print(markdown_table(["way", "F1", "lowest", "recall at 1 % FPR", "lowest"], lines))


if __name__ == "__main__":
    main()
