"""Pictures, by scikit-learn's `Display` conventions. Needs ``pip install everypair[plot]``.

A display stores arrays; ``plot(ax=None)`` draws them and returns the display, with ``ax_`` and
``figure_``. Matplotlib is imported by `plot` alone. Lines differ by dash as well as by colour,
so that they are told apart in grey. Legends stand outside the axes of a new figure, inside axes
that were given.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.plots.calibration import CalibrationDisplay as CalibrationDisplay
    from everypair.plots.climb import ClimbDisplay as ClimbDisplay
    from everypair.plots.coefficients import CoefficientPathDisplay as CoefficientPathDisplay
    from everypair.plots.convergence import ConvergenceDisplay as ConvergenceDisplay
    from everypair.plots.cv_auc import CVAUCDisplay as CVAUCDisplay
    from everypair.plots.decisions import CostDisplay as CostDisplay
    from everypair.plots.decisions import NetBenefitDisplay as NetBenefitDisplay
    from everypair.plots.gain import GainDisplay as GainDisplay
    from everypair.plots.gain import LiftDisplay as LiftDisplay
    from everypair.plots.groups import GroupAUCDisplay as GroupAUCDisplay
    from everypair.plots.precision_recall import PrecisionRecallDisplay as PrecisionRecallDisplay
    from everypair.plots.roc import ROCDisplay as ROCDisplay
    from everypair.plots.roc_comparison import ROCComparisonDisplay as ROCComparisonDisplay
    from everypair.plots.scores import ScoreDisplay as ScoreDisplay
    from everypair.plots.shapes import ShapeDisplay as ShapeDisplay

_FILE = {
    "CalibrationDisplay": "calibration",
    "CostDisplay": "decisions",
    "NetBenefitDisplay": "decisions",
    "GainDisplay": "gain",
    "LiftDisplay": "gain",
    "PrecisionRecallDisplay": "precision_recall",
    "CVAUCDisplay": "cv_auc",
    "ClimbDisplay": "climb",
    "CoefficientPathDisplay": "coefficients",
    "ConvergenceDisplay": "convergence",
    "GroupAUCDisplay": "groups",
    "ROCComparisonDisplay": "roc_comparison",
    "ROCDisplay": "roc",
    "ScoreDisplay": "scores",
    "ShapeDisplay": "shapes",
}

__all__ = sorted(_FILE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _FILE:
        raise AttributeError(f"module 'everypair.plots' has no attribute {name!r}")
    return getattr(import_module(f"everypair.plots.{_FILE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
