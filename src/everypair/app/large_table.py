"""Tables larger than memory: Parquet files, learnt from in one pass and encoded block by block.

The pass keeps, of each column, what `TableEncoder` needs: of numbers the mean, the standard
deviation and a sketch of the median; of words how often each occurs. Beside them it keeps a sample
of rows, drawn by a hash of the row's number, or all rows where they are few. The data check, the
choice of settings and the numbers on held-out rows come from the sample, the model from all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.app.column_kinds import date_names, is_text, kind_of, not_too_large, number_parts
from everypair.app.encode import TableEncoder
from everypair.app.files.cells import bare
from everypair.app.files.kinds import Misread, as_kind, canonical, forms_of
from everypair.app.files.labels import column_codes, weights_of
from everypair.app.files.problems import DataError
from everypair.app.files.readers import Source, check_names, check_present
from everypair.app.identifiers import ONE_VALUE, UNUSABLE, names_in
from everypair.app.sketch import Moments, Values
from everypair.blocks.parquet import opened_parquet, parquet_files, unreadable
from everypair.blocks.source import BLOCK_BYTES, Buffers, RowBlocks, Target
from everypair.linalg.block_folds import hashed

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

LARGE_BYTES = 2**30
"""A Parquet file above this is read a piece at a time; a folder always is."""

WHOLE_VALUES = 5 * 10**7
"""Rows x columns of Parquet files up to which a comparison reads them whole, so that every model is
trained on all rows: it then takes up to 70 bytes per value."""

SAMPLE_ROWS = 100_000
PIECE_ROWS = 100_000

SAMPLE_SEED = 24
"""Of the hash that draws the sample: not that of any folds."""


def is_large(source: Source) -> bool:
    """Whether a fit reads it a piece at a time."""
    return source.path.is_dir() or n_bytes(source) > LARGE_BYTES


def n_bytes(source: Source) -> int:
    """Of the Parquet files on disk; 0 of another format, which is read whole."""
    path = source.path
    if path.is_dir():
        return sum(Path(file).stat().st_size for file in parquet_files(str(path)))
    return path.stat().st_size if path.is_file() and source.kind == "parquet" else 0


def fits_in_memory(source: Source, must: bool) -> bool:
    """Whether a comparison reads it whole; ``must``: because it has to, wherever it can at all."""
    if n_bytes(source) > LARGE_BYTES:
        return False
    if must or not n_bytes(source):
        return True
    n_rows = n_values = 0
    for file in parquet_files(str(source.path)):
        with opened_parquet(file) as opened:
            n_rows += opened.metadata.num_rows
            n_values += opened.metadata.num_rows * opened.metadata.num_columns
    return n_rows <= SAMPLE_ROWS or n_values <= WHOLE_VALUES


class Files:
    """Parquet files of one table, a piece at a time, in the order of their names."""

    def __init__(self, path: Path):
        self.path = path
        self.files = [Path(file) for file in parquet_files(str(path))]
        self.n_rows = 0
        first: Any = None
        for file in self.files:
            with opened_parquet(str(file)) as opened:
                schema = opened.schema_arrow
                self.n_rows += opened.metadata.num_rows
            names = [bare(name) for name in schema.names]
            check_names(names, file)
            if first is None:
                first, self.names = schema, names
            for name, kind in zip(first.names, first.types, strict=True):
                if name not in schema.names:
                    raise DataError(
                        f"the column is missing here, and {self.files[0].name} has it: write all "
                        "files with the same columns.", file, column=name,
                    )  # fmt: skip
                if schema.field(name).type != kind:
                    raise DataError(
                        f"the type is {schema.field(name).type} here and {kind} in "
                        f"{self.files[0].name}: write all files with the same types.",
                        file, column=name,
                    )  # fmt: skip
        self._given = dict(zip(self.names, first.names, strict=True))
        if self.n_rows == 0:
            raise DataError("there is no row of data.", path)

    def pieces(self, names: Sequence[str], n_rows: int) -> Iterator[Piece]:
        columns = [self._given[name] for name in names]
        for file in self.files:
            done = 0
            try:
                with opened_parquet(str(file)) as opened:
                    for batch in opened.iter_batches(n_rows, columns=columns):
                        if batch.num_rows:
                            yield Piece.of(file, done, batch)
                        done += batch.num_rows
            except OSError as trouble:
                raise unreadable(str(file), trouble) from trouble


@dataclass(frozen=True)
class Piece:
    """Some rows of a file, as they stand there."""

    file: Path
    rows_before: int
    table: pa.Table
    numbers: NDArray[np.intp] | None = None
    """Of the rows within the piece, where some were left out."""

    @classmethod
    def of(cls, file: Path, rows_before: int, batch: Any) -> Piece:
        import pyarrow as pa

        table = pa.Table.from_batches([batch])
        return cls(file, rows_before, table.rename_columns([bare(n) for n in table.column_names]))

    @property
    def name(self) -> str:
        last = self.rows_before + self.table.num_rows - 1
        return f"{self.file}, rows {self.rows_before} to {last},"

    def problem(self, trouble: DataError, column: str | None = None) -> DataError:
        """The same with its place in the file."""
        row = trouble.row if trouble.row is not None else getattr(trouble, "at", -1) + 1 or None
        if row is not None:
            row = row if self.numbers is None else int(self.numbers[row - 1]) + 1
            row += self.rows_before
        return DataError(trouble.problem, self.file, row, trouble.column or column)

    def only(self, rows: NDArray[np.intp]) -> Piece:
        return Piece(self.file, self.rows_before, self.table.take(rows), rows)


class Labels(NamedTuple):
    """The different labels as text, and which of them each row has."""

    words: NDArray[Any]
    codes: NDArray[np.integer]

    def counts(self) -> dict[str, int]:
        found = np.bincount(self.codes, minlength=self.words.size).tolist()
        return {word: n for word, n in zip(self.words, found, strict=True) if n}


@dataclass
class Sample:
    """Rows drawn by a hash of their number among those with a target."""

    numbers: list[NDArray[np.intp]] = field(default_factory=list)
    pieces: list[Any] = field(default_factory=list)
    texts: list[NDArray[Any]] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)


class LargeTable:
    """The files of a table, and what one pass over them has learnt."""

    def __init__(self, source: Source, target: str, weight: str | None, apart: Sequence[str]):
        self.files, self.target, self.weight = Files(source.path), target, weight
        self.formats = source.formats
        check_present([target, *([] if weight is None else [weight]), *apart], self.files.names,
                      source.path, apart)  # fmt: skip
        left = {target, weight, *apart}
        self.columns = [name for name in self.files.names if name and name not in left]
        if not self.columns:
            raise DataError("there is no column to learn from beside the target.", source.path)
        self.labels: Counter[str] = Counter()
        self.n_rows = self.n_missing = 0
        words: set[str] = set()
        while True:  # once more for each column of words that began as numbers or dates
            try:
                self._learn(words)
                return
            except _Reworded as column:
                words.add(str(column))

    # --- the pass --------------------------------------------------------------------------

    def _learn(self, words: set[str]) -> None:
        self.labels.clear()
        self.n_rows = self.n_missing = 0
        self.sample = Sample()
        self.learnt: dict[str, _Column] = {}
        names = [self.target, *([] if self.weight is None else [self.weight]), *self.columns]
        for whole in self.files.pieces(names, PIECE_ROWS):
            piece, labels = self.labelled(whole)
            n_rows = labels.codes.size
            self.n_missing += whole.table.num_rows - n_rows
            if not n_rows:
                continue
            weight = self.weights(piece)
            table = piece.table.select(self.columns)
            if not self.learnt:
                self._begin(piece, table, words)
            self.labels.update(labels.counts())
            self._draw(table, labels, weight)
            self.n_rows += n_rows
            for name, column in self.learnt.items():
                try:
                    column.add(table.column(name))
                except Misread as trouble:
                    if not column.begun_as_words:
                        raise piece.problem(trouble, name) from None
                    raise _Reworded(name) from None
                except DataError as trouble:
                    raise piece.problem(trouble, name) from None
        if self.n_rows == 0:
            raise DataError("the target has no value at all.", self.files.path, column=self.target)

    def labelled(self, piece: Piece) -> tuple[Piece, Labels]:
        """The rows that have a label, and their labels."""
        try:
            words, codes = column_codes(piece.table.column(self.target))
        except DataError as trouble:
            raise piece.problem(trouble, self.target) from None
        missing = np.array([word is None for word in words])[codes]
        if not missing.any():
            return piece, Labels(words, codes)
        rows = np.flatnonzero(~missing)
        return piece.only(rows), Labels(words, codes[rows])

    def weights(self, piece: Piece) -> Array | None:
        """Of the rows of `labelled`."""
        if self.weight is None:
            return None
        before = piece.rows_before if piece.numbers is None else 0
        return weights_of(piece.table.column(self.weight), self.weight, piece.file, before)

    def _begin(self, piece: Piece, table: pa.Table, words: set[str]) -> None:
        """The kind of each column from the first piece."""
        try:
            meant = canonical(table, formats=self.formats)
        except DataError as trouble:
            raise piece.problem(trouble) from None
        self.forms = forms_of(meant)
        for name in self.columns:
            kind = kind_of(meant.column(name))
            # None of the first rows has a value: words, if others have.
            kind = {"text": "category", "constant": "category"}.get(kind, kind)
            kind = "category" if name in words else kind
            form = self.forms.get(name, "") if kind == "date" else ""
            said = self.formats.for_column(name) if kind == "date" else ()
            as_words = kind_of(table.column(name)) in ("text", "category") and kind != "category"
            self.learnt[name] = _Column(name, kind, [*said, form], as_words)

    def _draw(self, table: pa.Table, labels: Labels, weight: Array | None) -> None:
        codes = labels.codes
        numbers = np.arange(self.n_rows, self.n_rows + codes.size)
        if self.files.n_rows > SAMPLE_ROWS:
            below = np.uint64(SAMPLE_ROWS / self.files.n_rows * 2.0**64)
            rows = np.flatnonzero(hashed(numbers, SAMPLE_SEED) < below)
            table, codes, numbers = table.take(rows), codes[rows], numbers[rows]
            weight = None if weight is None else weight[rows]
        self.sample.numbers.append(numbers)
        self.sample.pieces.append(table)
        self.sample.texts.append(labels.words[codes])
        if weight is not None:
            self.sample.weights.append(weight)

    # --- what it has learnt ----------------------------------------------------------------

    @property
    def sampled(self) -> bool:
        """Whether the sample is not all rows."""
        return sum(map(len, self.sample.numbers)) < self.n_rows

    def cleared(self) -> list[str]:
        """Columns of words that look like text or names in the sample, and not in the table."""
        return [
            name
            for name, column in self.learnt.items()
            if column.kind == "category"
            and not is_text(*(known := (column.words.n_rows - column.words.n_missing,
                                        column.words.n_words)))
            and not names_in(name, *known)
        ]  # fmt: skip

    def sample_table(self) -> pa.Table:
        """The sampled rows, each column as what it means in the whole table."""
        import pyarrow as pa

        table = canonical(pa.concat_tables(self.sample.pieces), formats=self.formats)
        for place, (name, column) in enumerate(self.learnt.items()):
            if column.kind not in UNUSABLE and kind_of(table.column(name)) == "constant":
                table = table.set_column(place, name, column.read(table.column(name)))
        return table

    def encoder(self, left_out: dict[str, str]) -> TableEncoder:
        """As `TableEncoder(keep="all")` learns it from all rows and these columns."""
        encoder = TableEncoder(keep="all")
        encoder._forget_categories()
        kinds: dict[str, str] = {}
        dropped: dict[str, str] = {}
        numbers: list[tuple[str, float, float, float, bool]] = []
        used = [name for name in self.columns if name not in left_out]
        taken = set(used)
        for name in used:
            column = self.learnt[name]
            if column.kind in UNUSABLE:
                dropped[name] = UNUSABLE[column.kind]
            elif column.kind == "category":
                known, missing = column.words.known(), column.words.n_missing > 0
                why = UNUSABLE["constant"] if not known else ""
                why = why or encoder._keep_categories(name, known, missing)
                if why:
                    dropped[name] = why
                else:
                    kinds[name] = column.kind
            else:
                names = date_names(name, taken) if column.kind == "date" else [name]
                pairs = zip(names, column.parts, strict=True)
                learnt = [(part, *of.centre(name)) for part, of in pairs if of.varies]
                numbers += learnt
                if learnt:
                    taken.update(names)
                    kinds[name] = column.kind
                else:
                    dropped[name] = ONE_VALUE
        forms = {name: self.forms.get(name, "") for name in kinds}
        return encoder._keep_learnt(kinds, dropped, forms, numbers)


class _Reworded(Exception):
    """A column whose first rows were numbers or dates in words, and later ones are not."""


class _Column:
    """What is learnt of one column."""

    def __init__(self, name: str, kind: str, forms: Sequence[str], begun_as_words: bool):
        self.name, self.kind, self.forms = name, kind, list(forms)
        self.begun_as_words = begun_as_words
        self.words = Values()
        self.parts: list[Moments] = []

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return as_kind(column, self.kind, self.forms)

    def add(self, given: pa.ChunkedArray) -> None:
        if self.kind in UNUSABLE:
            return
        column = self.read(given)
        if self.kind == "category":
            self.words.add(column)
            return
        parts = [values for _, values in number_parts(self.name, column, self.kind, set())]
        self.parts = self.parts or [Moments() for _ in parts]
        with not_too_large(self.name):
            for moments, values in zip(self.parts, parts, strict=True):
                moments.add(values)


class EncodedRows(RowBlocks):
    """The rows of a `LargeTable` as its encoder writes them: what a fit reads at each pass."""

    dtype = np.dtype(np.float64)

    def __init__(self, table: LargeTable, encoder: TableEncoder, positive: Sequence[str]):
        self.table, self.encoder, self._positive = table, encoder, list(positive)
        self._gaps = table.n_missing > 0
        self.n_features_in_ = encoder._n_features
        self.block_rows = max(1, BLOCK_BYTES // (8 * self.n_features_in_))

    def targets(self) -> Iterator[tuple[str, Target]]:
        """Labels and weights of each block."""
        table = self.table
        names = [table.target, *([] if table.weight is None else [table.weight])]
        for piece in table.files.pieces(names, self.block_rows):
            there, (words, codes) = table.labelled(piece)
            if codes.size:
                y = np.array([word in self._positive for word in words])[codes]
                yield there.name, Target(y, table.weights(there))

    def rows(self, columns: Any = slice(None)) -> Iterator[tuple[str, Any]]:
        """The encoded rows of each block."""
        table = self.table
        names = [*self.encoder.used_.tolist(), *([table.target] if self._gaps else [])]
        buffers = Buffers(self.dtype)
        for piece in table.files.pieces(names, self.block_rows):
            there = table.labelled(piece)[0] if self._gaps else piece
            if not there.table.num_rows:
                continue
            try:
                X = self.encoder.transform_into(there.table, buffers.empty)
            except DataError as trouble:
                raise there.problem(trouble) from None
            X = X.toarray() if sparse.issparse(X) else X
            yield there.name, X[:, columns]
