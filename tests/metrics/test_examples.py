"""The examples in the docstrings of metrics and plots run and print what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import matplotlib as mpl
import pytest

import everypair.metrics
import everypair.plots

mpl.use("Agg")

MODULES = [
    f"{package.__name__}.{info.name}"
    for package in (everypair.metrics, everypair.plots)
    for info in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    import matplotlib.pyplot as plt

    assert doctest.testmod(import_module(name)).failed == 0
    plt.close("all")
