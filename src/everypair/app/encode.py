"""From a table as people keep it to the matrix that a model is fitted on.

    numbers      missing values become the median, with a column that says so; then mean 0, sd 1
    true/false   as 0 and 1, then like numbers
    dates        day, month, weekday and hour, then like numbers
    categories   a 0/1 column for each of the frequent values, one for the others, one for missing
    dropped      columns of one value, identifiers, names, and text of which nearly every row has
                 its own (``keep`` uses them)

All is learnt from the training rows and travels with the model. svmlight files have numbers
only, mostly zero: each column is divided by its largest size, which leaves zeros where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from everypair.app.column_kinds import (
    DATE_PARTS,
    TOO_LARGE,
    centre,
    kind_of,
    not_too_large,
    number_parts,
    varies,
)
from everypair.app.files.cells import bare
from everypair.app.files.kinds import Misread, as_kind, forms_of, was_read
from everypair.app.files.problems import DataError
from everypair.app.identifiers import ONE_VALUE, why_left_out
from everypair.app.tables import arrow_table, canonical_table

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]

DENSE_FEATURES, DENSE_SHARE = 500, 0.25
"""A matrix of more features than this is sparse when fewer than this share are not zero."""


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of a table as numbers, the same way for new rows.

    Parameters
    ----------
    max_categories : int
        0/1 columns for one column of categories at most; rarer values share one, "(other)".
    min_rows : int
        Training rows that a value needs for a 0/1 column of its own.
    keep : names of columns or "all", default=()
        Columns to use even if they look like identifiers, names or text (`why_left_out`).

    Attributes
    ----------
    kinds_ : dict of the columns used, by name, and their kinds
    dropped_ : dict of the columns left out, and why

    Examples
    --------
    >>> from everypair.app.encode import TableEncoder
    >>> table = {"age": [20, 40, None, 60], "job": ["cook", "nurse", "cook", "nurse"]}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'job=cook', 'job=nurse']
    >>> encoder.transform({"age": [40], "job": ["pilot"]}).tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        max_categories: int = 100,
        min_rows: int = 2,
        keep: Sequence[str] | Literal["all"] = (),
    ):
        self.max_categories = max_categories
        self.min_rows = min_rows
        self.keep = keep

    def fit(self, X: Any, y: Any = None) -> Self:
        table = canonical_table(X)
        forms = forms_of(table)
        taken = set(table.column_names)
        kinds: dict[str, str] = {}
        dropped: dict[str, str] = {}
        numbers: list[tuple[str, float, float, float, bool]] = []
        self._forget_categories()
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = kind_of(column)
            why = why_left_out(name, column, kind, self.keep)
            kind = "category" if kind == "text" else kind
            if not why and kind == "category":
                why = self._learn_categories(name, column)
            elif not why:
                parts = list(number_parts(name, column, kind, taken))
                learnt = [(part, *centre(values, name)) for part, values in parts if varies(values)]
                numbers += learnt
                why = "" if learnt else ONE_VALUE
                if learnt:
                    taken.update(part for part, _ in parts)
            if why:
                dropped[name] = why
            else:
                kinds[name] = kind
        return self._keep_learnt(kinds, dropped, forms, numbers)

    def _forget_categories(self) -> None:
        self.categories_: dict[str, list[str]] = {}
        self.has_other_: dict[str, bool] = {}
        self.has_missing_: dict[str, bool] = {}

    def _keep_learnt(
        self,
        kinds: dict[str, str],
        dropped: dict[str, str],
        forms: Mapping[str, str],
        numbers: list[tuple[str, float, float, float, bool]],
    ) -> Self:
        """Of numbers: name, median, mean, standard deviation, and whether some are missing."""
        if not kinds:
            raise DataError(
                "no column is left to learn from: all are constant, text or identifiers (--keep "
                "uses a column of text or identifiers)."
            )
        # Arrays, not records: a model file of 100 000 columns is then a few arrays as well.
        self.used_, self.used_kinds_ = _words(kinds), _words(kinds.values())
        self.used_forms_ = _words(forms.get(name, "") for name in kinds)
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
    def forms_(self) -> dict[str, str]:
        """How the dates are written (`app.files.dates`), by column; "" for other columns."""
        return dict(zip(self.used_.tolist(), self.used_forms_.tolist(), strict=True))

    @property
    def dropped_(self) -> dict[str, str]:
        return dict(zip(self.unused_.tolist(), self.unused_why_.tolist(), strict=True))

    def _learn_categories(self, name: str, column: pa.ChunkedArray) -> str:
        import pyarrow.compute as pc

        counts = pc.value_counts(column).to_pylist()
        known = [(c["counts"], c["values"]) for c in counts if c["values"] is not None]
        return self._keep_categories(name, known, len(column) > sum(count for count, _ in known))

    def _keep_categories(self, name: str, known: list[tuple[int, str]], missing: bool) -> str:
        """Levels from how often each value occurs; why the column has none, or ""."""
        if len(known) + missing < 2:
            return ONE_VALUE
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
        return self.transform_into(X, lambda *shape: np.empty(shape))

    def transform_into(self, X: Any, empty: Callable[[int, int], Array]) -> Any:
        """`transform`, in an array of this shape from the caller: by columns it is quicker."""
        check_is_fitted(self)
        table = self._as_in_training(X)
        n_numbers, n_rows = self.numbers_.size, table.num_rows
        flags = np.flatnonzero(self.indicated_)
        n_dense = n_numbers + flags.size
        out = empty(n_rows, n_dense if self.sparse_ else self._n_features)
        out[:, n_numbers:] = 0.0
        place = 0
        for name, part, values in self._number_columns(table):
            if place < n_numbers and self.numbers_[place] == part:
                with not_too_large(name):
                    self._write_number(out, place, values)
                place += 1
        if place < n_numbers:
            raise DataError(
                "the columns of the encoder do not fit its kinds: the model file was changed."
            )
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

    def _number_columns(self, table: pa.Table) -> Iterator[tuple[str, str, Array]]:
        taken = {*self.used_.tolist(), *self.unused_.tolist()}
        for name, kind in self.kinds_.items():
            if kind != "category":
                parts = list(number_parts(name, table.column(name), kind, taken))
                taken.update(part for part, _ in parts)  # as in `fit`, in the same order
                for part, values in parts:
                    yield name, part, values

    def _codes(self, column: pa.ChunkedArray, name: str, levels: list[str]) -> NDArray[np.intp]:
        """The place of each value among the levels; -1 where it has none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        other = len(levels) if self.has_other_[name] else -1
        found = pc.fill_null(pc.index_in(column, value_set=pa.array(levels, column.type)), other)
        codes = np.array(found.to_numpy(), dtype=np.intp)
        if column.null_count:
            missing = len(levels) + self.has_other_[name] if self.has_missing_[name] else -1
            codes[pc.is_null(column).to_numpy()] = missing
        return codes

    def unseen(self, X: Any) -> dict[str, int]:
        """How many values of each column of categories did not occur in training."""
        table = self._as_in_training(X)
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

    def _as_in_training(self, X: Any) -> pa.Table:
        """The columns that are used, each read as the kind that it had."""
        import pyarrow as pa

        given = arrow_table(X)
        tidy = not was_read(given)
        place = {bare(name): k for k, name in enumerate(given.column_names)}
        columns = {}
        forms = self.forms_
        for name, kind in self.kinds_.items():
            if name not in place:
                raise DataError(
                    "this column was used in training and is missing here: add it to the file.",
                    column=name,
                )
            column = given.column(place[name])
            try:
                columns[name] = as_kind(column, kind, [forms[name]], tidy=tidy)
            except Misread as trouble:
                problem = f"{trouble}, as it was in training."
                raise DataError(problem, row=trouble.at + 1, column=name) from None
            except DataError as trouble:
                raise DataError(trouble.problem, column=name) from None
        return pa.table(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        check_is_fitted(self)
        plain, quoted = self._feature_names(str), self._feature_names(repr)
        counts = Counter(plain)
        names = [q if counts[p] > 1 else p for p, q in zip(plain, quoted, strict=True)]
        # 'job'=a and 'job=a' are two; with all in quotes no two features read alike.
        return np.array(names if len({*names}) == len(names) else quoted, dtype=object)

    def columns_of_features(self) -> list[str]:
        """The column of the table that each feature is made from."""
        check_is_fitted(self)
        of_numbers = self._columns_of_numbers()
        out = of_numbers + [of_numbers[k] for k in np.flatnonzero(self.indicated_)]
        for name, levels in self.categories_.items():
            out += [name] * (len(levels) + self.has_other_[name] + self.has_missing_[name])
        return out

    def _columns_of_numbers(self) -> list[str]:
        """Parts come in the order of their columns: one of a number, several of a date."""
        columns = iter([item for item in self.kinds_.items() if item[1] != "category"])
        out: list[str] = []
        name, kind, before = "", "", ("", 0)
        for part in self.numbers_.tolist():
            head, _, label = part.rpartition(": ")
            place = DATE_PARTS.index(label) if label in DATE_PARTS else -1
            if kind != "date" or head != before[0] or place <= before[1]:
                name, kind = next(columns, (name, kind))
            before = head, place
            out.append(name)
        return out

    def _feature_names(self, word: Callable[[str], str]) -> list[str]:
        names = [word(name) for name in self.numbers_.tolist()]
        names += [f"{word(name)} is missing" for name in self.numbers_[self.indicated_].tolist()]
        for name, levels in self.categories_.items():
            names += [f"{word(name)}={word(level)}" for level in levels]
            names += [f"{word(name)}=(other)"] * self.has_other_[name]
            names += [f"{word(name)}=(missing)"] * self.has_missing_[name]
        return names


class SparseEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Each column of a CSR matrix divided by its largest size: zeros stay zeros."""

    def fit(self, X: Any, y: Any = None) -> Self:
        size = abs(X).max(axis=0).toarray().ravel()
        if not np.all(np.isfinite(size)):
            column = int(np.flatnonzero(~np.isfinite(size))[0])
            raise DataError(
                "there are NaN or infinite values: give finite numbers.", column=str(column)
            )
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
        with np.errstate(over="ignore"):
            data = X.data / self.scale_[X.indices]
        if not np.all(np.isfinite(data)):
            column = int(X.indices[np.flatnonzero(~np.isfinite(data))[0]])
            raise DataError(TOO_LARGE, column=str(column))
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.arange(self.scale_.size).astype(str).astype(object)

    def columns_of_features(self) -> list[str]:
        """Each feature is a column."""
        return self.get_feature_names_out().tolist()


def encoder_for(X: Any) -> TableEncoder | SparseEncoder:
    """For a checked table: what `everypair.app.check_table` leaves out is not in it any more."""
    return SparseEncoder() if sparse.issparse(X) else TableEncoder(keep="all")


def unused(encoder: TableEncoder | SparseEncoder, most: int = 20) -> list[str]:
    """A sentence for each column (of the first ones) that the encoder leaves out."""
    dropped = list(getattr(encoder, "dropped_", {}).items())[:most]
    return [f"column {name!r} is not used: {why}." for name, why in dropped]


def _words(texts: Iterable[str]) -> NDArray[np.str_]:
    return np.array(list(texts), dtype=np.str_)
