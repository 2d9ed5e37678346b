"""What is installed: the library and the application, no laboratory, the core packages alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

USE = """
import numpy as np
from everypair import AUCClassifier
from everypair.metrics import auc_score

rng = np.random.default_rng(0)
X = rng.standard_normal((100, 4))
y = X[:, 0] + rng.standard_normal(100) > 1
model = AUCClassifier().fit(X, y)
assert auc_score(y, model.decision_function(X)) > 0.7
assert set(model.predict(X)) == {False, True}
"""

ONLY_CORE = """
import re, sys
from importlib.metadata import packages_distributions, requires

core, new = set(), {"numpy", "scipy", "scikit-learn", "numba", "joblib"}
while new:
    core |= new
    needed = (line for name in new for line in requires(name) or () if "extra ==" not in line)
    new = {re.match(r"[\\w.-]+", line)[0] for line in needed} - core
others = {name for name, of in packages_distributions().items() if not core & set(of)}
BARRED = others - {"everypair"}


class Barred:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BARRED:
            raise ModuleNotFoundError(f"{name} is no core dependency", name=name)


sys.meta_path.insert(0, Barred())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"everypair"}
    assert "everypair/app/report/page/report.html" in names
    assert not [name for name in names if "lab" in name.split("/") or "papers" in name]


def test_the_core_packages_are_enough_to_fit_and_predict(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    where = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    check = f"import everypair; assert everypair.__file__.startswith({str(tmp_path)!r})\n"
    code = where + ONLY_CORE + check + USE
    as_written = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # to compile the copy takes seconds
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=as_written,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_a_fresh_environment_installs_it_and_predicts(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True, capture_output=True)
    subprocess.run([python, "-c", USE], check=True, capture_output=True, cwd=tmp_path)


def test_every_file_names_the_same_version():
    import everypair

    for name, pattern in {
        "CITATION.cff": r"^version: (\S+)$",
        "conda/recipe.yaml": r'^  version: "(\S+)"$',
        "CHANGELOG.md": r"^## \[(\S+)\]",
    }.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(pattern, text, re.MULTILINE)[1] == everypair.__version__, name


def test_the_recipe_has_the_packages_of_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.split("  run:\n")[1].split("  run_constraints:")[0]
    listed = {line.strip("- ").replace(" ", "") for line in run.splitlines()[1:]}
    assert listed == set(project["dependencies"])
