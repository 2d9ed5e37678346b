"""The rows of one block where they live, and expressions with a number per row.

A vector with a number per row never leaves its blocks. It is an `Expression` of other such vectors
until a pass over the rows meets one that is to be `Kept`: a product with X, or the scores at the
end of a step. Everything else is computed again where it is needed, block by block.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property
from everypair.linalg.dense import DenseMatrix

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

ALL = slice(None)
"""Every column of X."""


class Shares(NamedTuple):
    """What a row's weight is multiplied by to make each class sum to one."""

    of_negatives: float
    of_positives: float


class Shard:
    """The rows of one block: X, which of them are positive, what each weighs."""

    def __init__(
        self,
        name: str,
        start: int,
        positive: Bool,
        weight: NDArray[Any] | None,
        shares: Shares,
        X: NDArray[Any] | None = None,
        read: Any = None,
        kept: dict[str, Array] | None = None,
        some: Callable[[Shard], NDArray[Any]] | None = None,
        groups: NDArray[np.intp] | None = None,
    ):
        self.name, self.start, self.positive = name, start, positive
        self.shares, self.kept = shares, kept or {}
        self.fresh: dict[str, Array] = {}
        self.given, self._some, self.groups = weight, some, groups
        self._X, self._read = X, read
        self._values: dict[int, Any] = {}

    @property
    def n_rows(self) -> int:
        return self.positive.size

    @cached_property
    def weight(self) -> NDArray[Any] | None:
        """Of each row; None: 1. Rows that are left out weigh nothing."""
        if self._some is None:
            return self.given
        some = self._some(self).astype(np.float64)
        return some if self.given is None else some * self.given

    @cached_property
    def share(self) -> Array:
        """The weight of each row in its class."""
        of_negatives, of_positives = self.shares
        share = np.where(self.positive, of_positives, of_negatives)
        if self.weight is not None:
            share *= self.weight
        return share

    def matrix(self, columns: Any = ALL) -> DenseMatrix:
        """X, or these columns of it."""
        assert self._X is not None
        plain = columns is self._read or isinstance(columns, slice)
        X = DenseMatrix(self._X if plain else np.asfortranarray(self._X[:, columns]))
        X.in_a_fit = True
        return X

    def value(self, expression: Expression) -> Any:
        """Of an expression on these rows; what occurs in several places is computed once."""
        known = self._values.get(id(expression))
        if known is not None:
            return known
        if isinstance(expression, Kept):
            value = self.kept.get(expression.token)
            if value is None:
                assert expression.inner is not None
                value = self.fresh[expression.token] = self.value(expression.inner)
        else:
            value = expression.function(self, *map(self.value, expression.operands))
        self._values[id(expression)] = value
        return value

    def make_again(self, lost: Sequence[Past], wanted: Collection[str]) -> None:
        """Of these, each after those it is made of, the vectors that are wanted and not here."""
        made = to_make(lost, wanted, self.kept)
        last = {earlier.token: past.token for past in made for earlier in past.before}
        for past in made:
            self.kept[past.token] = self.value(past.inner)
            self._values.clear()
            for earlier in past.before:
                if last[earlier.token] == past.token and earlier.token not in wanted:
                    self.kept.pop(earlier.token, None)


@dataclass(eq=False)
class Expression:
    """A number per row: ``function(shard, *values of the operands)``."""

    function: Callable[..., Any]
    operands: tuple[Expression, ...] = ()
    reads: Any = None
    """Columns of X that the function itself looks at: None, `ALL` or their numbers."""


def _no_values(shard: Shard) -> Any:
    raise AssertionError("a kept vector is not computed by its function")


@dataclass(eq=False)
class Kept(Expression):
    """An expression whose values are kept by the first pass over the rows that meets it."""

    function: Callable[..., Any] = _no_values
    inner: Expression | None = None
    token: str = field(default_factory=lambda: f"kept-{uuid4().hex}")
    store: Any = None
    """What the engine keeps; of no use elsewhere."""
    past: Past | None = None
    """For an engine that may lose what it keeps, or that forgets it."""

    @property
    def is_product(self) -> bool:
        """Whether it is made of X and numbers alone."""
        inner = self.inner if self.past is None else self.past.inner
        return inner is not None and not inner.operands

    @property
    def can_be_made_again(self) -> bool:
        return self.past is not None and self.past.is_whole

    @property
    def is_lost(self) -> bool:
        """Whether it is to be made again before anybody can use it."""
        return self.store is None and self.inner is None

    def keep(self, store: Any) -> None:
        self.store, self.inner = store, None  # what it was made of may go

    def forget(self) -> None:
        """Until it is asked for again."""
        assert self.past is not None
        self.store = self.inner = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "store": None, "past": None}


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and what it is made of, down to what is kept already."""
    yield expression
    below = expression.operands
    if isinstance(expression, Kept):
        below = () if expression.inner is None else (expression.inner,)
    for operand in below:
        yield from walk(operand)


@dataclass(eq=False)
class Past:
    """What a kept vector was made of: an expression of X, of numbers and of vectors before it."""

    token: str
    inner: Expression
    before: tuple[Past, ...]
    is_whole: bool
    """Whether X and numbers are all that it was made of: no vector came from elsewhere."""

    @classmethod
    def of(cls, kept: Kept) -> Past:
        if kept.past is None:
            before: list[Past] = []
            assert kept.inner is not None
            inner = _bare(kept.inner, before)
            own = not any(isinstance(part, Kept) and part.store is not None for part in walk(inner))
            is_whole = own and all(past.is_whole for past in before)
            kept.past = cls(kept.token, inner, tuple(before), is_whole)
        return kept.past


def _bare(expression: Expression, before: list[Past]) -> Expression:
    if isinstance(expression, Kept):
        if expression.past is None and expression.inner is None:  # it came from elsewhere
            return expression
        before.append(Past.of(expression))
        return Kept(token=expression.token)
    operands = tuple(_bare(operand, before) for operand in expression.operands)
    return Expression(expression.function, operands, expression.reads)


def to_make(lost: Sequence[Past], wanted: Collection[str], there: Collection[str]) -> list[Past]:
    """Of these, which are in order, those that the wanted ones need and that are not there."""
    missing = set(wanted).difference(there)
    for past in reversed(lost):
        if past.token in missing:
            missing |= {earlier.token for earlier in past.before}.difference(there)
    return [past for past in lost if past.token in missing]


def in_order(pasts: Sequence[Past]) -> list[Past]:
    """These and all before them, each after what it is made of; they may be many in a row."""
    found: dict[str, Past] = {}
    ahead = [(past, False) for past in pasts]
    while ahead:
        past, is_due = ahead.pop()
        if past.token in found:
            continue
        if is_due:
            found[past.token] = past
        else:
            ahead += [(past, True), *((earlier, False) for earlier in past.before)]
    return list(found.values())


class ClassTotals(NamedTuple):
    """Of some rows: how many of each class have weight, their total and largest weight."""

    counts: tuple[int, int]
    totals: tuple[float, float]
    largest: tuple[float, float]

    def __add__(self, other: ClassTotals) -> ClassTotals:  # type: ignore[override]
        return ClassTotals(
            (self.counts[0] + other.counts[0], self.counts[1] + other.counts[1]),
            (self.totals[0] + other.totals[0], self.totals[1] + other.totals[1]),
            (max(self.largest[0], other.largest[0]), max(self.largest[1], other.largest[1])),
        )

    @property
    def shares(self) -> tuple[Shares, float]:
        """The shares of both classes, and the largest of a row."""
        for n, name in zip(self.counts, ("negative", "positive"), strict=True):
            if n == 0:
                raise ValueError(
                    f"There is no {name} row with weight in any block: "
                    "give at least one row of each class."
                )
        shares = Shares(*(1 / total for total in self.totals))
        return shares, max(map(operator.mul, self.largest, shares))


def class_totals(positive: Bool, weight: NDArray[Any] | None) -> ClassTotals:
    if weight is None:
        n = int(np.count_nonzero(positive))
        counts = positive.size - n, n
        return ClassTotals(counts, (float(counts[0]), float(counts[1])), (1.0, 1.0))
    low, high = weight[~positive], weight[positive]
    return ClassTotals(
        (int(np.count_nonzero(low)), int(np.count_nonzero(high))),
        (float(low.sum(dtype=np.float64)), float(high.sum(dtype=np.float64))),
        (float(low.max(initial=0.0)), float(high.max(initial=0.0))),
    )
