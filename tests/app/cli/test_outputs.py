"""What may be written where: never over a file that is read, never half, never silently nowhere."""

from __future__ import annotations

import errno
import os
import sys

import numpy as np
import pytest

MODELS = ("--models", "auc-rls,logistic", "--cv", "3x1")


@pytest.fixture
def files(mixed, model, tmp_path):
    """A table and a model with a symbolic and a hard link to each."""
    for name, source in (("d.csv", mixed), ("m.everypair", model)):
        path = tmp_path / name
        path.write_bytes(source.read_bytes())
        (tmp_path / f"soft-{name}").symlink_to(path)
        os.link(path, tmp_path / f"hard-{name}")
    return tmp_path


def commands(folder, prefix):
    d, m = folder / "d.csv", folder / "m.everypair"
    over_d, over_m = folder / f"{prefix}d.csv", folder / f"{prefix}m.everypair"
    return [
        ("fit", d, "-t", "churn", "-o", over_d, "--method", "auc-rls"),
        ("score", m, d, "-o", over_d),
        ("score", m, d, "-o", over_m),
        ("explain", m, "-o", over_m),
        ("path", d, "-t", "churn", "-o", over_d),
        ("compare", d, "-t", "churn", "--report", over_d, *MODELS),
    ]


@pytest.mark.parametrize("prefix", ["", "soft-", "hard-"])
def test_no_command_writes_over_what_it_reads(prefix, files, run, monkeypatch):
    from everypair.app.files import readers
    from everypair.app.model_file import store as model_files

    before = (files / "d.csv").read_bytes(), (files / "m.everypair").read_bytes()
    for module, name in ((readers, "read"), (readers, "read_chunks"), (model_files, "load_model")):
        monkeypatch.setattr(module, name, lambda *a, **k: pytest.fail("worked"))
    for arguments in commands(files, prefix):
        found = run(*arguments)
        assert found.code == 2, arguments
        assert "this is the file to read" in found.err
        assert found.err.count("\n") == 1
        assert ((files / "d.csv").read_bytes(), (files / "m.everypair").read_bytes()) == before


@pytest.mark.parametrize("command", ["fit", "score", "path", "compare"])
def test_full_disk_names_the_file_that_was_asked_for(command, files, run, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    def full_page(path, page):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("pathlib.Path.write_bytes", full_page)
    monkeypatch.chdir(files)
    arguments = {
        "fit": ("d.csv", "-t", "churn", "-o", "new.everypair", "--method", "auc-rls"),
        "score": ("m.everypair", "d.csv", "-o", "new.csv"),
        "path": ("d.csv", "-t", "churn", "-o", "new.csv", "--steps", "3"),
        "compare": ("d.csv", "-t", "churn", "--report", "new.html", *MODELS),
    }[command]
    found = run(command, *arguments)
    assert found.code == 2
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("everypair: new.")
    assert "cannot be written: No space left on device: free some space there" in last
    assert ".part" not in last
    assert not list(files.glob(".*"))
    assert not list(files.glob("new.*"))


def test_report_without_its_package_is_refused_before_any_work(run, files, monkeypatch):
    from everypair.app.files import readers

    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(readers, "read", lambda *a: pytest.fail("worked"))
    monkeypatch.setattr("everypair.app.cli.compare.demo_rows", lambda name: pytest.fail("worked"))
    monkeypatch.chdir(files)
    for arguments in (("compare", "d.csv", "-t", "churn", "--report", "r.html"), ("demo",)):
        found = run(*arguments)
        assert found.code == 2
        assert found.err == (
            "everypair: jinja2 is not installed: pip install 'everypair[report]'\n"
        )


def test_every_missing_extra_is_a_line_and_not_a_fault(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = run("score", files / "m.everypair", files / "d.csv")
    assert found.code == 2
    assert found.err == "everypair: pyarrow is not installed: pip install 'everypair[cli]'\n"


def test_json_of_every_command_has_the_notes(run, files):
    import json

    d, m = files / "d.csv", files / "m.everypair"
    said = json.loads(run("path", d, "-t", "churn", "--steps", "3", "--json").out)
    assert any("column 'const' is not used" in note for note in said["notes"])
    header, first, *rows = d.read_text().splitlines()
    unlabelled = first.rsplit(",", 1)[0] + ","
    (files / "gap.csv").write_text("\n".join([header, unlabelled, *rows]) + "\n")
    said = json.loads(run("evaluate", m, files / "gap.csv", "--json").out)
    assert said["notes"] == ["left out: 1 row without a label."]


ESCAPE = "\x1b]0;owned\x07\x9b31m\u202e"


def test_nothing_commands_the_terminal(run, tmp_path):
    """Names and values of a table in notes, tables, errors and JSON."""
    import json

    path, model = tmp_path / "t.csv", tmp_path / "m.everypair"
    rows = [f"{k % 7},u{'v' * (k % 2)}{ESCAPE},{'n' if k % 3 else 'y'}{ESCAPE}" for k in range(60)]
    path.write_text("\n".join([f"a{ESCAPE},b{ESCAPE},y", *rows]) + "\n")
    positive = ("-t", "y", "--positive", f"y{ESCAPE}")
    commands = [
        ("fit", path, *positive, "-o", model, "--method", "auc-rls"),
        ("evaluate", model, path),
        ("evaluate", model, path, "--json"),
        ("explain", model),
        ("explain", model, "--json"),
        ("path", path, *positive, "--steps", "3"),
        ("compare", path, *positive, *MODELS),
        ("fit", path, "-t", f"a{ESCAPE}", "-o", model, "--debug"),
        ("fit", tmp_path / f"no{ESCAPE}.csv", "-t", "y", "-o", tmp_path / "n"),
        ("fit", path, "--surprise", ESCAPE),
        (f"fit{ESCAPE}",),
    ]
    for command in commands:
        found = run(*command)
        said = found.out + found.err
        assert not set("\x1b\x07\x9b\u202e") & set(said), (command, said)
    said = json.loads(run("explain", model, "--json").out)
    assert f"a{ESCAPE}" in said["weights"]


def test_scores_on_a_terminal_do_not_command_it(run, tmp_path, monkeypatch):
    path, model = tmp_path / "t.csv", tmp_path / "m.everypair"
    rows = [f"i{k}{ESCAPE},{k % 7},{'ny'[k % 3 == 0]}" for k in range(60)]
    path.write_text("\n".join(["i,a,y", *rows]) + "\n")
    assert run("fit", path, "-t", "y", "--drop", "i", "-o", model, "--method", "auc-rls").code == 0
    assert ESCAPE in run("score", model, path, "--id", "i").out  # a pipe gets what the table has
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines = run("score", model, path, "--id", "i").out.splitlines()
    assert len(lines) == 61
    assert lines[1].startswith(r"i0\x1b]0;owned\x07\x9b31m\u202e,")


@pytest.mark.usefixtures("whole_searches")
def test_formulas_are_escaped_on_request_and_numbers_are_not(run, tmp_path):
    import csv

    path, model = tmp_path / "t.csv", tmp_path / "m.everypair"
    ids = ["=cmd|' /C calc'!A0", "+1+cmd", "-3.2", "@SUM(A1)", "-x", "+5e3", "plain", "a=b"]
    rows = [f"{ids[k % 8]},{k % 7},{'=u' if k % 2 else 'v'},{'+ny'[k % 3]}" for k in range(60)]
    path.write_text("\n".join(["=id,a,@c,y", *rows]) + "\n")
    fit = ("fit", path, "-t", "y", "--positive", "+", "--drop", "=id", "-o", model)
    assert run(*fit, "--method", "auc-rls").code == 0
    score = ("score", model, path, "--id", "=id", "-o", tmp_path / "s.csv")
    assert run(*score).code == 0
    plain = list(csv.reader((tmp_path / "s.csv").open()))
    assert plain[0][0] == "=id"
    assert run(*score, "--escape-formulas").code == 0
    safe = list(csv.reader((tmp_path / "s.csv").open()))
    assert safe[0] == ["'=id", "score: y=+", "probability", "predicted"]
    assert [row[0] for row in safe[1:9]] == [
        f"'{text}" if text[0] in "=+-@" and text not in ("-3.2", "+5e3") else text for text in ids
    ]
    assert {row[3] for row in safe[1:]} == {"'+", "(other values)"}
    assert [row[1] for row in safe] == [row[1] for row in plain]  # scores below zero as they were
    assert any(row[1].startswith("-") for row in safe)
    explain = ("explain", model, "-o", tmp_path / "w.csv", "--escape-formulas")
    assert run(*explain).code == 0
    with (tmp_path / "w.csv").open() as file:
        features = {row["feature"] for row in csv.DictReader(file) if row["feature"]}
    assert "'@c==u" in features
    assert not any(feature[0] in "=+-@" for feature in features)
    path_of = ("path", path, "-t", "y", "--positive", "+", "--drop", "=id", "--steps", "3")
    assert run(*path_of, "-o", tmp_path / "p.csv", "--escape-formulas").code == 0
    assert {row[0] for row in csv.reader((tmp_path / "p.csv").open())} == features | {"feature"}


@pytest.mark.parametrize("which", ["positive", "negative"])
def test_one_row_of_a_class_has_an_area_and_no_interval(which, run, mixed, model, tmp_path):
    import json

    header, *rows = mixed.read_text().splitlines()
    one, many = (",yes", ",no") if which == "positive" else (",no", ",yes")
    single = [row for row in rows if row.endswith(one)][5]
    new = tmp_path / "new.csv"
    new.write_text("\n".join([header, single, *(row for row in rows if row.endswith(many))]) + "\n")
    found = run("evaluate", model, new)
    assert found.code == 0, found.err
    assert ", no interval" in found.out
    assert found.err == (
        f"note: the AUC has no interval: there is only one {which} row: a standard error needs at "
        "least two.\n"
    )
    said = json.loads(run("evaluate", model, new, "--json").out)
    assert 0 < said["auc"] < 1
    assert said["low"] is None


def test_output_to_standard_output_is_whole_and_alone_there(run_in_bytes, mixed, model, tmp_path):
    import csv

    from everypair.app.model_file.store import load_model

    commands = {
        "explain": (("explain", model), b"features have a weight"),
        "score": (("score", model, mixed), b""),
        "fit": (("fit", mixed, "-t", "churn", "--method", "auc-rls"), b"written to /dev/stdout"),
    }
    for name, (command, said) in commands.items():
        found = run_in_bytes(*command, "-o", "/dev/stdout")
        assert found.code == 0, found.err
        assert said in found.err
        if name == "fit":
            (tmp_path / "out").write_bytes(found.out)
            assert load_model(tmp_path / "out").target == "churn"
        else:
            header, *rows = csv.reader(found.out.decode().splitlines())
            assert header[0] == {"score": "row", "explain": "column"}[name]
            assert {len(row) for row in rows} == {len(header)}


def test_standard_output_is_not_for_two_things(run, mixed, model):
    for command in ("path", mixed, "-t", "churn"), ("score", model, mixed), ("explain", model):
        refused = run(*command, "--json", "-o", "/dev/stdout")
        assert refused.code == 2
        assert refused.err.startswith("everypair: --json")
        assert refused.err.count("\n") == 1


def test_scores_go_into_a_pipe(run, mixed, model):
    """As the shell opens one for ``-o >(gzip > s.gz)``."""
    reading, writing = os.pipe()
    found = run("score", model, mixed, "-o", f"/dev/fd/{writing}")
    os.close(writing)
    assert found.code == 0, found.err
    with open(reading) as scores:
        assert len(scores.read().splitlines()) == 201


@pytest.mark.slow
def test_scores_go_into_a_pipe_of_the_shell(mixed, model, tmp_path):
    import subprocess

    command = (
        f"{sys.executable} -m everypair score {model} {mixed} -o >(cat > s); sleep 1; wc -l < s"
    )
    found = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "201\n"), found.stderr


@pytest.mark.parametrize(
    "method",
    [
        "auc-rls-rbf",
        *(pytest.param(m, marks=pytest.mark.slow) for m in ("roc-svm", "two-norm-svm")),
    ],
)
def test_fit_on_sparse_rows_with_a_kernel_can_be_scored(run, tmp_path, method):
    rng = np.random.default_rng(0)
    lines = []
    for k in range(80):
        x = rng.normal(size=2) * (0.5 + k % 2)
        lines.append(f"{k % 2} 1:{x[0]:.3f} 2:{x[1]:.3f} {3 + k % 9}:1")
    data, model = tmp_path / "ring.svm", tmp_path / "m.everypair"
    data.write_text("\n".join(lines) + "\n")
    found = run("fit", data, "-o", model, "--method", method)
    assert found.code == 0, found.err
    assert len(run("score", model, data).out.splitlines()) == 81
