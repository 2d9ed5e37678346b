"""Shapley values of a linear model: exact, and a sum.

    value of feature j in row x = w_j (x_j - mean_j)

with the means of the training rows (Lundberg & Lee 2017, corollary 1: independent features). The
values of a row add up to its score less the mean score of the training rows. A column of the table
has the sum of its features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.explain.column_features import Block

Array = NDArray[np.float64]


def shapley_values(coef: Array, means: Array, X: Any, blocks: Sequence[Block]) -> Array:
    """(rows, columns of the table)."""
    out = np.empty((X.shape[0], len(blocks)))
    for k, block in enumerate(blocks):
        weights = coef[block.features]
        part = np.asarray(X[:, block.features] @ weights).ravel()
        out[:, k] = part - means[block.features] @ weights
    return out
