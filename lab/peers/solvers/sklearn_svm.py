"""scikit-learn `LinearSVC`: ``C sum_i phi(y_i (x_i.w + b)) + (|w|^2 + b^2) / 2``, intercept
penalised; ``C = 1 / (alpha n)``. `SVC`, which has a kernel, races `ROCSVM` in `kernel_race`.
"""

from __future__ import annotations

from functools import partial

from ..peer import Answer, Peer, linear
from ..peer_data import PeerTask


def fit(loss: str, task: PeerTask, tol: float) -> Answer:
    from sklearn.svm import LinearSVC

    dual = loss == "hinge"  # the squared hinge has a primal solver, faster where n > p
    model = LinearSVC(loss=loss, C=task.C, dual=dual, tol=tol, max_iter=1_000_000)
    return linear(model.fit(task.X, task.y), "penalised")


PEERS = tuple(
    Peer(
        name=f"LinearSVC {loss}",
        needs="sklearn",
        problem=f"points {loss} penalised",
        solves=f"C sum of {loss.replace('_', ' ')} losses + (w·w + b²)/2; C = 1/(alpha n)",
        fit=partial(fit, loss),
    )
    for loss in ("squared_hinge", "hinge")
)
