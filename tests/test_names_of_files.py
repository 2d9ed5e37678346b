"""A file or a class is found by its name: no two of the library have the same one."""

from __future__ import annotations

import ast
import re
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
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE):
            homes[name].append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_no_file_is_too_long_to_be_read_at_once():
    found = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}
    lengths = {name: len(text.splitlines()) for name, text in found.items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def _names(node):
    return {n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(node)
            if isinstance(n, ast.Name | ast.Attribute)}  # fmt: skip


def _asks_a_matrix(node, kinds):
    """Whether this part of a program reads the array inside a matrix, or asks which kind it is."""
    if isinstance(node, ast.Attribute) and node.attr == "X":
        inner = node.value.func if isinstance(node.value, ast.Call) else node.value
        name = getattr(inner, "id", getattr(inner, "attr", ""))
        return name == "X" or name.endswith("matrix")
    if isinstance(node, ast.Call) and _names(node.func) & {"isinstance", "cast", "type"}:
        return bool(_names(node) & kinds)
    return False


def test_only_the_files_of_matrices_ask_which_kind_a_matrix_is():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}
    own = {name: ast.parse(text) for name, text in texts.items() if name.startswith("linalg/")}
    defined = [n for tree in own.values() for n in tree.body if isinstance(n, ast.ClassDef)]
    bases = {"DenseMatrix", "SparseMatrix", "BlockMatrix"}
    kinds = bases | {n.name for n in defined if any(_names(b) & bases for b in n.bases)}
    assert {"BinnedMatrix", "FactorMatrix", "StreamedFactor", "RoughFactor"} < kinds
    found = {
        f"{name}:{node.lineno}"
        for name, text in texts.items()
        if name not in own and any(word in text for word in (".X", *kinds))
        for node in ast.walk(ast.parse(text))
        if _asks_a_matrix(node, kinds)
    }
    assert found == set()
