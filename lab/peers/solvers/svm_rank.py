"""SVM^rank (Joachims 2006), ``-l 2 -w 3`` on one query: ``|w|^2 / 2 + C mean pair hinge``.

``C = 1 / alpha``; ``-e`` is a share of the pairs. It counts the pairs one by one while it reads.
"""

from __future__ import annotations

from ..command_line import model_file, run_less_reading, svm_struct_weights, svmlight_file
from ..peer import Answer, Peer
from ..peer_data import PeerTask

PROGRAM = "svm_rank_learn"
MOST_ROWS = 60_000


def fit(task: PeerTask, share: float) -> Answer:
    def arguments(epsilon: float) -> list[object]:
        C = 1 / task.alpha
        return ["-l", 2, "-w", 3, "-c", repr(C), "-e", repr(epsilon), data, model_file()]

    data = svmlight_file(task, with_query=True)
    seconds, peak = run_less_reading(PROGRAM, task, arguments(1e6), arguments(share))
    return Answer(svm_struct_weights(task.X.shape[1]), seconds=seconds, peak_bytes=peak)


def refuses(task: PeerTask) -> str | None:
    """Reading is quadratic in the rows, and would only use up the limit."""
    return f"reads {task.n_rows:,} rows squared" if task.n_rows > MOST_ROWS else None


PEERS = (
    Peer(
        name="SVM^rank",
        needs=PROGRAM,
        program=True,
        problem="pairs hinge",
        solves="w·w/2 + C mean pair hinge; C = 1/alpha",
        fit=fit,
        tolerances=(0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
        refuses=refuses,
    ),
)
