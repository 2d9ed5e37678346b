"""ARFF (Weka): a header of attributes, then comma-separated rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from everypair.app.files.problems import DataError, shown
from everypair.app.files.table_file import Source

if TYPE_CHECKING:
    import pyarrow as pa

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.+)", re.IGNORECASE)
VALUE = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*(,|$)")
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
NUMBERS = ("numeric", "real", "integer")
JAVA = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "HH": "%H",
    "hh": "%I", "mm": "%M", "ss": "%S", "SSS": "%f", "a": "%p", "EEE": "%a", "Z": "%z",
}  # fmt: skip
"""Letters of a date's form in ARFF, which are those of Java, and in Python."""


def read_arff(source: Source) -> pa.Table:
    """Numbers, dates, and all else as text; ``?`` is missing. Dense rows only."""
    import pyarrow as pa

    with source.open() as file:
        raw = file.read()
    try:
        text = raw.decode(source.encoding)
    except UnicodeDecodeError as trouble:
        row = raw[: trouble.start].count(b"\n") + 1
        raise DataError(
            f"line {row} is not {source.encoding}: try --encoding latin-1.", source.path
        ) from trouble
    lines = iter(text.splitlines())
    names, types = _header(lines, source)
    rows: list[list[str | None]] = []
    body = (line for line in lines if line.strip() and not line.lstrip().startswith("%"))
    for number, line in enumerate(body, start=1):
        if line.lstrip().startswith("{"):
            raise DataError("sparse ARFF rows are not read: use svmlight.", source.path, number)
        fields = list(_fields(line))
        if len(fields) != len(names):
            raise DataError(
                f"there are {len(fields)} values for {len(names)} attributes.", source.path, number
            )
        rows.append(fields)
    columns: list[Any] = []
    for k, (name, declared) in enumerate(zip(names, types, strict=True)):
        values = [row[k] for row in rows]
        kind, *form = declared.split(None, 1)
        if kind.lower() in NUMBERS:
            columns.append(_numbers(values, name, source))
        elif kind.lower() == "date":
            columns.append(_dates(values, _unquoted(form[0]) if form else None, name, source))
        else:
            columns.append(pa.array(values, pa.string()))
    return pa.table(columns, names=names)


def _header(lines: Any, source: Source) -> tuple[list[str], list[str]]:
    names: list[str] = []
    types: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped.lower().startswith("@data"):
            if not names:
                break
            return names, types
        if stripped.lower().startswith("@attribute"):
            match = ATTRIBUTE.match(stripped)
            if match is None:
                raise DataError(f"{shown(stripped)} is not an attribute of ARFF.", source.path)
            names.append(_unquoted(match.group(1)))
            types.append(match.group(2).strip())
    raise DataError("this is not an ARFF file: it has no @attribute and @data.", source.path)


def _fields(line: str) -> Iterator[str | None]:
    """The values of a row; quotes of either kind, and a bare ``?`` is missing."""
    place, last = 0, ","
    while last:
        match = VALUE.match(line, place)
        assert match is not None  # an empty value matches anywhere
        yield None if match.group(1) == "?" else _unquoted(match.group(1))
        place, last = match.end(), match.group(2)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        inside = re.sub(r"\\(.)", lambda m: ESCAPED.get(m.group(1), m.group(1)), text[1:-1])
        return inside.strip()
    return text


def _dates(values: list[str | None], form: str | None, name: str, source: Source) -> pa.Array:
    """Times of the form that the header gives, else of ISO 8601; with a zone, in UTC."""
    import pyarrow as pa

    wanted = None if form is None else _python_form(form, name, source)
    out: list[datetime | None] = []
    for number, value in enumerate(values, start=1):
        try:
            if value is None:
                out.append(None)
                continue
            time = datetime.fromisoformat(value) if not wanted else datetime.strptime(value, wanted)
        except ValueError as trouble:
            of = f" of the form {form!r}" if form else ""
            raise DataError(
                f"{shown(value)} is not a date{of}.", source.path, number, name
            ) from trouble
        out.append(time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None))
    return pa.array(out, pa.timestamp("us"))


def _python_form(form: str, name: str, source: Source) -> str:
    out = []
    for part in re.finditer(r"'(?P<quoted>[^']*)'|(?P<letter>[A-Za-z])(?P=letter)*|.", form):
        text = part.group()
        if part.group("letter") and text not in JAVA:
            raise DataError(
                f"the form {form!r} of its dates has {text!r}, which is not understood: write "
                "them as yyyy-MM-dd.",
                source.path,
                column=name,
            )
        plain = part.group("quoted") if text.startswith("'") else text
        out.append(JAVA[text] if part.group("letter") else plain.replace("%", "%%"))
    return "".join(out)


def _numbers(values: list[str | None], name: str, source: Source) -> pa.Array:
    import pyarrow as pa

    out: list[float | None] = []
    for number, value in enumerate(values, start=1):
        try:
            out.append(None if value is None else float(value))
        except ValueError as trouble:
            raise DataError(
                f"{shown(value)} is not a number.", source.path, number, name
            ) from trouble
    return pa.array(out, pa.float64())
