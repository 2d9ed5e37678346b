"""Files that cannot be used: one line that names file, row and column, and exit code 2."""

from __future__ import annotations

import gzip
import zipfile

import numpy as np
import pytest

GOOD = "a,b,y\n" + "".join(f"{k % 7},{'uv'[k % 2]},{int(k % 3 == 0)}\n" for k in range(30))

BAD = {
    "empty.csv": (b"", "empty.csv: the file is empty"),
    "header_only.csv": (b"a,b,y\n", "a header but no row"),
    "one_class.csv": (b"a,y\n1,1\n2,1\n", "column 'y': the target has the single value '1'"),
    "three_values.csv": (b"a,y\n1,p\n2,q\n3,r\n", "column 'y': the target has 3 values"),
    "unusual_delimiter.csv": (GOOD.replace(",", "^").encode(), "--delimiter"),
    "latin.csv": (GOOD.replace("v", "é").encode("latin-1"), "row 2, column 'b': is not utf-8"),
    "latin_header.csv": (GOOD.replace("b", "é", 1).encode("latin-1"), "the header is not utf-8"),
    "utf16.csv": (GOOD.encode("utf-16"), "--encoding utf-16"),
    "duplicate.csv": (b"a,a,y\n1,2,0\n1,3,1\n", "column 'a': the header has this name twice"),
    "ragged.csv": (b"a,b,y\n1,2,0\n3,1\n4,5,1\n", "row 2: there are 2 fields where the header"),
    "no_target.csv": (b"a,b\n1,2\n3,4\n", "column 'y': the file has no such column"),
    "case.csv": (b"a,Y\n1,1\n3,0\n", "did you mean 'Y'?"),
    "no_label.csv": (b"a,y\n1,\n2,NaN\n", "column 'y': the target has no value at all"),
    "constant.csv": (b"a,y\n1,1\n1,0\n1,1\n1,0\n", "no column is left to learn from"),
    "cut.csv.gz": (gzip.compress(GOOD.encode())[:-20], "damaged or cut short"),
    "no_ending": (GOOD.encode(), "--format"),
    "fake.parquet": (b"hello", "not a complete parquet file"),
    "fake.feather": (b"hello", "not a complete feather file"),
    "fake.arff": (b"hello", "not an ARFF file"),
    "packed.csv": (gzip.compress(GOOD.encode()), "this is a gzip file, not csv: rename it to end"),
    "columns.csv": (b"PAR1\x15\x04", "this is a Parquet file, not csv: say --format parquet"),
    "sheet.csv": (b"PK\x03\x04\x14", "this is a zip (or Excel) file, not csv"),
    "noise.csv": (bytes(range(256)) * 4, "not a text file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_named_in_one_line(name, run, tmp_path):
    content, expected = BAD[name]
    (tmp_path / name).write_bytes(content)
    found = run("fit", tmp_path / name, "--target", "y", "-o", tmp_path / "m.everypair")
    last = found.err.strip().split("\n")[-1]
    assert found.code == 2
    assert last.startswith(f"everypair: {tmp_path / name}")  # as it was typed
    assert expected in last
    assert "Traceback" not in found.err
    assert not (tmp_path / "m.everypair").exists()


def test_bad_svmlight_line_is_named(run, tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:2\n-1 2:1\n1 foo\n")
    found = run("fit", tmp_path / "bad.svm", "-o", tmp_path / "m.everypair")
    assert found.code == 2
    assert "bad.svm, row 3" in found.err


def test_archive_of_two_files_is_refused(run, tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", GOOD)
        archive.writestr("b.csv", GOOD)
    found = run("fit", tmp_path / "two.zip", "--target", "y", "-o", tmp_path / "m.everypair")
    assert found.code == 2
    assert "holds 2 files" in found.err


def test_missing_file_folder_and_unwritable_output_are_told_apart(run, tmp_path):
    good = tmp_path / "good.csv"
    good.write_text(GOOD)
    said = [
        run("fit", tmp_path / "absent.csv", "-t", "y", "-o", tmp_path / "m").err,
        run("fit", tmp_path, "-t", "y", "-o", tmp_path / "m", "--format", "csv").err,
        run("fit", good, "-t", "y", "-o", tmp_path / "nowhere" / "m").err,
        run("fit", tmp_path, "-t", "y", "-o", tmp_path / "m").err,
        run("fit", ".", "-t", "y", "-o", tmp_path / "m").err,
    ]
    assert "no such file" in said[0]
    assert "a folder" in said[1]
    assert "no folder" in said[2]
    assert f"{tmp_path.name}' is a folder without a *.parquet file" in said[3]
    assert "'.' is a folder without a *.parquet file" in said[4]


def test_table_that_does_not_fit_in_memory_is_one_line(run, tmp_path, monkeypatch):
    import pyarrow as pa

    from everypair.app.files import delimited

    def full(source):
        raise pa.ArrowMemoryError("malloc of size 8388608 failed")

    monkeypatch.setattr(delimited, "read_delimited", full)
    (tmp_path / "t.csv").write_text(GOOD)
    found = run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.everypair")
    assert found.code == 2
    assert "the memory is not enough for this table" in found.err
    assert found.err.count("\n") == 1


def test_values_too_large_are_named_by_column_in_every_command(run, tmp_path):
    path = tmp_path / "huge.csv"
    rows = [f"{(-1) ** k}e308,{'uv'[k % 2]},{int(k % 3 == 0)}" for k in range(30)]
    path.write_text("\n".join(["h,b,y", *rows]) + "\n")
    for command in (["fit", "-o", tmp_path / "m.everypair"], ["compare"], ["path"]):
        found = run(command[0], path, "-t", "y", *command[1:])
        assert found.code == 2
        assert "huge.csv, column 'h': some values are too large" in found.err


def test_column_of_another_type_is_one_line(run, model, mixed, tmp_path):
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(mixed)
    place = table.column_names.index("job")
    strange = pyarrow.array([{"a": 1}] * table.num_rows)
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(table.set_column(place, "job", strange), path)
    found = run("score", model, path)
    assert found.code == 2
    assert "t.parquet, column 'job': this column was a category in training" in found.err
    assert found.err.count("\n") == 1


def test_debug_shows_the_traceback(run, tmp_path):
    (tmp_path / "empty.csv").write_bytes(b"")
    found = run("fit", tmp_path / "empty.csv", "-t", "y", "-o", tmp_path / "m", "--debug")
    assert found.code == 2
    assert "Traceback" in found.err


def test_unlabelled_rows_are_left_out_and_counted(run, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text(GOOD.replace("2,u,0\n", "2,u,\n", 2))
    found = run("fit", path, "-t", "y", "-o", tmp_path / "m.everypair", "--method", "auc")
    assert found.code == 0
    assert "no value in the target" in found.err
    assert "row 3" in found.err


def test_one_value_against_the_others(run, tmp_path):
    path = tmp_path / "three.csv"
    path.write_text("a,y\n" + "".join(f"{k},{'pqr'[k % 3]}\n" for k in range(30)))
    found = run(
        "fit", path, "-t", "y", "--positive", "q", "-o", tmp_path / "m.everypair", "--method", "auc"
    )
    assert found.code == 0
    assert "y = 'q', against the 2 other values" in found.err


def test_number_column_with_one_word_is_noted_once_and_truly(run, tmp_path):
    path = tmp_path / "word.csv"
    path.write_text(GOOD.replace("3,v,1", "oops,v,1", 1))
    fit = ("fit", path, "-t", "y", "-o", tmp_path / "m.everypair", "--method", "auc-rls")
    found = run(*fit)
    assert found.code == 0
    assert "column 'a' is read as categories" in found.err
    assert "row 4 has 'oops'" in found.err
    rows = [f"{k}.25,{'uv'[k % 2]},{int(k % 3 == 0)}" for k in range(80)]
    path.write_text("\n".join(["a,b,y", *rows, "oops,u,1"]) + "\n")
    compare = ("compare", path, "-t", "y", "--models", "auc-rls,logistic", "--cv", "3x1")
    for command in (fit, ("path", path, "-t", "y", "--steps", "3"), compare):
        found = run(*command)
        notes = [line for line in found.err.splitlines() if "column 'a'" in line]
        assert len(notes) == 1, notes
        assert "not used" in notes[0]
        assert "row 81 has 'oops'. Correct or empty" in notes[0]


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        ("{0}.234,50", "numbers with decimal commas"),
        ("${0},234.50", "numbers"),
        ("{0}.5%", "numbers"),
        ("{0}.03.2024", "dates"),
        ("0{0}/02/2024 10:30", "dates"),
    ],
)
def test_numbers_and_dates_in_other_spellings_are_pointed_out(spelling, said, run, tmp_path):
    path = tmp_path / "t.txt"
    rows = [f"{spelling.format(k % 9 + 1)}|{k % 7}|{int(k % 4 == 0)}" for k in range(40)]
    path.write_text("\n".join(["a|b|y", *rows]) + "\n")
    found = run("fit", path, "-t", "y", "-o", tmp_path / "m.everypair", "--method", "auc-rls")
    assert found.code == 0
    notes = [line for line in found.err.splitlines() if "column 'a'" in line]
    assert len(notes) == 1
    assert f"is read as categories, though its values look like {said} (" in notes[0]


def test_column_without_any_value_is_noted_in_scoring(run, model, mixed, tmp_path):
    import csv
    import json

    rows = list(csv.DictReader(mixed.open()))
    with (tmp_path / "new.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "age": ""} for row in rows)
    command = ("score", model, tmp_path / "new.csv", "-o", tmp_path / "s.csv")
    assert "note: column 'age' has no value in any row" in run(*command).err
    assert json.loads(run(*command, "--json").out)["empty"] == ["age"]
    assert "no value in any row" not in run("score", model, mixed, "-o", tmp_path / "s.csv").err


def test_column_cannot_be_target_and_something_else(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    for option in ("--drop", "--weight", "--group"):
        found = run("fit", path, "-t", "y", option, "y", "-o", tmp_path / "m.everypair")
        assert found.code == 2
        assert f"column 'y': this is the target: it cannot be {option} as well" in found.err


def test_too_few_groups_are_named_by_their_column(run, tmp_path):
    path = tmp_path / "t.csv"
    header, *lines = GOOD.splitlines()
    options = ("-t", "y", "--group", "g", "--models", "auc-rls", "--cv", "3")
    path.write_text("\n".join([f"{header},g", *(f"{line},one" for line in lines)]) + "\n")
    found = run("compare", path, *options)
    assert found.code == 2
    assert "column 'g': every row is of the group 'one'" in found.err
    rows = [f"{line},{'pq'[k % 5 < 2]}" for k, line in enumerate(lines)]
    path.write_text("\n".join([f"{header},g", *rows]) + "\n")
    found = run("compare", path, *options)
    assert found.code == 2
    assert "there are 2 groups, too few for 3 folds (--cv sets them)" in found.err


def test_unreadable_files_and_pipes_are_told_apart(run, model, mixed, tmp_path, monkeypatch):
    import os

    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for command in (("fit", pipe, "-t", "y", "-o", tmp_path / "m"), ("score", model, pipe)):
        found = run(*command)
        assert found.code == 2
        assert f"{pipe}: a pipe cannot be read: save it to a file" in found.err
    assert "a pipe cannot be read" in run("score", pipe, mixed).err
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    for command in (("score", model, mixed), ("fit", mixed, "-t", "y", "-o", tmp_path / "m")):
        assert "may not be read (permission denied)" in run(*command).err


@pytest.mark.usefixtures("whole_searches")
def test_compare_fails_when_every_model_does(run, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,y\n" + "".join(f"{k},{int(k < 3)}\n" for k in range(30)))
    report = tmp_path / "r.html"
    command = ("compare", path, "-t", "y", "--models", "auc,logistic", "--cv", "3x1")
    found = run(*command, "--report", report)
    assert found.code == 2
    assert "failed" in found.out
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("everypair: no model could be fitted: auc: the rarer class has 2 rows")
    assert "the 3 folds of the training rows on which settings are chosen" in last
    assert not report.exists()
    found = run(*command, "--json")
    assert (found.code, found.out) == (2, "")


def test_model_without_weights_says_why_and_is_evaluated(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{int(k % 10 == 0)}" for k in range(200)]
    path, model = tmp_path / "noise.csv", tmp_path / "m.everypair"
    path.write_text("\n".join(["x,y", *rows]) + "\n")
    found = run("fit", path, "-t", "y", "--method", "svm-f1", "-o", model)
    assert found.code == 0, found.err
    assert "svm-f1 ranks nothing: The bound on measure='f1' is of no use" in found.err
    assert "w = 0 has its least value" in found.err
    found = run("evaluate", model, path)
    assert found.code == 0, found.err
    assert "AUC 0.500, no interval" in found.out
    assert "every row has the score" in found.err
    assert '"low": null' in run("evaluate", model, path, "--json").out


def test_path_without_signal_is_one_sentence(run, tmp_path):
    rng = np.random.default_rng(5)
    rows = [",".join([*(f"{v:.3f}" for v in rng.normal(size=3)), "ny"[k % 2]]) for k in range(120)]
    path = tmp_path / "noise.csv"
    path.write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    found = run("path", path, "-t", "y", "--steps", "5")
    assert found.code == 0, found.err
    assert "Chosen: no feature." in found.out
    rows = [f"{k % 5},{label}" for label in (0, 1) for k in range(30)]  # alike in both classes
    path.write_text("\n".join(["x,y", *rows]) + "\n")
    found = run("path", path, "-t", "y", "--steps", "4", "--positive", "1")
    assert found.code == 0
    assert found.out == "No feature tells the classes apart: none enters at any alpha.\n"


@pytest.mark.parametrize("n_columns", [500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_very_many_columns(n_columns, run, tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 24
    signal = rng.integers(0, 9, (n_rows, n_columns))
    with (tmp_path / "wide.csv").open("w") as file:
        file.write(",".join(f"c{k}" for k in range(n_columns)) + ",y\n")
        for k, row in enumerate(signal):
            file.write(",".join(map(str, row)) + f",{k % 2}\n")
    model = tmp_path / "m.everypair"
    found = run(
        "fit", tmp_path / "wide.csv", "-t", "y", "-o", model, "--method", "auc-rls", "--json"
    )
    assert found.code == 0, found.err
    assert f'"n_features": {n_columns}' in found.out
    scored = run("score", model, tmp_path / "wide.csv")
    assert scored.code == 0, scored.err
    assert len(scored.out.splitlines()) == n_rows + 1
