"""Installs the wheel in a fresh environment and uses it as its users do.

    python tests/smoke.py --install dist --packages newest
    python tests/smoke.py --install dist --packages oldest     the lowest stated versions

Prints its line of docs/benchmarks/environments.md. Where Python has no global lock, nothing may
switch the lock on.

Not a test of pytest: it needs nothing but Python, so that it runs on every one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("cli", "report")
MOST_IMPORT_SECONDS = 0.03
"""What `import everypair` may take, by the quickest of several turns."""

USE = """
import sys, sysconfig
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from everypair import AUCClassifier, MeasureOpt
from everypair.metrics import auc_confidence_interval

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 4)).astype(np.float32)
y = X[:, 0] + rng.standard_normal(600) > 1
for model in (AUCClassifier(calibration="auto"), MeasureOpt("f1")):
    model = make_pipeline(StandardScaler(), model).fit(X, y)
    interval = auc_confidence_interval(y, model.decision_function(X))
    assert interval.auc > 0.7, interval
    assert set(model.predict(X)) == {False, True}
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    assert not sys._is_gil_enabled()
    with ThreadPoolExecutor(2) as threads:
        fits = list(threads.map(lambda _: AUCClassifier().fit(X, y).coef_, range(8)))
    assert all((fit == fits[0]).all() for fit in fits)
print("fitted")
"""


def oldest() -> list[str]:
    """The lowest versions that pyproject.toml allows, of the core and of the extras used."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for name in EXTRAS for line in project["optional-dependencies"][name]]
    return [line.replace(">=", "==") for line in [*project["dependencies"], *extras]]


def run(*command: object, folder: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd=folder
    )
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def import_seconds(python: Path, folder: Path) -> float:
    """Processor time, which a busy machine disturbs least."""
    code = "import time; t = time.process_time(); import everypair; print(time.process_time() - t)"
    return min(float(run(python, "-c", code, folder=folder)) for _ in range(7))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--install", type=Path, required=True, help="the folder of the wheel")
    parser.add_argument("--packages", choices=["newest", "oldest"], default="newest")
    given = parser.parse_args()
    (wheel,) = given.install.resolve().glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        bin_folder = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        python, command = bin_folder / "python", bin_folder / "everypair"
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "-q"]
        exact = oldest() if given.packages == "oldest" else []
        run(*pip, f"{wheel}[{','.join(EXTRAS)}]", *exact, folder=folder)

        said = run(python, "-c", "import everypair", folder=folder)
        assert said == "", f"import everypair prints {said!r}"
        took = import_seconds(python, folder)
        assert took < MOST_IMPORT_SECONDS, f"import everypair takes {took:.3f} s"
        assert run(python, "-c", USE, folder=folder).endswith("fitted\n")

        run(command, "sample", "customers.csv", folder=folder)
        run(
            command,
            "fit",
            "customers.csv",
            "-t",
            "churn",
            "--method",
            "auc",
            "-o",
            "m.everypair",
            folder=folder,
        )
        run(command, "score", "m.everypair", "customers.csv", "-o", "scores.csv", folder=folder)
        lines = (folder / "scores.csv").read_text(encoding="utf-8").splitlines()
        assert "score" in lines[0], lines[0]
        assert len(lines) == 601, len(lines)
        versions = run(python, "-m", "pip", "list", "--format=freeze", folder=folder)
    wanted = r"^(numpy|scipy|scikit-learn|numba|joblib|pyarrow)==(\S+)"
    found = dict(re.findall(wanted, versions, re.MULTILINE))
    names = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "pyarrow")
    kind = " free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    cells = [sys.version.split()[0] + kind, given.packages, *(found[name] for name in names)]
    print("|", " | ".join([*cells, f"{1000 * took:.0f} ms"]), "|")


if __name__ == "__main__":
    main()
