"""RankBoost over every positive–negative pair, one decision stump per round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair._compiled import best_stump
from everypair.linalg.threads import over_rows

Array = NDArray[np.float64]

SMOOTHING = 1e-6
"""Added to the weights of the right and of the wrong pairs: a perfect stump has a finite vote."""

SAME_Z = 1e-12
"""Stumps whose Z are closer than this are the same one, summed in another order."""


class Stumps(NamedTuple):
    """``vote [x_feature > cut]`` a round, and the factor Z by which it lowered the loss."""

    features: NDArray[np.intp]
    cuts: Array
    votes: Array
    factors: Array


class SortedColumns:
    """The rows by growing value of each feature, and where a value ends."""

    def __init__(self, X: NDArray[Any]):
        n_rows, n_features = X.shape
        self.order = np.empty((n_features, n_rows), dtype=np.int32)
        self.ends = np.zeros((n_features, n_rows), dtype=np.bool_)
        for f in range(n_features):
            column = X[:, f]
            self.order[f] = np.argsort(column, kind="stable")
            values = column[self.order[f]]
            self.ends[f, :-1] = values[1:] > values[:-1]
        self._X = X

    def cut(self, feature: int, position: int) -> float:
        """Halfway to the next value, and below it."""
        low, high = self._X[self.order[feature, position : position + 2], feature]
        middle = float(low) / 2 + float(high) / 2
        return middle if low <= middle < high else float(low)


def rank_boost(
    X: NDArray[Any], positive: NDArray[np.bool_], weight: Array, n_rounds: int
) -> tuple[Stumps, Array]:
    """At most ``n_rounds`` stumps and the training scores; weights above zero, one per row.

    The pairs' weights are products v_i v_j of the rows' (section 3.2), each class summing to
    one. A round takes the stump h of least Z, gives it the vote that Z is least for,

        vote = 1/2 log((W+ + e) / (W- + e)) ,

    with W+ and W- the weights of the pairs it ranks rightly and wrongly, and multiplies the
    weights of the positives by exp(-vote h), of the negatives by exp(vote h). It ends early where
    no stump is better than chance, or where one ranks every pair.
    """
    columns = SortedColumns(X)
    scores = np.zeros(positive.size)
    share = np.where(positive, weight / weight[positive].sum(), weight / weight[~positive].sum())
    features, cuts, votes, factors = [], [], [], []
    for _ in range(n_rounds):
        _, feature, position, P, N = _best(columns, positive, share)
        if feature < 0:
            break
        right, wrong = P * (1 - N), (1 - P) * N
        vote = 0.5 * float(np.log((right + SMOOTHING) / (wrong + SMOOTHING)))
        above = columns.order[feature, position + 1 :]
        scores[above] += vote
        factor = 1.0
        for rows, sign in ((positive, -1), (~positive, 1)):
            share[above] *= np.where(rows[above], np.exp(sign * vote), 1.0)
            total = share[rows].sum()
            share[rows] /= total
            factor *= float(total)
        features.append(feature)
        cuts.append(columns.cut(feature, position))
        votes.append(vote)
        factors.append(factor)
        if max(right, wrong) > 1 - SAME_Z:
            break  # every pair is ranked, and this stump would come again
    stumps = Stumps(
        np.array(features, dtype=np.intp), np.array(cuts), np.array(votes), np.array(factors)
    )
    return stumps, scores


def _best(
    columns: SortedColumns, positive: NDArray[np.bool_], share: Array
) -> tuple[float, int, int, float, float]:
    n_features, n_rows = columns.order.shape

    def work(start: int, stop: int) -> tuple[float, int, int, float, float]:
        return best_stump(columns.order, columns.ends, positive, share, start, stop, SAME_Z)

    found = over_rows(work, n_features, 4 * n_features * n_rows)
    best = found[0]
    for other in found[1:]:
        if other[0] < best[0] - SAME_Z:
            best = other
    return best
