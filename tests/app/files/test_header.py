"""Names of columns are told from a first row of data."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")

from everypair.app.files.header import data_in  # noqa: E402
from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.files.readers import Source, read, read_chunks  # noqa: E402

DATA = [
    ["5.1,3.5,0", "4.9,3.0,1"],
    ["39,State-gov,<=50K", "50,Private,>50K"],
    ["1,1,0", "2,3,1"],
    ["2024-01-02,cook", "2024-01-03,nurse"],
    ["true,cook", "false,nurse"],
    ["p,x,s,n", "e,x,s,y", "p,b,s,n"],
    ["?,4.5,cook", "3,4.1,nurse"],
    ["31.03.2024,a", "30.03.2024,b"],
    ["7,y", "8,n", "9,y"],
    ["-1,2", "3,4"],
]
NAMES = [
    ["age,job", "39,cook", "50,nurse"],
    ["0,1,2", "5.1,3.5,0"],
    ["city,2019,2020,2021", "Rome,5,6,7", "Oslo,1,2,3"],
    ["city,2015,2019", "Rome,5,6"],
    ["2019,2015,x", "5,6,3"],
    ["country,2020-01-22,2020-01-23", "Chad,0,4", "Peru,1,2"],
    ["a,b,y", "u,v,y", "v,u,n"],
    ["job,y", "cook,y", "nurse,n"],
    [",a", "0,cook", "1,nurse"],
    ["1.5,y", "cook,n", "nurse,y"],
    ["V1,V2", "1,2"],
    ["p50,p90,9", "1,2,3"],
]


@pytest.mark.parametrize("lines", DATA)
def test_first_row_of_data_is_refused_and_read_when_said(lines, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    for read_it in (read, lambda source: list(read_chunks(source, {"column 1": "category"}))):
        with pytest.raises(DataError, match=r"seems to be data.*use --no-header"):
            read_it(Source(path))
    width = lines[0].count(",") + 1
    found = read(Source(path, header=False))
    assert found.column_names == [f"column {k}" for k in range(1, width + 1)]
    assert found.num_rows == len(lines)
    kinds = {f"column {width}": "category"}
    pieces = pa.concat_tables(list(read_chunks(Source(path, header=False), kinds)))
    assert pieces.column(0).to_pylist() == [line.split(",")[-1] for line in lines]
    if len(set(lines[0].split(","))) == width:
        assert read(Source(path, header=True)).num_rows == len(lines) - 1


@pytest.mark.parametrize("lines", NAMES)
def test_names_are_not_taken_for_data(lines):
    first, *rest = (line.split(",") for line in lines)
    assert data_in(first, list(rest)) is None


def test_numbers_with_a_decimal_comma_are_data():
    assert data_in(["1,5", "NA", "3"], [["1,5", "5e3", "2"]] * 2) == "1,5"


def test_rows_of_errors_count_from_the_first_line_without_a_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,a\n2,b\nx,c\n")
    with pytest.raises(DataError, match="row 3, column 'column 1': 'x' is not a number"):
        list(read_chunks(Source(path, header=False), {"column 1": "number"}))
    path.write_text("1,a\n2,b\n3\n")
    with pytest.raises(DataError, match="row 3: there are 1 fields"):
        read(Source(path, header=False))
    path.write_bytes("1,a\n2,b\n3,é\n".encode("latin-1"))
    with pytest.raises(DataError, match="row 3"):
        read(Source(path, header=False))


def test_model_of_numbered_columns_asks_for_no_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("cook,a\nnurse,b\n")
    with pytest.raises(DataError, match=r"column 'column 1': .*use --no-header"):
        list(read_chunks(Source(path), {"column 1": "category"}))
