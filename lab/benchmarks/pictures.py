"""Makes the three pictures of the README, in docs/pictures.

    python -m lab bench pictures

1. gain.svg: what MeasureOptCV gains over a tuned logistic regression, task by task, from the
   committed values of `measure_opt.json`.
2. curves.svg: the curves of an additive model on the sample loans.csv.
3. report.png: the top of the report of `everypair demo`, in chromium, where that is installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
TO = HERE.parents[1] / "docs" / "pictures"
MEASURES = ("F1", "recall at 1 % FPR")


def gains() -> dict[str, dict[str, float]]:
    """``{measure: {task: mean gain over the splits}}`` of the two measures of the targets."""
    found: dict[str, dict[str, list[float]]] = {measure: defaultdict(list) for measure in MEASURES}
    for key, run in json.loads((HERE / "measure_opt.json").read_text(encoding="utf-8")).items():
        if not key.endswith("|targets"):
            continue
        for measure in MEASURES:
            values = run["value"][measure]
            gain = values["MeasureOptCV"] - values["logistic"]
            found[measure][key.split("|")[0]].append(gain)
    return {
        measure: {task: float(np.mean(each)) for task, each in tasks.items()}
        for measure, tasks in found.items()
    }


def draw_gains(path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    for ax, (measure, tasks) in zip(axes, gains().items(), strict=True):
        values = np.sort(list(tasks.values()))
        colours = np.where(values >= 0, "#1f77b4", "#d62728")
        ax.bar(np.arange(values.size), values, color=colours, width=0.9)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_title(f"{measure}: mean {values.mean():+.3f}")
        ax.set_xlabel(f"{values.size} tasks, by gain")
        ax.set_xticks([])
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("MeasureOptCV less\ntuned logistic regression")
    save(figure, path)


def draw_curves(path: Path) -> None:
    from everypair import AUCAdditiveCV
    from everypair.app.cli.sample import loans
    from everypair.plots import ShapeDisplay

    table = loans()
    model = AUCAdditiveCV().fit(table.drop_columns(["late"]), table["late"].to_numpy() == "yes")
    shown = ShapeDisplay.from_estimator(model)
    figure = shown.figure_
    figure.set_size_inches(9, 5)
    figure.set_layout_engine("constrained")
    save(figure, path)


def save(figure: plt.Figure, path: Path) -> None:
    """Equal runs give equal files: no date, and names that do not change."""
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def shoot_report(path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        print("No chromium: the picture of the report stays as it is.")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run(["everypair", "demo", "-q", "--report", str(page)], check=True)
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--disable-background-networking", f"--user-data-dir={folder}/profile",
                "--window-size=1200,1000", f"--screenshot={path}", page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip


def main() -> None:
    TO.mkdir(exist_ok=True)
    draw_gains(TO / "gain.svg")
    draw_curves(TO / "curves.svg")
    shoot_report(TO / "report.png")
    print(*sorted(path.name for path in TO.iterdir()))


if __name__ == "__main__":
    main()
