"""A small table on disk with a column of every kind."""

from __future__ import annotations

import csv

import numpy as np

JOBS = ("cook", "nurse", "pilot", "clerk")
HEADER = ["id", "age", "job", "since", "vip", "<b>x</b>", "const", "churn"]


def write_mixed(path, n_rows=200, seed=0):
    """Numbers, categories, dates and true/false, with gaps; ``churn`` depends on age and job."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for k in range(n_rows):
            age, job = rng.normal(40, 10), rng.integers(4)
            score = 0.15 * (age - 40) + 1.5 * (job == 2) + rng.logistic()
            writer.writerow(
                [
                    f"c{k}",
                    "" if k % 11 == 3 else round(age, 1),
                    "NA" if k % 17 == 5 else JOBS[job],
                    f"20{rng.integers(10, 24):02d}-{rng.integers(1, 13):02d}-03",
                    str(rng.random() < 0.3).lower(),
                    round(rng.normal(), 3),
                    7,
                    "yes" if score > 1.5 else "no",
                ]
            )
    return path
