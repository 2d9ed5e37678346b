"""A delimited file read in segments is the table that Arrow makes of the whole file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from pyarrow import csv  # noqa: E402

from everypair.app.files import delimited, segments  # noqa: E402
from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.files.readers import Source, read  # noqa: E402

CELLS = {
    "whole": ["1", "-0", "007", "+3", "0x1F", "99999999999999999999"],
    "numbers": ["0.5", "-2.25", "1e400", "inf", " 3.5", "1,5"],
    "truth": ["true", "False", "0", "1"],
    "dates": ["2024-01-31", "2024-01-31 10:00", "2024-01-31 10:00:00.123456789", "10:00"],
    "zoned": ["2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"],
    "compact": ["20240131", "19991231"],
    "words": ["cook", "é", "-", "\ufeff", "x y", '"x\n1;y"'],
    "missing": ["", "NA", "?"],
}
POOL = pa.proxy_memory_pool(pa.default_memory_pool())
"""Counts the memory of one test; it has to outlive what it allocated."""

ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n \n"]


@st.composite
def texts(draw):
    """Columns whose kind may change further down, seldom with a field too many."""
    width, runs = draw(st.integers(1, 3)), []
    for _ in range(draw(st.integers(1, 4))):
        kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=width, max_size=width))
        row = st.tuples(*(st.sampled_from(CELLS[kind]) for kind in kinds))
        runs += draw(st.lists(row, min_size=1, max_size=12))
    end = draw(st.sampled_from(ENDS))
    lines = [";".join(row) for row in [[f"c{k}" for k in range(width)], *runs]]
    if draw(st.integers(0, 9)) == 0:
        lines.append("1;2;3;4;5")
    return end.join(lines) + draw(st.sampled_from(["", end]))


def outcome(path, size, monkeypatch):
    """The table with all that is said of it, or the message."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES", size)
    try:
        table = read(Source(path, delimiter=";", header=True))
    except DataError as trouble:
        return str(trouble)
    fields = [(field.name, field.type, field.metadata) for field in table.schema]
    return fields, table.schema.metadata, [repr(row) for row in table.to_pylist()]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts(), st.integers(8, 80))
@example("c0;c1\n" + "1;a\n" * 9 + "-0;b\n0.5;c\n", 20)
@example("c0\n" + "oak\n" * 9 + "\ufeffoak\n" * 9, 8)
@example("   \nc0\n" + "1\n" * 30, 8)
@example("c0\n" + "\n" * 50 + "1\n", 8)
@example(" " * 20 + "\nc0;c1\n" + "1;2\n" * 9, 8)
@example("c0;c1\r" + "1;2\r" * 9, 8)
@example("c0;;\n" + "1;2;3\n" * 9 + "a;b;c\n", 20)
def test_segments_are_the_table_of_the_whole_file(text, size):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        path = Path(folder) / "t.csv"
        path.write_text(text, encoding="utf-8", newline="")
        assert outcome(path, size, monkeypatch) == outcome(path, 2**24, monkeypatch)


@pytest.mark.parametrize("late", [b"\xff;1\n", b"1;2;3\n", b'"1;2\n', b"x" * 3000 + b";1\n"])
def test_faults_in_a_late_segment_are_told_alike(late, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "WHOLE_BYTES", 100)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 100)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a;b\n" + b"1.5;2\n" * 200 + late + b"1.5;2\n" * 20)
    assert outcome(path, 300, monkeypatch) == outcome(path, 2**24, monkeypatch)


@pytest.fixture
def parsed(monkeypatch):
    """What Arrow was asked to parse: a segment, or these columns of the whole file."""
    calls, read_csv = [], csv.read_csv

    def counted(where, **options):
        whole = isinstance(where, str)
        calls.append(options["convert_options"].include_columns if whole else where.size())
        return read_csv(where, **options)

    monkeypatch.setattr(csv, "read_csv", counted)
    return calls


def written(path, n_rows, last=""):
    numbers = np.random.default_rng(0).standard_normal((n_rows, 5)).round(6)
    rows = "\n".join(",".join(map(str, row)) for row in numbers)
    path.write_text(f"a,b,c,d,e\n{rows}\n{last}")
    return path.stat().st_size


def test_numbers_are_parsed_once_and_parsed_blocks_are_let_go(tmp_path, monkeypatch, parsed):
    size = written(tmp_path / "t.csv", 40_000)
    monkeypatch.setattr(segments, "SEGMENT_BYTES", size // 40)
    monkeypatch.setattr(delimited, "WHOLE_BYTES", size // 80)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", size // 80)
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)
    default = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        size_of_table = read(Source(tmp_path / "t.csv")).nbytes
    finally:
        pa.set_memory_pool(default)
    assert [] not in parsed  # no column of the whole file
    assert sum(parsed) == size
    # The whole file at once takes 2.6 times the table.
    assert POOL.max_memory() < 1.5 * size_of_table


def test_only_the_column_that_changes_late_is_parsed_again(tmp_path, monkeypatch, parsed):
    size = written(tmp_path / "t.csv", 1000, ".5,,.5,.5,.5\n" * 1500 + "1,,oak,1,1\n")
    monkeypatch.setattr(segments, "SEGMENT_BYTES", size // 10)
    table = read(Source(tmp_path / "t.csv"))
    assert [str(t) for t in table.schema.types] == ["double"] * 2 + ["string"] + ["double"] * 2
    *pieces, again = parsed
    assert again == ["c"]
    assert sum(pieces) == size


def test_a_file_with_quotes_is_parsed_as_a_whole(tmp_path, monkeypatch, parsed):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + '"1\n2",3\n' * 1000)
    monkeypatch.setattr(segments, "SEGMENT_BYTES", path.stat().st_size // 10)
    assert read(Source(path)).to_pydict() == {"a": ["1\n2"] * 1000, "b": [3] * 1000}
    assert parsed == [[]]
