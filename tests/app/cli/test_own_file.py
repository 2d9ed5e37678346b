"""A model scores the file that it was fitted on, whatever is in it and whatever its format."""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta

import numpy as np
import pytest
from scored import scores_in

pa = pytest.importorskip("pyarrow")

from pyarrow import feather, parquet  # noqa: E402

N = 60
LABELS = ["yes" if k % 3 == 0 else "no" for k in range(N)]
DAYS = [date(2020, 1, 1) + timedelta(days=37 * k) for k in range(N)]


def gaps(values, every=7, mark=" "):
    return [mark if k % every == 3 else value for k, value in enumerate(values)]


MESSY = {
    "x": [str((7 * k) % 11 - 3) for k in range(N)],
    "charges": gaps([f"{20 + (k * 13) % 17}.5" for k in range(N)]),
    "dash": gaps([str(k % 9) for k in range(N)], mark="-"),
    "hex": [hex(k % 12) for k in range(N)],
    "late hex": [str(k % 5) for k in range(N - 1)] + ["0x1F"],
    "until": ["9999-12-31T00:00:00Z" if k % 4 else f"{d}T10:00:00Z" for k, d in enumerate(DAYS)],
    "day first": [d.strftime("%d.%m.%Y") for d in DAYS],
    "short": gaps([d.strftime("%d-%b-%y") for d in DAYS], mark="NA"),
    "compact": [d.strftime("%Y%m%d") for d in DAYS],
    "vip": gaps([str(k % 2 == 0) for k in range(N)], mark="?"),
    "word": [["cook", " nurse", 'a "b", c', "é"][k % 4] for k in range(N)],
    "sign": ["+-"[k % 2] for k in range(N)],
    "empty": [""] * N,
    "y": LABELS,
}


def save(columns, path):
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
    elif path.suffix == ".feather":
        feather.write_feather(pa.table(columns), path)
    else:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(list(columns))
        for row in zip(*columns.values(), strict=True):
            book.active.append(row)
        book.save(path)
    return path


def fit(run, path, *options):
    model = path.parent / f"{path.name}.everypair"
    found = run("fit", path, "-t", "y", "-o", model, "--method", "auc-rls", *options)
    assert found.code == 0, found.err
    return model


def scores(run, model, path, *options):
    found = run("score", model, path, *options)
    assert found.code == 0, found.err
    return np.array([float(row["score"]) for row in scores_in(found.out)])


@pytest.mark.parametrize(
    "ending",
    [
        "csv",
        "parquet",
        *(pytest.param(of, marks=pytest.mark.slow) for of in ("tsv", "feather", "xlsx")),
    ],
)
def test_every_format_scores_as_the_file_of_training(ending, run, tmp_path, monkeypatch):
    from everypair.app.files import delimited, readers

    path = save(MESSY, tmp_path / f"t.{ending}")
    model = fit(run, path)
    expected = scores(run, model, path)
    assert np.unique(expected).size > N / 2
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 1)
    monkeypatch.setattr(delimited, "BLOCK_ROWS", 2)
    monkeypatch.setattr(readers, "CHUNK_ROWS", 7)
    for other in ("csv", "tsv", "parquet", "feather", "xlsx") if ending == "csv" else (ending,):
        found = scores(run, model, save(MESSY, tmp_path / f"new.{other}"))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=other)
    said = json.loads(run("evaluate", model, path, "--json").out)
    assert said["rows"] == N


def test_row_of_megabytes_far_down_is_fitted_and_scored(run, tmp_path):
    columns = {name: MESSY[name] * 50 for name in ("x", "word", "y")}
    columns["word"][-5] = "long " * 600_000
    path = save(columns, tmp_path / "t.csv")
    model = fit(run, path)
    assert model.stat().st_size < 100_000
    assert scores(run, model, path).size == 50 * N
    found = run("evaluate", model, path)
    assert found.code == 0
    assert len(found.out + found.err) < 5000


def test_very_long_words_are_cut_and_stay_distinct(run, tmp_path):
    ends = ["a", "b"]
    long = ["w" * 100_000 + ends[label == "yes"] for label in LABELS]
    path = save({"w": long, "x": MESSY["x"], "y": LABELS}, tmp_path / "t.csv")
    model = fit(run, path)
    found = scores(run, model, path)
    assert min(found[np.array(LABELS) == "yes"]) > max(found[np.array(LABELS) == "no"])
    shown = run("explain", model)
    assert len(shown.out) < 5000
    bad = save({"w": MESSY["x"], "x": ["9" * 300_000 + "z"] * N, "y": LABELS}, tmp_path / "b.csv")
    said = run("score", model, bad).err
    assert "column 'x': '99999" in said
    assert len(said) < 500


def test_dates_are_read_by_the_order_of_training(run, tmp_path):
    proof = [d.strftime("%d/%m/%Y") for d in DAYS]
    model = fit(run, save({"d": proof, "x": MESSY["x"], "y": LABELS}, tmp_path / "t.csv"))
    unclear = save({"d": ["05/06/2021"], "x": ["1"], "y": ["no"]}, tmp_path / "new.csv")
    certain = save({"d": ["2021-06-05"], "x": ["1"], "y": ["no"]}, tmp_path / "iso.csv")
    other = save({"d": ["2021-05-06"], "x": ["1"], "y": ["no"]}, tmp_path / "other.csv")
    assert scores(run, model, unclear) == scores(run, model, certain)
    assert scores(run, model, unclear) != scores(run, model, other)
    said = scores(run, model, unclear, "--date-format", "%m/%d/%Y")
    assert said == scores(run, model, other)


def test_unclear_dates_get_a_note_and_a_format(run, tmp_path):
    unclear = [f"0{k % 9 + 1}/0{k % 4 + 1}/2021" for k in range(N)]
    path = save({"d": unclear, "x": MESSY["x"], "y": LABELS}, tmp_path / "t.csv")
    fitted = ("fit", path, "-t", "y", "-o", tmp_path / "m.everypair", "--method", "auc-rls")
    found = run(*fitted)
    assert "column 'd' is read as categories, though its values look like dates" in found.err
    assert "--date-format" in found.err
    found = run(*fitted, "--date-format", "%d/%m/%Y")
    assert found.code == 0
    assert "column 'd'" not in found.err
    assert "d: month" in run("explain", tmp_path / "m.everypair", "--json").out
    assert scores(run, tmp_path / "m.everypair", path).size == N


def test_file_without_a_header_is_fitted_scored_and_evaluated(run, tmp_path):
    path = tmp_path / "t.csv"
    rows = zip(MESSY["x"], MESSY["word"], LABELS, strict=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    model = tmp_path / "m.everypair"
    command = ("fit", path, "-t", "column 3", "-o", model, "--method", "auc-rls")
    assert "use --no-header" in run(*command).err
    assert run(*command, "--no-header").code == 0
    assert scores(run, model, path, "--no-header").size == N
    assert "use --no-header" in run("score", model, path).err
    assert f'"rows": {N}' in run("evaluate", model, path, "--no-header", "--json").out


@pytest.mark.parametrize("ending", ["csv", "feather", "parquet", "xlsx", "arff"])
def test_nameless_columns_are_left_out_of_training_and_scoring(ending, run, tmp_path, monkeypatch):
    """A spreadsheet ends its lines in ``,,``; pandas begins them with a row number."""
    from everypair.app.files import delimited, readers
    from everypair.app.files.kinds import nameless_of

    def write(names, columns, path):
        if ending == "csv":
            lines = [names, *zip(*columns, strict=True)]
            path.write_text("\n".join(",".join(line) for line in lines) + "\n")
        elif ending == "arff":
            kinds = ["numeric" if column[0] != "no" else "{no, yes}" for column in columns]
            head = [f"@attribute '{n}' {k}" for n, k in zip(names, kinds, strict=True)]
            rows = [",".join(cell or "?" for cell in row) for row in zip(*columns, strict=True)]
            path.write_text("\n".join(["@relation t", *head, "@data", *rows]) + "\n")
        elif ending == "xlsx":
            openpyxl = pytest.importorskip("openpyxl")
            book = openpyxl.Workbook()
            for row in [names, *zip(*columns, strict=True)]:
                book.active.append(row)
            book.save(path)
        else:
            writer = {"feather": feather.write_feather, "parquet": parquet.write_table}[ending]
            writer(pa.table(columns, names=names), path)
        return path

    x = [str((7 * k) % 11 - 3) for k in range(N)]
    labels = [["no", "yes"][k % 3 == 1] for k in range(N)]
    counts, notes = [str(k) for k in range(N)], ["9"] + [""] * (N - 1)
    given = write(
        ["", "x", "y", " ", ""], [counts, x, labels, notes, notes], tmp_path / f"a.{ending}"
    )
    plain = write(["x", "y"], [x, labels], tmp_path / f"b.{ending}")
    assert nameless_of(readers.read(readers.Source(given))) == 3
    assert nameless_of(readers.read(readers.Source(plain))) == 0
    model = fit(run, given)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 1)
    monkeypatch.setattr(readers, "CHUNK_ROWS", 7)
    expected = scores(run, fit(run, plain), plain)
    np.testing.assert_array_equal(scores(run, model, given), expected)
    np.testing.assert_array_equal(scores(run, model, plain), expected)
    assert "no such column" in run("score", model, given, "--id", "").err


def test_ids_come_out_as_they_went_in_though_the_model_learns_from_them(run, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.everypair"
    rows = [f"0{10**16 + 7 * k},{k % 7},{'yn'[k % 3 == 0]}" for k in range(60)]
    path.write_text("\n".join(["acct,x,y", *rows]) + "\n")
    fitted = run("fit", path, "-t", "y", "--keep", "acct", "--method", "auc-rls", "-o", model)
    assert fitted.code == 0, fitted.err
    found = run("score", model, path, "--id", "acct")
    assert [line.split(",")[0] for line in found.out.splitlines()[1:]] == [
        r.split(",")[0] for r in rows
    ]
    path.write_text("\n".join(["acct,x,predicted", *rows]) + "\n")
    found = run("score", model, path, "--id", "predicted")
    assert found.code == 2
    assert "the scores have a column of this name already" in found.err
