"""Is the first line of a file the names of the columns, or the first row of data?"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from everypair.app.files.cells import DASHES, MISSING
from everypair.app.files.problems import DataError, shown
from everypair.app.files.table_file import check_names, is_number

MOST_COLUMNS = 1000
"""Columns that are looked at."""

DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}")
TRUTH = re.compile("true|false", re.IGNORECASE)
YEARS = range(1900, 2101)
NO_WORD = {*MISSING, *DASHES}


def numbered(count: int) -> list[str]:
    """Names for columns that have none."""
    return [f"column {k}" for k in range(1, count + 1)]


def check_header(names: list[str], rows: list[list[str]], path: Path) -> None:
    """Refuse a first line that seems to be data, and names that do not tell the columns apart."""
    cell = data_in(names, rows)
    if cell is not None:
        raise DataError(
            f"the first line seems to be data, not the names of the columns (it has {shown(cell)}):"
            " use --no-header if it is data, or --header if it has the names.",
            path,
        )
    check_names(names, path)


def data_in(names: list[str], rows: list[list[str]]) -> str | None:
    """A field of the first line that gives it away as data, by the first rows below it.

    A word above numbers or dates is a name, and settles it. Otherwise a line of names has no value
    of the columns below it: no number above numbers (but years, or numbers that count up), no date
    above dates, and hardly a word that its column has as well.
    """
    numbers: list[str] = []
    other: list[str] = []
    repeated, words = [], 0
    for k, name in enumerate(names[:MOST_COLUMNS]):
        cells = [row[k].strip() for row in rows if k < len(row)]
        below = [cell for cell in cells if cell not in NO_WORD]
        if name in NO_WORD or not below:
            continue
        kind, found = _kind(name), {_kind(cell) for cell in below}
        if kind != "word" and found == {kind}:
            (numbers if kind == "number" else other).append(name)
        elif found in ({"number"}, {"date"}, {"truth"}):
            return None  # a name above values
        elif kind == "word" and "word" in found:
            words += 1
            repeated += [name] * (name in below)
    if other:
        return other[0]
    if repeated and (numbers or (len(repeated) > 1 and 2 * len(repeated) >= words)):
        return repeated[0]
    return numbers[0] if numbers and not _are_names(numbers) else None


def _are_names(numbers: list[str]) -> bool:
    """Numbers may be names: 0, 1, 2 (pandas') or years."""
    values = [float(number.replace(",", ".", 1)) for number in numbers]
    if len(values) > 1 and all(after - before == 1 for before, after in pairwise(values)):
        return True
    years = all(number.isdecimal() and int(number) in YEARS for number in numbers)
    return years and len(set(values)) == len(values)


def _kind(cell: str) -> str:
    if is_number(cell.replace(",", ".", 1)):
        return "number"
    if TRUTH.fullmatch(cell):
        return "truth"
    return "date" if DATE.fullmatch(cell) else "word"
