"""``python -m everypair.papers <table> [--fast] [--results FOLDER] [--render-only]``."""

from __future__ import annotations

import argparse

from everypair.papers.reproduce import RESULTS, TABLES, reproduce


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m everypair.papers",
        description="Run a table of a paper again and write it beside the printed values.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:10} {what}" for name, what in TABLES.items()),
    )
    parser.add_argument("table", choices=[*TABLES, "all"])
    parser.add_argument("--fast", action="store_true", help="few repetitions")
    parser.add_argument("--results", default=RESULTS, help=f"folder, default {RESULTS}")
    parser.add_argument("--render-only", action="store_true", help="page from the finished cells")
    args = parser.parse_args()
    for table in TABLES if args.table == "all" else [args.table]:
        path = reproduce(table, args.fast, args.results, render_only=args.render_only)
        print(path)


if __name__ == "__main__":
    main()
