"""The loss over every pair as a custom objective of XGBoost and LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.boosting.cluster import (
    Cluster,
    SharedRows,
    refuse_machines_of_lightgbm,
    shared_derivatives,
    shared_rows,
)
from everypair.checks import distinct_labels, finite_scores
from everypair.linalg.threads import own_threads
from everypair.pairs.pushed import check_push, pushed_point
from everypair.rows import Rows, groups_of
from everypair.within import Groups

Array = NDArray[np.float64]

BOOSTED_LOSSES = ("logistic", "exponential", "square", "squared_hinge")

LEAST_CURVATURE = 1e-6
"""A row whose pairs are all decided still needs a curvature above zero: it is divided by."""

LARGEST = float(np.finfo(np.float32).max)
"""The libraries hold gradients in float32."""


def pair_objective(
    loss: str = "logistic",
    push: float = 1,
    within: ArrayLike | None = None,
    within_weight: str = "pairs",
) -> PairObjective:
    """A loss over every positive–negative pair as an objective for boosted trees.

    The result goes as it is into ``objective=`` of `XGBClassifier`, `XGBRegressor`,
    `LGBMClassifier` and `LGBMRegressor`. Its method `PairObjective.for_train` goes into ``obj=``
    of `xgboost.train` and into ``params["objective"]`` of `lightgbm.train`. In a round that
    starts from the scores s, row k has the gradient g_k and the curvature h_k of

        L(s) = sum_ij a_i b_j phi(s_i - s_j)     or, with a push p > 1,
        L(s) = (sum_j b_j (sum_i a_i phi(s_i - s_j))^p)^(1/p)   (Rudin 2009) ,

    where i are the positive rows, j the negative ones, and a and b the row weights, each class
    summing to one. Both are multiplied by n / 2, so that the libraries' defaults for the least
    weight of a leaf keep their meaning. The sums are exact and take O(n) or O(n log n) time. With
    ``within`` the pairs are those inside groups (a user, a query), weighted as in
    `everypair.AUCClassifier`.

    Parameters
    ----------
    loss : {"logistic", "exponential", "square", "squared_hinge"}, default="logistic"
        The loss phi of a pair's margin, as in `everypair.AUCClassifier`.
    push : float, default=1
        Power p >= 1 with which the negative rows that outscore many positives weigh more:
        2 to 4 improve the top of the list (precision among the first rows, partial AUC) at
        some cost in AUC. Logistic loss only, and not with ``within``.
    within : array of shape (n_rows,), default=None
        The group of each training row, in the order of the rows; pairs are made inside a group
        only. The objective then serves these rows and no others.
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs: as its pairs, as its rows, or each group the same.

    Returns
    -------
    PairObjective
        A callable ``(y_true, y_pred, sample_weight=None)`` that returns gradient and curvature.

    See Also
    --------
    auc_metric : The exact AUC for early stopping.
    AUCBoostingClassifier : A classifier that sets all of this up.

    Notes
    -----
    Trees trained on pairs reach about the same AUC as with the log loss. What pairs add is a loss
    that does not collapse on very rare positives, exact row weights, and the push.

    Scores are known up to a constant only. ``predict_proba`` of the libraries' classifiers is
    therefore not a probability here: calibrate the scores.

    LightGBM adds no initial score to a custom objective, and XGBoost's ``base_score`` shifts
    all scores alike, which no pair sees. Neither library multiplies the gradients of a custom
    objective by the row weights: they are part of L.

    References
    ----------
    C. Rudin. The p-norm push: a simple convex ranking algorithm that concentrates at the top
    of the list. Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.boosting import pair_objective
    >>> objective = pair_objective()
    >>> gradient, curvature = objective(np.array([0, 1, 0]), np.zeros(3))
    >>> gradient
    array([ 0.375, -0.75 ,  0.375])
    """
    push = check_push(loss, push, BOOSTED_LOSSES, within)
    return PairObjective(loss, push, groups_of(within, within_weight))


class PairObjective:
    """What `pair_objective` returns; `clone`, `copy` and `pickle` take it as any value."""

    def __init__(self, loss: str, push: float, within: Groups | None = None):
        self.loss, self.push, self.within = loss, push, within
        self._last: Any = None

    def __repr__(self) -> str:
        inside = "" if self.within is None else f", within=<{self.within.names.size} groups>"
        return f"pair_objective(loss={self.loss!r}, push={self.push:g}{inside})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairObjective)
            and (self.loss, self.push) == (other.loss, other.push)
            and same_groups(self.within, other.within)
        )

    def __hash__(self) -> int:
        return hash((self.loss, self.push))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    # LightGBM counts the arguments and XGBoost looks for the name of the third.
    def __call__(
        self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Gradient and curvature of each row's score, times n / 2.

        Parameters
        ----------
        y_true : array of shape (n_rows,)
            Two labels; the larger is positive.
        y_pred : array of shape (n_rows,)
            Scores before this round.
        sample_weight : array of shape (n_rows,), default=None
            Weights >= 0; None means 1 for every row.

        Returns
        -------
        gradient, curvature : arrays of shape (n_rows,)
            The curvatures are above zero.
        """
        refuse_form_of_train(y_pred, "pair_objective(...)")
        cluster = Cluster.here()
        rows = self._rows(np.asarray(y_true), sample_weight, cluster)
        with own_threads():
            if cluster is not None:
                gradient, curvature = shared_derivatives(
                    cluster, self.loss, self.push, rows, y_pred
                )
            else:
                scores = finite_scores(y_pred, rows.n_rows, "y_pred")
                point = pushed_point(self.loss, rows, scores, self.push)
                gradient, curvature = point.gradient(), point.curvature()
        scale = rows.n_rows / 2
        gradient *= scale
        curvature *= scale
        if not all(np.all(np.abs(d) <= LARGEST) for d in (gradient, curvature)):
            raise ValueError(
                f"loss={self.loss!r} overflows at scores from {np.min(y_pred):g} to "
                f"{np.max(y_pred):g}: use loss='logistic'."
            )
        return gradient, np.maximum(curvature, LEAST_CURVATURE, out=curvature)

    def inside(self, within: Groups | None) -> PairObjective:
        """The same loss over the pairs inside these groups."""
        return PairObjective(self.loss, self.push, within)

    def _rows(self, y_true: NDArray[Any], sample_weight: Any, cluster: Cluster | None) -> Any:
        """Rows as they were last time, ordered by group already, if labels and weights are."""
        weight = None if sample_weight is None else np.asarray(sample_weight)
        last = self._last
        new = last is None or not (_same(y_true, last[0]) and _same(weight, last[1]))
        new = new or isinstance(last[2], SharedRows) != (cluster is not None)
        if cluster is not None:
            if self.within is not None:
                raise ValueError(
                    "within=... names the rows of one process, but XGBoost trains on several "
                    "workers here: train in one process, or without within."
                )
            new = bool(cluster.largest(np.array([new], dtype=np.int32))[0])  # on any worker
        if new:
            if cluster is None:
                refuse_machines_of_lightgbm()
                refuse_other_rows(self.within, y_true.size)
                rows: Any = Rows.uncut(_positive(y_true), weight, self.within)
            else:
                rows = shared_rows(cluster, y_true, weight)
            # Copies: the libraries may write the next round's into the same memory.
            last = np.array(y_true), None if weight is None else np.array(weight), rows
            self._last = last
        return last[2]

    def for_train(self, preds: ArrayLike, data: Any) -> tuple[Array, Array]:
        """The same in the form of `xgboost.train` and `lightgbm.train`.

        Parameters
        ----------
        preds : array of shape (n_rows,)
            Scores before this round.
        data : xgboost.DMatrix or lightgbm.Dataset
            The training rows, from which labels and weights are read.

        Returns
        -------
        gradient, curvature : arrays of shape (n_rows,)
            As of a call.
        """
        return self(data.get_label(), preds, _weight(data))


def refuse_form_of_train(y_pred: Any, name: str) -> None:
    """`xgboost.train` and `lightgbm.train` pass scores and their data, not labels and scores."""
    if hasattr(y_pred, "get_label"):
        raise TypeError(
            f"{name} was called with a {type(y_pred).__name__}, as train(...) of XGBoost and "
            f"LightGBM does: pass {name}.for_train there."
        )


def refuse_other_rows(within: Groups | None, n_rows: int) -> None:
    if within is not None and within.codes.size != n_rows:
        raise ValueError(
            f"within has {within.codes.size} values, but the booster has {n_rows} rows here: give "
            "the groups of exactly these rows, in their order."
        )


def same_groups(one: Groups | None, other: Groups | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.weighting == other.weighting and _same(one.codes, other.codes)


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


def _weight(data: Any) -> Any:
    """The row weights of a DMatrix or Dataset; None where it has none."""
    weight = data.get_weight()
    return None if weight is None or np.size(weight) == 0 else weight


def _positive(y_true: NDArray[Any]) -> NDArray[np.bool_]:
    labels = distinct_labels(y_true)
    if labels.size != 2:
        raise ValueError(
            f"y has {labels.size} distinct values: an objective over pairs needs two classes."
        )
    return np.asarray(y_true == labels[1])
