"""A file as rows to learn from: features, which rows are positive, weights and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.cli.options import Columns
from everypair.data.problems import DataError, shown
from everypair.data.readers import LABEL, Source, SparseTable, check_present, read

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

SPELLINGS = {
    r"-?\d{1,3}(\.\d{3})+(,\d+)?|-?\d+,\d+": (
        "numbers with decimal commas",
        "Write 1.234,50 as 1234.50 to have numbers.",
    ),
    r"-?\d{1,3}(,\d{3})+(\.\d+)?|-?[$€£] ?-?\d[\d,.]*|-?\d[\d,.]* ?[$€£%]": (
        "numbers",
        "Leave out what is not a digit, a sign or a decimal point to have numbers.",
    ),
    r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}([ T].*)?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?": (
        "dates",
        "Say how they are written with --date-format, such as %d/%m/%Y or %m/%d/%Y.",
    ),
}
"""Text that people mean as something else: how it looks, what it is, and the remedy."""

SPELLING_ROWS = 1000
"""Rows that are looked at for it."""

OTHERS = "(other values)"
"""The negative label where one value stands against all others."""


@dataclass
class Labelled:
    """What a command learns from."""

    X: Any
    y: Bool
    weight: Array | None
    groups: NDArray[Any] | None
    target: str
    positive: str
    negative: str
    notes: list[str] = field(default_factory=list)


def load_labelled(source: Source, columns: Columns) -> Labelled:
    """The file, its target turned into True and False, without rows that have no target."""
    path, target, weight, group = source.path, columns.target, columns.weight, columns.group
    table = read(source)
    if isinstance(table, SparseTable):
        if weight or group or columns.drop or target not in (None, LABEL):
            raise DataError(
                "svmlight has no named columns: leave out --weight, --group, --drop and --target.",
                path,
            )
        texts = label_texts(table.label)
        return _labelled(table.X, texts, LABEL, columns.positive, None, None, path)
    if target is None:
        raise DataError("say which column is the target: --target COLUMN.", path)
    for option, names in (
        ("--drop", columns.drop or ()),
        ("--weight", [weight]),
        ("--group", [group]),
    ):
        if target in names:
            raise DataError(
                f"this is the target: it cannot be {option} as well.", path, column=target
            )
    extra = [name for name in (target, weight, group, *(columns.drop or ())) if name is not None]
    if len(table.column_names) == 1 and target not in table.column_names:
        raise DataError(
            f"there is one column only, {table.column_names[0]!r}: if the fields are separated by "
            "something unusual, say --delimiter.",
            path,
        )
    check_present(extra, table.column_names, path)
    features = table.drop_columns(list(dict.fromkeys(extra)))
    if features.num_columns == 0:
        raise DataError("there is no column to learn from beside the target.", path)
    rows = _labelled(
        features,
        column_texts(table.column(target)),
        target,
        columns.positive,
        None if weight is None else weights_of(table.column(weight), weight, path),
        None if group is None else _groups(table.column(group), group, path),
        path,
    )
    rows.notes += _misspelt(features, rows.X)
    return rows


def _misspelt(table: Any, used: Any) -> list[str]:
    """Columns of text that look like numbers or dates, in whole or but for a few rows.

    ``used`` is the table without the rows that have no label, which is what is learnt from.
    """
    import pyarrow as pa

    from everypair.columns import kind_of

    notes = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        why = _almost_numbers(column) or _other_spelling(column)
        if why:
            dropped = kind_of(used.column(name)) == "text"
            fate = "not used: it is text" if dropped else "read as categories"
            notes.append(f"column {name!r} is {fate}, though {why}")
    return notes


def _almost_numbers(column: Any) -> str:
    """Numbers but for a few rows: mistakes, more often than not."""
    import pyarrow.compute as pc

    number = pc.match_substring_regex(column, r"^\s*[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?\s*$")
    strange = np.flatnonzero(pc.fill_null(pc.invert(number), False).to_numpy())
    if not 0 < strange.size < (len(column) - column.null_count) / 2:
        return ""
    row = int(strange[0])
    return (
        f"most of its values are numbers: row {row + 1} has {shown(column[row])}. Correct or "
        "empty such fields to have numbers."
    )


def _other_spelling(column: Any) -> str:
    import pyarrow.compute as pc

    head = pc.drop_null(column.slice(0, SPELLING_ROWS))
    for pattern, (what, remedy) in SPELLINGS.items():
        alike = pc.match_substring_regex(head, f"^({pattern})$")
        if (pc.sum(alike).as_py() or 0) > len(head) / 2:
            value = shown(head.filter(alike)[0])
            return f"its values look like {what} ({value}). {remedy}"
    return ""


def _labelled(
    X: Any,
    texts: NDArray[Any],
    target: str,
    wanted: str | None,
    weight: Array | None,
    groups: NDArray[Any] | None,
    path: Path,
) -> Labelled:
    from everypair.tables import take_rows

    notes = []
    missing = texts == None  # noqa: E711 - elementwise
    if missing.all():
        raise DataError("the target has no value at all.", path, column=target)
    values, counts = np.unique(texts[~missing].astype(str), return_counts=True)
    positive, negative, said = _choose_positive(values, counts, wanted, target, path)
    notes += said
    y = texts == positive
    if missing.any():
        first = int(np.argmax(missing)) + 1
        count = int(np.count_nonzero(missing))
        rows_have = "1 row has" if count == 1 else f"{count} rows have"
        notes.append(
            f"{rows_have} no value in the target and {'is' if count == 1 else 'are'} left out "
            f"(the first is row {first})."
        )
        rows = np.flatnonzero(~missing)
        X, y = take_rows(X, rows), y[rows]
        weight = None if weight is None else weight[rows]
        groups = None if groups is None else groups[rows]
    if weight is not None and not (np.any(weight[y] > 0) and np.any(weight[~y] > 0)):
        raise DataError("the weights leave one class only: all others are zero.", path)
    return Labelled(X, y.astype(bool), weight, groups, target, positive, negative, notes)


def _choose_positive(
    values: NDArray[Any], counts: NDArray[Any], wanted: str | None, target: str, path: Path
) -> tuple[str, str, list[str]]:
    listed = ", ".join(repr(str(value)) for value in values[:5])
    listed += ", ..." if values.size > 5 else ""
    if values.size == 1:
        raise DataError(
            f"the target has the single value {listed}: two classes are needed.",
            path,
            column=target,
        )
    if wanted is None and values.size > 2:
        raise DataError(
            f"the target has {values.size} values ({listed}): say which one is positive with "
            "--positive VALUE, and the others count as negative.",
            path,
            column=target,
        )
    if wanted is None:
        at = 0 if counts[0] < counts[1] else 1
        why = "the rarer" if counts[0] != counts[1] else "the last"
        note = f"positive is {str(values[at])!r}, {why} of {listed} (--positive changes it)."
        return str(values[at]), str(values[1 - at]), [note]
    found = match(wanted, [str(value) for value in values])
    if found is None:
        raise DataError(
            f"no row has the value {wanted!r}: the target has {listed}.", path, column=target
        )
    chosen = str(values[found])
    if values.size == 2:
        return chosen, str(values[1 - found]), []
    return chosen, OTHERS, [f"{chosen!r} against the {values.size - 1} other values."]


def match(wanted: str, values: Sequence[str]) -> int | None:
    """Which value is meant: the same text, the same number, or the same but for case."""
    if wanted in values:
        return list(values).index(wanted)
    for k, value in enumerate(values):
        try:
            if float(value) == float(wanted):
                return k
        except ValueError:
            continue
    near = [k for k, value in enumerate(values) if value.lower() == wanted.lower()]
    return near[0] if len(near) == 1 else None


def column_texts(column: Any) -> NDArray[Any]:
    """Labels as text, None where missing: 1 and 1.0 are both "1"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        numbers = column.cast(pa.float64())
        out = label_texts(numbers.to_numpy())
        return out
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        coded = pc.dictionary_encode(column.cast(pa.string())).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as trouble:
        raise DataError(f"a target of type {column.type} is not understood.") from trouble
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([]).dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    codes = pc.fill_null(coded.indices, len(words) - 1).to_numpy(zero_copy_only=False)
    return words[codes]


def label_texts(numbers: Array) -> NDArray[Any]:
    distinct, codes = np.unique(numbers, return_inverse=True)
    words = [None if np.isnan(value) else f"{value:.15g}" for value in distinct]
    return np.array(words, dtype=object)[codes]


def weights_of(column: Any, name: str, path: Path, rows_before: int = 0) -> Array:
    import pyarrow as pa

    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as trouble:
        raise DataError("the weights are not numbers.", path, column=name) from trouble
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{values[row]:g} is no weight: numbers of at least 0 are.",
            path,
            rows_before + row + 1,
            name,
        )
    return values


def _groups(column: Any, name: str, path: Path) -> NDArray[Any]:
    texts = column_texts(column)
    missing = texts == None  # noqa: E711 - elementwise
    if missing.any():
        raise DataError("the group is missing.", path, int(np.argmax(missing)) + 1, name)
    groups, codes = np.unique(texts.astype(str), return_inverse=True)
    if groups.size == 1:
        raise DataError(
            f"every row is of the group {str(groups[0])!r}: rows of one group stay in one fold, so "
            "that several groups are needed.",
            path,
            column=name,
        )
    return codes
