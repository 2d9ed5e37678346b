"""What was measured: one JSON file, a cell a key, from which every table and figure is made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from lab.harness import environment

from .cell import CERTAIN, relative_gap
from .solvers import every_peer


class Results:
    """``cells[key]``: rungs (tolerance, seconds, objective, bound, AUC), warm-up, peak, status.

    ``clock``: "wall", or "cpu" where neighbours make wall clocks useless. ``measured_with``: the
    versions and machines that cells were measured with.
    """

    def __init__(self, path: Path | None, clock: str = "wall"):
        self.path, self.clock = path, clock
        self.cells: dict[str, dict] = {}
        self.limit: float | None = None
        self.measured_with: list[str] = []
        if path is not None and path.exists():
            held = json.loads(path.read_text())
            self.cells, self.limit = held["cells"], held["limit"]
            self.measured_with = held["measured_with"]

    def add(self, key: str, found: dict) -> None:
        self.cells[key] = found
        if environment() not in self.measured_with:
            self.measured_with.append(environment())
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_suffix(".part")
            held = {
                "limit": self.limit, "measured_with": self.measured_with, "cells": self.cells,
            }  # fmt: skip
            partial.write_text(json.dumps(held, indent=1) + "\n")
            partial.replace(self.path)

    def of_task(self, task: str) -> dict[str, dict]:
        """By peer."""
        head = f"{task} | "
        return {key[len(head) :]: cell for key, cell in self.cells.items() if key.startswith(head)}

    def _judged_rungs(self, task: str, problem: str) -> list[dict]:
        return [
            rung
            for peer, cell in self.of_task(task).items()
            if every_peer()[peer].problem == problem
            for rung in cell.get("rungs", ())
        ]

    def bound(self, task: str, problem: str) -> float | None:
        """The highest lower bound of the minimum; the least objective where none is known."""
        rungs = self._judged_rungs(task, problem)
        bounds = [rung["bound"] for rung in rungs if rung["bound"] is not None]
        if bounds:
            return max(bounds)
        return min((rung["objective"] for rung in rungs), default=None)

    def tight_bound(self, task: str, problem: str) -> float | None:
        """The bound, where a solution as good as that is known."""
        bound = self.bound(task, problem)
        rungs = self._judged_rungs(task, problem)
        if bound is None or all(rung["bound"] is None for rung in rungs):
            return None
        least = min(rung["objective"] for rung in rungs)
        return bound if relative_gap(least, bound) <= 2 * CERTAIN else None

    def curve(self, task: str, peer: str) -> list[tuple[float, float]]:
        """``(seconds, relative gap)`` of each tolerance."""
        bound = self.bound(task, every_peer()[peer].problem)
        rungs = self.cells.get(f"{task} | {peer}", {}).get("rungs", ())
        return [(rung[self.clock], relative_gap(rung["objective"], bound)) for rung in rungs]

    def seconds_to(self, task: str, peer: str, gap: float) -> float | None:
        """Of the loosest tolerance that reached the gap."""
        reached = [seconds for seconds, at in self.curve(task, peer) if at <= gap]
        return reached[0] if reached else None

    def auc(self, task: str, peer: str) -> float:
        rungs = self.cells.get(f"{task} | {peer}", {}).get("rungs", ())
        return rungs[-1]["auc"] if rungs else np.nan
