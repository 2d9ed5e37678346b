"""Rows in groups: pairs are made inside a group only.

    L(s) = sum_g omega_g sum_{i in P_g, j in N_g} a_i b_j phi(s_i - s_j)

a sums to one over the positives P_g of each group and b over its negatives N_g, so each group
contributes a mean over its own pairs. The group weights omega sum to one over the groups that have
a pair, so L is a mean as well. With the sample weights A_g of a group's positives and B_g of its
negatives in total, omega_g is in proportion to

    A_g B_g        "pairs": every pair of the data weighs w_i w_j, whatever its group
    A_g + B_g      "rows": a group weighs as much as its rows
    1              "equal": every group weighs the same

A group without both classes has no pair: it weighs nothing and is only counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

LEAST_SAMPLED_GROUPS = 20
"""A sample takes rows of at least this many groups, if there are that many."""

GROUP_WEIGHTS = ("pairs", "rows", "equal")

NO_PAIR = (
    "No group of within has rows of both classes: none of the {} groups has a pair. Give groups in "
    "which positive and negative rows occur together."
)


@dataclass(frozen=True)
class Groups:
    """The group of each row, numbered from 0, and how the groups weigh."""

    codes: Index
    names: NDArray[Any]
    weighting: str | Array = "pairs"
    """One of `GROUP_WEIGHTS`, or the weight of each group."""

    def take(self, rows: Index, weighting: str | Array | None = None) -> Groups:
        """The groups of these rows; the numbers of the groups stay."""
        weighting = self.weighting if weighting is None else weighting
        return Groups(self.codes[rows], self.names, weighting)

    def pair_up(self, positive: Bool, weight: Array | None, skew: float = 1.0) -> PairedGroups:
        """The pairs of these rows; one unit of the negatives' weight is ``skew`` of the other."""
        members = [np.flatnonzero(positive), np.flatnonzero(~positive)]
        if weight is not None:
            members = [rows[weight[rows] > 0] for rows in members]
        n_groups = self.names.size
        totals = [
            _totals(self.codes[rows], None if weight is None else weight[rows], n_groups)
            for rows in members
        ]
        held = (totals[0] > 0) & (totals[1] > 0)
        if not held.any():
            raise ValueError(NO_PAIR.format(n_groups))
        numbers = np.flatnonzero(held)
        sides = totals[0][numbers], totals[1][numbers]
        place = np.full(n_groups, -1, dtype=np.intp)
        place[numbers] = np.arange(numbers.size)
        return PairedGroups(
            self, numbers, place, sides, self._omega(numbers, *sides, skew), members, weight, totals
        )

    def _omega(
        self, numbers: Index, of_positives: Array, of_negatives: Array, skew: float
    ) -> Array:
        if not isinstance(self.weighting, str):
            omega = self.weighting[numbers]
        elif self.weighting == "pairs":
            # By logarithms: products of weights may leave the range of float64.
            logs = np.log(of_positives) + np.log(of_negatives)
            omega = np.exp(logs - logs.max())
        elif self.weighting == "rows":
            parts = of_positives, skew * of_negatives
            omega = sum(part / max(parts[0].max(), parts[1].max()) for part in parts)
        else:
            omega = np.ones(numbers.size)
        return np.asarray(omega / omega.sum())


class PairedGroups:
    """The groups that have a pair, numbered anew from 0, and their rows that weigh anything."""

    def __init__(
        self,
        groups: Groups,
        numbers: Index,
        place: Index,
        totals: tuple[Array, Array],
        weight: Array,
        members: list[Index],
        row_weight: Array | None,
        all_totals: list[Array],
    ):
        self.groups, self.numbers, self.weight = groups, numbers, weight
        of_positives, of_negatives = (of_class / of_class.sum() for of_class in all_totals)
        self.share_of_pairs = float(of_positives @ of_negatives)
        """What the pairs inside groups weigh beside all pairs of the rows."""
        self._place, self._totals, self._row_weight = place, totals, row_weight
        self.classes, self.edges = [], []
        """The positive rows, and the negative ones, group by group; where each group begins."""
        from everypair._compiled import group_rows

        for rows in members:
            codes = place[groups.codes[rows]]
            if numbers.size < groups.names.size:
                rows, codes = rows[codes >= 0], codes[codes >= 0]  # noqa: PLW2901
            edges = np.zeros(numbers.size + 1, dtype=np.intp)
            np.cumsum(np.bincount(codes, minlength=numbers.size), out=edges[1:])
            ordered = np.empty_like(rows)
            group_rows(codes, rows, edges[:-1].copy(), ordered)
            self.classes.append(ordered)
            self.edges.append(edges)

    @property
    def n_groups(self) -> int:
        return self.numbers.size

    @property
    def n_without_pairs(self) -> int:
        """Groups that have no pair."""
        return int(np.count_nonzero(np.bincount(self.groups.codes))) - self.n_groups

    @property
    def n_pairs(self) -> int:
        """How many pairs there are of rows with weight."""
        positives, negatives = (np.diff(edges) for edges in self.edges)
        return int(positives @ negatives)

    def sample(self, n_rows: int) -> Index:
        """Groups until there are this many rows; each class of a group gives at most its part."""
        rng = np.random.default_rng(0)
        most = max(1, n_rows // (2 * min(self.n_groups, LEAST_SAMPLED_GROUPS)))
        sizes = np.sum([np.minimum(np.diff(edges), most) for edges in self.edges], axis=0)
        order = rng.permutation(self.n_groups)
        chosen = order[: 1 + int(np.searchsorted(np.cumsum(sizes[order]), n_rows))]
        rows = []
        for members, edges in zip(self.classes, self.edges, strict=True):
            for g in chosen:
                of_group = members[edges[g] : edges[g + 1]]
                small = of_group.size <= most
                rows.append(of_group if small else rng.choice(of_group, most, replace=False))
        return np.sort(np.concatenate(rows))

    @cached_property
    def inside_of_class(self) -> tuple[Array, Array]:
        """The shares of the rows in `classes` in their class of their group."""
        out = []
        for rows, edges, totals in zip(self.classes, self.edges, self._totals, strict=True):
            share = np.repeat(1 / totals, np.diff(edges))
            if self._row_weight is not None:
                # Divided, not multiplied by a reciprocal, which may overflow.
                share = self._row_weight[rows] / np.repeat(totals, np.diff(edges))
            out.append(share)
        return out[0], out[1]

    @cached_property
    def inside(self) -> Array:
        """Every row's share of its class in its group: a_i or b_j; zero where it has no pair."""
        return self.to_rows(*self.inside_of_class)

    @cached_property
    def share(self) -> Array:
        """What the pairs of each row weigh together, ``omega_g a_i``: each class sums to one."""
        return self.to_rows(*(self.weight_of(k) * self.inside_of_class[k] for k in (0, 1)))

    def weight_of(self, number: int) -> Array:
        """The weight of the group of each row in ``classes[number]``."""
        return np.repeat(self.weight, np.diff(self.edges[number]))

    def to_rows(self, of_positives: Array, of_negatives: Array) -> Array:
        """One entry per row from those of `classes`; zero where a row has no pair."""
        out = np.zeros(self.groups.codes.size)
        out[self.classes[0]] = of_positives
        out[self.classes[1]] = of_negatives
        return out

    @cached_property
    def cells(self) -> Index:
        """``2 g`` for a negative row of group g, ``2 g + 1`` for a positive one.

        Rows without a pair have a cell past the last.
        """
        out = np.full(self.groups.codes.size, 2 * self.n_groups, dtype=np.intp)
        for number, positive in ((0, 1), (1, 0)):
            sizes = np.diff(self.edges[number])
            out[self.classes[number]] = np.repeat(
                2 * np.arange(self.n_groups, dtype=np.intp) + positive, sizes
            )
        return out

    def centred(self, values: Array) -> Array:
        """Less a value amid those of their group, which no pair sees but rounding does.

        Rows without a pair get zero.
        """
        first = values[self.classes[0][self.edges[0][:-1]]]
        out = np.asarray(values - np.append(np.repeat(first, 2), 0.0)[self.cells])
        out[self._alone] = 0.0
        return out

    @cached_property
    def _alone(self) -> Index:
        return np.flatnonzero(self.cells == 2 * self.n_groups)


def _totals(codes: Index, weight: Array | None, n_groups: int) -> Array:
    return np.bincount(codes, weight, n_groups).astype(np.float64, copy=False)
