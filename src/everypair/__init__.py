"""everypair: classifiers trained on the measure they are judged by.

Names are imported when first used, so that ``import everypair`` stays light and prediction
never loads the compiled parts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from everypair.estimators.additive import AUCAdditive as AUCAdditive
    from everypair.estimators.additive_cv import AUCAdditiveCV as AUCAdditiveCV
    from everypair.estimators.auc import AUCClassifier as AUCClassifier
    from everypair.estimators.auc_cv import AUCClassifierCV as AUCClassifierCV
    from everypair.estimators.auc_path import auc_path as auc_path
    from everypair.estimators.auc_tree import AUCTree as AUCTree
    from everypair.estimators.coefficient_table import coef_inference as coef_inference
    from everypair.estimators.cpauc import CPAUC as CPAUC
    from everypair.estimators.measure_opt import MeasureOpt as MeasureOpt
    from everypair.estimators.measure_opt_cv import MeasureOptCV as MeasureOptCV
    from everypair.estimators.measure_svm import MeasureSVM as MeasureSVM
    from everypair.estimators.measure_svm_cv import MeasureSVMCV as MeasureSVMCV
    from everypair.estimators.rankboost import RankBoost as RankBoost
    from everypair.estimators.rankopt import RankOpt as RankOpt
    from everypair.estimators.rankopt_cv import RankOptCV as RankOptCV
    from everypair.estimators.rls import AUCRLS as AUCRLS
    from everypair.estimators.rls_cv import AUCRLSCV as AUCRLSCV
    from everypair.estimators.rocsvm import ROCSVM as ROCSVM
    from everypair.estimators.shape_bands import shape_inference as shape_inference
    from everypair.estimators.two_norm_svm import TwoNormSVM as TwoNormSVM

_HOME = {
    "AUCAdditive": "everypair.estimators.additive",
    "AUCAdditiveCV": "everypair.estimators.additive_cv",
    "AUCClassifier": "everypair.estimators.auc",
    "AUCClassifierCV": "everypair.estimators.auc_cv",
    "AUCRLS": "everypair.estimators.rls",
    "AUCRLSCV": "everypair.estimators.rls_cv",
    "AUCTree": "everypair.estimators.auc_tree",
    "CPAUC": "everypair.estimators.cpauc",
    "MeasureOpt": "everypair.estimators.measure_opt",
    "MeasureOptCV": "everypair.estimators.measure_opt_cv",
    "MeasureSVM": "everypair.estimators.measure_svm",
    "MeasureSVMCV": "everypair.estimators.measure_svm_cv",
    "ROCSVM": "everypair.estimators.rocsvm",
    "RankBoost": "everypair.estimators.rankboost",
    "RankOpt": "everypair.estimators.rankopt",
    "RankOptCV": "everypair.estimators.rankopt_cv",
    "TwoNormSVM": "everypair.estimators.two_norm_svm",
    "auc_path": "everypair.estimators.auc_path",
    "coef_inference": "everypair.estimators.coefficient_table",
    "shape_inference": "everypair.estimators.shape_bands",
}

__all__ = [
    "AUCRLS",
    "AUCRLSCV",
    "CPAUC",
    "ROCSVM",
    "AUCAdditive",
    "AUCAdditiveCV",
    "AUCClassifier",
    "AUCClassifierCV",
    "AUCTree",
    "MeasureOpt",
    "MeasureOptCV",
    "MeasureSVM",
    "MeasureSVMCV",
    "RankBoost",
    "RankOpt",
    "RankOptCV",
    "TwoNormSVM",
    "__version__",
    "auc_path",
    "coef_inference",
    "shape_inference",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'everypair' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
