"""`everypair sample`: small tables to try the commands on, and those of `everypair demo`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everypair.app.cli.guard import guarded
from everypair.app.cli.show import print_text

if TYPE_CHECKING:
    import pyarrow as pa

JOBS = ("cook", "nurse", "pilot", "clerk")


def customers() -> pa.Table:
    """600 customers, drawn at random: a column of every kind."""
    import numpy as np

    from everypair.app.tables import arrow_table

    rng = np.random.default_rng(0)
    rows: list[tuple[Any, ...]] = []
    for k in range(600):
        age, job, vip = rng.normal(45, 12), rng.integers(4), rng.random() < 0.3
        score = 0.07 * (age - 45) + 1.2 * (job == 2) - 0.8 * vip + rng.logistic()
        day = np.datetime64("2015-01-01") + rng.integers(3000)
        rows.append(
            (
                f"c{k + 1}",
                None if rng.random() < 0.08 else round(age, 1),
                "?" if rng.random() < 0.05 else JOBS[job],
                f"{day.item():%d/%m/%Y}",
                "yes" if vip else "no",
                f"called on day {rng.integers(10**6)}",
                round(float(rng.lognormal(4, 1)), 2),
                7,
                "yes" if score > 1.4 else "no",
            )
        )
    names = ["id", "age", "job", "member since", "vip", "note", "spend", "const", "churn"]
    return arrow_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def loans() -> pa.Table:
    """3,000 applicants for a loan, drawn at random: is it paid back late?

    The risk is a sum of one bent curve per column: it is lowest at an age of 47 and with two
    cards, rises with the debt ratio from .35 on, falls with the income up to a point and with the
    years at one address; the day of the week says nothing.
    """
    import numpy as np

    from everypair.app.tables import arrow_table

    rng = np.random.default_rng(1)
    n_rows = 3000
    age = rng.normal(45, 13, n_rows).clip(18, 85).round()
    income = rng.lognormal(10.4, 0.5, n_rows).round(-2)
    debt = rng.beta(2, 5, n_rows).round(3)
    years = rng.exponential(6, n_rows).round(1)
    cards = rng.poisson(2, n_rows)
    risk = (
        np.abs(age - 47) / 9
        + 15 * np.maximum(debt - 0.35, 0)
        - np.minimum(np.log(income) - 10.4, 0.3)
        + 1.2 * np.exp(-years / 2)
        + 0.5 * np.abs(cards - 2)
        + rng.logistic(size=n_rows)
    )
    return arrow_table(
        {
            "age": age,
            "income": income,
            "debt ratio": debt,
            "years at address": years,
            "cards": cards,
            "day": rng.choice(["Mon", "Tue", "Wed", "Thu", "Fri"], n_rows),
            "late": np.where(risk > np.quantile(risk, 0.88), "yes", "no"),
        }
    )


def tumours() -> pa.Table:
    """40 malignant and 357 benign tumours, 30 measurements each.

    Breast Cancer Wisconsin (Wolberg, Street & Mangasarian 1995, UCI, CC BY 4.0), which
    scikit-learn ships; all benign tumours and the first 40 malignant ones.
    """
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from everypair.app.tables import arrow_table

    table = load_breast_cancer()
    rows = np.r_[np.flatnonzero(table.target == 0)[:40], np.flatnonzero(table.target == 1)]
    columns = dict(zip(table.feature_names.tolist(), table.data[rows].T, strict=True))
    return arrow_table({**columns, "diagnosis": table.target_names[table.target[rows]]})


SAMPLES: dict[str, tuple[Callable[[], pa.Table], str]] = {
    "customers.csv": (customers, "churn"),
    "loans.csv": (loans, "late"),
    "tumours.csv": (tumours, "diagnosis"),
}


@guarded
def sample(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(SAMPLES)}.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. Default: NAME in this folder."),
    ] = None,
) -> None:
    """Write a small table to try the commands on."""
    from everypair.app.cli.written import write_rows
    from everypair.app.files.output import check_writable, is_stream, written_whole

    if name not in SAMPLES:
        raise ValueError(f"there is no sample {name!r}: give one of {', '.join(SAMPLES)}.")
    make, target = SAMPLES[name]
    path = Path(name) if output is None else output
    check_writable(path)
    if path.exists() and not is_stream(path):
        raise ValueError(f"{path} exists already: give another name with -o FILE.")
    table = make()
    with written_whole(path) as file:
        write_rows([table], file, path)
    if not is_stream(path):
        print_text(f"{path}: {table.num_rows} rows, {table.num_columns} columns; target {target}")
        print_text(f"  everypair compare {path} --target {target} --fast")
