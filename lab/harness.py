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

    def write(self, keep: bool = False) -> None:
        """``keep``: the sections of the page as it is stay, but those that were added anew.

        A section is known by its heading, up to a colon.
        """
        parts = self.parts
        if keep and self.path.exists():
            parts = [*parts[:3], *_updated(self.path.read_text(), parts[3:])]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n\n".join(parts) + "\n")
        print(f"\nwritten: {self.path}")


def _updated(page: str, added: list[str]) -> list[str]:
    """Headings and texts of a page, with those of the same name replaced and new ones behind."""

    def name(heading: str) -> str:
        return heading.removeprefix("## ").split(":")[0].strip()

    sections = {}
    for section in page.split("\n## ")[1:]:
        heading, text = section.split("\n", maxsplit=1)
        sections[name(heading)] = [f"## {heading}", text.strip()]
    for heading, text in zip(added[::2], added[1::2], strict=True):
        sections[name(heading)] = [heading, text]
    return [part for section in sections.values() for part in section]
