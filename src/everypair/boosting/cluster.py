"""The loss over every pair of all workers of a cluster, where XGBoost calls an objective on each.

A worker sees its own rows. What the derivatives need of the others are sums over rows (totals of
the classes, box moments, class sums), and XGBoost adds these up over the workers (`allreduce`).
Each step below happens on every worker, whatever rows it has, equally often: a worker that left
one out would let the others wait. So a worker with unusable rows says so in a sum before it raises,
and then all raise.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.checks import checked_weights, finite_scores
from everypair.pairs.boxes import PER_UNIT
from everypair.pairs.pushed import PushedPoint
from everypair.pairs.separable import ClassSums, ExponentialPoint, SquarePoint
from everypair.pairs.smooth import LOGISTIC_KERNELS, BoxedScores, SmoothPoint, fits_grid
from everypair.rows import Rows

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

CLUSTER_LOSSES = ("logistic", "exponential", "square")


class Cluster:
    """The workers of the training that runs here, by XGBoost's own communication."""

    def __init__(self, collective: Any):
        self._collective = collective

    @classmethod
    def here(cls) -> Cluster | None:
        """The workers; None where XGBoost trains in this process alone, or not at all."""
        collective = sys.modules.get("xgboost.collective")
        if collective is None or collective.get_world_size() < 2:
            return None
        return cls(collective)

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over the workers, entry by entry."""
        return self._reduced(values, self._collective.Op.SUM)

    def largest(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._reduced(values, self._collective.Op.MAX)

    def _reduced(self, values: NDArray[Any], operation: Any) -> NDArray[Any]:
        values = np.ascontiguousarray(values)
        reduced = self._collective.allreduce(values, operation)
        return np.asarray(reduced).reshape(values.shape)

    def gathered(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of all workers, one after the other."""
        lengths = np.zeros(self._collective.get_world_size(), dtype=np.int64)
        rank = self._collective.get_rank()
        lengths[rank] = values.size
        ends = np.cumsum(self.total(lengths))
        room = np.zeros(int(ends[-1]), dtype=values.dtype)
        room[ends[rank] - values.size : ends[rank]] = values
        return self.total(room) if room.size else room

    def raise_together(self, trouble: Exception | None) -> None:
        """Raise on every worker if any has a trouble: its own, or that another has one."""
        if not self.largest(np.array([trouble is not None], dtype=np.int32))[0]:
            return
        raise trouble or ValueError("The rows of another worker were refused: see its error.")


class SharedRows(NamedTuple):
    """The rows of this worker, weighted so that each class of all workers sums to one."""

    rows: Rows
    n_rows: int
    """Of all workers."""


def shared_rows(cluster: Cluster, y: NDArray[Any], weight: Any) -> SharedRows:
    """Which rows of this worker are positive and what each weighs among all workers' rows."""
    trouble: Exception | None = None
    labels = np.asarray(y, dtype=np.float64)
    # The labels' ends as largest values: of nothing they are below every number.
    ends = np.full(2, -np.inf)
    weights = np.ones(labels.size)
    try:
        if labels.size:
            if weight is not None:
                weights = checked_weights(weight, labels.size)
            if not np.isfinite(labels).all():
                raise ValueError("y has missing or infinite labels: give two numbers.")
            ends = np.array([labels.max(), -labels.min()])
    except ValueError as error:
        trouble = error
    cluster.raise_together(trouble)
    high, low = cluster.largest(ends) * (1, -1)
    known = np.isin(labels, (low, high))
    if low == high or not known.all():
        found = "one distinct value" if low == high else "more than two distinct values"
        trouble = ValueError(f"y has {found}: an objective over pairs needs two classes.")
    cluster.raise_together(trouble)
    positive = labels == high
    classes = ~positive, positive
    # Divided by the largest first, as in `everypair.rows`.
    most = cluster.largest(np.array([weights[which].max(initial=0.0) for which in classes]))
    share = weights / np.where(positive, *np.where(most > 0, most, 1.0)[::-1])
    sums = cluster.total(np.array([*(share[which].sum() for which in classes), labels.size]))
    for total, name in zip(sums[:2], ("negative", "positive"), strict=True):
        if total == 0:  # of all workers: each of them raises
            raise ValueError(
                f"The sample_weight of every {name} row is zero: "
                "at least one row of each class needs a positive weight."
            )
    share /= np.where(positive, sums[1], sums[0])
    rows = Rows(positive, share, None, (False, True))
    vars(rows)["share"] = share
    return SharedRows(rows, int(sums[2]))


def shared_derivatives(
    cluster: Cluster, loss: str, push: float, shared: SharedRows, y_pred: Any
) -> tuple[Array, Array]:
    """Gradient and curvature of each row's score, over the pairs of all workers."""
    if loss not in CLUSTER_LOSSES:
        raise ValueError(
            f"loss={loss!r} needs all scores in one place and is not available on a cluster: use "
            f"one of {', '.join(map(repr, CLUSTER_LOSSES))}."
        )
    rows, trouble = shared.rows, None
    scores = np.zeros(rows.n_rows)
    try:
        if rows.n_rows:
            scores = finite_scores(y_pred, rows.n_rows, "y_pred")
    except ValueError as error:
        trouble = error
    cluster.raise_together(trouble)
    point: Any
    if loss == "logistic":
        point = _SharedSmoothPoint(cluster, shared, scores)
        point = point if push == 1 else PushedPoint(point, push)
    else:
        # A common offset, which no pair sees but rounding does.
        middle = cluster.total(np.array([scores.sum()]))[0] / shared.n_rows
        separable = SquarePoint if loss == "square" else ExponentialPoint
        point = separable(rows, scores - middle, _SharedClasses(cluster, rows))
    return point.gradient(), point.curvature()


class _SharedClasses(ClassSums):
    """Sums over the two classes of all workers."""

    def __init__(self, cluster: Cluster, rows: Rows):
        super().__init__(rows)
        self._cluster = cluster

    def sums(self, values: Array) -> Array:
        return self._cluster.total(super().sums(values))

    def largest(self, scores: Array, weight: Array) -> Array:
        return self._cluster.largest(super().largest(scores, weight))


class _SharedBoxes(BoxedScores):
    """Boxes of the scores of all workers; this worker's rows in them."""

    def __init__(self, cluster: Cluster, shared: SharedRows, scores: Array):
        self._cluster = cluster
        ids = np.unique(cluster.gathered(np.unique(np.floor(scores * PER_UNIT))))
        if fits_grid(ids[0], ids[-1], shared.n_rows):
            ids = np.arange(ids[0], ids[-1] + 1)
        super().__init__(shared.rows, scores, ids)

    def moments(self, weights: Array, rough: bool = False) -> Array:
        return self._cluster.total(super().moments(weights, rough))

    def total(self, value: float) -> float:
        return float(self._cluster.total(np.array([value]))[0])

    def largest(self, value: float) -> float:
        return float(self._cluster.largest(np.array([value]))[0])


class _SharedSmoothPoint(SmoothPoint):
    """`SmoothPoint` over the pairs of all workers, at the rows of this one."""

    def __init__(self, cluster: Cluster, shared: SharedRows, scores: Array):
        boxes = _SharedBoxes(cluster, shared, scores)
        super().__init__(LOGISTIC_KERNELS, shared.rows, scores, boxes)


def refuse_machines_of_lightgbm() -> None:
    """LightGBM shows an objective the rows of its own machine, and offers no sum over machines."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "lightgbm.engine" and "params" in frame.f_locals:
            params = frame.f_locals["params"]
            machines = max(
                int(params.get(name, 1) or 1) for name in ("num_machines", "num_machine")
            )
            if machines > 1:
                raise ValueError(
                    f"LightGBM trains on {machines} machines and shows this objective the rows of "
                    "one: the pairs between machines would be missing. Train on a cluster with "
                    "xgboost.dask, or with LightGBM on one machine."
                )
            return
        frame = frame.f_back
