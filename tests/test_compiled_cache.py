"""Compiled code is kept on disk where that works; where it does not, fits run all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import everypair
from everypair import _compiled
from everypair.linalg.few_rows import FEW_ROWS

KERNEL = """
from everypair._compiled.compiling import compiled

@compiled
def inner(x):
    return x + 1

@compiled
def outer(x):
    return 10 * inner(x)
"""

CALL = """
from kernel import inner, outer

print(outer(1), sum(outer.stats.cache_hits.values()))
"""

FIT = """
import numpy as np
from everypair import AUCClassifier

X = np.random.default_rng(0).standard_normal((300, 3))
print(AUCClassifier("squared_hinge").fit(X, X[:, 0] > 0.5).score(X, X[:, 0] > 0.5) > 0.99)
"""

SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
"""Stands for a disk that gets full: the index fits, the code does not."""


def run(script, cwd, package=None, **environment):
    source = Path(package or everypair.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        capture_output=True, text=True, check=False, timeout=120, cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(source), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.fixture
def home(tmp_path):
    """A directory with one kernel and its cache."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path


def call(home, before="", after_import=""):
    return run(
        before + "import kernel\n" + after_import + CALL, home, NUMBA_CACHE_DIR=str(home / "cache")
    )


def warns_once(stderr):
    return stderr.count("NUMBA_CACHE_DIR") == 1


COMMAND = """
from pathlib import Path
from everypair.app.cli.app import main

Path("t.csv").write_text("x,y\\n" + "".join(f"{k * 7 % 40},{k % 2}\\n" for k in range(40)))
import sys

sys.argv = "everypair fit t.csv -t y -o m.everypair --method auc".split()
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [FIT, pytest.param(COMMAND, marks=pytest.mark.slow)], ids=["library", "command"]
)
def test_a_fit_runs_where_neither_the_package_nor_home_can_be_written(tmp_path, script):
    """Files stand where the directories would be, which stops root as well."""
    package = tmp_path / "everypair"
    shutil.copytree(
        Path(everypair.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "_compiled" / "__pycache__").touch()
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "NUMBA_CACHE_DIR": ""}
    out, err = run(script, tmp_path, package / "__init__.py", **nowhere)
    assert out == ["True"] or out[0] == "auc"
    assert warns_once(err)
    assert str(package / "_compiled") in err


def test_arrays_and_mapped_files_have_the_same_code():
    """A mapped file, as joblib's workers get it, may not be written to."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((FEW_ROWS + 1, 3))
    kernels = (_compiled.window_rows, _compiled.dense_add_moments, _compiled.best_split)

    def compiled_after_fits():
        everypair.AUCClassifier("squared_hinge").fit(X, y)
        everypair.AUCTree(max_depth=1).fit(X, y)
        return [len(kernel.signatures) for kernel in kernels]

    y = X[:, 0] + rng.standard_normal(X.shape[0]) > 0
    before = compiled_after_fits()
    assert min(before) > 0
    X.flags.writeable = False
    assert compiled_after_fits() == before


def test_code_is_compiled_once_and_then_read(home):
    assert call(home) == (["20", "0"], "")
    assert call(home) == (["20", "1"], "")


@pytest.mark.slow
def test_a_full_disk_costs_the_cache_and_not_the_result(home):
    out, err = call(home, SMALL_FILES)
    assert out == ["20", "0"]
    assert warns_once(err)
    assert "File too large" in err
    assert call(home) == (["20", "0"], "")
    assert call(home) == (["20", "1"], "")


@pytest.mark.slow
def test_a_cache_that_goes_away_after_the_import_costs_only_itself(home):
    gone = (
        "kernel.outer.dispatcher\n"
        "import shutil; shutil.rmtree('cache'); open('cache', 'w').close()\n"
    )
    out, err = call(home, after_import=gone)
    assert out == ["20", "0"]
    assert warns_once(err)


@pytest.mark.slow
def test_code_of_an_older_source_is_not_run_after_a_full_disk(home):
    """The index is written, the code is not, and a file of its name is there from before."""
    call(home)
    (home / "kernel.py").write_text(KERNEL.replace("10 *", "99 *"))
    assert call(home, SMALL_FILES)[0] == ["198", "0"]
    assert call(home) == (["198", "0"], "")


@pytest.mark.slow
def test_truncated_files_are_compiled_anew_and_replaced(tmp_path):
    """One kernel for each kind of damage, all called by the same processes."""
    cases = [("nbi", 0), ("nbi", 0.5), ("nbc", 0), ("nbc", 0.5)]
    script = ""
    for k in range(len(cases)):
        (tmp_path / f"kernel{k}.py").write_text(KERNEL)
        script += CALL.replace("kernel", f"kernel{k}")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(script, tmp_path, **cache)
    for k, (kind, left) in enumerate(cases):
        files = list(tmp_path.glob(f"cache/*/kernel{k}.*.{kind}"))
        assert len(files) == 2
        for file in files:
            whole = file.read_bytes()
            file.write_bytes(whole[: int(left * len(whole))])
    assert run(script, tmp_path, **cache) == (["20", "0"] * len(cases), "")
    assert run(script, tmp_path, **cache) == (["20", "1"] * len(cases), "")


@pytest.mark.slow
def test_code_is_compiled_anew_where_a_kernel_that_it_calls_was_edited(tmp_path):
    source = Path(everypair.__file__).parent
    package = tmp_path / "everypair"
    (package / "_compiled").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "_compiled" / "__init__.py").touch()
    for name in ("compiling.py", "kept_code.py"):
        shutil.copy(source / "_compiled" / name, package / "_compiled")
    inner = package / "_compiled" / "inner.py"
    inner.write_text(
        "from everypair._compiled.compiling import compiled\n\n\n@compiled\n"
        "def add(x):\n    return x + 1\n"
    )
    (package / "_compiled" / "outer.py").write_text(
        "from everypair._compiled.compiling import compiled\n"
        "from everypair._compiled.inner import add\n\n\n@compiled\n"
        "def ten_times(x):\n    return 10 * add(x)\n"
    )
    call = (
        "from everypair._compiled.outer import ten_times as f\n"
        "print(f(1), sum(f.stats.cache_hits.values()))"
    )
    assert run(call, tmp_path, package / "__init__.py")[0] == ["20", "0"]
    assert run(call, tmp_path, package / "__init__.py")[0] == ["20", "1"]
    inner.write_text(inner.read_text().replace("x + 1", "x + 22"))
    assert run(call, tmp_path, package / "__init__.py")[0] == ["230", "0"]
