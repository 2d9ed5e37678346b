"""The graph of imports, as `lab/benchmarks/house.py` counts it."""

from __future__ import annotations

from lab.benchmarks.house import graph


def test_no_modules_of_the_library_import_each_other_in_a_circle():
    """A package counts beside its modules, and imports inside functions count."""
    _, _, cycles = graph()
    assert cycles == []
