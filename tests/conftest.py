"""How hypothesis runs, which combinations of parameters are slow tests, what many tests share."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "everypair",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everypair")


FEW_CASES = 2
"""A test with so many cases has all of them among the quick tests."""


def _values_of(item):
    """What each of the stacked parametrisations, and each fixture, gives to a case."""
    params, found = dict(item.callspec.params), set()
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        found.add((tuple(names), tuple(id(params.pop(name, None)) for name in names)))
    return found | {(name, id(value)) for name, value in params.items()}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Every value of every parameter is among the quick tests; the other combinations are slow.

    Where parametrisations are stacked, a case whose values all occurred in cases before it is
    marked as slow: `make slow` runs it. A list of cases is not a combination, and stays whole."""
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("slow") is None:
            cases[item.nodeid.split("[")[0]].append(item)
    for of_test in cases.values():
        if len(of_test) <= FEW_CASES:
            continue
        seen = set()
        for item in of_test:
            values = _values_of(item)
            if values <= seen:
                item.add_marker(pytest.mark.slow)
            seen |= values


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


@cache
def _parser(app):
    """Made once: it is the same for every command typed."""
    from typer.main import get_command

    return get_command(app)


def exit_of(arguments):
    """The exit code of the command, run inside the test's own process."""
    from everypair.app.cli.app import app, main

    typed, parser = ["everypair", *map(str, arguments)], _parser(app)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", typed)
        patch.setattr("typer.main.get_command", lambda _: parser)
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


@pytest.fixture(scope="module", autouse=True)
def _short_searches_of_the_application(request):
    """What it says and writes does not depend on how many settings are searched and how many
    samples are drawn, nor does what a module of tests fits once."""
    if "/app/" not in request.node.nodeid:
        yield
        return
    from searches import OF_COMMANDS, SHORT, searched

    with searched(OF_COMMANDS if "/app/cli/" in request.node.nodeid else SHORT):
        yield


@pytest.fixture
def whole_searches():
    """For a test of what a search of the application finds."""
    from searches import WHOLE, searched

    with searched(WHOLE):
        yield


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
