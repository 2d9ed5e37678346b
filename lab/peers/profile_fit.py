"""Where the time of one fit goes: ``python -m lab.peers.profile_fit MNIST logistic``."""

from __future__ import annotations

import cProfile
import pstats
import sys

from threadpoolctl import threadpool_limits

from everypair import AUCClassifier
from lab.harness import markdown_table

from .peer_data import load

SHOWN = 12


def main(task_name: str, loss: str = "logistic") -> None:
    """One thread, after a first fit that compiles; the profiler's own share is in all rows."""
    task = load(task_name)
    model = AUCClassifier(loss=loss, alpha=task.alpha, tol=1e-6)
    with threadpool_limits(1):
        model.fit(task.X, task.y)
        profile = cProfile.Profile()
        profile.runcall(model.fit, task.X, task.y)
    stats = pstats.Stats(profile)
    by_time = sorted(stats.stats.items(), key=lambda item: -item[1][2])  # type: ignore[attr-defined]
    rows = [
        [f"`{name}`", str(calls), f"{100 * own / stats.total_tt:.0f} %"]  # type: ignore[attr-defined]
        for (_, _, name), (_, calls, own, _, _) in by_time[:SHOWN]
    ]
    print(markdown_table(["function", "calls", "share of the fit"], rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
