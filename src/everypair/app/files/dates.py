"""Dates and times in the spellings that people use, as Arrow's timestamps in UTC.

Each spelling is a regular expression whose groups are the letters of `strptime`. How the dates of a
column are to be read is one word, its form, which a model keeps:

    ""          ISO 8601, 2024/03/31, and dates with the name of the month: there is one reading
    dmy, mdy    these, and 31/03/2024 or 03/31/2024
    time        a time of day: 12:30, 9:05:00 PM
    %...        these, and dates of this format of `strptime`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.files.problems import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
MONTH = (
    "(?P<b>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))"
)
DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
WEEKDAY = "(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
HALF = r"(?P<p>[AaPp])\.?[Mm]\.?"
ZONE = r"(?P<z>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)"
MINUTES = r":(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d+))?)?"
CLOCK = rf"(?P<H>\d{{1,2}})(?:{MINUTES})?(?: ?{HALF})?(?: ?{ZONE})?"
AT = f"(?:(?:T|,? +){CLOCK})?"

UNAMBIGUOUS = (
    rf"(?P<Y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){AT}",
    rf"{WEEKDAY}{DAY}\.?[ /-]?{MONTH}\.?,?[ /-]?(?P<Y>\d{{4}}|\d{{2}}){AT}",
    rf"{WEEKDAY}{MONTH}\.?[ /-]?{DAY}(?:, ?|[ /-])(?P<Y>\d{{4}}){AT}",
    rf"(?P<Y>\d{{4}})[ /-]{MONTH}[ /-](?P<d>\d{{1,2}}){AT}",
    rf"{MONTH}\.?,?[ /-](?P<Y>\d{{4}})",
)
"""Spellings that can be read in one way only; the last is a month."""

NUMERIC = (
    rf"(?P<first>\d{{1,2}})[./-] ?(?P<second>\d{{1,2}})[./-] ?(?P<Y>\d{{4}}){AT}",
    rf"(?P<first>\d{{2}})[./-](?P<second>\d{{2}})[./-](?P<Y>\d{{2}}){AT}",
)
"""Spellings in which day and month may stand in either order."""

TIME_OF_DAY = rf"(?P<H>\d{{1,2}}){MINUTES}(?: ?{HALF})?"

ORDERS = {"dmy": "dm", "mdy": "md"}

DIRECTIVES = {
    "d": r"(?P<d>\d{1,2})", "e": r" ?(?P<d>\d{1,2})", "m": r"(?P<m>\d{1,2})",
    "Y": r"(?P<Y>\d{4})", "y": r"(?P<Y>\d{2})", "b": MONTH, "B": MONTH, "h": MONTH,
    "H": r"(?P<H>\d{1,2})", "I": r"(?P<H>\d{1,2})", "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})", "f": r"(?P<f>\d+)", "p": HALF, "z": ZONE, "Z": ZONE,
    "a": "[[:alpha:]]+", "A": "[[:alpha:]]+", "%": "%",
}  # fmt: skip
SHORTHANDS = {"%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%T": "%H:%M:%S", "%R": "%H:%M"}

COMPACT = "%Y%m%d"
COMPACT_FIRST, COMPACT_LAST, COMPACT_LEAST = 19_000_101, 21_001_231, 6
"""Whole numbers between the first two may be dates if they have this many distinct values."""

QUICK_VALUES = 50
"""Values that are looked at before all are."""

SECOND = 1_000_000
DEFAULTS = {"Y": 1970, "m": 1, "d": 1, "H": 0, "M": 0, "S": 0}


def pattern_of(form: str) -> str:
    """A format of `strptime` as a regular expression."""
    given = form
    for short, long in SHORTHANDS.items():
        form = form.replace(short, long)
    out: list[str] = []
    seen: set[str] = set()
    for part in re.finditer(r"%-?(?P<letter>.)|.", form, re.DOTALL):
        letter = part.group("letter")
        if letter is None:
            out.append(re.escape(part.group()))
            continue
        if letter not in DIRECTIVES:
            known = ", ".join(f"%{name}" for name in DIRECTIVES)
            raise DataError(
                f"the date format {given!r} has %{letter}, which is not understood: use {known}."
            )
        out.append(DIRECTIVES[letter])
        group = re.search(r"\(\?P<(\w)>", DIRECTIVES[letter])
        if group and group.group(1) in seen:
            raise DataError(
                f"the date format {given!r} has %{letter} or an equivalent twice: give each part "
                "of a date once."
            )
        seen.update(group.groups() if group else ())
    if not seen:
        raise DataError(f"the date format {given!r} has no part of a date: write it like %d/%m/%Y.")
    return "".join(out)


def patterns_of(form: str) -> tuple[str, ...]:
    if form == "time":
        return (TIME_OF_DAY,)
    if form in ORDERS:
        first, second = (f"<{letter}>" for letter in ORDERS[form])
        numeric = (s.replace("<first>", first).replace("<second>", second) for s in NUMERIC)
        return (*UNAMBIGUOUS, *numeric)
    return (pattern_of(form), *UNAMBIGUOUS) if form else UNAMBIGUOUS


def parsed(text: pa.Array, form: str) -> pa.Array:
    """The dates, null where a text is none of the form."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "%" not in form and form != "time":
        try:
            return text.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            pass
    stamps = np.zeros(len(text), dtype=np.int64)
    left = np.flatnonzero(pc.is_valid(text).to_numpy(zero_copy_only=False))
    known = np.zeros(len(text), dtype=bool)
    for pattern in patterns_of(form):
        found = pc.extract_regex(text.take(pa.array(left)), pattern=f"^(?:{pattern})$")
        alike = pc.is_valid(found).to_numpy(zero_copy_only=False)
        if alike.any():
            dates, good = _stamps(found.filter(pa.array(alike)))
            at = left[alike][good]
            stamps[at] = dates[good]
            known[at] = True
            left = left[~known[left]]
    return pa.array(stamps, mask=~known).cast(pa.timestamp("us"))


def _stamps(parts: pa.StructArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds since 1970 of dates in parts, and which of them there are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    groups = {parts.type.field(k).name: parts.field(k) for k in range(parts.type.num_fields)}

    def whole(texts: Any, default: int = 0) -> NDArray[np.int64]:
        filled = pc.if_else(pc.equal(texts, ""), str(default), texts)
        return np.array(filled.cast(pa.int64()).to_numpy())

    good = np.ones(len(parts), dtype=bool)
    part = {
        name: whole(groups[name], default) if name in groups else np.full(len(parts), default)
        for name, default in DEFAULTS.items()
    }
    if "b" in groups:
        start = pc.utf8_lower(pc.utf8_slice_codeunits(groups["b"], 0, 3))
        place = pc.index_in(start, value_set=pa.array(MONTHS))
        part["m"] = pc.fill_null(place, 0).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    if "Y" in groups:
        short = pc.equal(pc.utf8_length(groups["Y"]), 2).to_numpy(zero_copy_only=False)
        part["Y"] += np.where(short, np.where(part["Y"] < 69, 2000, 1900), 0)
    if "p" in groups:
        half = pc.utf8_lower(groups["p"]).to_numpy(zero_copy_only=False)
        said = half != ""
        good &= ~said | ((part["H"] >= 1) & (part["H"] <= 12))
        part["H"] = np.where(said, part["H"] % 12 + 12 * (half == "p"), part["H"])
    good &= (part["m"] >= 1) & (part["m"] <= 12) & (part["d"] >= 1)
    good &= (part["H"] < 24) & (part["M"] < 60) & (part["S"] < 60)
    months = (part["Y"] - 1970) * 12 + part["m"] - 1
    first, next_first = (
        (months + k).astype("datetime64[M]").astype("datetime64[D]") for k in (0, 1)
    )
    good &= part["d"] <= (next_first - first).astype(np.int64)
    seconds = (first.astype(np.int64) + part["d"] - 1) * 86_400
    seconds += part["H"] * 3600 + part["M"] * 60 + part["S"]
    if "z" in groups:
        seconds -= _zones(groups["z"], whole)
    stamps = seconds * SECOND
    if "f" in groups:
        stamps += whole(pc.utf8_rpad(pc.utf8_slice_codeunits(groups["f"], 0, 6), 6, "0"))
    return stamps, good


def _zones(texts: Any, whole: Any) -> NDArray[np.int64]:
    """Seconds ahead of UTC."""
    import pyarrow.compute as pc

    digits = pc.replace_substring_regex(texts, "[^0-9]", "")
    hours = whole(pc.utf8_slice_codeunits(digits, 0, 2))
    minutes = whole(pc.utf8_slice_codeunits(digits, 2, 4))
    west = pc.starts_with(texts, "-").to_numpy(zero_copy_only=False)
    return np.where(west, -1, 1) * (hours * 3600 + minutes * 60)


def inferred_form(text: pa.Array) -> str | None:
    """The form by which every text is a date, in one way only; None where there is none."""
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(text.slice(0, QUICK_VALUES), "[0-9]")).as_py():
        return None
    found = None
    for form in ("", "dmy", "mdy", "time"):
        if found is not None and form != "mdy":
            continue
        dates = all_parsed(text, form)
        if dates is None:
            continue
        if found is None:
            found, first = form, dates
        elif not dates.equals(first):
            return None  # every value is a date in both orders, and not the same one
        if form == "":
            return form
    return found


def all_parsed(text: pa.Array, form: str) -> pa.Array | None:
    """`parsed` where every text that is there is a date of the form."""
    for part in (text.slice(0, QUICK_VALUES), text):
        dates = parsed(part, form)
        if dates.null_count > part.null_count:
            return None
    return dates


def some_have(text: pa.Array, form: str) -> bool:
    """Is a text written in this format, and not only in one that needs none?"""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(text, f"^(?:{pattern_of(form)})$")).as_py())


def digits_of(column: Any) -> Any:
    """Whole numbers as the text of dates, such as 20240131; None where some are not whole."""
    import pyarrow as pa

    try:
        return column.cast(pa.int64()).cast(pa.string())
    except pa.ArrowInvalid:
        return None


def are_compact(numbers: Any) -> bool:
    """May these numbers be dates without separators?"""
    import pyarrow.compute as pc

    for part in (numbers.slice(0, QUICK_VALUES), numbers):
        ends = pc.min_max(part).as_py()
        if ends["min"] is not None and not (
            ends["min"] >= COMPACT_FIRST and ends["max"] <= COMPACT_LAST
        ):
            return False
    return bool(pc.count_distinct(numbers).as_py() >= COMPACT_LEAST)


@dataclass(frozen=True)
class Formats:
    """The formats of dates that a user gave: for every column that they fit, or for one."""

    general: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[str]) -> Formats:
        general, named = [], {}
        for text in given:
            column, equals, form = text.partition("=")
            if not equals or "%" in column:
                column, form = "", text
            pattern_of(form)
            if column:
                named[column.strip()] = form
            else:
                general.append(form)
        return cls(tuple(general), named)

    def for_column(self, name: str) -> Sequence[str]:
        return [self.named[name]] if name in self.named else self.general

    def __bool__(self) -> bool:
        return bool(self.general or self.named)
