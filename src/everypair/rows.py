"""Which rows are positive and what each weighs, alone or in groups: checked once, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.cached import cached_property
from everypair.checks import (
    checked_weights,
    finite_scores,
    group_labels,
    one_per_row,
    ordered_labels,
    which_positive,
)
from everypair.within import GROUP_WEIGHTS, Groups, PairedGroups

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


class NoSpread(ValueError):
    """The error of rows that have an area but no error bar."""


@dataclass(frozen=True)
class Rows:
    """Which rows are positive and what each weighs.

    Every positive row i pairs with every negative row j, and the pair weighs ``a_i b_j`` for the
    shares a and b of the rows in their classes. ``weight`` is None when every row weighs the same;
    else each class has a unit of its own, ``units`` of the positives and of the negatives: the
    power of two below its largest weight, or in a fit its total.

    ``within`` has the groups inside which rows are paired (`everypair.within`); None: all rows are
    one group.
    """

    positive: Bool
    weight: Array | None
    kept: Bool | None
    """Which of the given rows these are; None where they are all of them."""
    labels: tuple[Any, Any]
    """The negative label and the positive one."""
    units: tuple[float, float] = (1.0, 1.0)
    within: Groups | None = None

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        within: ArrayLike | Groups | None = None,
        within_weight: str = "pairs",
    ) -> Rows:
        """The rows of a metric: those of weight zero are left out."""
        labels = one_per_row(y, "y")
        groups = groups_of(within, within_weight, labels.size)
        if sample_weight is None:
            names = ordered_labels(labels, pos_label)
            return cls(np.asarray(labels == names[1]), None, None, names, within=groups)
        weight = checked_weights(sample_weight, labels.size)
        kept: Bool | None = weight > 0
        if np.all(kept):
            kept = None
        elif not np.any(kept):
            raise ValueError("Every sample_weight is zero: give some rows a positive weight.")
        else:
            groups = None if groups is None else groups.take(np.flatnonzero(weight > 0))
            labels, weight = labels[kept], weight[kept]
        names = ordered_labels(labels, pos_label)
        positive = np.asarray(labels == names[1])
        # Powers of two, so that whole weights add up exactly.
        high, low = (_power_of_two(np.max(weight[which])) for which in (positive, ~positive))
        relative = weight / np.where(positive, high, low)
        return cls(positive, relative, kept, names, (high, low), groups)

    @classmethod
    def uncut(
        cls,
        positive: ArrayLike,
        sample_weight: ArrayLike | None = None,
        within: ArrayLike | Groups | None = None,
        within_weight: str = "pairs",
    ) -> Rows:
        """The rows of a fit: those of weight zero stay, so that X is never cut.

        ``positive`` says which rows are positive, as booleans or as 0 and 1.
        """
        positive = np.ascontiguousarray(which_positive(positive))
        n_positive = np.count_nonzero(positive)
        for count, name in ((n_positive, "positive"), (positive.size - n_positive, "negative")):
            if count == 0:
                raise ValueError(
                    f"There is no {name} row among the {positive.size}: "
                    "give at least one row of each class."
                )
        groups = groups_of(within, within_weight, positive.size)
        if sample_weight is None:
            return cls(positive, None, None, (False, True), within=groups)
        weight = checked_weights(sample_weight, positive.size)
        for members, name in ((positive, "positive"), (~positive, "negative")):
            if not np.any(weight[members]):
                raise ValueError(
                    f"The sample_weight of every {name} row is zero: "
                    "at least one row of each class needs a positive weight."
                )
        share, units = _shares(weight, positive)
        rows = cls(positive, share, None, (False, True), units, groups)
        if groups is None:
            vars(rows)["share"] = share  # the same array: a fit keeps its weights once
        return rows

    @cached_property
    def paired(self) -> PairedGroups:
        """The groups that have a pair; there are some, or this is an error."""
        assert self.within is not None
        return self.within.pair_up(self.positive, self.weight, self.skew)

    def large_groups(self, least: int) -> list[tuple[int, Index, Rows]]:
        """The groups of at least this many rows: number, rows, and these as `Rows` of their own."""
        kept: dict[int, Any] = vars(self).setdefault("_large_groups", {})
        if least not in kept:
            paired, kept[least] = self.paired, []
            sizes = np.diff(paired.edges[0]) + np.diff(paired.edges[1])
            for g in np.flatnonzero(sizes >= least):
                rows = np.concatenate(
                    [
                        of_class[edges[g] : edges[g + 1]]
                        for of_class, edges in zip(paired.classes, paired.edges, strict=True)
                    ]
                )
                of_group = Rows.uncut(self.positive[rows], self.inside[rows])
                kept[least].append((int(g), rows, of_group))
        return kept[least]

    def take(self, rows: Index) -> Rows:
        """Some of the rows; each group weighs what it weighs here."""
        if self.within is None:
            return Rows.uncut(self.positive[rows], None if self.even else self.share[rows])
        omega = np.zeros(self.within.names.size)
        omega[self.paired.numbers] = self.paired.weight
        groups = self.within.take(rows, omega)
        return Rows.uncut(self.positive[rows], self.inside[rows], groups)

    def weighing(self, sample_weight: Array) -> Rows:
        """The same rows with other weights."""
        return Rows.uncut(self.positive, sample_weight, self.within)

    def part(self, rows: Index, sample_weight: Array | None) -> Rows:
        """Some of the rows, with the weights of all rows given; groups weigh by their rule."""
        groups = None if self.within is None else self.within.take(rows)
        weight = None if sample_weight is None else sample_weight[rows]
        return Rows.uncut(self.positive[rows], weight, groups)

    @property
    def relative_weight(self) -> Array:
        """The weight of each row, both classes in one unit."""
        if self.weight is None:
            return np.ones(self.n_rows)
        return np.where(self.positive, self.weight, self.skew * self.weight)

    @property
    def n_groups_without_pairs(self) -> int:
        """Groups that have rows but no pair."""
        return 0 if self.within is None else self.paired.n_without_pairs

    @property
    def skew(self) -> float:
        """What a unit of the negatives weighs in units of the positives.

        Finite and above zero, so that no sum of both classes is NaN.
        """
        with np.errstate(over="ignore", under="ignore"):
            return float(np.clip(np.divide(self.units[1], self.units[0]), 1e-300, 1e300))

    @property
    def totals(self) -> tuple[float, float]:
        """What the positives and the negatives weigh together, in units of the positives."""
        if self.weight is None:
            return float(self.n_positive), float(self.n_negative)
        positive = float(self.weight[self.positive].sum())
        return positive, self.skew * float(self.weight[~self.positive].sum())

    @property
    def n_rows(self) -> int:
        return self.positive.size

    @property
    def n_positive(self) -> int:
        return int(np.count_nonzero(self.positive))

    @property
    def n_negative(self) -> int:
        return self.positive.size - self.n_positive

    @property
    def n_pairs(self) -> int:
        return self.n_positive * self.n_negative if self.within is None else self.paired.n_pairs

    @cached_property
    def positives(self) -> Index:
        """Numbers of the positive rows."""
        return np.flatnonzero(self.positive)

    @cached_property
    def negatives(self) -> Index:
        """Numbers of the negative rows."""
        return np.flatnonzero(~self.positive)

    @property
    def classes(self) -> tuple[Index, Index]:
        """Numbers of the positive rows and of the negative ones."""
        return self.positives, self.negatives

    @cached_property
    def weighted_classes(self) -> tuple[Index, Index]:
        """`classes` without the rows of weight zero, which a fit keeps, as in its folds."""
        if self.even:
            return self.classes
        positives, negatives = (rows[self.share[rows] > 0] for rows in self.classes)
        return positives, negatives

    @cached_property
    def share(self) -> Array:
        """The weight of each row in its class: each class sums to one.

        So do the pairs, and a sum over them is a mean. In groups it is what the pairs of the row
        weigh together, zero for a row without a pair.
        """
        if self.within is not None:
            return self.paired.share
        if self.weight is None:
            return np.where(self.positive, 1 / self.n_positive, 1 / self.n_negative)
        share, _ = _shares(self.weight, self.positive)
        return share

    @property
    def inside(self) -> Array:
        """The weight of each row in the class of its group, which sums to one; without groups it
        is `share`. A row's pairs weigh its `share` times this of the other row."""
        return self.share if self.within is None else self.paired.inside

    @cached_property
    def share_length(self) -> float:
        """The Euclidean norm of the shares."""
        return float(np.sqrt(np.einsum("i,i", self.share, self.share)))

    @cached_property
    def largest_share(self) -> float:
        return float(self.share.max())

    @cached_property
    def class_shares(self) -> tuple[Array, Array]:
        """The shares of the positives and of the negatives, in the order of `weighted_classes`."""
        positives, negatives = self.weighted_classes
        if self.even_or_nothing:
            return (
                np.full(positives.size, self.share[positives[0]]),
                np.full(negatives.size, self.share[negatives[0]]),
            )
        return self.share[positives], self.share[negatives]

    @property
    def shares_by_class(self) -> list[Array]:
        """The shares of the positives, zero elsewhere, and those of the negatives."""
        return [np.where(rows, self.share, 0.0) for rows in (self.positive, ~self.positive)]

    def sum_of_positives(self, vector: Array) -> float:
        return float(vector[self.positives].sum())

    def sample(self, n_rows: int) -> Index:
        """About ``n_rows`` rows with weight, half of them from each class where there are enough.

        Each class is sampled on its own and its weights sum to one again, so the sample's pair
        loss estimates the whole's however rare the positives are. The choice is fixed: the same
        data give the same start. Of rows in groups, whole groups are chosen, the largest of them
        thinned out.
        """
        if self.within is not None:
            return self.paired.sample(n_rows)
        classes = self.weighted_classes
        chosen = sampled_ordinals(classes[0].size, classes[1].size, n_rows)
        return np.sort(np.concatenate([rows[k] for rows, k in zip(classes, chosen, strict=True)]))

    @cached_property
    def even(self) -> bool:
        """Whether all rows of a class weigh the same."""
        return self.within is None and (self.weight is None or self._weigh_the_same(self.classes))

    @cached_property
    def even_or_nothing(self) -> bool:
        """Whether all rows of a class weigh the same, but for those that weigh nothing."""
        return self.even or (self.within is None and self._weigh_the_same(self.weighted_classes))

    def _weigh_the_same(self, classes: tuple[Index, Index]) -> bool:
        return all(bool(np.all(self.share[rows] == self.share[rows[0]])) for rows in classes)

    def centred(self, values: Array) -> Array:
        """Less a value amid them, of each group: no pair sees it, but rounding does."""
        return values - values.mean() if self.within is None else self.paired.centred(values)

    def scores(self, y_score: ArrayLike, name: str = "y_score") -> Array:
        n_given = self.positive.size if self.kept is None else self.kept.size
        scores = finite_scores(y_score, n_given, name)
        return scores if self.kept is None else scores[self.kept]

    def groups(self, groups: ArrayLike) -> Index:
        """The groups numbered from 0."""
        n_given = self.positive.size if self.kept is None else self.kept.size
        labels = group_labels(groups, n_given, "groups")
        if self.kept is not None:
            labels = labels[self.kept]
        names, codes = np.unique(labels, return_inverse=True)
        if names.size < 2:
            raise NoSpread(
                f"groups has the single value {names[0]!r}: a standard error needs two groups."
            )
        return codes.astype(np.intp, copy=False)


def groups_of(
    within: ArrayLike | Groups | None, weighting: str, n_rows: int | None = None
) -> Groups | None:
    """The groups of so many rows, or of as many as there are labels."""
    if within is None or isinstance(within, Groups):
        return within
    checked_rule(weighting)
    labels = group_labels(within, np.size(within) if n_rows is None else n_rows, "within")
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            "within mixes labels of types that cannot be sorted together: use labels of one type."
        ) from error
    return Groups(codes.astype(np.intp, copy=False), names, weighting)


def checked_rule(weighting: str) -> str:
    """How groups weigh: one of `GROUP_WEIGHTS`."""
    if weighting not in GROUP_WEIGHTS:
        raise ValueError(f"within_weight={weighting!r} is not known: use one of {GROUP_WEIGHTS}.")
    return weighting


def sampled_ordinals(n_positive: int, n_negative: int, n_rows: int) -> tuple[Index, Index]:
    """Which positives and which negatives a sample of about ``n_rows`` takes, by their numbers."""
    rng = np.random.default_rng(0)
    of_positives = min(n_positive, max(n_rows // 2, n_rows - n_negative))
    of_negatives = min(n_negative, n_rows - of_positives)
    return (
        rng.choice(n_positive, of_positives, replace=False),
        rng.choice(n_negative, of_negatives, replace=False),
    )


def _shares(weight: Array, positive: Bool) -> tuple[Array, tuple[float, float]]:
    """The weights over the totals of their classes, and these totals."""
    share, totals = weight.copy(), []
    for members in (positive, ~positive):
        # Divided by the largest first: weights near the ends of the range neither overflow in the
        # sum nor lose the others.
        largest = share[members].max()
        share[members] /= largest
        total = share[members].sum()
        share[members] /= total
        with np.errstate(over="ignore", under="ignore"):
            totals.append(float(largest * total))
    return share, (totals[0], totals[1])


def _power_of_two(value: float) -> Any:
    """The largest one that is not above the value."""
    return np.ldexp(1.0, np.frexp(value)[1] - 1)
