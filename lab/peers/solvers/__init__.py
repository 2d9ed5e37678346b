"""One file a peer; each has a tuple ``PEERS``. A peer that is not installed is never imported."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ..peer import Peer

MODULES = (
    "ours",
    "svm_perf",
    "svm_rank",
    "liblinear_ranksvm",
    "torch_pairs",
    "xgboost",
    "lightgbm",
    "rlscore",
    "libauc",
    "sklearn_logistic",
    "sklearn_svm",
    "liblinear",
    "glum",
    "skglm",
    "celer",
    "imblearn",
)


@cache
def every_peer() -> dict[str, Peer]:
    modules = (import_module(f"{__name__}.{name}") for name in MODULES)
    return {peer.name: peer for module in modules for peer in module.PEERS}
