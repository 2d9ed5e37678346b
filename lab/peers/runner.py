"""Runs the cells that are not in the results yet, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from .cell import measure
from .peer_data import load
from .plan import Cell
from .results import Results
from .solvers import every_peer

ROOT = Path(__file__).parents[2]
RACE_LIMITS = 5
PREPARATION = 300.0
"""Seconds for reading data, compiling and writing files, which are not timed."""


def run_all(cells: list[Cell], results: Results, limit: float) -> None:
    todo = [cell for cell in cells if cell.key not in results.cells]
    print(f"{len(cells) - len(todo)} cells known, {len(todo)} to run", flush=True)
    if not todo:
        print("nothing to measure; --again forgets what is known", flush=True)
        return
    results.limit = limit
    began = time.perf_counter()
    for count, cell in enumerate(todo, 1):
        found = run_cell(cell, results, limit) | {"limit": limit}
        results.add(cell.key, found)
        elapsed = time.perf_counter() - began
        print(f"[{count}/{len(todo)}, {elapsed:.0f} s] {cell.key}: {found['status']}", flush=True)


def run_cell(cell: Cell, results: Results, limit: float) -> dict:
    wanted = {"limit": limit}
    if cell.part == "task":
        problem = every_peer()[cell.entry].problem
        bound = None if problem == "other" else results.tight_bound(cell.task, problem)
        wanted |= {"task": cell.task, "peer": cell.entry, "bound": bound}
    else:
        # A race holds several fits.
        wanted |= {"race": cell.task, "entry": cell.entry, "limit": RACE_LIMITS * limit}
    command = [sys.executable, "-m", "lab.peers.cell", json.dumps(wanted)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=wanted["limit"] + PREPARATION,
            check=False,
        )
        out, error = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        out, error = (late.stdout or b"").decode(), ""
    return gathered([json.loads(line) for line in out.splitlines() if line[:1] == "{"], error)


def run_here(cell: Cell, results: Results, limit: float) -> None:
    """In this process: quicker to start, no memory measured apart. For `--fast`."""
    peer, task = every_peer()[cell.entry], load(cell.task)
    if why := peer.refuses(task):
        results.add(cell.key, {"status": why})
        return
    events: list[dict] = []
    bound = None if peer.problem == "other" else results.tight_bound(cell.task, peer.problem)
    measure(task, peer, bound, events.append, limit)
    results.add(cell.key, gathered(events, "") | {"limit": limit})


def gathered(events: list[dict], error: str) -> dict:
    found: dict = {"rungs": [event["rung"] for event in events if "rung" in event]}
    for event in events:
        found |= {key: event[key] for key in ("shape", "warm_up", "peak", "race") if key in event}
    if any("done" in event for event in events):
        found["status"] = "done"
    elif why := [event["refused"] for event in events if "refused" in event]:
        found["status"] = why[0]
    elif error.strip():
        found["status"] = "failed: " + error.strip().splitlines()[-1]
    else:
        found["status"] = "over the limit"
    return found
