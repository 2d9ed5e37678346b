"""A page of results: Markdown, figures, and what they were made with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.papers.kept import Found, Params, Store, write_atomically

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444", "#999999")
"""Told apart by everyone (Okabe & Ito)."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [list(header), ["---"] * len(header), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def mean_sd(values: Sequence[float] | NDArray[np.float64], digits: int = 3) -> str:
    if len(values) == 0:
        return "-"
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {spread:.{digits}f}"


class PaperPage:
    """Sections in order; figures beside it. `write` puts all into the folder of results."""

    def __init__(self, folder: Path, name: str, title: str, intro: str):
        self.folder, self.name = folder, name
        self.parts = [f"# {title}", intro]

    def add(self, heading: str, *texts: str) -> None:
        self.parts += [f"## {heading}", *texts]

    def figure(self, figure: Any, suffix: str, caption: str) -> None:
        """Keep a matplotlib figure as PNG and show it here."""
        file = f"{self.name}-{suffix}.png"
        self.folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.folder / file, dpi=110, bbox_inches="tight", metadata={"Software": ""})
        import matplotlib.pyplot as plt

        plt.close(figure)
        self.parts.append(f"![{caption}]({file})")

    def close(self, store: Store, n_wanted: int, done: list[tuple[Params, Found]]) -> None:
        """Settings, versions, and how much of the run is finished."""
        rows = [[key, str(value)] for key, value in store.settings.items()]
        self.add("Settings", table(["setting", "value"], rows))
        unfinished = "" if len(done) == n_wanted else " **The run is not finished.**"
        wall = duration(sum(found["seconds"] for _, found in done))
        timed = [found["processor"] for _, found in done if "processor" in found]
        self.parts.append(
            f"{len(done)} of {n_wanted} cells done in {wall} by the clock; the processor spent "
            f"{duration(sum(timed))} on {len(timed)} of them (one thread).{unfinished} "
            f"Made with {'; and with '.join(store.made_with)}. Every number above is computed "
            f"from `{store.path.name}`."
        )

    def write(self) -> Path:
        path = self.folder / f"{self.name}.md"
        write_atomically(path, "\n\n".join(self.parts) + "\n")
        return path


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def panels(n_rows: int, n_columns: int, width: float = 3.4, height: float = 2.8) -> tuple[Any, Any]:
    """A figure that draws without a screen, and its axes as an array."""
    import matplotlib as mpl

    mpl.use("Agg", force=False)
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(width * n_columns, height * n_rows), squeeze=False
    )
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25, linewidth=0.5)
    figure.set_layout_engine("constrained")
    return figure, axes
