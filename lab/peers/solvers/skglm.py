"""skglm: ``mean log loss + alpha / 2 |w|^2`` (`Logistic` + `L2`, solver `LBFGS`), its alpha ours.

That solver has no intercept, so it is judged on the problem without one. Its L1 paths race in
`path_race`.
"""

from __future__ import annotations

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask


def fit(task: PeerTask, tol: float) -> Answer:
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    X = task.X.tocsc() if task.is_sparse else task.X
    datafit, penalty = Logistic(), L2(task.alpha)
    solver = LBFGS(tol=tol, max_iter=10_000)
    w = solver.solve(X, task.signs, datafit, penalty, np.zeros(X.shape[1]), np.zeros(task.n_rows))
    return Answer(np.asarray(w[0]), 0.0, "none")


PEERS = (
    Peer(
        name="skglm LBFGS",
        needs="skglm",
        problem="points logistic none",
        solves="mean log loss + alpha/2 w·w, no intercept; alpha is ours",
        fit=fit,
    ),
)
