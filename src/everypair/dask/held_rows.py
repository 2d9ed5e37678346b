"""The rows of a block on its worker: from chunks of Dask collections, checked."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from everypair.checks import distinct_labels, group_labels, is_missing
from everypair.linalg.block_shard import ClassTotals, class_totals


class HeldBlock(NamedTuple):
    """The rows of one block on its worker, and vectors with a number per row that a fit keeps."""

    number: int
    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[Any] | None
    vectors: dict[str, NDArray[Any]]
    """By their tokens. They go with the block, and may be lost with it."""
    groups: NDArray[np.intp] | None = None
    """Numbered from 0; rows come group by group, and no other block has rows of these groups."""


class Seen(NamedTuple):
    """What the client knows of a block."""

    n_rows: int
    n_columns: int
    itemsize: int
    labels: NDArray[Any]
    of_labels: dict[Any, ClassTotals]
    trouble: str | None


def parts_of(given: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The chunks of X, of y, of the weights and of the groups, one tuple per block."""
    X = given["X"]
    for name, values in given.items():
        if not hasattr(values, "to_delayed"):
            raise ValueError(
                f"{name} is a {type(values).__name__}: give a dask.array or a dask.dataframe, for "
                "example by dask.array.from_array."
            )
    if hasattr(X, "chunks") and X.ndim > 2:
        raise ValueError(f"X has {X.ndim} dimensions: give a table of rows and columns.")
    if hasattr(X, "chunks") and X.ndim == 2 and X.numblocks[1] != 1:
        X = given["X"] = X.rechunk({1: -1})
    rows: Any = X.chunks[0] if hasattr(X, "chunks") else None
    known = rows is not None and not np.isnan(rows).any()
    parts = []
    for name, values in given.items():
        chunks: Any = values.chunks[0] if hasattr(values, "chunks") else None
        if chunks is None:
            parts.append(list(values.to_delayed()))
            continue
        alike = values
        if known and not np.isnan(chunks).any() and chunks != rows:
            if sum(chunks) != sum(rows):
                raise ValueError(
                    f"{name} has {sum(chunks)} values, but X has {sum(rows)} rows: one per row."
                )
            alike = values.rechunk((rows, *values.chunks[1:]))
        parts.append(alike.to_delayed().ravel().tolist())
    for name, of in zip(given, parts, strict=True):
        if len(of) != len(parts[0]):
            raise ValueError(
                f"{name} has {len(of)} blocks, but X has {len(parts[0])}, and the sizes of some "
                "are unknown: call compute_chunk_sizes() on the arrays first."
            )
    return list(zip(*parts, strict=True))


def held(number: int, X: Any, y: Any, weight: Any = None) -> HeldBlock:
    if hasattr(X, "tocsr"):
        raise ValueError(
            f"Block {number}: X is a sparse {type(X).__name__}: give dense blocks, for example by "
            "dX.map_blocks(lambda block: block.toarray())."
        )
    X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if X.ndim == 1:
        X = X[:, None]  # one column: scores
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    # What came from another worker begins at any byte: NumPy would copy it for every product.
    X = np.require(X, requirements=["ALIGNED"])
    if weight is not None:
        weight = weight.to_numpy() if hasattr(weight, "to_numpy") else np.asarray(weight)
        weight = weight.astype(np.float64, copy=False)
    if y.dtype == object:
        if any(map(is_missing, y.ravel())):
            raise ValueError(
                f"Block {number}: y has NaN or None: leave out the rows without a label."
            )
        y = y.astype(str)
    return HeldBlock(number, X, y, weight, {})


class Placed(NamedTuple):
    """Rows on their way to the block of their group."""

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[Any] | None
    labels: NDArray[Any]
    """Of the groups."""
    block: NDArray[np.intp]
    """Where each row goes."""

    def of(self, rows: NDArray[np.intp]) -> Placed:
        weight = None if self.weight is None else self.weight[rows]
        return Placed(self.X[rows], self.y[rows], weight, self.labels[rows], self.block[rows])


def placed(number: int, n_blocks: int, X: Any, y: Any, *more: Any) -> Placed:
    """The rows of a block and where they go: that depends on the label of their group alone."""
    *weight, within = more
    block = held(number, X, y, *weight)
    if trouble := _sizes_differ(block):
        raise ValueError(f"Block {number}: {trouble}")
    within = within.to_numpy() if hasattr(within, "to_numpy") else np.asarray(within)
    empty = len(block.y) == len(within) == 0
    labels = within if empty else group_labels(within, len(block.y), "within")
    labels = labels.astype(str) if labels.dtype == object else labels
    names, codes = np.unique(labels, return_inverse=True)
    # Not Python's hash, which differs from process to process.
    places = [crc32(str(name).encode()) % n_blocks for name in names.tolist()]
    return Placed(block.X, block.y, block.weight, labels, np.array(places, dtype=np.intp)[codes])


def pieces(rows: Placed, divisor: int, n_pieces: int) -> list[Placed]:
    """By a digit of the block that they go to."""
    digit = rows.block // divisor % n_pieces
    return [rows.of(np.flatnonzero(digit == k)) for k in range(n_pieces)]


def joined(*some: Placed) -> Placed:
    # Without the empty ones, whose type may be another.
    there = [each for each in some if len(each.y)] or some[:1]
    X, y, weight, labels, block = zip(*there, strict=True)
    return Placed(
        np.concatenate(X), np.concatenate(y), None if weight[0] is None else np.concatenate(weight),
        np.concatenate(labels), np.concatenate(block),
    )  # fmt: skip


def whole_groups(number: int, *some: Placed) -> HeldBlock:
    rows = joined(*some)
    codes = np.unique(rows.labels, return_inverse=True)[1].astype(np.intp, copy=False)
    order = np.argsort(codes, kind="stable")
    weight = None if rows.weight is None else rows.weight[order]
    return HeldBlock(number, rows.X[order], rows.y[order], weight, {}, codes[order])


def _sizes_differ(block: HeldBlock) -> str | None:
    X, y, weight = block.X, block.y, block.weight
    if X.ndim != 2 or y.ndim != 1:
        return f"X has shape {X.shape} and y {y.shape}: give rows of X and a label for each."
    if len(X) != len(y) or (weight is not None and len(weight) != len(y)):
        sizes = f"{len(X)} rows of X and {len(y)} labels"
        if weight is not None:
            sizes += f" and {len(weight)} weights"
        return f"it has {sizes}: give X, y and sample_weight the same blocks."
    return None


def seen_of(block: HeldBlock) -> Seen:
    X, y, weight = block.X, block.y, block.weight
    trouble = _sizes_differ(block)
    if trouble is None and y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        trouble = "y has NaN: leave out the rows without a label."
    elif trouble is None and weight is not None and not np.all(np.isfinite(weight)):
        trouble = "sample_weight has NaN or infinite values."
    elif weight is not None and weight.size and weight.min() < 0:
        trouble = f"sample_weight has the negative value {weight.min():g}: weights must be >= 0."
    if trouble or len(y) == 0:
        n_columns = X.shape[1] if X.ndim == 2 else 0
        return Seen(0, n_columns, X.itemsize, y[:0], {}, trouble)
    labels = distinct_labels(y)
    of_labels = {label: class_totals(y == label, weight) for label in labels[:3].tolist()}
    return Seen(len(y), X.shape[1], X.itemsize, labels[:3], of_labels, None)
