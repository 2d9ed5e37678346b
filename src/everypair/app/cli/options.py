"""Options that several commands share, each written once.

A command names a group of them by one parameter (`Columns`, `Reading`, `Show`); `spread` turns it
into the options of the command line.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from everypair.app.wording import printable

if TYPE_CHECKING:
    from everypair.app import Finding
    from everypair.app.comparison.additive_options import AdditiveOptions
    from everypair.app.comparison.directions import Directions
    from everypair.app.files.readers import Source

# The readers say more of a file that cannot be read than the parser would: readable=False.
Data = Annotated[
    Path,
    typer.Argument(
        readable=False,
        help="Table: CSV, TSV, Parquet, Feather, Excel, ARFF or svmlight; - is standard input.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(readable=False, help="Model written by `everypair fit`.")
]


def name_of(data: Path) -> str:
    """The name of a table without its folder."""
    return "standard input" if str(data) == "-" else data.name


def dash(output: Path | None) -> Path | None:
    """A file to write; - is standard output."""
    return Path("/dev/stdout") if str(output) == "-" else output


Within = Annotated[
    str | None,
    typer.Option(
        help="Column of groups (user, query, day): rows are paired inside their group only, for "
        "training and for AUC."
    ),
]
Weight = Annotated[str | None, typer.Option(help="Column of row weights, not negative.")]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Put ' before text in the CSV that a spreadsheet would run as a formula.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1000, help="Seed of the random folds and samples.")
]

Fast = Annotated[
    bool,
    typer.Option(
        "--fast",
        help="A quick look: a few cheap models (auc, rankboost, roc-svm, "
        "logistic, boosting); compare has 3 folds.",
    ),
]
MEASURES = (
    "such as f1, fbeta=2, jaccard, gmean, mcc, informedness, cost=1:10 (false positive : false "
    "negative), recall@fpr=0.01, fpr@recall=0.9, precision@recall=0.8, recall@precision=0.9, "
    "precision@top=500 (or 5%, or 2p), recall@top=500, pauc@fpr=0.05, average-precision."
)
Measure = Annotated[
    str, typer.Option(help=f"What models are judged by: auc, or a measure {MEASURES}")
]
THRESHOLDS = (
    "precision=0.9, recall=0.8, npv=0.99, fpr=0.05, top=5%, probability=0.3, cost=1:10 (false "
    "positive : false negative), f1, balanced, accuracy, or a score."
)
Threshold = Annotated[
    str | None,
    typer.Option(
        help=f"Where to cut: {THRESHOLDS} It is chosen on rows that the model was not fitted on."
    ),
]
Guarantee = Annotated[
    float | None,
    typer.Option(
        help="Confidence, such as 0.95, with which the precision, recall, npv, fpr or top of "
        "--threshold holds on new rows."
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Seconds. Work that will not fit is not begun; what has been measured is reported.",
    ),
]


@dataclass(frozen=True)
class Columns:
    """What the columns of the table are for."""

    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The yes/no column. Not needed for svmlight."),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            help="Value of the target to rank first. Default: the one that means yes (1, yes, "
            "true, positive, case, ...), or else the rarer of two values."
        ),
    ] = None
    weight: Weight = None
    group: Annotated[
        str | None, typer.Option(help="Column of groups: rows of one group stay in one fold.")
    ] = None
    within: Within = None
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out. May be given several times.")
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to use though it looks like an identifier, names or text. May be given "
            "several times."
        ),
    ] = None


@dataclass(frozen=True)
class DirectedColumns(Columns):
    """What the columns are for, the direction of some, and which of them act in pairs."""

    increasing: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of numbers in which the score must not fall: auc, additive, "
            "boosting and boosting-pairs keep that. May be given several times."
        ),
    ] = None
    decreasing: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of numbers in which the score must not rise. May be given several times."
        ),
    ] = None
    interactions: Annotated[
        str | None,
        typer.Option(
            help="Pairs of columns that the model additive may add to its curves: a number, or "
            "auto. They are kept only if they raise the held-out score."
        ),
    ] = None
    sparsity: Annotated[
        str | None,
        typer.Option(
            help="How readily the model additive leaves columns out: from 0 (keeps all) to below "
            "1, or auto."
        ),
    ] = None

    @property
    def additive(self) -> AdditiveOptions:
        from everypair.app.comparison.additive_options import AdditiveOptions

        return AdditiveOptions.typed(self.interactions, self.sparsity)

    @property
    def directions(self) -> Directions:
        from everypair.app.comparison.directions import Directions

        return Directions(self.increasing or (), self.decreasing or ())


def _tab(typed: str | None) -> str | None:
    """A shell passes a backslash and a t on as they are."""
    return "\t" if typed == r"\t" else typed


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, tsv, parquet, feather, xlsx, svmlight or arff. Default: by the ending.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            callback=_tab, help="Separator of CSV. Default: the one that the first lines agree on."
        ),
    ] = None
    encoding: Annotated[str, typer.Option(help="Encoding of text files, such as latin-1.")] = (
        "utf-8"
    )
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help=(
                "Whether the first line has the names of the columns. Without names they are "
                "called 'column 1' and so on. Default: yes, but a line that seems to be data is "
                "refused."
            ),
            show_default=False,
        ),
    ] = None
    date_format: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "How dates are written, such as %d/%m/%Y: for the columns that it fits, or "
                "COLUMN=FORMAT. May be given several times. Default: detected where it is "
                "unambiguous."
            )
        ),
    ] = None

    def of(self, path: Path) -> Source:
        from everypair.app.files.readers import Source
        from everypair.app.files.table_file import STANDARD_INPUT, saved_input

        if str(path) == STANDARD_INPUT:
            path = saved_input(f".{self.format or 'csv'}")
        dates = tuple(self.date_format or ())
        return Source(path, self.format, self.delimiter, self.encoding, self.header, dates)


@dataclass(frozen=True)
class Show:
    """What is printed beside the result."""

    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no notes; warnings remain.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False

    @property
    def silent(self) -> bool:
        return self.json or self.quiet

    def say(self, text: str) -> None:
        """A line on stderr."""
        if not self.silent:
            print(printable(text), file=sys.stderr)

    def note(self, text: str) -> None:
        self.say(f"note: {text}")

    def notes(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.note(text)

    def always(self, text: str) -> None:
        """A line on stderr, with --quiet too."""
        if not self.json:
            print(printable(text), file=sys.stderr)

    def finding(self, found: Finding) -> None:
        """What the data check says: warnings always."""
        if found.severity == "warning":
            self.always(f"warning: {found.sentence}")
        else:
            self.note(found.sentence)


ONE_COLUMN = ("target", "weight", "group", "within", "id")
"""Options that name one column: a second name is refused, where a parser would keep the last."""


def _one_column(name: str, typed: Any) -> str | None:
    if not isinstance(typed, list | tuple):
        return typed
    if len(set(typed)) > 1:
        raise ValueError(
            f"--{name} takes one column, not {' and '.join(map(repr, typed))}: give it once."
        )
    return typed[0] if typed else None


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with an option for each field of its groups."""
    types = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {k: kind for k, kind in types.items() if is_dataclass(kind)}
    parameters = []
    for parameter in signature(command).parameters.values():
        if parameter.name not in groups:
            parameters.append(parameter.replace(annotation=types[parameter.name]))
            continue
        group = groups[parameter.name]
        annotations = get_type_hints(group, include_extras=True)
        for field in fields(group):
            default = Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                Parameter(
                    field.name,
                    Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=annotations[field.name],
                )
            )

    for k, parameter in enumerate(parameters):
        if parameter.name in ONE_COLUMN:
            told = [copy(info) for info in parameter.annotation.__metadata__]
            for info in told:
                info.metavar = info.metavar or "<str>"  # one name, though several are caught
            several: Any = Annotated[(list[str] | None, *told)]
            parameters[k] = parameter.replace(annotation=several)

    @functools.wraps(command)
    def call(**options: Any) -> Any:
        for name in options.keys() & {*ONE_COLUMN}:
            options[name] = _one_column(name, options[name])
        for name, group in groups.items():
            options[name] = group(
                **{field.name: options.pop(field.name) for field in fields(group)}
            )
        return command(**options)

    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
