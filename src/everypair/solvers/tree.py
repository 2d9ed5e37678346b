"""A decision tree as arrays: where a row ends, and which branches are worth keeping."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Bool = NDArray[np.bool_]


class Tree(NamedTuple):
    """One entry per node, a node before its children; leaves have feature -1.

    A row goes left where its value is at most ``cut``, or where its category is in the set
    ``sets[set_of]``; a missing value goes left where ``missing_left``.
    """

    feature: Index
    cut: Array
    left: Index
    right: Index
    missing_left: Bool
    set_of: Index
    sets: Bool
    positives: Array
    negatives: Array
    gain: Array

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.feature < 0))

    def leaf_of(self, X: NDArray[Any], is_categorical: Bool) -> Index:
        """The leaf of each row. Children come after their parents, so the walk ends."""
        node = np.zeros(X.shape[0], dtype=np.intp)
        walking = np.flatnonzero(self.feature[node] >= 0)
        for _ in range(self.feature.size):
            if walking.size == 0:
                break
            at = node[walking]
            value = X[walking, self.feature[at]]
            goes_left = np.where(np.isnan(value), self.missing_left[at], value <= self.cut[at])
            by_set = np.flatnonzero(is_categorical[self.feature[at]])
            if by_set.size:
                goes_left[by_set] = self._in_set(at[by_set], value[by_set])
            node[walking] = np.where(goes_left, self.left[at], self.right[at])
            walking = walking[self.feature[node[walking]] >= 0]
        return node

    def _in_set(self, nodes: Index, values: Array) -> Bool:
        """Categories that the training rows did not have go the way of missing values."""
        known = (values >= 0) & (values < self.sets.shape[1])
        codes = np.where(known, values, 0).astype(np.intp)
        return np.where(known, self.sets[self.set_of[nodes], codes], self.missing_left[nodes])

    def pruned(self, alpha: float) -> Tree:
        """Without the branches whose gain per leaf is at most ``alpha`` (weakest links first)."""
        keep = self.feature >= 0
        for _, node in self.weakest_links(alpha):
            keep[node] = False
        return self._kept(keep)

    def weakest_links(self, alpha: float = np.inf) -> list[tuple[float, int]]:
        """``(gain per leaf, node)`` in the order in which branches are cut, up to ``alpha``.

        The cost-complexity pruning of Breiman et al. (1984, section 3.3) with the gain in AUC
        in place of the decrease of an impurity. The gains per leaf that are cut at never fall.
        """
        n_nodes = self.feature.size
        split = self.feature >= 0
        parent = np.full(n_nodes, -1, dtype=np.intp)
        for side in (self.left, self.right):
            parent[side[split]] = np.flatnonzero(split)
        gain, leaves = np.where(split, self.gain, 0.0), np.where(split, 0, 1)
        for node in range(n_nodes - 1, 0, -1):  # children come after their parents
            gain[parent[node]] += gain[node]
            leaves[parent[node]] += leaves[node]
        alive, cut = split.copy(), []
        version = np.zeros(n_nodes, dtype=np.intp)  # entries of the heap from before are void
        heap: list[tuple[float, int, int]] = [
            (gain[node] / (leaves[node] - 1), int(node), 0) for node in np.flatnonzero(split)
        ]
        heapify(heap)
        highest = 0.0
        while heap:
            link, node, made = heappop(heap)
            if not alive[node] or made != version[node]:
                continue
            highest = max(highest, float(link))
            if highest > alpha:
                break
            cut.append((highest, node))
            below = [node]
            while below:
                inside = below.pop()
                if alive[inside]:
                    below += [int(self.left[inside]), int(self.right[inside])]
                alive[inside] = False
            lost_gain, lost_leaves, above = gain[node], leaves[node] - 1, int(parent[node])
            while above >= 0:
                gain[above] -= lost_gain
                leaves[above] -= lost_leaves
                version[above] += 1
                heappush(heap, (gain[above] / (leaves[above] - 1), above, int(version[above])))
                above = int(parent[above])
        return cut

    def _kept(self, split: Bool) -> Tree:
        """The tree whose nodes are split only where ``split`` says so."""
        reached = np.zeros(self.feature.size, dtype=bool)
        reached[0] = True
        for node in range(self.feature.size):
            if reached[node] and split[node]:
                reached[[self.left[node], self.right[node]]] = True
        number = np.cumsum(reached) - 1
        part = {name: getattr(self, name)[reached] for name in self._fields if name != "sets"}
        leaf = ~split[reached]
        part["feature"][leaf] = -1
        part["gain"][leaf] = 0.0
        for side in ("left", "right"):
            part[side] = np.where(leaf, 0, number[part[side]])
        return self._replace(**part)
