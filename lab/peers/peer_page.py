"""The page of results, every number of it from the file of measurements."""

from __future__ import annotations

from statistics import median

import numpy as np

from lab.harness import Page, growth_exponent, markdown_table

from . import plan, races
from .command_line import POLL
from .peer import Peer
from .results import Results
from .solvers import every_peer
from .solvers.ours import name

LARGE = 20_000
"""Rows from which on the targets are asked."""

LOOSE, CLOSE = 1e-3, 1e-6

INTRO = """\
Made by `python -m lab peers` from `peers.json`, which it fills; a cell that is known is not
measured again, so cells may come from several runs. Each solver runs in a process of its own on
the same data, loose tolerances first; the loosest that reaches a relative gap counts. Every
solution is judged by the exact objective it claims to minimise (`lab/peers/objectives.py`,
with this library's pair sums, which its tests hold against the definition), and its gap is measured
from the best lower bound that any solver's solutions gave (from the best solution for the pointwise
hinge, which gives no bound). A first fit on 6000 rows loads and compiles, untimed; so are the
programs' reading of their files and the building of liblinear's data. A short fit is repeated, five
times at most, and the best time counts. The time limit is shared by the fits of a cell, of all its
tolerances: "not in 15 s" says that the cell's 15 s were used up. All solvers may use every core.
`alpha = 1e-3` in the tables of solvers; up to a quarter of the rows of public data is kept for the
test AUC (Reuters: its own split; simulated data: other rows). Ratios are times of everypair on
every pair: above 1 the peer is slower. Memory is the peak beyond the data, and for programs beyond
one copy of them."""


def intro(results: Results) -> str:
    clock = {"wall": "Wall clock", "cpu": "CPU seconds of all threads (the machine was busy)"}
    wanted = [cell.key for cell in plan.cells()]
    done = [results.cells[key] for key in wanted if key in results.cells]
    unfinished = "" if len(done) == len(wanted) else " **The run is not finished.**"
    failed = sum(cell["status"].startswith("failed") for cell in done)
    refused = sum(not cell.get("rungs") and "race" not in cell for cell in done) - failed
    absent = [peer.name for peer in every_peer().values() if peer.missing]
    limits = sorted({cell["limit"] for cell in results.cells.values() if "limit" in cell})
    most = " or ".join(f"{limit:g}" for limit in limits)
    return (
        f"{INTRO}\n\n{clock[results.clock]}; at most {most} s for the fits of a cell (races: five "
        f"times that). {len(done)} of {len(wanted)} cells were run, of which {failed} failed and "
        f"{refused} have no solution (too large for the peer, or its limit was over first)."
        f"{unfinished}" + (f" Not installed: {', '.join(absent)}." if absent else "")
    )


def write(results: Results, page: Page) -> None:
    hinges = _table(results, lambda p: _points("squared_hinge")(p) or _points("hinge")(p))
    sections = {
        "Targets": targets(results),
        "Over every pair: peers that solve the same problem": _table(results, _same_problem),
        "Logistic over pairs beside logistic over points": _table(results, _points("logistic")),
        "Hinges over pairs beside hinges over points": hinges,
        "Other objectives": _table(results, lambda p: p.problem == "other", other=True),
        "L1 path of 100 alphas": path_table(results),
        "AUC-RLS beside its BLAS limit": rls_table(results),
        "Kernel ROC-SVM beside SVC, 5,000 rows": kernel_table(results),
        "Growth": growth(results),
        "What each solves, and its warm-up": solvers_table(results),
    }
    for heading, text in sections.items():
        if text:
            page.add(heading, text)


def _same_problem(peer: Peer) -> bool:
    return peer.problem.startswith("pairs")


def _points(loss: str):
    return lambda peer: peer.problem.startswith(f"points {loss} ")


def ours_beside(peer: Peer) -> str:
    return name("logistic" if peer.problem == "other" else peer.problem.split()[1])


# --- ratios -------------------------------------------------------------------------------


def ratio(results: Results, task: str, peer: Peer, gap: float) -> float | None:
    """Times of ours; None where one of them did not get there."""
    ours = results.seconds_to(task, ours_beside(peer), gap)
    theirs = results.seconds_to(task, peer.name, gap)
    return theirs / ours if ours and theirs else None


def _shown(results: Results, task: str, peer: Peer, gap: float) -> str:
    value = ratio(results, task, peer, gap)
    if value is not None:
        return f"{value:.2f}"
    cell = results.cells[f"{task} | {peer.name}"]
    # The limit holds for all of a peer's fits together, so it bounds no single one.
    return "not reached" if cell["status"] == "done" else _why_not(cell)


def _seconds(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.3g} s"


def _memory(cell: dict) -> str:
    return f"{cell['peak'] / 2**20:.0f}" if "peak" in cell else ""


def _size(cell: dict) -> str:
    return "{:,} x {:,}".format(*cell["shape"]) if "shape" in cell else ""


def _table(results: Results, wanted, other: bool = False) -> str:
    header = ["data", "solver", f"time to {LOOSE:.0e}", f"time to {CLOSE:.0e}", "MB", "test AUC"]
    if other:
        header[2:4] = ["time", "our objective"]
    rows = []
    for task in _tasks(results):
        cells = results.of_task(task)
        peers = [every_peer()[key] for key in cells if wanted(every_peer()[key])]
        beside = dict.fromkeys(ours_beside(peer) for peer in peers)
        if not peers or not any(ours in cells for ours in beside):
            continue
        size = _size(cells[next(iter(beside))])
        label = task.split()[0] + f", {size}"
        for ours in beside:
            times = [_seconds(results.seconds_to(task, ours, gap)) for gap in (LOOSE, CLOSE)]
            if other:
                times = [times[1], _above(results, task, cells[ours])]
            rows.append([label, f"**{ours}**", *times, _memory(cells[ours]),
                         f"{results.auc(task, ours):.4f}"])  # fmt: skip
            theirs = [p for p in peers if ours_beside(p) == ours and p.name != ours]
            rows += [["", *_row(results, task, peer, cells[peer.name], other)] for peer in theirs]
    return markdown_table(header, rows) if rows else ""


def _tasks(results: Results) -> list[str]:
    grown = {*plan.ROWS, *plan.COLUMNS}
    tasks = dict.fromkeys(key.split(" | ")[0] for key in results.cells)
    return [t for t in tasks if t not in grown and t not in races.RACES]


def _row(results: Results, task: str, peer: Peer, cell: dict, other: bool) -> list[str]:
    if not cell.get("rungs"):
        return [peer.name, _why_not(cell), "", "", ""]
    tail = [_memory(cell), f"{results.auc(task, peer.name):.4f}"]
    if not other:
        return [peer.name, *(_shown(results, task, peer, gap) for gap in (LOOSE, CLOSE)), *tail]
    last = cell["rungs"][-1]
    ours = results.seconds_to(task, ours_beside(peer), CLOSE)
    times = f"{last[results.clock] / ours:.2f}" if ours else ""
    return [peer.name, times, _above(results, task, cell), *tail]


def _above(results: Results, task: str, cell: dict) -> str:
    """The objective of the last solution beside the lower bound."""
    last, bound = cell["rungs"][-1], results.bound(task, "pairs logistic")
    return (
        f"{last['objective'] / bound:.2f} times the least" if "objective" in last and bound else ""
    )


# --- targets ------------------------------------------------------------------------------


def targets(results: Results) -> str:
    rows = [
        _least(
            "every peer with the same problem, gap 1e-6, slower by", results, _same_problem, 1.0
        ),
        _least("SVM^perf slower by", results, lambda p: p.name == "SVM^perf", 5.0),
        _least(
            "liblinear-ranksvm slower by", results, lambda p: p.name == "liblinear-ranksvm", 1.5
        ),
        _logistic_target(results),
        *_race_targets(results),
    ]
    return (
        f"To a gap of {CLOSE:.0e}, over the data sets of at least {LARGE:,} rows, the growing ones "
        "included; smaller ones, Reuters among them, are in the tables below. Short fits vary much "
        "from run to run, so a ratio close to what is asked is not told apart from it. A peer that "
        "did not get there in its time limit counts as slower where everypair did."
        "\n\n"
        + markdown_table(["target", "asked", "measured", "holds", "where"], [r for r in rows if r])
    )


def _large(results: Results) -> list[str]:
    """The growing sizes count, too."""
    shapes = {
        key.split(" | ")[0]: cell["shape"] for key, cell in results.cells.items() if "shape" in cell
    }
    return [task for task, shape in shapes.items() if shape[0] >= LARGE]


def _least(what: str, results: Results, wanted, asked: float) -> list[str] | None:
    found, late = [], 0
    for task in _large(results):
        for key, cell in results.of_task(task).items():
            peer = every_peer()[key]
            if peer.needs != "everypair" and wanted(peer):
                value = ratio(results, task, peer, CLOSE)
                if value is not None:
                    found.append((value, f"{peer.name}, {task}"))
                late += value is None and cell["status"] == "over the limit"
    if not found:
        return None
    value, where = min(found)
    where = f"least of {len(found)}: {where}" + (f"; {late} more did not get there" if late else "")
    return [what, f">= {asked:g}", f"{value:.2f}", _holds(value >= asked), where]


def _holds(value: bool) -> str:
    return "yes" if value else "**no**"


def _logistic_target(results: Results) -> list[str] | None:
    found = []
    for task in _large(results):
        ours = results.seconds_to(task, name("logistic"), CLOSE)
        theirs = [
            (seconds, key)
            for key in results.of_task(task)
            if key.startswith("LogisticRegression")
            and (seconds := results.seconds_to(task, key, CLOSE)) is not None
        ]
        if ours and theirs:
            seconds, key = min(theirs)
            found.append((ours / seconds, f"{task}, {key}"))
    if not found:
        return None
    value, where = max(found)
    middle = median(value for value, _ in found)
    return [
        f"logistic over pairs / fastest LogisticRegression (median {middle:.2f})", "<= 1.0",
        f"{value:.3f}", _holds(value <= 1.0), f"largest: {where}",
    ]  # fmt: skip


def _race_targets(results: Results) -> list[list[str]]:
    rows = []
    for race in races.PATHS:
        found = _entries(results, race)
        rivals = [f["seconds"] for key, f in found.items() if key != "everypair"]
        if "everypair" in found and rivals:
            value = found["everypair"]["seconds"] / min(rivals)
            rows.append([f"{race} / faster of skglm and celer", "<= 1.5", f"{value:.2f}",
                         _holds(value <= 1.5), "{} x {}".format(*races.PATHS[race])])  # fmt: skip
    ratios = [(v, what) for f in _entries(results, "rls").values() for what, v in f.items()]
    if ratios:
        value, where = max(ratios)
        rows.append(["AUC-RLS / its BLAS limit", "<= 1.3", f"{value:.2f}", _holds(value <= 1.3),
                     f"largest: {where}"])  # fmt: skip
    kernels = {k: f["ROCSVM seconds"] / f["SVC seconds"]
               for k, f in _entries(results, "kernel").items()}  # fmt: skip
    if kernels:
        where = max(kernels, key=kernels.__getitem__)
        rows.append(["kernel ROC-SVM / SVC, 5,000 rows", "<= 2", f"{kernels[where]:.2f}",
                     _holds(kernels[where] <= 2), f"largest: {where}"])  # fmt: skip
    return rows


# --- races --------------------------------------------------------------------------------


def _entries(results: Results, race: str) -> dict[str, dict]:
    return {key: c["race"] for key, c in results.of_task(race).items() if "race" in c}


def path_table(results: Results) -> str:
    rows = []
    for race, shape in races.PATHS.items():
        cells = results.of_task(race)
        found = _entries(results, race)
        if "everypair" not in found:
            continue
        ours = found["everypair"]["seconds"]
        for key in cells:
            label = "{} x {}".format(*shape)
            if key not in found:
                rows.append([label, key, _why_not(cells[key]), "", ""])
                continue
            entry = found[key]
            rows.append([label, key, f"{entry['seconds'] / ours:.2f}", f"{entry['gap']:.0e}",
                         str(entry["nonzeros"])])  # fmt: skip
    header = ["data", "path", "times everypair", "largest gap", "non-zeros at the end"]
    about = (
        "On one thread, to a gap of 1e-4 at every alpha, with the loosest tolerance that gives it. "
        "celer and skglm solve the problem over points, everypair that over pairs."
    )
    return f"{about}\n\n{markdown_table(header, rows)}" if rows else ""


def rls_table(results: Results) -> str:
    rows = [
        [what, f"{value:.2f}"]
        for found in _entries(results, "rls").values()
        for what, value in found.items()
    ]
    return markdown_table(["fit / linear algebra", "ratio"], rows) if rows else ""


def kernel_table(results: Results) -> str:
    rows = [
        [key, f"{f['ROCSVM seconds'] / f['SVC seconds']:.2f}", f"{f['ROCSVM AUC']:.4f}",
         f"{f['SVC AUC']:.4f}"]
        for key, f in _entries(results, "kernel").items()
    ]  # fmt: skip
    header = ["data", "ROCSVM / SVC, time", "ROCSVM AUC", "SVC AUC"]
    return markdown_table(header, rows) if rows else ""


# --- growth -------------------------------------------------------------------------------


def growth(results: Results) -> str:
    parts = []
    for what, tasks, axis in (("rows", plan.ROWS, 0), ("columns", plan.COLUMNS, 1)):
        sizes = [int(task.split()[1].split("x")[axis]) for task in tasks]
        rows = []
        for peer in plan.GROWTH_PEERS:
            if not any(f"{task} | {peer}" in results.cells for task in tasks):
                continue
            seconds = [results.seconds_to(task, peer, CLOSE) for task in tasks]
            known = [(n, s) for n, s in zip(sizes, seconds, strict=True) if s and s > POLL]
            slope = "too few sizes"
            if len(known) > 2:
                slope = f"{growth_exponent(*map(list, zip(*known, strict=True))):.2f}"
                if len(known) < len(sizes):
                    slope += f" ({known[0][0]:,} to {known[-1][0]:,})"
            shown = [_grown(results, task, peer, s) for task, s in zip(tasks, seconds, strict=True)]
            rows.append([peer, *shown, slope])
        if not rows:
            continue
        fixed = tasks[0].split()[1].split("x")[1 - axis]
        other = f"{fixed} columns" if axis == 0 else f"{int(fixed):,} rows"
        header = ["solver", *(f"{n:,} {what}" for n in sizes), "exponent"]
        parts.append(
            f"Seconds to gap {CLOSE:.0e}, {other}, dense.\n\n{markdown_table(header, rows)}"
        )
    if not parts:
        return ""
    parts.append("![Objective gap against time](figures/peers-gap.svg)")
    parts.append("![Time against rows and columns](figures/peers-growth.svg)")
    return "\n\n".join(parts)


def _grown(results: Results, task: str, peer: str, seconds: float | None) -> str:
    if seconds is not None:
        return f"{seconds:.3g}" if seconds > POLL else f"<= {POLL}"
    cell = results.cells.get(f"{task} | {peer}", {"status": "not run"})
    return _why_not(cell) if cell["status"] != "done" else "not reached"


def _why_not(cell: dict) -> str:
    return f"not in {cell['limit']:.0f} s" if cell["status"] == "over the limit" else cell["status"]


# --- peers --------------------------------------------------------------------------------


def solvers_table(results: Results) -> str:
    rows = []
    for peer in every_peer().values():
        warm = [c["warm_up"] for key, c in results.cells.items()
                if key.endswith(f"| {peer.name}") and "warm_up" in c]  # fmt: skip
        why_not = f"skipped: {peer.missing}" if peer.missing else "not run"
        shown = f"{np.median(warm):.2f}" if warm else why_not
        rows.append([peer.name, peer.problem, peer.solves, shown])
    header = ["solver", "judged on", "it minimises", "warm-up, s (median)"]
    return markdown_table(header, rows)
