"""Broken files end in a result or in one sentence: the known ones, and some mutations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
if not hasattr(os, "fork") or not Path("/proc/self/statm").exists():
    pytest.skip("the cases run in forks with limits of Linux", allow_module_level=True)

FUZZ = Path(__file__).with_name("run.py")


@pytest.mark.slow
def test_known_bad_files_and_some_mutations_end_well(tmp_path):
    options = ["--cases", "4", "--seconds", "3", "--keep", tmp_path]
    found = subprocess.run(
        [sys.executable, FUZZ, *map(str, options)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert " 0 ended badly" in found.stdout


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (0, "note: a.\n", ""),
        (2, "note: a.\neverypair: f: no.\n", ""),
        (2, "", "0 sentences"),
        (2, "everypair: a.\neverypair: b.\n", "2 sentences"),
        (2, "Traceback\neverypair: a.\nmore\n", "1 sentences"),
        (1, "everypair: unexpected KeyError: 'x'.\n", "exit code 1"),
        (-11, "", "signal 11"),
        (-9, "", "too slow"),
    ],
)
def test_what_counts_as_a_bad_ending(code, said, expected, monkeypatch):
    monkeypatch.syspath_prepend(FUZZ.parent)
    import run

    assert expected in run.trouble_with(code, said)
    assert bool(run.trouble_with(code, said)) == bool(expected)
