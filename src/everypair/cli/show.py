"""What the commands print: tables for people, JSON for machines, notes on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from everypair.wording import UNPRINTABLE, printable


def print_text(text: str, file: TextIO | None = None) -> None:
    """A line or more; what would command the terminal is written out."""
    print(printable(text, keep="\n"), file=file)


def print_json(content: Mapping[str, Any]) -> None:
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    # Inside JSON's strings a character may be written by its number.
    print(UNPRINTABLE.sub(lambda found: _in_json(found[0]), text))


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
) -> None:
    """A table on stdout; what would command the terminal is written out."""
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
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width of its own
        console = Console(width=160)
    console.print(table)


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar on stderr that moves with each call, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda what: None
        return
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
        TextColumn("{task.description:<18}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what: bar.update(task, advance=1, description=what)


def number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None or math.isnan(value) else format(value, form)
