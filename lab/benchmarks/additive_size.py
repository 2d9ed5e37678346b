"""Time and memory of an additive fit on a million rows, beside a linear one.

    python -m lab bench additive_size [--rows 1000000] [--columns 30] [--models ...] [--write]

Each fit has a process of its own, which makes X, compiles on a few rows, and says its peak.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from lab.harness import Page, markdown_table

ONE = """
import json, resource, sys, time
import numpy as np
from everypair import AUCAdditive, AUCClassifier

n, p, which = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
X = np.empty((n, p))
for start in range(0, n, 10_000):
    X[start : start + 10_000] = rng.standard_normal((min(10_000, n - start), p))
y = X[:, 0] ** 2 + X[:, 1] + rng.logistic(size=n) > 4
model = {
    "AUCClassifier": AUCClassifier(), "AUCAdditive": AUCAdditive(),
    "AUCAdditive, 10 pairs": AUCAdditive(interactions=10),
    "AUCAdditive, sparse": AUCAdditive(sparsity=0.1),
}[which]
model.fit(X[:5000], y[:5000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
clock, processor = time.perf_counter(), time.process_time()
model.fit(X, y)
clock, processor = time.perf_counter() - clock, time.process_time() - processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([clock, processor, before / 2**20, peak / 2**20, X.nbytes / 2**30,
                  float(model.train_score_), float(model.dual_gap_)]))
"""
MODELS = ("AUCClassifier", "AUCAdditive", "AUCAdditive, sparse", "AUCAdditive, 10 pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--models", nargs="*", default=list(MODELS), help="the linear one first")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    rows, linear = [], None
    for name in given.models:
        arguments = [sys.executable, "-c", ONE, str(given.rows), str(given.columns), name]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        clock, processor, _, peak, size, area, gap = json.loads(done.stdout)
        linear = (clock, processor) if linear is None else linear
        rows.append(
            [
                name, f"{clock / linear[0]:.1f}", f"{processor / linear[1]:.1f}", f"{peak:.2f}",
                f"{1.5 * size + 1:.2f}", f"{area:.4f}", f"{gap:.0e}",
            ]
        )  # fmt: skip
        print(*rows[-1], f"{clock:.1f} s", flush=True)
    intro = f"""Made by `python -m lab bench additive_size --write`: one fit at its defaults on
{given.rows:,} rows and {given.columns} columns of float64, alone in its process, which holds X.
`peak` is the largest size of the process, `allowed` is 1.5 times X plus 1 GB. The machine had other
work: go by the processor time."""
    header = [
        "model", "time / linear", "processor time / linear", "peak, GB", "allowed, GB",
        "training AUC", "relative duality gap",
    ]  # fmt: skip
    page = Page("additive_size", "Additive models on many rows", intro)
    page.add(f"{given.rows:,} x {given.columns}", markdown_table(header, rows))
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
