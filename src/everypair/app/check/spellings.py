"""Text that people mean as numbers or dates, and how missing values are spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from everypair.app.files.problems import shown

if TYPE_CHECKING:
    import pyarrow as pa

SPELLINGS = {
    r"-?\d{1,3}(\.\d{3})+(,\d+)?|-?\d+,\d+": (
        "numbers with decimal commas",
        "Write 1.234,50 as 1234.50 to have numbers",
    ),
    r"-?\d{1,3}(,\d{3})+(\.\d+)?|-?[$€£] ?-?\d[\d,.]*|-?\d[\d,.]* ?[$€£%]": (
        "numbers",
        "Leave out what is not a digit, a sign or a decimal point to have numbers",
    ),
    r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}([ T].*)?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?": (
        "dates",
        "Say how they are written with --date-format, such as %d/%m/%Y or %m/%d/%Y",
    ),
}
"""Text that people mean as something else: how it looks, what it is, and the remedy."""

SPELLING_ROWS = 1000
"""Rows that are looked at for it."""

NUMBER = r"^\s*[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?\s*$"


def meant_otherwise(column: pa.ChunkedArray, row_numbers: NDArray[np.intp] | None) -> str:
    """What a column of text seems to be meant as, a clause after "though", or "".

    Numbers but for a few rows are mistakes, more often than not.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return ""
    strange = np.flatnonzero(
        pc.fill_null(pc.invert(pc.match_substring_regex(column, NUMBER)), False).to_numpy()
    )
    if 0 < strange.size < (len(column) - column.null_count) / 2:
        place = int(strange[0])
        row = place + 1 if row_numbers is None else row_numbers[place]
        remedy = "Correct or empty such fields to have numbers"
        return f"most of its values are numbers: row {row} has {shown(column[place])}. {remedy}"
    head = pc.drop_null(column.slice(0, SPELLING_ROWS))
    for pattern, (what, remedy) in SPELLINGS.items():
        alike = pc.match_substring_regex(head, f"^({pattern})$")
        if (pc.sum(alike).as_py() or 0) > len(head) / 2:
            value = shown(head.filter(alike)[0])
            return f"its values look like {what} ({value}). {remedy}"
    return ""
