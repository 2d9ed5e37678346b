"""How hypothesis runs, and rows that many tests share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "everypair",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everypair")


@pytest.fixture
def imbalanced():
    """400 rows, 6 features, 12 % positives, with signal and noise."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 6))
    signal = X @ np.array([1.0, -0.5, 0.25, 0.0, 0.0, 0.0]) + rng.logistic(size=400)
    return X, signal > np.quantile(signal, 0.88)


# --- the command line ---------------------------------------------------------------------


class Result(NamedTuple):
    code: int
    out: str
    err: str


def exit_of(arguments):
    """The exit code of the command, run inside the test's own process."""
    from everypair.app.cli.app import main

    typed = ["everypair", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", typed)
        with pytest.raises(SystemExit) as leaving:
            main()
    return int(leaving.value.code or 0)


@pytest.fixture
def run(capsys):
    """The command run inside the test's own process."""

    def call(*arguments):
        capsys.readouterr()
        return Result(exit_of(arguments), *capsys.readouterr())

    return call


@pytest.fixture
def run_in_bytes(capfdbinary):
    """As `run`, with the bytes that reach the descriptors of the process: ``/dev/stdout`` too."""

    def call(*arguments):
        capfdbinary.readouterr()
        code = exit_of(arguments)
        return Result(code, *capfdbinary.readouterr())

    return call


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    from mixed_table import write_mixed

    return write_mixed(tmp_path_factory.mktemp("mixed") / "mixed.csv")


@pytest.fixture(scope="session")
def model(mixed):
    """A model file of the mixed table."""
    path = mixed.parent / "model.everypair"
    assert exit_of(["fit", mixed, "-t", "churn", "-o", path, "--method", "auc", "--quiet"]) == 0
    return path
