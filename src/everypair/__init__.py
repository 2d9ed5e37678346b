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
    from everypair.estimators.rankopt import RankOpt as RankOpt
    from everypair.estimators.rankopt import RankOptCV as RankOptCV

_HOME = {
    "AUCClassifier": "everypair.estimators.auc",
    "RankOpt": "everypair.estimators.rankopt",
    "RankOptCV": "everypair.estimators.rankopt",
}

__all__ = ["AUCClassifier", "RankOpt", "RankOptCV", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
