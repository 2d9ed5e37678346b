"""`boosting-pairs` among the methods of `fit --method auto`: does the choice gain by it?

    python -m lab bench auto_pairs settings   settings of boosting-pairs, on the tables of the rules
    python -m lab bench auto_pairs choice     auto with and without it, on other tables
    python -m lab bench auto_pairs --write    what is known, into docs/benchmarks/auto_pairs.md

`auto_pairs.json` keeps every finished draw: a run goes on where the last one ended. Needs the extra
`boost`. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from everypair.app.comparison import models
from everypair.app.comparison.models import BOOSTED_PAIRS, CANDIDATES
from everypair.app.comparison.race import choose
from everypair.app.comparison.search import fit_candidate
from everypair.metrics import auc_score
from lab.benchmarks.auto import CHOSEN_ON, REPORTED, drawn_rows
from lab.harness import Page, markdown_table

CACHE = Path(__file__).with_suffix(".json")
TABLES = (*REPORTED, "covtype 7", "kddcup99 r2l", "satimage 2", "letter S")
DRAWS = 2

SETTINGS = {
    f"push {push}, {leaves} leaves": {"push": push, "max_leaf_nodes": leaves}
    for push, leaves in product((1, 3), (6, 31))
}

INTRO = """\
Made by `python -m lab bench auto_pairs`. Tables, training rows and held-out rows are drawn as for
[the choice of a method](auto.md). `without` and `with` are `everypair fit --method auto` where
neither LightGBM nor XGBoost is installed and where LightGBM is; the other methods that it chooses
among are the same."""


def candidate_with(**settings: Any) -> Any:
    """`boosting-pairs` with other settings."""
    found = CANDIDATES[BOOSTED_PAIRS]
    own = replace(models.BOOSTING_SEARCH, build=partial(models._boosting_pairs_at, **settings))
    return replace(found, build=partial(models._boosting_pairs, **settings), own=own)


def measured(rows: Any, candidates: list[Any]) -> dict[str, Any]:
    """The candidate, or the choice among several: its name, held-out AUC and seconds."""
    X_train, y_train, X_test, y_test = rows
    began = time.process_time()
    candidate, settings = candidates[0], None
    if len(candidates) > 1:
        found = choose(candidates, X_train, y_train)
        candidate, settings = found.candidate, found.settings
    fitted = fit_candidate(candidate, X_train, y_train, settings=settings)
    seconds = time.process_time() - began
    area = float(auc_score(y_test, fitted.scores(X_test)))
    return {"name": candidate.name, "auc": area, "seconds": seconds}


def by_settings(rows: Any) -> dict[str, Any]:
    wanted = {"boosting": CANDIDATES["boosting"]}
    wanted |= {name: candidate_with(**settings) for name, settings in SETTINGS.items()}
    return {name: measured(rows, [candidate]) for name, candidate in wanted.items()}


def by_choice(rows: Any) -> dict[str, Any]:
    others = [c for name, c in CANDIDATES.items() if name != BOOSTED_PAIRS]
    return {
        "boosting": measured(rows, [CANDIDATES["boosting"]]),
        BOOSTED_PAIRS: measured(rows, [CANDIDATES[BOOSTED_PAIRS]]),
        "without": measured(rows, others),
        "with": measured(rows, [*others, CANDIDATES[BOOSTED_PAIRS]]),
    }


PARTS: dict[str, Any] = {"settings": (by_settings, CHOSEN_ON), "choice": (by_choice, TABLES)}


def known() -> dict[str, Any]:
    return json.loads(CACHE.read_text()) if CACHE.exists() else {}


def run(part: str) -> None:
    measure, tables = PARTS[part]
    for draw in range(DRAWS):
        for table in tables:
            key = f"{table}|{draw}"
            if key in known().get(part, {}):
                continue
            found = measure(drawn_rows(table, draw))
            done = known()
            done.setdefault(part, {})[key] = found
            CACHE.write_text(json.dumps(done, indent=0, sort_keys=True) + "\n")
            said = {name: (of["name"], round(of["auc"], 4)) for name, of in found.items()}
            print(part, key, said, flush=True)


def by_table(part: str) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = {}
    found = known()[part]
    for table in PARTS[part][1]:
        draws = [found[key] for k in range(DRAWS) if (key := f"{table}|{k}") in found]
        if draws:
            out[table] = draws
    return out


def areas(of: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([draw[name]["auc"] for draw in of]))


def gain(tables: Any, name: str, beside: str) -> str:
    """The mean difference of two over the tables, with its standard error."""
    gains = np.array([areas(of, name) - areas(of, beside) for of in tables])
    return f"{gains.mean():+.4f} ± {gains.std(ddof=1) / np.sqrt(gains.size):.4f}"


def show_settings(page: Page) -> None:
    tables = by_table("settings")
    rows = [
        [
            name,
            *(f"{areas(of, name):.4f}" for of in tables.values()),
            f"{np.mean([areas(of, name) for of in tables.values()]):.4f}",
            "" if name == "boosting" else gain(tables.values(), name, "boosting"),
        ]
        for name in ("boosting", *SETTINGS)
    ]
    draws = max(map(len, tables.values()))
    page.add(
        "Settings of boosting-pairs",
        f"Held-out AUC on the tables on which the rules of the choice were set, {draws} draws "
        "each. `boosting` chooses among 6 and 31 leaves. The difference is a mean over tables.\n\n"
        + markdown_table(["model", *tables, "mean", "− `boosting`"], rows),
    )


def show_choice(page: Page) -> None:
    tables = by_table("choice")
    rows = []
    for table, of in tables.items():
        names = [
            ", ".join(dict.fromkeys(d[how]["name"] for d in of)) for how in ("without", "with")
        ]
        ratio = np.mean([d["with"]["seconds"] / d["without"]["seconds"] for d in of])
        values = [f"{areas(of, m):.4f}" for m in ("without", "with", "boosting", BOOSTED_PAIRS)]
        rows.append([table, *names, *values, f"{ratio:.2f}"])
    means = [
        f"{np.mean([areas(of, m) for of in tables.values()]):.4f}"
        for m in ("without", "with", "boosting", BOOSTED_PAIRS)
    ]
    ratios = [np.mean([d["with"]["seconds"] / d["without"]["seconds"] for d in of])
              for of in tables.values()]  # fmt: skip
    rows.append(["mean", "", "", *means, f"{np.mean(ratios):.2f}"])
    draws = [draw for of in tables.values() for draw in of]
    taken = sum(draw["with"]["name"] == BOOSTED_PAIRS for draw in draws)
    page.add(
        "The choice with and without it",
        f"Held-out AUC on other tables, {max(map(len, tables.values()))} draws each. The choice "
        f"took `{BOOSTED_PAIRS}` in {taken} of {len(draws)} draws. `with` less `without`: "
        f"{gain(tables.values(), 'with', 'without')} (mean over tables and its standard error); "
        f"`{BOOSTED_PAIRS}` less `boosting`: {gain(tables.values(), BOOSTED_PAIRS, 'boosting')}. "
        "`time` is the processor time of the choice and the fit with it over that without.\n\n"
        + markdown_table(
            ["table", "chosen without", "chosen with", "auto without", "auto with", "`boosting`",
             f"`{BOOSTED_PAIRS}`", "time"], rows,
        ),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for part in given.parts:
            run(part)
    page = Page("auto_pairs", "Boosting over pairs in the choice of a method", INTRO)
    for part, show in (("settings", show_settings), ("choice", show_choice)):
        if part in known():
            show(page)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
