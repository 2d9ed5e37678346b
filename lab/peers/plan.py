"""Which cells there are, in the order in which they run: ours first, its bound judges the rest."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import races
from .peer import Peer, installed
from .peer_data import PUBLIC, available
from .solvers import every_peer
from .solvers.ours import LOSSES, name


class Cell(NamedTuple):
    part: str
    """"task" or the name of a race."""
    task: str
    """A task, or a race's name."""
    entry: str
    """A peer, or an entry of the race."""

    @property
    def key(self) -> str:
        return f"{self.task} | {self.entry}"


SIMULATED = (
    "dense 20000x50",
    "dense 200000x50",
    "imbalanced 200000x50",
    "correlated 200000x50",
    "heavy-tailed 200000x50",
    "text 20000x50000",
)
TASKS = (*SIMULATED, *PUBLIC)

ROWS = tuple(f"dense {n}x10" for n in (10**4, 10**5, 10**6, 10**7))
COLUMNS = tuple(f"dense 10000x{p}" for p in (10, 100, 1000, 10_000))
GROWTH_PEERS = (
    *(name(loss) for loss in LOSSES),
    "LogisticRegression lbfgs",
    "LogisticRegression newton-cholesky",
    "SVM^perf",
    "liblinear-ranksvm",
)

WHOLE_FIELD = ("dense 20000x50", "text 20000x50000", "a9a", "covtype")
"""Where every peer takes part; elsewhere those that solve our problem or are fast."""

EVERYWHERE = tuple(
    f"LogisticRegression {solver}"
    for solver in ("lbfgs", "newton-cg", "newton-cholesky", "liblinear")
)

FAST_TASK = "dense 1000x5"
SLOW_TO_START = ("xgboost", "lightgbm", "skglm", "imblearn")


def peers_of(task: str) -> list[Peer]:
    return [
        peer
        for peer in every_peer().values()
        if peer.missing is None
        and (task in WHOLE_FIELD or peer.problem.startswith("pairs") or peer.name in EVERYWHERE)
    ]


def cells() -> list[Cell]:
    out = [
        Cell("task", task, peer.name)
        for task in TASKS
        if available(task)
        for peer in peers_of(task)
    ]
    peers = every_peer()
    out += [
        Cell("task", task, entry)
        for task in (*ROWS, *COLUMNS)
        for entry in GROWTH_PEERS
        if peers[entry].missing is None
    ]
    if installed("celer") and installed("skglm"):
        out += [Cell(race, race, entry) for race in races.PATHS for entry in races.PATH_ENTRIES]
    out += [Cell("rls", "rls", entry) for entry in races.RLS_ENTRIES]
    kernels = races.KERNELS if "EVERYPAIR_DATA" in os.environ else races.KERNELS[:1]
    out += [Cell("kernel", "kernel", entry) for entry in kernels]
    return list(dict.fromkeys(out))


def fast_cells() -> list[Cell]:
    return [
        Cell("task", FAST_TASK, peer.name)
        for peer in every_peer().values()
        if peer.missing is None and peer.needs not in SLOW_TO_START
    ]
