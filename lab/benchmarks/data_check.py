"""What the data check costs beside the `fit` that it precedes.

    EVERYPAIR_DATA=... python -m lab bench data_check            # prints the table
    EVERYPAIR_DATA=... python -m lab bench data_check --write    # docs/benchmarks/data_check.md

The whole command runs in a process of its own; the check is timed inside another one, on the same
table, after a first call that loads what it needs. Processor seconds, so that other work on the
machine counts for little. Wide tables are made: noise and a target of two equal classes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from everypair.app import check_table
from everypair.app.cli.inputs import column_texts
from everypair.app.files.readers import read
from everypair.app.files.table_file import Source
from lab.harness import Page, markdown_table

DATA = Path(os.environ["EVERYPAIR_DATA"])
TABLES = {
    "adult": (Source(DATA / "adult/adult-train.csv.xz", header=False), "column 15", ">50K"),
    "crx": (Source(DATA / "credit_crx/crx.data", "csv"), "class", "+"),
    "covtype": (Source(DATA / "covtype/covtype.csv.xz"), None, "5"),
}

MADE = {
    "wide": (24, 5000, "number"),
    "words": (1000, 500, "word"),
    "wider": (200, 20_000, "number"),
}
"""Rows, columns and what they hold: numbers of normal noise, or twelve words."""


@contextmanager
def made(name: str) -> Iterator[Source]:
    n, p, holds = MADE[name]
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.csv"
        with path.open("w") as file:
            file.write(",".join(["target", *(f"c{j}" for j in range(p))]) + "\n")
            for i in range(n):
                if holds == "number":
                    fields = [f"{value:.5f}" for value in rng.standard_normal(p)]
                else:
                    fields = [f"word {k}" for k in rng.integers(0, 12, p)]
                file.write(",".join(["yes" if i % 2 else "no", *fields]) + "\n")
        yield Source(path)


def fit_seconds(source: Source, target: str, positive: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "everypair", "fit", str(source.path), "--target", target]
        command += ["--positive", positive, "-o", f"{folder}/model", "--quiet"]
        command += [] if source.header is not False else ["--no-header"]
        command += [] if source.format is None else ["--format", source.format]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(name: str, source: Source, given: str | None, positive: str) -> list[str]:
    table = read(source)
    target = given or table.column_names[-1]
    y = column_texts(table.column(target)) == positive
    X = table.drop_columns([target])
    check_table(X.slice(0, 200), y[:200])
    began = time.process_time()
    check = check_table(X, y)
    checked = time.process_time() - began
    whole = fit_seconds(source, target, positive)
    share = f"{100 * checked / whole:.1f} %"
    row = [name, f"{y.size} x {X.num_columns}", str(len(check.findings)), share]
    print(*row, f"({checked:.2f} s of {whole:.2f} s)", flush=True)
    return row


def main() -> None:
    rows = []
    for name in MADE:
        with made(name) as source:
            rows.append(measured(f"made, {name}", source, "target", "yes"))
    rows += [measured(name, *of_table) for name, of_table in TABLES.items()]
    header = ["table", "rows x columns", "findings", "check / whole `fit`, processor time"]
    page = Page(
        "data_check",
        "What the data check costs",
        "Made by `python -m lab bench data_check --write`: processor seconds of the check as a "
        "share of those of the whole command `everypair fit`: read, check, choose, fit.",
    )
    page.add("Beside a fit", markdown_table(header, rows))
    if "--write" in sys.argv:
        page.write()


if __name__ == "__main__":
    main()
