"""Peers that are programs: data in their text format, their peak of memory, the time of reading.

A program reads its file before it works. How long that takes is measured by a run that may stop at
once, and is taken off; what is left is about the peer's work, and `POLL` seconds at least: shorter
work is not measured.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

from .peer_data import PeerTask

POLL = 0.005
MOST_VALUES = 40_000_000
"""A text file of more than about a gigabyte says nothing about a solver."""

deadline: float | None = None
"""On `time.perf_counter`; set by the cell."""

_folder = tempfile.TemporaryDirectory(prefix="everypair-peers-")
_written: dict[tuple[int, bool], tuple[object, Path]] = {}
_reading: dict[tuple[int, str], tuple[float, float]] = {}


class OutOfTimeError(Exception):
    pass


def svmlight_file(task: PeerTask, with_query: bool) -> Path:
    key = id(task.X), with_query
    if key not in _written:
        path = Path(_folder.name) / f"{len(_written)}.dat"
        query = np.ones(task.n_rows, dtype=int) if with_query else None
        dump_svmlight_file(task.X, task.signs, str(path), zero_based=False, query_id=query)
        _written[key] = task.X, path  # X is kept, so that no other takes its id
    return _written[key][1]


def too_long_to_write(task: PeerTask) -> str | None:
    values = task.X.nnz if task.is_sparse else task.X.size
    return f"a text file of {values:.0e} values" if values > MOST_VALUES else None


def model_file() -> Path:
    return Path(_folder.name) / "model"


def run(program: str, *arguments: object) -> tuple[float, float, int]:
    """``(wall seconds, CPU seconds, peak of resident memory)``."""
    began, used = time.perf_counter(), _cpu_of_programs()
    command = [shutil.which(program) or program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            # The kernel's own record is no use: it starts from the memory of this process.
            peak = max(peak, _high_water(process.pid))
            if deadline is not None and time.perf_counter() > deadline:
                process.kill()
                raise OutOfTimeError
            time.sleep(POLL)
    seconds = time.perf_counter() - began, _cpu_of_programs() - used
    if process.returncode != 0:
        raise RuntimeError(f"{program} ended with code {process.returncode}.")
    return *seconds, peak


def _cpu_of_programs() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _high_water(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def run_less_reading(
    program: str, task: PeerTask, at_once: list[object], arguments: list[object]
) -> tuple[tuple[float, float], int]:
    """``((wall, CPU) seconds, peak of resident memory)``."""
    key = id(task.X), program
    if key not in _reading:
        tries = [run(program, *at_once) for _ in range(2)]
        _reading[key] = min(t[0] for t in tries), min(t[1] for t in tries)
    *spent, peak = run(program, *arguments)
    # Not below the clock's own grain.
    wall, cpu = (max(s - r, POLL) for s, r in zip(spent, _reading[key], strict=True))
    return (wall, cpu), peak


def svm_struct_weights(n_columns: int) -> np.ndarray:
    """The one vector of a linear SVM-struct model: its last line."""
    entries = model_file().read_text().rstrip().splitlines()[-1].split("#")[0].split()
    w = np.zeros(n_columns)
    for entry in entries[1:]:
        column, value = entry.split(":")
        w[int(column) - 1] = float(value)
    return float(entries[0]) * w
