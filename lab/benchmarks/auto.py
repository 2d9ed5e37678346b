"""`fit --method auto` beside every single method, on held-out rows of public tables.

python -m lab bench auto                       print the table
python -m lab bench auto --write               ... and keep it in docs/benchmarks/auto.md
python -m lab bench auto --cache results.json  keep finished splits, so that a run may be stopped

Reads the data sets from ``$EVERYPAIR_DATA``. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from everypair.app.comparison.models import CANDIDATES
from everypair.app.comparison.race import choose
from everypair.app.comparison.search import fit_candidate
from everypair.app.encode import encoder_for
from everypair.app.tables import arrow_table, take_rows
from everypair.metrics import auc_score
from lab.data.fetchers import adult_table, credit_table
from lab.data.tasks import task
from lab.harness import Page, markdown_table

CHOSEN_ON = ("adult", "pima", "spectf", "satimage 4", "letter H")
"""The rules of the choice (rounds, grids, what is dropped when) were set on these."""

REPORTED = ("credit", "letter K", "wdbc", "optdigits 8", "ionosphere", "covtype 2", "wpbc")
SINGLE = (
    "auc", "auc-l1", "rankopt", "auc-rls-rbf", "two-norm-svm", "rankboost", "logistic", "boosting",
)  # fmt: skip
"""Methods to compare with: one or two of each form."""

TRAIN_ROWS, TEST_ROWS = 5000, 10_000

INTRO = """\
`everypair fit` with `--method auto`, which chooses among all methods of `everypair compare`, beside
eight of these with their own search, one or two of each form. Training rows are drawn at random:
two thirds of the table, 5,000 at most. The AUC is that of the other rows (10,000 at most),
{draws}. `best` is the one of the eight with the highest AUC on those held-out rows: no
choice made without them can be expected to reach it in every table. Times are processor seconds on
one thread, as ratios to the search and fit of `auc`, and to the sum over the eight.

The rules of the choice were set on other tables (adult, pima, spectf, satimage 4, letter H)."""

COMMANDS = {
    "`fit`": (),
    "`fit --fast`": ("--fast",),
    "`fit --method auc`": ("--method", "auc"),
}
COMMAND_NOTE = """\
The whole command from its start to its end, imports and reading included, on 5,000 rows and 14
columns of adult (a CSV file, compiled code on disk, the default number of threads). The commands
took turns {passes} times after an untimed turn; medians."""


def table(name: str) -> tuple[Any, Any]:
    """Columns as their source has them, words and gaps included."""
    messy = {"adult": (adult_table, "income", ">50K"), "credit": (credit_table, "class", "+")}
    if name in messy:
        read, target, positive = messy[name]
        frame = read()
        return arrow_table(frame.drop(columns=target)), (frame[target] == positive).to_numpy()
    found = task(name)
    columns = np.asarray(found.X, dtype=float).T
    return arrow_table({f"x{k}": column for k, column in enumerate(columns)}), found.positive


def drawn_rows(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Training and held-out rows, encoded, and which are positive."""
    X, y = table(name)
    rows = np.random.default_rng(seed).permutation(y.size)
    n_train = min(TRAIN_ROWS, y.size * 2 // 3)
    train, test = np.sort(rows[:n_train]), rows[n_train : n_train + TEST_ROWS]
    taken = take_rows(X, train)
    encoder = encoder_for(taken).fit(taken)
    return (
        encoder.transform(taken), y[train], encoder.transform(take_rows(X, test)), y[test]
    )  # fmt: skip


def one_split(name: str, seed: int) -> dict[str, Any]:
    """AUC of the held-out rows and processor seconds of each method and of the choice."""
    X_train, y_train, X_test, y_test = drawn_rows(name, seed)

    def judged(candidate: Any, settings: Any = None) -> float:
        fitted = fit_candidate(candidate, X_train, y_train, settings=settings)
        return float(auc_score(y_test, fitted.scores(X_test)))

    out: dict[str, Any] = {
        "n": int(y_train.size),
        "p": int(X_train.shape[1]),
        "auc": {},
        "seconds": {},
    }
    for method in (*SINGLE, "auto"):
        began = time.process_time()
        if method == "auto":
            found = choose(list(CANDIDATES.values()), X_train, y_train)
            out["chosen"] = found.candidate.name
            area = judged(found.candidate, found.settings)
        else:
            area = judged(CANDIDATES[method])
        out["auc"][method], out["seconds"][method] = area, time.process_time() - began
    return out


def measured(name: str, seed: int, cache: Path | None) -> dict[str, Any]:
    known = json.loads(cache.read_text()) if cache is not None and cache.exists() else {}
    key = f"{name}, {seed}"
    if key not in known:
        known[key] = one_split(name, seed)
        if cache is not None:
            cache.write_text(json.dumps(known))
    return dict(known[key])


def line(name: str, splits: list[dict[str, Any]]) -> tuple[list[str], dict[str, float]]:
    mean = {m: float(np.mean([s["auc"][m] for s in splits])) for m in splits[0]["auc"]}
    single = {m: area for m, area in mean.items() if m != "auto"}
    best = max(single, key=single.__getitem__)
    spent = [s["seconds"] for s in splits]
    to_auc = np.mean([s["auto"] / s["auc"] for s in spent])
    to_all = np.mean([s["auto"] / (sum(s.values()) - s["auto"]) for s in spent])
    cells = [
        name, f"{splits[0]['n']:,} x {splits[0]['p']}",
        ", ".join(dict.fromkeys(s["chosen"] for s in splits)),
        *(f"{mean[m]:.4f}" for m in ("auto", "auc", "boosting")),
        f"{mean[best]:.4f} ({best})", f"{to_auc:.1f}", f"{to_all:.2f}",
    ]  # fmt: skip
    return cells, mean


def command_times(passes: int, before: Path | None) -> str:
    """Wall and processor seconds of whole commands, one after the other in turns."""
    versions = {"": None} if before is None else {"": None, ", before": str(before)}
    spent: dict[str, list[tuple[float, float]]] = {}
    with TemporaryDirectory() as folder:
        adult_table().sample(TRAIN_ROWS, random_state=0).to_csv(f"{folder}/adult.csv", index=False)
        for _ in range(passes + 1):
            for (name, options), (which, source) in product(COMMANDS.items(), versions.items()):
                if source is not None and "--fast" in options:
                    continue  # an option of this version
                command = [sys.executable, "-m", "everypair", "fit", f"{folder}/adult.csv"]
                command += ["--target", "income", "-o", f"{folder}/{which}.everypair", *options]
                path = {} if source is None else {"PYTHONPATH": source}
                began, used = time.perf_counter(), os.times()
                subprocess.run(command, check=True, capture_output=True, env=os.environ | path)
                wall, now = time.perf_counter() - began, os.times()
                cpu = now.children_user + now.children_system
                cpu -= used.children_user + used.children_system
                spent.setdefault(name + which, []).append((wall, cpu))
    medians = {name: np.median(found[1:], axis=0) for name, found in spent.items()}
    unit = medians["`fit --method auc`"][0]
    rows = [
        [name, f"{wall:.1f}", f"{cpu:.1f}", f"{wall / unit:.1f}"]
        for name, (wall, cpu) in medians.items()
    ]
    header = ["command", "seconds", "of a processor", "/ `fit --method auc`"]
    return COMMAND_NOTE.format(passes=passes) + "\n\n" + markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--tables", nargs="*", default=REPORTED)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--passes", type=int, default=3, help="turns of the commands' times")
    parser.add_argument("--before", type=Path, help="the src folder of a version to time beside")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    draws = "in one draw" if options.draws == 1 else f"a mean over {options.draws} draws"
    page = Page("auto", "The choice of a method", INTRO.format(draws=draws))
    lines, means = [], []
    with threadpool_limits(1):
        fit_candidate(CANDIDATES["auc"], np.eye(30), np.arange(30) % 2 == 0)  # code is loaded
        for name in options.tables:
            cells, mean = line(
                name, [measured(name, k, options.cache) for k in range(options.draws)]
            )
            lines.append(cells)
            means.append(mean)
            print(" | ".join(cells), flush=True)
    header = ["table", "rows x features", "chosen", "auto", "`auc`", "`boosting`", "best",
              "time / `auc`", "time / all"]  # fmt: skip
    page.add("Held-out AUC and time", markdown_table(header, lines))
    over = {m: float(np.mean([mean[m] for mean in means])) for m in means[0]}
    falling = sorted(over.items(), key=lambda pair: -pair[1])
    page.add(
        "Mean over the tables",
        markdown_table(["method", "AUC"], [[m, f"{area:.4f}"] for m, area in falling]),
    )
    page.add("Time of the command", command_times(options.passes, options.before))
    if options.write:
        page.write()


if __name__ == "__main__":
    main()
