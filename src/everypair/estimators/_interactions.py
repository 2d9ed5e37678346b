"""Pairs of columns that act together: which ones, and their bins."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from everypair.estimators._shapes import RIDGE, Shape

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BINS_PER_SIDE = 8
"""Bins of each column in an interaction, beside the one of missing values."""

LEAST_CURVATURE = 1e-3
"""A share of the curvature of all rows, in place of that of empty cells."""

CHOICE_ROWS = 100_000
"""Rows that the choice of pairs looks at, evenly spaced."""


@dataclass(frozen=True)
class PairShape:
    """The cells of two columns: the groups that their bins fall into."""

    first: int
    second: int
    group_of_first: Index
    """For each bin of the first column its group, the missing ones last."""
    group_of_second: Index
    ordered: tuple[bool, bool]
    counts: Array
    """Weight of the rows in each cell, row by row of the grid."""

    @property
    def sides(self) -> tuple[int, int]:
        return int(self.group_of_first.max()) + 1, int(self.group_of_second.max()) + 1

    def codes(self, codes: NDArray[Any]) -> Index:
        """The cell of each row, given the bins of all columns."""
        rows = self.group_of_first[codes[self.first]]
        return rows * self.sides[1] + self.group_of_second[codes[self.second]]

    def table(self) -> Array:
        """A value per cell, whitened by the squared differences between neighbours."""
        height, width = self.sides
        roughness = RIDGE * np.eye(height * width)
        for axis, (n, ordered) in enumerate(zip(self.sides, self.ordered, strict=True)):
            steps = np.diff(np.eye(n), axis=0)[: None if ordered else 0]
            steps = steps[: max(n - 2, 0)]  # no step to the group of missing values
            other = np.eye(width if axis == 0 else height)
            along = np.kron(steps, other) if axis == 0 else np.kron(other, steps)
            roughness += along.T @ along
        table = solve_triangular(
            cholesky(roughness, lower=True), np.eye(height * width), lower=True
        )
        return np.asarray(table.T - self.counts @ table.T / self.counts.sum())


def groups_of(shape: Shape, values: Array) -> Index:
    """Bins put together into few groups of about equal weight, missing values apart.

    Bins of numbers stay in order; categories are ordered by their values in the model.
    """
    n = shape.n_bins - 1
    order = np.argsort(values[:n], kind="stable") if shape.kind == "category" else np.arange(n)
    held = shape.counts[:n][order]
    middle = (np.cumsum(held) - held / 2) / max(held.sum(), 1e-300)
    groups = np.minimum((BINS_PER_SIDE * middle).astype(np.intp), BINS_PER_SIDE - 1)
    _, groups = np.unique(groups, return_inverse=True)
    out = np.empty(n + 1, dtype=np.intp)
    out[order] = groups
    out[n] = groups.max(initial=-1) + 1
    return out


def find_pairs(
    shapes: list[Shape],
    curves: list[Array],
    codes: NDArray[Any],
    weight: Array,
    gradient: Array,
    curvature: Array,
    n_pairs: int,
    alone: Container[int] = (),
) -> list[PairShape]:
    """The pairs of columns whose cells would lower the loss the most; none with a column ``alone``.

    The gain of a pair is ``sum_cells ((sum gradient)^2 - sum gradient^2) / (sum curvature)``: twice
    what a Newton step of the cells' values by themselves would gain, less what it would gain by
    chance, which is more the more cells a pair has. The single columns' curves have been fitted,
    so what is left in the cells is what they cannot express (Lou et al. 2013 rank pairs so).
    """
    step = max(1, codes.shape[1] // CHOICE_ROWS)
    some = codes[:, ::step]
    slope, bend = gradient[::step], curvature[::step]
    group_of = [groups_of(shape, curve) for shape, curve in zip(shapes, curves, strict=True)]
    grouped = [groups[column] for groups, column in zip(group_of, some, strict=True)]
    found, floor = [], LEAST_CURVATURE * bend.sum()
    for j, k in combinations([j for j in range(len(shapes)) if j not in alone], 2):
        width = int(group_of[k].max()) + 1
        size = (int(group_of[j].max()) + 1) * width
        cells = grouped[j] * width + grouped[k]
        slopes, bends, chance = (
            np.bincount(cells, values, size) for values in (slope, bend, slope**2)
        )
        found.append((float(np.sum((slopes**2 - chance) / (bends + floor))), j, k))
    found.sort(key=lambda pair: (-pair[0], pair[1:]))
    out = []
    for gain, j, k in found[:n_pairs]:
        if gain <= 0:
            break
        ordered = shapes[j].kind != "category", shapes[k].kind != "category"
        bare = PairShape(j, k, group_of[j], group_of[k], ordered, np.ones(1))
        size = bare.sides[0] * bare.sides[1]
        counts = np.bincount(bare.codes(codes), weight, size).astype(np.float64)
        out.append(PairShape(j, k, group_of[j], group_of[k], ordered, counts))
    return out
