"""Write customers.csv, the table of docs/command_line.md: 600 rows, a column of every kind."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

JOBS = ("cook", "nurse", "pilot", "clerk")
HEADER = ["id", "age", "job", "member since", "vip", "note", "spend", "const", "churn"]


def main(path: Path) -> None:
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for k in range(600):
            age, job, vip = rng.normal(45, 12), rng.integers(4), rng.random() < 0.3
            score = 0.07 * (age - 45) + 1.2 * (job == 2) - 0.8 * vip + rng.logistic()
            day = np.datetime64("2015-01-01") + rng.integers(3000)
            writer.writerow(
                [
                    f"c{k + 1}",
                    "" if rng.random() < 0.08 else round(age, 1),
                    "?" if rng.random() < 0.05 else JOBS[job],
                    f"{day.item():%d/%m/%Y}",
                    "yes" if vip else "no",
                    f"called on day {rng.integers(10**6)}",
                    round(float(rng.lognormal(4, 1)), 2),
                    7,
                    "yes" if score > 1.4 else "no",
                ]
            )


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "customers.csv")
    main(target)
    print(f"600 rows written to {target}")
