"""The command: runs what is missing, prints the tables, keeps them in the docs."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from lab.harness import DOCS, Page

from . import figures, peer_page, plan
from .peer_data import PUBLIC, available
from .results import Results
from .runner import run_all, run_here
from .solvers import every_peer

LIMIT, FAST_LIMIT = 20.0, 1.0


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab peers", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="small data, nothing is written")
    parser.add_argument("--again", action="store_true", help="forget earlier measurements")
    parser.add_argument("--only", nargs="+", help="cells whose name contains one of these")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a cell (%(default)s)")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine"
    )
    parser.add_argument("--to", type=Path, default=DOCS, help="folder of the results")
    options = parser.parse_args(arguments)
    for line in skipped():
        print(line)
    if options.fast:
        results = run_fast()
    else:
        results = Results(options.to / "peers.json", options.clock)
        if options.again:
            results.cells, results.measured_with = {}, []
        cells = plan.cells()
        if options.only:
            cells = [cell for cell in cells if any(part in cell.key for part in options.only)]
        run_all(cells, results, options.limit)
    measured_with = " And: ".join(results.measured_with)
    whole = Page("peers", "Side by side with everyone", peer_page.intro(results), measured_with)
    whole.path = options.to / "peers.md"
    peer_page.write(results, whole)
    if not options.fast:
        figures.draw(results, options.to / "figures")
        whole.write()


def run_fast() -> Results:
    warnings.simplefilter("ignore")
    results = Results(None)
    results.limit = FAST_LIMIT
    for cell in plan.fast_cells():
        ours = cell.entry.startswith("everypair ")  # must arrive, on a busy machine as well
        run_here(cell, results, LIMIT if ours else FAST_LIMIT)
    return results


def skipped() -> list[str]:
    lines = [f"skipped: {p.name}: {p.missing}" for p in every_peer().values() if p.missing]
    if not all(available(task) for task in PUBLIC):
        lines.append(f"skipped: {', '.join(PUBLIC)}: EVERYPAIR_DATA is not set")
    return lines
