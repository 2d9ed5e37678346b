"""imbalanced-learn pipelines before `LogisticRegression`: what is often done instead of training
on pairs. Another problem on other rows, so only time and test AUC compare; C is per row of the
resampled data.
"""

from __future__ import annotations

from functools import partial

from ..peer import Answer, Peer, linear
from ..peer_data import PeerTask

SAMPLERS = ("RandomUnderSampler", "RandomOverSampler", "SMOTE")


def fit(sampler: str, task: PeerTask, tol: float) -> Answer:
    from imblearn import over_sampling, under_sampling
    from sklearn.linear_model import LogisticRegression

    home = under_sampling if sampler == "RandomUnderSampler" else over_sampling
    X, y = getattr(home, sampler)(random_state=0).fit_resample(task.X, task.y)
    model = LogisticRegression(C=1 / (task.alpha * y.size), tol=tol, max_iter=10_000)
    return linear(model.fit(X, y), "free")


PEERS = tuple(
    Peer(
        name=f"{sampler} + LogisticRegression",
        needs="imblearn",
        problem="other",
        solves="log loss on resampled rows",
        fit=partial(fit, sampler),
        tolerances=(1e-4,),
    )
    for sampler in SAMPLERS
)
