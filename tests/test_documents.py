"""What the README and the documents tell a reader to run, runs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """(language, code, number of its first line) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield match[1], match[2], text.count("\n", 0, match.start(2)) + 1


def name(page):
    return str(page.relative_to(ROOT))


WITH_CODE = [page for page in PAGES if any(kind == "python" for kind, *_ in blocks(page))]
COMMANDS = [
    pytest.param(line.removeprefix("$ "), id=f"{name(page)}: {line.removeprefix('$ ')}")
    for page in PAGES
    for kind, code, _ in blocks(page)
    if kind in ("", "console")
    for line in code.splitlines()
    if line.removeprefix("$ ").startswith(("everypair ", "make "))
]


@pytest.fixture
def reader(tmp_path, monkeypatch, mixed, model):
    """The files that the examples name, in the working directory of who reads them."""
    for table in ("customers.csv", "new.csv"):
        shutil.copy(mixed, tmp_path / table)
    for file in ("churn.everypair", "model.everypair"):
        shutil.copy(model, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.mark.usefixtures("reader")
@pytest.mark.filterwarnings("error::UserWarning", "error::FutureWarning")
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page):
    space = {"__name__": "__main__"}
    for kind, code, line in blocks(page):
        if kind == "python":  # blank lines before it: an error names the line of the page
            exec(compile("\n" * (line - 1) + code, name(page), "exec"), space)


def test_pages_with_python_are_found():
    assert {"README.md", "docs/sparse.md", "docs/measures.md"} <= set(map(name, WITH_CODE))
    assert len(COMMANDS) > 5


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_page_is_one_that_the_program_takes(line):
    """Parsed with all its options, not run."""
    from typer.main import get_command

    from everypair.app.cli.app import app

    program, command, *given = shlex.split(line, comments=True)
    if program == "make":
        assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        get_command(app).commands[command].make_context(command, given)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_named_in_a_sentence_exist(page):
    from typer.main import get_command

    from everypair.app.cli.app import app

    text = page.read_text(encoding="utf-8")
    named = re.findall(r"(?:`|^    )everypair ([a-z][a-z-]*)", text, re.M)
    assert set(named) <= set(get_command(app).commands)
