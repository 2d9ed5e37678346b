"""The house in numbers: modules, imports, cycles, lines of the wheel by room, files of a fit.

python -m lab bench house                 this tree
python -m lab bench house /tmp/before     another one
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

HERE = Path(__file__).parents[2]

WALK = """
import sys
import numpy as np
from everypair import AUCClassifier
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 10))
y = X[:, 0] + rng.logistic(size=20_000) > 2
AUCClassifier().fit(X, y)
files = set()
sys.setprofile(lambda frame, event, argument: files.add(frame.f_code.co_filename))
AUCClassifier().fit(X, y)
sys.setprofile(None)
print("\\n".join(sorted(f for f in files if "everypair" in f and "cached.py" not in f)))
"""


def graph(tree: Path = HERE) -> tuple[int, int, list[list[str]]]:
    """Modules, imports between them (late ones too, those for types not), and the modules of each
    cycle. A package counts as a module beside those inside it."""
    import grimp

    if tree != HERE:
        for name in [name for name in sys.modules if name.split(".")[0] == "everypair"]:
            del sys.modules[name]  # of this tree
        sys.path.insert(0, str(tree / "src"))
    found = grimp.build_graph("everypair", exclude_type_checking_imports=True, cache_dir=None)
    number = {module: k for k, module in enumerate(sorted(found.modules))}
    pairs = [
        (number[module], number[imported])
        for module in number
        for imported in found.find_modules_directly_imported_by(module)
    ]
    rows, columns = np.array(pairs).T
    size = len(number)
    matrix = sparse.csr_matrix((np.ones(rows.size), (rows, columns)), (size, size))
    _, part = connected_components(matrix, connection="strong")
    members = [[name for name, k in number.items() if part[k] == one] for one in set(part)]
    return size, len(pairs), [names for names in members if len(names) > 1]


def lines(tree: Path) -> dict[str, tuple[int, int]]:
    """Lines by room, and how many of them are docstrings; modules at the top together."""
    all_lines, of_docstrings = Counter[str](), Counter[str]()
    root = tree / "src" / "everypair"
    for path in root.rglob("*.py"):
        inside, text = path.relative_to(root).parts, path.read_text()
        room = inside[0] if len(inside) > 1 else "modules at the top"
        all_lines[room] += len(text.splitlines())
        of_docstrings[room] += sum(
            node.end_lineno - node.lineno + 1
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
    return {room: (count, of_docstrings[room]) for room, count in all_lines.items()}


def walk(tree: Path) -> list[str]:
    """Files of the library that a fit of `AUCClassifier` runs through."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", WALK],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    root = str(tree / "src" / "everypair") + os.sep
    return [name.removeprefix(root) for name in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path, nargs="?", default=HERE)
    tree = parser.parse_args().tree.resolve()
    modules, imports, cycles = graph(tree)
    print(f"{modules} modules, {imports} imports between them, {len(cycles)} cycles\n")
    by_room = lines(tree)
    print("| room | lines | of which docstrings |\n|---|---|---|")
    for room, (count, docs) in sorted(by_room.items(), key=lambda item: -item[1][0]):
        print(f"| `{room}` | {count:,} | {docs:,} |")
    total, docs = np.sum(list(by_room.values()), axis=0)
    print(f"| all | {total:,} | {docs:,} |\n")
    files = walk(tree)
    print(f"`AUCClassifier.fit` runs through {len(files)} files: {', '.join(files)}")


if __name__ == "__main__":
    main()
