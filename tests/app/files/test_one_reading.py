"""A table is read alike from CSV, TSV, Parquet, Feather, Excel, pandas, polars and Arrow."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

from pyarrow import csv, feather, parquet  # noqa: E402

from everypair.app.encode import TableEncoder  # noqa: E402
from everypair.app.files import delimited, readers  # noqa: E402
from everypair.app.files.readers import Source, read, read_chunks  # noqa: E402

SETTINGS = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

MARKS = st.sampled_from(["", " ", "?", "-", "NA", "N/A", "null", "None", "NaN", " NA ", "n/a"])
DAYS = st.dates(dt.date(1950, 1, 1), dt.date(2049, 12, 31))
STAMPS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2150, 1, 1))


def spelt(form):
    return DAYS.map(lambda day: day.strftime(form))


def zoned(stamp):
    return stamp.isoformat(timespec="seconds") + ("Z" if stamp.second % 2 else "+02:00")


TEXTS = {
    "numbers": st.floats(-1e6, 1e6).map(repr),
    "whole": st.integers(-50, 50).map(str),
    "spaced": st.integers(0, 9).map(lambda k: f" {k}  "),
    "huge": st.integers(2**60, 2**70).map(str),
    "hex": st.integers(0, 255).map(hex),
    "exponents": st.integers(1, 9).map(lambda k: f"{k}e5"),
    "words": st.sampled_from(["cook", "nurse ", " pilot", 'say "x"', "a,b", "é ü", "日本", "-"]),
    "any": st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="="),
        max_size=6,
    ),
    "truth": st.sampled_from(["true", "false", "True", "FALSE"]),
    "iso": spelt("%Y-%m-%d"),
    "slashes": spelt("%Y/%m/%d"),
    "day first": spelt("%d.%m.%Y"),
    "month first": spelt("%m/%d/%Y"),
    "short": spelt("%d-%b-%y"),
    "named": spelt("%B %d, %Y"),
    "compact": spelt("%Y%m%d"),
    "stamps": STAMPS.map(lambda s: s.isoformat(" ")),
    "zoned": STAMPS.map(zoned) | st.just("9999-12-31T00:00:00Z"),
    "halves": STAMPS.map(lambda s: s.strftime("%m/%d/%Y %I:%M %p")),
    "times": st.times().map(lambda t: t.strftime("%H:%M")),
    "mixed": st.sampled_from(["1", "2.5", "unknown", "12"]),
    "empty": st.just(""),
}
TYPED = {
    "float": st.floats(-1e6, 1e6, allow_subnormal=False),
    "int": st.integers(-(2**40), 2**40),
    "bool": st.booleans(),
    "date": DAYS,
    "stamp": STAMPS,
    "decimal": st.decimals(-1000, 1000, places=2),
}


@st.composite
def columns(draw, typed):
    """Columns of one length, with gaps, beside a column that is always there."""
    n = draw(st.integers(12, 40))
    kinds = draw(
        st.lists(st.sampled_from(sorted(TYPED if typed else TEXTS)), min_size=1, max_size=4)
    )
    out = {"row": [k % 5 for k in range(n)] if typed else [str(k % 5) for k in range(n)]}
    for k, kind in enumerate(kinds):
        gap = st.none() if typed else MARKS
        value = (TYPED if typed else TEXTS)[kind]
        cell = st.one_of(value, value, value, gap) if draw(st.booleans()) else value
        few = draw(st.lists(cell, min_size=1, max_size=8))
        values = draw(st.lists(st.sampled_from(few) | cell, min_size=n, max_size=n))
        out[f"{kind} {k}"] = values
    return out


def written(table, folder):
    """The table as files of every format."""
    names = {"csv": ",", "tsv": "\t"}
    for ending, delimiter in names.items():
        options = csv.WriteOptions(delimiter=delimiter)
        csv.write_csv(table, folder / f"t.{ending}", options)
    parquet.write_table(table, folder / "t.parquet")
    feather.write_feather(table, folder / "t.feather")
    table.to_pandas(types_mapper=None).to_excel(folder / "t.xlsx", index=False)
    return sorted(folder.iterdir())


def frames(table):
    coded = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in table.columns]
    return {
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "arrow": table,
        "coded": pa.table(coded, names=table.column_names),
        "polars coded": pl.from_arrow(table).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    }


def same(encoder, expected, name):
    assert encoder.kinds_ == expected.kinds_, name
    assert encoder.forms_ == expected.forms_, name
    assert encoder.dropped_ == expected.dropped_, name
    names = [e.get_feature_names_out().tolist() for e in (encoder, expected)]
    assert names[0] == names[1], name


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def check(table, skip=()):
    """Every way to give the table is one table, and each encodes all others alike."""
    expected = TableEncoder(min_rows=1).fit(table)
    X = dense(expected.transform(table))
    for name, frame in frames(table).items():
        encoder = TableEncoder(min_rows=1).fit(frame)
        same(encoder, expected, name)
        np.testing.assert_array_equal(dense(expected.transform(frame)), X, err_msg=name)
    with tempfile.TemporaryDirectory() as folder:
        for path in written(table, Path(folder)):
            if path.suffix in skip:
                continue
            source = Source(path, header=True)
            encoder = TableEncoder(min_rows=1).fit(read(source))
            same(encoder, expected, path.name)
            found = dense(encoder.transform(read(source)))
            np.testing.assert_array_equal(found, X, err_msg=path.name)
            pieces = list(read_chunks(source, expected.kinds_, {}, expected.forms_))
            assert len(pieces) > 2 or path.suffix not in (".csv", ".parquet")
            found = np.vstack([dense(expected.transform(piece)) for piece in pieces])
            np.testing.assert_array_equal(found, X, err_msg=f"pieces of {path.name}")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 1)
    monkeypatch.setattr(delimited, "BLOCK_ROWS", 2)
    monkeypatch.setattr(readers, "CHUNK_ROWS", 5)


@SETTINGS
@given(columns(typed=False))
def test_messy_text_is_one_table_in_every_format(table):
    check(pa.table(table))


@SETTINGS
@given(columns(typed=True))
def test_typed_columns_are_one_table_in_every_format(table):
    # Excel keeps 15 digits of a number, and milliseconds.
    check(pa.table(table), skip=(".xlsx",))
