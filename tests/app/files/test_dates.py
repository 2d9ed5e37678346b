"""Dates in the spellings that people use: what they mean, and when it is certain."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from everypair.app.encode import TableEncoder  # noqa: E402
from everypair.app.files import delimited  # noqa: E402
from everypair.app.files.dates import inferred_form, parsed  # noqa: E402
from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.files.readers import Source, read, read_chunks  # noqa: E402

DAY = datetime(2024, 3, 31)
NOON = datetime(2024, 3, 31, 12, 30)

SPELLINGS = {
    "2024-03-31": ("", DAY), "2024/3/31": ("", DAY), "2024.03.31 12:30": ("", NOON),
    "31-Mar-24": ("", DAY), "31Mar2024": ("", DAY), "31 March 2024": ("", DAY),
    "31. March 2024": ("", DAY), "Mar 31, 2024": ("", DAY), "March 31st, 2024": ("", DAY),
    "Sun, 31 Mar 2024 12:30:00 GMT": ("", NOON), "31-Mar-97": ("", datetime(1997, 3, 31)),
    "2024-Mar-31": ("", DAY), "Mar 2024": ("", datetime(2024, 3, 1)),
    "31.03.2024": ("dmy", DAY), "31/3/2024": ("dmy", DAY), "31-03-24": ("dmy", DAY),
    "31. 3. 2024": ("dmy", DAY), "31.03.2024 12:30": ("dmy", NOON),
    "03/31/2024": ("mdy", DAY), "3-31-2024": ("mdy", DAY), "03/31/24": ("mdy", DAY),
    "03/31/2024 12:30 PM": ("mdy", NOON), "3/31/2024, 12:30:00 p.m.": ("mdy", NOON),
    "2024-03-31T12:30:00Z": ("", NOON), "2024-03-31 14:30:00+02:00": ("", NOON),
    "2024-03-31T11:00:00.5-0130": ("", datetime(2024, 3, 31, 12, 30, 0, 500_000)),
    "2024-03-31T12:30:00.000000001Z": ("", NOON),
    "12:30": ("time", datetime(1970, 1, 1, 12, 30)),
    "9:05 PM": ("time", datetime(1970, 1, 1, 21, 5)),
    "9999-12-31T00:00:00Z": ("", datetime(9999, 12, 31)), "01.01.0001": ("dmy", datetime(1, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_spelling_is_read_as_what_it_means(text):
    form, expected = SPELLINGS[text]
    assert inferred_form(pa.array([text])) == form
    assert parsed(pa.array([text, None, "cook"]), form).to_pylist() == [expected, None, None]


@pytest.mark.parametrize(
    "text",
    ["31.02.2024", "2024-13-01", "13/13/2024", "24:30", "12:61", "1.2.3.4", "13:30 PM", "32-Mar-97",
     "1.13.22", "10-20", "2024-3", "29.02.2023", "Marble 3, 2024", "x 2024-01-01"],
)  # fmt: skip
def test_what_is_no_date_is_left_alone(text):
    assert inferred_form(pa.array([text])) is None


def test_one_value_proves_the_order_of_day_and_month():
    unclear = [f"0{k}/0{k % 4 + 1}/2024" for k in range(1, 10)]
    assert inferred_form(pa.array(unclear)) is None
    assert inferred_form(pa.array([*unclear, "13/01/2024"])) == "dmy"
    assert inferred_form(pa.array([*unclear, "01/13/2024"])) == "mdy"
    assert inferred_form(pa.array([*unclear, "13/01/2024", "01/13/2024"])) is None
    assert inferred_form(pa.array(["03/03/2024", "04/04/2024"])) == "dmy"  # the same either way


def write(path, values, name="d"):
    path.write_text(f"{name},x,y\n" + "".join(f"{v},{k},{k % 2}\n" for k, v in enumerate(values)))
    return Source(path)


def test_order_is_learnt_and_new_rows_are_read_by_it(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 1)
    monkeypatch.setattr(delimited, "BLOCK_ROWS", 3)
    unclear = [f"0{k}/0{k % 4 + 1}/2024" for k in range(1, 10)]
    for proof, form in (("13/01/2024", "dmy"), ("01/13/2024", "mdy")):
        train = read(write(tmp_path / "train.csv", [*unclear, proof]))
        encoder = TableEncoder().fit(train.drop_columns(["y"]))
        assert encoder.forms_ == {"d": form, "x": ""}
        new = write(tmp_path / "new.csv", unclear)
        pieces = list(read_chunks(new, encoder.kinds_, {}, encoder.forms_))
        assert len(pieces) > 2
        order = "%d/%m/%Y" if form == "dmy" else "%m/%d/%Y"
        expected = [datetime.strptime(text, order) for text in unclear]
        assert pa.concat_tables(pieces).column("d").to_pylist() == expected
        frame = encoder.transform({"d": unclear, "x": list(range(9))})
        whole = encoder.transform(pa.table({"d": expected, "x": list(range(9))}))
        np.testing.assert_array_equal(frame, whole)
        with pytest.raises(DataError, match="row 2, column 'd': '14/14/2024' is not a date, as"):
            encoder.transform({"d": ["01/02/2024", "14/14/2024"], "x": [1, 2]})


def test_whole_numbers_are_dates_when_all_of_them_are(tmp_path):
    days = [20200100 + k for k in range(1, 29)]
    table = read(write(tmp_path / "t.csv", days))
    assert table.column("d").to_pylist() == [datetime(2020, 1, k) for k in range(1, 29)]
    encoder = TableEncoder().fit(table)
    assert encoder.forms_["d"] == "%Y%m%d"
    frames = ({"d": days}, {"d": [float(d) for d in days]}, {"d": [str(d) for d in days]})
    for frame in frames:
        new = frame | {"x": range(28), "y": [0, 1] * 14}
        np.testing.assert_array_equal(encoder.transform(new), encoder.transform(table))
        assert TableEncoder().fit(new).kinds_["d"] == "date"
    for others in ([*days, 20201301], [*days, 5], [20200101, 20200102] * 5, [*days, 20200101.5]):
        assert TableEncoder().fit({"d": others}).kinds_["d"] == "number"


def test_format_that_is_said_is_used(tmp_path):
    unclear = [f"0{k}/0{k % 4 + 1}/2024" for k in range(1, 10)]
    path = tmp_path / "t.csv"
    write(path, unclear)
    assert read(Source(path)).column("d").to_pylist() == unclear
    for given in ("%m/%d/%Y", "d=%m/%d/%Y"):
        table = read(Source(path, dates=(given,)))
        expected = [datetime.strptime(text, "%m/%d/%Y") for text in unclear]
        assert table.column("d").to_pylist() == expected
        assert TableEncoder().fit(table).forms_["d"] == "%m/%d/%Y"
        kinds = {"d": "date"}
        new = pa.concat_tables(list(read_chunks(Source(path), kinds, {}, {"d": "%m/%d/%Y"})))
        assert new.column("d").to_pylist() == expected
        said = Source(path, dates=(given,))  # other rows, written otherwise than in training
        new = pa.concat_tables(list(read_chunks(said, kinds, {}, {"d": "dmy"})))
        assert new.column("d").to_pylist() == expected
    write(path, ["2024-02-01", "2024-03-01"])  # Arrow would read these otherwise
    table = read(Source(path, dates=("%Y-%d-%m",)))
    assert table.column("d").to_pylist() == [datetime(2024, 1, 2), datetime(2024, 1, 3)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("d=%d/%m/%Y", "row 2, column 'd': 'cook' is not a date"),
        ("e=%d/%m/%Y", "column 'e': --date-format names this column, which the table"),
        ("%d/%m/%Y", "no column is read by --date-format %d/%m/%Y: correct or omit it"),
        ("%d/%Q/%Y", "has %Q, which is not understood"),
        ("%d/%d/%Y", "has %d or an equivalent twice"),
        ("dd/mm/yyyy", "has no part of a date: write it like %d/%m/%Y"),
    ],
)
def test_format_that_does_not_fit_is_one_sentence(given, said, tmp_path):
    path = tmp_path / "t.csv"
    write(path, ["01/02/2024", "cook"])
    with pytest.raises(DataError, match=said):
        read(Source(path, dates=(given,)))


@pytest.mark.parametrize("other", ["2024-02-01", "1 Feb 2024", "2024-02-01 10:00:00"])
def test_format_that_fits_no_column_is_told_where_another_column_has_dates(other, tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"0{k}/0{k}/2024,{other}\n" for k in range(1, 9))
    path.write_text("d,e\n" + rows)
    read(Source(path, dates=("%d/%m/%Y",)))
    for given in (("%d.%m.%Y",), ("%d/%m/%Y", "%d.%m.%Y")):
        with pytest.raises(DataError, match=r"no column is read by --date-format %d\.%m\.%Y"):
            read(Source(path, dates=given))


def test_a_format_for_one_column_leaves_compact_dates_of_another(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,e\n" + "".join(f"0{k}/0{k}/2024,2024010{k}\n" for k in range(1, 9)))
    for given in ("%d/%m/%Y", "d=%d/%m/%Y"):
        days = read(Source(path, dates=(given,))).column("e").to_pylist()
        assert days == [datetime(2024, 1, k) for k in range(1, 9)]
