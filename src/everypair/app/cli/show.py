"""What the commands print: tables for people, JSON for machines, notes on stderr."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from everypair.app.wording import UNPRINTABLE, printable


def print_text(text: str, file: TextIO | None = None) -> None:
    """A line or more; what would command the terminal is written out."""
    print(printable(text, keep="\n"), file=file)


def text_stream(output: Path | None, json: bool) -> TextIO | None:
    """Where a command prints: on stderr if its output may go to standard output."""
    from everypair.app.files.output import is_standard_output, is_stream

    if output is None:
        return None
    if json and is_standard_output(output):
        raise ValueError("--json and -o both write to standard output: give -o the name of a file.")
    return sys.stderr if is_stream(output) or is_standard_output(output) else None


def print_json(content: Mapping[str, Any]) -> None:
    print(json_text(content))


def json_text(content: Mapping[str, Any]) -> str:
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    # Inside JSON's strings a character may be written by its number.
    return UNPRINTABLE.sub(lambda found: _in_json(found[0]), text)


def _in_json(character: str) -> str:
    return character if character == "\n" else f"\\u{ord(character):04x}"


def _plain(value: Any) -> Any:
    """Only what JSON has: NaN and infinity become null, arrays lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[int] = (0,),
    title: str | None = None,
    bold: Sequence[int] = (),
    file: TextIO | None = None,
) -> None:
    """A table on stdout or in ``file``; what would command the terminal is written out."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(
            Text(printable(name)), justify="left" if k in left else "right", no_wrap=k not in left
        )
    for number, row in enumerate(rows):
        style = "bold" if number in bold else None
        table.add_row(*(Text(printable(cell)) for cell in row), style=style)
    console = Console(file=file)
    if not console.is_terminal:  # a file or a pipe has no width of its own
        console = Console(file=file, width=160)
    console.print(table)


EVERY_SECONDS = 5.0
"""How often a line says what is being done where there is no terminal to draw a bar on."""


@contextmanager
def progress(total: int | None, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of each step as it begins; shown on stderr.

    On a terminal that is a bar, elsewhere a line every few seconds.
    """
    if quiet:
        yield lambda what: None
    elif not sys.stderr.isatty():
        with _lines() as say:
            yield say
    else:
        with _bar(total) as say:
            yield say


@contextmanager
def _lines() -> Iterator[Callable[[str], None]]:
    began, ended = time.perf_counter(), threading.Event()
    doing = [""]

    def tell() -> None:
        while not ended.wait(EVERY_SECONDS):
            if doing[0]:
                print(f"{doing[0]}, {time.perf_counter() - began:.0f} s", file=sys.stderr)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield lambda what: doing.__setitem__(0, what)
    finally:
        ended.set()
        teller.join()


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<36}", markup=False),
        BarColumn(),
        *(() if total is None else (MofNCompleteColumn(),)),
        TimeElapsedColumn(),
        *(() if total is None else (TimeRemainingColumn(),)),
    )
    begun = count()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what: bar.update(task, completed=next(begun), description=what)


def number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None or math.isnan(value) else format(value, form)


def interval(low: float, high: float) -> str:
    """
    >>> interval(0.25, 0.5), interval(math.nan, math.nan)
    ('0.250 - 0.500', '')
    """
    return "" if math.isnan(low) else f"{number(low)} - {number(high)}"
