"""Every relative link of the documents leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "lab").rglob("*.md")),
]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> list[str]:
    dead = []
    for path, heading in LINK.findall(prose(page)):
        if "://" in path or path.startswith("mailto:"):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            dead.append(f"{path}#{heading}" if heading else path)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_heading(page):
    assert not dead_links(page)


def test_a_dead_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page: of `links`\n[a](page.md#a-page-of-links) [b](#no) [c](no.md) [d](https://e.org)\n"
    )
    assert dead_links(page) == ["#no", "no.md"]


def test_every_guide_with_a_note_links_to_it():
    for note in (ROOT / "lab" / "notes").glob("*.md"):
        guide = ROOT / "docs" / note.name
        assert f"(../lab/notes/{note.name})" in guide.read_text(encoding="utf-8")
        assert f"(../../docs/{note.name})" in note.read_text(encoding="utf-8")
