"""RLScore `GlobalRankRLS`: ``sum over all pairs of rows (y_i - y_j - f_i + f_j)^2 + r |w|^2``.

Pairs inside a class count too, so it is not AUC-RLS: time and test AUC compare. The n rows have
n^2 / 2 pairs, hence ``r = alpha n^2 / 2``.
"""

from __future__ import annotations

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask


def fit(task: PeerTask, _tolerance: float) -> Answer:
    from rlscore.learner import GlobalRankRLS

    model = GlobalRankRLS(task.X, task.signs, regparam=task.alpha * task.n_rows**2 / 2)
    return Answer(np.ravel(model.predictor.W))


PEERS = (
    Peer(
        name="RLScore GlobalRankRLS",
        needs="rlscore",
        problem="other",
        solves="squared loss over all pairs of rows, those inside a class too",
        fit=fit,
        tolerances=(1e-6,),
    ),
)
