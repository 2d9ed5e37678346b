"""svmlight files: a label and the features that are not zero, as a CSR matrix."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.files.problems import DataError
from everypair.app.files.table_file import CHUNK_BYTES, Source, first_line

LABEL = "label"
"""What the first number of an svmlight line is called."""

MOST_FEATURES = 2**26
"""Every model has numbers for each feature, used or not. Kdd2012, the widest of LIBSVM's data
sets, has 54.7 million features."""

NO_ROWS = "the file has no row of data."


@dataclass(frozen=True)
class SparseTable:
    """Rows of an svmlight file: column k of X is the feature that the file calls k."""

    X: Any
    label: NDArray[np.float64]

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: NDArray[np.intp]) -> SparseTable:
        return SparseTable(self.X[rows], self.label[rows])


def read_svmlight(source: Source) -> SparseTable:
    with source.open() as file:
        table = _parsed(source, file.read())
    if table.num_rows == 0:
        raise DataError(NO_ROWS, source.path)
    return table


def _parsed(source: Source, text: bytes, rows_before: int = 0) -> SparseTable:
    from sklearn.datasets import load_svmlight_file

    try:
        # zero_based=True keeps the file's own numbers, whether they begin at 0 or at 1.
        X, label = load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, UnicodeDecodeError, OverflowError) as trouble:
        row = rows_before + _bad_row(text)
        raise DataError(
            f"this is not a line of svmlight ({first_line(trouble)}).", source.path, row
        ) from trouble
    if X.shape[1] > MOST_FEATURES:
        row = int(np.searchsorted(X.indptr, np.argmax(X.indices), side="right"))
        raise DataError(
            f"there is a feature of the number {X.shape[1] - 1}, and {MOST_FEATURES - 1} is the "
            "largest allowed: number the features without gaps.",
            source.path,
            rows_before + row,
        )
    return SparseTable(X, label)


def _bad_row(text: bytes) -> int:
    row = 0
    for line in text.splitlines():
        content = line.split(b"#")[0].split()
        if not content:
            continue
        row += 1
        try:
            float(content[0])
            last = -1
            for item in content[1:]:
                name, value = item.split(b":")
                if name != b"qid":
                    float(value)
                    if int(name) <= last:
                        return row
                    last = int(name)
        except ValueError:
            return row
    return max(row, 1)


def svmlight_chunks(source: Source) -> Iterator[SparseTable]:
    rows = 0
    with source.open() as file:
        while lines := file.readlines(CHUNK_BYTES):
            piece = _parsed(source, b"".join(lines), rows)
            rows += piece.num_rows
            if piece.num_rows:  # else there are comments only
                yield piece
    if rows == 0:
        raise DataError(NO_ROWS, source.path)
