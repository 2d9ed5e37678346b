"""liblinear-ranksvm (Lee & Lin 2014), ``-s 8``: ``|w|^2 / 2 + C sum of squared pair hinges``.

A sum, not a mean: ``C = 1 / (alpha n+ n-)``. The program is called `train`, as liblinear's own is.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

import numpy as np

from ..command_line import model_file, run_less_reading, svmlight_file, too_long_to_write
from ..peer import Answer, Peer
from ..peer_data import PeerTask

PROGRAM = "train"


def fit(task: PeerTask, tol: float) -> Answer:
    C = 1 / (task.alpha * int(task.y.sum()) * int((~task.y).sum()))

    def arguments(epsilon: float) -> list[object]:
        return ["-s", 8, "-c", repr(C), "-e", repr(epsilon), "-q", data, model_file()]

    data = svmlight_file(task, with_query=True)
    seconds, peak = run_less_reading(PROGRAM, task, arguments(1e30), arguments(tol))
    text = model_file().read_text()
    w = np.array(text.split("\nw\n")[1].split(), dtype=float)
    # The model ends at the last column that the file holds.
    w = np.pad(w, (0, task.X.shape[1] - w.size))
    return Answer(w, seconds=seconds, peak_bytes=peak)


@dataclass(frozen=True)
class RankSVM(Peer):
    @property
    def missing(self) -> str | None:
        program = shutil.which(self.needs)
        if program is not None:
            usage = subprocess.run([program], capture_output=True, text=True, check=False)
            if "rank" in usage.stdout + usage.stderr:
                return None
        return f"no program `{self.needs}` of liblinear-ranksvm on PATH"


PEERS = (
    RankSVM(
        name="liblinear-ranksvm",
        needs=PROGRAM,
        program=True,
        problem="pairs squared_hinge",
        solves="w·w/2 + C sum of squared pair hinges; C = 1/(alpha n+ n-)",
        fit=fit,
        refuses=too_long_to_write,
    ),
)
