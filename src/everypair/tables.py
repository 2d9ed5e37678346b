"""From a table as people keep it to the matrix that a model is fitted on.

    numbers      missing values become the median, with a column that says so; then mean 0, sd 1
    true/false   as 0 and 1, then like numbers
    dates        day, month, weekday and hour, then like numbers
    categories   a 0/1 column for each of the frequent values, one for the others, one for missing
    dropped      columns of one value, and text of which nearly every row has its own

All is learnt from the training rows and travels with the model. svmlight files have numbers
only, mostly zero: each column is divided by its largest size, which leaves zeros where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from everypair.data.problems import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]

ARROW_KINDS = {
    "number": "float64",
    "category": "string",
    "boolean": "bool",
    "date": "timestamp[us]",
}
"""How a column of each kind is read from a file of text."""

TEXT_SHARE, TEXT_LEAST = 0.5, 50
"""Text: more distinct values than this, and than this share of the rows."""

DENSE_FEATURES, DENSE_SHARE = 500, 0.25
"""A matrix of more features than this is sparse when fewer than this share are not zero."""

DAY = 86_400_000_000  # in the microseconds of Arrow's timestamps


def arrow_table(X: Any) -> pa.Table:
    """A pandas or polars frame, a mapping of columns, or an Arrow table, as an Arrow table."""
    import pyarrow as pa

    table = X if isinstance(X, pa.Table) else pa.table(X)
    for k, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(pa.string()))
    return table


def kind_of(column: pa.ChunkedArray) -> str:
    """``number``, ``boolean``, ``date``, ``category``, ``text``, ``constant`` or ``other``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    t = column.type
    if pa.types.is_dictionary(t):
        column = column.cast(t.value_type)
        t = column.type
    if pa.types.is_null(t):
        return "constant"
    if pa.types.is_boolean(t):
        return "boolean"
    if pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t):
        return "number"
    if pa.types.is_date(t) or pa.types.is_timestamp(t):
        return "date"
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t):
        distinct = pc.count_distinct(column).as_py()
        known = len(column) - column.null_count
        return "text" if distinct > max(TEXT_LEAST, TEXT_SHARE * known) else "category"
    return "other"


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of a table as numbers, the same way for new rows.

    Parameters
    ----------
    max_categories : int
        0/1 columns for one column of categories at most; rarer values share one, "(other)".
    min_rows : int
        A value needs so many training rows for a 0/1 column of its own.

    Attributes
    ----------
    kinds_ : dict of the columns used, by name, and their kinds
    dropped_ : dict of the columns left out, and why

    Examples
    --------
    >>> from everypair.tables import TableEncoder
    >>> table = {"age": [20, 40, None, 60], "job": ["cook", "nurse", "cook", "nurse"]}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'job=cook', 'job=nurse']
    >>> encoder.transform({"age": [40], "job": ["pilot"]}).tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, max_categories: int = 100, min_rows: int = 2):
        self.max_categories = max_categories
        self.min_rows = min_rows

    def fit(self, X: Any, y: Any = None) -> Self:
        table = arrow_table(X)
        kinds: dict[str, str] = {}
        dropped: dict[str, str] = {}
        numbers: list[tuple[str, float, float, float, bool]] = []
        self.categories_: dict[str, list[str]] = {}
        self.has_other_: dict[str, bool] = {}
        self.has_missing_: dict[str, bool] = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = kind_of(column)
            why = _why_dropped(name, kind)
            if not why and kind == "category":
                why = self._learn_categories(name, column)
            elif not why:
                learnt = [
                    (part, *_centre(values))
                    for part, values in _number_parts(name, column, kind)
                    if _varies(values)
                ]
                numbers += learnt
                why = "" if learnt else "it has one value only"
            if why:
                dropped[name] = why
            else:
                kinds[name] = kind
        if not kinds:
            raise DataError("no column is left to learn from: all are constant or text.")
        # Arrays, not records: a model file of 100 000 columns is then a few arrays as well.
        self.used_, self.used_kinds_ = _words(kinds), _words(kinds.values())
        self.unused_, self.unused_why_ = _words(dropped), _words(dropped.values())
        self.numbers_ = _words(name for name, *_ in numbers)
        self.fill_, self.mean_, self.scale_ = (
            np.array([row[k] for row in numbers], dtype=np.float64) for k in (1, 2, 3)
        )
        self.indicated_ = np.array([row[4] for row in numbers], dtype=bool)
        self.sparse_ = self._is_sparse()
        return self

    @property
    def kinds_(self) -> dict[str, str]:
        return dict(zip(self.used_.tolist(), self.used_kinds_.tolist(), strict=True))

    @property
    def dropped_(self) -> dict[str, str]:
        return dict(zip(self.unused_.tolist(), self.unused_why_.tolist(), strict=True))

    def _learn_categories(self, name: str, column: pa.ChunkedArray) -> str:
        import pyarrow.compute as pc

        counts = pc.value_counts(_text(column)).to_pylist()
        known = [(c["counts"], c["values"]) for c in counts if c["values"] is not None]
        missing = len(column) > sum(count for count, _ in known)
        if len(known) + missing < 2:
            return "it has one value only"
        known.sort(key=lambda pair: (-pair[0], pair[1]))
        kept = [value for count, value in known if count >= self.min_rows][: self.max_categories]
        if not kept:
            return "none of its values occurs twice"
        self.categories_[name] = sorted(kept)
        self.has_other_[name] = len(kept) < len(known)
        self.has_missing_[name] = missing
        return ""

    def _is_sparse(self) -> bool:
        filled = self.numbers_.size + len(self.categories_)
        n_features = self._n_features
        return n_features > DENSE_FEATURES and filled < DENSE_SHARE * n_features

    @property
    def _n_features(self) -> int:
        flags = sum(self.has_other_.values()) + sum(self.has_missing_.values())
        levels = sum(len(levels) for levels in self.categories_.values())
        return int(self.numbers_.size + np.count_nonzero(self.indicated_) + levels + flags)

    def transform(self, X: Any) -> Any:
        """A float64 array, or a CSR matrix where most entries would be zero."""
        check_is_fitted(self)
        table = arrow_table(X)
        self._check_columns(table)
        n_numbers, n_rows = self.numbers_.size, table.num_rows
        flags = np.flatnonzero(self.indicated_)
        n_dense = n_numbers + flags.size
        out = np.zeros((n_rows, n_dense if self.sparse_ else self._n_features))
        place = 0
        for part, values in self._number_columns(table):
            if place < n_numbers and self.numbers_[place] == part:
                self._write_number(out, place, values)
                place += 1
        rows, columns = [], []
        first = n_dense
        for name, levels in self.categories_.items():
            codes = self._codes(table.column(name), name, levels)
            held = np.flatnonzero(codes >= 0)
            if self.sparse_:
                rows.append(held)
                columns.append(codes[held] + first - n_dense)
            else:
                out[held, codes[held] + first] = 1.0
            first += len(levels) + self.has_other_[name] + self.has_missing_[name]
        if not self.sparse_:
            return out
        where = np.concatenate(rows), np.concatenate(columns)
        hot = sparse.csr_matrix(
            (np.ones(where[0].size), where), shape=(n_rows, self._n_features - n_dense)
        )
        return sparse.hstack([sparse.csr_matrix(out), hot], format="csr")

    def _write_number(self, out: Array, place: int, values: Array) -> None:
        missing = np.isnan(values)
        if missing.any():
            values = np.where(missing, self.fill_[place], values)
            if self.indicated_[place]:
                flag = self.numbers_.size + np.count_nonzero(self.indicated_[:place])
                out[missing, flag] = 1.0
        np.subtract(values, self.mean_[place], out=out[:, place])
        out[:, place] /= self.scale_[place]

    def _number_columns(self, table: pa.Table) -> Iterator[tuple[str, Array]]:
        for name, kind in self.kinds_.items():
            if kind != "category":
                yield from _number_parts(name, table.column(name), kind)

    def _codes(self, column: pa.ChunkedArray, name: str, levels: list[str]) -> NDArray[np.intp]:
        """The place of each value among the levels; -1 where it has none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = _text(column)
        other = len(levels) if self.has_other_[name] else -1
        found = pc.fill_null(pc.index_in(column, value_set=pa.array(levels, column.type)), other)
        codes = np.array(found.to_numpy(), dtype=np.intp)
        if column.null_count:
            missing = len(levels) + self.has_other_[name] if self.has_missing_[name] else -1
            codes[pc.is_null(column).to_numpy()] = missing
        return codes

    def unseen(self, X: Any) -> dict[str, int]:
        """How many values of each column of categories did not occur in training."""
        table = arrow_table(X)
        self._check_columns(table)
        found: dict[str, int] = {}
        for name, levels in self.categories_.items():
            if not self.has_other_[name]:  # else rare values and new ones look alike
                column = table.column(name)
                strange = int(np.count_nonzero(self._codes(column, name, levels) < 0))
                if not self.has_missing_[name]:
                    strange -= column.null_count
                if strange:
                    found[name] = strange
        return found

    def _check_columns(self, table: pa.Table) -> None:
        present = set(table.column_names)
        for name in self.used_.tolist():
            if name not in present:
                raise DataError("this column was there in training and is missing.", column=name)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        check_is_fitted(self)
        names = [*self.numbers_.tolist()]
        names += [f"{name} is missing" for name in self.numbers_[self.indicated_].tolist()]
        for name, levels in self.categories_.items():
            names += [f"{name}={level}" for level in levels]
            names += [f"{name}=(other)"] * self.has_other_[name]
            names += [f"{name}=(missing)"] * self.has_missing_[name]
        return np.array(names, dtype=object)


class SparseEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Each column of a CSR matrix divided by its largest size: zeros stay zeros."""

    def fit(self, X: Any, y: Any = None) -> Self:
        size = abs(X).max(axis=0).toarray().ravel()
        if not np.all(np.isfinite(size)):
            column = int(np.flatnonzero(~np.isfinite(size))[0])
            raise DataError("there are NaN or infinite values.", column=str(column))
        self.scale_ = np.where(size > 0, size, 1.0)
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        n_features = self.scale_.size
        X = sparse.csr_matrix(X)
        if X.shape[1] > n_features:  # features that training did not see have no weight
            X = X[:, :n_features]
        elif X.shape[1] < n_features:
            shape = (X.shape[0], n_features)
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=shape)
        if np.all(self.scale_ == 1):
            return X
        data = X.data / self.scale_[X.indices]
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.arange(self.scale_.size).astype(str).astype(object)


def encoder_for(X: Any) -> TableEncoder | SparseEncoder:
    return SparseEncoder() if sparse.issparse(X) else TableEncoder()


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X[rows] if sparse.issparse(X) else X.take(rows)


def _why_dropped(name: str, kind: str) -> str:
    if not name:
        return "it has no name (a saved row number?)"
    return {
        "text": "it is text: nearly every row has a value of its own",
        "constant": "it is empty",
        "other": "its type is neither a number, a date nor text",
    }.get(kind, "")


def _words(texts: Iterable[str]) -> NDArray[np.str_]:
    return np.array(list(texts), dtype=np.str_)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _number_parts(name: str, column: pa.ChunkedArray, kind: str) -> Iterable[tuple[str, Array]]:
    """The column as numbers, NaN where missing or infinite; several for a date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if kind != "date":
            if kind == "boolean":
                column = column.cast(pa.bool_()).cast(pa.int8())
            # Whole numbers beyond 2^53 round: they are ids, or large enough not to mind.
            return [(name, _floats(column.cast(pa.float64(), safe=False)))]
        column = column.cast(pa.timestamp("us"), safe=False)
    except pa.ArrowException as trouble:
        line = str(trouble).split("\n")[0]
        raise DataError(f"this column was a {kind} in training ({line}).", column=name) from trouble
    parts = [("day", _floats(column.cast(pa.int64()).cast(pa.float64(), safe=False)) / DAY)]
    for label, of in (("month", pc.month), ("weekday", pc.day_of_week), ("hour", pc.hour)):
        parts.append((label, _floats(of(column).cast(pa.float64()))))
    return [(f"{name}: {label}", values) for label, values in parts]


def _floats(column: pa.ChunkedArray) -> Array:
    values = column.to_numpy()
    infinite = np.isinf(values)
    return np.where(infinite, np.nan, values) if infinite.any() else values


def _varies(values: Array) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size and (known.size < values.size or np.any(known != known[0])))


def _centre(values: Array) -> tuple[float, float, float, bool]:
    """Median, then mean and standard deviation with the median filled in; is any missing?"""
    missing = np.isnan(values)
    some = bool(missing.any())
    fill = float(np.median(values[~missing]))
    filled = np.where(missing, fill, values) if some else values
    scale = float(filled.std())
    return fill, float(filled.mean()), scale if scale > 0 else 1.0, some
