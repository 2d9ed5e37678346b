"""Short searches, for tests of what does not depend on how many settings are searched."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product

import pytest

from everypair.app.comparison import l1_path, models
from everypair.app.comparison.candidate import Candidate

WHOLE_SEARCH = Candidate.settings


def _two_of_each(candidate):
    """The settings of a search, with the middle two values of each."""
    grid = candidate.grid
    few = [values[(len(values) - 1) // 2 :][:2] for values in grid.values()]
    for values in product(*few):
        yield dict(zip(grid, values, strict=True))


@contextmanager
def shortened():
    """Two values of each setting, and few steps on the L1 path of a report."""
    from everypair.estimators import measure_opt_cv

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Candidate, "settings", _two_of_each)
        patch.setattr(models, "ADDITIVE_STRENGTHS", models.ADDITIVE_STRENGTHS[1:3])
        patch.setattr(measure_opt_cv, "PENALTIES", measure_opt_cv.PENALTIES[::3])
        patch.setattr(l1_path, "PATH_STEPS", 6)
        yield
