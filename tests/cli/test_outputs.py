"""What may be written where: never over a file that is read, never half, never silently nowhere."""

from __future__ import annotations

import errno
import os
import sys

import pytest

MODELS = ("--models", "auc-rls,logistic", "--cv", "3x1")


@pytest.fixture
def files(mixed, model, tmp_path):
    """A table and a model with a symbolic and a hard link to each."""
    for name, source in (("d.csv", mixed), ("m.skops", model)):
        path = tmp_path / name
        path.write_bytes(source.read_bytes())
        (tmp_path / f"soft-{name}").symlink_to(path)
        os.link(path, tmp_path / f"hard-{name}")
    return tmp_path


def commands(folder, prefix):
    d, m = folder / "d.csv", folder / "m.skops"
    over_d, over_m = folder / f"{prefix}d.csv", folder / f"{prefix}m.skops"
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
    from everypair import model_files
    from everypair.data import readers

    before = (files / "d.csv").read_bytes(), (files / "m.skops").read_bytes()
    for module, name in ((readers, "read"), (readers, "read_chunks"), (model_files, "load_model")):
        monkeypatch.setattr(module, name, lambda *a, **k: pytest.fail("worked"))
    for arguments in commands(files, prefix):
        found = run(*arguments)
        assert found.code == 2, arguments
        assert "this is the file to read" in found.err
        assert found.err.count("\n") == 1
        assert ((files / "d.csv").read_bytes(), (files / "m.skops").read_bytes()) == before


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
        "fit": ("d.csv", "-t", "churn", "-o", "new.skops", "--method", "auc-rls"),
        "score": ("m.skops", "d.csv", "-o", "new.csv"),
        "path": ("d.csv", "-t", "churn", "-o", "new.csv", "--steps", "3"),
        "compare": ("d.csv", "-t", "churn", "--report", "new.html", *MODELS),
    }[command]
    found = run(command, *arguments)
    assert found.code == 2
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("everypair: new.")
    assert "cannot be written: No space left on device." in last
    assert ".part" not in last
    assert not list(files.glob(".*"))
    assert not list(files.glob("new.*"))


def test_report_without_its_package_is_refused_before_any_work(run, files, monkeypatch):
    from everypair.data import readers

    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(readers, "read", lambda *a: pytest.fail("worked"))
    monkeypatch.setattr("everypair.cli.compare.demo_rows", lambda: pytest.fail("worked"))
    monkeypatch.chdir(files)
    for arguments in (("compare", "d.csv", "-t", "churn", "--report", "r.html"), ("demo",)):
        found = run(*arguments)
        assert found.code == 2
        assert found.err == (
            "everypair: jinja2 is not installed: pip install 'everypair[report]'\n"
        )


def test_every_missing_extra_is_a_line_and_not_a_fault(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    found = run("score", files / "m.skops", files / "d.csv")
    assert found.code == 2
    assert found.err == "everypair: skops is not installed: pip install 'everypair[cli]'\n"


def test_json_of_every_command_has_the_notes(run, files):
    import json

    d, m = files / "d.csv", files / "m.skops"
    said = json.loads(run("path", d, "-t", "churn", "--steps", "3", "--json").out)
    assert any("column 'const' is not used" in note for note in said["notes"])
    header, first, *rows = d.read_text().splitlines()
    unlabelled = first.rsplit(",", 1)[0] + ","
    (files / "gap.csv").write_text("\n".join([header, unlabelled, *rows]) + "\n")
    said = json.loads(run("evaluate", m, files / "gap.csv", "--json").out)
    assert said["notes"] == ["left out: 1 row without a label."]
