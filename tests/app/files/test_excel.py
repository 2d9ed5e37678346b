"""Excel's .xlsx: the first sheet as if it had been saved as CSV."""

from __future__ import annotations

import sys
from datetime import date, datetime, time

import pytest

pa = pytest.importorskip("pyarrow")
openpyxl = pytest.importorskip("openpyxl")

from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.files.readers import Source, read, read_chunks  # noqa: E402

ROWS = [
    [" age ", "job", "since", "vip", "shift", "paid", "code"],
    [20, "cook ", date(2020, 1, 31), True, time(9, 30), "1.5", 1],
    [40.5, " nurse", datetime(2020, 2, 1, 12, 30), False, time(22, 0), "-", "b"],
    [None, "NA", None, None, None, " ", 2.0],
    [],
    [60, "cook", date(2020, 3, 1), True, time(9, 30), "2", "#DIV/0!"],
]

HALF_PAST_NINE = datetime(1970, 1, 1, 9, 30)


def save(path, rows, title="first"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.create_sheet("second").append(["not", "read"])
    book.save(path)
    return Source(path)


def test_sheet_is_read_with_its_types(tmp_path):
    source = save(tmp_path / "t.xlsx", ROWS)
    expected = {
        "age": [20, 40.5, None, 60],
        "job": ["cook", "nurse", None, "cook"],
        "since": [datetime(2020, 1, 31), datetime(2020, 2, 1, 12, 30), None, datetime(2020, 3, 1)],
        "vip": [True, False, None, True],
        "shift": [HALF_PAST_NINE, datetime(1970, 1, 1, 22), None, HALF_PAST_NINE],
        "paid": [1.5, None, None, 2],
        "code": ["1", "b", "2", None],
    }
    assert read(source).to_pydict() == expected
    kinds = {"age": "number", "job": "category", "since": "date", "vip": "boolean"}
    pieces = pa.concat_tables(list(read_chunks(source, kinds)))
    assert pieces.to_pydict() == {name: expected[name] for name in kinds}


def test_sheet_without_names_is_refused_and_read_when_said(tmp_path):
    source = save(tmp_path / "t.xlsx", [[1.5, "a"], [2.5, "b"]])
    with pytest.raises(DataError, match="--no-header"):
        read(source)
    found = read(Source(source.path, header=False))
    assert found.to_pydict() == {"column 1": [1.5, 2.5], "column 2": ["a", "b"]}


def test_sheets_that_cannot_be_read_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="the first sheet is empty"):
        read(save(tmp_path / "empty.xlsx", []))
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(DataError, match=r"save it as \.xlsx or as CSV"):
        read(Source(tmp_path / "t.xls"))
    (tmp_path / "fake.xlsx").write_bytes(b"hello")
    with pytest.raises(DataError, match="not a complete xlsx file"):
        read(Source(tmp_path / "fake.xlsx"))
    source = save(tmp_path / "t.xlsx", ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'everypair\[excel\]', or save the sheet as"):
        read(source)


@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml"])
@pytest.mark.parametrize("half", [b"", b"<", None])
def test_workbook_with_a_damaged_part_is_one_sentence(part, half, tmp_path):
    import zipfile

    whole, damaged = save(tmp_path / "t.xlsx", ROWS).path, tmp_path / "damaged.xlsx"
    with zipfile.ZipFile(whole) as given, zipfile.ZipFile(damaged, "w") as written:
        for name in given.namelist():
            content = given.read(name)
            if name == part:
                content = content[: len(content) // 2] if half is None else half
            written.writestr(name, content)
    with pytest.raises(DataError, match=r"damaged\.xlsx: this is not a complete xlsx file"):
        read(Source(damaged))
