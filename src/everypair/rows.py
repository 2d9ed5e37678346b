"""Labels, scores, weights and groups as they come from a user: checked once, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.cached import cached_property
from everypair.within import GROUP_WEIGHTS, Groups, PairedGroups

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]


class NoSpread(ValueError):
    """These rows have an area but no error bar."""


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
        labels = _vector(y, "y")
        groups = _groups(within, within_weight, labels.size)
        if sample_weight is None:
            names = _ordered_labels(labels, pos_label)
            return cls(np.asarray(labels == names[1]), None, None, names, within=groups)
        weight = _weights(sample_weight, labels.size)
        kept: Bool | None = weight > 0
        if np.all(kept):
            kept = None
        elif not np.any(kept):
            raise ValueError("Every sample_weight is zero: give some rows a positive weight.")
        else:
            groups = None if groups is None else groups.take(np.flatnonzero(weight > 0))
            labels, weight = labels[kept], weight[kept]
        names = _ordered_labels(labels, pos_label)
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
        groups = _groups(within, within_weight, positive.size)
        if sample_weight is None:
            return cls(positive, None, None, (False, True), within=groups)
        weight = _weights(sample_weight, positive.size)
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
        """The groups of at least so many rows: number, rows, and they as `Rows` of their own."""
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
        """The same rows of other weights."""
        return Rows.uncut(self.positive, sample_weight, self.within)

    def part(self, rows: Index, sample_weight: Array) -> Rows:
        """Some of the rows, all of them weighing so much; groups weigh by their rule."""
        groups = None if self.within is None else self.within.take(rows)
        return Rows.uncut(self.positive[rows], sample_weight[rows], groups)

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
    def even(self) -> bool:
        """Whether all rows of a class weigh the same."""
        if self.within is not None:
            return False
        return self.weight is None or all(
            bool(np.all(self.share[rows] == self.share[rows[0]])) for rows in self.classes
        )

    def centred(self, values: Array) -> Array:
        """Less a value amid them, of each group: no pair sees it, but rounding does."""
        return values - values.mean() if self.within is None else self.paired.centred(values)

    def scores(self, y_score: ArrayLike, name: str = "y_score") -> Array:
        n_given = self.positive.size if self.kept is None else self.kept.size
        scores = _finite(y_score, name, n_given)
        return scores if self.kept is None else scores[self.kept]

    def groups(self, groups: ArrayLike) -> Index:
        """The groups numbered from 0."""
        n_given = self.positive.size if self.kept is None else self.kept.size
        labels = _group_labels(groups, n_given, "groups")
        if self.kept is not None:
            labels = labels[self.kept]
        names, codes = np.unique(labels, return_inverse=True)
        if names.size < 2:
            raise NoSpread(
                f"groups has the single value {names[0]!r}: "
                "rows that all depend on each other carry no error bar."
            )
        return codes.astype(np.intp, copy=False)


def _group_labels(groups: ArrayLike, n_rows: int, name: str) -> NDArray[Any]:
    labels = _vector(groups, name)
    if labels.size != n_rows:
        raise ValueError(f"{name} has {labels.size} values for {n_rows} rows: one a row.")
    # A missing value is None or differs from itself (NaN); pandas' NA will not even say.
    missing = labels.dtype.kind == "O" and any(_is_missing(label) for label in labels)
    if missing or (labels.dtype.kind in "fmM" and np.any(labels != labels)):  # noqa: PLR0124
        raise ValueError(f"{name} has NaN or None: give every row a group.")
    return labels


def _groups(within: ArrayLike | Groups | None, weighting: str, n_rows: int) -> Groups | None:
    if within is None or isinstance(within, Groups):
        return within
    if weighting not in GROUP_WEIGHTS:
        raise ValueError(f"within_weight={weighting!r} is not known: use one of {GROUP_WEIGHTS}.")
    labels = _group_labels(within, n_rows, "within")
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("within mixes labels that cannot be sorted: use one type.") from error
    return Groups(codes.astype(np.intp, copy=False), names, weighting)


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


def finite_scores(scores: ArrayLike, n_rows: int, name: str = "scores") -> Array:
    return _finite(scores, name, n_rows)


def _weights(sample_weight: ArrayLike, n_rows: int) -> Array:
    weight = _finite(sample_weight, "sample_weight", n_rows)
    if (least := weight.min()) < 0:
        raise ValueError(f"sample_weight has the negative value {least:g}: weights must be >= 0.")
    return weight


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
    try:
        # Numbers that are written out, "0.5", are taken for a mistake.
        if vector.dtype.kind not in "biufO" or (
            vector.dtype.kind == "O" and any(isinstance(value, str) for value in vector)
        ):
            raise TypeError(f"values of type {vector.dtype}")
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


def by_name(values: Any, what: str) -> dict[Any, Any]:
    """A mapping, or a data frame by its columns, as a dictionary."""
    if hasattr(values, "columns") and not isinstance(values, Mapping):
        return {name: values[name] for name in values.columns}
    if not isinstance(values, Mapping) or not values:
        raise ValueError(
            f"Give {what} as a mapping from the names of the models, or as a data frame."
        )
    return dict(values)


def _power_of_two(value: float) -> Any:
    """The largest one that is not above the value."""
    return np.ldexp(1.0, np.frexp(value)[1] - 1)


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)  # noqa: PLR0124
    except TypeError:
        return True


def _ordered_labels(labels: NDArray[Any], pos_label: Any) -> tuple[Any, Any]:
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
            "y mixes labels that cannot be sorted (missing values?): use one type."
        ) from error
    if distinct.dtype.kind == "f" and not np.all(np.isfinite(distinct)):
        raise ValueError("y has NaN or infinite labels: give one of two labels a row.")
    if len(distinct) == 1:
        raise ValueError(
            f"y has only one class, {distinct[0]!r}: a ranking needs rows of two classes."
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
