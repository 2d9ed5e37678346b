"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path, typer.Argument(help="Table: CSV, TSV, Parquet, Feather, ARFF or svmlight.")]
ModelFile = Annotated[Path, typer.Argument(help="Model written by `everypair fit`.")]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The yes/no column. Not needed for svmlight."),
]
Positive = Annotated[
    str | None,
    typer.Option(help="Value of the target to rank first. Default: the rarer of two values."),
]
Group = Annotated[
    str | None, typer.Option(help="Column of groups: rows of one group stay in one fold.")
]
Weight = Annotated[str | None, typer.Option(help="Column of row weights, not negative.")]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column to leave out. May be given several times.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, parquet, feather, svmlight or arff. Default: by the ending."
    ),
]


def _tab(typed: str | None) -> str | None:
    """A shell passes a backslash and a t on as they are."""
    return "\t" if typed == r"\t" else typed


Delimiter = Annotated[
    str | None,
    typer.Option(callback=_tab, help="Of CSV. Default: the one that the first lines agree on."),
]
Encoding = Annotated[str, typer.Option(help="Of text files, such as latin-1.")]
Seed = Annotated[int, typer.Option(help="Of the random folds and samples.")]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
