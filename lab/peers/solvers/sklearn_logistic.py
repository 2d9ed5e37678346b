"""scikit-learn `LogisticRegression`: ``C sum_i log(1 + exp(-y_i (x_i.w + b))) + |w|^2 / 2``.

Divided by C n that is the mean log loss and ``alpha / 2 |w|^2`` with ``C = 1 / (alpha n)``. Its
`liblinear` penalises the intercept too, and is judged on that.
"""

from __future__ import annotations

from functools import partial

from ..peer import Answer, Peer, linear
from ..peer_data import PeerTask

SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "liblinear", "sag", "saga")
WIDEST_HESSIAN = 2000


def intercept_of(solver: str) -> str:
    return "penalised" if solver == "liblinear" else "free"


def fit(solver: str, task: PeerTask, tol: float) -> Answer:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=task.C, solver=solver, tol=tol, max_iter=100_000)
    return linear(model.fit(task.X, task.y), intercept_of(solver))


def refuses(solver: str, task: PeerTask) -> str | None:
    if solver == "newton-cholesky" and task.X.shape[1] > WIDEST_HESSIAN:
        return f"builds a Hessian of {task.X.shape[1]:,} columns"
    return None


PEERS = tuple(
    Peer(
        name=f"LogisticRegression {solver}",
        needs="sklearn",
        problem=f"points logistic {intercept_of(solver)}",
        solves="C sum of log losses + w·w/2"
        + (" + b²/2" if solver == "liblinear" else "")
        + "; C = 1/(alpha n)",
        fit=partial(fit, solver),
        refuses=partial(refuses, solver),
    )
    for solver in SOLVERS
)
