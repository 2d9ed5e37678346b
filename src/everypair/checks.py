"""Labels, scores, weights and groups as they come from a user: one value per row, checked."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]


def which_positive(positive: ArrayLike) -> Bool:
    """Booleans from booleans, or from 0 and 1."""
    rows = one_per_row(positive, "positive")
    if rows.dtype == np.bool_:
        return rows
    if rows.dtype.kind not in "iuf" or not np.all((rows == 0) | (rows == 1)):
        raise ValueError(
            f"positive has dtype {rows.dtype} and values other than 0 and 1: say which rows are "
            "positive, e.g. y == label."
        )
    return rows == 1


def checked_weights(sample_weight: ArrayLike, n_rows: int) -> Array:
    weight = finite_scores(sample_weight, n_rows, "sample_weight")
    if (least := weight.min()) < 0:
        raise ValueError(f"sample_weight has the negative value {least:g}: weights must be >= 0.")
    return weight


def finite_scores(values: ArrayLike, n_rows: int, name: str = "scores") -> Array:
    """One finite number per row, as float64."""
    vector = one_per_row(values, name)
    try:
        # Numbers that are written out, "0.5", are taken for a mistake.
        if vector.dtype.kind not in "biufO" or (
            vector.dtype.kind == "O" and any(isinstance(value, str) for value in vector)
        ):
            raise TypeError(f"values of type {vector.dtype}")
        vector = np.ascontiguousarray(vector, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not numeric: give one real number per row.") from error
    if vector.size != n_rows:
        raise ValueError(f"{name} has {vector.size} values for {n_rows} rows: give one per row.")
    finite = np.isfinite(vector)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(f"{name} has the value {vector[row]} in row {row}: give finite numbers.")
    return vector


def one_per_row(values: ArrayLike, name: str) -> NDArray[Any]:
    vector = np.asarray(values)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}: give one value per row.")
    if vector.size == 0:
        raise ValueError(f"{name} is empty: give at least one row of each class.")
    return vector


def group_labels(groups: ArrayLike, n_rows: int, name: str) -> NDArray[Any]:
    labels = one_per_row(groups, name)
    if labels.size != n_rows:
        raise ValueError(f"{name} has {labels.size} values for {n_rows} rows: give one per row.")
    # A missing value is None or differs from itself (NaN); pandas' NA will not even say.
    missing = labels.dtype.kind == "O" and any(is_missing(label) for label in labels)
    if missing or (labels.dtype.kind in "fmM" and np.any(labels != labels)):  # noqa: PLR0124
        raise ValueError(f"{name} has NaN or None: give every row a group.")
    return labels


def is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)  # noqa: PLR0124
    except TypeError:
        return True


def ordered_labels(labels: NDArray[Any], pos_label: Any) -> tuple[Any, Any]:
    low, high = _two_labels(labels)
    if pos_label is None or pos_label == high:
        return low, high
    if pos_label != low:
        raise ValueError(f"pos_label={pos_label!r} is not a label of y: use {low!r} or {high!r}.")
    return high, low


def _two_labels(labels: NDArray[Any]) -> tuple[Any, Any]:
    """The two labels, sorted."""
    try:
        distinct = distinct_labels(labels)
    except TypeError as error:
        raise ValueError(
            "y mixes labels of types that cannot be sorted together, perhaps with missing "
            "values: use labels of one type."
        ) from error
    if distinct.dtype.kind == "f" and not np.all(np.isfinite(distinct)):
        raise ValueError("y has NaN or infinite labels: give every row one of two labels.")
    if len(distinct) == 1:
        raise ValueError(
            f"y has only one class, {distinct.tolist()[0]!r}: a ranking needs rows of two classes."
        )
    if len(distinct) > 2:
        raise ValueError(
            f"y has {len(distinct)} classes: compare one class with the rest, e.g. y == label."
        )
    return distinct[0], distinct[1]


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """The labels that occur, sorted. Two numbers need no sort of all rows for that."""
    if labels.dtype.kind in "biuf":
        ends = np.array([labels.min(), labels.max()], dtype=labels.dtype)
        if np.all((labels == ends[0]) | (labels == ends[1])):
            return ends if ends[0] != ends[1] else ends[:1]
    return np.unique(labels)


def check_level(level: float) -> float:
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level={level!r} is not a confidence level: use 0 < level < 1.")
    return float(level)


def by_name(values: Any, what: str) -> dict[Any, Any]:
    """A mapping, or a data frame by its columns, as a dictionary."""
    if hasattr(values, "columns") and not isinstance(values, Mapping):
        return {name: values[name] for name in values.columns}
    if not isinstance(values, Mapping) or not values:
        raise ValueError(
            f"Give {what} as a mapping from the names of the models, or as a data frame."
        )
    return dict(values)
