"""Every pair inside XGBoost and LightGBM: objectives, a metric and a classifier."""

from everypair.boosting.classifier import AUCBoostingClassifier
from everypair.boosting.metric import auc_metric
from everypair.boosting.objective import pair_objective

__all__ = ["AUCBoostingClassifier", "auc_metric", "pair_objective"]
