"""A table larger than memory as a command learns from it: what one pass knows, and a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from everypair.app import check_table, large_table
from everypair.app.cli import options as opt
from everypair.app.cli.inputs import Labelled, choose_positive, load_labelled, spelled_alike
from everypair.app.cli.process_memory import give_back_large_arrays
from everypair.app.comparison.all_rows import AllRows
from everypair.app.files.problems import DataError
from everypair.app.large_table import EncodedRows, LargeTable, fits_in_memory
from everypair.app.wording import counted

if TYPE_CHECKING:
    from everypair.app.files.readers import Source


def load_large(
    source: Source, columns: opt.Columns, show: opt.Show
) -> tuple[LargeTable, Labelled, Any, list[str]]:
    """The table after its one pass; its sample as a table in memory, checked; the numbers of the
    sample's rows; and the spellings of the positive label."""
    target = str(columns.target)
    keep, drop = columns.keep or (), columns.drop or ()
    named = {"--drop": drop, "--keep": keep, "--weight": [columns.weight]}
    for option, names in named.items():
        if target in names:
            raise DataError(
                f"this is the target: it cannot be {option} as well.", source.path, column=target
            )
    give_back_large_arrays()
    table = LargeTable(source, target, columns.weight, drop)
    usual, said = spelled_alike(table.labels)
    counts: dict[str, int] = {}
    for text, count in table.labels.items():
        counts[usual.get(text, text)] = counts.get(usual.get(text, text), 0) + count
    values = np.array(sorted(counts))
    if values.size == 1:
        raise DataError(
            f"the target has the single value {str(values[0])!r}: two classes are needed.",
            source.path, column=target,
        )  # fmt: skip
    of_values = np.array([counts[str(value)] for value in values])
    chosen, other, why = choose_positive(values, of_values, columns.positive, target, source.path)
    positive = [text for text in table.labels if usual.get(text, text) == chosen]
    sample = table.sample
    y = np.isin(np.concatenate(sample.texts).astype(str), positive)
    weight = np.concatenate(sample.weights) if sample.weights else None
    rows = Labelled(
        table.sample_table(), y, weight, None, target, chosen, other,
        ranked=f"Ranked first: {target} = {chosen!r}, {why}.", notes=said,
    )  # fmt: skip
    if table.n_missing:
        rows.notes.append(f"{counted(table.n_missing, 'row')} without a target left out.")
    if table.sampled:
        rows.notes.append(
            f"the table is read a piece at a time: the data check, the settings and the numbers on "
            f"held-out rows come from {y.size} of the {table.n_rows} rows, drawn by a hash of the "
            "row's number. Linear models of everypair are fitted on all rows."
        )
    cleared = table.cleared() if table.sampled else []
    rows.check = check_table(rows.X, y, keep=[*keep, *cleared])
    show.say(rows.ranked)
    for finding in rows.check.findings:
        show.finding(finding)
    show.notes(rows.notes)
    return table, rows, np.concatenate(sample.numbers), positive


def load_or_sample(
    source: Source, columns: opt.DirectedColumns, show: opt.Show
) -> tuple[Labelled, AllRows | None]:
    """The whole table; or, where it is large, a sample of its rows, and all of them in blocks."""
    refused = {
        "--group": columns.group, "--within": columns.within,
        "--increasing": columns.increasing, "--decreasing": columns.decreasing,
        "--interactions": columns.interactions, "--sparsity": columns.sparsity,
    }  # fmt: skip
    asked = [option for option, given in refused.items() if given is not None]
    if columns.target is None or fits_in_memory(source, must=bool(asked)):
        return load_labelled(source, columns, show), None
    if asked:
        raise DataError(
            f"{asked[0]} needs the table in memory, and this one is larger than "
            f"{large_table.LARGE_BYTES / 2**30:g} GiB: leave it out, or give fewer rows.",
            source.path,
        )
    table, rows, numbers, positive = load_large(source, columns, show)
    if rows.check.groups is not None:
        rows.notes.append("copies of a row may be in several folds, which are by row number here.")
    encoder = table.encoder(rows.check.left_out)
    X = encoder.transform(rows.check.used(rows.X))
    return rows, AllRows(EncodedRows(table, encoder, positive), numbers, X)
