"""The exact AUC as a metric for the early stopping of XGBoost and LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.boosting.cluster import Cluster
from everypair.boosting.objective import (
    _weight,
    refuse_form_of_train,
    refuse_other_rows,
)
from everypair.metrics import auc_score
from everypair.rows import groups_of
from everypair.within import Groups

METRIC_NAME = "auc_exact"
"""XGBoost maximises metrics whose name begins with auc."""


def auc_metric(
    library: str, within: ArrayLike | None = None, within_weight: str = "pairs"
) -> AUCMetric:
    """The exact AUC, weighted and with ties as halves, in the convention of a library.

    The result goes as it is into ``eval_metric=``: of the constructor of `XGBClassifier`, or of
    ``fit`` of `LGBMClassifier`. Its method `AUCMetric.for_train` goes into ``custom_metric=`` of
    `xgboost.train` and ``feval=`` of `lightgbm.train`. Both libraries stop early at its maximum.

    Parameters
    ----------
    library : {"xgboost", "lightgbm"}
        Whose convention to follow: XGBoost wants a number, LightGBM a name, a number and whether
        higher is better.
    within : array of shape (n_rows,), default=None
        The group of each row that is evaluated, in the order of the rows: the AUC of the pairs
        inside groups. The metric then serves these rows and no others.
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group weighs: as its pairs, as its rows, or each group the same.

    Returns
    -------
    AUCMetric
        A callable ``(y_true, y_pred, sample_weight=None)``.

    See Also
    --------
    pair_objective : The loss over every pair as an objective.
    everypair.metrics.auc_score : The same number for any scores.

    Examples
    --------
    >>> from everypair.boosting import auc_metric
    >>> auc_metric("xgboost")([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.3])
    0.75
    >>> auc_metric("lightgbm")([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.3])
    ('auc_exact', 0.75, True)
    """
    if library not in ("xgboost", "lightgbm"):
        raise ValueError(f"library={library!r} is not known: use 'xgboost' or 'lightgbm'.")
    return AUCMetric(library, groups_of(within, within_weight))


class AUCMetric:
    """What `auc_metric` returns."""

    def __init__(self, library: str, within: Groups | None = None):
        self.library, self.within, self.__name__ = library, within, METRIC_NAME

    def __repr__(self) -> str:
        return f"auc_metric({self.library!r})"

    def __call__(
        self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Any:
        """The AUC of these scores.

        Parameters
        ----------
        y_true : array of shape (n_rows,)
            Two labels; the larger is positive.
        y_pred : array of shape (n_rows,)
            Scores.
        sample_weight : array of shape (n_rows,), default=None
            Weights >= 0; None means 1 for every row.

        Returns
        -------
        float or tuple (name, value, True)
            The AUC, as the library wants it.
        """
        refuse_form_of_train(y_pred, "auc_metric(...)")
        cluster = Cluster.here()
        if cluster is not None:
            value = self._of_all_workers(cluster, y_true, y_pred, sample_weight)
        else:
            refuse_other_rows(self.within, np.size(y_true))
            inside: Any = self.within  # numbered already, which `auc_score` takes as well
            value = auc_score(y_true, y_pred, sample_weight=sample_weight, within=inside)
        return value if self.library == "xgboost" else (METRIC_NAME, value, True)

    def _of_all_workers(self, cluster: Cluster, y_true: Any, y_pred: Any, weight: Any) -> float:
        """Every worker gets all rows: the AUC is that of one process."""
        if self.within is not None:
            raise ValueError(
                "within=... names the rows of one process, but XGBoost trains on several workers "
                "here: train in one process, or without within."
            )
        weighted = cluster.largest(np.array([weight is not None], dtype=np.int32))[0]
        if weighted and weight is None:
            weight = np.ones(np.size(y_true))
        y, scores = (cluster.gathered(np.asarray(of, np.float32)) for of in (y_true, y_pred))
        if weighted:
            weight = cluster.gathered(np.asarray(weight, np.float64))
        return float(auc_score(y, scores, sample_weight=weight))

    def for_train(self, preds: ArrayLike, data: Any) -> Any:
        """The same in the form of `xgboost.train` and `lightgbm.train`.

        Parameters
        ----------
        preds : array of shape (n_rows,)
            Scores.
        data : xgboost.DMatrix or lightgbm.Dataset
            The rows, from which labels and weights are read.

        Returns
        -------
        tuple
            The name and the AUC; for LightGBM also that higher is better.
        """
        value = self(data.get_label(), preds, _weight(data))
        return (METRIC_NAME, value) if self.library == "xgboost" else value
