"""Every format gives the same table, whole or in pieces."""

from __future__ import annotations

import gzip
import lzma
import zipfile
from contextlib import nullcontext

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from pyarrow import feather, parquet  # noqa: E402

from everypair.app.files import delimited  # noqa: E402
from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.files.readers import Source, read, read_chunks  # noqa: E402

TEXT = "x,c,y\n1.5,u,0\n?,v,1\n3.5,NA,0\n"
EXPECTED = {"x": [1.5, None, 3.5], "c": ["u", "v", None], "y": [0, 1, 0]}
KINDS = {"x": "number", "c": "category"}


def files(folder):
    table = pa.table(EXPECTED)
    (folder / "t.csv").write_text(TEXT)
    (folder / "t.tsv").write_text(TEXT.replace(",", "\t"))
    (folder / "semicolon.csv").write_text(TEXT.replace(",", ";"))
    (folder / "decimal_comma.csv").write_text(TEXT.replace(",", ";").replace(".5", ",5"))
    (folder / "marked.csv").write_bytes(TEXT.encode("utf-8-sig"))
    (folder / "windows.csv").write_bytes(TEXT.replace("\n", "\r\n").encode())
    (folder / "quoted.csv").write_text('"x","c","y"\n1.5,"u",0\n?,"v",1\n3.5,"",0\n')
    (folder / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    (folder / "t.csv.xz").write_bytes(lzma.compress(TEXT.encode()))
    with zipfile.ZipFile(folder / "t.zip", "w") as archive:
        archive.writestr("inside.csv", TEXT)
    parquet.write_table(table, folder / "t.parquet")
    feather.write_feather(table, folder / "t.feather")
    (folder / "t.arff").write_text(
        "% a comment\n@RELATION t\n@attribute x real\n@attribute 'c' {u, v}\n"
        "@attribute y integer\n\n@DATA\n1.5,u,0\n?,'v',1\n% another\n3.5,?,0\n"
    )
    return sorted(folder.iterdir())


def test_every_format_gives_the_same_table(tmp_path):
    for path in files(tmp_path):
        assert read(Source(path)).to_pydict() == EXPECTED, path.name


def test_pieces_are_the_table(tmp_path):
    for path in files(tmp_path):
        pieces = list(read_chunks(Source(path), KINDS))
        table = pa.concat_tables(pieces)
        assert table.column("x").to_pylist() == EXPECTED["x"], path.name
        assert table.column("c").to_pylist() == EXPECTED["c"], path.name


def test_pieces_of_text_keep_the_types_of_training(tmp_path, monkeypatch):
    """A category that looks like a number for a while is still a category."""
    path = tmp_path / "t.csv"
    path.write_text("x,c\n" + "1,7\n" * 500 + "2.5,seven\n")
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 200)
    pieces = list(read_chunks(Source(path), KINDS))
    assert len(pieces) > 3
    assert {str(piece.column("c").type) for piece in pieces} == {"string"}
    assert sum(piece.num_rows for piece in pieces) == 501


def test_column_of_numbers_is_inferred_from_every_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "1\n" * 300_000 + "2.5\n")
    assert str(read(Source(path)).column("x").type) == "double"


def test_bad_value_is_named_by_row_and_column(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("c,x\n" + "u,1\n" * 700 + "u,oops\n")
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 200)
    with pytest.raises(DataError, match=r"t\.csv, row 701, column 'x': 'oops' is not a number"):
        list(read_chunks(Source(path), KINDS))


def test_latin_text_is_read_when_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("é,y\nà,1\n".encode("latin-1"))
    assert read(Source(path, encoding="latin-1")).to_pydict() == {"é": ["à"], "y": [1]}
    for name in ("klingon", "undefined"):
        with pytest.raises(DataError, match=f"encoding '{name}' is not known"):
            read(Source(path, encoding=name))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_bytes_of_another_encoding_than_the_one_said_are_named(tmp_path, encoding):
    path = tmp_path / "t.csv"
    bad = {"utf-8-sig": b"\xff", "utf-16": b"\x00\xd8\x31\x00"}[encoding]
    rows = "1,2\n".encode("utf-16-le" if encoding == "utf-16" else "utf-8") * 40_000
    path.write_bytes("x,y\n1,2\n".encode(encoding) + rows + bad + rows)
    source = Source(path, encoding=encoding)
    with pytest.raises(DataError, match=f"the file is not {encoding} "):
        read(source)
    with pytest.raises(DataError, match=f"the file is not {encoding} "):
        list(read_chunks(source, {"x": "number", "y": "number"}))


def test_newlines_inside_quotes_belong_to_the_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('c,y\n"a\nb",1\n"c",0\n')
    assert read(Source(path)).to_pydict() == {"c": ["a\nb", "c"], "y": [1, 0]}


def test_newlines_inside_quotes_are_kept_wherever_a_block_ends(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    values = [f"{'a' * (k % 23)}\n{k}" for k in range(4000)]
    path.write_text("x,c\n" + "1,plain\n" * 200 + "".join(f'2,"{v}"\n' for v in values))
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 700)
    monkeypatch.setattr(delimited, "WHOLE_BYTES", 700)
    expected = ["plain"] * 200 + values
    assert read(Source(path)).column("c").to_pylist() == expected
    pieces = pa.concat_tables(list(read_chunks(Source(path), KINDS)))
    assert pieces.column("c").to_pylist() == expected


def test_quotation_mark_that_is_not_closed_is_no_traceback(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("x,c\n" + "1,u\n" * 10 + '2,"open\n' + "1,u\n" * 3000)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 200)
    monkeypatch.setattr(delimited, "WHOLE_BYTES", 200)
    for read_it in (read, lambda source: list(read_chunks(source, KINDS))):
        with pytest.raises(DataError, match=r"t\.csv, row 11: a quotation mark is opened here"):
            read_it(Source(path))
    monkeypatch.undo()
    with pytest.raises(DataError, match="row 11: a quotation mark"):
        read(Source(path))


def test_format_and_delimiter_can_be_forced(tmp_path):
    path = tmp_path / "data.bin"
    path.write_text(TEXT.replace(",", "^"))
    assert read(Source(path, format="csv", delimiter="^")).to_pydict() == EXPECTED
    with pytest.raises(DataError, match="'xls' is not one of"):
        Source(path, format="xls")


def test_svmlight_keeps_the_files_own_numbers(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("+1 1:2 3:0.5 # comment\n-1 2:1\n")
    table = read(Source(path))
    np.testing.assert_array_equal(table.X.toarray(), [[0, 2, 0, 0.5], [0, 0, 1, 0]])
    np.testing.assert_array_equal(table.label, [1, -1])
    pieces = list(read_chunks(Source(path), None))
    assert sum(piece.num_rows for piece in pieces) == 2
    with pytest.raises(DataError, match="trained on a table with named columns"):
        list(read_chunks(Source(path), KINDS))


def test_comments_of_svmlight_may_fill_whole_pieces(tmp_path, monkeypatch):
    from everypair.app.files import svmlight

    monkeypatch.setattr(svmlight, "CHUNK_BYTES", 100)
    comments = "# nothing\n" * 50
    path = tmp_path / "t.svm"
    path.write_text(f"{comments}+1 1:2\n{comments}-1 2:1\n{comments}")
    pieces = list(read_chunks(Source(path), None))
    assert [piece.label.tolist() for piece in pieces] == [[1], [-1]]
    path.write_text(comments)
    for read_it in (read, lambda source: list(read_chunks(source, None))):
        with pytest.raises(DataError, match="no row of data"):
            read_it(Source(path))


def test_number_of_a_feature_that_no_memory_has_room_for_is_named(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("+1 1:2\n-1 2:1 2147483000:1\n+1 3:1\n")
    for read_it in (read, lambda source: list(read_chunks(source, None))):
        with pytest.raises(DataError, match="row 2: there is a feature of the number 2147483000"):
            read_it(Source(path))


def test_bad_arff_rows_are_named(tmp_path):
    path = tmp_path / "t.arff"
    head = "@relation t\n@attribute x real\n@attribute y real\n@data\n1,2\n"
    for row, said in (("1,2,3", "row 2: there are 3 values"), ("1,z", "row 2, column 'y'"),
                      ("{0 1}", "sparse ARFF")):  # fmt: skip
        path.write_text(head + row + "\n")
        with pytest.raises(DataError, match=said):
            read(Source(path))


def test_dates_of_arff_are_dates_in_training_and_in_scoring(tmp_path):
    from datetime import datetime

    path = tmp_path / "t.arff"
    head = "@relation t\n@attribute x real\n"
    kinds = {"x": "number", "d": "date"}
    spellings = {
        "date": ("2024-03-31T12:30:00", "2024-03-31 12:30:00"),
        'date "yyyy-MM-dd HH:mm"': ("2024-03-31 12:30", "'2024-03-31 12:30'"),
        "DATE 'dd.MM.yyyy HH:mm'": ("31.03.2024 12:30", '"31.03.2024 12:30"'),
        "date \"yyyy-MM-dd'T'HH:mm:ss\"": ("2024-03-31T12:30:00",) * 2,
    }
    for declared, days in spellings.items():
        rows = "\n".join(f"1,{day}" for day in days)
        path.write_text(f"{head}@attribute d {declared}\n@data\n{rows}\n1,?\n")
        expected = [datetime(2024, 3, 31, 12, 30)] * 2 + [None]
        pieces = pa.concat_tables(list(read_chunks(Source(path), kinds)))
        for table in (read(Source(path)), pieces):
            assert table.column("d").to_pylist() == expected, declared
    path.write_text(f"{head}@attribute d date yyyy-MM-dd\n@data\n1,2024-03-31\n1,31.3.24\n")
    with pytest.raises(
        DataError, match=r"row 2, column 'd': '31\.3\.24' is not a date of the form"
    ):
        read(Source(path))
    path.write_text(f"{head}@attribute d date yyyy-ww\n@data\n1,2024-03\n")
    with pytest.raises(DataError, match="has 'ww', which is not understood"):
        read(Source(path))


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_words_and_names_are_trimmed_in_every_type_of_arrow(kind, tmp_path):
    words = pa.array([" u", "v ", None, "u"])
    column = words.dictionary_encode() if kind == "dictionary" else words.cast(getattr(pa, kind)())
    table = pa.table({" c ": column, "x": [1.0, 2.0, 3.0, 4.0]})
    feather.write_feather(table, tmp_path / "t.feather")
    if kind != "string_view":  # Parquet has no such type
        parquet.write_table(table, tmp_path / "t.parquet")
    for path in tmp_path.iterdir():
        pieces = pa.concat_tables(list(read_chunks(Source(path), KINDS)))
        for found in (read(Source(path)), pieces):
            assert sorted(found.column_names) == ["c", "x"]
            assert found.column("c").to_pylist() == ["u", "v", None, "u"]


def test_older_and_streamed_feather_are_read_whole_and_in_pieces(tmp_path):
    table = pa.table(EXPECTED)
    with pytest.warns() if int(pa.__version__.split(".")[0]) >= 25 else nullcontext():
        feather.write_feather(table, tmp_path / "old.feather", version=1)
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as file:
        file.write_table(table)
    for path in tmp_path.iterdir():
        assert read(Source(path)).to_pydict() == EXPECTED, path.name
        pieces = pa.concat_tables(list(read_chunks(Source(path), KINDS)))
        assert pieces.to_pydict() == {name: EXPECTED[name] for name in KINDS}, path.name
