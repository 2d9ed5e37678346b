"""Labels, scores, weights and groups as they come from a user: checked once, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Rows:
    """Which rows are positive and what each weighs. Rows of weight zero are gone.

    ``weight`` is None when every row weighs the same; else it is scaled to a largest of one.
    """

    positive: Bool
    weight: Array | None
    kept: Bool | None
    label: Any
    """The positive label."""

    @classmethod
    def of(
        cls, y: ArrayLike, sample_weight: ArrayLike | None = None, pos_label: Any = None
    ) -> Rows:
        labels = _vector(y, "y")
        if sample_weight is None:
            label = _positive_label(labels, pos_label)
            return cls(np.asarray(labels == label), None, None, label)
        weight = _finite(sample_weight, "sample_weight", labels.size)
        if weight.min() < 0:
            raise ValueError(
                f"sample_weight has the negative value {weight.min():g}: weights must be >= 0."
            )
        kept: Bool | None = weight > 0
        if np.all(kept):
            kept = None
        elif not np.any(kept):
            raise ValueError("Every sample_weight is zero: give some rows a positive weight.")
        else:
            labels, weight = labels[kept], weight[kept]
        label = _positive_label(labels, pos_label)
        return cls(np.asarray(labels == label), weight / weight.max(), kept, label)

    @property
    def n_positive(self) -> int:
        return int(np.count_nonzero(self.positive))

    @property
    def n_negative(self) -> int:
        return self.positive.size - self.n_positive

    def scores(self, s: ArrayLike, name: str = "s") -> Array:
        n_given = self.positive.size if self.kept is None else self.kept.size
        scores = _finite(s, name, n_given)
        return scores if self.kept is None else scores[self.kept]

    def groups(self, groups: ArrayLike) -> Index:
        """The groups numbered from 0."""
        labels = _vector(groups, "groups")
        n_given = self.positive.size if self.kept is None else self.kept.size
        if labels.size != n_given:
            raise ValueError(f"groups has {labels.size} values for {n_given} rows: one a row.")
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise ValueError("groups has NaN: give every row a group.")
        if self.kept is not None:
            labels = labels[self.kept]
        names, codes = np.unique(labels, return_inverse=True)
        if names.size < 2:
            raise ValueError(
                f"groups has the single value {names[0]!r}: "
                "rows that all depend on each other carry no error bar."
            )
        return codes.astype(np.intp, copy=False)

    def shares(self, members: Bool) -> Array:
        """Weights of one class, summing to one."""
        if self.weight is None:
            count = np.count_nonzero(members)
            return np.full(count, 1 / count)
        weight = self.weight[members]
        return weight / weight.sum()


def which_positive(positive: ArrayLike) -> Bool:
    """Booleans from booleans, or from 0 and 1."""
    rows = _vector(positive, "positive")
    if rows.dtype == np.bool_:
        return rows
    if rows.dtype.kind not in "iuf" or not np.all((rows == 0) | (rows == 1)):
        raise ValueError(
            f"positive has dtype {rows.dtype} and values other than 0 and 1: say which rows are "
            "positive, e.g. y == label."
        )
    return rows == 1


def finite_scores(scores: ArrayLike, n_rows: int) -> Array:
    return _finite(scores, "scores", n_rows)


def check_level(level: float) -> float:
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level={level!r} is not a confidence level: use 0 < level < 1.")
    return float(level)


def _vector(values: ArrayLike, name: str) -> NDArray[Any]:
    vector = np.asarray(values)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}: give one value a row.")
    if vector.size == 0:
        raise ValueError(f"{name} is empty: give at least one row of each class.")
    return vector


def _finite(values: ArrayLike, name: str, n_rows: int) -> Array:
    vector = _vector(values, name)
    if vector.dtype.kind == "c":
        raise ValueError(f"{name} is complex: give real numbers.")
    try:
        vector = np.ascontiguousarray(vector, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not numeric: give one real number a row.") from error
    if vector.size != n_rows:
        raise ValueError(f"{name} has {vector.size} values for {n_rows} rows: one a row.")
    finite = np.isfinite(vector)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(f"{name} has the value {vector[row]} in row {row}: give finite numbers.")
    return vector


def _positive_label(labels: NDArray[Any], pos_label: Any) -> Any:
    low, high = _two_labels(labels)
    if pos_label is None:
        return high
    if pos_label not in (low, high):
        raise ValueError(f"pos_label={pos_label!r} is not a label of y: use {low!r} or {high!r}.")
    return pos_label


def _two_labels(labels: NDArray[Any]) -> tuple[Any, Any]:
    """The two labels, sorted. Numbers need no sort of all rows for that."""
    if labels.dtype.kind in "biuf":
        low, high = labels.min(), labels.max()
        if labels.dtype.kind == "f" and not np.isfinite(low + high):
            raise ValueError("y has NaN or infinite labels: give one of two labels a row.")
        two = np.all((labels == low) | (labels == high))
        distinct = sorted({low, high}) if two else list(np.unique(labels))
    else:
        try:
            distinct = list(np.unique(labels))
        except TypeError as error:
            raise ValueError(
                "y mixes labels that cannot be sorted (missing values?): use one type."
            ) from error
    if len(distinct) == 1:
        raise ValueError(
            f"y has only one class, {distinct[0]!r}: a ranking needs rows of two classes."
        )
    if len(distinct) > 2:
        raise ValueError(
            f"y has {len(distinct)} classes: compare one class with the rest, e.g. y == label."
        )
    return distinct[0], distinct[1]
