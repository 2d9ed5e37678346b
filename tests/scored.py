"""Scores as the command prints them."""

from __future__ import annotations

import csv
import io


def scores_in(text):
    """The rows, with the score under its short name: the header says of which class it is."""
    header, *rows = csv.reader(io.StringIO(text))
    names = [name.split(":")[0] for name in header]
    return [dict(zip(names, row, strict=True)) for row in rows]
