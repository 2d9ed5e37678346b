"""Fields of text: trimmed, null where they mean "not known"; distinct ones are looked at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = [
    "", "#DIV/0!", "#N/A", "#N/A N/A", "#NA", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!",
    "-1.#IND", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "?", "N.A.", "N/A", "NA", "NAN",
    "NULL", "NaN", "NaT", "None", "Null", "n.a.", "n/a", "na", "nan", "null",
]  # fmt: skip
"""Fields that mean "not known"."""

DASHES = ["-", "--", "---", ".", "–", "—", "0000-00-00", "0000-00-00 00:00:00"]
"""Fields that mean it among numbers, dates, true and false; among words they are a word."""

SPACES = " \t"
"""What is trimmed; a line break inside quotes was put there by someone."""

HEAD_ROWS = 1000
"""Rows that tell whether many values are distinct."""

LONG, DIGEST = 200, 8
"""A word of more characters is cut and ends in bytes of its hash, so that words stay distinct."""


def bare(name: str) -> str:
    """A name without the spaces around it; ``a, "b"`` is a quoted b as well."""
    short = name.strip(SPACES)
    if short != name and len(short) > 1 and short[0] == short[-1] == '"':
        return short[1:-1]
    return short


def is_text(t: Any) -> bool:
    """Words, in plain or in codes."""
    import pyarrow as pa

    if pa.types.is_dictionary(t):
        t = t.value_type
    return (
        pa.types.is_string(t)
        or pa.types.is_large_string(t)
        or pa.types.is_string_view(t)
        or pa.types.is_binary(t)
        or pa.types.is_large_binary(t)
    )


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Words as Arrow's plain strings: it cannot filter views, nor decode a dictionary of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        return pc.take(*_coded(column))
    return column.cast(pa.string())


@dataclass(frozen=True)
class Words:
    """A column of text: its distinct values, tidied, and the place of each row's among them.

    Where most values are distinct, each row has a place of its own and there are no ``codes``.
    """

    column: pa.ChunkedArray
    values: pa.Array
    codes: pa.ChunkedArray | None
    changed: bool

    @classmethod
    def of(cls, column: pa.ChunkedArray, tidy: bool = True, whole: bool = False) -> Words:
        """``tidy``: trim, empty what is missing and, unless ``whole``, cut what is long."""
        import pyarrow as pa

        given, codes = _coded(column) if pa.types.is_dictionary(column.type) else _distinct(column)
        values = _tidied(given, whole) if tidy else given
        plain = pa.types.is_string(column.type)
        return cls(column, values, codes, values is not given or not plain)

    def spread(self, typed: pa.Array) -> pa.ChunkedArray:
        """A value per row, from one per distinct word."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return pa.chunked_array([typed]) if self.codes is None else pc.take(typed, self.codes)

    def text(self) -> pa.ChunkedArray:
        return self.spread(self.values) if self.changed else self.column

    def without_dashes(self) -> pa.Array:
        return _emptied(self.values, DASHES)

    def first(self, place: int) -> int:
        """The first row that has the distinct value at this place."""
        import pyarrow.compute as pc

        if self.codes is None:
            return place
        return int(np.argmax(pc.fill_null(self.codes, -1).to_numpy() == place))


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, pa.ChunkedArray]:
    import pyarrow as pa

    parts = [
        pa.DictionaryArray.from_arrays(c.indices.cast(pa.int32()), c.dictionary.cast(pa.string()))
        for c in column.chunks
    ]
    coded = pa.chunked_array(parts, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    given = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], pa.string())
    return given, pa.chunked_array([chunk.indices for chunk in coded.chunks], pa.int32())


def _distinct(column: pa.ChunkedArray) -> tuple[pa.Array, pa.ChunkedArray | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    head = column.slice(0, HEAD_ROWS)
    if pc.count_distinct(head, mode="all").as_py() > len(head) / 2:
        whole = column.combine_chunks()
        if isinstance(whole, pa.Array):  # it is not where the text is over 2 GB
            return whole, None
    coded = column.dictionary_encode()  # whose chunks share one dictionary
    given = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], pa.string())
    return given, pa.chunked_array([chunk.indices for chunk in coded.chunks], pa.int32())


def _tidied(values: pa.Array, whole: bool) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim(values, SPACES)
    if text.equals(values):
        text = values
    else:
        quoted = pc.match_substring_regex(text, '(?s)^".*"$')
        unquoted = pc.replace_substring_regex(text, '(?s)^"(.*)"$', r"\1")
        text = pc.if_else(pc.and_(quoted, pc.not_equal(text, values)), unquoted, text)
    text = _emptied(text, MISSING)
    if not whole and (pc.max(pc.utf8_length(text)).as_py() or 0) > LONG:
        return pa.array([cut(value) for value in text.to_pylist()], pa.string())
    return text


def _emptied(values: pa.Array, marks: list[str]) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(values, value_set=pa.array(marks))
    if not pc.any(missing).as_py():
        return values
    return pc.if_else(missing, pa.scalar(None, pa.string()), values)


def cut(word: str | None) -> str | None:
    """A word of `LONG` characters at most; different words stay different."""
    if word is None or len(word) <= LONG:
        return word
    digest = hashlib.blake2b(word.encode(), digest_size=DIGEST).hexdigest()
    return f"{word[: LONG - 2 * DIGEST - 4]}... {digest}"
