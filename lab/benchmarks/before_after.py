"""What fits cost in this tree beside another one: processor and wall time, turn by turn.

git worktree add --detach /tmp/before HASH
python -m lab bench before_after /tmp/before              every fit, 15 turns
python -m lab bench before_after /tmp/before --only hinge logistic --turns 31
python -m lab bench before_after /tmp/before --write      ... and keep the table in the docs

One process per tree, all kept alive and asked in turn, so that a busy machine slows all down.
A turn of a fit that is quick repeats it. The ratio of a fit is the median over the turns of the
ratio of one turn. A third process runs this tree without the bounds on rounding that belong to its
certificates: the difference is what they cost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

HERE = Path(__file__).parents[2]

LEAST_SECONDS = 0.3
"""A turn repeats its fit until it has taken so long."""


def dense(n_rows: int, n_columns: int = 50, share: float = 0.05, correlated: bool = False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    if correlated:
        X += rng.standard_normal((n_rows, 1))
        X *= np.geomspace(0.3, 3, n_columns)
    signal = X @ (0.3 * rng.standard_normal(n_columns)) + rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 1 - share)


def text(n_rows: int, n_columns: int = 20_000, per_row: int = 80):
    rng = np.random.default_rng(0)
    words = (n_columns * rng.random(n_rows * per_row) ** 3).astype(np.int32)
    bounds = np.arange(0, n_rows * per_row + 1, per_row)
    X = sparse.csr_matrix((rng.random(words.size) + 0.1, words, bounds), (n_rows, n_columns))
    X.sum_duplicates()
    signal = X @ rng.standard_normal(n_columns) + rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 0.97)


def _linear(loss: str, data, **parameters):
    from everypair import AUCClassifier

    X, y = data
    return lambda: AUCClassifier(loss, **parameters).fit(X, y)


def _path(loss: str, data):
    from everypair import auc_path

    X, y = data
    return lambda: auc_path(X, y, loss=loss, n_alphas=30, eps=1e-2)


def _other(name: str, data, **parameters):
    import everypair

    X, y = data
    return lambda: getattr(everypair, name)(**parameters).fit(X, y)


FITS: dict[str, Callable[[], Callable[[], object]]] = {
    "logistic": lambda: _linear("logistic", dense(200_000)),
    "correlated": lambda: _linear("logistic", dense(200_000, correlated=True)),
    "logistic_small": lambda: _linear("logistic", dense(2_000, 20)),
    "squared_hinge": lambda: _linear("squared_hinge", dense(200_000)),
    "hinge": lambda: _linear("hinge", dense(20_000)),
    "hinge_large": lambda: _linear("hinge", dense(200_000)),
    "square": lambda: _linear("square", dense(200_000)),
    "text": lambda: _linear("logistic", text(30_000)),
    "text_hinge": lambda: _linear("squared_hinge", text(30_000)),
    "l1_path": lambda: _path("logistic", dense(5_000, 100)),
    "l1_path_text": lambda: _path("logistic", text(5_000, 2_000, 30)),
    "l1_path_hinge": lambda: _path("hinge", dense(1_000, 20)),
    "rbf_hinge": lambda: _other("ROCSVM", dense(2_000, 10), C=1.0),
    "rls": lambda: _other("AUCRLS", dense(200_000)),
    "measure_svm": lambda: _other("MeasureSVM", dense(20_000, 20), C=0.01),
    "rankopt": lambda: _other("RankOpt", dense(20_000, 20)),
}

SIZES = {
    "logistic": "logistic, 200,000 x 50",
    "correlated": "logistic, 200,000 x 50, correlated",
    "logistic_small": "logistic, 2,000 x 20",
    "squared_hinge": "squared hinge, 200,000 x 50",
    "hinge": "hinge, 20,000 x 50",
    "hinge_large": "hinge, 200,000 x 50",
    "square": "square, 200,000 x 50",
    "text": "logistic, 30,000 x 20,000 CSR",
    "text_hinge": "squared hinge, 30,000 x 20,000 CSR",
    "l1_path": "L1 path of 30, logistic, 5,000 x 100",
    "l1_path_text": "L1 path of 30, logistic, 5,000 x 2,000 CSR",
    "l1_path_hinge": "L1 path of 30, hinge, 1,000 x 20",
    "rbf_hinge": "`ROCSVM`, 2,000 x 10",
    "rls": "`AUCRLS`, 200,000 x 50",
    "measure_svm": "`MeasureSVM`, F1, 20,000 x 20",
    "rankopt": "`RankOpt`, 20,000 x 20",
}


def without_bounds() -> None:
    """This tree's certificates as if arithmetic were exact, and its sums in one go."""
    from everypair.linalg.sparse import SparseMatrix
    from everypair.pairs.smooth import BoxedScores
    from everypair.solvers import problem

    problem.Iterate.gap_bound = property(lambda self: (self.gap, 0.0))
    problem.pulled = lambda X, gradient: X.pull_back(gradient)
    problem.pulled_error = lambda X, error, size: np.broadcast_to(0.0, X.shape[1])
    problem.Problem.reach = lambda self, w: 0.0
    SparseMatrix.dot_and_sizes = SparseMatrix.dot
    in_blocks = SparseMatrix.pull_back
    SparseMatrix.pull_back = lambda self, weights: (
        self._scatter(weights, self.shape[1]) if self.by_rows else in_blocks(self, weights)
    )
    in_parts = BoxedScores.moments
    BoxedScores.moments = lambda self, weights, rough=False: in_parts(self, weights, True)


def answer() -> None:
    """One tree: makes the fit that a line names, times a turn of it for each empty line."""
    fit: Callable[[], object] | None = None
    repeats = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in sys.stdin:
            name, _, times = line.strip().partition(" ")
            if name in FITS:
                fit = FITS[name]()
                fit()  # compiles
                began = time.perf_counter()
                fit()
                once = time.perf_counter() - began
                print(max(1, round(LEAST_SECONDS / once)), flush=True)
                continue
            assert fit is not None
            repeats = int(times)
            wall, processor = time.perf_counter(), time.process_time()
            for _ in range(repeats):
                fit()
            print(time.process_time() - processor, time.perf_counter() - wall, flush=True)


def ask(tree: subprocess.Popen[str], line: str) -> list[float]:
    assert tree.stdin is not None
    assert tree.stdout is not None
    tree.stdin.write(line + "\n")
    tree.stdin.flush()
    return [float(part) for part in tree.stdout.readline().split()]


def start(path: Path, *options: str) -> subprocess.Popen[str]:
    """A process that imports ``everypair`` from that tree; the script is always this one."""
    environment = {**os.environ, "PYTHONPATH": str(path.resolve() / "src")}
    return subprocess.Popen(
        [sys.executable, "-P", __file__, "--answer", *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def compare(before: Path, names: list[str], turns: int) -> list[list[str]]:
    trees = [start(before), start(HERE), start(HERE, "--without-bounds")]
    rows = []
    for name in names:
        repeats = int(max(ask(tree, name)[0] for tree in trees))
        times = np.empty((turns, len(trees), 2))
        for turn in range(turns):
            for number in np.roll(range(len(trees)), turn):
                times[turn, number] = ask(trees[number], f"again {repeats}")
        after, bare = (times[:, number] / times[:, 0] for number in (1, 2))
        shown = [
            np.quantile(ratio, [0.5, 0.25, 0.75])
            for ratio in (after[:, 0], bare[:, 0], after[:, 1])
        ]
        least = times[:, :, 0].min(axis=0)
        rows.append(
            [SIZES[name], f"{np.median(times[:, 0, 0]) / repeats:.3f}"]
            + [f"{m:.2f} ({low:.2f}–{high:.2f})" for m, low, high in shown]
            + [f"{least[1] / least[0]:.2f}, {least[2] / least[0]:.2f}"]
        )
        print(" | ".join(rows[-1]), flush=True)
    for tree in trees:
        tree.communicate()
    return rows


def main() -> None:
    from lab.harness import Page, markdown_table

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="the other tree")
    parser.add_argument("--only", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="keep the table in the docs")
    given = parser.parse_args()
    page = Page(
        "before_after",
        "Fits before and after",
        "Made by `lab/benchmarks/before_after.py`: what a fit costs in this version compared with "
        "the one at commit f0a3a34, on one thread. Each ratio is the median over the turns, with "
        "the quartiles. The bounds on rounding came in between: every certificate "
        "now holds in floating-point arithmetic. The column without them runs this version with "
        "the bounds and the careful sums behind them turned off: the difference is what they cost. "
        "The last column compares the quickest turns, with the bounds and without.",
    )
    rows = compare(given.before, given.only, given.turns)
    header = [
        "fit", "seconds of processor time before", "processor time",
        "processor time without bounds on rounding", "wall time", "by the quickest turns, both",
    ]  # fmt: skip
    page.add(f"After over before, {given.turns} turns", markdown_table(header, rows))
    if given.write:
        page.write()


if __name__ == "__main__":
    if "--without-bounds" in sys.argv:
        without_bounds()
    answer() if "--answer" in sys.argv else main()
