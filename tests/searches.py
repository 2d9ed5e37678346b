"""Short searches and few draws, for tests of what does not depend on how many there are."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from itertools import product

import pytest
import threadpoolctl
from sklearn.ensemble import HistGradientBoostingClassifier

from everypair.app.comparison import by_measure, l1_path, models, records, search
from everypair.app.comparison.candidate import Candidate
from everypair.app.explain import worth
from everypair.app.report import chart_bands
from everypair.estimators import _held_out, measure_opt_cv
from everypair.estimators.measure_opt_cv import MeasureOptCV

WHOLE_SERIES = MeasureOptCV._series
TREES = HistGradientBoostingClassifier.__init__.__kwdefaults__


def _two_of_each(candidate):
    """The settings of a search, with the middle two values of each."""
    grid = candidate.grid
    few = [values[(len(values) - 1) // 2 :][:2] for values in grid.values()]
    for values in product(*few):
        yield dict(zip(grid, values, strict=True))


def _first_climb(self):
    return WHOLE_SERIES(self)[:1]


@cache
def _libraries(loaded):
    """The libraries with threads of their own. To look for them takes 5 ms."""
    return threadpoolctl.ThreadpoolController()


def _limits(limits=None, user_api=None):
    libraries = _libraries(frozenset({"lightgbm", "xgboost"} & sys.modules.keys()))
    return libraries.limit(limits=limits, user_api=user_api)


SHORT = [
    (Candidate, "settings", _two_of_each),
    (threadpoolctl, "threadpool_limits", _limits),
    (records, "version", cache(records.version)),
    (models, "ADDITIVE_STRENGTHS", models.ADDITIVE_STRENGTHS[1:3]),
    (measure_opt_cv, "PENALTIES", measure_opt_cv.PENALTIES[::3]),
    (MeasureOptCV, "_series", _first_climb),
    (l1_path, "PATH_STEPS", 6),
    (by_measure, "DRAWS", 80),
    (by_measure, "AGREEMENT_DRAWS", 20),
    (_held_out, "DRAWS", 80),
    (chart_bands, "N_DRAWS", 40),
    (worth, "N_PERMUTATIONS", 2),
    (TREES, "max_iter", 30),
]
"""Two values of each setting, one climb, few steps on the L1 path, few samples of the rows, few
trees."""

OF_COMMANDS = [*SHORT, (search, "SEARCH_FOLDS", 2), (TREES, "max_iter", 15)]
"""What commands say and write depends on folds and trees still less."""


def _now(owner, name):
    return owner[name] if isinstance(owner, dict) else getattr(owner, name)


WHOLE = [(owner, name, _now(owner, name)) for owner, name, _ in OF_COMMANDS]


@contextmanager
def searched(lengths):
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, value in lengths:
            put = patch.setitem if isinstance(owner, dict) else patch.setattr
            put(owner, name, value)
        yield
