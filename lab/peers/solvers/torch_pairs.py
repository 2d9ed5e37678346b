"""Plain PyTorch: ``mean over pairs of log(1 + exp(-(s_i - s_j))) + alpha / 2 |w|^2``, every pair
written out, by full-batch L-BFGS in double precision: the same problem, no map needed.

The pairs are taken a block of positives at a time, so that they fit into memory.
"""

from __future__ import annotations

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask

BLOCK_PAIRS = 10_000_000
MOST_PAIRS = 2e9


def fit(task: PeerTask, tol: float) -> Answer:
    import torch

    X = torch.as_tensor(np.ascontiguousarray(task.X), dtype=torch.float64)
    positives = torch.as_tensor(np.flatnonzero(task.y))
    negatives = torch.as_tensor(np.flatnonzero(~task.y))
    w = torch.zeros(X.shape[1], dtype=torch.float64, requires_grad=True)
    n_pairs = positives.numel() * negatives.numel()
    block = max(1, BLOCK_PAIRS // negatives.numel())

    def closure():
        steps.zero_grad()
        scores = X @ w
        at_scores = scores.detach().requires_grad_()
        total = 0.0
        for rows in positives.split(block):
            margins = at_scores[rows][:, None] - at_scores[negatives][None, :]
            part = torch.nn.functional.softplus(-margins).sum() / n_pairs
            part.backward()
            total = total + part.detach()
        scores.backward(at_scores.grad)
        penalty = task.alpha / 2 * (w @ w)
        penalty.backward()
        return total + penalty.detach()

    steps = torch.optim.LBFGS(
        [w], max_iter=1000, tolerance_grad=tol, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )
    steps.step(closure)
    return Answer(w.detach().numpy())


def refuses(task: PeerTask) -> str | None:
    n_pairs = int(task.y.sum()) * int((~task.y).sum())
    if task.is_sparse:
        return "needs a dense tensor"
    return f"{n_pairs:.0e} pairs to write out" if n_pairs > MOST_PAIRS else None


PEERS = (
    Peer(
        name="PyTorch, every pair written out",
        needs="torch",
        problem="pairs logistic",
        solves="the same problem, n+ n- terms",
        fit=fit,
        refuses=refuses,
    ),
)
