"""`everypair fit` and `everypair compare` on a folder of Parquet files, in processes of their own.

python -m lab bench blocks cli --rows 1e7 --folder /tmp/rows

Memory is the largest that the process had, passes are what the command itself says, and the time
stands beside merely reading the columns once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

READ = """
import sys, time
import pyarrow.parquet as pq
began = time.perf_counter(), time.process_time()
for name in sys.argv[1:]:
    for _ in pq.ParquetFile(name).iter_batches(100_000):
        pass
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""


def read_seconds(folder: Path) -> tuple[float, float]:
    files = sorted(map(str, folder.glob("*.parquet")))
    said = subprocess.run(
        [sys.executable, "-c", READ, *files], capture_output=True, text=True, check=True
    ).stdout
    clock, processor = map(float, said.split())
    return clock, processor


def _watch(pid: int, peak: list[float]) -> None:
    """The largest memory of a process so far; `getrusage` counts its parent as well."""
    while True:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            peak[0] = int(status.split("VmHWM:")[1].split()[0]) / 1024
        except (OSError, IndexError):  # it has ended
            return
        time.sleep(0.1)


def run(*command: str) -> dict[str, Any]:
    """Seconds, seconds of the processor, largest memory and words of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "everypair", *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    peak = [0.0]
    watch = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watch.start()
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(said)
    passes = [int(n) for n in re.findall(r"rows were read (\d+) times?", said)]
    return {
        "seconds": [time.perf_counter() - began, used.ru_utime + used.ru_stime],
        "peak_mb": peak[0], "passes": passes, "said": said,
    }  # fmt: skip


def measure(folder: Path, n: int, names: list[str]) -> dict[str, dict[str, Any]]:
    model, report = folder.parent / "model.everypair", folder.parent / "report.html"
    commands = {
        "fit": ["fit", str(folder), "--target", "y", "--method", "auc", "-o", str(model)],
        "compare": ["compare", str(folder), "--target", "y", "--models", "auc,auc-rls",
                    "--cv", "3x1", "--report", str(report)],
    }  # fmt: skip
    found = {}
    for name in names:
        before, of, after = read_seconds(folder), run(*commands[name]), read_seconds(folder)
        print(of.pop("said"), flush=True)
        read = [(a + b) / 2 for a, b in zip(before, after, strict=True)]
        found[f"cli {name} {n:.0e}"] = {"rows": n, "what": name, "read": read, **of}
    return found


def lines_of(found: dict[str, Any]) -> list[list[str]]:
    """Of the page: rows, command, passes, ratios and memory."""
    lines = []
    for name, of in sorted(found.items(), key=lambda item: item[1]["rows"]):
        if name.startswith("cli"):
            ratios = [mine / read for mine, read in zip(of["seconds"], of["read"], strict=True)]
            passes = str(sum(of["passes"])) if of["passes"] else "not said"
            lines.append(
                [f"{of['rows']:.0e}", f"`{of['what']}`", passes, *(f"{r:.1f}" for r in ratios),
                 f"{of['peak_mb'] * 2**20 / 1e6:.0f}", f"{24 * of['rows'] / 1e6 + 1000:.0f}"]
            )  # fmt: skip
    return lines


HEADER = ["rows", "command", "passes of the fits", "clock / one reading", "processor / one reading",
          "peak MB", "limit MB"]  # fmt: skip
WORDS = """\
`everypair fit folder/ --target y --method auc` fits a model and those of three folds; `everypair \
compare` fits `auc` and `auc-rls` in three folds and on all rows (`--cv 3x1`), and writes a \
report. Times are of the whole command beside merely reading all columns once, in a process of \
its own. Starting the program, the search for settings on the sample and the report take the same \
time whatever the number of rows. One more pass, which is not counted, learns the encoder. \
The limit of memory is that of one fit. The files are copies of one of 5e+06 rows. Fits share \
each pass as long as their scores take no more than 24 bytes per row and 128 MiB: all of them \
with 1e+06 and 1e+07 rows, two at a time with 5e+07. When each fit kept three vectors of scores, \
`fit` of 1e+07 rows took 28 passes, 54.5 times the processor time of one reading and 1180 MB; \
`compare` read these rows whole and had not ended after four minutes. Other programs were busy on \
both cores, which disturbs the clock."""
