"""Fields of text mean the same where a table is read whole and where it is read in pieces."""

from __future__ import annotations

from datetime import datetime

import pytest

pa = pytest.importorskip("pyarrow")

from pyarrow import feather, parquet  # noqa: E402

from everypair.app.files import delimited  # noqa: E402
from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.files.readers import Source, read, read_chunks  # noqa: E402


def both(path, kinds, **options):
    """The column values of the file as a whole, and of its pieces."""
    source = Source(path, **options)
    whole = read(source)
    pieces = pa.concat_tables(list(read_chunks(source, kinds)))
    return [{name: table.column(name).to_pylist() for name in kinds} for table in (whole, pieces)]


def small_pieces(monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 300)


@pytest.mark.parametrize(
    "text",
    ["2020-01-02T10:00:00Z", "2020-01-02 12:00:00+02:00", "2020-01-02T10:00:00.000000001Z",
     "2020-01-02T08:30-0130"],
)  # fmt: skip
def test_times_with_a_zone_are_utc_whole_and_in_pieces(text, tmp_path, monkeypatch):
    small_pieces(monkeypatch)
    path = tmp_path / "t.csv"
    path.write_text("t,y\n" + f"{text},1\n" * 200)
    whole = read(Source(path)).column("t").cast(pa.timestamp("us"), safe=False).to_pylist()
    pieces = pa.concat_tables(list(read_chunks(Source(path), {"t": "date"}))).column("t")
    assert whole == pieces.to_pylist() == [datetime(2020, 1, 2, 10)] * 200


def test_times_with_and_without_a_zone_may_stand_in_one_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("t\n2020-01-02T10:00:00Z\n\n2020-01-02\n2020-01-02 11:00:00\n")
    whole, pieces = both(path, {"t": "date"})
    assert whole == pieces
    assert [t and t.hour for t in whole["t"]] == [10, 0, 11]  # a blank line is no row


def test_decimal_commas_may_begin_late(tmp_path, monkeypatch):
    small_pieces(monkeypatch)
    path = tmp_path / "t.csv"
    path.write_text("a;x\n" + "u;3\n" * 200 + "v;3,5\n" + "w;-0,25\n")
    whole, pieces = both(path, {"a": "category", "x": "number"})
    assert whole["x"] == [3.0] * 200 + [3.5, -0.25]
    assert pieces == whole


def test_a_column_with_points_stands_beside_one_with_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;x\n1.5;3,5\n2.5;1\n")
    whole, pieces = both(path, {"a": "number", "x": "number"})
    assert whole == pieces == {"a": [1.5, 2.5], "x": [3.5, 1.0]}


def test_points_and_commas_in_one_column_are_not_guessed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1.234\n2,5\n")
    source = Source(path, delimiter=";")
    assert read(source).column("x").to_pylist() == ["1.234", "2,5"]
    with pytest.raises(DataError, match=r"row 2, column 'x': '2,5' is not a number"):
        list(read_chunks(source, {"x": "number"}))


def test_commas_between_commas_are_no_decimals(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,y\n"1,234",1\n"5,678",0\n')
    assert read(Source(path)).column("x").to_pylist() == ["1,234", "5,678"]


def test_spaces_after_commas_are_no_part_of_the_values(tmp_path, monkeypatch):
    small_pieces(monkeypatch)
    path = tmp_path / "adult.csv"
    path.write_text(
        "age, work, vip, since, income\n"
        + "39, State-gov, true, 2020-01-02, <=50K\n" * 100
        + " ?,  ?, ?, ? , >50K\n"
        + '41, "Private" ,  false, 2020-01-03,   >50K \n' * 2
    )
    kinds = {"age": "number", "work": "category", "vip": "boolean", "since": "date",
             "income": "category"}  # fmt: skip
    whole, pieces = both(path, kinds)
    assert whole["age"] == [39] * 100 + [None, 41, 41]
    assert whole["work"] == ["State-gov"] * 100 + [None, "Private", "Private"]
    assert whole["vip"] == [True] * 100 + [None, False, False]
    assert whole["income"] == ["<=50K"] * 100 + [">50K"] * 3
    assert str(read(Source(path)).column("since").type) == "timestamp[us]"
    assert pieces == whole


def test_words_of_parquet_and_feather_are_trimmed_as_well(tmp_path):
    table = pa.table({"c": [" a", "b ", None, "c"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    for path in tmp_path.iterdir():
        whole, pieces = both(path, {"c": "category"})
        assert whole == pieces == {"c": ["a", "b", None, "c"]}


def test_quotes_of_both_kinds_in_arff(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(
        '@relation r\n@attribute "it\'s" string\n@attribute \'say "x"\' {a,b}\n'
        "@attribute c{ n, y }\n@data\n"
        "\"it's, 0\",'a \"b\"',n\n'it\\'s',\"'?'\",y\n o'clock , ? ,  y \n'?','a,b',''\n"
    )
    assert read(Source(path)).to_pydict() == {
        "it's": ["it's, 0", "it's", "o'clock", "?"],
        'say "x"': ['a "b"', "'?'", None, "a,b"],
        "c": ["n", "y", "y", ""],
    }


def test_first_line_of_numbers_is_data(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("5.1,3.5,0\n4.9,3.0,1\n")
    for read_it in (read, lambda source: list(read_chunks(source, {"x": "number"}))):
        with pytest.raises(DataError, match=r"seems to be data, .* use --no-header"):
            read_it(Source(path))
    path.write_text("0,1,2\n5.1,3.5,0\n")  # pandas' own names
    assert read(Source(path)).column_names == ["0", "1", "2"]
    path.write_text("39,State-gov,<=50K\n50,Private,>50K\n")
    with pytest.raises(DataError, match=r"it has '39'.*--no-header"):
        list(read_chunks(Source(path), {"income": "category"}))


def test_very_long_fields_are_read_and_errors_beside_them_located(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("x,c\n" + "1,short\n" * 30 + f"1,{'z' * 200_000}\n")
    whole, pieces = both(path, {"x": "number", "c": "category"})
    assert whole == pieces
    with path.open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(DataError, match="row 32: there are 3 fields"):
        read(Source(path))


def test_encodings_that_are_none_are_refused_for_every_format(tmp_path):
    for ending in ("csv", "arff", "svm", "parquet"):
        for name in ("nonsense", "hex"):
            with pytest.raises(DataError, match=f"encoding '{name}' is not known"):
                Source(tmp_path / f"t.{ending}", encoding=name)


def test_folder_is_said_to_be_one(tmp_path):
    with pytest.raises(DataError, match="is a folder without"):
        read(Source(tmp_path))


@pytest.mark.parametrize("codes", [False, True])
@pytest.mark.parametrize("kind", ["string", "string_view", "large_string", "binary"])
def test_spellings_of_missing_values_are_kept_for_every_type_of_text(kind, codes):
    from everypair.app.files.kinds import canonical, marks_of

    words = pa.array(["1", "n/a", "2", "", "n/a"]).cast(getattr(pa, kind)())
    if codes:
        places = pa.array(range(len(words)), pa.int32())
        words = pa.DictionaryArray.from_arrays(places, words)
    table = canonical(pa.table({"x": words}))
    assert table.column("x").to_pylist() == [1, None, 2, None, None]
    assert marks_of(table) == {"x": ["n/a"]}
