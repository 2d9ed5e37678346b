"""`everypair reproduce`: the papers' tables beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everypair.cli import options as opt
from everypair.cli.guard import guarded
from everypair.cli.show import print_json

RESULTS = Path("benchmarks/papers/results")


@guarded
def reproduce(
    table: Annotated[
        str, typer.Argument(help="auc-rls, cpauc, rankopt, rocsvm, svm-multi, overall or all.")
    ],
    *,
    fast: Annotated[bool, typer.Option("--fast", help="Few repetitions: a minute.")] = False,
    results: Annotated[Path, typer.Option(help="Folder of cells, pages and figures.")] = RESULTS,
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Pages from the finished cells, running none.")
    ] = False,
    show: opt.Show,
) -> None:
    """Run the tables of a paper again and write them beside the printed values.

    Finished cells are kept, so an interrupted run goes on where it stopped.
    """
    from everypair.papers.reproduce import TABLES
    from everypair.papers.reproduce import reproduce as run

    if table not in {*TABLES, "all"}:
        raise ValueError(f"There is no table {table!r}: use one of {', '.join(TABLES)}, or all.")
    pages = []
    for name in TABLES if table == "all" else [table]:
        page = run(name, fast, results, render_only=render_only, quiet=show.silent)
        pages.append(str(page))
        show.say(str(page))
    if show.json:
        print_json({"pages": pages})
