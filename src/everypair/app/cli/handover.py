"""From a comparison to a fit: the commands to type next, and the JSON that carries the choice."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everypair.app.cli.options import DirectedColumns, Reading
from everypair.app.comparison.additive_options import ADDITIVE
from everypair.app.files.problems import DataError
from everypair.app.wording import counted

if TYPE_CHECKING:
    from everypair.app.comparison.typed_measure import TypedMeasure

MODEL, NEW_ROWS, SCORES = "model.everypair", "new", "scores.csv"
"""Names that the printed commands use for files that are still to be written."""


def is_json(report: Path | None) -> bool:
    """Is a comparison to be written as JSON there, not as a page?"""
    return report is not None and report.suffix.lower() == ".json"


def next_commands(
    data: Path,
    columns: DirectedColumns,
    reading: Reading,
    seed: int,
    method: str,
    report: Path | None,
    measure: str = "auc",
) -> tuple[str, str]:
    """Shell commands that fit the model and score new rows with it.

    A report in JSON holds the options and the settings; without one the options are written out,
    and `fit` finds the same settings by the same search.
    """
    if is_json(report):
        chosen = ["--from", str(report)]
    else:
        # `fit` refuses options that its method has no use for.
        useless = () if method == ADDITIVE else ("interactions", "sparsity")
        chosen = [*_flags(columns, DirectedColumns(), useless), *_flags(reading, Reading())]
        chosen += ["--seed", str(seed)] if seed else []
        chosen += ["--method", method]
        chosen += [] if measure == "auc" else ["--measure", measure]
    fit = ["everypair", "fit", str(data), *chosen, "-o", MODEL]
    packed = data.suffix.lower() in (".gz", ".xz")
    new = f"{NEW_ROWS}{Path(data.stem).suffix if packed else ''}{data.suffix}"
    score = ["everypair", "score", MODEL, new, *_flags(reading, Reading()), "-o", SCORES]
    return shlex.join(fit), shlex.join(score)


def _flags(options: Any, default: Any, left_out: Collection[str] = ()) -> list[str]:
    out = []
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in left_out and value != getattr(default, field.name):
            out += _flag(field.name, value)
    return out


def _flag(name: str, value: Any) -> list[str]:
    """An option as it is typed."""
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    out = []
    for each in value if isinstance(value, list) else [] if value is None else [value]:
        typed = str(each)
        out += [f"--{name}={typed}"] if typed.startswith("-") else [f"--{name}", typed]
    return out


def handed_over(columns: DirectedColumns, reading: Reading) -> dict[str, Any]:
    """What `fit --from` needs of the options of `compare`, for its JSON."""
    return {"options": asdict(columns), "reading": asdict(reading)}


@dataclass(frozen=True)
class Handover:
    """A comparison as `fit --from` reads it."""

    path: Path
    columns: DirectedColumns
    reading: Reading
    seed: int
    measure: str
    method: str
    settings: dict[str, Any]
    n_rows: int
    n_positive: int
    features: list[str]

    @property
    def by(self) -> TypedMeasure | None:
        from everypair.app.comparison.typed_measure import parse_measure

        return parse_measure(self.measure)

    def check_fits(self, n_rows: int, n_positive: int, features: list[str]) -> None:
        """Refuse a table that is not the one compared."""
        again = "Run `everypair compare` again on this table."
        lost = [name for name in self.features if name not in features]
        added = [name for name in features if name not in self.features]
        if lost or added:
            what = f"lacks the column {lost[0]!r}" if lost else f"has the column {added[0]!r}"
            other = "which was" if lost else "which was not"
            raise DataError(f"the table {what}, {other} in the comparison. {again}", self.path)
        if (n_rows, n_positive) != (self.n_rows, self.n_positive):
            raise DataError(
                f"the comparison had {counted(self.n_rows, 'row')}, {self.n_positive} of them "
                f"positive; the table has {counted(n_rows, 'row')}, {n_positive} of them "
                f"positive. {again}",
                self.path,
            )


def read_handover(path: Path, typed: Mapping[str, Any], method: str) -> Handover:
    """The comparison in this file; options that were typed as well must say the same."""
    from everypair.app.comparison.models import catalogue

    said = _read(path)
    try:
        models = {m["name"]: m for m in said["models"] if m["failure"] is None}
        found = Handover(
            path,
            DirectedColumns(**_known(said["options"], DirectedColumns)),
            Reading(**_known(said["reading"], Reading)),
            int(said["seed"]),
            str(said.get("measure", "auc")),
            str(said["recommended"]) if method == "auto" else method,
            {},
            int(said["n_rows"]),
            int(said["n_positive"]),
            [str(name) for name in said["columns"]],
        )
        known = catalogue(found.by)
    except (KeyError, TypeError, ValueError) as trouble:
        raise _not_ours(path) from trouble
    _check_typed(typed, found)
    if found.method not in models or found.method not in known:
        listed = ", ".join(name for name in models if name in known)
        raise DataError(f"it has no model {found.method!r}: its models are {listed}.", path)
    settings = models[found.method].get("settings")
    if not known[found.method].knows(settings):
        raise DataError(
            f"its settings {json.dumps(settings)} are not among those that {found.method} is "
            "compared with: run `everypair compare` again.",
            path,
        )
    found.settings.update(settings)
    return found


def _read(path: Path) -> Mapping[str, Any]:
    try:
        said = json.loads(path.read_text("utf-8"))
    except OSError as trouble:
        raise DataError(f"cannot be read: {trouble.strerror}.", path) from trouble
    except ValueError as trouble:
        raise _not_ours(path) from trouble
    if not isinstance(said, dict):
        raise _not_ours(path)
    return said


def _not_ours(path: Path) -> DataError:
    return DataError(
        "this is not a comparison in JSON: write one with `everypair compare ... "
        "--report report.json`.",
        path,
    )


def _known(said: Mapping[str, Any], kind: type) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in said.items() if name in names}


def _check_typed(typed: Mapping[str, Any], found: Handover) -> None:
    """Refuse an option that says something else than the comparison."""
    told = {**asdict(found.columns), **asdict(found.reading), "seed": found.seed}
    told["measure"] = found.measure
    for name, value in typed.items():
        if name in told and value != told[name]:
            before = shlex.join(_flag(name, told[name]))
            made = f"with {before}" if before else f"without --{name.replace('_', '-')}"
            raise DataError(
                f"the comparison was made {made}, not with {shlex.join(_flag(name, value))}: "
                "leave the option out, or compare again.",
                found.path,
            )
