"""The laboratory: papers' tables, benchmarks, races with other libraries.

python -m lab papers all             every table of the papers, beside the printed values
python -m lab papers cpauc --fast    one table, few repetitions
python -m lab bench                  the names of the benchmarks
python -m lab bench core --write     one of them, into docs/benchmarks
python -m lab peers                  side by side with other libraries
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.papers.reproduce import RESULTS, TABLES, reproduce

BENCHMARKS = Path(__file__).parent / "benchmarks"


def papers(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser("python -m lab papers")
    parser.add_argument("table", choices=[*TABLES, "all"])
    parser.add_argument("--fast", action="store_true", help="few repetitions: a minute")
    parser.add_argument("--results", type=Path, default=RESULTS, help="cells, pages and figures")
    parser.add_argument("--render-only", action="store_true", help="pages from finished cells")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    given = parser.parse_args(arguments)
    for table in TABLES if given.table == "all" else [given.table]:
        options = {"render_only": given.render_only, "quiet": given.quiet}
        print(reproduce(table, given.fast, given.results, **options))


def bench(arguments: Sequence[str]) -> None:
    names = sorted(path.stem for path in BENCHMARKS.glob("[!_]*.py"))
    if not arguments or arguments[0] not in names:
        sys.exit(f"usage: python -m lab bench NAME [--help]\nnames: {', '.join(names)}")
    name, *rest = arguments
    sys.argv = [f"python -m lab bench {name}", *rest]
    runpy.run_module(f"lab.benchmarks.{name}", run_name="__main__")


def peers(arguments: Sequence[str]) -> None:
    sys.argv = ["python -m lab peers", *arguments]
    runpy.run_module("lab.peers", run_name="__main__")


COMMANDS = {"papers": papers, "bench": bench, "peers": peers}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"{__doc__}")
    COMMANDS[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    main()
