"""Text that a spreadsheet would run when it opens a CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA = r"^[=+\-@\t\r\n]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def without_formulas(table: pa.Table) -> pa.Table:
    """The table with ' before each text that begins as a formula does; numbers stay numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def safe(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
        runs = pc.and_not(
            pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, NUMBER)
        )
        return pc.if_else(runs, pc.binary_join_element_wise("'", texts, ""), texts)

    names = safe(pa.array(table.column_names, pa.string())).to_pylist()
    columns = [safe(c) if pa.types.is_string(c.type) else c for c in table.columns]
    return pa.table(columns, names=names)
