"""The command `everypair`. Commands import what they need when they run: `--help` is quick."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from everypair.app.cli.compare import compare, demo
from everypair.app.cli.evaluate import evaluate
from everypair.app.cli.explain import explain
from everypair.app.cli.fit import fit
from everypair.app.cli.guard import INTERRUPTED, NAME, exit_code
from everypair.app.cli.path import path
from everypair.app.cli.sample import sample
from everypair.app.cli.score import score
from everypair.app.cli.warm_up import warm_up

app = typer.Typer(
    name=NAME,
    help="Rank rows by a yes/no column: classifiers trained on every positive-negative pair.",
    epilog="Exit codes: 0 done, 1 a fault of the program, 2 input that cannot be used, "
    "130 interrupted.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (compare, fit, score, evaluate, explain, path, sample, demo, warm_up):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        from everypair import __version__

        print(f"everypair {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line of the process and leave with its exit code."""
    given = sys.argv[1:] or ["--help"]
    code = exit_code(lambda: app(given, prog_name=NAME, standalone_mode=False))
    if code == INTERRUPTED:
        # At once: threads of compiled code may be at work for long, and Python itself would end
        # by SIGINT where the interrupt fell into an exec (of a dataclass that is imported).
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
