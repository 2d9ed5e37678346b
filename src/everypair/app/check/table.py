"""A look at the table before anything is learnt from it: what would make the results untrue."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from everypair.app.check.copies import kept_together
from everypair.app.check.leaks import leaks_of, leaks_of_sparse
from everypair.app.check.profiles import Profile, numbers_of, profiles_of
from everypair.app.check.row_hashes import Hash, codes_of, part_of_hash, row_hashes
from everypair.app.check.spellings import meant_otherwise
from everypair.app.column_kinds import kind_of
from everypair.app.files.cells import is_text
from everypair.app.files.kinds import marks_of, nameless_of
from everypair.app.identifiers import ALWAYS_LEFT_OUT, COUNTS, plain_name, why_left_out
from everypair.app.tables import as_table
from everypair.app.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Codes = NDArray[np.intp]

CLASS_SAMPLE = 10_000
"""Rows of each class on which single columns are ranked and correlated."""

RARE_SHARE = 0.001
"""Nearly constant: all rows but this share have one value."""

MANY_COPIES = 0.01
"""Share of copies from which they are a warning and not a note."""

FEWEST_IDS = 10
"""Values of a column called like an identifier from which its rows may belong together."""

SHARED_IDS = 0.9
"""Share of distinct values up to which such rows are worth keeping together."""

MOST_CORRELATED = 500
"""Columns of numbers that are compared with one another."""

NAMED_COLUMNS = 5
"""Columns that a sentence names before it counts the rest."""


LEAK = "if it is only known after the outcome,"


@dataclass(frozen=True)
class Finding:
    """One thing about the table, in one sentence that says what to do about it.

    Attributes
    ----------
    kind : str
        What it is about, in a word.
    severity : {"warning", "note"}
        Whether it needs a decision.
    sentence : str
        What was found and what to do.
    columns : tuple of str
        The columns that it is about.

    See Also
    --------
    check_table : Returns them.
    """

    kind: str
    severity: Literal["warning", "note"]
    sentence: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """What `check_table` found.

    Attributes
    ----------
    findings : tuple of Finding
        Most serious first.
    left_out : dict
        Columns that are not learnt from, and why.
    groups : array of shape (n_rows,)
        Rows to keep in one fold; None where each is on its own.

    See Also
    --------
    check_table : Returns it.
    """

    findings: tuple[Finding, ...]
    left_out: dict[str, str]  # columns that are not learnt from, and why
    groups: NDArray[Any] | None = field(repr=False, default=None)  # to be kept in one fold

    def used(self, X: Any) -> Any:
        """The table without the columns that are left out.

        Parameters
        ----------
        X : table
            As it was checked.

        Returns
        -------
        table
            Without the columns of ``left_out``.
        """
        return X.drop_columns(list(self.left_out)) if self.left_out else X


def check_table(
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    keep: Sequence[str] | Literal["all"] = (),
    row_numbers: ArrayLike | None = None,
) -> Check:
    """Look for copies of rows, leaks, identifiers, and columns that say nothing or say it twice.

    Parameters
    ----------
    X : Arrow table, pandas or polars frame, mapping of columns, array or CSR matrix
        Without the target.
    y : array of bool of shape (n_rows,)
        True where the row is positive.
    groups : array of shape (n_rows,), default=None
        Rows of one group belong together: they are tested together.
    keep : list of str or "all", default=()
        Columns to use even if they look like identifiers or names; ``"all"`` for every column.
    row_numbers : array of shape (n_rows,), default=None
        What the sentences call the rows; by default they count from 1.

    Returns
    -------
    Check
        ``findings``, most serious first; ``left_out``, the columns that `compare_methods` and the
        command line leave out, with the reason; ``groups``, the rows to keep in one fold: those
        given, joined where they share a copied row, and without any the sets of equal rows.

    See Also
    --------
    compare_methods : Begins with this check.

    Examples
    --------
    >>> from everypair.app import check_table
    >>> table = {"paid": [1.0, 0.0] * 20, "age": [30, 41, 52, 63, 30] * 8}
    >>> found = check_table(table, [False, True] * 20)
    >>> print(found.findings[0].sentence)
    column 'paid' alone tells the target (AUC 0.000): if it is only known after the outcome, leave \
it out with --drop paid.
    """
    X = as_table(X)
    y = truths(y, X.shape[0])
    given = None if groups is None else np.asarray(groups)
    hashes = row_hashes(X)
    if sparse.issparse(X):
        together, said = _copies(hashes, y, given)
        features = [
            Finding("leak", "warning", f"feature {j} {how}: {LEAK} leave it out of the file.", (j,))
            for j, how in leaks_of_sparse(X, y, _sample(y))
        ]
        return Check((*features, *said), {}, together)
    _, first = np.unique(hashes, return_index=True)
    judged = X if first.size == y.size else X.take(np.sort(first))  # ids recur in copies
    keep = [keep] if isinstance(keep, str) and keep != "all" else keep
    kinds = {name: kind_of(c) for name, c in zip(X.column_names, X.columns, strict=True)}
    left_out = {
        name: why
        for name, column in zip(X.column_names, judged.columns, strict=True)
        if (why := why_left_out(name, column, kinds[name], keep))
    }
    for k, name in enumerate(X.column_names):
        if left_out.get(name, "").startswith(COUNTS):  # of two copies, too
            hashes -= part_of_hash(X, k)
    used = X.drop_columns(list(left_out))
    rows = _sample(y)
    part = used if rows.size == y.size else used.take(rows)
    profiles = profiles_of(part, kinds, y[rows])
    drop = f"{LEAK} leave it out with --drop"
    leaks = [
        Finding("leak", "warning", f"column {k!r} {how}: {drop} {shlex.quote(k)}.", (k,))
        for k, how in leaks_of(profiles)
    ]
    together, said = _copies(hashes, y, given) if used.num_columns else (given, [])
    findings = [
        *leaks,
        *said,
        *_nameless(X),
        *_left_out(X, kinds, left_out, row_numbers),
        *_marked_missing(X),
        *_repeated_ids(used, kinds),
        *_nearly_constant(used),
        *_said_twice(used, part, kinds, profiles),
    ]
    findings.sort(key=lambda found: found.severity == "note")
    return Check(tuple(findings), left_out, together)


def truths(y: ArrayLike, n_rows: int) -> Bool:
    """Labels as bool: True and False, or 1 and 0."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has the shape {labels.shape}, and the table has {n_rows} rows.")
    known = np.isin(labels, (0, 1)) if labels.dtype.kind in "buif" else np.zeros(n_rows, bool)
    if not known.all():
        raise ValueError(
            f"y has the value {labels[~known][0]!r}: give True where the row is positive, such as "
            "y == 'yes'."
        )
    return labels.astype(bool)


def _copies(
    hashes: Hash, y: Bool, groups: NDArray[Any] | None
) -> tuple[NDArray[Any] | None, list[Finding]]:
    together, sentence = kept_together(hashes, y, groups)
    if not sentence:
        return together, []
    many = int(sentence.split()[0]) > MANY_COPIES * y.size
    return together, [Finding("copies", "warning" if many else "note", sentence)]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
    return ", ".join(repr(name) for name in names[:NAMED_COLUMNS]) + more


def _option(option: str, names: Iterable[str]) -> str:
    return " ".join(f"--{option} {shlex.quote(name)}" for name in names)


def _left_out(
    X: pa.Table, kinds: dict[str, str], left_out: dict[str, str], row_numbers: ArrayLike | None
) -> Iterable[Finding]:
    """Columns that are not used, and text that seems to be meant as something else."""
    numbers = None if row_numbers is None else np.asarray(row_numbers)
    for name, column in zip(X.column_names, X.columns, strict=True):
        words = kinds[name] in ("category", "text")
        meant = meant_otherwise(column, numbers) if words else ""
        if name in left_out:
            why = left_out[name] + (f", though {meant}" if meant else "")
            if not meant and why not in ALWAYS_LEFT_OUT:
                why += f" ({_option('keep', [name])} uses it)"
            yield Finding("left out", "note", f"column {name!r} is not used: {why}.", (name,))
        elif meant:
            text = f"column {name!r} is read as categories, though {meant}."
            yield Finding("spelling", "note", text, (name,))


def _nameless(X: pa.Table) -> Iterable[Finding]:
    if count := nameless_of(X):
        text = f"{counted(count, 'column')} without a name (a saved row number?): not used."
        yield Finding("left out", "note", text)


def _marked_missing(X: pa.Table) -> Iterable[Finding]:
    columns: dict[str, list[str]] = {}
    for name, marks in marks_of(X).items():
        spelled = " or ".join(repr(mark) for mark in marks)
        columns.setdefault(spelled, []).append(name)
    for spelled, names in columns.items():
        counts = [
            f"{name!r} ({X.column(name).null_count} missing)" for name in names[:NAMED_COLUMNS]
        ]
        more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
        text = f"columns with missing values spelled {spelled}: {', '.join(counts)}{more}."
        yield Finding("missing", "note", text, tuple(names))


def _sample(y: Bool) -> Codes:
    """At most `CLASS_SAMPLE` rows of each class."""
    rng = np.random.default_rng(0)
    parts = [
        members if members.size <= CLASS_SAMPLE else rng.choice(members, CLASS_SAMPLE, False)
        for members in (np.flatnonzero(y), np.flatnonzero(~y))
    ]
    return np.sort(np.concatenate(parts))


# Columns that say little, or what others say


def _repeated_ids(X: pa.Table, kinds: dict[str, str]) -> Iterable[Finding]:
    """Identifiers that several rows share: rows of one person, say, in different folds."""
    import pyarrow.compute as pc

    for name, column in zip(X.column_names, X.columns, strict=True):
        if kinds[name] not in ("number", "category") or not plain_name(name).endswith(
            ("_id", "_nr")
        ):
            continue
        distinct = pc.count_distinct(column).as_py()
        if max(FEWEST_IDS, 0.01 * len(column)) < distinct <= SHARED_IDS * len(column):
            text = (
                f"column {name!r} has {distinct} values in {len(column)} rows: if it names who or "
                f"what a row is about, say {_option('group', [name])} to keep its rows in one fold."
            )
            yield Finding("group", "note", text, (name,))


def _nearly_constant(X: pa.Table) -> Iterable[Finding]:
    import pyarrow.compute as pc

    found = []
    least = RARE_SHARE * X.num_rows
    if least < 1:
        return
    for name, column in zip(X.column_names, X.columns, strict=True):
        head = column.slice(0, int(1 / RARE_SHARE))
        if pc.count_distinct(head, mode="all").as_py() > 2:
            continue
        codes = np.unique(codes_of(column), return_inverse=True, return_counts=True)
        if 0 < X.num_rows - codes[2].max() <= least:
            found.append((name, X.num_rows - int(codes[2].max())))
    if len(found) == 1:
        name, others = found[0]
        text = f"column {name!r} has one value in all but {counted(others, 'row')}."
        yield Finding("nearly constant", "note", text, (name,))
    elif found:
        names = [name for name, _ in found]
        text = (
            f"{len(found)} columns have one value in over {100 * (1 - RARE_SHARE):.1f} % of the "
            f"rows: {_listed(names)}."
        )
        yield Finding("nearly constant", "note", text, tuple(names))


def _said_twice(
    X: pa.Table, part: pa.Table, kinds: dict[str, str], profiles: dict[str, Profile]
) -> Iterable[Finding]:
    """Columns equal to an earlier one, a renaming of its values, or a multiple of it."""
    first: dict[bytes, str] = {}
    pairs: list[tuple[str, str, str]] = []
    numbers: list[str] = []
    for name in X.column_names:
        found = profiles[name]
        if kinds[name] == "number" and found.n_levels > 2:
            numbers.append(name)
        alike = first.setdefault(found.partition, name)
        same = first.setdefault(found.content, name)
        if same is not name and _equal(X.column(same), X.column(name)):
            pairs.append((same, name, "is equal to"))
        elif alike is not name and found.n_levels * 2 < part.num_rows:
            pairs.append((alike, name, "says the same as"))  # two columns of ids are always images
    known = {name for _, name, _ in pairs}
    pairs += _correlated(part, [n for n in numbers if n not in known][:MOST_CORRELATED])
    for earlier, name, how in pairs[:NAMED_COLUMNS]:
        text = (
            f"column {name!r} {how} {earlier!r}: one of them is enough ({_option('drop', [name])})."
        )
        yield Finding("said twice", "note", text, (earlier, name))
    if len(pairs) > NAMED_COLUMNS:
        rest = [name for _, name, _ in pairs[NAMED_COLUMNS:]]
        many = f"{len(rest)} more columns say" if len(rest) > 1 else "1 more column says"
        text = f"{many} what others say: {_listed(rest)}."
        yield Finding("said twice", "note", text, tuple(rest))


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    if is_text(one.type) or is_text(other.type):
        return bool(one.equals(other))
    return np.array_equal(numbers_of(one), numbers_of(other), equal_nan=True)


def _correlated(part: pa.Table, names: Sequence[str]) -> list[tuple[str, str, str]]:
    columns, kept = [], []
    for name in names:
        values = numbers_of(part.column(name))
        if np.all(np.isfinite(values)) and (spread := values.std()) > 0 and np.isfinite(spread):
            columns.append((values - values.mean()) / spread)
            kept.append(name)
    if len(kept) < 2:
        return []
    Z = np.stack(columns)
    correlation = np.abs(Z @ Z.T) / Z.shape[1]
    found = []
    for j in range(1, len(kept)):
        i = int(np.argmax(correlation[j, :j]))
        if correlation[j, i] > 1 - 1e-9:
            found.append((kept[i], kept[j], "is perfectly correlated with"))
    return found
