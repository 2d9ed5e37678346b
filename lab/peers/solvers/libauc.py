"""LibAUC `AUCMLoss` with `PESG`: the min-max form of the squared pair loss with a margin, on a
linear model by stochastic steps. Another loss, so time and test AUC compare.

The "tolerance" is a number of epochs.
"""

from __future__ import annotations

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask

BATCH = 512


def fit(task: PeerTask, epochs: float) -> Answer:
    import torch
    from libauc.losses import AUCMLoss
    from libauc.optimizers import PESG

    torch.manual_seed(0)
    X = torch.as_tensor(np.ascontiguousarray(task.X), dtype=torch.float32)
    y = torch.as_tensor(task.y, dtype=torch.float32)
    model = torch.nn.Linear(X.shape[1], 1)
    loss = AUCMLoss()
    steps = PESG(model.parameters(), loss_fn=loss, lr=0.1, weight_decay=task.alpha)
    for _ in range(int(epochs)):
        for rows in torch.randperm(y.numel()).split(BATCH):
            steps.zero_grad()
            loss(torch.sigmoid(model(X[rows])), y[rows, None]).backward()
            steps.step()
    return Answer(model.weight.detach().numpy().ravel().astype(float))


PEERS = (
    Peer(
        name="LibAUC AUCMLoss",
        needs="libauc",
        problem="other",
        solves="min-max squared pair loss, stochastic",
        fit=fit,
        tolerances=(10.0,),
        refuses=lambda task: "needs a dense tensor" if task.is_sparse else None,
    ),
)
