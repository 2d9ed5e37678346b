"""LightGBM with `lambdarank`: logistic loss of pairs weighted by their change of NDCG, by trees.

It takes at most 10 000 rows a group, so larger data are cut into random groups: it sees the pairs
inside them only.
"""

from __future__ import annotations

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask

GROUP_ROWS = 10_000


def fit(task: PeerTask, rounds: float) -> Answer:
    import lightgbm

    order = np.random.default_rng(0).permutation(task.n_rows)
    n_groups = -(-task.n_rows // GROUP_ROWS)
    groups = np.diff(np.linspace(0, task.n_rows, n_groups + 1).astype(int))
    data = lightgbm.Dataset(task.X[order], task.y[order].astype(int), group=groups)
    parameters = {"objective": "lambdarank", "verbose": -1, "seed": 0}
    model = lightgbm.train(parameters, data, num_boost_round=int(rounds))
    return Answer(test_scores=model.predict(task.X_test))


PEERS = (
    Peer(
        name="lightgbm trees, lambdarank",
        needs="lightgbm",
        problem="other",
        solves="weighted logistic loss of the pairs in groups of 10,000 rows, by trees",
        fit=fit,
        tolerances=(100.0,),
    ),
)
