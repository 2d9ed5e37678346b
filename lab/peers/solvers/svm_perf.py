"""SVM^perf (Joachims 2006), ``-l 10 -w 3 --b 0``: ``|w|^2 / 2 + C 100 mean pair hinge``.

Its loss is a percentage of pairs and its margin 1, so ``C = 1 / (100 alpha)``.
"""

from __future__ import annotations

from ..command_line import (
    model_file,
    run_less_reading,
    svm_struct_weights,
    svmlight_file,
    too_long_to_write,
)
from ..peer import Answer, Peer
from ..peer_data import PeerTask

PROGRAM = "svm_perf_learn"


def fit(task: PeerTask, percent: float) -> Answer:
    def arguments(epsilon: float) -> list[object]:
        C = 1 / (100 * task.alpha)
        return ["-l", 10, "-w", 3, "--b", 0, "-c", repr(C), "-e", repr(epsilon), data, model_file()]

    data = svmlight_file(task, with_query=False)
    seconds, peak = run_less_reading(PROGRAM, task, arguments(1e6), arguments(percent))
    return Answer(svm_struct_weights(task.X.shape[1]), seconds=seconds, peak_bytes=peak)


PEERS = (
    Peer(
        name="SVM^perf",
        needs=PROGRAM,
        program=True,
        problem="pairs hinge",
        solves="w·w/2 + 100 C mean pair hinge; C = 1/(100 alpha)",
        fit=fit,
        refuses=too_long_to_write,
        tolerances=(10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5),
    ),
)
