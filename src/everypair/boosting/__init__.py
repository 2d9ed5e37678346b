"""Every pair inside XGBoost and LightGBM: objectives, a metric and a classifier."""

from everypair.boosting.metric import auc_metric
from everypair.boosting.objective import pair_objective

__all__ = ["auc_metric", "pair_objective"]
