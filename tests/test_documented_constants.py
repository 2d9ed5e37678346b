"""Numbers that a guide tells and the code holds are the same."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Guide, what it says around the number, and where the number lives.
SAID = [
    ("blocks.md", "a sample of {} rows leaves", "solvers.choose.SAMPLE_ROWS"),
    ("blocks.md", "exact up to {} values", "app.sketch.KEPT"),
    ("blocks.md", "in the first {} rows", "app.large_table.PIECE_ROWS"),
    ("blocks.md", "pass draws {} rows", "app.large_table.SAMPLE_ROWS"),
    ("blocks.md", "up to {} values (rows x columns)", "app.large_table.WHOLE_VALUES"),
    ("blocks.md", "searched on {} rows", "app.comparison.search.SEARCH_ROWS"),
    ("command_line.md", "Gaussian kernels on {} rows", "app.comparison.models.KERNEL_ROWS"),
    ("command_line.md", "a sample of {} rows", "app.comparison.race.SCREEN_ROWS"),
    ("command_line.md", "(at most {} rows, nine bytes each)", "app.model_file.evidence.MOST_ROWS"),
    ("command_line.md", "At most {} columns are measured", "app.explain.worth.MOST_COLUMNS"),
    ("data_check.md", "at least {} rows, or a name", "app.identifiers.UNIQUE_ROWS"),
    ("data_check.md", "the note counts the first {} rows", "app.files.delimited.MARK_ROWS"),
    ("data_check.md", "at most {} rows of each class", "app.check.table.CLASS_SAMPLE"),
    ("mathematics.md", "CSR matrices up to {} columns", "solvers.choose.HESSIAN_COLUMNS"),
    ("mathematics.md", "From {} rows of a class on", "linalg.order.ROWS_FOR_KEYS"),
    ("probabilities.md", "at least {} rows of the rarer", "estimators._cross_fit.ROWS_PER_COLUMN"),
    ("report.md", "of the first {} columns", "app.report.write.N_COLUMNS"),
    ("rocsvm.md", "at most {} sqrt(n)", "estimators._kernel.RANK_PER_ROOT"),
    ("rocsvm.md", "at most 1000 below {} rows", "linalg.pivot_features.MANY_ROWS"),
]


@pytest.mark.parametrize(("guide", "words", "where"), SAID, ids=str)
def test_a_number_in_a_guide_is_that_of_the_code(guide, words, where):
    module, name = f"everypair.{where}".rsplit(".", 1)
    number = getattr(import_module(module), name)
    number = int(number)
    ways = [f"{number:{sign}}".replace("_", " ") for sign in ("", ",", "_")]
    text = " ".join((ROOT / "docs" / guide).read_text().split())
    assert any(words.format(way) in text for way in ways), f"{name} = {number}"


def test_the_rules_that_docstrings_tell_are_those_of_the_code():
    from everypair.estimators import _calibration, _cross_fit, _kernel
    from everypair.estimators._shared_docs import PARAMETERS

    assert f"at least {_cross_fit.ROWS_PER_COLUMN} rows" in " ".join(PARAMETERS["cv"].split())
    assert _cross_fit.N_FOLDS == 5
    assert "five stratified folds" in PARAMETERS["cv"]
    low, high = _kernel.AUTO_RANKS
    said = f"{_kernel.RANK_PER_ROOT:g} sqrt(n_rows), at least {low} and at most {high}"
    assert said in " ".join(PARAMETERS["low_rank"].split())
    assert all(f'"{name}"' in PARAMETERS["calibration"] for name in _calibration.METHODS)
