"""everypair: ``mean over pairs of phi(x_i.w - x_j.w) + alpha / 2 |w|^2``, no map needed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..peer import Answer, Peer, linear
from ..peer_data import PeerTask


def fit(loss: str, task: PeerTask, tol: float) -> Answer:
    from everypair import AUCClassifier

    # What a second fit would begin at is kept with it, and makes a bound of the hinge.
    model = AUCClassifier(loss, alpha=task.alpha, tol=tol, warm_start=True).fit(task.X, task.y)
    answer = linear(model, "none")
    return replace(answer, bounded_at=model._start()) if loss == "hinge" else answer


LOSSES = ("logistic", "squared_hinge", "hinge")


def name(loss: str) -> str:
    return f"everypair {loss}"


PEERS = tuple(
    Peer(
        name=name(loss),
        needs="everypair",
        problem=f"pairs {loss}",
        solves="the problem itself; `tol` is the relative duality gap",
        fit=partial(fit, loss),
    )
    for loss in LOSSES
)
