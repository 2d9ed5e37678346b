"""What each column is worth to a model, on rows that the model was not fitted on.

A column is permuted: its values are dealt out anew among the rows, all its features together, and
the model scores the rows again. What the AUC loses is what the model takes from the column and
cannot take from the others (Breiman 2001, there for the error of a forest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.app.explain.column_features import Block
from everypair.linalg.threads import one_blas_thread
from everypair.metrics import auc_score

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

N_PERMUTATIONS = 5
LINEAR_ROWS, OTHER_ROWS = 10_000, 1000
"""Held-out rows of a fold that are scored again: those of linear models cost one addition."""

MOST_COLUMNS = 100
"""Columns that are permuted, those that move the scores most."""

MOST_SCREENED, SCREEN_ROWS = 1000, 100
"""Columns of a model that is not linear that are looked at, and on how many rows."""

MIXED_CORRELATION = 0.1
"""Correlation below which scores go neither up nor down with a column."""


@dataclass(frozen=True)
class Worth:
    """What one column does in a model."""

    name: str
    alone: float  # AUC of the column alone, by a linear model of its features; NaN if not measured
    lost: float  # AUC lost when it is permuted, mean over folds and permutations
    spread: float  # standard deviation over permutations
    direction: str  # where the scores go with it


@dataclass
class _Tally:
    """One column over the folds."""

    lost: list[Array] = field(default_factory=list)
    moved: float = 0.0  # sums over rows: of the squared change of the score,
    shifted: float = 0.0  # of that of the column,
    together: float = 0.0  # and of their product
    by_level: dict[str, list[float]] = field(default_factory=dict)  # sum of changes, rows


class Permuted:
    """Gathers what columns are worth from one fold after another."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._tallies: dict[str, _Tally] = {}
        self._blocks: dict[str, Block] = {}
        self.n_folds = 0

    def add(
        self,
        blocks: Sequence[Block],
        scores: Callable[[Any], Array],
        coef: Array | None,
        X: Any,
        y: Bool,
        weight: Array | None = None,
    ) -> None:
        """A fold: its held-out rows, and the scores of the model that did not see them.

        ``coef`` are the weights of a linear model on the scale of ``scores``, else None.
        """
        # Many short products: BLAS threads would spend longer waking and waiting than working.
        with one_blas_thread():
            self._add(blocks, scores, coef, X, y, weight)

    def _add(
        self,
        blocks: Sequence[Block],
        scores: Callable[[Any], Array],
        coef: Array | None,
        X: Any,
        y: Bool,
        weight: Array | None,
    ) -> None:
        rows = self._some(y, LINEAR_ROWS if coef is not None else OTHER_ROWS)
        X, y, weight = X[rows], y[rows], None if weight is None else weight[rows]
        weight = None if weight is None or not (_both(y, weight)) else weight
        base = scores(X)
        area = auc_score(y, base, sample_weight=weight)
        self.n_folds += 1
        if self._blocks:  # the columns of the first fold, so that all folds have the same
            blocks = [block for block in blocks if block.name in self._blocks]
        else:
            blocks = self._screened(blocks, scores, coef, X, base)
            self._blocks = {block.name: block for block in blocks}
        for block in blocks:
            orders = [self._rng.permutation(y.size) for _ in range(N_PERMUTATIONS)]
            changed = _changed(block, scores, coef, X, base, orders)
            tally = self._tallies.setdefault(block.name, _Tally())
            lost = [area - auc_score(y, each, sample_weight=weight) for each in changed]
            tally.lost.append(np.array(lost))
            _follow(tally, block, X, base, orders, changed)

    def _some(self, y: Bool, most: int) -> Index:
        """A sample of at most this many rows: each class has its share, but at least a few rows."""
        if y.size <= most:
            return np.arange(y.size)
        parts = []
        for members in (np.flatnonzero(y), np.flatnonzero(~y)):
            count = min(members.size, max(most // 10, round(most * members.size / y.size)))
            parts.append(self._rng.choice(members, count, replace=False))
        return np.sort(np.concatenate(parts))

    def _screened(
        self,
        blocks: Sequence[Block],
        scores: Callable[[Any], Array],
        coef: Array | None,
        X: Any,
        base: Array,
    ) -> list[Block]:
        if len(blocks) <= MOST_COLUMNS:
            return list(blocks)
        if coef is None and len(blocks) > MOST_SCREENED:
            return []
        few = np.arange(min(SCREEN_ROWS, base.size))
        order = [self._rng.permutation(few.size)]
        moved = []
        for block in blocks:
            if coef is not None and not np.any(coef[block.features]):
                moved.append(0.0)
                continue
            changed = _changed(block, scores, coef, X[few], base[few], order)
            moved.append(float(np.abs(changed - base[few]).mean()))
        largest = np.argsort(-np.array(moved), kind="stable")[:MOST_COLUMNS]
        return [blocks[k] for k in np.sort(largest)]

    def worths(self, alone: Callable[[Block], float] | None = None) -> list[Worth]:
        """The columns, those that are worth most first."""
        found = []
        for name, tally in self._tallies.items():
            lost = np.array(tally.lost)  # folds x permutations
            found.append(
                Worth(
                    name,
                    np.nan if alone is None else alone(self._blocks[name]),
                    float(lost.mean()),
                    float(lost.mean(axis=0).std(ddof=1)),
                    _direction(tally, self._blocks[name]),
                )
            )
        return sorted(found, key=lambda worth: -worth.lost)


def _both(y: Bool, weight: Array) -> bool:
    return bool(np.any(weight[y] > 0) and np.any(weight[~y] > 0))


def _changed(
    block: Block,
    scores: Callable[[Any], Array],
    coef: Array | None,
    X: Any,
    base: Array,
    orders: Iterable[Index],
) -> Array:
    """The scores with the column in each of these orders, (orders, rows)."""
    if coef is not None:
        part = np.asarray(X[:, block.features] @ coef[block.features]).ravel()
        return np.array([base - part + part[order] for order in orders])
    if sparse.issparse(X):
        ours = np.zeros(X.shape[1])
        ours[block.features] = 1.0
        mask = sparse.diags_array(ours, format="csr")
        stay, move = X - X @ mask, X @ mask
        return np.array([scores(sparse.csr_matrix(stay + move[order])) for order in orders])
    changed, out = X.copy(), []
    for order in orders:
        changed[:, block.features] = X[np.ix_(order, block.features)]
        out.append(scores(changed))
    return np.array(out)


def _follow(
    tally: _Tally, block: Block, X: Any, base: Array, orders: Sequence[Index], changed: Array
) -> None:
    """How the scores go with the column: each row has got another value and another score."""
    columns = X[:, block.features]
    columns = np.asarray(columns.todense()) if sparse.issparse(columns) else columns
    if not block.levels:
        for order, after in zip(orders, changed, strict=True):
            shift, move = columns[order, 0] - columns[:, 0], after - base
            tally.moved += float(move @ move)
            tally.shifted += float(shift @ shift)
            tally.together += float(shift @ move)
        return
    middle = float(changed.mean())
    for order, after in zip(orders, changed, strict=True):
        hot = columns[order]
        sums, counts = hot.T @ (after - middle), hot.sum(axis=0)
        tally.moved += float((after - base) @ (after - base))
        for level, total, count in zip(block.levels, sums, counts, strict=True):
            held = tally.by_level.setdefault(level, [0.0, 0.0])
            held[0] += float(total)
            held[1] += float(count)


def _direction(tally: _Tally, block: Block) -> str:
    """``up``, ``down``, ``up and down``, or the categories of the highest and lowest scores."""
    if tally.moved <= 0:
        return "not used"
    if block.levels:
        means = {level: total / n for level, (total, n) in tally.by_level.items() if n > 0}
        if len(means) < 2:
            return "up and down"
        return f"up: {max(means, key=means.__getitem__)}; down: {min(means, key=means.__getitem__)}"
    size = np.sqrt(tally.moved * tally.shifted)
    turn = tally.together / size if size > 0 else 0.0
    if abs(turn) < MIXED_CORRELATION:
        return "up and down"
    up = turn > 0
    if block.kind == "boolean":
        return "up: true; down: false" if up else "up: false; down: true"
    return "up" if up else "down"


def alone(
    block: Block, X: Any, y: Bool, weight: Array | None, folds: Sequence[tuple[Index, Index]]
) -> float:
    """AUC of the held-out rows of each fold by the features of one column, mean over the folds.

    The score is least squares over every pair (`AUCRLS`) on the features of the column: of a
    number its value up or down, of a category about the rate of positives of each value.
    """
    from everypair import AUCRLS

    part = X[:, block.features]
    areas = []
    for train, test in folds:
        heeded = None if weight is None else weight[test]
        model = AUCRLS(alpha=1e-3).fit(
            part[train], y[train], sample_weight=None if weight is None else weight[train]
        )
        areas.append(auc_score(y[test], model.decision_function(part[test]), sample_weight=heeded))
    return float(np.mean(areas))
