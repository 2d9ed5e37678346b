"""The command as a process: start, exit codes, signals, what it loads."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest


def start(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "everypair", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_help_names_every_command_and_the_exit_codes():
    found = start("--help", env={**os.environ, "COLUMNS": "200"})
    assert found.returncode == 0
    for word in ("compare", "fit", "score", "evaluate", "explain", "path", "demo", "Exit codes"):
        assert word in found.stdout


def test_help_loads_neither_numpy_nor_pyarrow():
    code = (
        "import sys\nfrom everypair.app.cli.app import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'pyarrow', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("command", ["--help", pytest.param("score", marks=pytest.mark.slow)])
def test_a_reader_that_has_seen_enough_is_no_error(mixed, model, command):
    arguments = [command, model, mixed] if command == "score" else [command]
    command = " ".join([sys.executable, "-m", "everypair", *map(str, arguments)])
    script = f"{command} | true; exit ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_from_file_to_ranked_list(mixed, tmp_path, run):
    model, scores = tmp_path / "m.everypair", tmp_path / "scores.csv"
    made = run("fit", mixed, "--target", "churn", "-o", model, "--method", "auc-rls")
    assert made.code == 0, made.err
    assert "Ranked first: churn = 'yes', not 'no': the label means yes" in made.err
    scored = run("score", model, mixed, "-o", scores, "--top", "10")
    assert scored.code == 0, scored.err
    assert len(scores.read_text().splitlines()) == 11
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.everypair", "scores.csv"]
    bad = run("score", mixed, mixed)
    assert bad.code == 2
    assert bad.err.count("\n") == 1
    assert run("fit", mixed).code == 2  # an option is missing


def test_a_process_that_scores_loads_neither_numba_nor_matplotlib(mixed, model):
    code = (
        "import sys\nfrom everypair.app.cli.app import main\n"
        f"sys.argv = ['everypair', 'score', {str(model)!r}, {str(mixed)!r}]\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "heavy = {'numba', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) == 201


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, id="ctrl-c", marks=pytest.mark.slow),
     pytest.param(signal.SIGTERM, id="kill")],
)  # fmt: skip
def test_interruption_leaves_no_half_written_file(number, model, mixed, tmp_path):
    output = tmp_path / "out.csv"
    output.write_text("what was there before")
    header, *rows = mixed.read_text().splitlines()
    big = tmp_path / "big.csv"
    with big.open("w") as file:
        file.write(header + "\n")
        block = "\n".join(rows) + "\n"
        for _ in range(2000):
            file.write(block)
    process = subprocess.Popen(
        [sys.executable, "-m", "everypair", "score", str(model), str(big), "-o", str(output)],
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):
        if list(tmp_path.glob(".*.part")) or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.strip() == "everypair: interrupted."
    assert output.read_text() == "what was there before"
    assert not list(tmp_path.glob(".*"))


def test_console_script_is_the_same_command():
    script = shutil.which("everypair", path=os.path.dirname(sys.executable))
    if script is None:
        pytest.skip("the package is not installed: no console script to run")
    found = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("everypair ")


def test_command_line_without_its_packages_is_one_line(tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no', name='typer')")
    search = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = start("--help", env={**os.environ, "PYTHONPATH": search})
    assert found.returncode == 2
    assert found.stderr == (
        "everypair: typer is not installed: pip install 'everypair[cli,report]'\n"
    )


@pytest.mark.parametrize("where", ["the import", "the parser"])
def test_interrupt_before_the_command_begins_is_an_interrupt(where, tmp_path):
    """Ctrl-C as the command line is imported, and as its options are parsed."""
    from textwrap import dedent

    at = "import" if where == "the import" else "parse"
    (tmp_path / "sitecustomize.py").write_text(
        dedent(f"""
        import os, signal, sys

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if {at!r} == "import" and name == "everypair.app.cli.compare":
                    os.kill(os.getpid(), signal.SIGINT)

        sys.meta_path.insert(0, Finder())
        if {at!r} == "parse":
            def watch(frame, event, argument):
                if event == "call" and frame.f_code.co_name == "make_context":
                    sys.setprofile(None)
                    os.kill(os.getpid(), signal.SIGINT)
            sys.setprofile(watch)
    """)
    )
    search = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = start("--help", env={**os.environ, "PYTHONPATH": search})
    assert found.returncode == 130, found.stderr
    assert found.stderr.strip() == "everypair: interrupted."


def closed(*arguments):
    """The command with its standard output closed."""
    command = " ".join([sys.executable, "-m", "everypair", *map(str, arguments)])
    return subprocess.run(
        ["bash", "-c", f"{command} >&-"], capture_output=True, text=True, check=False
    )


def test_closed_output_is_no_traceback(mixed, model):
    found = closed("score", model, mixed)
    assert found.returncode == 2
    assert found.stderr == (
        "everypair: standard output is closed: say where to write the scores with -o FILE.\n"
    )


def test_closed_output_does_not_matter_to_a_file(run, mixed, model, tmp_path, monkeypatch):
    with open(os.devnull, "w") as nowhere:  # in place of a closed output
        monkeypatch.setattr(sys, "stdout", nowhere)
        found = run("score", model, mixed, "-o", tmp_path / "s.csv", "--quiet")
    assert (found.code, found.err) == (0, "")
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 201


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
@pytest.mark.slow
def test_a_process_whose_output_cannot_be_written_says_one_line(model):
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "everypair", "explain", str(model), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert found.returncode == 2
    assert "No space left on device" in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_output_that_cannot_be_written_is_one_line(model, mixed, run):
    found = run("score", model, mixed, "-o", "/dev/full")
    assert found.code == 2
    assert found.err == (
        "everypair: /dev/full: cannot be written: No space left on device: "
        "free some space there, or give a file on another disk.\n"
    )
