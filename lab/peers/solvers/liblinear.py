"""liblinear's own Python package: ``C sum_i phi(y_i (x_i.w + b)) + (|w|^2 + b^2) / 2`` with
``-B 1``, intercept penalised; ``C = 1 / (alpha n)``.

Its data structure is built before the clock starts: scikit-learn's liblinear copies X as well, but
in compiled code.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter, process_time

import numpy as np

from ..peer import Answer, Peer
from ..peer_data import PeerTask

KINDS = {
    "-s 0": ("logistic", "trust region"),
    "-s 7": ("logistic", "dual"),
    "-s 2": ("squared_hinge", "trust region"),
    "-s 1": ("squared_hinge", "dual"),
    "-s 3": ("hinge", "dual"),
}


_PREPARED: dict[int, tuple[object, object]] = {}
"""By the id of X, which is kept beside so that no other takes it."""


def _problem(task: PeerTask):
    from liblinear.liblinear import problem
    from scipy import sparse

    if id(task.X) not in _PREPARED:
        _PREPARED[id(task.X)] = task.X, problem(task.signs, sparse.csr_matrix(task.X))
    return _PREPARED[id(task.X)][1]


def fit(kind: str, task: PeerTask, tol: float) -> Answer:
    from liblinear.liblinear import parameter
    from liblinear.liblinearutil import train

    data = _problem(task)
    began = perf_counter(), process_time()
    model = train(data, parameter(f"{kind} -c {task.C!r} -e {tol!r} -B 1 -q"))
    seconds = perf_counter() - began[0], process_time() - began[1]
    w, b = model.get_decfun()
    sign = 1 if model.get_labels()[0] > 0 else -1
    return Answer(sign * np.array(w), sign * b, "penalised", seconds=seconds)


PEERS = tuple(
    Peer(
        name=f"liblinear {kind}, {loss.replace('_', ' ')} {how}",
        needs="liblinear",
        problem=f"points {loss} penalised",
        solves=f"C sum of {loss.replace('_', ' ')} losses + (w·w + b²)/2; C = 1/(alpha n)",
        fit=partial(fit, kind),
    )
    for kind, (loss, how) in KINDS.items()
)
