"""Arrays as a source of row blocks: in memory, or mapped from ``.npy`` files."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.blocks.source import BLOCK_BYTES, RowBlocks, Target
from everypair.linalg.block_shard import ALL
from everypair.linalg.row_sums import slices


class ArrayRows(RowBlocks):
    """Rows of arrays, or of ``.npy`` files that are mapped into memory and never read whole.

    Parameters
    ----------
    X : array of shape (n_rows, n_features) or path
        The features in float32 or float64, or a ``.npy`` file with them.
    y : array of shape (n_rows,) or path
        Two distinct labels, or a ``.npy`` file with them.
    sample_weight : array of shape (n_rows,) or path, default=None
        Weights >= 0; None means 1 for every row.
    block_rows : int, default=None
        Rows that are worked on at a time; None takes about 16 MB of X.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    dtype : numpy.dtype
        Of X.

    See Also
    --------
    ParquetRows : The same from Parquet files.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair import AUCClassifier
    >>> from everypair.blocks import ArrayRows
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> y = X[:, 0] + X[:, 1] > 0.5
    >>> model = AUCClassifier().fit(ArrayRows(X, y, block_rows=100))
    >>> bool(np.allclose(model.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-9))
    True
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | str | PathLike[str] | None = None,
        block_rows: int | None = None,
    ):
        self._X, self._y = _opened(X, "X"), np.asarray(_opened(y, "y"))
        self._weight = None if sample_weight is None else _opened(sample_weight, "sample_weight")
        if self._X.ndim != 2 or self._X.shape[1] == 0:
            raise ValueError(f"X has shape {self._X.shape}: give a table of rows and columns.")
        if self._X.dtype not in (np.float32, np.float64):
            raise ValueError(f"X has dtype {self._X.dtype}: give float32 or float64.")
        n_rows = self._X.shape[0]
        for values, name in ((self._y, "y"), (self._weight, "sample_weight")):
            if values is not None and values.shape != (n_rows,):
                raise ValueError(
                    f"{name} has shape {values.shape}, but X has {n_rows} rows: give one per row."
                )
        self.n_features_in_, self.dtype = self._X.shape[1], self._X.dtype
        per_row = self._X.dtype.itemsize * self.n_features_in_
        self.block_rows = max(1, BLOCK_BYTES // per_row if block_rows is None else block_rows)

    def _slices(self) -> Iterator[slice]:
        yield from slices(0, self._X.shape[0], self.block_rows)

    def targets(self) -> Iterator[tuple[str, Target]]:
        for rows in self._slices():
            weight = None if self._weight is None else np.asarray(self._weight[rows])
            yield f"rows {rows.start} to {rows.stop - 1}", Target(self._y[rows], weight)

    def rows(self, columns: Any = ALL) -> Iterator[tuple[str, NDArray[Any]]]:
        for rows in self._slices():
            yield f"rows {rows.start} to {rows.stop - 1}", np.asarray(self._X[rows][:, columns])


def _opened(values: Any, name: str) -> NDArray[Any]:
    if not isinstance(values, str | PathLike):
        return np.asarray(values)
    try:
        return np.load(fspath(values), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"{name}={fspath(values)!r} is not a readable .npy file.") from error
