"""XGBoost with `rank:pairwise` on one group: logistic loss of sampled pairs, a hundred trees.

`gblinear` with the same objective is linear and unpenalised; our objective, which has a penalty, is
shown for it but is not what it minimises. The "tolerance" is a number of rounds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask

ROUNDS = (100.0,)


def fit(booster: str, task: PeerTask, rounds: float) -> Answer:
    import xgboost

    data = xgboost.DMatrix(task.X, label=task.y.astype(int))
    data.set_group([task.n_rows])
    parameters = {
        "booster": booster,
        "objective": "rank:pairwise",
        "lambdarank_pair_method": "mean",
        "lambdarank_num_pair_per_sample": 1,
        "seed": 0,
    }
    if booster == "gblinear":
        parameters |= {"reg_lambda": 0.0, "eta": 0.5}
    model = xgboost.train(parameters, data, num_boost_round=int(rounds))
    if booster == "gbtree":
        return Answer(test_scores=model.predict(xgboost.DMatrix(task.X_test)))
    dump = model.get_dump()[0].split("weight:")[1].split()
    return Answer(np.array(dump, dtype=float)[: task.X.shape[1]])


PEERS = (
    Peer(
        name="xgboost trees, rank:pairwise",
        needs="xgboost",
        problem="other",
        solves="logistic loss of sampled pairs, by trees",
        fit=partial(fit, "gbtree"),
        tolerances=ROUNDS,
    ),
    Peer(
        name="xgboost gblinear, rank:pairwise",
        needs="xgboost",
        problem="other",
        solves="logistic loss of sampled pairs, linear, unpenalised",
        fit=partial(fit, "gblinear"),
        tolerances=ROUNDS,
    ),
)
