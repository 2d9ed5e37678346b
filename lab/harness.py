"""What the benchmarks share: timing side by side, ratios, a Markdown page of results."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"


def best_time(work: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of several runs after one untimed run: the least disturbed by neighbours."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def growth_exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def environment() -> str:
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    machine = f"{cpu_count()} cores, {platform.machine()}"
    return f"Python {platform.python_version()}, {versions}; {machine}."


def cpu_count() -> int:
    import joblib

    return int(joblib.cpu_count())


class Page:
    """Sections are printed as they come and written to the docs together."""

    def __init__(self, name: str, title: str, intro: str, measured_with: str | None = None):
        """``measured_with``: where that was not here and now."""
        self.path = DOCS / f"{name}.md"
        self.parts = [f"# {title}", intro, f"Measured with {measured_with or environment()}"]

    def add(self, heading: str, text: str) -> None:
        print(f"\n## {heading}\n\n{text}", flush=True)
        self.parts += [f"## {heading}", text]

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n\n".join(self.parts) + "\n")
        print(f"\nwritten: {self.path}")
