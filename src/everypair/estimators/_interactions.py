"""Pairs of columns that act together: which ones, and their bins."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from everypair.estimators._shapes import RIDGE, Shape, splines

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BINS_PER_SIDE = 16
"""Bins of each column in an interaction, beside the one of missing values."""

SPLINES_PER_SIDE = 6
"""Cubic B-splines of each column in an interaction: a surface is a sum of their products."""

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
        """A line of basis values per cell, with mean zero over the rows.

        The basis are products of splines of both columns, such that |w|^2 is the squared first
        differences of neighbouring products' coefficients, along either column.
        """
        held = self.counts.reshape(self.sides)
        missing = held[-1].any(), held[:, -1].any()
        first, second = (
            _side(n, ordered, bool(some))
            for n, ordered, some in zip(self.sides, self.ordered, missing, strict=True)
        )
        basis = np.kron(first.basis, second.basis)
        along = (
            np.kron(first.steps, np.eye(second.width)),
            np.kron(np.eye(first.width), second.steps),
        )
        roughness = sum((d.T @ d for d in along), RIDGE * np.eye(basis.shape[1]))
        table = solve_triangular(cholesky(roughness, lower=True), basis.T, lower=True).T
        return np.asarray(table - self.counts @ table / self.counts.sum())


class _Side(NamedTuple):
    """One column of a pair: a line of basis values per group, and differences of coefficients."""

    basis: Array
    steps: Array

    @property
    def width(self) -> int:
        return self.basis.shape[1]


def _side(n_groups: int, ordered: bool, missing: bool) -> _Side:
    """Splines of ordered groups, a value per category, and one for missing values if any."""
    n = n_groups - 1
    numbers = splines(n, SPLINES_PER_SIDE) if ordered else np.eye(n)
    width = numbers.shape[1]
    basis = np.zeros((n_groups, width + missing))
    basis[:n, :width] = numbers
    if missing:
        basis[n, width] = 1.0
    steps = np.zeros((max(width - 1, 0) if ordered else 0, width + missing))
    if ordered and width:
        steps[:, :width] = np.diff(np.eye(width), axis=0)  # none to the missing values
    return _Side(basis, steps)


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
    known: Container[tuple[int, int]] = (),
) -> list[PairShape]:
    """The pairs of columns whose cells would lower the loss the most; none with a column ``alone``.

    Nor those that are ``known``.

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
        if (j, k) in known:
            continue
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
