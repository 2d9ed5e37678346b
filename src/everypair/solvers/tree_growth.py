"""A decision tree whose splits maximise the AUC of the two leaves they make (Ferri et al. 2002).

A node with the share P_t of all positives and N_t of all negatives holds the share ``P_t N_t`` of
all pairs. A split that sends the shares p and q of them to one side decides some of these pairs:
with the side of the larger share ranked first, the AUC inside the node is ``(1 + |p - q|) / 2``.
The *gain* of the split is ``P_t N_t |p - q| / 2``. Ranked along the tree, its leaves have an AUC
of one half plus the gains of all splits; sorted by their own rates, at least that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import best_split, part_orders
from everypair.linalg.dense import read_only
from everypair.solvers.tree import Tree

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Bool = NDArray[np.bool_]

SAME_DISTANCE = 1e-12
"""Distances that are closer than this are the same one, summed in another order."""


def grow(
    X: NDArray[Any],
    positive: Bool,
    weight: Array,
    is_categorical: Bool,
    max_depth: int,
    least_weight: float,
) -> Tree:
    """The whole tree; every row weighs more than zero."""
    return _Growth(X, positive, weight, is_categorical, max_depth, least_weight).tree()


class _Growth:
    def __init__(
        self,
        X: NDArray[Any],
        positive: Bool,
        weight: Array,
        is_categorical: Bool,
        max_depth: int,
        least_weight: float,
    ):
        self.X, self.positive, self.weight = read_only(X), positive, weight
        self.max_depth, self.least = max_depth, least_weight
        self.numeric = np.flatnonzero(~is_categorical)
        self.categorical = np.flatnonzero(is_categorical)
        self.n_codes = 1
        if self.categorical.size:
            self.n_codes = 1 + int(np.nanmax(X[:, self.categorical], initial=0))
        # Missing values come last in a sort. Categories need no order of their own.
        self.order = np.empty((X.shape[1], X.shape[0]), dtype=np.int32)
        for f in range(X.shape[1]):
            self.order[f] = np.argsort(X[:, f], kind="stable")
        self.scratch = np.empty(X.shape[0], dtype=np.int32)
        self.goes_left = np.zeros(X.shape[0], dtype=bool)
        self.gain = np.empty(X.shape[0])
        self.totals = [float(weight[positive].sum()), float(weight[~positive].sum())]
        self.nodes: list[dict[str, Any]] = []
        self.sets: list[Bool] = []

    def tree(self) -> Tree:
        waiting = [(0, self.positive.size, 0, self._new_node(0, self.positive.size))]
        while waiting:
            start, stop, depth, node = waiting.pop()
            middle = self._split(start, stop, node) if depth < self.max_depth else start
            if middle == start:
                continue
            left, right = self._new_node(start, middle), self._new_node(middle, stop)
            self.nodes[node].update(left=left, right=right)
            waiting += [(middle, stop, depth + 1, right), (start, middle, depth + 1, left)]
        columns = {name: np.array([n[name] for n in self.nodes]) for name in self.nodes[0]}
        sets = np.array(self.sets) if self.sets else np.zeros((1, 1), dtype=bool)
        return Tree(**columns, sets=sets)

    def _new_node(self, start: int, stop: int) -> int:
        rows = self.order[0, start:stop]
        weight, positive = self.weight[rows], self.positive[rows]
        self.nodes.append(
            {
                "feature": -1, "cut": 0.0, "left": 0, "right": 0, "missing_left": False,
                "set_of": 0, "gain": 0.0,
                "positives": float(weight[positive].sum()),
                "negatives": float(weight[~positive].sum()),
            }
        )  # fmt: skip
        return len(self.nodes) - 1

    def _split(self, start: int, stop: int, number: int) -> int:
        """Split the node if that gains anything; where its right part starts, else ``start``."""
        node, rows = self.nodes[number], self.order[0, start:stop]
        of_class = node["positives"], node["negatives"]
        if min(of_class) <= 0:
            return start
        gain = self.gain  # of the node's rows alone, which are all that is looked at
        gain[rows] = self.weight[rows] * np.where(
            self.positive[rows], 1 / of_class[0], -1 / of_class[1]
        )
        distance, feature, position, missing_left = best_split(
            self.X,
            self.order,
            self.numeric,
            start,
            stop,
            gain,
            self.weight,
            self.least,
            SAME_DISTANCE,
        )
        chosen = None
        for f in self.categorical:
            found = self._best_set(int(f), rows, gain)
            if found is not None and found[0] > distance + SAME_DISTANCE:
                distance, feature, chosen = found[0], f, found
        if feature < 0:
            return start
        values = self.X[rows, feature]
        missing = np.isnan(values)
        if chosen is None:
            cut = self._cut(feature, position, start, stop)
            left = values <= cut
            node["cut"] = cut
        else:
            _, in_set, missing_left = chosen
            left = in_set[np.where(missing, 0, values).astype(np.intp)]
            node["set_of"] = len(self.sets)
            self.sets.append(in_set)
        left = np.where(missing, missing_left, left)
        if not missing.any():  # as scikit-learn's trees: to the child with more rows
            missing_left = self.weight[rows[left]].sum() >= self.weight[rows[~left]].sum()
        pairs = of_class[0] / self.totals[0] * (of_class[1] / self.totals[1])
        node.update(
            feature=int(feature), missing_left=bool(missing_left), gain=pairs * distance / 2
        )
        self.goes_left[rows] = left
        return int(part_orders(self.order, start, stop, self.goes_left, self.scratch))

    def _cut(self, feature: int, position: int, start: int, stop: int) -> float:
        """Halfway to the next value, and below it; the largest value where none is next."""
        order = self.order[feature]
        low = float(self.X[order[position], feature])
        if position + 1 == stop or np.isnan(high := float(self.X[order[position + 1], feature])):
            return low
        middle = low / 2 + high / 2
        return middle if low <= middle < high else low

    def _best_set(self, f: int, rows: NDArray[Any], gain: Array) -> tuple[float, Bool, bool] | None:
        """``(distance, categories that go left, whether missing values do)``; None if no set.

        Categories are ordered by their rate of positives. The best set is one of the first k:
        the distance is a sum over categories, positive for those above the node's own rate.
        """
        values = self.X[rows, f]
        codes = np.where(np.isnan(values), self.n_codes, values).astype(np.intp)
        gains = np.bincount(codes, gain[rows], self.n_codes + 1)
        weights = np.bincount(codes, self.weight[rows], self.n_codes + 1)
        held = np.flatnonzero(weights)
        wins = np.bincount(codes, self.weight[rows] * self.positive[rows], self.n_codes + 1)
        held = held[np.argsort(-wins[held] / weights[held], kind="stable")]
        left_weight = np.cumsum(weights[held])[:-1]
        distances = np.abs(np.cumsum(gains[held])[:-1])
        fits = (left_weight >= self.least) & (weights[held].sum() - left_weight >= self.least)
        if not np.any(fits & (distances > SAME_DISTANCE)):
            return None
        k = int(np.argmax(np.where(fits, distances, -1.0)))
        in_set = np.zeros(self.n_codes + 1, dtype=bool)
        in_set[held[: k + 1]] = True
        return float(distances[k]), in_set[:-1], bool(in_set[-1])
