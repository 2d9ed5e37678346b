"""Compares two versions by counted work: products with X, sums over pairs, Hessians, bytes.

Counts do not depend on how busy a machine is, so that a hosted job can compare a change with its
base. The fits are those of `tests/test_work.py`, which also holds the limits.

    python -m lab bench work --counts base.json     in the tree of the base
    python -m lab bench work --base base.json       in the tree of the change
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

TESTS = Path(__file__).parents[2] / "tests"
MORE = 1.02
"""A count above this multiple of the base's is told and ends the command with 1."""


def counted() -> dict[str, dict[str, float]]:
    sys.path.insert(0, str(TESTS))
    import test_work

    with threadpool_limits(1):
        return {
            case: {
                what: round(float(count), 4)
                for what, count in test_work.counts(case, memory=True).items()
            }
            for case in test_work.CASES
        }


def compare(base: dict[str, dict[str, float]], head: dict[str, dict[str, float]]) -> bool:
    """Prints a line per count of both; True if one of them has grown."""
    print("| fit | count | base | head | head / base |\n| --- | --- | --- | --- | --- |")
    grown = False
    for case, counts in head.items():
        for what in sorted(counts.keys() & base.get(case, {}).keys()):
            before, now = base[case][what], counts[what]
            ratio = now / before if before else float(now > 0) + 1
            mark = "**" if ratio > MORE else ""
            grown |= ratio > MORE
            print(f"| {case} | {what} | {before:g} | {now:g} | {mark}{ratio:.3f}{mark} |")
    return grown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, help="write the counts to this file")
    parser.add_argument("--base", type=Path, help="counts of the base, to compare with")
    given = parser.parse_args()
    found = counted()
    if given.counts:
        given.counts.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    base = json.loads(given.base.read_text(encoding="utf-8")) if given.base else found
    sys.exit(int(compare(base, found)))


if __name__ == "__main__":
    main()
