"""Threads that wait do not spin; modules of extras that are not installed have no examples.

Tests run on all cores at once. A thread of OpenMP or BLAS that waits for the others by spinning
takes the core from another test: boosting took four times as long.
"""

import gc
import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# Objects of many small fits, and of numba's compiler, die without the garbage collector.
gc.set_threshold(50_000, 20, 20)

collect_ignore = [] if find_spec("torch") else ["src/everypair/torch.py"]
HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path):
    """Of the modules outside ``tests``, those with an example in a docstring are enough."""
    if collection_path.suffix != ".py" or collection_path.is_relative_to(HERE / "tests"):
        return None
    return ">>>" not in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_finish():
    """Modules and tests stay to the end: the garbage collector need not look at them again."""
    gc.freeze()
