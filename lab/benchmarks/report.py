"""Size of the report, and the time to write it, as the rows and the models grow.

    python -m lab bench report

Prints a Markdown table. Models have probabilities, as those of `everypair compare`. Time is
processor time, as a ratio to `sklearn.metrics.roc_auc_score` on the scores of every model of the
report, in the same run.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from everypair.app.comparison import ColumnSummary, Comparison, ModelResult
from everypair.app.comparison.probabilities import with_probabilities
from everypair.app.report import write_report
from lab.harness import markdown_table

N_COLUMNS = 30
CASES = [(1_000, 4), (1_000, 14), (10_000, 14), (100_000, 14), (1_000_000, 14)]


def comparison(n_rows: int, n_models: int, *, weighted: bool = False) -> Comparison:
    rng = np.random.default_rng(0)
    y = rng.random(n_rows) < 0.1
    signal = y + rng.standard_normal(n_rows)
    names = [f"column {i}" for i in range(N_COLUMNS)]
    models = [
        ModelResult(
            name=f"model {k}",
            kind="baseline" if k % 2 else "everypair",
            auc=0.76,
            low=0.74,
            high=0.78,
            fold_auc=np.full(10, 0.76),
            fit_seconds=1.0,
            scores=signal + 0.1 * k * rng.standard_normal(n_rows),
            threshold=0.0,
            settings={"alpha": 0.1},
            n_features=N_COLUMNS,
            coefficients=dict(zip(names, rng.standard_normal(N_COLUMNS).tolist(), strict=True)),
        )
        for k in range(n_models)
    ]
    folds = [
        (np.flatnonzero(np.arange(n_rows) % 3 != k), np.arange(k, n_rows, 3)) for k in range(3)
    ]
    weights = rng.uniform(1, 2, n_rows) if weighted else None
    models = with_probabilities(models, folds, y, weights)
    return Comparison(
        source="simulated",
        target="y",
        positive="1",
        y=y,
        models=models,
        best_baseline="model 1",
        verdict="Simulated scores.",
        columns=[ColumnSummary(name, "number", 0, n_rows, "0.5") for name in names],
        folds="5 folds x 2 repeats",
        seed=0,
        command="python -m lab bench report",
        versions={},
        weights=weights,
    )


def processor_time(work: Callable[[], object], repeats: int = 2) -> float:
    """The least of several runs after one that is not counted."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def main() -> None:
    table = []
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        cases = [(*case, False) for case in CASES] + [(100_000, 14, True)]
        for n_rows, n_models, weighted in cases:
            made = comparison(n_rows, n_models, weighted=weighted)
            written = processor_time(lambda made=made: write_report(made, path))
            areas = processor_time(
                lambda made=made: [
                    roc_auc_score(made.y, model.scores, sample_weight=made.weights)
                    for model in made.models
                ]
            )
            size = f"{path.stat().st_size / 1000:.0f} kB"
            rows = f"{n_rows:,}, weighted" if weighted else f"{n_rows:,}"
            table.append([rows, str(n_models), size, f"{written / areas:.1f}"])
            print(*table[-1], sep=", ", file=sys.stderr, flush=True)
    print(markdown_table(["rows", "models", "file", "time / roc_auc_score of each"], table))


if __name__ == "__main__":
    main()
