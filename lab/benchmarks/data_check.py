"""What the data check costs beside the `fit` that it precedes.

    EVERYPAIR_DATA=... python -m lab bench data_check            # prints the table
    EVERYPAIR_DATA=... python -m lab bench data_check --write    # docs/benchmarks/data_check.md

The whole command runs in a process of its own; the check is timed inside another one, on the same
table, after a first call that loads what it needs. Processor seconds, so that other work on the
machine counts for little.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from everypair.app import check_table
from everypair.app.cli.inputs import column_texts
from everypair.app.files.readers import read
from everypair.app.files.source import Source
from lab.harness import Page, markdown_table

DATA = Path(os.environ["EVERYPAIR_DATA"])
TABLES = {
    "adult": (Source(DATA / "adult/adult-train.csv.xz", header=False), "column 15", ">50K"),
    "crx": (Source(DATA / "credit_crx/crx.data", "csv"), "class", "+"),
    "covtype": (Source(DATA / "covtype/covtype.csv.xz"), None, "5"),
}


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


def main() -> None:
    rows = []
    for name, (source, given, positive) in TABLES.items():
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
        rows.append([name, f"{y.size} x {X.num_columns}", str(len(check.findings)), share])
        print(*rows[-1], f"({checked:.2f} s of {whole:.2f} s)")
    header = ["table", "rows x columns", "findings", "check / whole `fit`, processor time"]
    page = Page(
        "data_check",
        "The price of the data check",
        "Made by `python -m lab bench data_check --write`: processor seconds of the check as a "
        "share of those of the whole command `everypair fit`: read, check, choose, fit.",
    )
    page.add("Beside a fit", markdown_table(header, rows))
    if "--write" in sys.argv:
        page.write()


if __name__ == "__main__":
    main()
