"""Small tables on disk and the command run inside the test's own process."""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")

JOBS = ("cook", "nurse", "pilot", "clerk")
HEADER = ["id", "age", "job", "since", "vip", "<b>x</b>", "const", "churn"]


def write_mixed(path, n_rows=200, seed=0):
    """Numbers, categories, dates and true/false, with gaps; ``churn`` depends on age and job."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for k in range(n_rows):
            age, job = rng.normal(40, 10), rng.integers(4)
            score = 0.15 * (age - 40) + 1.5 * (job == 2) + rng.logistic()
            writer.writerow(
                [
                    f"c{k}",
                    "" if k % 11 == 3 else round(age, 1),
                    "NA" if k % 17 == 5 else JOBS[job],
                    f"20{rng.integers(10, 24):02d}-{rng.integers(1, 13):02d}-03",
                    str(rng.random() < 0.3).lower(),
                    round(rng.normal(), 3),
                    7,
                    "yes" if score > 1.5 else "no",
                ]
            )
    return path


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    from everypair.cli.app import app

    def call(*arguments):
        capsys.readouterr()
        code = 0
        try:
            app([str(argument) for argument in arguments], prog_name="everypair")
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    return write_mixed(tmp_path_factory.mktemp("mixed") / "mixed.csv")


@pytest.fixture(scope="session")
def model(mixed):
    """A model file of the mixed table."""
    from everypair.cli.app import app

    path = mixed.parent / "model.skops"
    with pytest.raises(SystemExit) as leaving:
        app(["fit", str(mixed), "-t", "churn", "-o", str(path), "--method", "auc", "--quiet"])
    assert not leaving.value.code
    return path
