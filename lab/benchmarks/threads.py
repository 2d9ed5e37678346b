"""One thread and two: every solver at 10^6 x 50, and the part that stays serial.

python -m lab bench threads            print the table
python -m lab bench threads --write    ... and keep it in docs/benchmarks/threads.md
python -m lab bench threads --rows 100000 --only logistic hinge

Measured is the processor time of the thread that calls `fit`: it does what is serial and its own
share of the rows, so with a core for each thread it is the time by the clock. Other jobs on the
machine do not enter. The runs with one and with two threads alternate in one process. The serial
part s is what Amdahl's law makes of the two times, ``t2 / t1 = s + (1 - s) / 2``; from it the table
foretells the speed-up on 16 and on 64 cores, if memory keeps pace.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from everypair import AUCRLS, AUCClassifier, MeasureSVM, RankOpt
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


def seconds(name: str, X, y, turns: int) -> dict[int, float]:
    """The least of the turns with one thread and with two."""
    make, found = SOLVERS[name][1], {1: np.inf, 2: np.inf}
    make().fit(X[:20_000], y[:20_000])
    for _ in range(turns):
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                began = time.thread_time()
                make().fit(X, y)
                found[n_threads] = min(found[n_threads], time.thread_time() - began)
    return found


def row(name: str, found: dict[int, float]) -> list[str]:
    share = found[2] / found[1]
    serial = min(1.0, max(0.0, 2 * share - 1))

    def speed_up(cores: int) -> str:
        return f"{1 / (serial + (1 - serial) / cores):.1f}"

    return [
        SOLVERS[name][0], f"{found[1]:.2f}", f"{found[2]:.2f}", f"{1 / (2 * share):.0%}",
        f"{serial:.0%}", speed_up(16), speed_up(64),
    ]  # fmt: skip


INTRO = """One fit on {rows:,} x 50 with one thread and with two: seconds of processor time of the \
thread that calls `fit`, the least of turns that alternate in one process ({turns} here). \
That thread does what is serial and its own share of the rows; with a core for each thread \
its processor time is the time by the clock, but for memory that both cores read at once, \
which this table does not see. Efficiency is the time with one thread by twice that with \
two. The serial part is what Amdahl's law makes of both times; the last columns are the \
speed-ups that follow from it. `python -m lab bench threads --write` writes this page."""


NOTE = """The processor time of one fit varies with what else the caches hold: two runs of the \
logistic loss on a busy machine gave 77 % and 86 %, so ten points show nothing. A first \
run by the clock, while other jobs ran on both cores, gave 39 to 63 % (`MeasureSVM` 91 %): \
it says little, and it is why the processor time of the thread is measured. A run by the \
clock on an idle machine is missing. Which parts are serial was not profiled. L1, the \
sigmoid, `RankOpt` and `MeasureSVM` are in the script and were not in this run."""


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
    rows = []
    for name in given.only:
        rows.append(row(name, seconds(name, X, y, given.turns)))
        print(" | ".join(rows[-1]), flush=True)
    header = [
        "solver", "1 thread", "2 threads", "efficiency", "serial part", "16 cores", "64 cores"
    ]  # fmt: skip
    page.add("Fits", markdown_table(header, rows))
    page.add("Limits", NOTE)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
