"""The features of each column of a table, and the features that are one and the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

OTHER, MISSING = "(other)", "(missing)"


@dataclass(frozen=True)
class Block:
    """One column of the table as the model sees it."""

    name: str
    kind: str  # of `everypair.app.column_kinds.kind_of`
    features: Index  # places among the columns of X
    levels: Sequence[str] = ()  # of a category, one for each feature

    @property
    def complementary(self) -> bool:
        """Has it two features of which one is 1 where the other is 0?"""
        return len(self.levels) == 2 and self.features.size == 2


def blocks_of(encoder: Any) -> list[Block]:
    """The blocks of features, in the order of the table's columns."""
    places: dict[str, list[int]] = {}
    for k, name in enumerate(encoder.columns_of_features()):
        places.setdefault(name, []).append(k)
    kinds = getattr(encoder, "kinds_", dict.fromkeys(places, "number"))
    return [
        Block(name, kind, np.array(places[name], dtype=np.intp), _levels(encoder, name, kind))
        for name, kind in kinds.items()
        if name in places
    ]


def _levels(encoder: Any, name: str, kind: str) -> list[str]:
    if kind != "category":
        return []
    flags = [OTHER] * encoder.has_other_[name] + [MISSING] * encoder.has_missing_[name]
    return [*encoder.categories_[name], *flags]


def alike(X: Any) -> list[list[int]]:
    """Groups of columns of X with the same value in every row.

    Equal columns have equal products with any vector. Two vectors drawn at random tell all others
    apart, and X is read twice.
    """
    drawn = np.random.default_rng(0).standard_normal((2, X.shape[0]))
    products = np.column_stack([np.asarray(X.T @ vector).ravel() for vector in drawn])
    # Sums in another order differ in their last digits.
    size = 1e-9 * max(1.0, float(np.sqrt(X.shape[0])))
    order = np.lexsort(products.T)
    groups: list[list[int]] = []
    for one, other in pairwise(order.tolist()):
        if np.all(np.abs(products[one] - products[other]) <= size):
            if groups and groups[-1][-1] == one:
                groups[-1].append(int(other))
            else:
                groups.append([int(one), int(other)])
    return [sorted(group) for group in groups]
