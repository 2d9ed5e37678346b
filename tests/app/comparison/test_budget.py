"""A comparison within a budget: later repeats are left out first, then the slowest models."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from everypair.app.comparison import run as comparing
from everypair.app.comparison import tally
from everypair.app.comparison.budget import Budget, Plan
from everypair.app.comparison.run import compare_methods

SECONDS = {"auc-rls": 1.0, "logistic": 2.0, "linear-svm": 20.0}


@pytest.fixture
def timed(monkeypatch):
    """Fits that take as long as `SECONDS` says, on a clock of their own."""
    now = [0.0]
    plain = tally.fit_candidate

    def fit(candidate, *arguments, **options):
        now[0] += SECONDS[candidate.name]
        return plain(candidate, *arguments, **options)

    monkeypatch.setattr(tally, "fit_candidate", fit)
    monkeypatch.setattr(tally.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(comparing, "Budget", lambda seconds: Budget(seconds, lambda: now[0]))
    return now


def found_within(budget, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] + rng.logistic(size=90) > 0
    return compare_methods(X, y, models=list(SECONDS), n_folds=3, budget=budget, **options)


def test_without_a_budget_all_is_run(timed):
    found = found_within(None)
    assert {model.fold_auc.size for model in found.models} == {6}
    assert found.not_run == []
    assert timed[0] == 7 * 23


@pytest.mark.parametrize(
    ("budget", "names", "n_folds"),
    [
        (1000, {"auc-rls", "logistic", "linear-svm"}, 6),
        (120, {"auc-rls", "logistic", "linear-svm"}, 3),  # the second repeat does not fit
        (60, {"auc-rls", "logistic"}, 6),  # nor does the slowest model
        (5, {"auc-rls"}, 3),
        (0, {"auc-rls"}, 3),  # one is measured in any case
    ],
)
def test_what_does_not_fit_is_left_out_and_named(timed, budget, names, n_folds):
    found = found_within(budget)
    assert {model.name for model in found.models} == names
    assert {model.fold_auc.size for model in found.models} == {n_folds}
    assert set(found.not_run) == set(SECONDS) - names
    notes = " ".join(found.notes)
    assert ("not run within the budget" in notes) == (len(names) < 3)
    assert ("had time for 1 of 2 repeats" in notes) == (n_folds == 3)
    assert found.recommended in names
    if budget >= 60:
        assert timed[0] <= budget


def test_plan_drops_the_slowest_when_folds_turn_out_slower():
    now = [0.0]
    seconds = {"quick": [1.0], "slow": [5.0]}
    plan = Plan(Budget(20, lambda: now[0]), seconds, 4)
    plan.begin_fold(0, 1)
    assert plan.not_run == ["slow"]
    assert plan.may_start("quick")
    assert not plan.may_start("slow")
