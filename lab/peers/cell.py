"""One measurement: a peer on a task, loose tolerances first, until it is accurate enough.

Run by `runner` in a process of its own, which writes a line of JSON for each event, so that what
was measured before a time limit ends the process is kept.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from . import command_line, races
from .objectives import judge
from .peer import Answer, Peer
from .peer_data import PeerTask, load
from .solvers import every_peer

CLOSE = 1e-6
CERTAIN = 1e-8
"""Where no solver has pinned the minimum yet, one goes on until its own bound does."""

REPEATS, REPEAT_SECONDS = 5, 0.8
"""A fit is repeated so often, while all of its repetitions together have taken less than this."""

GRACE = 2
Emit = Callable[[dict], None]


def relative_gap(objective: float, bound: float | None) -> float:
    return np.inf if bound is None else max(0.0, objective - bound) / abs(objective)


def measure(
    task: PeerTask,
    peer: Peer,
    known_bound: float | None,
    emit: Emit,
    limit: float,
    allow: Callable[[float | None], object] = lambda seconds: None,
) -> None:
    """``known_bound``: of the minimum, tight; None where nobody has one yet.

    What is not timed comes first; then the time limit begins. It holds for the fits alone:
    ``allow`` is told how many seconds are left to the next ones (None while they are judged).
    """
    emit({"shape": list(task.X.shape)})
    command_line.deadline = None
    began = time.perf_counter()
    peer.fit(task.small(), peer.tolerances[0])
    emit({"warm_up": time.perf_counter() - began})
    if peer.program or peer.needs == "liblinear":
        peer.fit(task, peer.tolerances[0])  # writes or builds the data, which is not timed
    deadline = time.perf_counter() + limit
    over, peak, before = peer.problem, 0, 0.0
    own_bound = -np.inf
    for tol in peer.tolerances:
        command_line.deadline = deadline
        allow(deadline - time.perf_counter())
        try:
            answer, (wall, cpu), used = timed(peer, task, tol, deadline)
        except command_line.OutOfTimeError:
            return
        allow(None)
        began = time.perf_counter()
        peak = max(peak, used)
        emit({"peak": peak})
        rung = {"tol": tol, "wall": wall, "cpu": cpu, "auc": test_auc(task, answer)}
        if answer.coef is not None:
            judged = judge("pairs logistic" if over == "other" else over, task, answer)
            rung |= {"objective": judged.objective, "bound": judged.bound}
            own_bound = max(own_bound, -np.inf if judged.bound is None else judged.bound)
        emit({"rung": rung})
        late = began > deadline
        deadline += time.perf_counter() - began
        if over == "other":
            if late:
                return
            continue
        still = judged.bound is None and abs(before - judged.objective) <= CERTAIN * before
        if known_bound is None:
            reached = relative_gap(judged.objective, own_bound) <= CERTAIN
        else:
            reached = relative_gap(judged.objective, known_bound) <= CLOSE
        if reached or still:
            break
        if late:
            return
        before = judged.objective
    emit({"done": True})


def timed(
    peer: Peer, task: PeerTask, tol: float, deadline: float
) -> tuple[Answer, tuple[float, float], int]:
    """``(answer, (wall, CPU) seconds, peak bytes beyond the data)``, the best of short fits."""
    best, used, total = (np.inf, np.inf), 0, 0.0
    for _ in range(REPEATS):
        before = reset_high_water()
        began = time.perf_counter(), time.process_time()
        answer = peer.fit(task, tol)
        spent = time.perf_counter() - began[0], time.process_time() - began[1]
        peak = high_water() - before
        if answer.peak_bytes is not None:  # a program of its own, which holds its own data
            peak = answer.peak_bytes - task.bytes
        used = max(used, peak)
        wall, cpu = spent if answer.seconds is None else answer.seconds
        best = min(best[0], wall), min(best[1], cpu)
        total += spent[0]
        if total > REPEAT_SECONDS or time.perf_counter() + spent[0] > deadline:
            break
    return answer, best, max(0, used)


def test_auc(task: PeerTask, answer: Answer) -> float:
    scores = task.X_test @ answer.coef if answer.test_scores is None else answer.test_scores
    return float(roc_auc_score(task.y_test, scores))


def _status(key: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # not Linux: no memory is reported
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def reset_high_water() -> int:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return high_water()
    return _status("VmRSS")


def high_water() -> int:
    return _status("VmHWM")


def main() -> None:
    """``python -m lab.peers.cell '{"task": ..., "peer": ..., ...}'``"""
    wanted = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")

    def emit(event: dict) -> None:
        print(json.dumps(event), flush=True)

    if "race" in wanted:
        signal.alarm(int(wanted["limit"]) + GRACE)
        emit({"race": races.RACES[wanted["race"]](wanted["entry"])})
        emit({"done": True})
        return
    task, peer = load(wanted["task"]), every_peer()[wanted["peer"]]
    if why := peer.refuses(task):
        emit({"refused": why})
        return
    limit = wanted["limit"]

    def allow(seconds: float | None) -> None:
        # The alarm ends compiled code as well, which looks at no clock.
        signal.alarm(0 if seconds is None else int(max(0.0, seconds)) + GRACE)

    measure(task, peer, wanted["bound"], emit, limit, allow)


if __name__ == "__main__":
    main()
