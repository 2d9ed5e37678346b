"""Parquet files as a source of row blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.blocks.source import BLOCK_BYTES, Buffers, RowBlocks, Target
from everypair.linalg.block_shard import ALL

BUFFER_BYTES = 2**20
"""Of a column's file that are read at a time."""


class ParquetRows(RowBlocks):
    """Rows of a Parquet file, or of all Parquet files of a folder, read again at each pass.

    Memory holds one block of X at a time, 1 byte per row for the labels, the weights if there are
    any, and up to 24 bytes per row for scores.

    Parameters
    ----------
    path : str or path
        A Parquet file, or a folder with files ``*.parquet`` (also in folders inside it), which are
        read in the order of their names. All must have the same columns.
    target : str
        The column with the labels.
    columns : sequence of str, default=None
        The columns of X; None takes every column but the target and the weights. They must be
        numbers.
    sample_weight : str, default=None
        The column with the weights, >= 0; None means 1 for every row.
    block_rows : int, default=None
        Rows that are worked on at a time; None takes about 16 MB of X.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names.
    dtype : numpy.dtype
        float32 if every column fits in it without loss, else float64.
    n_rows : int
        Rows of all files.

    See Also
    --------
    ArrayRows : The same from arrays and ``.npy`` files.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from everypair import AUCClassifier
    >>> from everypair.blocks import ParquetRows
    >>> x = np.random.default_rng(0).standard_normal((400, 2))
    >>> table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] > x[:, 1] + 1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(2):
    ...         pq.write_table(table[200 * k : 200 * k + 200], f"{folder}/{k}.parquet")
    ...     model = AUCClassifier().fit(ParquetRows(folder, target="y"))
    >>> bool(np.allclose(model.coef_, AUCClassifier().fit(x, table["y"].to_numpy()).coef_))
    True
    >>> model.dual_gap_ <= 1e-6
    True
    """

    def __init__(
        self,
        path: str | PathLike[str],
        target: str,
        columns: Sequence[str] | None = None,
        sample_weight: str | None = None,
        block_rows: int | None = None,
    ):
        self.files = parquet_files(fspath(path))
        self.target, self.sample_weight = target, sample_weight
        first = _schema(self.files[0])
        apart = {target} if sample_weight is None else {target, sample_weight}
        names = [n for n in first.names if n not in apart] if columns is None else list(columns)
        self.n_rows = 0
        for file in self.files:
            self.n_rows += self._check(file, [*names, *sorted(apart)], first)
        if not names:
            raise ValueError(f"{self.files[0]} has no column beside {target!r}: there is no X.")
        self.dtype = _dtype(first, names, self.files[0])
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        per_row = self.dtype.itemsize * len(names)
        self.block_rows = max(1, BLOCK_BYTES // per_row if block_rows is None else block_rows)

    def _check(self, file: str, names: list[str], first: Any) -> int:
        """The rows of a file whose columns are those of the first."""
        found = _schema(file)
        for name in names:
            if name not in found.names:
                raise ValueError(
                    f"{file} has no column {name!r}: its columns are {_listed(found.names)}."
                )
            if found.field(name).type != first.field(name).type:
                raise ValueError(
                    f"Column {name!r} is {found.field(name).type} in {file}, but "
                    f"{first.field(name).type} in {self.files[0]}: write all files with the same "
                    "types."
                )
        return opened_parquet(file).metadata.num_rows

    def _batches(self, names: list[str]) -> Iterator[tuple[str, Any]]:
        for file in self.files:
            done = 0
            try:
                with opened_parquet(file) as opened:
                    for batch in opened.iter_batches(self.block_rows, columns=names):
                        if batch.num_rows:
                            where = f"{file}, rows {done} to {done + batch.num_rows - 1},"
                            yield where, batch
                        done += batch.num_rows
            except OSError as error:
                raise unreadable(file, error) from error

    def targets(self) -> Iterator[tuple[str, Target]]:
        names = [self.target] if self.sample_weight is None else [self.target, self.sample_weight]
        for where, batch in self._batches(names):
            y, weight = batch.column(self.target), None
            if y.null_count:
                raise ValueError(
                    f"The target of {where} has missing values: leave out the rows without a label."
                )
            if self.sample_weight is not None:
                weight = _numbers(batch.column(self.sample_weight), np.dtype(np.float64))
            yield where, Target(_labels(y), weight)

    def rows(self, columns: Any = ALL) -> Iterator[tuple[str, NDArray[Any]]]:
        assert self.feature_names_in_ is not None
        names = self.feature_names_in_[columns].tolist()
        buffers = Buffers(self.dtype)
        for where, batch in self._batches(names):
            X = buffers.empty(batch.num_rows, len(names))
            for k, name in enumerate(names):
                X[:, k] = _numbers(batch.column(name), self.dtype)
            yield where, X


def parquet_files(path: str) -> list[str]:
    """The Parquet files below a folder, or the one file; names in "." and "_" are not data.

    Spark, Arrow and Delta keep checkpoints, temporary files and logs under such names.
    """
    folder = Path(path)
    if folder.is_dir():
        found = sorted(
            str(file)
            for file in folder.rglob("*.parquet")
            if not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        )
        if not found:
            raise ValueError(
                f"{path!r} is a folder without a *.parquet file: give a file, or a folder of "
                "Parquet files."
            )
        return found
    if not folder.exists():
        raise ValueError(f"There is no file or folder {path!r}.")
    return [path]


def opened_parquet(file: str) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "ParquetRows needs pyarrow: pip install 'everypair[cli]' or 'pyarrow'."
        ) from error
    try:
        # Through a buffer per column: a whole file ahead would stay in memory.
        return parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error


def unreadable(file: str, error: Exception) -> ValueError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ValueError(f"{file} cannot be read as Parquet ({reason}): write it again or remove it.")


def _schema(file: str) -> Any:
    with opened_parquet(file) as opened:
        return opened.schema_arrow


def _listed(names: list[str], most: int = 8) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _dtype(schema: Any, names: list[str], file: str) -> np.dtype[Any]:
    from pyarrow import types

    narrow = True
    for name in names:
        kind = schema.field(name).type
        if types.is_floating(kind):
            narrow &= kind.bit_width <= 32
        elif types.is_integer(kind):
            narrow &= kind.bit_width <= 16
        elif not types.is_boolean(kind):
            raise ValueError(
                f"Column {name!r} of {file} is {kind}, not a number: leave it out by columns=, or "
                "encode it first (the command `everypair fit` does)."
            )
    return np.dtype(np.float32 if narrow else np.float64)


def _numbers(column: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """As an array; missing values are NaN."""
    from pyarrow import compute, types

    if column.null_count or types.is_boolean(column.type):
        column = compute.cast(column, "float32" if dtype == np.float32 else "float64")
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _labels(column: Any) -> NDArray[Any]:
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype.kind == "O" else values
