"""What a model file keeps of the rows: held-out scores, and what each column is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

MOST_ROWS = 100_000
"""Held-out rows that are kept, nine bytes each; of more a random sample."""


@dataclass(frozen=True)
class Evidence:
    """Scores of rows that were held out of three folds, and the columns of the table."""

    scores: Array  # of held-out rows, on the scale of the estimator (before `SavedModel.cut`)
    positive: Bool  # which of them are positive
    weight: Array | None
    means: Array  # of each feature over the training rows
    alike: list[list[int]]  # groups of features that are the same in every training row
    worth: dict[str, list[Any]]  # by column: AUC alone, AUC lost, its spread, direction
    groups: NDArray[np.intp] | None = None  # of the rows, where rows belong together

    def fits(self, n_features: int) -> bool:
        """Is everything of the kind and size that it must be?"""
        n_rows = np.size(self.scores)
        return (
            _is_vector(self.scores, "f", n_rows)
            and _is_vector(self.positive, "b", n_rows)
            and bool(self.positive.any() and not self.positive.all())
            and (self.weight is None or self._weighs(n_rows))
            and (self.groups is None or _is_vector(self.groups, "i", n_rows))
            and _is_vector(self.means, "f", n_features)
            and type(self.alike) is list
            and all(_are_places(group, n_features) for group in self.alike)
            and type(self.worth) is dict
            and all(_is_worth(values) for values in self.worth.values())
        )

    def _weighs(self, n_rows: int) -> bool:
        return (
            _is_vector(self.weight, "f", n_rows)
            and bool(np.all(self.weight >= 0))  # type: ignore[operator]
            and all(np.any(self.weight[m]) for m in (self.positive, ~self.positive))  # type: ignore[index]
        )


def _is_vector(value: Any, kind: str, size: int) -> bool:
    return (
        type(value) is np.ndarray
        and value.shape == (size,)
        and value.dtype.kind == kind
        and (kind != "f" or bool(np.isfinite(value).all()))
    )


def _are_places(group: Any, n_features: int) -> bool:
    return type(group) is list and all(type(k) is int and 0 <= k < n_features for k in group)


def _is_worth(values: Any) -> bool:
    return (
        type(values) is list
        and len(values) == 4
        and all(type(v) is float and abs(v) <= 1 for v in values[:3])
        and type(values[3]) is str
    )
