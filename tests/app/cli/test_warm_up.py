"""`everypair warm-up` leaves nothing of the usual fits to compile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import everypair
from everypair.app.cli import warm_up

FIT = """
import numpy as np
from scipy import sparse
from everypair import AUCClassifier, RankOpt

rng = np.random.default_rng(1)
X = rng.standard_normal((500, 3))
y = X[:, 0] > 0.5
for table in (X, X.astype("float32"), sparse.csr_matrix(X)):
    AUCClassifier().fit(table, y).predict(table)
    AUCClassifier("hinge").fit(table, y)
RankOpt().fit(X, y)
"""


def test_it_says_where_the_code_is(run, monkeypatch):
    done = []
    monkeypatch.setattr(warm_up, "_usual_fits", lambda: [("one", lambda: done.append(1))])
    found = run("warm-up", "--json")
    told = json.loads(found.out)
    assert found.code == 0
    assert done == [1]
    assert Path(told["directory"]).is_dir()
    assert told["new_files"] == 0
    assert "one: " in run("warm-up").err
    assert "0 new files" in run("warm-up", "--quiet").out


@pytest.mark.slow
def test_a_fit_after_it_compiles_nothing(tmp_path):
    def files():
        return {path.name for path in tmp_path.rglob("*.nb[ci]")}

    source = str(Path(everypair.__file__).parents[1])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": source}
    command = [sys.executable, "-m", "everypair", "warm-up", "--json"]
    told = json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
    kept = files()
    assert len(kept) == told["files"] == told["new_files"] > 50
    subprocess.run([sys.executable, "-c", FIT], env=env, check=True)
    assert files() == kept
