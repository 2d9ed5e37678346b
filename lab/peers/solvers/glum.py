"""glum: ``mean unit deviance / 2 + alpha / 2 |w|^2``; half a binomial deviance is the log loss, so
its alpha is ours. The intercept is not penalised.
"""

from __future__ import annotations

from ..peer import Answer, Peer, linear
from ..peer_data import PeerTask

WIDEST_HESSIAN = 2000


def fit(task: PeerTask, tol: float) -> Answer:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial",
        alpha=task.alpha,
        l1_ratio=0,
        solver="irls-ls",
        gradient_tol=tol,
        max_iter=1000,
    )
    return linear(model.fit(task.X, task.y.astype(float)), "free")


def refuses(task: PeerTask) -> str | None:
    if task.X.shape[1] > WIDEST_HESSIAN:
        return f"builds a Hessian of {task.X.shape[1]:,} columns"
    return None


PEERS = (
    Peer(
        name="glum irls-ls",
        needs="glum",
        problem="points logistic free",
        solves="mean log loss + alpha/2 w·w; alpha is ours",
        fit=fit,
        refuses=refuses,
    ),
)
