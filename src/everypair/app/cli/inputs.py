"""A file as rows to learn from: features, which rows are positive, weights and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app import Check, check_table
from everypair.app.cli.options import Columns, Show
from everypair.app.files.labels import column_texts, label_texts, weights_of
from everypair.app.files.problems import DataError
from everypair.app.files.readers import LABEL, Source, SparseTable, check_present, read
from everypair.app.files.table_file import is_number
from everypair.app.wording import counted

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

YES = frozenset(
    ("yes", "y", "true", "t", "positive", "pos", "+", "case", "present", "ja", "oui", "si", "sim")
)
NO = frozenset(
    ("no", "n", "false", "f", "negative", "neg", "-", "control", "absent", "nein", "non", "não")
)
"""Labels that say which class is meant, in small letters."""

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
    numbers: NDArray[np.intp] | None = None  # of the rows in the file, if some are left out
    ranked: str = ""  # which class is ranked first, and why: a sentence
    notes: list[str] = field(default_factory=list)
    check: Check = field(default_factory=lambda: Check((), {}))
    within: NDArray[np.intp] | None = None  # the groups inside which rows are paired, by number
    within_labels: NDArray[Any] | None = None  # the same as the file has them

    def sentences(self) -> list[str]:
        """All that is to be known of the table, for the model file."""
        return [self.ranked, *(found.sentence for found in self.check.findings), *self.notes]


def load_labelled(source: Source, columns: Columns, show: Show) -> Labelled:
    """The file, its target turned into True and False, and what the data check says of it.

    Rows without a target are left out. Columns that the check leaves out are still there.
    """
    rows = _read_labelled(source, columns)
    rows.check = check_table(
        rows.X, rows.y, groups=rows.groups, keep=columns.keep or (), row_numbers=rows.numbers
    )
    show.say(rows.ranked)
    for finding in rows.check.findings:
        show.finding(finding)
    for note in rows.notes:
        show.note(note)
    return rows


def _read_labelled(source: Source, columns: Columns) -> Labelled:
    path, target, weight, group = source.path, columns.target, columns.weight, columns.group
    table = read(source)
    if isinstance(table, SparseTable):
        named = weight or group or columns.within or columns.drop or columns.keep
        if named or target not in (None, LABEL):
            raise DataError(
                "svmlight has no named columns: leave out --weight, --group, --within, --drop, "
                "--keep and --target.",
                path,
            )
        texts = label_texts(table.label)
        return _labelled(table.X, texts, LABEL, columns.positive, None, None, None, path)
    if target is None:
        raise DataError("say which column is the target: --target COLUMN.", path)
    for option, names in (
        ("--drop", columns.drop or ()),
        ("--keep", columns.keep or ()),
        ("--weight", [weight]),
        ("--group", [group]),
        ("--within", [columns.within]),
    ):
        if target in names:
            raise DataError(
                f"this is the target: it cannot be {option} as well.", path, column=target
            )
    apart = (target, weight, group, columns.within, *(columns.drop or ()))
    extra = [name for name in apart if name is not None]
    if len(table.column_names) == 1 and target not in table.column_names:
        raise DataError(
            f"there is one column only, {table.column_names[0]!r}: if the fields are separated by "
            "something unusual, say --delimiter.",
            path,
        )
    several = [*(columns.drop or ()), *(columns.keep or ())]
    check_present([*extra, *(columns.keep or ())], table.column_names, path, several)
    both = sorted({*(columns.drop or ())} & {*(columns.keep or ())})
    if both:
        raise DataError(
            "this column is in --drop and in --keep: leave out one of them.", path, column=both[0]
        )
    features = table.drop_columns(list(dict.fromkeys(extra)))
    if features.num_columns == 0:
        raise DataError("there is no column to learn from beside the target.", path)
    return _labelled(
        features,
        column_texts(table.column(target)),
        target,
        columns.positive,
        None if weight is None else weights_of(table.column(weight), weight, path),
        None if group is None else _groups(table.column(group), group, path),
        None
        if columns.within is None
        else group_texts(table.column(columns.within), columns.within, path),
        path,
    )


def _labelled(
    X: Any,
    texts: NDArray[Any],
    target: str,
    wanted: str | None,
    weight: Array | None,
    groups: NDArray[Any] | None,
    within_labels: NDArray[Any] | None,
    path: Path,
) -> Labelled:
    from everypair.app.tables import take_rows

    notes = []
    missing = texts == None  # noqa: E711 - elementwise
    if missing.all():
        raise DataError("the target has no value at all.", path, column=target)
    usual, said = spelled_alike(Counter(text for text in texts.tolist() if text is not None))
    for other, spelt in usual.items():
        texts = np.where(texts == other, spelt, texts)
    values, counts = np.unique(texts[~missing].astype(str), return_counts=True)
    if values.size == 1:
        gaps = int(np.count_nonzero(missing))
        also = f", and {gaps} rows have none (None, NA and the like mean missing)" if gaps else ""
        raise DataError(
            f"the target has the single value {str(values[0])!r}{also}: two classes are needed.",
            path,
            column=target,
        )
    positive, negative, why = choose_positive(values, counts, wanted, target, path)
    ranked = f"Ranked first: {target} = {positive!r}, {why}."
    notes += said
    y = texts == positive
    numbers = None
    if missing.any():
        first = int(np.argmax(missing)) + 1
        count = int(np.count_nonzero(missing))
        rows_have = "1 row has" if count == 1 else f"{count} rows have"
        notes.append(
            f"{rows_have} no value in the target and {'is' if count == 1 else 'are'} left out "
            f"(the first is row {first})."
        )
        rows = np.flatnonzero(~missing)
        numbers = rows + 1
        X, y = take_rows(X, rows), y[rows]
        weight = None if weight is None else weight[rows]
        groups = None if groups is None else groups[rows]
        within_labels = None if within_labels is None else within_labels[rows]
    if weight is not None and not (np.any(weight[y] > 0) and np.any(weight[~y] > 0)):
        raise DataError(
            "every row of one class has weight zero: give some rows of each class a weight "
            "above zero.",
            path,
        )
    within = None
    if within_labels is not None:
        from everypair.app.comparison.inside_groups import in_groups

        try:
            within, groups = in_groups(y.astype(bool), within_labels, groups)  # type: ignore[assignment]
        except ValueError as trouble:
            raise DataError(
                f"--within: {str(trouble)[0].lower()}{str(trouble)[1:]}", path
            ) from trouble
    return Labelled(
        X, y.astype(bool), weight, groups, target, positive, negative, numbers, ranked, notes,
        within=within, within_labels=within_labels,
    )  # fmt: skip


def choose_positive(
    values: NDArray[Any], counts: NDArray[Any], wanted: str | None, target: str, path: Path
) -> tuple[str, str, str]:
    """The positive label, the negative one, and why."""
    listed = ", ".join(repr(str(value)) for value in values[:5])
    listed += ", ..." if values.size > 5 else ""
    if wanted is None and values.size > 2:
        raise DataError(
            f"the target has {values.size} values ({listed}): say which one is positive with "
            "--positive VALUE, and the others count as negative.",
            path,
            column=target,
        )
    if wanted is None:
        at, why = _more_positive([str(value) for value in values], counts)
        chosen, other = str(values[at]), str(values[1 - at])
        return chosen, other, f"not {other!r}: {why} (--positive changes it)"
    found = match(wanted, [str(value) for value in values])
    if found is None:
        raise DataError(
            f"no row has the value {wanted!r}: the target has {listed}.", path, column=target
        )
    chosen = str(values[found])
    if values.size == 2:
        return chosen, str(values[1 - found]), f"not {str(values[1 - found])!r}"
    return chosen, OTHERS, f"against the {values.size - 1} other values"


def spelling(label: str) -> str:
    """What labels have in common that differ by case or spaces only."""
    return " ".join(label.split()).casefold()


def spelled_alike(counts: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
    """The most frequent spelling of labels that differ from it by case or spaces only; notes."""
    spellings: dict[str, list[tuple[int, str]]] = {}
    for value, count in counts.items():
        spellings.setdefault(spelling(value), []).append((-count, value))
    notes: list[str] = []
    out: dict[str, str] = {}
    for several in (sorted(found) for found in spellings.values() if len(found) > 1):
        usual = several[0][1]
        listed = ", ".join(f"{value!r} ({counted(-count, 'row')})" for count, value in several)
        notes.append(
            f"labels that differ by case or spaces only are read as one, {usual!r}: {listed}."
        )
        out |= {value: usual for _, value in several[1:]}
    return out, notes


def _says_yes(word: str, other: str) -> int:
    """1 for yes, -1 for no, 0 for a word that says neither. Of numbers, 0 and -1 say no.

    A letter says it only beside another one that does: F against M is not false.
    """
    if is_number(word):
        return -1 if float(word) in (0, -1) else 0
    if len(word) == 1 and other not in YES | NO:
        return 0
    return (word in YES) - (word in NO)


def _more_positive(values: Sequence[str], counts: NDArray[Any]) -> tuple[int, str]:
    """Which of two labels says yes, and how we know; the rarer where neither does."""
    first, second = (spelling(value) for value in values)
    says_yes = _says_yes(first, second), _says_yes(second, first)
    if says_yes[0] != says_yes[1]:
        return int(says_yes[1] > says_yes[0]), "the label means yes"
    if counts[0] == counts[1]:
        return 1, "both are equally frequent, and it sorts last"
    return int(counts[0] > counts[1]), "it is rarer"


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
    near = [k for k, value in enumerate(values) if spelling(value) == spelling(wanted)]
    return near[0] if len(near) == 1 else None


def group_texts(column: Any, name: str, path: Path, rows_before: int = 0) -> NDArray[Any]:
    """Labels of groups; a row without one is an error."""
    texts = column_texts(column)
    missing = texts == None  # noqa: E711 - elementwise
    if missing.any():
        row = rows_before + int(np.argmax(missing)) + 1
        raise DataError("the group is missing: give every row a group.", path, row, name)
    return texts.astype(str)


def _groups(column: Any, name: str, path: Path) -> NDArray[Any]:
    groups, codes = np.unique(group_texts(column, name, path), return_inverse=True)
    if groups.size == 1:
        raise DataError(
            f"every row is of the group {str(groups[0])!r}: rows of one group stay in one fold, so "
            "that several groups are needed.",
            path,
            column=name,
        )
    return codes
