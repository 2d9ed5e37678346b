"""One thread and two: every solver at 10^6 x 50, and the part that stays serial, by name.

python -m lab bench threads            print the tables
python -m lab bench threads --write    ... and keep them in docs/benchmarks/threads.md
python -m lab bench threads --rows 100000 --only logistic hinge

Measured is the time by the clock, and the processor time of the thread that calls `fit`: it does
what is serial and its own share of the rows, and other jobs on the machine do not enter. The runs
with one and with two threads alternate in one process.

What is serial is measured by itself, in the run with two threads: the processor time of the caller
outside of work that threads share (`everypair.linalg.threads.over_rows`). From it the table
foretells the speed-up on 16 and on 64 cores, if memory keeps pace. One more fit is traced line by
line, and the lines of the library that take most of the serial time are named.
"""

from __future__ import annotations

import argparse
import resource
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import everypair
from everypair import AUCRLS, AUCClassifier, MeasureSVM, RankOpt
from everypair.linalg import threads
from everypair.linalg.vectors import all_finite
from lab.benchmarks.core import dense_data
from lab.harness import Page, markdown_table

SOLVERS: dict[str, tuple[str, Callable[[], object]]] = {
    "logistic": ("`AUCClassifier`, logistic", lambda: AUCClassifier(threshold=0.0)),
    "squared_hinge": (
        "`AUCClassifier`, squared hinge", lambda: AUCClassifier("squared_hinge", threshold=0.0)
    ),
    "hinge": ("`AUCClassifier`, hinge", lambda: AUCClassifier("hinge", threshold=0.0)),
    "square": ("`AUCClassifier`, square", lambda: AUCClassifier("square", threshold=0.0)),
    "exponential": (
        "`AUCClassifier`, exponential", lambda: AUCClassifier("exponential", threshold=0.0)
    ),
    "sigmoid": ("`AUCClassifier`, sigmoid", lambda: AUCClassifier("sigmoid", threshold=0.0)),
    "l1": (
        "`AUCClassifier`, logistic, L1",
        lambda: AUCClassifier(penalty="l1", alpha=1e-2, threshold=0.0),
    ),
    "products": (
        "`AUCClassifier`, logistic, Newton-CG",
        lambda: AUCClassifier(solver="newton-cg", threshold=0.0),
    ),
    "rls": ("`AUCRLS`", lambda: AUCRLS(threshold=0.0)),
    "rankopt": ("`RankOpt`", lambda: RankOpt(threshold=0.0)),
    "measure_svm": ("`MeasureSVM`, F1", MeasureSVM),
}  # fmt: skip

NAMED_LINES = 4
HOME = Path(everypair.__file__).parent


class Shared:
    """Processor time of the calling thread in work that threads share, and how often it began."""

    def __init__(self) -> None:
        self.seconds, self.splits, self.depth = 0.0, 0, 0
        self._began = 0.0

    def enter(self) -> None:
        if self.depth == 0:
            self._began = time.thread_time()
            self.splits += 1
        self.depth += 1

    def leave(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.thread_time() - self._began


@contextmanager
def watched() -> Iterator[Shared]:
    """Every `over_rows` of this thread that is large enough for two threads is timed."""
    shared, plain, caller = Shared(), threads.over_rows, threading.get_ident()

    def over_rows(work: Any, n_rows: int, operations: int, finely: bool = False) -> Any:
        large = min(n_rows, operations // threads.OPERATIONS_PER_THREAD) > 1
        if not large or threading.get_ident() != caller:
            return plain(work, n_rows, operations, finely)
        shared.enter()
        try:
            return plain(work, n_rows, operations, finely)
        finally:
            shared.leave()

    homes = [
        home
        for name, home in list(sys.modules.items())
        if name.startswith("everypair") and getattr(home, "over_rows", None) is plain
    ]
    for home in homes:
        home.over_rows = over_rows  # type: ignore[attr-defined]
    try:
        yield shared
    finally:
        for home in homes:
            home.over_rows = plain  # type: ignore[attr-defined]


class Found:
    """The least of the turns with one thread and with two."""

    def __init__(self) -> None:
        self.thread, self.clock = np.full(2, np.inf), np.full(2, np.inf)
        self.serial, self.splits = np.inf, 0
        self.switches, self.faults = np.full(2, np.iinfo(int).max), np.full(2, np.iinfo(int).max)


def fitted(found: Found, n_threads: int, make: Callable[[], Any], X: Any, y: Any) -> None:
    """One fit: times and counts, where they are the least so far."""
    k = n_threads - 1
    with threadpool_limits(n_threads), watched() as shared:
        before = resource.getrusage(resource.RUSAGE_SELF)
        began, clock = time.thread_time(), time.perf_counter()
        make().fit(X, y)
        spent, clock = time.thread_time() - began, time.perf_counter() - clock
        after = resource.getrusage(resource.RUSAGE_SELF)
    found.thread[k] = min(found.thread[k], spent)
    found.clock[k] = min(found.clock[k], clock)
    found.switches[k] = min(found.switches[k], after.ru_nvcsw - before.ru_nvcsw)
    found.faults[k] = min(found.faults[k], after.ru_minflt - before.ru_minflt)
    if n_threads == 2:
        found.serial, found.splits = min(found.serial, spent - shared.seconds), shared.splits


def measured(name: str, X: Any, y: Any, turns: int) -> Found:
    make, found = SOLVERS[name][1], Found()
    make().fit(X[:20_000], y[:20_000])  # type: ignore[attr-defined]
    for _ in range(turns):
        for n_threads in (1, 2):
            fitted(found, n_threads, make, X, y)
    return found


def serial_lines(name: str, X: Any, y: Any) -> Counter[str]:
    """Processor time of the serial lines of the library in a fit with two threads, traced.

    What NumPy, scikit-learn or a compiled loop takes counts for the line that called it.
    """
    lines: Counter[str] = Counter()
    own, last = ["fit"], time.thread_time()
    with threadpool_limits(2), watched() as shared:

        def tick(event: str, frame: FrameType, path: str) -> None:
            nonlocal last
            if shared.depth == 0:
                lines[own[-1]] += time.thread_time() - last  # type: ignore[assignment]
            if event == "call":
                own.append(path)
            elif event == "return":
                own.pop()
            if event != "return":
                own[-1] = f"{path}:{frame.f_lineno}"
            last = time.thread_time()

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            path = _path_inside(frame.f_code.co_filename)
            if path is None:
                return None
            tick(event, frame, path)
            return trace

        sys.settrace(trace)
        try:
            SOLVERS[name][1]().fit(X, y)  # type: ignore[attr-defined]
        finally:
            sys.settrace(None)
    return lines


@cache
def _path_inside(file: str) -> str | None:
    """Of a file of the library, from its top folder on."""
    path = Path(file)
    return str(path.relative_to(HOME)) if path.is_relative_to(HOME) else None


def row(name: str, found: Found) -> list[str]:
    of_thread, by_clock = (times[0] / (2 * times[1]) for times in (found.thread, found.clock))
    serial = min(1.0, found.serial / found.thread[0])

    def speed_up(cores: int) -> str:
        return f"{1 / (serial + (1 - serial) / cores):.1f}"

    return [
        SOLVERS[name][0], f"{found.thread[0]:.2f}", f"{found.thread[1]:.2f}", f"{of_thread:.0%}",
        f"{by_clock:.0%}", f"{serial:.0%}", speed_up(2), speed_up(16), speed_up(64),
        str(found.splits), f"{found.switches[1]:,}", f"{found.faults[1]:,}",
    ]  # fmt: skip


def named(name: str, lines: Counter[str]) -> list[str]:
    total = sum(lines.values())
    most = [f"`{line}` {1e3 * spent:.0f} ms" for line, spent in lines.most_common(NAMED_LINES)]
    return [SOLVERS[name][0], f"{1e3 * total:.0f}", ", ".join(most)]


def memory(X: Any, turns: int) -> list[list[str]]:
    """A plain read of X, and a product with it, by one thread and by two: what memory allows."""
    w = np.ones(X.shape[1])

    def product() -> None:
        out = np.empty(X.shape[0])
        threads.over_rows(
            lambda start, stop: np.matmul(X[start:stop], w, out=out[start:stop]),
            X.shape[0],
            X.size,
            finely=True,
        )

    rows = []
    for what, read in (("sum of all entries", lambda: all_finite(X)), ("X @ w", product)):
        best = np.full(2, np.inf)
        for _ in range(max(5, turns)):
            for n_threads in (1, 2):
                with threadpool_limits(n_threads), threads.own_threads():
                    began = time.perf_counter()
                    read()
                    best[n_threads - 1] = min(best[n_threads - 1], time.perf_counter() - began)
        rates = [f"{X.nbytes / seconds / 1e9:.1f}" for seconds in best]
        rows.append([what, *rates, f"{best[0] / (2 * best[1]):.0%}"])
    return rows


INTRO = """One fit on {rows:,} x 50 with one thread and with two: seconds of processor time of the \
thread that calls `fit`, the least of turns that alternate in one process ({turns} here). \
That thread does what is serial and its own share of the rows; with a core for each thread \
its processor time is the time by the clock, but for memory that both cores read at once. \
Efficiency is the time with one thread by twice that with two, of the thread and by the clock. \
The serial part is what the calling thread spends outside of work that threads share, in the fit \
with two threads, as a share of its time with one. The next columns are the speed-ups \
that follow from it by Amdahl's law. Splits are \
the times that work is shared out in a fit; switches (a thread that waits) and page faults are \
those of a fit with two threads, the least of the turns. \
`python -m lab bench threads --write` writes this page."""

LINES = """The lines of the library that take most of the serial time, in one more fit with two \
threads, traced line by line, which makes short lines look longer. What NumPy, scikit-learn or a \
compiled loop takes counts for the line that called it."""

MEMORY = """GB/s by the clock in the same process: no fit can have a higher efficiency by the \
clock than its reads of X."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = dense_data(given.rows, 50)
    page = Page("threads", "One thread and two", INTRO.format(rows=given.rows, turns=given.turns))
    reads = memory(X, given.turns)
    rows, lines = [], []
    for name in given.only:
        rows.append(row(name, measured(name, X, y, given.turns)))
        lines.append(named(name, serial_lines(name, X, y)))
        print(" | ".join(rows[-1] + lines[-1][1:]), flush=True)
    header = [
        "solver", "1 thread", "2 threads", "efficiency", "by the clock", "serial part", "2 cores",
        "16 cores", "64 cores", "splits", "switches", "faults",
    ]  # fmt: skip
    page.add("Fits", markdown_table(header, rows))
    serial = markdown_table(["solver", "serial, ms", "most of it"], lines)
    page.add("What is serial", f"{LINES}\n\n{serial}")
    bound = markdown_table(["read", "1 thread", "2 threads", "efficiency"], reads)
    page.add("Memory", f"{MEMORY}\n\n{bound}")
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
