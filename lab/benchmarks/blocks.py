"""Rows in blocks: from disk, from generated blocks, on a Dask cluster; and the cost model.

python -m lab bench blocks disk --rows 1e6 1e7 --folder /tmp/rows   Parquet, 20 columns of float32
python -m lab bench blocks cli --rows 1e7 --folder /tmp/rows        `fit` and `compare` on a folder
python -m lab bench blocks generated --rows 1e6 1e7 1e8             blocks made as they are read
python -m lab bench blocks dask --rows 1e6 [--alone]                two workers beside two threads
python -m lab bench blocks arrays --before /tmp/before              arrays, beside another tree
python -m lab bench blocks page                                     docs/benchmarks/blocks.md

Each measurement is kept in docs/benchmarks/blocks.json; the page is made from there. Besides the
time on the clock, which neighbours disturb, the time of the processor is told.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lab.benchmarks import blocks_cli
from lab.harness import DOCS, Page, markdown_table

RESULTS = DOCS / "blocks.json"
COLUMNS = 20
FILE_ROWS = 5_000_000
NEGATIVE_SHARE = 8.0
"""Where the labels are cut: about one row in ten is positive."""


def weights(p: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(p) * np.sqrt(20 / p)


def some_rows(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=np.float32)
    signal = X @ weights(p).astype(np.float32) + 4 * rng.logistic(size=n)
    return X, signal > NEGATIVE_SHARE


def keep(name: str, result: dict[str, Any]) -> None:
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found[name] = result
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(name, json.dumps(result), flush=True)


class Clock:
    """Seconds on the clock and of the processor."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._began[0], time.process_time() - self._began[1]


def peak_mb() -> float:
    """Of this program: `getrusage` counts the parent of a new process as well."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


# --- disk --------------------------------------------------------------------------------------


def write_rows(folder: Path, n: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for k, begin in enumerate(range(0, n, FILE_ROWS)):
        X, y = some_rows(min(FILE_ROWS, n - begin), COLUMNS, k)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y})
        pq.write_table(table, folder / f"part-{k:03d}.parquet", row_group_size=10**6)


def write_copies(folder: Path, n: int) -> None:
    """One file, under as many names as ``n`` rows take."""
    write_rows(folder, min(n, FILE_ROWS))
    for k in range(1, n // FILE_ROWS):
        os.link(folder / "part-000.parquet", folder / f"part-{k:03d}.parquet")


def command_line(sizes: list[int], folder: Path, names: list[str]) -> None:
    for n in sizes:
        here = folder / f"{n:.0e}"
        try:
            write_copies(here, n)
            for name, result in blocks_cli.measure(here, n, names).items():
                keep(name, result)
        finally:
            shutil.rmtree(here, ignore_errors=True)


def measure_disk(folder: Path, n: int) -> None:
    """In a process of its own: its largest memory is this fit's."""
    import pyarrow.parquet as pq

    from everypair import AUCClassifier
    from everypair.blocks import ArrayRows, ParquetRows

    X, y = some_rows(30_000, COLUMNS, 0)
    AUCClassifier().fit(ArrayRows(np.asfortranarray(X), y))  # the compiled code is loaded
    before = peak_mb()
    rows = ParquetRows(folder, target="y")
    names = rows.feature_names_in_.tolist()

    def read() -> tuple[float, float]:
        clock = Clock()
        for file in rows.files:
            for _ in pq.ParquetFile(file).iter_batches(rows.block_rows, columns=names):
                pass
        return clock.read()

    reads = [read(), read()]
    clock = Clock()
    model = AUCClassifier().fit(rows)
    fit = clock.read()
    reads.append(read())
    read_seconds = np.median(reads, axis=0)
    ratios = np.array(fit) / (model.n_passes_ * read_seconds)
    keep(
        f"disk {n:.0e}",
        {
            "rows": n, "passes": model.n_passes_, "gap": model.dual_gap_, "fit": fit,
            "read": read_seconds.tolist(), "ratio": ratios.tolist(), "peak_mb": peak_mb(),
            "before_mb": before,
        },
    )  # fmt: skip


def disk(sizes: list[int], folder: Path) -> None:
    for n in sizes:
        here = folder / f"{n:.0e}"
        try:
            write_rows(here, n)
            command = [sys.executable, "-m", "lab", "bench", "blocks", "one-disk"]
            command += ["--rows", str(n), "--folder", str(here)]
            subprocess.run(command, check=True)
        finally:
            shutil.rmtree(here, ignore_errors=True)


# --- generated blocks ----------------------------------------------------------------------------


def generated(sizes: list[int], p: int = 50, block_rows: int = 100_000) -> None:
    """The cost of what is not reading: one block of X is shown again and again, shifted a little.

    A pass over generated blocks costs next to no reading, so that what is left are the sums.
    """
    from everypair import AUCClassifier
    from everypair.blocks import RowBlocks
    from everypair.blocks.source import Target
    from everypair.linalg.block_jobs import Job
    from everypair.linalg.blocks import LocalBlocks

    class Repeated(RowBlocks):
        dtype = np.dtype(np.float32)
        n_features_in_ = p

        def __init__(self, n: int):
            self.n_blocks = n // block_rows
            X, self.y = some_rows(block_rows, p, 0)
            self.X = np.asfortranarray(X)

        def targets(self) -> Iterator[tuple[str, Target]]:
            for k in range(self.n_blocks):
                yield f"block {k}", Target(self.y, None)

        def rows(self, columns: Any = slice(None)) -> Iterator[tuple[str, np.ndarray]]:
            rng = np.random.default_rng(0)
            for k in range(self.n_blocks):
                # Other rows each time, at the cost of a copy.
                yield f"block {k}", np.roll(self.X, int(rng.integers(7)), axis=0)[:, columns]

    seconds: dict[str, list[tuple[float, float]]] = {}
    run = LocalBlocks.run

    def timed(self: LocalBlocks, job: Job) -> Any:
        clock = Clock()
        found = run(self, job)
        name = job.name + ("" if job.reads is None else " with a pass")
        seconds.setdefault(name, []).append(clock.read())
        return found

    AUCClassifier().fit(Repeated(10 * block_rows))
    LocalBlocks.run = timed  # type: ignore[method-assign]
    for n in sizes:
        seconds.clear()
        rows = Repeated(n)
        clock = Clock()
        for _ in rows.rows():
            pass
        made = clock.read()
        clock = Clock()
        model = AUCClassifier().fit(rows)
        jobs = {name: np.sum(of, axis=0).tolist() for name, of in seconds.items()}
        keep(
            f"generated {n:.0e}",
            {"rows": n, "columns": p, "passes": model.n_passes_, "gap": model.dual_gap_,
             "fit": clock.read(), "made": made, "jobs": jobs, "peak_mb": peak_mb()},
        )  # fmt: skip
    LocalBlocks.run = run  # type: ignore[method-assign]


# --- Dask ----------------------------------------------------------------------------------------


def dask(n: int, alone: bool, repeats: int, p: int = 50) -> None:
    """Two workers of one thread, each with a block that it has made itself."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, wait

    from everypair import AUCClassifier
    from everypair.dask import DaskAUCClassifier, engine

    half = n // 2
    parts = [some_rows(half, p, seed) for seed in range(2)]
    X = np.concatenate([part for part, _ in parts]).astype(np.float64)
    y = np.concatenate([part for _, part in parts]).astype(np.int64)
    result: dict[str, Any] = {"rows": n, "columns": p}
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        made = [delayed(_wide_rows, pure=True)(half, p, seed) for seed in range(2)]
        dX = da.concatenate([da.from_delayed(of[0], (half, p), dtype=float) for of in made])
        dy = da.concatenate([da.from_delayed(of[1], (half,), dtype=int) for of in made])
        dX, dy = client.persist([dX, dy])
        wait([dX, dy])
        times: dict[str, list[tuple[float, float]]] = {}
        pids = list(client.run(_pid).values())

        def race(name: str, work: Any) -> Any:
            busy, began = _busy(pids), time.perf_counter()
            found = work()
            times.setdefault(name, []).append((time.perf_counter() - began, _busy(pids) - busy))
            print(name, times[name][-1], flush=True)
            return found

        def tell() -> None:
            result["all_seconds"] = times
            result["seconds"] = {name: np.median(of, axis=0).tolist() for name, of in times.items()}
            keep(f"dask {'' if alone else 'beside others '}{n:.0e}", result)

        def told(name: str, work: Any) -> None:
            race(name, work)
            tell()

        jobs: list[Any] = []
        run = engine.DaskBlocks.run

        def counted(self: Any, job: Any) -> Any:
            jobs.append(job)
            return run(self, job)

        engine.DaskBlocks.run = counted  # type: ignore[method-assign]
        for turn in range(repeats + 1):
            local = race("local", lambda: AUCClassifier().fit(X, y))
            jobs.clear()
            ours = race("dask", lambda: DaskAUCClassifier(client=client).fit(dX, dy))
            result["jobs"] = len(jobs)
            result["apart"] = float(np.abs(local.coef_ / ours.coef_ - 1).max())
            result["passes"] = ours.n_passes_
            if turn == 0:
                times.clear()  # code was loaded
                continue
        result["empty_round"] = _empty_round(engine.DaskBlocks(client, dX, dy, None, "blocks"))
        tell()
        if not alone:
            _peers(told, client, dX, dy)  # last: they take longest


def _wide_rows(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = some_rows(n, p, seed)
    return X.astype(np.float64), y.astype(np.int64)


def _empty_rounds(found: dict[str, Any]) -> str:
    """What rounds in which the workers do nothing would cost."""
    said = []
    for name, of in sorted(found.items()):
        if name.startswith("dask"):
            # One more than the jobs: the labels of the blocks.
            share = of["empty_round"] * (of["jobs"] + 1) / of["seconds"]["local"][0]
            run = "with others" if "others" in name else "alone"
            said.append(f"{1000 * of['empty_round']:.0f} ms ({share:.2f}, {run})")
    rounds = 1 + max(of["jobs"] for name, of in found.items() if name.startswith("dask"))
    return (
        f"A fit asks the workers {rounds} times. To ask two workers for nothing took "
        f"{' and '.join(said)}: in brackets, {rounds} times that beside the local fit. That is "
        "what the messages of Dask cost here, whatever the workers do. Three earlier runs of the "
        "same code, in which the machine was less quiet, gave 1.29, 1.30 (alone) and 1.43."
    )


def _empty_round(blocks: Any) -> float:
    """Seconds, the median of 50."""
    rounds = []
    for _ in range(50):
        began = time.perf_counter()
        blocks._results(blocks._each("nothing", _nothing, blocks._blocks))
        rounds.append(time.perf_counter() - began)
    return float(np.median(rounds))


def _nothing(block: Any) -> int:
    return 0


def _pid() -> int:
    return os.getpid()


def _busy(workers: list[int]) -> float:
    """Seconds of processor time of this process and of the workers so far."""
    ticks = 0
    for pid in workers:
        ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[11:13]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def _peers(race: Any, client: Any, dX: Any, dy: Any) -> None:
    try:
        import xgboost.dask as xgb

        # Its linear booster is not made for several workers: the logistic loss on trees.
        trees = xgb.DaskXGBClassifier(n_estimators=20, max_depth=6)
        trees.client = client
        race("xgboost.dask logistic trees, 20 rounds", lambda: trees.fit(dX, dy))
    except ImportError:
        print("xgboost is not here")
    try:
        from dask_ml.linear_model import LogisticRegression

        race("dask-ml LogisticRegression", lambda: LogisticRegression().fit(dX, dy))
    except ImportError:
        print("dask-ml is not here")


# --- arrays --------------------------------------------------------------------------------------


ARRAY_FITS = ["logistic", "logistic_small", "square", "rls", "rankopt", "l1_path"]


def arrays(before: Path) -> None:
    """What fits on arrays cost beside a tree from before the blocks."""
    from lab.benchmarks.before_after import compare

    keep("arrays", {"rows": 0, "table": compare(before, ARRAY_FITS, 7)})


# --- the page ------------------------------------------------------------------------------------


def model_of(found: dict[str, Any]) -> tuple[list[list[str]], dict[str, float]]:
    """Seconds of the processor per row and column, and per row, from the two smaller sizes."""
    sizes = sorted(
        (of for name, of in found.items() if name.startswith("generated")),
        key=lambda of: of["rows"],
    )
    if len(sizes) < 2:
        return [], {}

    def busy(of: dict[str, Any]) -> float:
        return float(sum(cpu for _, cpu in of["jobs"].values()))

    fixed_rows = sizes[:-1]
    per_row = np.mean([busy(of) / of["rows"] / of["passes"] for of in fixed_rows])
    made = np.mean([of["made"][1] / of["rows"] for of in fixed_rows])
    table = []
    for of in sizes:
        predicted = per_row * of["rows"] * of["passes"]
        table.append(
            [f"{of['rows']:.0e}", str(of["passes"]), f"{of['gap']:.0e}",
             f"{1e9 * busy(of) / of['rows'] / of['passes']:.0f}", f"{busy(of):.1f}",
             f"{predicted:.1f}", f"{busy(of) / predicted:.2f}", f"{of['peak_mb']:.0f}"]
        )  # fmt: skip
    last = sizes[-1]
    constants = {"per_row": float(per_row), "made": float(made), "passes": float(last["passes"]),
                 "columns": float(last["columns"])}  # fmt: skip
    return table, constants


def _beside_reading(found: dict[str, Any]) -> str:
    """What a fit and merely reading take per row and pass."""
    sizes = sorted(
        (of for name, of in found.items() if name.startswith("disk")), key=lambda of: of["rows"]
    )
    each = [
        f"{1e9 * of['fit'][1] / of['rows'] / of['passes']:.0f} and "
        f"{1e9 * of['read'][1] / of['rows']:.0f} ns with {of['rows']:.0e} rows"
        for of in sizes
    ]
    return f"In processor time per row and pass, fits and merely reading take {', '.join(each)}."


def page() -> None:
    found = json.loads(RESULTS.read_text())
    report = Page(
        "blocks",
        "Rows in blocks: disk, cluster, cost model",
        "Made by `python -m lab bench blocks page` from `blocks.json`, which the same script "
        "measures. Its sections are of several runs. In those of the command line the machine was "
        "shared with other work, so times on the clock are disturbed; ratios of processor time are "
        "given as well.",
    )
    lines = []
    for name, of in sorted(found.items(), key=lambda item: item[1]["rows"]):
        if name.startswith("disk"):
            limit = 24 * of["rows"] / 1e6 + 1000
            lines.append(
                [f"{of['rows']:.0e}", str(of["passes"]), f"{of['gap']:.0e}",
                 f"{of['ratio'][0]:.2f}", f"{of['ratio'][1]:.2f}",
                 f"{of['peak_mb'] * 2**20 / 1e6:.0f}", f"{limit:.0f}"]
            )  # fmt: skip
    report.add(
        "Disk",
        "The logistic loss on Parquet files, 20 columns of float32, to a relative duality gap of "
        "1e-6. The ratio is the fit beside (passes x merely reading the columns) in the same "
        "process; the target is 1.5. Merely reading is by pyarrow's defaults, which read ahead "
        "into new memory: with few rows that takes longer than the fit's own reading, through "
        "buffers that are used again, and the ratio is below one. The limit of memory is 24 bytes "
        "per row and 1 GB; a fit by itself keeps three vectors of scores. Nothing else ran. "
        f"{_beside_reading(found)}\n\n"
        + markdown_table(
            ["rows", "passes", "gap", "ratio, clock", "ratio, processor", "peak MB", "limit MB"],
            lines,
        ),
    )
    if lines := blocks_cli.lines_of(found):
        table_of_commands = markdown_table(blocks_cli.HEADER, lines)
        report.add("The command line", f"{blocks_cli.WORDS}\n\n{table_of_commands}")
    lines = []
    for name, of in sorted(found.items()):
        if name.startswith("dask"):
            local = of["seconds"]["local"]
            order = sorted(of["seconds"].items(), key=lambda item: item[1][1])
            for what, seconds in order:
                ratios = [f"{mine / his:.2f}" for mine, his in zip(seconds, local, strict=True)]
                turns, of_local = of["all_seconds"][what], of["all_seconds"]["local"]
                pairs = [a[0] / b[0] for a, b in zip(turns, of_local, strict=False)]
                low, middle, high = np.quantile(pairs, [0.25, 0.5, 0.75])
                by_turn = f"{middle:.2f} ({low:.2f} to {high:.2f})" if len(turns) > 1 else ""
                run = "with others" if "others" in name else "alone"
                size = f"{of['rows']:.0e} x {of['columns']}"
                lines.append([run, size, what, *ratios, by_turn, str(len(turns))])
    report.add(
        "Dask",
        "Two workers of one thread, each with a block in its memory, beside the local fit with two "
        "threads, in turns that alternate. A ratio is that of two medians; by turns, the median "
        "and quartiles of the ratios of neighbours. The target for `dask` is 1.3. Processor time "
        "is that of the client, the scheduler and both workers; what they spend while they wait "
        f"counts. {_empty_rounds(found)}\n\n"
        + markdown_table(
            ["run", "rows", "fit", "clock / local", "processor / local", "clock, by turns",
             "turns"],
            lines,
        ),
    )  # fmt: skip
    if "arrays" in found:
        report.add(
            "Arrays",
            "Fits on arrays, which do not go through blocks, beside the tree from before the "
            "blocks: median and quartiles of 7 turns that alternate. The target is 1.03.\n\n"
            + markdown_table(
                [
                    "fit",
                    "seconds of processor time before",
                    "processor time",
                    "by the quickest turns",
                    "wall time",
                ],
                [[*row[:3], row[5].split(",")[0], row[4]] for row in found["arrays"]["table"]],
            ),
        )
    table, constants = model_of(found)
    report.add(
        "The cost model and its check",
        "Generated blocks of 100,000 x 50 float32: what a pass costs beside reading. The constant, "
        "processor time per row and pass, comes from the smaller sizes; the prediction for the "
        "largest is made from it.\n\n"
        + markdown_table(
            ["rows", "passes", "gap", "ns per row and pass", "seconds", "predicted", "ratio",
             "peak MB"],
            table,
        ),
    )  # fmt: skip
    if constants:
        report.add("A billion rows", _billion(constants))
    report.write()


def _billion(constants: dict[str, float]) -> str:
    n, p, passes = 1e9, 50, constants["passes"]
    boxes, kernels = 400, 2
    up = boxes * 8 * 2 * 8 / 1e3
    lines = []
    for workers in (16, 64, 256):
        rows = n / workers
        read = 4 * p * rows
        compute = constants["per_row"] * rows
        lines.append(
            [str(workers), f"{rows:.1e}", f"{read / 1e9:.1f}", f"{compute:.1f}",
             f"{passes * compute / 60:.1f}", f"{passes * read / 1e9:.0f}",
             f"{2 * up * passes / 2:.0f}"]
        )  # fmt: skip
    return (
        f"10^9 rows x 50 columns of float32, {passes:.0f} passes, single-threaded workers. Per "
        f"pass and row: 4 p = {4 * p} bytes of X, 2 p = {2 * p} flops, and one box moment or one "
        "evaluation of the fields. Messages: box moments up and fields down, boxes x 8 "
        f"coefficients x {kernels} classes x 8 bytes (about {up:.0f} kB for 400 boxes), "
        "once per evaluation; p numbers with each pass over X; p^2 numbers for a Hessian, "
        "which the first solve on a "
        "sample of 20,000 rows makes rare. Seconds are the constant above times the rows of a "
        "worker; X in memory, or read at the same speed as the sums.\n\n"
        + markdown_table(
            ["workers", "rows per worker", "GB of X per pass and worker", "seconds per pass",
             "minutes in all", "GB read per worker in all", "kB of messages per worker in all"],
            lines,
        )
    )  # fmt: skip


WHAT = ["disk", "one-disk", "cli", "generated", "dask", "arrays", "page"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/everypair-blocks"))
    parser.add_argument("--before", type=Path, help="the other tree")
    parser.add_argument("--commands", nargs="+", default=["fit", "compare"])
    parser.add_argument("--alone", action="store_true", help="of Dask: without the others")
    parser.add_argument("--turns", type=int, default=5, help="of Dask")
    given = parser.parse_args()
    sizes = [int(n) for n in given.rows]
    if given.what == "disk":
        disk(sizes, given.folder)
    elif given.what == "cli":
        command_line(sizes, given.folder, given.commands)
    elif given.what == "one-disk":
        measure_disk(given.folder, sizes[0])
    elif given.what == "generated":
        generated(sizes)
    elif given.what == "arrays":
        arrays(given.before)
    elif given.what == "dask":
        for n in sizes:
            dask(n, given.alone, given.turns)
    else:
        page()


if __name__ == "__main__":
    main()
