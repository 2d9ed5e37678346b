"""Areas, errors, tests and thresholds of a ranking, with their error bars.

Labels are any two values; the second of the sorted ones is positive unless ``pos_label`` says
otherwise. Scores rank: higher is more likely positive, and ties count half. Rows of weight
zero are left out. Names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.metrics.at_k import prbep as prbep
    from everypair.metrics.at_k import precision_at_k as precision_at_k
    from everypair.metrics.at_k import recall_at_k as recall_at_k
    from everypair.metrics.auc_comparison import AUCComparison as AUCComparison
    from everypair.metrics.auc_comparison import compare_auc as compare_auc
    from everypair.metrics.bands import ROCBand as ROCBand
    from everypair.metrics.bands import roc_band as roc_band
    from everypair.metrics.calibration import BrierLoss as BrierLoss
    from everypair.metrics.calibration import CalibrationBins as CalibrationBins
    from everypair.metrics.calibration import CalibrationError as CalibrationError
    from everypair.metrics.calibration import brier_loss as brier_loss
    from everypair.metrics.calibration import calibration_bins as calibration_bins
    from everypair.metrics.calibration import (
        expected_calibration_error as expected_calibration_error,
    )
    from everypair.metrics.cross_val import CrossValAUC as CrossValAUC
    from everypair.metrics.cross_val import cross_val_auc as cross_val_auc
    from everypair.metrics.decision_curve import NetBenefit as NetBenefit
    from everypair.metrics.decision_curve import net_benefit as net_benefit
    from everypair.metrics.fbeta import FBetaMax as FBetaMax
    from everypair.metrics.fbeta import fbeta_max as fbeta_max
    from everypair.metrics.gain import Gain as Gain
    from everypair.metrics.gain import gain_at_k as gain_at_k
    from everypair.metrics.gain import gain_curve as gain_curve
    from everypair.metrics.gain import lift_at_k as lift_at_k
    from everypair.metrics.in_groups import AUCByGroup as AUCByGroup
    from everypair.metrics.in_groups import auc_by_group as auc_by_group
    from everypair.metrics.in_groups import mean_reciprocal_rank as mean_reciprocal_rank
    from everypair.metrics.in_groups import ndcg_at_k as ndcg_at_k
    from everypair.metrics.inference import AUCInterval as AUCInterval
    from everypair.metrics.inference import auc_confidence_interval as auc_confidence_interval
    from everypair.metrics.interval import Interval as Interval
    from everypair.metrics.precision_recall import PrecisionRecallBand as PrecisionRecallBand
    from everypair.metrics.precision_recall import average_precision as average_precision
    from everypair.metrics.precision_recall import precision_recall_band as precision_recall_band
    from everypair.metrics.rates import accuracy_from_rates as accuracy_from_rates
    from everypair.metrics.rates import f_from_rates as f_from_rates
    from everypair.metrics.rates import precision_from_rates as precision_from_rates
    from everypair.metrics.rates import wracc_from_rates as wracc_from_rates
    from everypair.metrics.roc import auc_score as auc_score
    from everypair.metrics.roc import gini as gini
    from everypair.metrics.roc import swapped_pairs as swapped_pairs
    from everypair.metrics.scorers import get_scorer as get_scorer
    from everypair.metrics.scorers import scorer_names as scorer_names
    from everypair.metrics.several import ModelComparison as ModelComparison
    from everypair.metrics.several import compare_models as compare_models
    from everypair.metrics.several import holm as holm
    from everypair.metrics.statuses import count_pair_statuses as count_pair_statuses
    from everypair.metrics.statuses import pair_multipliers as pair_multipliers
    from everypair.metrics.statuses import pair_status as pair_status
    from everypair.metrics.thresholds import Cut as Cut
    from everypair.metrics.thresholds import cut_for as cut_for
    from everypair.metrics.thresholds import threshold_for as threshold_for

_HOME = {
    "calibration": [
        "BrierLoss",
        "CalibrationBins",
        "CalibrationError",
        "brier_loss",
        "calibration_bins",
        "expected_calibration_error",
    ],
    "gain": ["Gain", "gain_at_k", "gain_curve", "lift_at_k"],
    "interval": ["Interval"],
    "decision_curve": ["NetBenefit", "net_benefit"],
    "precision_recall": ["PrecisionRecallBand", "average_precision", "precision_recall_band"],
    "at_k": ["prbep", "precision_at_k", "recall_at_k"],
    "bands": ["ROCBand", "roc_band"],
    "auc_comparison": ["AUCComparison", "compare_auc"],
    "several": ["ModelComparison", "compare_models", "holm"],
    "cross_val": ["CrossValAUC", "cross_val_auc"],
    "in_groups": ["AUCByGroup", "auc_by_group", "mean_reciprocal_rank", "ndcg_at_k"],
    "inference": ["AUCInterval", "auc_confidence_interval"],
    "rates": ["accuracy_from_rates", "f_from_rates", "precision_from_rates", "wracc_from_rates"],
    "roc": ["auc_score", "gini", "swapped_pairs"],
    "scorers": ["get_scorer", "scorer_names"],
    "statuses": ["count_pair_statuses", "pair_multipliers", "pair_status"],
    "fbeta": ["FBetaMax", "fbeta_max"],
    "thresholds": ["Cut", "cut_for", "threshold_for"],
}
_FILE = {name: file for file, names in _HOME.items() for name in names}

__all__ = sorted(_FILE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _FILE:
        raise AttributeError(f"module 'everypair.metrics' has no attribute {name!r}")
    return getattr(import_module(f"everypair.metrics.{_FILE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
