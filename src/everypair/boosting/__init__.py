"""Every pair inside XGBoost and LightGBM: objectives, a metric and a classifier.

Names are imported when first used: prediction never loads the compiled parts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.boosting.classifier import AUCBoostingClassifier as AUCBoostingClassifier
    from everypair.boosting.metric import auc_metric as auc_metric
    from everypair.boosting.objective import pair_objective as pair_objective

_HOME = {
    "AUCBoostingClassifier": "classifier",
    "auc_metric": "metric",
    "pair_objective": "objective",
}

__all__ = ["AUCBoostingClassifier", "auc_metric", "pair_objective"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'everypair.boosting' has no attribute {name!r}")
    return getattr(import_module(f"everypair.boosting.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
