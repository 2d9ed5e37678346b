"""everypair: classifiers trained on the measure they are judged by.

Names are imported when first used, so that ``import everypair`` stays light and prediction
never loads the compiled parts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from everypair.estimators.auc import AUCClassifier as AUCClassifier
    from everypair.estimators.rocsvm import ROCSVM as ROCSVM
    from everypair.estimators.two_norm_svm import TwoNormSVM as TwoNormSVM

_HOME = {
    "AUCClassifier": "everypair.estimators.auc",
    "ROCSVM": "everypair.estimators.rocsvm",
    "TwoNormSVM": "everypair.estimators.two_norm_svm",
}

__all__ = ["ROCSVM", "AUCClassifier", "TwoNormSVM", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
