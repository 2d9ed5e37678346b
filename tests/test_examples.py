"""Every example runs from top to bottom and prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {"net": "torch"}
"""What an example imports beyond the core."""


LONG = ("net", "quickstart")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.stem in LONG else [])
        for p in EXAMPLES
    ],
)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
