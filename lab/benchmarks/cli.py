"""The command line on large files: time, memory, share of parsing, start-up.

Each command runs in a process of its own, whose peak memory the system reports. The files are
made in a temporary folder and removed.

    python -m lab bench cli            # 10^6 x 30 to fit, 10^7 rows to score
    python -m lab bench cli 10         # a tenth of it
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from lab.harness import Page, markdown_table

SMALLER = int(sys.argv[1]) if len(sys.argv) > 1 else 1
FIT_ROWS, FIT_COLUMNS = 1_000_000 // SMALLER, 30
SCORE_ROWS, SCORE_COLUMNS = 10_000_000 // SMALLER, 10
BATCH = 100_000


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Numbers of four digits, 3 % positives, a batch at a time."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=n_columns) / np.sqrt(n_columns)
    names = [*(f"x{k}" for k in range(n_columns)), "y"]
    with path.open("wb") as file:
        for start in range(0, n_rows, BATCH):
            n = min(BATCH, n_rows - start)
            X = rng.normal(size=(n, n_columns)).round(4)
            y = (X @ weights + rng.logistic(size=n) > 4).astype(np.int8)
            options = csv.WriteOptions(include_header=start == 0)
            csv.write_csv(pa.table([*X.T, y], names=names), file, options)


class Run(NamedTuple):
    seconds: float
    cpu: float
    memory: float
    said: str


def run(*arguments: object) -> Run:
    """Wall and processor seconds, peak megabytes and what the process printed."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    said = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said)


def best(*arguments: object, repeats: int = 5) -> tuple[float, float]:
    """The least wall and processor seconds of several runs."""
    runs = [run(*arguments) for _ in range(repeats)]
    return min(r.seconds for r in runs), min(r.cpu for r in runs)


COMMAND = ("-m", "everypair")


def fitting(page: Page, folder: Path) -> None:
    path, model = folder / "fit.csv", folder / "fit.everypair"
    write_table(path, FIT_ROWS, FIT_COLUMNS)
    size = path.stat().st_size / 2**20
    run(*COMMAND, "demo", "--help")  # imports come from the disk cache, as they would later
    fit = (*COMMAND, "fit", path, "-t", "y", "-o", model, "--method", "auc", "--json")
    bare = run(*fit, "--no-held-out")
    seconds, cpu, memory, said = run(*fit)
    steps = json.loads(said)["seconds"]
    page_file = folder / "page.html"
    judged = run(*COMMAND, "evaluate", model, path, "--report", page_file, "--json")
    pandas = (
        "import pandas, time; t = time.perf_counter(); "
        f"pandas.read_csv({str(path)!r}); print(time.perf_counter() - t)"
    )
    _, _, pandas_memory, pandas_said = run("-c", pandas)
    matrix = FIT_ROWS * FIT_COLUMNS * 8 / 2**20
    rows = [
        ["whole command, imports included", f"{seconds:.1f}", "100 %"],
        ["reading (parsing)", f"{steps['read']:.1f}", f"{steps['read'] / seconds:.0%}"],
        ["encoding", f"{steps['encode']:.1f}", f"{steps['encode'] / seconds:.0%}"],
        ["search of the penalty, fit, AUC", f"{steps['fit']:.1f}", f"{steps['fit'] / seconds:.0%}"],
        ["three folds fitted again, for held-out rows, probabilities and the worth of columns",
         f"{steps['held_out']:.1f}", f"{steps['held_out'] / seconds:.0%}"],
    ]  # fmt: skip
    commands = [
        ["`fit`", seconds, cpu, memory],
        ["`fit --no-held-out`", *bare[:3]],
        ["`evaluate --report` on the same rows", *judged[:3]],
    ]
    page.add(
        f"`everypair fit` on {FIT_ROWS:,} x {FIT_COLUMNS} ({size:.0f} MB of CSV)",
        markdown_table(["", "seconds", "share"], rows)
        + "\n\n"
        + markdown_table(
            ["command", "seconds", "processor seconds", "peak memory, MB"],
            [[name, f"{s:.1f}", f"{c:.1f}", f"{m:.0f}"] for name, s, c, m in commands],
        )
        + f"\n\nThe peak memory of `fit` is {memory / matrix:.1f} times the matrix of numbers "
        f"({matrix:.0f} MB). `pandas.read_csv` alone takes {float(pandas_said):.1f} s "
        f"({float(pandas_said) / steps['read']:.1f} times our reading) and {pandas_memory:.0f} MB.",
    )
    path.unlink()


def scoring(page: Page, folder: Path) -> None:
    small, model = folder / "small.csv", folder / "score.everypair"
    write_table(small, 20_000, SCORE_COLUMNS)
    run(*COMMAND, "fit", small, "-t", "y", "-o", model, "--method", "auc")
    rows = []
    for n_rows in (SCORE_ROWS // 100, SCORE_ROWS // 10, SCORE_ROWS):
        path, scores = folder / "big.csv", folder / "scores.csv"
        write_table(path, n_rows, SCORE_COLUMNS)
        size = path.stat().st_size / 2**20
        seconds, cpu, memory, _ = run(*COMMAND, "score", model, path, "-o", scores)
        with scores.open("rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
        assert lines == n_rows + 1
        rows.append(
            [
                f"{n_rows:,}",
                f"{size:.0f}",
                f"{seconds:.1f}",
                f"{cpu:.1f}",
                f"{memory:.0f}",
            ]
        )
        path.unlink()
        scores.unlink()
    page.add(
        "`everypair score` streams",
        markdown_table(
            ["rows", "MB of CSV", "seconds", "processor seconds", "peak memory, MB"], rows
        ),
    )


def starting(page: Page, folder: Path) -> None:
    path, model = folder / "small.csv", folder / "small.everypair"
    write_table(path, 1000, 5)
    run(*COMMAND, "fit", path, "-t", "y", "-o", model, "--method", "auc-rls")
    import_only, import_cpu = best("-c", "import sklearn.linear_model")
    rows = []
    for name, arguments in (
        ("`import sklearn.linear_model`", ("-c", "import sklearn.linear_model")),
        ("`everypair --help`", (*COMMAND, "--help")),
        ("`everypair score`, 1000 rows", (*COMMAND, "score", model, path)),
    ):
        seconds, cpu = (import_only, import_cpu) if "import" in name else best(*arguments)
        rows.append(
            [name, f"{seconds:.2f}", f"{seconds / import_only:.2f}", f"{cpu:.2f}",
             f"{cpu / import_cpu:.2f}"]
        )  # fmt: skip
    header = ["", "seconds", "ratio to the import", "processor seconds", "ratio"]
    page.add("Start-up", markdown_table(header, rows))


def main() -> None:
    page = Page(
        "cli",
        "The command line on large files",
        "Written by `lab/benchmarks/cli.py`. Every command is a process of its own; best of five "
        "for the start-up, one run for the large files. The machine had about twenty other "
        "processes at work on two cores: processor seconds, ratios and memory mean something, "
        "seconds and shares of them little.",
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starting(page, folder)
        fitting(page, folder)
        scoring(page, folder)
    if SMALLER == 1:
        page.write()


if __name__ == "__main__":
    main()
