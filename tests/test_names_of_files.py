"""A file or a class is found by its name: no two of the library have the same one."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import everypair

ROOT = Path(everypair.__file__).parent
CONVENTIONAL = {"__init__", "_base"}
SAME_SUBJECT = {
    frozenset({"metrics", "plots"}),  # a display and the numbers that it draws
    frozenset({"_compiled", "pairs"}),  # sums over pairs and their loops
}
MOST_LINES = 450


def test_no_two_files_share_a_name_unless_one_is_the_counterpart_of_the_other():
    rooms = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        if path.stem not in CONVENTIONAL:
            rooms[path.stem].append(path.parent.relative_to(ROOT).as_posix())
    shared = {name: found for name, found in rooms.items() if len(found) > 1}
    assert {n: f for n, f in shared.items() if frozenset(f) not in SAME_SUBJECT} == {}


def test_no_two_classes_share_a_name():
    homes = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_no_file_is_too_long_to_be_read_at_once():
    found = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}
    lengths = {name: len(text.splitlines()) for name, text in found.items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}
