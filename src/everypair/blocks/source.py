"""What a source of row blocks must give, and the engine made of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from everypair.checks import distinct_labels
from everypair.linalg.block_shard import ALL
from everypair.linalg.blocks import LocalBlocks

Item = TypeVar("Item")

MOST_GATHERED_BYTES = 2**33
"""Losses that need all scores at once (the hinges) are refused where that would take more."""

BLOCK_BYTES = 2**24
"""Of X in one block: large enough to hide the cost of a block, small beside the memory."""


class Target(NamedTuple):
    """Labels and weights of one block."""

    y: NDArray[Any]
    weight: NDArray[Any] | None


class Buffers:
    """Memory for blocks that is used again: new pages cost as much as reading does.

    An array is written over when the third block after it is asked for. By then nobody looks at it:
    one block is worked on while the next is read.
    """

    def __init__(self, dtype: np.dtype[Any]):
        self._arrays = [np.empty(0, dtype=dtype) for _ in range(3)]

    def empty(self, n_rows: int, n_columns: int) -> NDArray[Any]:
        """Each column in one piece."""
        size, array = n_rows * n_columns, self._arrays.pop(0)
        if array.size < size:
            array = np.empty(size, dtype=array.dtype)
        self._arrays.append(array)
        return array[:size].reshape((n_rows, n_columns), order="F")


class RowBlocks:
    """A re-iterable source of row blocks: the base of `ParquetRows` and `ArrayRows`.

    A subclass gives ``n_features_in_``, ``dtype``, `targets` and `rows`; ``feature_names_in_``
    where the columns have names. Blocks come in the same order each time, and empty ones are
    left out. The memory of a block may be used again for a later one.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    dtype : numpy.dtype
        Of X: float32 or float64.
    feature_names_in_ : array of shape (n_features_in_,) or None
        Names of the columns of X.

    See Also
    --------
    ParquetRows : Parquet files.
    ArrayRows : Arrays, in memory or mapped from ``.npy`` files.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.blocks import ArrayRows, RowBlocks
    >>> blocks = ArrayRows(np.eye(3), [0, 1, 1])
    >>> isinstance(blocks, RowBlocks), blocks.labels().tolist()
    (True, [0, 1, 1])
    """

    n_features_in_: int
    dtype: np.dtype[Any]
    feature_names_in_: NDArray[Any] | None = None

    def targets(self) -> Iterator[tuple[str, Target]]:
        """Read the labels and weights, block by block.

        Yields
        ------
        tuple of str and Target
            The name of a block, for messages, and ``y`` and ``weight`` of its rows.
        """
        raise NotImplementedError

    def rows(self, columns: Any = ALL) -> Iterator[tuple[str, NDArray[Any]]]:
        """Read X, block by block; copy what is to outlive a block.

        Parameters
        ----------
        columns : slice or array of int, default=slice(None)
            Numbers of the columns to read.

        Yields
        ------
        tuple of str and array of shape (n_rows_of_block, n_columns)
            The name of a block, for messages, and its rows.
        """
        raise NotImplementedError

    def labels(self) -> NDArray[Any]:
        """The labels of all rows, for `everypair.metrics` beside a model's scores of them.

        Returns
        -------
        array of shape (n_rows,)
            One label per row, in the order of the rows.
        """
        return np.concatenate([target.y for _, target in self.targets()])

    def check_columns(self, model: Any) -> None:
        """Raise ValueError if these are not the columns that a model was fitted on.

        Parameters
        ----------
        model : fitted estimator
            With ``n_features_in_``, and ``feature_names_in_`` if its columns had names.
        """
        names, fitted = self.feature_names_in_, getattr(model, "feature_names_in_", None)
        if self.n_features_in_ != model.n_features_in_ or (
            names is not None and fitted is not None and not np.array_equal(names, fitted)
        ):
            raise ValueError(
                f"The rows have the columns {_some(names, self.n_features_in_)}, but the model was "
                f"fitted on {_some(fitted, model.n_features_in_)}: give the same in the same order."
            )

    def engine(self, name: str) -> tuple[LocalBlocks, NDArray[Any]]:
        """Return the blocks as a fit needs them, and the two labels.

        Parameters
        ----------
        name : str
            The estimator, for messages.

        Returns
        -------
        tuple of LocalBlocks and array of shape (2,)
            The blocks, and the labels in order: the second is the positive one.
        """
        positive, weights, labels = [], [], np.empty(0)
        for where, (y, weight) in self.targets():
            labels = _two_labels(labels, y, where, name)
            if weight is not None:
                _check_weights(weight, where)
                weights.append(weight)
            # Which label is the positive one is known when both have been seen.
            positive.append((y == labels[0], labels[0]))
        if labels.size < 2:
            raise ValueError(
                f"{name} needs two classes, but y has only "
                f"{'no row' if labels.size == 0 else f'one class: {labels[0]}'}."
            )
        classes = np.unique(labels)
        which = [is_first == (first == classes[1]) for is_first, first in positive]
        engine = LocalBlocks(
            lambda columns: read_ahead(lambda: self.rows(columns)),
            which,
            weights or None,
            self.n_features_in_,
            np.dtype(self.dtype).itemsize,
        )
        return engine, classes


class EngineRows(RowBlocks):
    """Rows of an engine that is there already, such as a fold of one."""

    def __init__(self, blocks: Any, classes: NDArray[Any], names: NDArray[Any] | None):
        self.blocks, self.classes, self.feature_names_in_ = blocks, classes, names
        self.n_features_in_ = blocks.n_columns

    def engine(self, name: str) -> tuple[Any, NDArray[Any]]:
        """The engine and the labels as they are."""
        return self.blocks, self.classes


def _some(names: NDArray[Any] | None, n: int) -> str:
    if names is None:
        return f"1 to {n}"
    return ", ".join(map(str, names[:5])) + (f" and {n - 5} more" if n > 5 else "")


def _two_labels(known: NDArray[Any], y: NDArray[Any], where: str, name: str) -> NDArray[Any]:
    """The labels seen so far, the first of all first."""
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError(f"The target of {where} has NaN: leave out the rows without a label.")
    found = distinct_labels(y)
    new = found if known.size == 0 else found[~np.isin(found, known)]
    labels = np.concatenate([known, new]) if known.size else new
    if labels.size > 2:
        raise ValueError(
            f"Only binary classification is supported by {name}: in {where} the target has a "
            f"third label, {labels[2]!r}, beside {labels[0]!r} and {labels[1]!r}."
        )
    if labels.dtype.kind == "f" and np.any(labels != np.floor(labels)):
        raise ValueError(
            f"The target of {where} has the value {labels[labels != np.floor(labels)][0]}: "
            "give two labels, not a continuous target."
        )
    return labels


def _check_weights(weight: NDArray[Any], where: str) -> None:
    if not np.all(np.isfinite(weight)):
        raise ValueError(f"sample_weight of {where} has NaN or infinite values.")
    if weight.size and (least := weight.min()) < 0:
        raise ValueError(
            f"sample_weight of {where} has the negative value {least:g}: weights must be >= 0."
        )


def read_ahead(items: Callable[[], Iterator[Item]]) -> Generator[Item, None, None]:
    """The items; while one is worked on, the next is read by another thread."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="everypair-read") as pool:
        iterator = pool.submit(items).result()
        ahead = pool.submit(next, iterator, end)
        while (item := ahead.result()) is not end:
            ahead = pool.submit(next, iterator, end)
            yield item  # type: ignore[misc]
