"""Fits on a Dask cluster: the solvers of the library, with sums over blocks on the workers.

The rows stay on the workers. The client, where the solver runs, sends coefficients and fields of
boxes and gets sums back. A worker that dies is made good by Dask: its blocks are computed again.
"""

from __future__ import annotations

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("everypair.dask needs Dask: pip install 'everypair[dask]'.") from error

from everypair.dask.estimators import DaskAUCClassifier, DaskAUCRLS, DaskMeasureOpt, DaskRankOpt
from everypair.dask.metrics import (
    AreaInterval,
    auc_confidence_interval,
    auc_score,
    gain_at_k,
    gain_curve,
    threshold_for,
)

__all__ = [
    "AreaInterval", "DaskAUCClassifier", "DaskAUCRLS", "DaskMeasureOpt", "DaskRankOpt",
    "auc_confidence_interval", "auc_score", "gain_at_k", "gain_curve", "threshold_for",
]  # fmt: skip
