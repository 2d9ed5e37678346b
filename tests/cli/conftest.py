"""A table and a model on disk and the command run inside the test's own process."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from mixed_table import write_mixed

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")


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
