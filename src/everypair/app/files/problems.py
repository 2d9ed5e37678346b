"""What is wrong with a file, and where: one line a person can act on."""

from __future__ import annotations

from pathlib import Path

KNOWN_AS: dict[str, str] = {}
"""Names of temporary files, and what was typed for them."""

SHOWN_CHARACTERS = 60
"""Characters of a value that a message shows."""


def shown(value: object) -> str:
    """The value in quotes, cut short where it is long."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}...")


class DataError(ValueError):
    """A file that cannot be used as it is.

    The message names the file (as it was given), the row (1 is the first row of data, below the
    header) and the column, as far as they are known.
    """

    def __init__(
        self,
        problem: str,
        file: str | Path | None = None,
        row: int | None = None,
        column: str | None = None,
    ):
        self.problem, self.file, self.row, self.column = problem, file, row, column
        places = [] if file is None else [KNOWN_AS.get(str(file), str(file))]
        if row is not None:
            places.append(f"row {row}")
        if column is not None:
            places.append(f"column {shown(column)}")
        super().__init__(f"{', '.join(places)}: {problem}" if places else problem)
